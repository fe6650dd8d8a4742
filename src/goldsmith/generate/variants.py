"""Several right answers: cases recorded again from variants of the solution, on the same inputs and weights."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path

from goldsmith.comparison.against_gold import compare_case
from goldsmith.comparison.results import Comparison
from goldsmith.errors.course import NoSuchVariant
from goldsmith.errors.gold import NotReplayable
from goldsmith.foundation.wording import count_of
from goldsmith.generate.jobs import make_job
from goldsmith.generate.options import Options
from goldsmith.generate.recording import Recording
from goldsmith.gold.arrays import judged_part
from goldsmith.gold.facts import JUDGED_SECTIONS, CaseFacts
from goldsmith.gold.load import GoldCase
from goldsmith.gold.manifest import CaseEntry
from goldsmith.judge.decision import shown_path
from goldsmith.judge.leaf_words import how_far
from goldsmith.process.launcher import Watcher, run_parallel
from goldsmith.process.messages import RecordJob, Result
from goldsmith.process.process_exit import ProcessExit
from goldsmith.targets.target import Target
from goldsmith.workspace.copies import Workspace, make_workspaces

Finish = Callable[[list[Workspace], list[ProcessExit]], Result]


def record_variants(
    stack: contextlib.ExitStack,
    target: Target,
    options: Options,
    solution: Recording,
    watcher: Watcher,
    finish: Finish,
) -> list[Recording]:
    """Make one recording for each variant that a case of `solution` accepts; workspaces live as long as `stack`."""
    found = target.variants
    wanted = dict.fromkeys(name for case in solution.cases for name in case.accepts)
    recordings = []
    if wanted:
        _check_replay(target, options, solution, watcher, finish)
    for name in wanted:
        if name not in found:
            case = next(case.name for case in solution.cases if name in case.accepts)
            raise NoSuchVariant(name, case, _variants_folder(target), sorted(found))
        cases = [case for case in solution.cases if name in case.accepts]
        workspaces = stack.enter_context(make_workspaces(target, found[name], 2))
        jobs = [
            make_job(RecordJob, target, workspace, options, variant=name, kept=solution.kept_cases(cases))
            for workspace in workspaces
        ]
        endings = run_parallel(jobs, timeout=options.timeout, watcher=watcher)
        result = finish(workspaces, endings)
        first, second = (workspace.scratch / "gold" for workspace in workspaces)
        recordings.append(Recording(found[name], result.cases, first, second))
    return recordings


def _check_replay(target: Target, options: Options, solution: Recording, watcher: Watcher, finish: Finish) -> None:
    """Refuse variants unless the solution itself, replayed on its own gold, gives that gold."""
    cases = [case for case in solution.cases if case.accepts]
    with make_workspaces(target, solution.placed, 1) as workspaces:
        job = make_job(RecordJob, target, workspaces[0], options, kept=solution.kept_cases(cases))
        result = finish(workspaces, run_parallel([job], timeout=options.timeout, watcher=watcher))
    for case, again in zip(cases, result.cases, strict=True):
        if _answers(case) != _answers(again):
            raise NotReplayable(case.name)


def _variants_folder(target: Target) -> Path | None:
    return target.project.relative(target.solution.variants_folder) if target.solution else None


def _answers(case: CaseFacts) -> list[str]:
    return [leaf.sha256 for leaf in case.file.leaves if leaf.section in JUDGED_SECTIONS]


def variant_notes(entries: Sequence[CaseEntry], folder: Path) -> list[str]:
    """Say for each variant where its answer disagrees with the solution's, and by how much of the solution's tolerance;
    or that it does not, so that nothing is gained by accepting it."""
    solutions = {entry.name: GoldCase(entry, folder / entry.file) for entry in entries if not entry.variant}
    notes = []
    for entry in entries:
        if entry.variant:
            gold = solutions[entry.name.removesuffix(f".{entry.variant}")]
            found = compare_case(judged_part(GoldCase(entry, folder / entry.file).data), judged_part(gold.data), gold)
            notes.append(f"case {gold.name}: the variant {entry.variant} {_disagreement(found, gold.entry)}")
    return notes


def _disagreement(found: Comparison, entry: CaseEntry) -> str:
    if all(leaf.identical for leaf in found.leaves):
        return "gives the same answer, so it need not be accepted"
    worst = max(found.leaves, key=lambda leaf: (not leaf.agrees, leaf.excess))
    name, measured = shown_path(worst.path), any(item.tolerance for item in entry.tensors)
    if found.agrees and measured:
        share = f"it uses up {worst.excess:.2g} of the tolerance of {name}"
        return f"is within what the solution allows, so it need not be accepted: {share}"
    by = f"{name} {how_far(worst)}" + (f", {worst.excess:.3g} x its tolerance" if measured else "")
    others = len(found.differing) - 1
    return f"disagrees with the solution: {by}" + (f", and {count_of(others, 'more value')}" if others > 0 else "")
