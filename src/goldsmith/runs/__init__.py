"""Runs: an implementation runs a case under conditions, and what comes out is a run. `conditions.py` is data that both
sides of a process boundary know; `enter_conditions.py` is the one place where conditions are entered."""
