"""A solution rewritten in ways that must not matter: sums in another order, other names, helper functions.

Everything here reads and writes source; nothing is run.
"""
