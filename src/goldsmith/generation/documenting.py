"""Step 7: manifest and README, from all that the steps before have found."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import msgspec

from goldsmith._version import __version__
from goldsmith.course import Assignment
from goldsmith.errors import GoldUnreadable
from goldsmith.generation.ledger import Run
from goldsmith.generation.measuring import Measured
from goldsmith.generation.options import Options
from goldsmith.generation.sources import Sources, stamp_now
from goldsmith.gold import (
    MANIFEST,
    README,
    Calibration,
    CaseEntry,
    CaseFacts,
    CheckEntry,
    Environment,
    FileEntry,
    Manifest,
    Provenance,
    Staging,
    case_entry,
    encode,
    keep_stamp,
    read_manifest,
    render_readme,
)
from goldsmith.recording import Result
from goldsmith.workspace import file_hash


def document(
    run: Run,
    result: Result,
    cases: tuple[CaseEntry, ...],
    calibration: Calibration | None,
    sources: Sources,
    reads: dict[str, str],
    staging: Staging,
) -> None:
    """Manifest and README into the staging folder, with what others keep in the gold folder."""
    assignment, options = run.assignment, run.options
    course = assignment.course
    previous = previous_manifest(assignment.gold)
    manifest = Manifest(
        assignment=assignment.name,
        seed=options.seed,
        stamp=stamp_now(course),
        cases=cases,
        files=tuple(run.files),
        checks=tuple(CheckEntry(check.name, check.outcome, check.detail) for check in run.checks),
        advice=tuple(run.advice),
        calibration=calibration,
        provenance=Provenance(
            solution=sources.solution,
            starter=sources.starter,
            recipe=sources.recipe,
            reads=reads,
            written=sources.written,
            mode=result.mode,
            seed=options.seed,
            command=command_for(assignment, options),
            goldsmith=__version__,
            environment=result.environment or Environment(python="", numpy=""),
        ),
    )
    manifest = keep_stamp(manifest, previous)
    readme = render_readme(manifest, assignment.label, course.relative(assignment.gold).as_posix()).encode()
    run.files.append(FileEntry(README, len(readme), hashlib.sha256(readme).hexdigest()))
    content = encode(msgspec.structs.replace(manifest, files=tuple(run.files)))
    run.files.append(FileEntry(MANIFEST, len(content), hashlib.sha256(content).hexdigest()))
    staging.write(README, readme)
    staging.write(MANIFEST, content)
    made = {item.name for item in run.files}
    gone = sorted(_as_published(assignment.gold, previous.files, made)) if previous else []
    if gone:
        run.notes.append(f"removed, since no case makes them any more: {', '.join(gone)}")
    if previous and previous.seed != options.seed:
        run.notes.append(f"the gold before had seed {previous.seed}, this has {options.seed}")
    kept = staging.carry_over(gone)
    if kept:
        run.notes.append(f"kept in the gold folder, not made by goldsmith: {', '.join(kept)}")


def _as_published(folder: Path, files: Sequence[FileEntry], made: Collection[str]) -> Iterator[str]:
    """Yield the names of files that are not made any more and still have the bytes that goldsmith gave them."""
    for item in files:
        path = folder / item.name
        if item.name not in made and path.is_file() and not path.is_symlink() and file_hash(path) == item.sha256:
            yield item.name


def entry_of(case: CaseFacts, measured: Measured) -> CaseEntry:
    reference = measured.references.get(case.name)
    return case_entry(
        case, measured.tolerances.get(case.name, {}), measured.why_not, reference.name if reference else None
    )


def previous_manifest(folder: Path) -> Manifest | None:
    try:
        return read_manifest(folder)
    except GoldUnreadable:
        return None


def command_for(assignment: Assignment, options: Options) -> str:
    """The one command that makes this gold again, however it was asked for this time."""
    config = assignment.course.config
    parts = ["goldsmith generate", assignment.name]
    if options.seed != config.seed:
        parts.append(f"--seed {options.seed}")
    if options.device != "cpu":
        parts.append(f"--device {options.device}")
    if config.calibrate and options.calibrate == "off":
        parts.append("--no-calibrate")
    return " ".join(parts)
