"""What can keep a notebook from being read."""

from __future__ import annotations

from goldsmith.errors.base import UsageError


class BadNotebook(UsageError):
    template = "the notebook {name} cannot be read: {problem}; {next_step}."
    name: str
    problem: str
    next_step: str
