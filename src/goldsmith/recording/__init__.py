"""Recording: the recipe's API, seeding, traces, and the child process that runs a recipe.

Code of the course is only ever imported in the child. What the gold must look like is decided in `gold`.
"""
