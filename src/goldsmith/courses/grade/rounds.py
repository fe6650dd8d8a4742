"""A round of grading as an engine runs it: in this process, or on workers that have nothing of the course.

A worker gets the course's files that this assignment takes, gold and solution included, once; then each submission's
own files, which were opened here. What it finds out is a verdict, or what replays have shown; caches, what submissions
have in common with the solution, scores and feedback are made here.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from goldsmith.check.course_files import files_to_check_with
from goldsmith.check.replayed import Replayed
from goldsmith.courses.grade.grader import FATAL, Begun, Grader, Judged, Outcome, RoundName
from goldsmith.courses.grade.grades import failed
from goldsmith.courses.grade.open_contexts import close_context, judging_contexts, stop
from goldsmith.courses.grade.submissions import SubmissionRef
from goldsmith.courses.layout.layout import Assignment, Course
from goldsmith.engines.on_worker import lock_folder
from goldsmith.engines.portable import Known, Parcel
from goldsmith.errors.gold import CannotWrite
from goldsmith.foundation.nested import map_tree
from goldsmith.foundation.struct_types import prepare_types
from goldsmith.generate.cache_key import PACKAGES
from goldsmith.gold.manifest import read_manifest
from goldsmith.sandbox.capabilities import probe
from goldsmith.targets.target import Submission


@dataclass(frozen=True)
class Round:
    """One round of a class. `name` says what is done with each submission."""

    grader: Grader
    name: RoundName

    def __call__(self, item: SubmissionRef) -> Judged:
        work = self.grader if self.name == "judge" else getattr(self.grader, self.name)
        judged: Judged = work(item)
        return judged

    def opened(self) -> AbstractContextManager[None]:
        return judging_contexts()

    def stop(self) -> None:
        stop()

    # --- on workers ---------------------------------------------------------------------------------------------------

    def parcel(self) -> Parcel:
        grader = self.grader
        target, course = grader.target, grader.assignment.course
        manifest = read_manifest(target.gold)
        libraries = manifest.provenance.environment.libraries
        others = [course.root / path for path in grader.other_submissions]
        there = dataclasses.replace(grader, known_base=grader.base)
        return Parcel(
            run=grader.run,
            files=files_to_check_with(target, manifest, others),
            versions=tuple(sorted({*PACKAGES, *libraries})),
            open=functools.partial(open_grading, there),
        )

    @contextlib.contextmanager
    def sending(self, item: SubmissionRef) -> Iterator[Known | SentSubmission]:
        with contextlib.ExitStack() as stack:
            begun = self.grader.tried(item, lambda: self.grader.begin(stack, item, self.name))
            yield Known(begun) if isinstance(begun, Judged) else SentSubmission(self.grader, self.name, begun)


@dataclass(frozen=True)
class Order:
    """A submission as it travels: `files` are its own, by the path that each has as a source in `submission`, each with
    its mode."""

    name: RoundName
    submission: Submission
    files: dict[str, tuple[bytes, int]]
    replayed: Replayed | None


class SentSubmission:
    """A submission that a worker judges."""

    def __init__(self, grader: Grader, name: RoundName, begun: Begun) -> None:
        self.grader, self.begun = grader, begun
        names: dict[Path, Path] = {}
        files: dict[str, tuple[bytes, int]] = {}
        for item in begun.submission.placed:
            if item.source not in names:  # a notebook may stand for several files
                names[item.source] = Path(str(len(names)), item.source.name)
                content = item.source.read_bytes()
                files[names[item.source].as_posix()] = content, item.source.stat().st_mode & 0o777
        placed = tuple(dataclasses.replace(item, source=names[item.source]) for item in begun.submission.placed)
        self.order = Order(name, dataclasses.replace(begun.submission, placed=placed), files, begun.replayed)
        replayed = b"" if begun.replayed is None else msgspec.msgpack.encode(begun.replayed)
        self.size = len(replayed) + sum(len(content) for content, _ in files.values())

    def received(self, content: bytes) -> Judged:
        outcome = msgspec.msgpack.decode(content, type=Outcome)
        if (outcome.verdict is None) == (outcome.replayed is None):
            raise msgspec.ValidationError("it holds no verdict, or too much")
        if outcome.verdict is not None:
            names = {case.name for case in outcome.verdict.cases}
            if not names <= set(self.grader.rubric.cases):
                raise msgspec.ValidationError("it speaks of cases that this assignment does not have")
            own = self.begun.submission.name
            named = msgspec.structs.replace(outcome.verdict, name=own, assignment=self.grader.assignment.name)
            outcome = msgspec.structs.replace(outcome, verdict=named)
        return self.grader.end(self.begun, outcome)

    def failed(self, why: str) -> Judged:
        grader, name = self.grader, self.begun.submission.name
        return Judged(verdict=failed(name, grader.assignment.name, grader.rubric, RuntimeError(why)))


# --- there ------------------------------------------------------------------------------------------------------------


def open_grading(grader: Grader, folder: Path) -> GradingPlace:
    """Return what judges submissions on a worker, with the course's files in `folder`."""
    course = Course(folder, grader.assignment.course.config)
    ended = threading.Event()
    own = dataclasses.replace(
        grader,
        assignment=Assignment(course, grader.assignment.name),
        known_base=f"{grader.known_base} in {folder}",
        allow_stale=True,  # it was fresh enough there; what is no source has not travelled
        keep=False,
        hidden=(str(folder.parent),),
        turns_folder=lock_folder(),
        ended=ended,
    )
    return GradingPlace(own, str(grader.assignment.course.root), ended)


@dataclass(frozen=True)
class GradingPlace:
    """Judges submissions on a worker. `root` is where the course is on the other side, whose verdicts these are."""

    grader: Grader
    root: str
    ended: threading.Event

    def perform(self, order: Order, folder: Path) -> bytes:
        for name, (content, mode) in order.files.items():
            file = folder / name
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(content)
            file.chmod(mode)
        placed = tuple(dataclasses.replace(item, source=folder / item.source) for item in order.submission.placed)
        submission = dataclasses.replace(order.submission, placed=placed)
        if self.grader.sandboxed:
            probe().require()
        outcome = self._carried_out(order, submission)
        return msgspec.msgpack.encode(self._as_there(outcome, folder))

    def _carried_out(self, order: Order, submission: Submission) -> Outcome:
        """Run a submission; once more if goldsmith itself fails, which may be by chance."""
        for is_last in (False, True):
            try:
                return self.grader.carry_out(order.name, submission, order.replayed)
            except (*FATAL, CannotWrite):
                raise  # this machine's fault, and not the submission's
            except Exception as error:
                if is_last:
                    raise RuntimeError(str(error) or repr(error)) from None
        raise AssertionError

    def _as_there(self, outcome: Outcome, folder: Path) -> Outcome:
        """Name no place of this machine: what is said of the course is said of the course itself."""
        course = str(self.grader.assignment.course.root)
        places = {str(folder): "…", course: self.root, str(Path(course).parent): "…"}
        content = msgspec.msgpack.encode(outcome)
        if not any(place.encode() in content for place in places):
            return outcome

        def named(value: Any) -> Any:
            for place, other in places.items() if isinstance(value, str) else ():
                value = value.replace(place, other)
            return value

        return msgspec.convert(map_tree(named, msgspec.to_builtins(outcome, builtin_types=(bytes,))), Outcome)

    def stop(self) -> None:
        self.ended.set()

    def close(self) -> None:
        close_context(self.grader)


prepare_types(Outcome)
