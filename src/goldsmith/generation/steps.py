"""The nine steps for one assignment, in order. Each is a few lines here and lives in its own room."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from goldsmith._version import __version__
from goldsmith.course import Assignment, placements
from goldsmith.errors import GoldRefused, GoldsmithError, GoldUnreadable, RecipeRaised, TreeChanged
from goldsmith.generation.failures import error_of
from goldsmith.generation.options import Options
from goldsmith.generation.outcome import PUBLISHED, UNCHANGED, MadeFile, Outcome, Trouble
from goldsmith.generation.planning import ensure_recipe, make_job
from goldsmith.generation.progress import Progress
from goldsmith.generation.sources import Sources, Untouched, hash_sources, stamp_now
from goldsmith.gold import (
    MANIFEST,
    README,
    Check,
    CheckEntry,
    Environment,
    Evidence,
    FileEntry,
    Manifest,
    Provenance,
    Staging,
    case_entry,
    encode,
    keep_stamp,
    read_manifest,
    read_payload,
    render_readme,
    verify,
)
from goldsmith.recording import Ending, Result, Watcher, run_side_by_side
from goldsmith.workspace import Workspace, make_workspaces


@dataclass
class _Run:
    """What is known so far; becomes the `Outcome`, whether the steps end well or not."""

    assignment: Assignment
    options: Options
    untouched: Untouched
    outcome: str = PUBLISHED
    files: list[FileEntry] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    log: str = ""


def generate(assignment: Assignment, options: Options, progress: Progress) -> Outcome:
    """Make, verify, document and publish the gold of one assignment. The caller holds the course's lock."""
    started = time.monotonic()
    progress.begin(assignment.name)
    run = _Run(assignment, options, Untouched.begin(assignment))
    error: GoldsmithError | None = None
    try:
        _steps(run, progress)
    except GoldsmithError as problem:
        error = problem
    finally:
        progress.end()
    return _outcome(run, error, time.monotonic() - started)


def _steps(run: _Run, progress: Progress) -> None:
    assignment, options = run.assignment, run.options
    watcher = Watcher(
        on_case=lambda event: progress.step(5, f"case {event.number} of {event.of}: {event.case}"),
        on_print=progress.recipe_prints,
        on_tick=progress.tick,
    )
    progress.step(2)
    placed = placements(assignment)
    note = ensure_recipe(assignment, placed, options, watcher)
    if note:
        run.notes.append(note)
        placed = placements(assignment)
        run.untouched = Untouched.begin(assignment)
    sources = hash_sources(assignment, placed)

    staging = Staging(assignment.gold)
    try:
        staging.open()
        progress.step(3, f"{len(placed)} solution file{'' if len(placed) == 1 else 's'} into two private copies")
        with make_workspaces(assignment, placed, 2) as workspaces:
            progress.step(4, f"every random source from {options.seed}")
            jobs = [make_job(assignment, workspace, options) for workspace in workspaces]
            progress.step(5)
            endings = run_side_by_side(jobs, timeout=options.timeout, watcher=watcher)
            result = _finished(run, workspaces, endings)

            progress.step(6)
            outputs = [workspace.scratch / "gold" for workspace in workspaces]
            run.files = _list_files(result, outputs[0])
            run.checks = verify(
                Evidence(
                    mode=result.mode,
                    seed=options.seed,
                    cases=result.cases,
                    sizes={item.name: item.size for item in run.files},
                    disagreements=_disagreements(result, outputs),
                    allow_large=options.allow_large,
                )
            )
            problems = [problem for check in run.checks for problem in check.problems]
            if problems:
                raise GoldRefused(assignment.name, problems)

            progress.step(7)
            for item in run.files:
                staging.take(outputs[0] / item.name)
            _document(run, result, sources, staging)

        progress.step(8)
        changes = run.untouched.changes()
        if changes:
            raise TreeChanged(changes)
        if staging.equals_target():
            run.outcome = UNCHANGED
        else:
            staging.publish()
    finally:
        staging.discard()


def _finished(run: _Run, workspaces: list[Workspace], endings: list[Ending]) -> Result:
    """The first run's result, once both have come to their own end.

    A run that failed by itself explains more than its sibling, which was stopped because of it.
    """
    for workspace, ending in sorted(zip(workspaces, endings, strict=True), key=lambda pair: _weight(pair[1])):
        error = error_of(run.assignment, workspace, ending, run.options)
        if error is not None:
            run.log = ending.log_tail
            raise error
    result = endings[0].result
    assert result is not None
    return result


def _weight(ending: Ending) -> int:
    if ending.result is not None and ending.result.failure is not None:
        return 0
    return 2 if ending.signal == "SIGTERM" else 1


def _list_files(result: Result, output: Path) -> list[FileEntry]:
    names = [name for case in result.cases for name in (case.file.name, case.trace) if name]
    entries = []
    for name in names:
        content = (output / name).read_bytes()
        entries.append(FileEntry(name, len(content), hashlib.sha256(content).hexdigest()))
    return entries


def _disagreements(result: Result, outputs: list[Path]) -> Mapping[str, str]:
    """Per case that did not come out the same twice, one sentence that names the first leaf."""
    first, second = outputs
    found: dict[str, str] = {}
    for case in result.cases:
        for name in filter(None, (case.file.name, case.trace)):
            if not (second / name).is_file():
                found[case.name] = f"case {case.name}: the second run did not write {name}"
            elif (first / name).read_bytes() != (second / name).read_bytes():
                found.setdefault(case.name, f"case {case.name}: {_first_difference(first / name, second / name)}")
    extra = {path.name for path in second.iterdir()} - {path.name for path in first.iterdir()}
    if extra:
        found["*"] = f"the second run also wrote {', '.join(sorted(extra))}"
    return found


def _first_difference(first: Path, second: Path) -> str:
    from goldsmith.comparison import bit_differences

    where = f"{first.name} differs between two runs with the same seed"
    if first.name.endswith(".safetensors"):
        return f"{where} (only inside its modules)"
    try:
        found = bit_differences(read_payload(first), read_payload(second))
    except Exception:
        return where
    if not found:
        return f"{where}, in bytes that hold no value"
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return f"{where}: {found[0]}{more}; is a random source unseeded?"


def _document(run: _Run, result: Result, sources: Sources, staging: Staging) -> None:
    """Manifest and README into the staging folder, with what others keep in the gold folder."""
    assignment, options = run.assignment, run.options
    course = assignment.course
    previous = _previous(assignment.gold)
    manifest = Manifest(
        assignment=assignment.name,
        seed=options.seed,
        stamp=stamp_now(course),
        cases=tuple(case_entry(case) for case in result.cases),
        files=tuple(run.files),
        checks=tuple(CheckEntry(check.name, check.outcome, check.detail) for check in run.checks),
        provenance=Provenance(
            solution=sources.solution,
            starter=sources.starter,
            recipe=sources.recipe,
            mode=result.mode,
            seed=options.seed,
            command=_command(assignment, options),
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
    own = {item.name for item in previous.files} | {MANIFEST} if previous else ()
    kept = staging.carry_over(own)
    if kept:
        run.notes.append(f"kept in the gold folder, not made by goldsmith: {', '.join(kept)}")


def _previous(folder: Path) -> Manifest | None:
    try:
        return read_manifest(folder)
    except GoldUnreadable:
        return None


def _command(assignment: Assignment, options: Options) -> str:
    """The one command that makes this gold again, however it was asked for this time."""
    config = assignment.course.config
    parts = ["goldsmith generate", assignment.name]
    if options.seed != config.seed:
        parts.append(f"--seed {options.seed}")
    if options.device != "cpu":
        parts.append(f"--device {options.device}")
    return " ".join(parts)


def _outcome(run: _Run, error: GoldsmithError | None, seconds: float) -> Outcome:
    assignment = run.assignment
    folder = assignment.course.relative(assignment.gold).as_posix()
    reset = not run.untouched.changes()
    made = tuple(MadeFile(f"{folder}/{item.name}", error is None, item.size, item.sha256) for item in run.files)
    if error is None:
        return Outcome(
            name=assignment.name,
            label=assignment.label,
            outcome=run.outcome,
            seed=run.options.seed,
            folder=folder,
            files=made,
            checks=tuple(run.checks),
            reset=reset,
            notes=tuple(run.notes),
            next=_next_steps(assignment, folder),
            seconds=round(seconds, 3),
        )
    return Outcome(
        name=assignment.name,
        label=assignment.label,
        outcome=error.outcome,
        seed=run.options.seed,
        folder=folder,
        files=made,
        checks=tuple(run.checks),
        reset=reset,
        notes=tuple(run.notes),
        error=Trouble(
            kind=error.kind,
            message=str(error),
            problems=tuple(error.problems) if isinstance(error, GoldRefused) else (),
            trace=tuple(error.trace) if isinstance(error, RecipeRaised) else (),
            prints=run.log,
        ),
        exit_code=error.exit_code,
        seconds=round(seconds, 3),
    )


def _next_steps(assignment: Assignment, folder: str) -> tuple[str, ...]:
    return (
        f"cat {folder}/{README}",
        f'goldsmith.load("{assignment.name}") in your tests',
        f"pytest {assignment.course.config.internal_tests} -m rigor  (a solution passes, the starter fails)",
    )
