"""The face of adapter files: how a course declares what differs harmlessly between submissions.

`adapt_submission.py` beside a recipe is read by `goldsmith check`; `goldsmith help adapters` shows how to write one.
"""

from goldsmith.weights.rules import call, fused, layout, no_counterpart, part, rename, rows

__all__ = ["call", "fused", "layout", "no_counterpart", "part", "rename", "rows"]
