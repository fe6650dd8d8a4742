"""Verdicts as a test sees them: true or false, and if false, with the report that the terminal shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from goldsmith.errors.pytest import GoldMismatch, blamed_on_the_caller
from goldsmith.judge.verdicts import AGREES, DIFFERS, CaseVerdict, Verdict

if TYPE_CHECKING:
    from goldsmith.pytest_support.handles import CaseForTests


class _Judged:
    """True if what was judged agrees; in a test, the report that `goldsmith check` prints."""

    @property
    def _report(self) -> Verdict:
        raise NotImplementedError

    @property
    def agrees(self) -> bool:
        return self._report.outcome == AGREES

    def __bool__(self) -> bool:
        return self.agrees

    @blamed_on_the_caller
    def assert_agrees(self) -> None:
        if not self.agrees:
            raise GoldMismatch(str(self))

    def __str__(self) -> str:
        from goldsmith.render.verdict import verdict_text

        return verdict_text(self._report)


@dataclass(frozen=True, repr=False)
class Replay(_Judged):
    """An implementation judged against gold: `assert gold("scratch-1").replay()`, or `.assert_agrees()` for the
    report."""

    verdict: Verdict

    @property
    def _report(self) -> Verdict:
        return self.verdict

    def __repr__(self) -> str:
        from goldsmith.judge.words import headline

        return f"<replay of {self.verdict.name}: {headline(self.verdict)}>"


@dataclass(frozen=True, repr=False)
class JudgedCase(_Judged):
    """One case of a replay, and its gold."""

    gold: CaseForTests
    replay: Replay

    @property
    def name(self) -> str:
        return self.gold.name

    @property
    def verdict(self) -> CaseVerdict:
        return self.replay.verdict.case(self.name)

    def __repr__(self) -> str:
        return f"<case {self.name}: {self.verdict.outcome}>"

    @property
    def _report(self) -> Verdict:
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
