"""The nine steps for one assignment, in order. Each is a few lines here and lives in its own room."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from goldsmith.course import Assignment, Placement, placements, variants_of
from goldsmith.errors import (
    GoldIsStale,
    GoldKept,
    GoldRefused,
    GoldsmithError,
    IsInjected,
    NoRecipe,
    TreeChanged,
)
from goldsmith.generation.documenting import command_for, document, entry_of, previous_manifest
from goldsmith.generation.evidence import file_entry, files_of, gather
from goldsmith.generation.failures import error_of, gravity
from goldsmith.generation.freshness import FRESH, freshness
from goldsmith.generation.interface import INTERFACE, check_interface, check_models, known_from
from goldsmith.generation.ledger import Run, outcome_of
from goldsmith.generation.measuring import Measured, calibration_key, kept_tolerances, measure
from goldsmith.generation.options import Options
from goldsmith.generation.outcome import UNCHANGED, Outcome
from goldsmith.generation.planning import ensure_recipe, make_job, warm_for
from goldsmith.generation.progress import Progress
from goldsmith.generation.sources import Calm, Untouched, hash_sources
from goldsmith.generation.variants import Recording, idle_variants, record_variants
from goldsmith.gold import (
    MANIFEST,
    Check,
    Staging,
    TensorChange,
    advise,
    check_tolerances,
    gold_changes,
    heed,
    verify,
)
from goldsmith.recording import Ending, Result, Watcher, run_side_by_side
from goldsmith.workspace import Workspace, file_hash, make_workspaces, read_journal

Agree = Callable[[Sequence[TensorChange], Sequence[str]], bool]


def generate(
    assignment: Assignment,
    options: Options,
    progress: Progress,
    agree: Agree = lambda changes, others: True,
) -> Outcome:
    """Make, verify, document and publish the gold of one assignment. The caller holds the course's lock.

    Gold that is fresh stays as it is unless `options.force`. Before tensors of existing gold are replaced, or
    files that goldsmith did not make, `agree` is shown them and may keep what stands there.
    """
    started = time.monotonic()
    run = Run(assignment, options, Untouched.begin(assignment))
    if not options.force and options.calibrate != "anew" and _is_fresh(run):
        return outcome_of(run, None, time.monotonic() - started)
    staging = Staging(assignment.gold)
    error: GoldsmithError | None = None
    try:
        _stage(run, progress, staging)
        if run.outcome != UNCHANGED:
            _ask_before_replacing(run, staging, agree)
            staging.publish()
    except GoldsmithError as problem:
        error = problem
    finally:
        staging.discard()
    return outcome_of(run, error, time.monotonic() - started)


def _ask_before_replacing(run: Run, staging: Staging, agree: Agree) -> None:
    """Gold whose tensors would change stays unless that is agreed to; so does what goldsmith did not write there as it
    stands now."""
    old = previous_manifest(run.assignment.gold)
    published = {item.name: item.sha256 for item in old.files} if old else {}
    others = [
        name
        for name in staging.replaces()
        if not (old and name == MANIFEST) and file_hash(run.assignment.gold / name) != published.get(name)
    ]
    changes = run.changes if old else []
    if (changes or others) and not agree(changes, others):
        raise GoldKept(run.assignment.name, len(changes), tuple(others))


def rehearse(assignment: Assignment, options: Options, progress: Progress, folder: Path) -> Outcome:
    """All but publishing: what `generate` would publish is left in `folder`, the course is not written to."""
    started = time.monotonic()
    run = Run(assignment, _without_trials(assignment, options), Untouched.begin(assignment))
    error: GoldsmithError | None = None
    try:
        if not assignment.recipe.is_file():
            raise NoRecipe(assignment.name, assignment.course.relative(assignment.recipe))
        _stage(run, progress, Staging(assignment.gold, folder))
        if run.outcome != UNCHANGED:
            raise GoldIsStale(assignment.name, len(run.changes))
    except GoldsmithError as problem:
        error = problem
    return outcome_of(run, error, time.monotonic() - started)


def _without_trials(assignment: Assignment, options: Options) -> Options:
    """A rehearsal measures nothing: either nothing has changed, then tolerances hold, or that is what it finds."""
    previous = previous_manifest(assignment.gold)
    unmeasured = previous is not None and previous.provenance.mode == "cases" and previous.calibration is None
    off = options.calibrate == "off" or unmeasured
    return msgspec.structs.replace(options, calibrate="off" if off else "kept")


def _is_fresh(run: Run) -> bool:
    """Whether gold stands there, made as asked for from all that stands there now, and not damaged since."""
    manifest = previous_manifest(run.assignment.gold)
    if manifest is None or freshness(run.assignment, thorough=True).outcome != FRESH:
        return False
    if manifest.provenance.command != command_for(run.assignment, run.options):
        return False
    wants = run.options.calibrate != "off" and manifest.provenance.mode == "cases"
    if wants is not (manifest.calibration is not None):
        return False
    run.outcome, run.files = UNCHANGED, list(manifest.files)
    run.notes.append("fresh: nothing it was made from has changed; --force makes it anew all the same")
    return True


def _refuse_injected(assignment: Assignment) -> None:
    """While a solution is in place there is no starter to compare with, and nothing says which is which."""
    journal = read_journal(assignment.course, assignment.name)
    if journal is not None:
        raise IsInjected(assignment.name, journal.since)


def _stage(run: Run, progress: Progress, staging: Staging) -> None:
    """Steps 2 to 8, into the staging folder; then what publishing it would change."""
    _refuse_injected(run.assignment)
    progress.begin(run.assignment.name)
    try:
        _steps(run, progress, staging)
        if staging.equals_target():
            run.outcome = UNCHANGED
        else:
            old = run.assignment.gold if previous_manifest(run.assignment.gold) else None
            run.changes = gold_changes(old, staging.folder)
    finally:
        progress.end()


def _steps(run: Run, progress: Progress, staging: Staging) -> None:
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
    run.checks = [check_interface(assignment, {"": placed} | variants_of(assignment))]
    _refuse_failed(run)

    staging.open()
    progress.step(3, f"{len(placed)} solution file{'' if len(placed) == 1 else 's'} into two private copies")
    with contextlib.ExitStack() as stack:
        workspaces = stack.enter_context(make_workspaces(assignment, placed, 2))
        run.warm = stack.enter_context(warm_for(assignment, options))
        calm = Calm.begin(assignment.course, workspaces[0])
        progress.step(4, f"every random source from {options.seed}")
        progress.step(5)
        result = _record(run, placed, workspaces, watcher)
        first, second = (workspace.scratch / "gold" for workspace in workspaces)
        recordings = [Recording(placed, result.cases, first, second)]
        recordings += record_variants(
            stack, assignment, options, recordings[0], watcher, lambda *ended: _finished(run, *ended)
        )

        progress.step(6)
        evidence = gather(result.mode, recordings, options)
        run.files = list(evidence.files.values())
        run.checks += verify(evidence)
        run.notes += [*_notes(result), *idle_variants(evidence.cases)]
        _refuse_failed(run)
        reads = calm.hash_reads(workspaces[0], result.reads, sources)
        key = calibration_key(evidence.cases, result.environment, sources, reads)
        measured = _calibrate(run, recordings, result.mode, key, watcher, progress)
        run.notes += measured.notes
        run.files += [file_entry(path) for path in measured.references.values()]
        cases = tuple(entry_of(case, measured) for case in evidence.cases)
        run.checks.append(check_tolerances(cases))
        noise = measured.calibration.advice if measured.calibration else ()
        run.advice = heed([*advise(result.cases), *noise], assignment.config.silence)

        progress.step(7)
        for recording in recordings:
            for case in recording.cases:
                for name in files_of(case):
                    staging.take(recording.first / name)
        for path in measured.references.values():
            staging.take(path)
        document(run, result, cases, measured.calibration, sources, reads, staging)

    progress.step(8)
    changes = run.untouched.changes()
    if changes:
        raise TreeChanged(changes)


def _record(run: Run, placed: Sequence[Placement], workspaces: list[Workspace], watcher: Watcher) -> Result:
    """The recipe on the solution, twice; beside it, where that is not known yet, what the starter builds."""
    assignment, options = run.assignment, run.options
    jobs = [make_job(assignment, workspace, options) for workspace in workspaces]
    known = _known_interface(run)
    recipe = [item for item in placed if item.source == assignment.recipe]
    with make_workspaces(assignment, recipe, 1) as (starter,):
        beside = [] if known else [make_job(assignment, starter, options, task="build")]
        endings = run_side_by_side(
            jobs,
            timeout=options.timeout,
            watcher=watcher,
            beside=beside,
            warm=run.warm if beside else None,  # for one of two recordings alone it would not pay
            fresh=jobs[1:],
        )
    result = _finished(run, workspaces, endings[:2])
    built = [ending.result.built for ending in endings[2:] if ending.result is not None]
    if beside and not built:
        run.notes.append("the starter's models could not be built in time, so their parameters were not compared")
    run.checks = [known or check_models(assignment, run.checks[0], result.cases, built[0] if built else {})]
    return result


def _known_interface(run: Run) -> Check | None:
    """The first check, where building models would not add to it: there are none, or nothing has changed since."""
    assignment = run.assignment
    if b".model" not in assignment.recipe.read_bytes():
        return run.checks[0]
    if freshness(assignment).outcome != FRESH:
        return None
    return known_from(run.checks[0], previous_manifest(assignment.gold))


def _calibrate(
    run: Run, recordings: Sequence[Recording], mode: str, key: str, watcher: Watcher, progress: Progress
) -> Measured:
    """Tolerances that still hold, or measured ones, or the reason why there are none."""
    assignment, options = run.assignment, run.options
    if options.calibrate == "off":
        return Measured(why_not="not measured: that was switched off")
    if mode == "script":
        return Measured(why_not="not measured: the recipe is a script without cases")
    kept = kept_tolerances(previous_manifest(assignment.gold), assignment.gold, key)
    if kept is not None and options.calibrate != "anew":
        return kept
    if options.calibrate == "kept":
        return Measured(why_not="not measured: this was a rehearsal")
    telling = Watcher(
        on_case=lambda event: progress.step(6, f"measuring noise, trial {event.number} of {event.of}"),
        on_tick=watcher.on_tick,
    )
    return measure(assignment, options, recordings, key=key, patience=run.seconds, watcher=telling, warm=run.warm)


def _refuse_failed(run: Run) -> None:
    problems = [problem for check in run.checks for problem in check.problems]
    if problems:
        raise GoldRefused(run.assignment.name, problems, hint=next(_hints(run)))


def _hints(run: Run) -> Iterator[str]:
    """How what was refused can be accepted, where that is meant."""
    if any(check.name == INTERFACE and not check.ok for check in run.checks):
        yield f"allow-drift in [assignment.{run.assignment.name}] of goldsmith.toml, with a reason"
    yield "allow={…} in the recipe, with a reason"


def _finished(run: Run, workspaces: list[Workspace], endings: list[Ending]) -> Result:
    """The first run's result, once both have come to their own end.

    A run that failed by itself explains more than its sibling, which was stopped because of it.
    """
    for workspace, ending in sorted(zip(workspaces, endings, strict=True), key=lambda pair: gravity(pair[1])):
        error = error_of(run.assignment, workspace, ending, run.options)
        if error is not None:
            run.log = ending.log_tail
            raise error
    run.seconds = max(ending.seconds for ending in endings)
    result = endings[0].result
    assert result is not None
    return result


def _notes(result: Result) -> list[str]:
    notes = [f"case {case.name}: {text}" for case in result.cases for text in case.notes]
    if result.left_out:
        notes.append(f"not published, only .pt and .npz files are: {', '.join(result.left_out)}")
    return notes
