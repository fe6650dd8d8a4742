"""Decide which runs a verdict needs: each case runs until its verdict is certain, in the weight layout in which it is
right. Where and how runs happen is in `replay_workspace.py`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from goldsmith.check.replay_workspace import ReplayWorkspace
from goldsmith.judge.case import Judge, is_close, is_doubtful, is_nearer, is_shown_twice, still_to_run
from goldsmith.judge.reduced_precision import needs_dtypes
from goldsmith.judge.verdicts import AGREES, COULD_NOT_RUN, DIFFERS, ERROR, CaseVerdict
from goldsmith.runs.conditions import DTYPES, FLOAT64, PLAIN, REPEAT, STRICT, TRACED, Conditions
from goldsmith.runs.run import CaseRuns

MAX_LAYOUT_TRIALS = 2
"""How many cases of each kind of model are run once more to see whether another layout changes anything."""
_LAYOUT_PROBLEMS = ("raised", "weights", "values")
"""Kinds of failure that another layout of the weights may fix."""


@dataclass
class ReplayStrategy:
    """Runs cases in a workspace and collects their runs and verdicts. `layouts` holds the layout that a case is judged
    in, where it is not the plain one. Without `traces`, a case that is wrong is not run again: where only agreement
    matters, a trace of it would be for nothing."""

    judge: Judge
    workspace: ReplayWorkspace
    traces: bool = True
    replays: dict[str, CaseRuns] = field(default_factory=dict)
    verdicts: dict[str, CaseVerdict] = field(default_factory=dict)
    layouts: dict[str, str] = field(default_factory=dict)
    _useless_layouts: set[str] = field(default_factory=set)

    def run_cases(self, cases: Sequence[str]) -> None:
        """Run and judge `cases` until every verdict is certain. All of them run in their own dtype before any runs in
        float64, because state that code keeps from one run to the next must not affect what it is judged by."""
        with self.workspace.one_worker():
            self._first_run(cases)
            self._try_layouts([name for name in cases if not is_close(self.verdicts[name])])
            self._repeat(cases)
        self._confirm(cases)
        late = [name for name in cases if self.verdicts[name].outcome == DIFFERS and name not in self.layouts]
        with self.workspace.one_worker():
            moved = self._try_layouts(late)
            self._repeat(moved)
        self._confirm(moved)
        for name in cases:
            self._note_layout(name)

    def judge_runs(self, replays: Mapping[str, CaseRuns]) -> dict[str, CaseVerdict]:
        """Judge cases that have run already, with further runs where the verdict is in doubt."""
        self.replays |= replays
        self._finalise(list(replays))
        return {name: self.verdicts[name] for name in replays}

    def _first_run(self, cases: Sequence[str]) -> None:
        self.replays |= self.workspace.run(dict.fromkeys(cases, (PLAIN,)))
        self.verdicts |= {name: self._first_verdict(name, self.replays[name]) for name in cases}

    def _first_verdict(self, name: str, replay: CaseRuns) -> CaseVerdict:
        return self.judge.verdict(name, replay, guessing=False)

    def _try_layouts(self, cases: Sequence[str]) -> list[str]:
        """Move cases to another weight layout where that brings them closer to gold; return those that moved."""
        moved: list[str] = []
        for layout in self.judge.adapter.layouts:
            bad = [name for name in self._with(layout, cases) if self.verdicts[name].kind in _LAYOUT_PROBLEMS]
            if not bad or layout in self._useless_layouts:
                continue
            tried = self._run_in_layout(self._first_of_each_kind(bad), layout)
            if not any(is_close(verdict) for _, verdict in tried.values()):
                self._useless_layouts.add(layout)
                continue
            tried |= self._run_in_layout(
                [name for name in self._with(layout, self.replays) if name not in tried], layout
            )
            for name, (replay, verdict) in tried.items():
                if is_close(verdict) and is_nearer(verdict, self.verdicts[name]):
                    self.replays[name], self.verdicts[name], self.layouts[name] = replay, verdict, layout
                    moved.append(name)
        return moved

    def _first_of_each_kind(self, cases: Sequence[str]) -> list[str]:
        """Choose a few cases for each set of weights: the others have the same weights, and mostly take longer. The
        choice does not depend on time, because no verdict may."""
        kinds: dict[frozenset[str], list[str]] = {}
        for name in cases:
            kinds.setdefault(self.judge.weight_names(name), []).append(name)
        return [name for kind in kinds.values() for name in kind[:MAX_LAYOUT_TRIALS]]

    def _with(self, layout: str, cases: Iterable[str]) -> list[str]:
        return [name for name in cases if name not in self.layouts and layout in self.judge.layouts_of(name)]

    def _run_in_layout(self, cases: Sequence[str], layout: str) -> dict[str, tuple[CaseRuns, CaseVerdict]]:
        replays = self.workspace.replay(cases, (PLAIN,), layout)
        return {name: (replay, self._first_verdict(name, replay)) for name, replay in replays.items()}

    def _repeat(self, cases: Sequence[str]) -> None:
        """Run whatever a verdict still needs, float64 last."""
        wanted = {name: still_to_run(self.verdicts[name], self.judge.criteria(name)) for name in cases}
        if not self.traces:
            wanted = {name: runs for name, runs in wanted.items() if TRACED not in runs}
        in_order = sorted(filter(wanted.get, wanted), key=lambda name: FLOAT64 in wanted[name])
        self._join(self.workspace.run({name: wanted[name] for name in in_order}, self.layouts))

    def _join(self, replays: Mapping[str, CaseRuns]) -> None:
        for name, replay in replays.items():
            known = self.replays[name]
            if known.first.failure is None or "plain" in replay.runs:
                self.replays[name] = known.joined(replay)
            elif replay.runs["traced"].failure is not None:
                self.replays[name] = known.with_failure(replay.runs["traced"])

    def _confirm(self, cases: Sequence[str]) -> None:
        """Reach the final verdicts: a case that agrees has done so twice in one process, one that differs has a
        trace."""
        self._finalise(cases)
        wanted: dict[str, tuple[Conditions, ...]] = {}
        for name in cases:
            if self.verdicts[name].outcome == AGREES and not is_shown_twice(self.replays[name]):
                wanted[name] = (PLAIN, REPEAT)
            elif self.traces and self._lacks_trace(name):
                wanted[name] = (TRACED,)
        if wanted:
            self._join(self.workspace.run(wanted, self.layouts))
            self._finalise(list(wanted))

    def _lacks_trace(self, name: str) -> bool:
        return self.verdicts[name].outcome == DIFFERS and "traced" not in self.replays[name].runs

    def _finalise(self, cases: Sequence[str]) -> None:
        """Judge `cases` by all of their runs. Where only the run in float64 fails or differs, repeat it in a fresh
        process that watches for rounding. Where a case is close to its tolerance, one more run shows which dtypes it
        computes in."""
        self._judge(cases)
        doubtful = [name for name in cases if is_doubtful(self.verdicts[name], self.replays[name])]
        for name, replay in self.workspace.run(dict.fromkeys(doubtful, (STRICT,)), self.layouts).items():
            if replay.runs["float64_strict"].failure is None:
                self.replays[name] = self.replays[name].in_float64(replay)
                self._judge([name])
        close = [
            name for name in cases if needs_dtypes(self.verdicts[name], self.judge.golds[name], self.replays[name])
        ]
        for name, replay in self.workspace.run(dict.fromkeys(close, (DTYPES,)), self.layouts).items():
            self.replays[name] = self.replays[name].joined(replay)
            self._judge([name])

    def _judge(self, cases: Sequence[str]) -> None:
        self.verdicts |= {name: self.judge.verdict(name, self.replays[name]) for name in cases}

    def _note_layout(self, name: str) -> None:
        verdict = self.verdicts[name]
        if name in self.layouts and verdict.outcome not in (COULD_NOT_RUN, ERROR):
            note = f"its weights lie as the adapter's layout {self.layouts[name]!r} says"
            self.verdicts[name] = msgspec.structs.replace(verdict, notes=(*verdict.notes, note))
