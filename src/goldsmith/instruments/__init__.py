"""Measurements inside the process that runs a case: traces, dtypes, coverage, rounding noise.

Instruments only observe; decisions are made elsewhere.
"""
