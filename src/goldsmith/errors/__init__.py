"""Everything that can go wrong for a user, as types with the facts as fields.

The sentence a person reads is made here and nowhere else: it names the thing, the place and the next
step. `exit_code` says which of the documented exit codes follows; `kind` is the stable word for machines.
"""
