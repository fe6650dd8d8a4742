"""`goldsmith rigor`: put one realistic mistake at a time into the solution, and report which ones the gold catches.

`check` judges a mutant's run, as it judges any submission.
"""
