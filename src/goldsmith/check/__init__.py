"""Checking: somebody else's implementation replayed against gold, and what is wrong with it.

Its code only ever runs in children, which are given gold's inputs and weights and never gold's outputs.
"""
