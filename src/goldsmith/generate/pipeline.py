"""The nine steps for one assignment, in order. Each takes a few lines here; the work is in its own module."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from goldsmith.errors.base import GoldsmithError
from goldsmith.errors.gold import CopyDisagrees, CopyFailsInSandbox, GoldIsStale, GoldKept, GoldRefused
from goldsmith.errors.injection import IsInjected
from goldsmith.errors.recipe import NoRecipe
from goldsmith.foundation.wording import count_of
from goldsmith.generate.compare_with_previous import confirm
from goldsmith.generate.contents import Contents, assemble, keep_cases, written_again
from goldsmith.generate.document import document
from goldsmith.generate.ensure_recipe import check_notebooks, ensure_recipe
from goldsmith.generate.error_mapping import error_of, gravity
from goldsmith.generate.imported_sources import add_imported
from goldsmith.generate.interface_check import check_interface, check_models, known_from
from goldsmith.generate.jobs import make_job, recording_fork_server
from goldsmith.generate.measure_tolerances import Measured, measure
from goldsmith.generate.options import Options
from goldsmith.generate.outcome import UNCHANGED, Outcome
from goldsmith.generate.previous_gold import PreviousGold, redraw_notes, redrawn_cases
from goldsmith.generate.recording import Recording
from goldsmith.generate.refusals import leave_out, refusal, refuse_failed
from goldsmith.generate.sources import Sources, StatSnapshot, hash_sources
from goldsmith.generate.starter_diff import written_parts
from goldsmith.generate.state import COPY_NAMES, STEPS, CheckSolution, GenerationState, outcome_of
from goldsmith.generate.two_runs import gather
from goldsmith.generate.variants import record_variants, variant_notes
from goldsmith.gold.advice import Advice, advise, drop_silenced
from goldsmith.gold.checks import Check, check_tolerances, verify
from goldsmith.gold.diff import TensorChange, gold_changes
from goldsmith.gold.load import GoldCase
from goldsmith.gold.manifest import MANIFEST, FileEntry
from goldsmith.gold.publish import Staging
from goldsmith.gold.trivial_answers import find_hollow, hollow_advice, hollow_problems
from goldsmith.process.launcher import Watcher, run_parallel
from goldsmith.process.messages import BuildJob, RecordJob, Result
from goldsmith.process.process_exit import ProcessExit
from goldsmith.process.progress import Progress
from goldsmith.source_code.case_code import case_code
from goldsmith.targets.target import Placement, Target
from goldsmith.workspace.copies import Workspace, make_workspaces
from goldsmith.workspace.snapshot import file_hash

Agree = Callable[[Sequence[TensorChange], Sequence[str]], bool]


def generate(
    target: Target,
    options: Options,
    progress: Progress,
    check_solution: CheckSolution,
    agree: Agree = lambda changes, others: True,
) -> Outcome:
    """Make, verify, document and publish the gold of one assignment. The caller holds the course's lock.

    Nothing is published unless `check_solution` finds that a copy of the solution agrees with it.

    Fresh gold stays as it is unless `options.must_run`. Before tensors of existing gold are replaced, or files that
    goldsmith did not make, `agree` is shown them and may refuse.
    """
    started = time.monotonic()
    run = GenerationState.begin(target, options, check_solution=check_solution)
    staging = Staging(target.gold)
    error: GoldsmithError | None = None
    try:
        _read_previous(run)
        if not options.must_run and run.previous.is_fresh(run.options):
            _keep_fresh(run)
        else:
            _stage(run, progress, staging)
        if run.outcome != UNCHANGED:
            _ask_before_replacing(run, staging, agree)
            staging.publish()
    except GoldsmithError as problem:
        error = problem
    finally:
        staging.discard()
    return outcome_of(run, error, time.monotonic() - started)


def _ask_before_replacing(run: GenerationState, staging: Staging, agree: Agree) -> None:
    """Raise `GoldKept` unless `agree` accepts replacing tensors of the gold, or files that goldsmith did not write."""
    old = run.previous.manifest
    published = {item.name: item.sha256 for item in old.files} if old else {}
    others = [
        name
        for name in staging.replaces()
        if not (old and name == MANIFEST) and file_hash(run.target.gold / name) != published.get(name)
    ]
    changes = run.changes if old else []
    if (changes or others) and not agree(changes, others):
        raise GoldKept(run.target.name, len(changes), tuple(others))


def dry_run(target: Target, options: Options, progress: Progress, folder: Path) -> Outcome:
    """Write what `generate` would publish to `folder`, and nothing to the course.

    Tolerances are not measured: if nothing has changed, the old ones hold; if something has, that is the finding.
    """
    started = time.monotonic()
    run = GenerationState.begin(target, options, is_dry=True)
    error: GoldsmithError | None = None
    try:
        if not target.recipe.is_file():
            raise NoRecipe(target.name, target.project.relative(target.recipe))
        _read_previous(run)
        if run.previous.is_unmeasured:
            run.options = msgspec.structs.replace(options, calibrate="off")
        _stage(run, progress, Staging(target.gold, folder))
        if run.outcome != UNCHANGED:
            raise GoldIsStale(target.name, len(run.changes))
    except GoldsmithError as problem:
        error = problem
    return outcome_of(run, error, time.monotonic() - started)


def _read_previous(run: GenerationState) -> None:
    """Read the gold that is there. Refuse to run while a solution is injected: there is no starter to compare with."""
    target = run.target
    if target.injected_since:
        raise IsInjected(target.name, target.injected_since)
    run.previous = PreviousGold.read(run.target)


def _keep_fresh(run: GenerationState) -> None:
    assert run.previous.manifest is not None
    run.outcome, run.files = UNCHANGED, list(run.previous.manifest.files)
    run.notes.append("fresh: nothing it was made from has changed; --force regenerates it anyway")


def _stage(run: GenerationState, progress: Progress, staging: Staging) -> None:
    """Run steps 2 to 8 into the staging folder, and note what publishing it would change."""
    progress.begin(run.target.name)
    try:
        while not _accepted(run, progress, staging):
            run.begin_again()
        run.file_changes = staging.file_changes()
        if staging.equals_target():
            run.outcome = UNCHANGED
        else:
            old = run.target.gold if run.previous.manifest else None
            run.changes = gold_changes(old, staging.folder)
    finally:
        progress.end()


def _accepted(run: GenerationState, progress: Progress, staging: Staging) -> bool:
    """Run the steps; say whether to go on, and not to run them again without cases of a new draft that were refused."""
    try:
        _steps(run, progress, staging)
    except (GoldRefused, CopyDisagrees, CopyFailsInSandbox) as refused:
        if not run.is_drafted or not leave_out(run.target.recipe, refused):
            raise
        staging.discard()
        return False
    return True


def _steps(run: GenerationState, progress: Progress, staging: Staging) -> None:
    target, options = run.target, run.options
    watcher = Watcher(
        on_case=lambda event: progress.step(f"case {event.number} of {event.of}: {event.case}", stage=STEPS[5]),
        on_print=progress.prints,
        on_tick=progress.tick,
    )
    progress.step(stage=STEPS[2])
    placed = target.placed
    check_notebooks(target, placed)
    is_written = not target.recipe.is_file()
    try:
        note = ensure_recipe(target, placed, options, watcher)
    finally:
        if is_written and target.recipe.is_file():
            run.is_drafted = True
            run.untouched = run.untouched.with_written(target.recipe)
    if note and (is_written or not run.is_drafted):
        run.notes.append(note)
        target = run.target = target.again()
        placed = target.placed
    sources = hash_sources(target, placed)
    if target.starter is not None:
        sources = replace(sources, written=tuple(written_parts(target.starter, target.recipe, placed)))
    run.code = case_code(target.recipe.read_bytes())
    run.checks = check_interface(target, {"": placed, **target.variants})
    refuse_failed(run.target.name, run.checks)

    staging.open()
    progress.step(_where(target, placed), stage=STEPS[3])
    with contextlib.ExitStack() as stack:
        workspaces = stack.enter_context(make_workspaces(target, placed, 2))
        run.fork_server = stack.enter_context(recording_fork_server(target, options))
        calm = StatSnapshot.begin(target.project, workspaces[0])
        progress.step(f"every random source from {options.seed}", stage=STEPS[4])
        progress.step(stage=STEPS[5])
        result, solution = _record(run, placed, sources, workspaces, watcher)
        recordings = [solution]
        recordings += record_variants(
            stack, target, options, solution, watcher, lambda *ended: _take_result(run, *ended)
        )

        progress.step(stage=STEPS[6])
        evidence = gather(result.mode, recordings, options)
        run.files = list(evidence.files.values())
        run.checks += verify(evidence)
        run.notes += [*_notes(result), *redraw_notes(run.redrawn)]
        refuse_failed(run.target.name, run.checks)
        if run.implementations:
            sources, reads = add_imported(target, sources, run.implementations, result.reads)
        else:
            reads = calm.hash_reads(workspaces[0], result.reads, sources)
        contents = _contents(run, result, recordings, sources, reads, watcher, progress)
        run.checks.append(check_tolerances(contents.cases, run.unmeasured))
        noise = contents.calibration.advice if contents.calibration else ()

        progress.step(stage=STEPS[7])
        for path in contents.paths:
            staging.take(path)
        run.notes += variant_notes(contents.cases, staging.folder)
        advice = [*advise(result.cases), *noise]
        if result.mode == "cases":
            advice += _try_hollow_answers(run, contents, staging, advice)
        run.advice = drop_silenced(advice, target.silence)
        document(run, contents, staging)
        if run.check_solution is not None and not staging.equals_target():
            progress.step(f"{COPY_NAMES[target.kind]} is checked against it", stage=STEPS[7])
            run.refuse_changed()  # else the sandbox, in which nothing else can be changed, would be the one to say so
            run.check_copy(staging.folder, placed, Watcher(on_tick=progress.tick))

    progress.step(stage=STEPS[8])
    run.refuse_changed()


def _where(target: Target, placed: Sequence[Placement]) -> str:
    """Say what takes whose place in step 3."""
    if target.kind == "assignment":
        return f"{count_of(len(placed), 'solution file')} into two private copies"
    return "nothing: the recipe runs on what it imports"


def _try_hollow_answers(
    run: GenerationState, contents: Contents, staging: Staging, advice: Sequence[Advice]
) -> list[Advice]:
    """Return advice on records that would pass without work; refuse a case in which all would."""
    found = find_hollow([GoldCase(entry, staging.folder / entry.file) for entry in contents.cases])
    problems = hollow_problems([item for item in found if item.case not in run.unmeasured])
    if problems:
        raise refusal(run.target.name, list(problems.values()), ["hollow"], list(problems))
    return hollow_advice(found, advice)


def _record(
    run: GenerationState, placed: Sequence[Placement], sources: Sources, workspaces: list[Workspace], watcher: Watcher
) -> tuple[Result, Recording]:
    """Run the recipe on the solution twice; meanwhile build the starter's models, if they must be compared."""
    target, options = run.target, run.options
    draws, redrawn = run.previous.draws(options, run.code, sources.recipe)
    jobs = [
        make_job(RecordJob, target, workspace, options, draws=draws, written=sources.written)
        for workspace in workspaces
    ]
    known = _known_interface(run)
    with contextlib.ExitStack() as stack:
        build = []
        if known is None:
            recipe = [item for item in placed if item.source == target.recipe]
            (starter,) = stack.enter_context(make_workspaces(target, recipe, 1))
            build = [make_job(BuildJob, target, starter, options)]
        endings = run_parallel(
            jobs,
            timeout=options.timeout,
            watcher=watcher,
            best_effort=build,
            fork_server=run.fork_server if build else None,  # not worth it for one of two recordings alone
            fresh=jobs[1:],
        )
    result = _take_result(run, workspaces, endings[:2])
    built = [ending.result.built for ending in endings[2:] if ending.result is not None]
    if build and not built:
        run.notes.append("the starter's models could not be built in time, so their parameters were not compared")
    if known is None:
        known = [check_models(target, run.checks[0], result.cases, built[0] if built else {})]
    run.checks = known
    run.redrawn = redrawn_cases(redrawn, result.cases)
    first, second = (workspace.scratch / "gold" for workspace in workspaces)
    drawn = [{case.name: case.drawn for case in ending.result.cases} for ending in endings[:2] if ending.result]
    unsteady = frozenset(name for name in drawn[0] if drawn[0][name] != drawn[1].get(name))
    return result, Recording(placed, result.cases, first, second, unsteady)


def _known_interface(run: GenerationState) -> list[Check] | None:
    """Return the interface check if building models would add nothing: there is no starter, there are no models, or no
    source changed."""
    if not run.checks or b".model" not in run.target.recipe.read_bytes():
        return run.checks
    known = None if run.previous.changed else known_from(run.checks[0], run.previous.manifest)
    return None if known is None else [known]


def _contents(
    run: GenerationState,
    result: Result,
    recordings: Sequence[Recording],
    sources: Sources,
    reads: dict[str, str],
    watcher: Watcher,
    progress: Progress,
) -> Contents:
    """Collect what to publish: cases that the new run confirms stay as they are, the others get tolerances."""
    target, options, previous = run.target, run.options, run.previous
    same_sources = previous.same_sources(sources, reads)
    deciding = Watcher(on_case=lambda event: progress.step("float64 tells noise from a change", stage=STEPS[6]))
    movements = confirm(target, options, previous, recordings, same_sources=same_sources, watcher=deciding)
    kept = keep_cases(previous, options, recordings, movements, mode=result.mode)
    again = [
        item.only(set(movements.keys() | {case.name for case in item.cases}) - kept.entries) for item in recordings
    ]
    measured = _calibrate(run, [it for it in again if it.cases], sources.written, result.mode, watcher, progress)
    run.notes += measured.notes
    if measured.problems:
        problems = [text for texts in measured.problems.values() for text in texts]
        raise refusal(target.name, problems, list(dict.fromkeys(measured.waivers)), list(measured.problems))
    run.environment = previous.environment_differences(result.environment)
    run.noise = previous.noise({name: movements[name] for name in kept.values})
    if run.noise:
        where = f"recorded with {'; '.join(run.environment)}" if run.environment else "no known difference here"
        run.notes.append(f"{run.noise.sentence()}: noise, so the gold stays as it is ({where})")
    run.notes += written_again(movements, kept)
    contents = assemble(previous, kept, result, recordings, measured, sources, reads, run.code)
    run.files = [FileEntry.of(path) for path in contents.paths]
    return contents


def _calibrate(
    run: GenerationState,
    recordings: Sequence[Recording],
    written: tuple[str, ...],
    mode: str,
    watcher: Watcher,
    progress: Progress,
) -> Measured:
    """Return measured tolerances of these recordings, or the reason why there are none."""
    if not recordings:
        return Measured()
    if run.options.calibrate == "off":
        return Measured(why_not="not measured: that was switched off")
    if mode == "script":
        return Measured(why_not="not measured: the recipe is a script without cases")
    if run.is_dry:
        run.unmeasured = {case.name for item in recordings for case in item.cases}
        return Measured(why_not="not measured in a dry run")
    telling = Watcher(
        on_case=lambda event: progress.step(f"measuring noise, trial {event.number} of {event.of}", stage=STEPS[6]),
        on_tick=watcher.on_tick,
    )
    return measure(
        run.target,
        run.options,
        recordings,
        written=written,
        recording_s=run.seconds,
        watcher=telling,
        fork_server=run.fork_server,
    )


def _take_result(run: GenerationState, workspaces: list[Workspace], endings: list[ProcessExit]) -> Result:
    """Return the first run's result, once both have finished.

    A run that failed by itself explains more than its sibling, which was stopped because of it.
    """
    for workspace, ending in sorted(zip(workspaces, endings, strict=True), key=lambda pair: gravity(pair[1])):
        error = error_of(run.target, workspace, ending, run.options)
        if error is not None:
            run.log = ending.log_tail
            raise error
    run.seconds = max(ending.seconds for ending in endings)
    results = [ending.result for ending in endings if ending.result]
    run.implementations = [item.implementation for item in results if item.implementation]
    assert endings[0].result is not None
    return endings[0].result


def _notes(result: Result) -> list[str]:
    notes = [f"case {case.name}: {text}" for case in result.cases for text in case.notes]
    if result.left_out:
        notes.append(f"not published, only .pt and .npz files are: {', '.join(result.left_out)}")
    return notes
