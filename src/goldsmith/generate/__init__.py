"""Generation: the nine steps from a solution to published gold, and whether gold is still fresh.

Parses no arguments and prints nothing: `cli` and `render` do that.
"""
