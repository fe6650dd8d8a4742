"""Declare what may differ between submissions without being wrong: the public names for adapter files.

`goldsmith check` reads `adapt_submission.py` next to a recipe; `goldsmith help adapters` shows how to write one.
"""

from goldsmith.weights.rules import call, fused, layout, no_counterpart, part, rename, rows

__all__ = ["call", "fused", "layout", "no_counterpart", "part", "rename", "rows"]
