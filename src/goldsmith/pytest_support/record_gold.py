"""`--gold-record`: make gold where it is missing, regenerate it where it is stale; never change it silently."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from goldsmith.errors.base import GoldsmithError
from goldsmith.errors.gold import GoldUnreadable
from goldsmith.foundation.wording import count_of
from goldsmith.gold.manifest import MANIFEST, Manifest, read_manifest
from goldsmith.pytest_support.run_once import once

if TYPE_CHECKING:
    from goldsmith.courses.layout.layout import Assignment
    from goldsmith.generate.options import Options
    from goldsmith.generate.outcome import Outcome
    from goldsmith.pytest_support.session import GoldSession
    from goldsmith.targets.target import Target

_SUFFIX = ".recorded"


class Recorded(msgspec.Struct, frozen=True):
    """The result for one assignment; `problem` says why tests cannot use its gold."""

    assignment: str
    line: str
    problem: str = ""


def record(session: GoldSession, assignment: Assignment) -> Recorded:
    """Record gold once in the whole run of pytest."""
    found = once(
        session.folder,
        f"record {assignment.gold}",
        lambda: msgspec.msgpack.encode(_record(session, assignment)),
        _SUFFIX,
    )
    return msgspec.msgpack.decode(found, type=Recorded)


def all_recorded(folder: Path) -> list[Recorded]:
    found = [msgspec.msgpack.decode(path.read_bytes(), type=Recorded) for path in folder.glob(f"*{_SUFFIX}")]
    return sorted(found, key=lambda item: item.assignment)


def _record(session: GoldSession, assignment: Assignment) -> Recorded:
    from goldsmith.workspace.lock import project_lock

    name, overwrite = assignment.name, session.record == "overwrite"
    doing = f"pytest --gold-record, {name}"
    try:
        with project_lock(assignment.course, doing, wait=True, on_wait=lambda text: None):
            return _make(assignment, overwrite, starter=session.submission is not None)
    except GoldsmithError as error:
        return _failure(name, str(error))


def _make(assignment: Assignment, overwrite: bool, *, starter: bool) -> Recorded:
    from goldsmith.courses.layout.resolve import resolve
    from goldsmith.generate.freshness import stale_reasons

    name, folder = assignment.name, assignment.course.relative(assignment.gold)
    if not (assignment.gold / MANIFEST).is_file():
        outcome = _generate(assignment, None, overwrite)
        return _record_outcome(outcome, f"{name}: made, in {folder}")
    try:
        manifest = read_manifest(assignment.gold)
    except GoldUnreadable as error:
        if not overwrite:
            where = assignment.course.relative(error.path)
            return _failure(name, f"{where} is not usable: {error.problem}; --gold-record=overwrite replaces it.")
        return _record_outcome(
            _generate(assignment, None, overwrite), f"{name}: regenerated, the previous gold was unreadable"
        )
    reasons = stale_reasons(resolve(assignment), manifest, starter=starter)
    if not reasons:
        return Recorded(name, f"{name}: left alone, it is fresh")
    outcome = _generate(assignment, manifest, overwrite)
    if outcome.outcome == "stale":
        return _failure(
            name,
            f"the gold of {name} is stale ({reasons[0]}) and was kept, since regenerating it would change "
            f"{len(outcome.changes)} of its tensors: look with `goldsmith diff {name}`, "
            "then say --gold-record=overwrite.",
        )
    count = len(outcome.changes)
    unchanged = "no tensor changed beyond noise" if outcome.noise else "no tensor changed"
    what = f"{count_of(count, 'tensor')} changed" if count else unchanged
    return _record_outcome(outcome, f"{name}: regenerated, {what}")


def _generate(assignment: Assignment, before: Manifest | None, overwrite: bool) -> Outcome:
    from goldsmith.courses.layout.resolve import resolve
    from goldsmith.generate.pipeline import generate
    from goldsmith.process.progress import Progress
    from goldsmith.render.self_check import self_check

    target = resolve(assignment)
    return generate(
        target, _options(target, before), Progress(), self_check(assignment), lambda changes, others: overwrite
    )


def _options(target: Target, before: Manifest | None) -> Options:
    """Use the options of the previous gold, or those of the course."""
    from goldsmith.generate.verify import recorded_options

    unmeasured = before.calibration is None if before else not target.calibrate
    return msgspec.structs.replace(recorded_options(target), calibrate="off" if unmeasured else "measure")


def _record_outcome(outcome: Outcome, line: str) -> Recorded:
    if outcome.ok:
        return Recorded(outcome.name, line)
    return _failure(outcome.name, outcome.error.message if outcome.error else f"it was {outcome.outcome}")


def _failure(name: str, why: str) -> Recorded:
    return Recorded(name, f"{name}: {why}", f"--gold-record made no gold for {name}: {why}")
