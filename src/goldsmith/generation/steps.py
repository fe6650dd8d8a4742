"""The nine steps for one assignment, in order. Each is a few lines here and lives in its own room."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from goldsmith._version import __version__
from goldsmith.course import Assignment, placements
from goldsmith.errors import (
    GoldIsStale,
    GoldKept,
    GoldRefused,
    GoldsmithError,
    GoldUnreadable,
    NoRecipe,
    RecipeRaised,
    TreeChanged,
)
from goldsmith.generation.evidence import gather
from goldsmith.generation.failures import error_of
from goldsmith.generation.freshness import FRESH, freshness
from goldsmith.generation.interface import INTERFACE, check_interface
from goldsmith.generation.options import Options
from goldsmith.generation.outcome import PUBLISHED, UNCHANGED, MadeFile, Outcome, Trouble
from goldsmith.generation.planning import ensure_recipe, make_job
from goldsmith.generation.progress import Progress
from goldsmith.generation.sources import Calm, Sources, Untouched, hash_sources, stamp_now
from goldsmith.gold import (
    MANIFEST,
    README,
    Advice,
    Check,
    CheckEntry,
    Environment,
    FileEntry,
    Manifest,
    Provenance,
    Staging,
    TensorChange,
    advise,
    case_entry,
    encode,
    gold_changes,
    keep_stamp,
    read_manifest,
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
    changes: list[TensorChange] = field(default_factory=list)
    advice: list[Advice] = field(default_factory=list)
    log: str = ""


def generate(
    assignment: Assignment,
    options: Options,
    progress: Progress,
    agree: Callable[[Sequence[TensorChange]], bool] = lambda changes: True,
) -> Outcome:
    """Make, verify, document and publish the gold of one assignment. The caller holds the course's lock.

    Gold that is fresh stays as it is unless `options.force`. Before tensors of existing gold are replaced, `agree`
    is shown the changes and may keep the old.
    """
    started = time.monotonic()
    run = _Run(assignment, options, Untouched.begin(assignment))
    if not options.force and _is_fresh(run):
        return _outcome(run, None, time.monotonic() - started)
    staging = Staging(assignment.gold)
    error: GoldsmithError | None = None
    try:
        _stage(run, progress, staging)
        if run.outcome != UNCHANGED:
            if run.changes and _previous(assignment.gold) and not agree(run.changes):
                raise GoldKept(assignment.name, len(run.changes))
            staging.publish()
    except GoldsmithError as problem:
        error = problem
    finally:
        staging.discard()
    return _outcome(run, error, time.monotonic() - started)


def rehearse(assignment: Assignment, options: Options, progress: Progress, folder: Path) -> Outcome:
    """All but publishing: what `generate` would publish is left in `folder`, the course is not written to."""
    started = time.monotonic()
    run = _Run(assignment, options, Untouched.begin(assignment))
    error: GoldsmithError | None = None
    try:
        if not assignment.recipe.is_file():
            raise NoRecipe(assignment.name, assignment.course.relative(assignment.recipe))
        _stage(run, progress, Staging(assignment.gold, folder))
        if run.outcome != UNCHANGED:
            raise GoldIsStale(assignment.name, len(run.changes))
    except GoldsmithError as problem:
        error = problem
    return _outcome(run, error, time.monotonic() - started)


def _is_fresh(run: _Run) -> bool:
    """Whether gold stands there, made as asked for from all that stands there now, and not damaged since."""
    manifest = _previous(run.assignment.gold)
    if manifest is None or freshness(run.assignment, thorough=True).outcome != FRESH:
        return False
    if manifest.provenance.command != _command(run.assignment, run.options):
        return False
    run.outcome, run.files = UNCHANGED, list(manifest.files)
    run.notes.append("fresh: nothing it was made from has changed; --force makes it anew all the same")
    return True


def _stage(run: _Run, progress: Progress, staging: Staging) -> None:
    """Steps 2 to 8, into the staging folder; then what publishing it would change."""
    progress.begin(run.assignment.name)
    try:
        _steps(run, progress, staging)
        if staging.equals_target():
            run.outcome = UNCHANGED
        else:
            old = run.assignment.gold if _previous(run.assignment.gold) else None
            run.changes = gold_changes(old, staging.folder)
    finally:
        progress.end()


def _steps(run: _Run, progress: Progress, staging: Staging) -> None:
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
    run.checks = [check_interface(assignment, placed)]
    _refuse_failed(run)

    staging.open()
    progress.step(3, f"{len(placed)} solution file{'' if len(placed) == 1 else 's'} into two private copies")
    with make_workspaces(assignment, placed, 2) as workspaces:
        calm = Calm.begin(assignment.course, workspaces[0])
        progress.step(4, f"every random source from {options.seed}")
        jobs = [make_job(assignment, workspace, options) for workspace in workspaces]
        progress.step(5)
        endings = run_side_by_side(jobs, timeout=options.timeout, watcher=watcher)
        result = _finished(run, workspaces, endings)

        progress.step(6)
        first, second = (workspace.scratch / "gold" for workspace in workspaces)
        evidence = gather(result, first, second, options)
        run.files = list(evidence.files.values())
        run.checks += verify(evidence)
        run.notes += _notes(result)
        run.advice = advise(result.cases, assignment.config.silence)
        _refuse_failed(run)

        progress.step(7)
        for item in run.files:
            staging.take(first / item.name)
        reads = calm.hash_reads(workspaces[0], result.reads, sources)
        _document(run, result, sources, reads, staging)

    progress.step(8)
    changes = run.untouched.changes()
    if changes:
        raise TreeChanged(changes)


def _refuse_failed(run: _Run) -> None:
    problems = [problem for check in run.checks for problem in check.problems]
    if problems:
        raise GoldRefused(run.assignment.name, problems, hint=next(_hints(run)))


def _hints(run: _Run) -> Iterator[str]:
    """How what was refused can be accepted, where that is meant."""
    if any(check.name == INTERFACE and not check.ok for check in run.checks):
        yield f"allow-drift in [assignment.{run.assignment.name}] of goldsmith.toml, with a reason"
    yield "allow={…} in the recipe, with a reason"


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


def _notes(result: Result) -> list[str]:
    notes = [f"case {case.name}: {text}" for case in result.cases for text in case.notes]
    if result.left_out:
        notes.append(f"not published, only .pt and .npz files are: {', '.join(result.left_out)}")
    return notes


def _document(run: _Run, result: Result, sources: Sources, reads: dict[str, str], staging: Staging) -> None:
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
        advice=tuple(run.advice),
        provenance=Provenance(
            solution=sources.solution,
            starter=sources.starter,
            recipe=sources.recipe,
            reads=reads,
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
    own = {item.name for item in previous.files} | {MANIFEST} if previous else set()
    gone = sorted(own - {item.name for item in run.files})
    if gone:
        run.notes.append(f"removed, since no case makes them any more: {', '.join(gone)}")
    if previous and previous.seed != options.seed:
        run.notes.append(f"the gold before had seed {previous.seed}, this has {options.seed}")
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
    made = (MadeFile(f"{folder}/{item.name}", error is None, item.size, item.sha256) for item in run.files)
    return Outcome(
        name=assignment.name,
        label=assignment.label,
        outcome=error.outcome if error else run.outcome,
        seed=run.options.seed,
        folder=folder,
        files=tuple(made),
        checks=tuple(run.checks),
        reset=not run.untouched.changes(),
        notes=tuple(run.notes),
        changes=tuple(run.changes),
        advice=tuple(run.advice),
        next=() if error else _next_steps(assignment, folder),
        error=_trouble(run, error) if error else None,
        exit_code=error.exit_code if error else 0,
        seconds=round(seconds, 3),
    )


def _trouble(run: _Run, error: GoldsmithError) -> Trouble:
    return Trouble(
        kind=error.kind,
        message=str(error),
        problems=tuple(error.problems) if isinstance(error, GoldRefused) else (),
        trace=tuple(error.trace) if isinstance(error, RecipeRaised) else (),
        prints=run.log,
    )


def _next_steps(assignment: Assignment, folder: str) -> tuple[str, ...]:
    tests = assignment.course.config.internal_tests
    return (
        f"cat {folder}/{README}",
        f'goldsmith.load("{assignment.name}")',
        f"pytest {tests} -m rigor  (on a solution)",
    )
