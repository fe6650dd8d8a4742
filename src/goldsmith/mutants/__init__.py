"""`goldsmith rigor`: the solution with one realistic mistake at a time, and which of them the gold catches.

What a mutant's run is worth is decided by `check`, as for any submission.
"""
