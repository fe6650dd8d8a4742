"""Running a submission's cases in children that know nothing of gold's outputs, and reading what they left behind.

A child that dies costs the case it was at; the cases after it get a child of their own.
"""

from __future__ import annotations

import dataclasses
import secrets
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from goldsmith.course import Assignment, Placement
from goldsmith.errors import DeviceMissing
from goldsmith.generation import Options, make_job
from goldsmith.gold import GoldCase, mapped, write_payload
from goldsmith.recording import (
    ATTEMPT_SUFFIX,
    NOT_CONFINED,
    TRACE,
    Attempt,
    Ending,
    Event,
    Failure,
    Isolated,
    Job,
    KeptCase,
    Limits,
    RunName,
    Warm,
    Watcher,
    is_leaving,
    read_leaving,
    run_side_by_side,
)
from goldsmith.sandbox import Confinement, Level
from goldsmith.workspace import Workspace

RUNS: tuple[RunName, ...] = ("once", "again", "float64")
GIVEN = "given"
_GIVEN = ("input", "state_dict")
_MOST_VALUES, _MOST_FRAMES, _MOST_NOTES, _LONGEST = 20_000, 50, 50, 10_000


@dataclass(frozen=True)
class Replayed:
    """What one case left behind, by run; a run that never ended has a failure and no arrays."""

    attempts: Mapping[str, Attempt]
    arrays: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    trace: Path | None = None

    @property
    def once(self) -> Attempt:
        return self.attempts["once"]

    def joined(self, other: Replayed) -> Replayed:
        """With what the case did in other runs."""
        arrays = {**self.arrays, **other.arrays}
        return dataclasses.replace(self, attempts={**self.attempts, **other.attempts}, arrays=arrays)

    def rounded_inside(self) -> Replayed:
        """The same, with what is known about its run in float64: that it was none."""
        wide = msgspec.structs.replace(self.attempts["float64"], pure=False)
        return dataclasses.replace(self, attempts={**self.attempts, "float64": wide})

    def leaves(self, run: str) -> dict[str, Any]:
        """Everything that was recorded in that run, by path."""
        attempt = self.attempts[run]
        found = {**attempt.plain, **self.arrays.get(run, {})}
        return {path: found[path] for path in dict.fromkeys([*attempt.paths, *found]) if path in found}


@dataclass(frozen=True)
class Confined:
    """How submissions are locked in: what this machine can do, and what every one of them is left with."""

    level: Level
    confinement: Confinement


@dataclass
class Stage:
    """A workspace with a submission in it, in which its cases can be run as often as need be."""

    assignment: Assignment
    workspace: Workspace
    options: Options
    golds: Mapping[str, GoldCase]
    adapter: bool
    each: float
    watcher: Watcher
    warm: Warm
    limits: Limits = field(default_factory=Limits)
    confined: Confined | None = None
    stand_ins: tuple[str, ...] = ()
    stood_in: set[str] = field(default_factory=set)
    given: Path | None = None
    traced: bool = True
    peak: int = 0
    packages: set[str] = field(default_factory=set)
    _launches: int = 0

    def replay(
        self,
        cases: Sequence[str],
        runs: Sequence[RunName] = RUNS,
        layout: str = "",
        until: Until | None = None,
    ) -> dict[str, Replayed]:
        """Every case in every way; each has an attempt at least for its first run.

        Each is shown to `until` as soon as it has ended; once that says so, those after it are not run.
        """
        pending = list(cases)
        found: dict[str, Replayed] = {}
        while pending:
            job = self._job("replay", kept=self.give(pending), runs=tuple(runs), layout=layout)
            follower = _Follower(self, job, pending, runs, until)
            try:
                ending = self._run(job, follower.watcher if until else self.watcher)
            except _Enough:
                return found | follower.found
            found |= follower.found
            ended = _failure(ending, self.each)
            if ended is not None and ended.kind == "device" and ending.last_case is None:
                raise DeviceMissing(self.options.device, ended.message.split(", "))
            reached = pending.index(ending.last_case) + 1 if ending.last_case in pending else len(pending)
            for name in pending[:reached]:
                if name not in found:
                    found[name] = self.read(Path(job.output, name), runs, ended or _nothing())
                    if until is not None and until(name, found[name]):
                        return found
            pending = pending[reached:] if ended is not None else []
            if ending.result is not None:
                self.peak = max(self.peak, ending.result.peak)
                self.packages |= set(ending.result.packages)
                self.stood_in |= set(ending.result.stand_ins) & set(self.stand_ins)
        return {name: found[name] for name in cases}

    def isolate(self, items: Sequence[Isolated], layout: str = "") -> dict[int, Replayed]:
        """Modules run alone on gold's inputs, by number."""
        kept = self.give(list(dict.fromkeys(item.case for item in items)))
        alone = self.options.device != "cpu" or self.confined is not None
        together = [(item,) for item in items] if alone else [tuple(items)]
        found = {}
        for some in together:
            job = self._job("isolate", kept=kept, isolated=some, layout=layout)
            ended = _failure(self._run(job), self.each) or _nothing()
            for item in some:
                found[item.number] = self._cleaned(_read_alone(Path(job.output), item.number, ended))
        return found

    def read(self, folder: Path, runs: Sequence[RunName], otherwise: Failure) -> Replayed:
        """What a case has left behind."""
        return self._cleaned(_read(folder, runs, otherwise))

    def _cleaned(self, replayed: Replayed) -> Replayed:
        """With files named as the submission's author names them, not as they lie in the workspace."""
        attempts = {
            run: item
            if item.failure is None
            else msgspec.structs.replace(item, failure=_in_their_words(item.failure, self.workspace))
            for run, item in replayed.attempts.items()
        }
        return dataclasses.replace(replayed, attempts=attempts)

    def _run(self, job: Job, watcher: Watcher | None = None) -> Ending:
        timeout = self.options.timeout + self.each * max(1, len(job.kept))
        (ending,) = run_side_by_side(
            [job], timeout=timeout, each=self.each, watcher=watcher or self.watcher, warm=self.warm
        )
        return ending

    def _job(self, task: str, **fields: Any) -> Job:
        self._launches += 1
        job = make_job(self.assignment, self.workspace, self.options, task=task)
        adapter = self.workspace.folder / self.assignment.course.config.adapter
        scratch = self.workspace.scratch / f"launch-{self._launches}-{secrets.token_hex(6)}"
        scratch.mkdir()
        return msgspec.structs.replace(
            job,
            output=str(scratch / "out"),
            scratch=str(scratch),
            adapter=str(adapter) if self.adapter else "",
            limits=self.limits,
            stand_ins=self.stand_ins,
            traced=self.traced,
            **(self._walls(scratch, fields) if self.confined else {}),
            **fields,
        )

    def _walls(self, scratch: Path, fields: Mapping[str, Any]) -> dict[str, Any]:
        """One launch may read its own workspace and what it is given, and write into the workspace and its scratch."""
        assert self.confined is not None
        given = [*(item.file for item in fields["kept"].values()), *(item.file for item in fields.get("isolated", ()))]
        confinement = msgspec.structs.replace(
            self.confined.confinement,
            home=str(scratch / "home"),
            readable=(*self.confined.confinement.readable, *given),
            writable=(str(self.workspace.root), str(scratch)),
        )
        return {"confinement": confinement, "level": self.confined.level}

    def give(self, cases: Sequence[str]) -> dict[str, KeptCase]:
        """Gold's inputs and weights in files of their own: nothing else of gold enters the workspace. Where they have
        been written before they are copied, or, where nobody could change them, shared."""
        folder = self.workspace.scratch / GIVEN
        if self.confined is not None and self.given is not None:
            folder = self.given
        elif not folder.exists():
            folder.mkdir()
            for file in sorted(self.given.iterdir()) if self.given else ():
                shutil.copyfile(file, folder / file.name)
        entries = {name: self.golds[name].entry for name in cases}
        return {
            name: KeptCase(
                file=str(given_file(self.golds[name], folder)),
                inputs=entry.inputs,
                models=entry.models,
                weights=entry.weights,
            )
            for name, entry in entries.items()
        }


def given_file(case: GoldCase, folder: Path) -> Path:
    """What a case gives away of its gold, in `folder`, written there unless it is."""
    path = folder / f"{case.name}{case.path.suffix}"
    if not path.exists():
        write_payload({key: case.data[key] for key in _GIVEN if key in case.data}, folder / case.name, path.suffix)
    return path


Until = Callable[[str, Replayed], bool]


class _Enough(Exception):
    """What has been run tells everything that was asked."""


@dataclass
class _Follower:
    """Reads cases as they end, while the child is at the next."""

    stage: Stage
    job: Job
    cases: Sequence[str]
    runs: Sequence[RunName]
    until: Until | None
    found: dict[str, Replayed] = field(default_factory=dict)

    @property
    def watcher(self) -> Watcher:
        return dataclasses.replace(self.stage.watcher, on_case=self._on_case)

    def _on_case(self, event: Event) -> None:
        self.stage.watcher.on_case(event)
        ended = self.cases[: self.cases.index(event.case)] if event.case in self.cases else []
        for name in ended:
            if name not in self.found:
                self.found[name] = self.stage.read(Path(self.job.output, name), self.runs, _nothing())
                if self.until is not None and self.until(name, self.found[name]):
                    raise _Enough


def recipe_placements(assignment: Assignment, adapter: Path | None) -> list[Placement]:
    """The course's own recipe and adapter: a submission cannot bring its own."""
    config = assignment.course.config
    found = [Placement(assignment.recipe, Path(config.recipe))]
    return found + ([Placement(adapter, Path(config.adapter))] if adapter else [])


def _read(folder: Path, runs: Sequence[RunName], otherwise: Failure) -> Replayed:
    attempts: dict[str, Attempt] = {}
    arrays: dict[str, Mapping[str, Any]] = {}
    for run in runs:
        attempt, content = _attempt(folder / run)
        if attempt is None:
            attempts[run] = Attempt(failure=otherwise)
            break
        attempts[run] = attempt
        arrays[run] = content
        if attempt.failure is not None and run == "once":
            break
    trace = folder / TRACE
    return Replayed(attempts, arrays, trace if is_leaving(trace) else None)


def _read_alone(folder: Path, number: int, otherwise: Failure) -> Replayed:
    attempt, content = _attempt(folder / str(number))
    return Replayed({"once": attempt or Attempt(failure=otherwise)}, {"once": content})


def _attempt(stem: Path) -> tuple[Attempt | None, Mapping[str, Any]]:
    """What a run wrote down. Nothing that a submission's process has written is believed without being checked."""
    try:
        attempt = msgspec.json.decode(read_leaving(stem.with_suffix(ATTEMPT_SUFFIX)), type=Attempt)
    except OSError:
        return None, {}
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return Attempt(failure=_unreadable(str(error))), {}
    attempt = _bearable(attempt)
    file = stem.with_suffix(".safetensors")
    if attempt.failure is not None or not is_leaving(file):
        return attempt, {}
    try:
        content = dict(mapped(file))
        if len(content) > _MOST_VALUES:
            raise ValueError(f"it holds more than {_MOST_VALUES} values")
        return attempt, content | {path: _as_complex(content[path]) for path in attempt.complex}
    except (OSError, ValueError, KeyError) as error:
        return Attempt(failure=_unreadable(str(error))), {}


def _bearable(attempt: Attempt) -> Attempt:
    """The same, with no more in it than anybody would read."""
    too_long = any(len(name) > _LONGEST for name in attempt.plain)
    if too_long or max(len(attempt.paths), len(attempt.plain)) > _MOST_VALUES:
        return Attempt(failure=_unreadable(f"it holds more than {_MOST_VALUES} values, or very long names"))
    failure = attempt.failure
    if failure is not None:
        frames = failure.frames[-_MOST_FRAMES:]
        failure = msgspec.structs.replace(failure, message=failure.message[:_LONGEST], frames=frames)
    return msgspec.structs.replace(attempt, failure=failure, notes=attempt.notes[:_MOST_NOTES])


def _in_their_words(failure: Failure, workspace: Workspace) -> Failure:
    def short(text: str) -> str:
        return text.replace(f"{workspace.folder}/", "").replace(f"{workspace.root}/", "")

    frames = tuple(msgspec.structs.replace(frame, file=short(frame.file)) for frame in failure.frames)
    return msgspec.structs.replace(failure, message=short(failure.message) or "no reason is given", frames=frames)


def _as_complex(pairs: Any) -> Any:
    import numpy as np

    if not isinstance(pairs, np.ndarray) or pairs.shape[-1:] != (2,) or pairs.dtype.kind != "f":
        raise ValueError("an array is said to be complex and is not stored as pairs")
    return pairs[..., 0] + 1j * pairs[..., 1]


def _unreadable(why: str) -> Failure:
    return Failure(kind="raised", message=f"what its process left behind cannot be read: {why}")


def _nothing() -> Failure:
    return Failure(kind="exit", message="its process ended without a word")


def _failure(ending: Ending, each: float) -> Failure | None:
    """Why the child did not come to its end, None when it did."""
    if ending.timed_out:
        return Failure(kind="timeout", message=f"took longer than {each:g} s", case=ending.last_case)
    if ending.signal:
        return Failure(kind="killed", message=f"was killed by {ending.signal}", case=ending.last_case)
    if ending.result is None and ending.code == NOT_CONFINED:
        return Failure(kind="exit", message="its process could not be locked in, so nothing was run in it")
    if ending.result is None:
        message = f"ended its process early, with exit code {ending.code}"
        return Failure(kind="exit", message=message, case=ending.last_case)
    return ending.result.failure
