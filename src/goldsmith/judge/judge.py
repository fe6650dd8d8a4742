"""Judge recorded runs of cases against gold. Nothing is run here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from goldsmith.comparison.leaves import NotComparable
from goldsmith.judge.bounds import TooMuchToJudge, spend
from goldsmith.judge.case import judge_case
from goldsmith.judge.criteria import Criteria, MayBeMissing, same_bits
from goldsmith.judge.verdicts import COULD_NOT_RUN, ERROR, CaseVerdict
from goldsmith.runs.run import CaseRuns

if TYPE_CHECKING:
    from goldsmith.gold.load import GoldCase
    from goldsmith.weights.rules import Adapter


@dataclass(frozen=True)
class Judge:
    """The gold of one assignment's cases, and the rules by which their runs are judged."""

    golds: Mapping[str, GoldCase]
    adapter: Adapter
    overwriting_differs: bool = False
    _criteria: dict[str, Criteria] = field(default_factory=dict)

    def criteria(self, case: str) -> Criteria:
        """Return what a case is judged by; made once for each case."""
        if case not in self._criteria:
            gold = self.golds[case]
            self._criteria[case] = Criteria(gold, self._may_be_missing(gold), self.overwriting_differs)
        return self._criteria[case]

    def verdict(self, name: str, runs: CaseRuns, *, guessing: bool = True) -> CaseVerdict:
        """Judge one case by all of its `runs`; with `guessing`, also guess at what went wrong. If goldsmith itself
        fails, that is the verdict on this case alone."""
        gold = self.golds[name]
        verdict = CaseVerdict(name=name, title=gold.entry.title, outcome=ERROR, kind="error")
        for _ in range(2):  # a retry helps where the failure was by chance, such as lack of memory
            try:
                spend()
                return judge_case(self.criteria(name), runs, guessing=guessing)
            except TooMuchToJudge as error:
                why = f"what it returned takes too much to be judged: {error}"
                return msgspec.structs.replace(verdict, outcome=COULD_NOT_RUN, reason=why, kind="timeout")
            except NotComparable as error:
                why = f"what it returned cannot be compared: {error}"
                return msgspec.structs.replace(verdict, outcome=COULD_NOT_RUN, reason=why, kind="raised")
            except Exception as error:
                verdict = msgspec.structs.replace(verdict, reason=f"goldsmith could not judge this: {error!r}")
        return verdict

    def layouts_of(self, case: str) -> list[str]:
        """List the adapter's layouts that make a difference to a case."""
        return self.adapter.layouts_of(self.weight_names(case))

    def weight_names(self, case: str) -> frozenset[str]:
        """Return the names of all weights of all models of a case."""
        return frozenset(name for weights in self.golds[case].initial_weights.values() for name in weights)

    def _may_be_missing(self, gold: GoldCase) -> MayBeMissing:
        """Say which weights another implementation need not have: computed buffers that are still as they were built,
        weights tied to another, and those that the course's adapter excuses."""
        facts = gold.entry.weights
        tied = {name for item in facts.values() for names in item.tied for name in names[1:]}
        built = {
            name: weights.get(name)
            for model, weights in gold.initial_weights.items()
            for name in (facts[model].buffers if model in facts else ())
        }
        return lambda name, value: (
            name in tied or self.adapter.excuses(name) or (name in built and same_bits(built[name], value))
        )
