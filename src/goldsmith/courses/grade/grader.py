"""Judge one submission in a sandbox, and cache its verdict under everything that it depends on.

A grader can be sent to another process: what it needs there (gold, a fork server) it opens there, once. Judging the
same submission twice gives the same result, so nothing is lost when a worker or the whole run dies.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, TypeVar

import msgspec

from goldsmith.check.check import check, conclude, replay
from goldsmith.check.grading_sandbox import GradingSandbox
from goldsmith.check.places import shown_place
from goldsmith.check.provided_code import read_code
from goldsmith.check.recipe_failures import SolutionFailures
from goldsmith.check.replayed import Replayed, is_replayed
from goldsmith.check.request import Request, open_gold
from goldsmith.courses.grade import turns
from goldsmith.courses.grade.grades import UNSANDBOXED, failed, rejected
from goldsmith.courses.grade.ingredients import Ingredients, ingredients_of
from goldsmith.courses.grade.judging_context import JudgingContext, Stopped, stopped
from goldsmith.courses.grade.open_contexts import context_of, parts_of, solution_failures
from goldsmith.courses.grade.rubric import Rubric, parts_shown, rubric_of, with_hollow
from goldsmith.courses.grade.submissions import SUBMISSION_ERRNOS, SubmissionRef, digest_of, opened
from goldsmith.courses.guard.similarity import Matches, matches
from goldsmith.courses.layout.layout import Assignment
from goldsmith.courses.layout.resolve import resolve
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
from goldsmith.sandbox.capabilities import Level, probe
from goldsmith.targets.target import Submission, Target

METHOD = 16
"""Increased whenever a submission may be judged differently than before, so that cached verdicts are not used."""
_MACHINE_KINDS = (*CUT_OFF, "device", "package")
"""Kinds of failure that depend on the machine and may not recur: its packages, device, load and limits."""
_MAX_AGE_S = 7 * 86400.0
"""Seconds after which nobody goes on with an interrupted run."""


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


FATAL = (NoSandbox, NoPrivateNetwork, NoDeviceInside, DeviceMissing, Interrupted, OSError, Stopped)
"""Errors that end the whole run, because they would affect every submission."""
Found = TypeVar("Found")
RoundName = Literal["judge", "replay", "conclude"]


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a submission on the machine that ran it: a verdict, or what its replays have shown; how it was
    sandboxed, and whether something that all share was used up: then it says nothing about another time."""

    verdict: Verdict | None = None
    replayed: Replayed | None = None
    sandbox: str = ""
    was_short: bool = False


@dataclass(frozen=True)
class Begun:
    """A submission that is to be run: its verdict will be cached under `key`. Of one that has been replayed, what that
    has shown."""

    submission: Submission
    digest: str
    key: str
    replayed: Replayed | None = None


@dataclass(frozen=True)
class Grader:
    """How submissions to one assignment are judged: in a sandbox, unless the user declined it. `other_submissions`
    lists where in the course other people's work lies, relative to its root; `hidden` are folders besides the course's
    own that no submission may read, even if they are on Python's path. In a copy of the course, `known_base` is the
    `base` of the course itself, and `turns_folder` what all graders of that machine share."""

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
    known_base: str = ""
    turns_folder: Path | None = None
    ended: threading.Event | None = field(default=None, compare=False)
    """Set once nothing more is to be judged for this one, while others may go on in this process."""
    run: str = field(default_factory=new_token, compare=False)
    """Tells what this run has stored from what others have."""

    def __call__(self, item: SubmissionRef) -> Judged:
        """Judge a submission. An error of goldsmith's own is an `error` verdict; a fault of this machine is raised."""
        return self._guarded(item, "judge")

    def replay(self, item: SubmissionRef) -> Judged:
        """Replay the cases of a submission. It is `pending` if it has to be given some of gold's intermediate values
        before there is a verdict; else it is judged."""
        return self._guarded(item, "replay")

    def conclude(self, item: SubmissionRef) -> Judged:
        """Judge a submission that is `pending`; nothing that it is given now changes what its cases have shown."""
        return self._guarded(item, "conclude")

    def forget(self, pending: Iterable[str]) -> None:
        """Remove what was stored of submissions that were `pending`, and what interrupted runs have left for long."""
        for key in pending:
            self._replayed.remove(key)
        self._replayed.evict(_MAX_AGE_S, is_replayed)

    def _guarded(self, item: SubmissionRef, name: RoundName) -> Judged:
        if self.sandboxed:
            probe().require()
        return self.tried(item, lambda: self._grade(item, name))

    def tried(self, item: SubmissionRef, do: Callable[[], Found]) -> Found | Judged:
        """Do something with a submission. A bug of ours says nothing about it, and must not end the run."""
        verdict = None
        for _ in range(2):  # a retry helps where the failure was by chance
            try:
                return do()
            except FATAL:
                raise
            except Exception as error:
                verdict = failed(item.name, self.assignment.name, self.rubric, error)
        assert verdict is not None
        return Judged(verdict=verdict)

    def _grade(self, item: SubmissionRef, name: RoundName) -> Judged:
        with contextlib.ExitStack() as stack:
            begun = self.begin(stack, item, name)
            if isinstance(begun, Judged):
                return begun
            return self.end(begun, self.carry_out(name, begun.submission, begun.replayed))

    def begin(self, stack: contextlib.ExitStack, item: SubmissionRef, name: RoundName) -> Begun | Judged:
        """Open a submission, for as long as the stack is open, and look for what is known of it."""
        try:
            submission = stack.enter_context(opened(self.assignment, item))
            digest = digest_of(submission)
        except (*FATAL, CannotWrite) as error:
            if not isinstance(error, OSError) or error.errno not in SUBMISSION_ERRNOS:
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
        if name == "replay" and self.keep and self._replayed.get(key) is not None:
            return Judged(verdict=_not_yet(submission, self.assignment), pending=key)
        replayed = None
        if name == "conclude":  # it may be that it could not be stored, or that somebody has removed it
            own = self._replayed.get(content_key([key, self.run]))
            replayed = own or (self._replayed.get(key) if self.keep else None)
        return Begun(submission, digest, key, replayed)

    def carry_out(self, name: RoundName, submission: Submission, replayed: Replayed | None) -> Outcome:
        """Run a submission, on this machine."""
        run = replay if name == "replay" else check
        if replayed is not None:
            run = functools.partial(conclude, replayed=replayed)
        found, was_short = self._run(submission, run)
        sandbox = _name(context_of(self).level)
        if isinstance(found, Verdict):
            return Outcome(verdict=found, sandbox=sandbox, was_short=was_short)
        return Outcome(replayed=found, sandbox=sandbox, was_short=was_short)

    def end(self, begun: Begun, outcome: Outcome) -> Judged:
        """Cache what came of a submission, wherever it was run."""
        if outcome.verdict is None:
            assert outcome.replayed is not None
            can_be_kept = not outcome.was_short and _can_be_kept(outcome.replayed.verdicts.values())
            store = begun.key if self.keep and can_be_kept else content_key([begun.key, self.run])
            self._replayed.put(store, outcome.replayed)
            return Judged(verdict=_not_yet(begun.submission, self.assignment), pending=store)
        if _follows_from_content(outcome.verdict) and not outcome.was_short:
            nameless = msgspec.structs.replace(outcome.verdict, name="")
            self._cache.put(begun.key, Judged(verdict=nameless, sandbox=outcome.sandbox))
        return self._with_matches(outcome.verdict, begun.submission, begun.digest, outcome.sandbox, False)

    def _with_matches(self, verdict: Verdict, submission: Submission, digest: str, sandbox: str, kept: bool) -> Judged:
        """Add to a verdict what its parts have of the solution, for staff."""
        found: dict[str, Matches] = {}
        with contextlib.suppress(Exception):  # only a remark, about files that may contain anything
            code = [item for item in submission.placed if item.target.suffix == ".py"]
            files = read_code(code, lambda name: (self.assignment.starter / name).is_file())
            found = matches(parts_of(self), files, lambda place: shown_place(place, code))
        return Judged(verdict=verdict, digest=digest, sandbox=sandbox, matches=found, kept=kept)

    def _run(self, submission: Submission, judge: Callable[[Target, Submission, Request], Found]) -> tuple[Found, bool]:
        """Run a submission beside others; once more, alone, if it failed for want of something that all share.

        Return what was found, and whether something was still wanting: then it says nothing about another time.
        """
        context, check_stopped = context_of(self), self.check_stopped
        folder = self.turns_folder or self.assignment.course.state_folder / "turns"
        was_short = threading.Event()
        on_device = functools.partial(turns.on_device, folder, self.sandbox.device_turns, check_stopped)

        def found() -> Found:
            was_short.clear()
            request = self.request(context, lambda: solution_failures(self), was_short.set)
            return judge(self.target, submission, request)

        with turns.beside_others(folder, check_stopped), on_device():
            first = found()
        if not was_short.is_set() or (isinstance(first, Verdict) and first.outcome == AGREES):
            return first, False
        with turns.alone(folder, check_stopped), on_device():
            return found(), was_short.is_set()

    def request(
        self,
        context: JudgingContext,
        solution_failures: SolutionFailures | None,
        on_shortage: Callable[[], None] = lambda: None,
    ) -> Request:
        return Request(
            opened=context.opened,
            fork_server=context.fork_server,
            watcher=Watcher(on_tick=self.check_stopped, on_shortage=on_shortage),
            confined=None if context.level is None else self.sandbox.policy(context.level),
            temporary_folder=context.temporary_folder,
            hidden_files=self.other_submissions,
            solution_failures=solution_failures,
        )

    def check_stopped(self) -> None:
        """Raise `Stopped` once the run has been interrupted."""
        if stopped.is_set() or (self.ended is not None and self.ended.is_set()):
            raise Stopped

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
        return self.known_base or self.ingredients.key

    @property
    def _cache(self) -> ContentCache[Judged]:
        return cached_verdicts(self.assignment)

    @property
    def _replayed(self) -> ContentCache[Replayed]:
        """Keep what replays have shown until everybody's cases have been replayed, also if that takes two runs."""
        decode = msgspec.msgpack.Decoder(Replayed).decode
        folder = self.assignment.course.state_folder / "replayed" / self.assignment.name
        return ContentCache(folder, ".msgpack", msgspec.msgpack.encode, decode)


def cached_verdicts(assignment: Assignment) -> ContentCache[Judged]:
    """Keep verdicts as msgpack: JSON has no infinity, which is how far off an exact value can be."""
    folder = assignment.course.state_folder / "grades" / assignment.name
    return ContentCache(folder, ".msgpack", msgspec.msgpack.encode, msgspec.msgpack.Decoder(Judged).decode)


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


def _name(level: Level | None) -> str:
    return UNSANDBOXED if level is None else level.name


prepare_types(Judged)
