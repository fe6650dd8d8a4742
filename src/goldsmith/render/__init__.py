"""Renderings of outcomes: for a terminal, for logs, for machines. Nothing is decided here.

Those of verdicts are imported when they are first asked for: NumPy comes with what they render.
"""
