"""`goldsmith inject` and `reset`: put the solution in the starter's place and take it back, with a journal.

What happens in `goldsmith inject` and `reset`:

`courses/injection/inject.py` copies the files that are there and those that will replace them into a folder that is
being prepared, on disk to the last byte, then gives it its name, `.goldsmith/injected/<assignment>/`, by one rename.
From there each file changes by one rename. The journal in it (`courses/layout/journal.py`) says `injecting`, `injected`
or `resetting`; every command opens a course through `open_course` of `cli/options.py`, which undoes or finishes what
says neither. Undoing needs no space: the backups themselves are renamed back. Only a file that is what was injected is
ever replaced; anything else is someone's work, and replaced only if they say so.
"""
