"""What is measured while a case runs, in the process that runs it: traces, dtypes, coverage, rounding noise.

Each instrument watches; none decides what follows.
"""
