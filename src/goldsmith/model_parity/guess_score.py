"""How many modules agree with weights as they were put in: what tells a right guess from a wrong one in any port."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from goldsmith.judge.policy import CLOSE
from goldsmith.judge.traces import calls_in
from goldsmith.model_parity.both_sides import BothSides
from goldsmith.model_parity.modules import ModuleJudge
from goldsmith.model_parity.result import MERGED, UNPAIRED, VICTIM
from goldsmith.runs.conditions import OWN, WIDE
from goldsmith.runs.implementation import Implementation, Loaded
from goldsmith.runs.run import Run


class Score(NamedTuple):
    """Modules that are right when given the reference's inputs, those of them that are right where they stand, and
    all."""

    right: int = 0
    in_place: int = 0
    of: int = 0


NOT_COUNTED = Score()


@dataclass
class ModuleScores:
    """Counts agreeing modules on the first inputs; the reference runs once for all."""

    both: BothSides
    _runs: dict[str, Run] = field(default_factory=dict)

    def call_orders(self) -> tuple[Sequence[str], Sequence[str]]:
        """Return the modules of both in the order in which they are called; empty where one does not run."""
        mine, theirs = (self._order(side) for side in (self.both.reference, self.both.candidate))
        return mine, theirs

    def _order(self, side: Implementation) -> list[str]:
        ran = side.run(self.both.plain().under(traced=True))
        if ran.facts.failure is not None or ran.trace is None:
            return []
        calls = sorted(calls_in(ran.trace), key=lambda call: call.position)
        return list(dict.fromkeys(call.module for call in calls if not call.function))

    def score(self, loaded: Loaded) -> Score:
        """Return how many modules agree, with the weights that are in the candidate now."""
        for precision in (WIDE, OWN):
            request = self.both.plain().under(precision=precision, traced=True)
            mine = self._runs.get(precision) or self.both.reference.run(request)
            self._runs[precision] = mine
            their_request = self.both.their(request)
            theirs = self.both.candidate.run(their_request)
            if mine.facts.failure is None and theirs.facts.failure is None:
                break
        else:
            return NOT_COUNTED
        sides = self.both.reference, self.both.candidate
        judge = ModuleJudge(*sides, self.both.described, loaded, request, their_request, CLOSE)
        roles = [
            row.role for row in judge.judge(judge.pair(mine, theirs)).modules if row.role not in (MERGED, UNPAIRED)
        ]
        in_place = roles.count("")
        return Score(in_place + roles.count(VICTIM), in_place, len(roles))
