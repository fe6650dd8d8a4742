"""Verdicts as a test sees them: true or false, and if false, with the report that the terminal shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from goldsmith.check.verdicts import (
    AGREES,
    DIFFERS,
    CaseVerdict,
    Verdict,
)
from goldsmith.errors.pytest import GoldMismatch, blamed_on_the_caller

if TYPE_CHECKING:
    from goldsmith.pytest_support.handles import CaseForTests


@dataclass(frozen=True, repr=False)
class Replay:
    """An implementation judged against gold: `assert gold("scratch-1").replay()`, or `.assert_agrees()` for the
    report."""

    verdict: Verdict

    @property
    def agrees(self) -> bool:
        return self.verdict.outcome == AGREES

    def __bool__(self) -> bool:
        return self.agrees

    @blamed_on_the_caller
    def assert_agrees(self) -> None:
        if not self.agrees:
            raise GoldMismatch(rendered(self.verdict))

    def __str__(self) -> str:
        return rendered(self.verdict)

    def __repr__(self) -> str:
        from goldsmith.check.verdict_words import headline

        return f"<replay of {self.verdict.name}: {headline(self.verdict)}>"


@dataclass(frozen=True, repr=False)
class JudgedCase:
    """One case of a replay, and its gold."""

    gold: CaseForTests
    replay: Replay

    @property
    def name(self) -> str:
        return self.gold.name

    @property
    def verdict(self) -> CaseVerdict:
        return self.replay.verdict.case(self.name)

    @property
    def agrees(self) -> bool:
        return self.verdict.outcome == AGREES

    def __bool__(self) -> bool:
        return self.agrees

    @blamed_on_the_caller
    def assert_agrees(self) -> None:
        if not self.agrees:
            raise GoldMismatch(rendered(self._alone()))

    def __str__(self) -> str:
        return rendered(self._alone())

    def __repr__(self) -> str:
        return f"<case {self.name}: {self.verdict.outcome}>"

    def _alone(self) -> Verdict:
        """Return the verdict as if there were no other case."""
        case = self.verdict
        first = case.first_divergence if case.outcome == DIFFERS else ""
        return msgspec.structs.replace(
            self.replay.verdict,
            outcome=case.outcome,
            first_divergence=first,
            first_case=case.name,
            cases=(case,),
            parts=(),
        )


def rendered(verdict: Verdict) -> str:
    """Return what `goldsmith check` prints."""
    from goldsmith.render.verdict import verdict_text

    return verdict_text(verdict)
