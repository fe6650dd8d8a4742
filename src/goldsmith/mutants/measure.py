"""`measure`: run every mutant, several at once, and reuse cached findings."""

from __future__ import annotations

import contextlib
import difflib
import time
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from goldsmith.check.request import open_gold
from goldsmith.engines.engine import Engine, Local, OneByOne, Sessions
from goldsmith.errors.injection import IsInjected
from goldsmith.errors.mutants import NoSuchMutant, NothingToMutate
from goldsmith.foundation.shares import Share, expected_seconds, share_out
from goldsmith.foundation.wording import count_of
from goldsmith.gold.load import Gold
from goldsmith.mutants.baselines import FindTests, customary_case
from goldsmith.mutants.cache import finding_cache
from goldsmith.mutants.load_operators import operators_of
from goldsmith.mutants.mutants import Mutant, left_alone, make_mutants
from goldsmith.mutants.record import VERSION, Piece, RigorRecord
from goldsmith.mutants.results import Finding, Rigor
from goldsmith.mutants.right_answers import OPERATOR, right_answers
from goldsmith.mutants.trials import Trials
from goldsmith.process.progress import Progress
from goldsmith.runs.setting import PLAIN_SETTING, Setting
from goldsmith.targets.target import Submission, Target


@dataclass(frozen=True)
class RigorOptions:
    """The options of a measurement.

    `names` are mutants, parts or operators, all where there are none; at most `most` mutants are run, spread evenly,
    `jobs` at once in threads, unless there is an `engine`. Without `keep`, no cached finding is used. Up to `variants`
    right variants of the solution are tried, unless mutants were selected by name. In a `setting` other than gold's
    own, mutants are judged by its ruler alone, as code is that runs nowhere else. Only those of one `share` are run, if
    there is one; shares are even by how many `seconds` mutants took before, by their digests, where that is known.
    """

    names: Sequence[str] = ()
    most: int | None = None
    jobs: int = 1
    engine: Engine | None = None
    keep: bool = True
    find_tests: FindTests | None = None
    variants: int = 12
    allow_stale: bool = False
    setting: Setting = PLAIN_SETTING
    progress: Progress = field(default_factory=Progress)
    share: Share | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def told(self) -> dict[str, str]:
        """Return what of this decides which mutants are tried, and how."""
        return {
            "--only": ", ".join(self.names),
            "--max": str(self.most or ""),
            "--variants": str(self.variants),
            "--ruler": self.setting.name,
            "baselines": "yes" if self.baselines else "no",
        }

    @property
    def baselines(self) -> bool:
        """Say whether internal tests and plain tolerances are tried, too."""
        return self.find_tests is not None


def mutants_for(target: Target, names: Sequence[str] = ()) -> list[Mutant]:
    """Return the mutants of an assignment, or those of them that `names` selects."""
    if target.injected_since:
        raise IsInjected(target.name, target.injected_since)
    found = make_mutants(target, target.placed, operators_of(target))
    if not found:
        raise NothingToMutate(target.name)
    return _select(found, names)


def with_any_mutant(assignments: Sequence[Target], names: Sequence[str]) -> Sequence[Target]:
    """Return the assignments that have any of these mutants; of a single one, let `measure` say what it lacks."""
    if not names or len(assignments) == 1:
        return assignments
    found = []
    for target in assignments:
        with contextlib.suppress(NoSuchMutant):
            mutants_for(target, names)
            found.append(target)
    return found or assignments[:1]


def measure(target: Target, wanted: RigorOptions) -> Rigor:
    """Measure how many mutants the gold of `assignment` catches."""
    return measured(target, wanted).conclusion()


def measured(target: Target, wanted: RigorOptions) -> RigorRecord:
    """Try the mutants of an assignment, or those of one share; return what became of them."""
    started = time.monotonic()
    target = replace(target, device=wanted.setting.device)
    mutants = mutants_for(target)
    gold = open_gold(target, Submission("the solution"), allow_stale=wanted.allow_stale)
    chosen = _spread(_select(mutants, wanted.names), wanted.most)
    placed = target.placed
    count = wanted.variants if wanted.most is None else min(wanted.variants, wanted.most)
    variants = [] if wanted.names else right_answers(target, placed, count)
    cache = finding_cache(target, gold, wanted.setting)
    pieces = _shared_out([*chosen, *variants], wanted)
    number = 0 if wanted.share is None else wanted.share.number
    own = [item for item, piece in zip((*chosen, *variants), pieces, strict=True) if piece.share == number]
    found = {item.name: cache.get(item) for item in own} if wanted.keep else {}
    findings = {name: item for name, item in found.items() if item is not None}
    pending = [
        item for item in own if not _is_known(findings.get(item.name), wanted.baselines and item.operator != OPERATOR)
    ]
    kept = len(own) - len(pending)
    total = count_of(len(pending), "mutant")
    if kept:
        known = f"{target.name}: {count_of(kept, 'mutant')} known from before, {len(pending)} to be tried."
        wanted.progress.note(known)
    wanted.progress.step(f"{total} to try; the solution itself first")
    counts: Counter[str] = Counter()
    if pending:
        with contextlib.closing(_try_all(target, gold, wanted, pending, findings)) as tried:
            for mutant, item in tried:
                cache.put(mutant, item)
                findings[mutant.name] = item
                counts[item.outcome] += 1
                some = ", ".join(f"{count} {outcome.replace('-', ' ')}" for outcome, count in counts.items())
                wanted.progress.step(f"{counts.total()} of {total}: {some}")
    cache.evict()
    return RigorRecord(
        assignment=target.name,
        goldsmith=VERSION,
        base=cache.base,
        cases=dict(cache.cases),
        tests=cache.tests,
        options=wanted.told,
        made=tuple(item.name for item in mutants),
        survivors=dict(target.survivors),
        unreadable=tuple(left_alone(target, placed)),
        customary=customary_case(list(gold)),
        pieces=tuple(msgspec.structs.replace(item, finding=findings.get(item.name)) for item in pieces),
        kept=kept,
        seconds=time.monotonic() - started,
        share=wanted.share,
    )


def _shared_out(mutants: Sequence[Mutant], wanted: RigorOptions) -> list[Piece]:
    """Return all mutants and variants, each with its share. By their content, since a name may stand for another."""
    shares: Sequence[int] = [0] * len(mutants)
    if wanted.share is not None:
        work = expected_seconds([item.digest for item in mutants], wanted.seconds)
        shares = share_out(work, wanted.share.of)
    return [
        Piece(name=item.name, digest=item.digest, is_variant=item.operator == OPERATOR, share=share)
        for item, share in zip(mutants, shares, strict=True)
    ]


def _is_known(found: Finding | None, baselines: bool) -> bool:
    return found is not None and not (baselines and None in (found.beside.plain, found.beside.tests))


def _select(mutants: list[Mutant], names: Sequence[str]) -> list[Mutant]:
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


def _try_all(
    target: Target, gold: Gold, wanted: RigorOptions, mutants: Sequence[Mutant], known: Mapping[str, Finding]
) -> Generator[tuple[Mutant, Finding]]:
    """Yield every mutant's finding as it comes; retry alone those that were cut off: on a busy machine that need not
    mean a crash."""
    engine = wanted.engine or Local(wanted.jobs)
    trials = Trials(target, gold, wanted.setting, wanted.find_tests, wanted.baselines, known, wanted.progress.tick)
    alone: list[Mutant] = []
    with engine.session() if isinstance(engine, Sessions) else trials.opened():
        with contextlib.closing(engine.run(trials, mutants)) as first:
            for mutant, found in first:
                if found.cut_off:
                    alone.append(mutant)
                else:
                    yield mutant, found
        one_by_one = engine.one_by_one() if isinstance(engine, OneByOne) else engine
        yield from one_by_one.run(replace(trials, known={}), alone)
