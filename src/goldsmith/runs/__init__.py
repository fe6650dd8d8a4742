"""Runs: an implementation runs a case under conditions, and what comes out is a run.

What both sides of a process boundary know is data: `conditions.py`, `requests.py`, `run.py`, `implementation.py`.
Conditions are entered by `enter_conditions.py` and nowhere else. `live/` runs models and functions of the user's own
process; what runs beside strangers' code is in `worker/`.
"""
