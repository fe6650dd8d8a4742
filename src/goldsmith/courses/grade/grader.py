"""Judge one submission in a sandbox, and cache its verdict under everything that it depends on.

A grader can be sent to another process: what it needs there (gold, a fork server) it opens there, once. Judging the
same submission twice gives the same result, so nothing is lost when a worker or the whole run dies.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import functools
import gc
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import msgspec

from goldsmith.check.check import check, conclude, replay
from goldsmith.check.grading_sandbox import GradingSandbox
from goldsmith.check.places import shown_place
from goldsmith.check.provided_code import read_code
from goldsmith.check.recipe_failures import SolutionFailures, failures_of
from goldsmith.check.replayed import Replayed, is_replayed
from goldsmith.check.request import Request, open_gold
from goldsmith.courses.grade import turns
from goldsmith.courses.grade.grades import UNSANDBOXED, failed, rejected
from goldsmith.courses.grade.ingredients import Ingredients, ingredients_of
from goldsmith.courses.grade.judging_context import JudgingContext, Stopped, limit_malloc_arenas, stopped
from goldsmith.courses.grade.rubric import Rubric, parts_shown, rubric_of, with_hollow
from goldsmith.courses.grade.submissions import SubmissionRef, digest_of, opened
from goldsmith.courses.guard.similarity import Matches, SolutionPart, matches, parts_to_write
from goldsmith.courses.layout.layout import Assignment
from goldsmith.courses.layout.resolve import resolve
from goldsmith.courses.submissions.solution_copy import submitted_copy
from goldsmith.errors.base import GoldsmithError
from goldsmith.errors.gold import CannotWrite, Interrupted
from goldsmith.errors.recipe import DeviceMissing
from goldsmith.errors.sandbox import NoDeviceInside, NoPrivateNetwork, NoSandbox
from goldsmith.foundation.content_cache import ContentCache
from goldsmith.foundation.ownership import new_token
from goldsmith.foundation.struct_types import prepare_types
from goldsmith.generate.cache_key import content_key
from goldsmith.generate.options import Options
from goldsmith.judge.verdicts import AGREES, COULD_NOT_RUN, CUT_OFF, ERROR, CaseVerdict, Verdict
from goldsmith.process.launcher import Watcher
from goldsmith.runs.run import Failure
from goldsmith.sandbox.capabilities import Level, probe
from goldsmith.targets.target import Submission, Target

METHOD = 15
"""Increased whenever a submission may be judged differently than before, so that cached verdicts are not used."""
_MACHINE_KINDS = (*CUT_OFF, "device", "package")
"""Kinds of failure that depend on the machine and may not recur: its packages, device, load and limits."""
_GC_THRESHOLD_OBJECTS = 50_000
_MAX_AGE_S = 7 * 86400.0
"""Seconds after which nobody goes on with an interrupted run."""
_IDLE_S = 3600.0
"""Seconds after which an unused context is assumed to belong to a finished run."""


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """A submission's verdict; `kept` says that it came from the cache, `sandbox` how it was sandboxed. `matches` is,
    by part, what it has of the solution. One that is `pending` has had its cases replayed, which is stored under this
    key, and no verdict yet."""

    verdict: Verdict
    digest: str = ""
    sandbox: str = ""
    matches: dict[str, Matches] = {}
    kept: bool = False
    pending: str = ""


_FATAL = (NoSandbox, NoPrivateNetwork, NoDeviceInside, DeviceMissing, Interrupted, OSError, Stopped)
"""Errors that end the whole run, because they would affect every submission."""
Found = TypeVar("Found", Verdict, "Verdict | Replayed")
Judge = Callable[[Submission, str], "tuple[Judged, bool]"]
"""Judges a submission whose verdict is cached under a key; says also whether something that all share was used up."""
_SUBMISSION_ERRNOS = (errno.EACCES, errno.EEXIST, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.ENOTDIR)
"""System errors that a submission's names and folders can cause, and that affect no other submission."""


@dataclass(frozen=True)
class Grader:
    """How submissions to one assignment are judged: in a sandbox, unless the user declined it. `other_submissions`
    lists where in the course other people's work lies, relative to its root; `hidden` are folders besides the course's
    own that no submission may read, even if they are on Python's path."""

    assignment: Assignment
    rubric: Rubric
    options: Options
    case_timeout: float
    memory: float
    keep: bool = True
    sandboxed: bool = True
    allow_stale: bool = False
    other_submissions: tuple[Path, ...] = ()
    hidden: tuple[str, ...] = ()
    device_memory: float = 0.0
    run: str = field(default_factory=new_token, compare=False)
    """Tells what this run has stored from what others have."""

    def __call__(self, item: SubmissionRef) -> Judged:
        """Judge a submission. An error of goldsmith's own is an `error` verdict; a fault of this machine is raised."""
        return self._guarded(item, lambda submission, key: self._judge(submission, check))

    def replay(self, item: SubmissionRef) -> Judged:
        """Replay the cases of a submission. It is `pending` if it has to be given some of gold's intermediate values
        before there is a verdict; else it is judged."""
        return self._guarded(item, self._replay)

    def conclude(self, item: SubmissionRef) -> Judged:
        """Judge a submission that is `pending`; nothing that it is given now changes what its cases have shown."""
        return self._guarded(item, self._conclude)

    def forget(self, pending: Iterable[str]) -> None:
        """Remove what was stored of submissions that were `pending`, and what interrupted runs have left for long."""
        for key in pending:
            self._replayed.remove(key)
        self._replayed.evict(_MAX_AGE_S, is_replayed)

    def _guarded(self, item: SubmissionRef, judge: Judge) -> Judged:
        if self.sandboxed:
            probe().require()
        verdict = None
        for _ in range(2):  # a retry helps where the failure was by chance
            try:
                return self._grade(item, judge)
            except _FATAL:
                raise
            except Exception as error:  # a bug of ours says nothing about the submission, and must not end the run
                verdict = failed(item.name, self.assignment.name, self.rubric, error)
        assert verdict is not None
        return Judged(verdict=verdict)

    def _grade(self, item: SubmissionRef, judge: Judge) -> Judged:
        with contextlib.ExitStack() as stack:
            try:
                submission = stack.enter_context(opened(self.assignment, item))
                digest = digest_of(submission)
            except (*_FATAL, CannotWrite) as error:
                if not isinstance(error, OSError) or error.errno not in _SUBMISSION_ERRNOS:
                    raise
                why = f"it cannot be opened ({error.strerror})"
                return Judged(verdict=rejected(item.name, self.assignment.name, self.rubric, why))
            except GoldsmithError as problem:
                return Judged(verdict=rejected(item.name, self.assignment.name, self.rubric, str(problem)))
            key = content_key([self.base, digest, submission.choices])
            found = self._cache.get(key) if self.keep else None
            if found is not None:
                verdict = msgspec.structs.replace(found.verdict, name=item.name)
                return self._with_matches(verdict, submission, digest, found.sandbox, True)
            judged, was_short = judge(submission, key)
            if judged.pending:
                return judged
            if _follows_from_content(judged.verdict) and not was_short:
                nameless = msgspec.structs.replace(judged.verdict, name="")
                self._cache.put(key, msgspec.structs.replace(judged, verdict=nameless))
            return self._with_matches(judged.verdict, submission, digest, judged.sandbox, False)

    def _with_matches(self, verdict: Verdict, submission: Submission, digest: str, sandbox: str, kept: bool) -> Judged:
        """Add to a verdict what its parts have of the solution, for staff."""
        found: dict[str, Matches] = {}
        with contextlib.suppress(Exception):  # only a remark, about files that may contain anything
            code = [item for item in submission.placed if item.target.suffix == ".py"]
            files = read_code(code, lambda name: (self.assignment.starter / name).is_file())
            found = matches(_parts_of(self), files, lambda place: shown_place(place, code))
        return Judged(verdict=verdict, digest=digest, sandbox=sandbox, matches=found, kept=kept)

    def _replay(self, submission: Submission, key: str) -> tuple[Judged, bool]:
        store = key if self.keep else content_key([key, self.run])
        if self.keep and self._replayed.get(store) is not None:
            return Judged(verdict=_not_yet(submission, self.assignment), pending=store), False
        found, was_short = self._run(submission, replay)
        if isinstance(found, Verdict):
            return self._judged(found), was_short
        if was_short or not _can_be_kept(found.verdicts.values()):
            store = content_key([key, self.run])
        self._replayed.put(store, found)
        return Judged(verdict=_not_yet(submission, self.assignment), pending=store), was_short

    def _conclude(self, submission: Submission, key: str) -> tuple[Judged, bool]:
        replayed = self._replayed.get(content_key([key, self.run])) or (self._replayed.get(key) if self.keep else None)
        if replayed is None:  # it could not be stored, or somebody has removed it
            return self._judge(submission, check)
        return self._judge(submission, functools.partial(conclude, replayed=replayed))

    def _judge(
        self, submission: Submission, judge: Callable[[Target, Submission, Request], Verdict]
    ) -> tuple[Judged, bool]:
        verdict, was_short = self._run(submission, judge)
        return self._judged(verdict), was_short

    def _judged(self, verdict: Verdict) -> Judged:
        return Judged(verdict=verdict, sandbox=_name(_context(self).level))

    def _run(self, submission: Submission, judge: Callable[[Target, Submission, Request], Found]) -> tuple[Found, bool]:
        """Run a submission beside others; once more, alone, if it failed for want of something that all share.

        Return what was found, and whether something was still wanting: then it says nothing about another time.
        """
        context, folder = _context(self), self.assignment.course.state_folder / "turns"
        was_short = threading.Event()
        on_device = functools.partial(turns.on_device, folder, self.sandbox.device_turns, context.check_stopped)

        def found() -> Found:
            was_short.clear()
            request = self._request(context, lambda: _solution_failures(self), was_short.set)
            return judge(self.target, submission, request)

        with turns.beside_others(folder, context.check_stopped), on_device():
            first = found()
        if not was_short.is_set() or (isinstance(first, Verdict) and first.outcome == AGREES):
            return first, False
        with turns.alone(folder, context.check_stopped), on_device():
            return found(), was_short.is_set()

    def _request(
        self,
        context: JudgingContext,
        solution_failures: SolutionFailures | None,
        on_shortage: Callable[[], None] = lambda: None,
    ) -> Request:
        return Request(
            opened=context.opened,
            fork_server=context.fork_server,
            watcher=Watcher(on_tick=context.check_stopped, on_shortage=on_shortage),
            confined=None if context.level is None else self.sandbox.policy(context.level),
            temporary_folder=context.temporary_folder,
            hidden_files=self.other_submissions,
            solution_failures=solution_failures,
        )

    @functools.cached_property
    def target(self) -> Target:
        """Return the assignment with what holds for this run."""
        own, limit = self.options, self.case_timeout
        found = resolve(self.assignment)
        return replace(found, threads=own.threads, timeout=own.timeout, device=own.device, case_timeout=limit)

    @functools.cached_property
    def sandbox(self) -> GradingSandbox:
        """Return the sandbox that all submissions run in."""
        return GradingSandbox(self.target, self.target.gold, self.memory, self.hidden, self.device_memory)

    # --- cache --------------------------------------------------------------------------------------------------------

    @property
    def ingredients(self) -> Ingredients:
        """Return everything but the submission that a verdict depends on, as it is now."""
        return ingredients_of(self, METHOD)

    @functools.cached_property
    def base(self) -> str:
        """Return the cache key of the same."""
        return self.ingredients.key

    @property
    def _cache(self) -> ContentCache[Judged]:
        """Keep verdicts as msgpack: JSON has no infinity, which is how far off an exact value can be."""
        folder = self.assignment.course.state_folder / "grades" / self.assignment.name
        return ContentCache(folder, ".msgpack", msgspec.msgpack.encode, msgspec.msgpack.Decoder(Judged).decode)

    @property
    def _replayed(self) -> ContentCache[Replayed]:
        """Keep what replays have shown until everybody's cases have been replayed, also if that takes two runs."""
        decode = msgspec.msgpack.Decoder(Replayed).decode
        folder = self.assignment.course.state_folder / "replayed" / self.assignment.name
        return ContentCache(folder, ".msgpack", msgspec.msgpack.encode, decode)


def _follows_from_content(verdict: Verdict) -> bool:
    """Return whether a verdict would be the same on another day and machine: it has no error of ours or of the
    course's, no process that was killed, and no missing package or device."""
    return verdict.outcome != ERROR and _can_be_kept(verdict.cases)


def _can_be_kept(cases: Iterable[CaseVerdict]) -> bool:
    return not any(case.outcome == ERROR or case.kind in _MACHINE_KINDS for case in cases)


def _not_yet(submission: Submission, assignment: Assignment) -> Verdict:
    return Verdict(name=submission.name, assignment=assignment.name, outcome=COULD_NOT_RUN)


def rubric_for(assignment: Assignment, *, allow_stale: bool) -> Rubric:
    """Read the course's rubric, which must fit the current gold."""
    gold = open_gold(resolve(assignment), Submission(""), allow_stale=allow_stale)
    rubric = rubric_of(assignment, list(gold), gold.manifest.provenance.written, parts_shown(gold))
    return with_hollow(rubric, gold)


_parts: dict[str, list[SolutionPart]] = {}
_contexts: dict[str, JudgingContext] = {}
_solutions: dict[str, Mapping[str, Failure] | None] = {}
"""All are keyed by `Grader.base`: a worker may outlive many runs, with different gold and sandbox layers."""


def _parts_of(grader: Grader) -> list[SolutionPart]:
    """Return the solution's parts that submissions are compared with, read once in each process."""
    if grader.base not in _parts:
        _parts[grader.base] = parts_to_write(grader.assignment)
    return _parts[grader.base]


def _solution_failures(grader: Grader) -> Mapping[str, Failure] | None:
    """Return how the solution fails in this sandbox, by case; None if there is no solution here. It is run once in each
    process, when a submission first fails as if by no fault of its own, and apart from all submissions: what it is in
    lies where none of them can look."""
    with _trying:
        if grader.base not in _solutions:
            _solutions[grader.base] = _run_solution(grader)
        return _solutions[grader.base]


def _run_solution(grader: Grader) -> Mapping[str, Failure] | None:
    assignment, target = grader.assignment, grader.target
    if target.solution is None or not target.solution.is_here:
        return None
    try:
        context = JudgingContext.of(grader)
        try:
            with submitted_copy(assignment, target.placed) as submission:
                return failures_of(check(target, submission, grader._request(context, None)))
        finally:
            context.close()
    except GoldsmithError:  # gold was made from another state of the solution: nothing is known of this one
        return None


_trying = threading.Lock()
_opening = threading.Lock()
_is_open = threading.Lock()


def _context(grader: Grader) -> JudgingContext:
    with _opening:
        if grader.base not in _contexts:
            _close_idle()
            _contexts[grader.base] = JudgingContext.of(grader)
            atexit.register(close_contexts)  # a cluster's worker may end at any time
        _contexts[grader.base].used = time.monotonic()
        return _contexts[grader.base]


def _close_idle() -> None:
    """Close contexts that have been idle for long: workers are not told when a run is over."""
    for base, context in list(_contexts.items()):
        if time.monotonic() - context.used > _IDLE_S:
            context.close()
            del _contexts[base]
            _parts.pop(base, None)
            _solutions.pop(base, None)


@contextlib.contextmanager
def judging_contexts() -> Iterator[None]:
    """Let submissions be judged in this process while the context lasts, then close all that was opened. The garbage
    collector runs less often meanwhile: gold is many objects, none of them garbage."""
    if _is_open.locked():  # by this run: it ends with what is around it
        yield
        return
    stopped.clear()
    before = gc.get_threshold()
    gc.set_threshold(_GC_THRESHOLD_OBJECTS)
    limit_malloc_arenas()
    try:
        with _is_open:
            yield
    finally:
        gc.set_threshold(*before)
        close_contexts()


def stop() -> None:
    """Judge no more in this process: running checks end at their next poll."""
    stopped.set()


def close_contexts() -> None:
    with _opening:
        for context in _contexts.values():
            context.close()
        _contexts.clear()
        _parts.clear()
        _solutions.clear()


def _name(level: Level | None) -> str:
    return UNSANDBOXED if level is None else level.name


prepare_types(Judged)
