"""Render results: for a terminal, for logs, for machines. Nothing is decided here.

Modules that render verdicts are imported when they are first needed, because they import NumPy.
"""
