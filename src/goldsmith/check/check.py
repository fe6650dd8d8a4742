"""`check`: replay one implementation against gold, and judge it by case, by module and by part."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from goldsmith.check.check_context import CheckContext, may_train
from goldsmith.check.compiled_cases import judge_compiled
from goldsmith.check.corrected_parts import CorrectedParts
from goldsmith.check.forbidden_use import find_forbidden
from goldsmith.check.isolated_runs import attribute
from goldsmith.check.missing_files import not_given
from goldsmith.check.parts_without_case import InnerParts
from goldsmith.check.places import cell_files, find_definition, shown_place
from goldsmith.check.provided_code import Provided
from goldsmith.check.recipe_failures import excuse
from goldsmith.check.replay_workspace import ReplayWorkspace
from goldsmith.check.replayed import Replayed, kept, may_be_given_more, unfinished_imports
from goldsmith.check.request import OpenGold, Request
from goldsmith.check.solution_parts import SolutionParts
from goldsmith.gold.manifest import Manifest
from goldsmith.gold.trivial_answers import is_hollow
from goldsmith.judge.bounds import (
    JUDGING_TIMEOUT_S,
    JUDGING_TIMEOUT_S_PER_MIB,
    TooMuchToJudge,
    Work,
    bounded_by,
    seconds_in_all,
)
from goldsmith.judge.coverage import PartCoverage
from goldsmith.judge.parts import RIGHT, judge_parts
from goldsmith.judge.policy import CLEAR
from goldsmith.judge.unwritten_code import name_unwritten
from goldsmith.judge.verdicts import (
    AGREES,
    COULD_NOT_RUN,
    DIFFERS,
    ERROR,
    INCONCLUSIVE,
    PROVIDED_CHANGED,
    CaseVerdict,
    ModuleVerdict,
    PartVerdict,
    Verdict,
    gravest,
)
from goldsmith.process.clocks import Allowance
from goldsmith.process.fork_client import fork_server
from goldsmith.process.launcher import deterministic_environment
from goldsmith.runs.run import CaseRuns
from goldsmith.targets.target import Placement, Submission, Target
from goldsmith.workspace.temporary import private_folder

Result = TypeVar("Result")
MAX_TRIED = 8
"""Changed provided parts for which it is found out one by one whether any case runs them."""


def check(target: Target, submission: Submission, request: Request) -> Verdict:
    """Return the verdict on `submission`. A submission that takes too much work to judge "could not run"."""

    def judge(opened: OpenGold) -> Verdict:
        with _workspace(target, submission, request, opened) as (context, workspace):
            replayed, runs, provided = _replay(context, workspace, submission)
            verdict = _attribute(context, workspace, submission, replayed, runs, provided)
            return judge_compiled(context, workspace, verdict, replayed.layouts) if request.compiled else verdict

    return _bounded(target, submission, request, judge)


def replay(target: Target, submission: Submission, request: Request) -> Verdict | Replayed:
    """Return the verdict on `submission`, or, if it may have to be given more than gold's inputs and weights first,
    what its replays have shown: `conclude` goes on from there."""

    def judge(opened: OpenGold) -> Verdict | Replayed:
        with _workspace(target, submission, request, opened) as (context, workspace):
            replayed, runs, provided = _replay(context, workspace, submission)
            if may_be_given_more(replayed.verdicts, opened.gold):
                return msgspec.structs.replace(replayed, runs=kept(runs, replayed.verdicts))
            return _attribute(context, workspace, submission, replayed, runs, provided)

    return _bounded(target, submission, request, judge)


def conclude(target: Target, submission: Submission, request: Request, replayed: Replayed) -> Verdict:
    """Return the verdict on a submission whose cases have been replayed. Its cases stay as they were judged then."""

    def judge(opened: OpenGold) -> Verdict:
        with _workspace(target, submission, request, opened, replayed.used) as (context, workspace):
            provided = Provided.of(target, submission, opened.gold.manifest)
            return _attribute(context, workspace, submission, replayed, replayed.case_runs(), provided)

    return _bounded(target, submission, request, judge)


def _bounded(
    target: Target, submission: Submission, request: Request, judge: Callable[[OpenGold], Result]
) -> Result | Verdict:
    opened = request.opened or OpenGold.of(target, submission, request)
    gold = sum(file.stat().st_size for file in opened.gold.folder.iterdir() if file.is_file())
    try:
        with bounded_by(Work(seconds=JUDGING_TIMEOUT_S + JUDGING_TIMEOUT_S_PER_MIB * gold / 2**20)):
            return judge(opened)
    except TooMuchToJudge as error:
        cases = [
            CaseVerdict(
                name=name,
                title=case.entry.title,
                outcome=COULD_NOT_RUN,
                reason=f"what it left behind takes too much to be judged: {error}",
                kind="timeout",
            )
            for name, case in opened.golds.items()
        ]
        return Verdict(
            name=submission.name,
            assignment=target.name,
            outcome=COULD_NOT_RUN,
            cases=tuple(cases),
            choices=submission.choices,
            missing=_missing(submission, opened.gold.manifest),
            notes=submission.notes,
        )


@contextlib.contextmanager
def _workspace(
    target: Target,
    submission: Submission,
    request: Request,
    opened: OpenGold,
    used: tuple[float, float] = (0.0, 0.0),
) -> Iterator[tuple[CheckContext, ReplayWorkspace]]:
    """Open a workspace with the submission in it. Its runs have `used` some of their time already."""
    with contextlib.ExitStack() as stack:
        libraries = opened.gold.manifest.provenance.environment.libraries
        optimisers = request.fork_server is None and may_train(target.recipe, submission.placed)
        server = request.fork_server or stack.enter_context(fork_server(preload=libraries, optimisers=optimisers))
        server.prestart(deterministic_environment(target.threads))  # it imports torch while this process does
        allowance = Allowance(seconds_in_all(target.case_timeout, len(opened.golds)), used)
        context = CheckContext(target, opened, request, server, allowance)
        yield context, stack.enter_context(context.open_workspace(submission.placed, submission.beside))


def _replay(
    context: CheckContext, workspace: ReplayWorkspace, submission: Submission
) -> tuple[Replayed, Mapping[str, CaseRuns], Provided]:
    """Replay all cases, and find out which of them provided code is to blame for."""
    started = time.monotonic()
    target, opened, request = context.target, context.opened, context.request
    strategy = context.strategy(workspace)
    strategy.run_cases(list(opened.golds))
    verdicts = strategy.verdicts
    staffs: tuple[str, ...] = ()
    provided = Provided.of(target, submission, opened.gold.manifest)
    if request.solution_failures is not None:
        recipe, ported = target.recipe.name, bool(provided.ported)
        verdicts, staffs = excuse(verdicts, recipe, request.solution_failures, loopback=target.loopback, ported=ported)
    changed = provided.parts
    if provided.restorable and any(verdict.outcome != AGREES for verdict in verdicts.values()):
        verdicts, changed = _excuse_provided(context, submission, verdicts, provided)
    untried = _untried(context, submission, verdicts, provided, changed)
    assert context.allowance is not None
    replayed = Replayed(
        verdicts=verdicts,
        layouts=strategy.layouts,
        staffs=staffs,
        excused=tuple(strategy.verdicts[name] for name in verdicts if staffs),
        changed=changed,
        untried=untried,
        stand_ins=tuple(sorted(workspace.stubs_used)),
        sightings=tuple(workspace.sightings),
        used=context.allowance.used,
        unfinished=tuple(dict.fromkeys(unfinished_imports(strategy.replays.values()))),
        seconds=time.monotonic() - started,
    )
    return replayed, strategy.replays, provided


def _attribute(
    context: CheckContext,
    workspace: ReplayWorkspace,
    submission: Submission,
    replayed: Replayed,
    runs: Mapping[str, CaseRuns],
    provided: Provided,
) -> Verdict:
    """Find out which parts are to blame, and return the verdict.

    A module that runs alone is given gold's intermediate values: what a worker reports from here on may contain them,
    and is for staff only.
    """
    started = time.monotonic()
    target, opened, request = context.target, context.opened, context.request
    gold, layouts = opened.gold, replayed.layouts
    shown = PartCoverage.of({name: case.entry for name, case in opened.golds.items()}, gold.folder)
    with private_folder() as folder:
        verdicts = attribute(workspace, gold.folder, replayed.verdicts, runs, layouts, request.evidence)
        solution = SolutionParts.of(target, gold.manifest.provenance.written)
        corrected = CorrectedParts(context, submission, provided, folder / "restored", shown, solution)
        verdicts = corrected.judge(verdicts)
        inner = InnerParts(gold, workspace, runs, layouts, provided.files, corrected.open)
        verdicts = name_unwritten(inner.judge(verdicts), shown, provided.unwritten_functions)
    if request.evidence is not None:
        request.evidence.files = {**provided.files, **cell_files(_placed(target, submission))}
        for case in verdicts.values():
            request.evidence.add_case(case, context.judge.criteria(case.name), runs[case.name])
    failed = [*verdicts.values(), *replayed.excused]
    unseen = not_given(target, workspace.workspace, failed, confined=request.confined is not None)
    found = [context.judge.without_blind_records(item) for item in verdicts.values()]
    parts = tuple(judge_parts(found, shown, lambda name: is_hollow(opened.golds[name])))
    outcome = gravest(item.outcome for item in found)
    first = first_case([item for item in found if item.outcome != ERROR], shown)
    source = next((item for item in first.modules if item.source), None) if first else None
    if outcome in (INCONCLUSIVE, *RIGHT) and any(part.unused for part in parts):
        outcome, source = DIFFERS, next(item for case in found for item in case.modules if item.unused)
    missing = _missing(submission, gold.manifest)
    left_out = [f"{file} is not in it; the starter's was used" for file in submission.missing if file not in missing]
    return Verdict(
        name=submission.name,
        assignment=target.name,
        outcome=outcome,
        first_divergence=first.first_divergence if first else source.label if source else "",
        first_part=first.first_part if first else source.kind if source else "",
        first_case=first.name if first else source.case if source else "",
        first_name=source.their_label if source else "",
        first_functions=source.their_functions if source else (),
        first_place=shown_place(_place(source, provided, missing), _placed(target, submission)) if source else "",
        not_started=provided.is_untouched and outcome not in RIGHT,
        cases=tuple(found),
        parts=parts,
        missing=missing,
        provided=replayed.changed,
        untried=replayed.untried,
        unwritten=provided.unwritten,
        unjudged=tuple(_unjudged(gold.manifest, parts)) if gold.manifest.is_of_a_course else (),
        not_run=len(gold) - len(opened.golds),
        layout=next(iter(layouts.values()), ""),
        stand_ins=replayed.stand_ins,
        choices=submission.choices,
        unfinished=replayed.unfinished,
        notes=(*submission.notes, *left_out, *provided.notes, *context.ruler_notes),
        forbidden=find_forbidden(target, submission, replayed.sightings),
        not_given=(*unseen, *replayed.staffs),
        seconds=replayed.seconds + time.monotonic() - started,
    )


def first_case(found: Sequence[CaseVerdict], shown: PartCoverage) -> CaseVerdict | None:
    """Choose the case that shows best what is wrong: the one that runs the fewest functions. Of several that run as few
    and blame the same part, take the first whose error is clear: an eps in the wrong place is far off where numbers are
    small, and barely out of tolerance elsewhere."""
    wrong = [
        item for item in found if item.outcome == gravest(case.outcome for case in found) and item.first_divergence
    ]
    if not wrong:
        return None
    first = min(wrong, key=lambda item: shown.width(item.name))
    alike = [
        item
        for item in wrong
        if item.first_part == first.first_part and shown.width(item.name) == shown.width(first.name)
    ]
    return next((item for item in alike if _how_far(item) >= CLEAR), max(alike, key=_how_far))


def _how_far(case: CaseVerdict) -> float:
    """Return the relative error of the first wrong record; infinity where what is wrong is not a matter of size."""
    leaf = case.first_wrong
    if leaf is None or leaf.problem != "values" or not math.isfinite(leaf.relative):
        return math.inf
    return leaf.relative


def _placed(target: Target, submission: Submission) -> Sequence[Placement]:
    """Return the submission's files; of the tree as it stands, the starter's notebooks, by which lines are told."""
    return target.starter.notebooks if submission.is_tree and target.starter else submission.placed


def _missing(submission: Submission, manifest: Manifest) -> tuple[str, ...]:
    """List files that were not submitted and in which students have something to write."""
    modules = {name.partition(".")[0] for name in manifest.provenance.written}
    return tuple(file for file in submission.missing if Path(file).stem in modules)


def _place(source: ModuleVerdict, provided: Provided, missing: Sequence[str]) -> str:
    files = {**provided.files, **{name: provided.starter[name] for name in missing if name in provided.starter}}
    function = None if source.methods else source.function
    own = find_definition(files, source.their_kind or source.kind, function)
    return own or find_definition(files, source.kind, function)


def _unjudged(manifest: Manifest, parts: Sequence[PartVerdict]) -> list[str]:
    """List classes and functions that students write, in the order of their files, that have no verdict."""
    known = {part.name for part in parts}
    written = dict.fromkeys(name.split(".")[1] for name in manifest.provenance.written if "." in name)
    return [name for name in written if name not in known]


def _excuse_provided(
    context: CheckContext, submission: Submission, verdicts: dict[str, CaseVerdict], provided: Provided
) -> tuple[dict[str, CaseVerdict], tuple[str, ...]]:
    """Excuse cases that agree once the starter's provided parts are restored: what students wrote there is right.
    Return the verdicts and the fewest parts that must be restored, found by trying. A call that ends the process is
    an exit, wherever it was added."""
    bad = [
        name for name, verdict in verdicts.items() if verdict.outcome not in (AGREES, ERROR) and verdict.kind != "exit"
    ]
    needed, fixed = provided.restorable, dict[str, CaseVerdict]()
    for parts in dict.fromkeys((provided.restorable, provided.plain)):  # a class may not work with its old header
        found = _fixed_by_restoring(context, submission, provided, parts, bad) if parts else {}
        if len(found) > len(fixed):
            needed, fixed = parts, found
        if len(fixed) == len(bad):
            break
    if not fixed:
        return verdicts, provided.parts
    for part in needed if len(needed) > 1 else ():
        fewer = tuple(other for other in needed if other != part)
        still_fixed = _fixed_by_restoring(context, submission, provided, fewer, list(fixed)) if fewer else {}
        if fewer and still_fixed.keys() == fixed.keys():
            needed, fixed = fewer, still_fixed
    excused = {
        name: msgspec.structs.replace(
            verdicts[name],
            outcome=PROVIDED_CHANGED,
            own_dtype_only=verdict.own_dtype_only,
            reason=f"{verdicts[name].reason}; it agrees with {', '.join(needed)} as it was given",
        )
        for name, verdict in fixed.items()
    }
    return verdicts | excused, needed


def _untried(
    context: CheckContext,
    submission: Submission,
    verdicts: Mapping[str, CaseVerdict],
    provided: Provided,
    restored: Collection[str],
) -> tuple[str, ...]:
    """Return the changed provided parts that no case runs: cases agree even if these cannot be used at all. Those that
    were `restored` to make cases agree have been run."""
    if any(verdict.outcome not in RIGHT for verdict in verdicts.values()):
        return ()
    back = restored if any(verdict.outcome == PROVIDED_CHANGED for verdict in verdicts.values()) else ()
    others = [part for part in provided.parts if part not in back]
    missing = [part for part in others if not provided.is_there(part)]
    tried = [part for part in others if provided.can_be_tried(part)]

    def agree_without(parts: Sequence[str]) -> bool:
        with contextlib.ExitStack() as stack:
            folder = stack.enter_context(private_folder()) / "disabled"
            placed = provided.disabled(submission, folder, back, parts)
            workspace = stack.enter_context(context.open_workspace(placed, submission.beside))
            strategy = context.strategy(workspace, traces=False)
            strategy.run_cases(list(verdicts))
        return all(verdict.outcome == AGREES for verdict in strategy.verdicts.values())

    unused = tried if tried and agree_without(tried) else []
    if not unused and 1 < len(tried) <= MAX_TRIED:
        unused = [part for part in tried if agree_without([part])]
    return tuple(part for part in others if part in missing or part in unused)


def _fixed_by_restoring(
    context: CheckContext, submission: Submission, provided: Provided, parts: Sequence[str], cases: Sequence[str]
) -> dict[str, CaseVerdict]:
    """Return the verdicts on those of `cases` that agree once these parts are restored."""
    with contextlib.ExitStack() as stack:
        restored = provided.restored(submission, stack.enter_context(private_folder()) / "restored", parts)
        workspace = stack.enter_context(context.open_workspace(restored, submission.beside))
        strategy = context.strategy(workspace, traces=False)
        strategy.run_cases(cases)
    return {name: strategy.verdicts[name] for name in cases if strategy.verdicts[name].outcome == AGREES}
