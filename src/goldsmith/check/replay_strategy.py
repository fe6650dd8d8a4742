"""Decide which runs a verdict needs: each case runs until its verdict is certain, in the weight layout in which it is
right. Where and how runs happen is in `replay_workspace.py`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from goldsmith.check.replay_workspace import ReplayWorkspace
from goldsmith.comparison.results import Comparison
from goldsmith.judge.case import SECOND_RUNS, Judge, is_close, is_settled, only_raised_in_float64
from goldsmith.judge.criteria import Criteria
from goldsmith.judge.decision import is_off_in_float64, is_rounding
from goldsmith.judge.follows_dtype import nudges
from goldsmith.judge.reduced_precision import needs_dtypes
from goldsmith.judge.verdicts import AGREES, COULD_NOT_RUN, DIFFERS, ERROR, CaseVerdict
from goldsmith.runs.conditions import DTYPES, FLOAT64, PLAIN, REPEAT, STRICT, TRACED, Conditions
from goldsmith.runs.run import CaseRuns

MAX_LAYOUT_TRIALS = 2
"""How many cases of each kind of model are run once more to see whether another layout changes anything."""
_RAISED = ("raised", "none", "call", "stub")
"""Kinds of failure where a trace shows which calls were made, with what inputs, before the case failed."""
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
                if is_close(verdict) and _is_nearer(verdict, self.verdicts[name]):
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
        wanted = {name: _still_to_run(self.verdicts[name], self.judge.criteria(name)) for name in cases}
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
            if self.verdicts[name].outcome == AGREES and not _is_shown_twice(self.replays[name]):
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
        doubtful = [name for name in cases if _is_doubtful(self.verdicts[name], self.replays[name])]
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
        self._look_inside(cases)

    def _look_inside(self, cases: Sequence[str]) -> None:
        """Find out whether what is off in float64 alone is rounded inside, by runs on inputs that are moved a little:
        then its own dtype decides."""
        wanted = {
            name: tuple(run for dtype in self._inner_dtypes(name) for run in nudges(dtype))
            for name in cases
            if is_off_in_float64(self.verdicts[name])
        }
        wanted = {name: runs for name, runs in wanted.items() if runs and runs[0].name not in self.replays[name].runs}
        for name, replay in self.workspace.run(wanted, self.layouts).items() if wanted else ():
            self.replays[name] = self.replays[name].joined(replay)
            self._judge([name])

    def _inner_dtypes(self, name: str) -> tuple[str, ...]:
        criteria = self.judge.criteria(name)
        return criteria.inner_dtypes(criteria.own_dtype(Comparison(self.verdicts[name].natural)))

    def _judge(self, cases: Sequence[str]) -> None:
        self.verdicts |= {name: self.judge.verdict(name, self.replays[name]) for name in cases}

    def _note_layout(self, name: str) -> None:
        verdict = self.verdicts[name]
        if name in self.layouts and verdict.outcome not in (COULD_NOT_RUN, ERROR):
            note = f"its weights lie as the adapter's layout {self.layouts[name]!r} says"
            self.verdicts[name] = msgspec.structs.replace(verdict, notes=(*verdict.notes, note))


def _still_to_run(verdict: CaseVerdict, criteria: Criteria) -> tuple[Conditions, ...]:
    """List the further runs that a case needs after its first, to confirm its verdict or show where it goes wrong.

    A result identical to gold must be so again. Any other close result is run in float64: code that is right there too
    is not right by chance. If something was recorded that float64 says nothing about, both are run. A wrong result is
    traced, which is its second run.
    """
    if verdict.outcome == ERROR:
        return ()
    if verdict.outcome == COULD_NOT_RUN:
        return (TRACED,) if verdict.kind in _RAISED else ()
    unjudged = verdict.outcome == AGREES and bool(criteria.unjudged)  # what a ruler says nothing about, float64 may
    if (unjudged or not is_settled(verdict)) and criteria.gold.reference:
        return (FLOAT64,) if criteria.expected.keys() <= set(criteria.float64_paths) else (REPEAT, FLOAT64)
    if verdict.outcome == AGREES:
        return (REPEAT,)
    marked = any(leaf.nan_actual > leaf.nan_gold for leaf in verdict.natural)
    return (TRACED, REPEAT) if marked else (TRACED,)


def _is_shown_twice(replayed: CaseRuns) -> bool:
    """Return whether a second run in the process of the first has given a result."""
    wide = replayed.runs.get("float64")
    says = wide is not None and wide.failure is None and wide.facts.pure and "float64_strict" not in replayed.runs
    return says or any(run in replayed.runs for run in SECOND_RUNS)


def _is_doubtful(verdict: CaseVerdict, replayed: CaseRuns) -> bool:
    """Return whether only a run in float64 fails or differs, in a process that had done other things before: state kept
    from those may be the reason."""
    if "float64" not in replayed.runs or "float64_strict" in replayed.runs:
        return False
    against = verdict.outcome == DIFFERS and verdict.kind == "values" and is_rounding(verdict.natural)
    return against or only_raised_in_float64(replayed)


def _is_nearer(verdict: CaseVerdict, other: CaseVerdict) -> bool:
    """Return whether a case's first run came closer to gold than it did in another layout."""

    def far(item: CaseVerdict) -> tuple[int, float]:
        off = max((leaf.excess for leaf in item.natural), default=0.0)
        return (AGREES, DIFFERS, COULD_NOT_RUN, ERROR).index(item.outcome), off

    return far(verdict) < far(other)
