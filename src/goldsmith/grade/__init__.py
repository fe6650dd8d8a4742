"""Grading: from verdicts to scores, and to the files that people use.

What was handed in, opened with suspicion; graders that judge it, locked in, and engines that run them; then pure
functions over verdicts: rubrics, scores, feedback, tables. What a submission's run is worth as a run is decided by
`checking`. All text that comes from a submission passes `texts` before it is shown.
"""
