"""`measure`: every mutant tried, several at once, with what was found before taken over."""

from __future__ import annotations

import contextlib
import difflib
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from goldsmith.checking import Checking, Request, Submission, open_adapter, open_gold
from goldsmith.course import Assignment, Placement, placements
from goldsmith.errors import IsInjected, NoSuchMutant, NothingToMutate
from goldsmith.generation import Options
from goldsmith.gold import CaseEntry, Gold
from goldsmith.recording import Watcher, warm_process
from goldsmith.rigor.baselines import internal_tests
from goldsmith.rigor.findings import COULD_NOT_RUN, SURVIVED, Finding, Rigor, finding
from goldsmith.rigor.keeping import Keeper, key_of, recipe_of
from goldsmith.rigor.loading import operators_of
from goldsmith.rigor.mutants import Mutant, make_mutants
from goldsmith.rigor.rehearsal import rehearse
from goldsmith.rigor.trial import Trial
from goldsmith.workspace import file_hash, read_journal

_KEPT = "rigor"


@dataclass(frozen=True)
class Wanted:
    """What to measure. `names` are mutants, parts or operators, all where there are none; `most` is how many mutants at
    most, spread evenly; `jobs` how many at once. Without `keep`, nothing that was found before is used."""

    options: Options
    each: float
    names: Sequence[str] = ()
    most: int | None = None
    jobs: int = 1
    keep: bool = True
    baselines: bool = False
    allow_stale: bool = False
    on_start: Callable[[int, int], None] = lambda count, kept: None
    on_finding: Callable[[Finding], None] = lambda found: None
    watcher: Watcher = field(default_factory=Watcher)


def mutants_for(assignment: Assignment, names: Sequence[str] = ()) -> list[Mutant]:
    """The mutants of an assignment, or those of them that are asked for."""
    journal = read_journal(assignment.course, assignment.name)
    if journal is not None:
        raise IsInjected(assignment.name, journal.since)
    found = make_mutants(assignment, placements(assignment), operators_of(assignment.course))
    if not found:
        raise NothingToMutate(assignment.name)
    return _meant(found, names)


def measure(assignment: Assignment, wanted: Wanted) -> Rigor:
    """How sharp the gold of `assignment` is."""
    started = time.monotonic()
    mutants = mutants_for(assignment)
    chosen = _spread(_meant(mutants, wanted.names), wanted.most)
    gold = open_gold(assignment, Submission("the solution"), allow_stale=wanted.allow_stale)
    placed = placements(assignment)
    adapter, adapter_file = open_adapter(assignment)
    keeper = _keeper(assignment, gold, placed, adapter_file)
    found = {item.name: keeper.find(item) for item in chosen} if wanted.keep else {}
    findings = {name: item for name, item in found.items() if item is not None}
    pending = [item for item in chosen if not _is_known(findings.get(item.name), wanted.baselines)]
    kept = len(chosen) - len(pending)
    wanted.on_start(len(pending), kept)
    if pending:
        uses_torch = gold.manifest.provenance.environment.torch is not None
        with warm_process(torch=uses_torch) as warm:
            request = Request(options=wanted.options, each=wanted.each, watcher=wanted.watcher, warm=warm)
            golds = {name: gold[name] for name in gold}
            checking = Checking(assignment, golds, adapter, adapter_file, request, warm)
            with rehearse(checking, placed) as rehearsal:
                if wanted.baselines:
                    warm.import_also(["pytest"])
                tests = internal_tests(assignment, placed, wanted.options, warm) if wanted.baselines else None
                trial = Trial(checking, rehearsal, placed, tests, wanted.baselines)
                with contextlib.closing(_side_by_side(trial, pending, findings, wanted.jobs)) as tried:
                    for mutant, item in tried:
                        keeper.keep(mutant, item)
                        findings[mutant.name] = item
                        wanted.on_finding(item)
    keeper.tidy()
    return Rigor(
        assignment=assignment.name,
        findings=tuple(_explained(findings[item.name], assignment.config.survivors) for item in chosen),
        made=len(mutants),
        kept=kept,
        seconds=time.monotonic() - started,
        notes=tuple(_obsolete(assignment, mutants, findings)),
    )


def _explained(found: Finding, survivors: Mapping[str, str]) -> Finding:
    """The course's own word on a survivor; never on anything else."""
    if found.outcome != SURVIVED or found.name not in survivors:
        return found
    return msgspec.structs.replace(found, explained=survivors[found.name])


def _obsolete(assignment: Assignment, mutants: Sequence[Mutant], findings: Mapping[str, Finding]) -> Iterator[str]:
    """Explanations that explain nothing any more."""
    made = {item.name for item in mutants}
    for name in assignment.config.survivors:
        found = findings.get(name)
        if found is not None and found.outcome != SURVIVED:
            yield f"{name} is explained in the configuration as a survivor, but it is {found.outcome}; remove that"
        elif name not in made:
            yield f"{name} is explained in the configuration as a survivor, but there is no such mutant; remove that"


def _is_known(found: Finding | None, baselines: bool) -> bool:
    return found is not None and not (baselines and found.beside.plain is None)


def _meant(mutants: list[Mutant], names: Sequence[str]) -> list[Mutant]:
    for name in names:
        if not any(_is_meant(item, name) for item in mutants):
            known = {text for item in mutants for text in (item.name, item.part, item.operator)}
            raise NoSuchMutant(name, difflib.get_close_matches(name, sorted(known), n=2))
    return [item for item in mutants if not names or any(_is_meant(item, name) for name in names)]


def _is_meant(mutant: Mutant, name: str) -> bool:
    return name in (mutant.name, mutant.operator, mutant.part, mutant.part.partition(".")[0])


def _spread(mutants: list[Mutant], most: int | None) -> list[Mutant]:
    if most is None or len(mutants) <= most:
        return mutants
    return [mutants[index * len(mutants) // most] for index in range(most)]


def _keeper(assignment: Assignment, gold: Gold, placed: Sequence[Placement], adapter: Path | None) -> Keeper:
    """With keys for everything that a finding follows from."""
    manifest = gold.manifest
    files = {item.name: item.sha256 for item in manifest.files}
    recipe = assignment.recipe.read_bytes()
    base = key_of(
        [
            {item.target.as_posix(): file_hash(item.source) for item in placed},
            [manifest.provenance.starter, manifest.provenance.reads, manifest.provenance.environment],
            file_hash(adapter) if adapter else "",
        ]
    )
    cases = {
        name: key_of(
            [
                recipe_of(recipe, name, gold),
                [(entry, files.get(entry.file), files.get(entry.reference or "")) for entry in _entries(gold, name)],
            ]
        )
        for name in gold
    }
    return Keeper(assignment.course.state_folder / _KEPT / assignment.name, base, cases)


def _entries(gold: Gold, name: str) -> list[CaseEntry]:
    case = gold[name]
    return [case.entry, *(item.entry for item in case.variants.values())]


def _side_by_side(
    trial: Trial, mutants: Sequence[Mutant], known: Mapping[str, Finding], jobs: int
) -> Generator[tuple[Mutant, Finding]]:
    """Every mutant's finding, as they come. When this ends early, so do all that are running."""
    with ThreadPoolExecutor(max_workers=max(1, jobs)) as pool:
        running: dict[Future[Finding], Mutant] = {}
        try:
            running = {pool.submit(_tried, trial, mutant, known.get(mutant.name)): mutant for mutant in mutants}
            pending = set(running)
            while pending:
                done, pending = wait(pending, timeout=0.1, return_when=FIRST_COMPLETED)
                for future in done:
                    yield running[future], future.result()
        finally:
            for future in running:
                future.cancel()
            trial.stopped.set()


def _tried(trial: Trial, mutant: Mutant, known: Finding | None) -> Finding:
    """One mutant's trouble is its own, and trouble of ours is no verdict on it."""
    try:
        if known is not None:
            return msgspec.structs.replace(known, beside=trial.beside(mutant))
        return trial.of(mutant)
    except Exception as error:
        return finding(mutant, COULD_NOT_RUN, reason=str(error) or type(error).__name__)
