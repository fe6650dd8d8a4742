"""`pack`: an assignment with its gold, ready to grade submissions elsewhere; without solutions.

What runs there is `run_pack.py`, from the wheel of this goldsmith that every pack holds. It grades as `goldsmith grade`
does, by the same code.
"""
