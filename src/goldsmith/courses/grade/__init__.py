"""Grading: turn verdicts into scores, and scores into the files that people use.

Submissions are collected and opened with suspicion, and judged in a sandbox by an engine. Rubrics, scores, feedback and
tables are pure functions over verdicts. Whether a submission is right is decided in `check`. All text that comes from a
submission passes through `redaction` before it is shown.
"""
