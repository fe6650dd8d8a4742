"""`parity`: two implementations of the same model, run on the same inputs and judged side by side.

Nothing here runs a model. Both sides are asked as `runs/implementation.py` says: one in this process is `runs/live/`,
one in a process of its own is `process_side`.
"""
