"""A hearing: the cases of a submission, run as often as it takes to be sure of each, in the layout of weights in which
it is right."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from goldsmith.check.case_verdict import is_close, is_nearer, is_shown_twice, still_to_run
from goldsmith.check.replay_client import ReplayClient
from goldsmith.check.replay_results import CaseRuns
from goldsmith.check.replay_workspace import ReplayWorkspace
from goldsmith.check.verdicts import AGREES, COULD_NOT_RUN, DIFFERS, ERROR, CaseVerdict
from goldsmith.process.messages import RunName

if TYPE_CHECKING:
    from goldsmith.check.check import Checking

TRIED = 2
"""So many cases of each kind of model are run once more to see whether another layout changes anything."""
_OTHERWISE = ("raised", "weights", "values")
"""How cases go wrong that may be right with their weights in another layout."""


@dataclass
class ReplayStrategy:
    """What has been found out. `layouts` are those that cases are judged in, where it is not the plain one."""

    checking: Checking
    stage: ReplayWorkspace
    replays: dict[str, CaseRuns] = field(default_factory=dict)
    verdicts: dict[str, CaseVerdict] = field(default_factory=dict)
    layouts: dict[str, str] = field(default_factory=dict)
    _useless_layouts: set[str] = field(default_factory=set)

    def run_cases(self, cases: Sequence[str]) -> None:
        """Everything as it comes before anything in float64: what code keeps for itself from one run to the next must
        not change what it is judged by."""
        with self.stage.company() as company:
            self._first_run(company, cases)
            self._in_other_layouts(company, [name for name in cases if not is_close(self.verdicts[name])])
            self._repeat(company, cases)
        self._confirm(cases)
        late = [name for name in cases if self.verdicts[name].outcome == DIFFERS and name not in self.layouts]
        with self.stage.company() as company:
            moved = self._in_other_layouts(company, late)
            self._repeat(company, moved)
        self._confirm(moved)
        for name in cases:
            self._tell_layout(name)

    def _first_run(self, company: ReplayClient, cases: Sequence[str]) -> None:
        self.replays |= company.replay(dict.fromkeys(cases, ("once",)))
        self.verdicts |= {name: self._in_own_dtype(name, self.replays[name]) for name in cases}

    def _in_own_dtype(self, name: str, replay: CaseRuns) -> CaseVerdict:
        return self.checking.verdict(name, replay, guessing=False)

    def _in_other_layouts(self, company: ReplayClient, cases: Sequence[str]) -> list[str]:
        """Cases that come nearer to gold with their weights in another layout, where that helps any of `cases`."""
        moved: list[str] = []
        for other in self.checking.adapter.layouts:
            bad = [name for name in self._with(other, cases) if self.verdicts[name].kind in _OTHERWISE]
            if not bad or other in self._useless_layouts:
                continue
            tried = self._tried(company, self._first_of_each_kind(bad), other)
            if not any(is_close(verdict) for _, verdict in tried.values()):
                self._useless_layouts.add(other)
                continue
            tried |= self._tried(
                company, [name for name in self._with(other, self.replays) if name not in tried], other
            )
            for name, (replay, verdict) in tried.items():
                if is_close(verdict) and is_nearer(verdict, self.verdicts[name]):
                    self.replays[name], self.verdicts[name], self.layouts[name] = replay, verdict, other
                    moved.append(name)
        return moved

    def _first_of_each_kind(self, cases: Sequence[str]) -> list[str]:
        """The rest have the same weights, and mostly take longer. No clock decides: no verdict may depend on one."""
        kinds: dict[frozenset[str], list[str]] = {}
        for name in cases:
            kinds.setdefault(self.checking.weight_names(name), []).append(name)
        return [name for kind in kinds.values() for name in kind[:TRIED]]

    def _with(self, layout: str, cases: Iterable[str]) -> list[str]:
        return [name for name in cases if name not in self.layouts and layout in self.checking.layouts_of(name)]

    def _tried(
        self, company: ReplayClient, cases: Sequence[str], layout: str
    ) -> dict[str, tuple[CaseRuns, CaseVerdict]]:
        replays = company.replay(dict.fromkeys(cases, ("once",)), dict.fromkeys(cases, layout))
        return {name: (replay, self._in_own_dtype(name, replay)) for name, replay in replays.items()}

    def _repeat(self, company: ReplayClient, cases: Sequence[str]) -> None:
        """Whatever a verdict still needs, float64 last."""
        golds = self.checking.golds
        wanted = {name: still_to_run(self.verdicts[name], golds[name]) for name in cases}
        in_order = sorted(filter(wanted.get, wanted), key=lambda name: "float64" in wanted[name])
        self._join(company.replay({name: wanted[name] for name in in_order}, self.layouts))

    def _join(self, replays: Mapping[str, CaseRuns]) -> None:
        for name, replay in replays.items():
            known = self.replays[name]
            if known.once.failure is None or "once" in replay.attempts:
                self.replays[name] = known.joined(replay)
            elif replay.attempts["traced"].failure is not None:
                self.replays[name] = known.with_failure(replay.attempts["traced"], replay.trace)

    def _confirm(self, cases: Sequence[str]) -> None:
        """The final verdicts. What agrees has done so twice in one process; what differs has left a trace."""
        self._judge(cases, self.verdicts)
        wanted: dict[str, tuple[RunName, ...]] = {}
        for name in cases:
            if self.verdicts[name].outcome == AGREES and not is_shown_twice(self.replays[name]):
                wanted[name] = ("once", "again")
            elif self.verdicts[name].outcome == DIFFERS and "traced" not in self.replays[name].attempts:
                wanted[name] = ("traced",)
        if wanted:
            with self.stage.company() as company:
                self._join(company.replay(wanted, self.layouts))
            self._judge(list(wanted), {})

    def _judge(self, cases: Sequence[str], before: Mapping[str, CaseVerdict]) -> None:
        replays = {name: self.replays[name] for name in cases}
        self.verdicts |= self.checking.verdicts(self.stage, replays, self.layouts, before)
        self.replays |= replays

    def _tell_layout(self, name: str) -> None:
        verdict = self.verdicts[name]
        if name in self.layouts and verdict.outcome not in (COULD_NOT_RUN, ERROR):
            note = f"its weights lie as the adapter's layout {self.layouts[name]!r} says"
            self.verdicts[name] = msgspec.structs.replace(verdict, notes=(*verdict.notes, note))
