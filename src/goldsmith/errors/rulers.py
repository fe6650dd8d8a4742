"""What can go wrong with rulers: how far correct work may be off in another setting than gold's own."""

from __future__ import annotations

import shlex

from goldsmith.errors.base import GoldsmithError, UsageError


class NoRuler(GoldsmithError):
    assignment: str
    setting: str
    options: str

    def sentence(self) -> str:
        command = f"goldsmith calibrate {shlex.quote(self.assignment)} {self.options}"
        return (
            f"the gold of {self.assignment} has no ruler for {self.setting}, so nothing can be judged there; measure "
            f"one with `{command}`."
        )


class PlainSetting(UsageError):
    assignment: str

    def sentence(self) -> str:
        return (
            f"the tolerances of {self.assignment} are those of the CPU in its own dtype already; say what is different "
            "with --device, --dtype, --tf32 or --compile."
        )


class RulerRefused(GoldsmithError):
    outcome = "refused"
    template = (
        "the ruler of {assignment} for {setting} is refused, and nothing was changed: {problem}; use a finer dtype, or "
        "record values that are judged better."
    )
    assignment: str
    setting: str
    problem: str


class SolutionFailsThere(GoldsmithError):
    outcome = "refused"
    template = (
        "the solution of {assignment} does not run in {setting}, so there is no ruler; "
        "fix it, or choose another setting: {problem}."
    )
    assignment: str
    setting: str
    problem: str
