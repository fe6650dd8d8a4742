"""Check a submission: replay it against gold, and find out what is wrong with it.

Its code only ever runs in child processes, which are given gold's inputs and weights and never gold's outputs.
"""
