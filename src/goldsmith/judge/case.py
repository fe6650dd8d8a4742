"""Judge one case: compare what a submission recorded with gold, in float64 where it ran so, and in its own dtype."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from goldsmith.comparison.api import compare
from goldsmith.comparison.leaves import NotComparable
from goldsmith.comparison.results import Comparison
from goldsmith.gold.arrays import is_number, numbers_of
from goldsmith.gold.facts import ALLOWED_NOISE, is_allowed
from goldsmith.gold.precision import computed_dtype, is_float64
from goldsmith.gold.row_sets import in_order_of
from goldsmith.gold.tolerances import BLIND
from goldsmith.judge.bounds import TooMuchToJudge, spend
from goldsmith.judge.choices import Spared, changes, excuse_victims, judge_and_spare, judge_choices, spare_followers
from goldsmith.judge.criteria import Criteria, MayBeMissing, are_the_same, same_bits
from goldsmith.judge.decision import (
    BY_PRECISION,
    cancellation,
    choice_notes,
    decide,
    inconclusive,
    is_rounding,
    moved_by_rounding,
    shown_path,
    undecided,
    unjudged_reason,
)
from goldsmith.judge.follows_dtype import is_nudged, nudges, rounds_inside
from goldsmith.judge.reduced_precision import coarser_dtype, is_unseen
from goldsmith.judge.verdicts import AGREES, COULD_NOT_RUN, CUT_OFF, DIFFERS, ERROR, CaseVerdict
from goldsmith.judge.weight_caveat import with_caveat
from goldsmith.runs.run import CaseRuns, Failure
from goldsmith.runs.setting import Setting

if TYPE_CHECKING:
    from goldsmith.gold.load import GoldCase
    from goldsmith.gold.rulers import Ruler
    from goldsmith.gold.tolerances import Tolerance
    from goldsmith.weights.rules import Adapter

SECOND_RUNS = ("traced", "repeat")


@dataclass(frozen=True)
class Judge:
    """The gold of one assignment's cases, and the rules by which their runs are judged."""

    golds: Mapping[str, GoldCase]
    adapter: Adapter
    overwriting_differs: bool = False
    ruler: Ruler | None = None
    _criteria: dict[str, Criteria] = field(default_factory=dict)

    def criteria(self, case: str) -> Criteria:
        """Return what a case is judged by; made once for each case."""
        if case not in self._criteria:
            gold = self.golds[case]
            self._criteria[case] = Criteria(gold, self._may_be_missing(gold), self.overwriting_differs, self.ruler)
        return self._criteria[case]

    def verdict(self, name: str, runs: CaseRuns, *, guessing: bool = True) -> CaseVerdict:
        """Judge one case by all of its `runs`; with `guessing`, also guess at what went wrong. If goldsmith itself
        fails, that is the verdict on this case alone."""
        gold = self.golds[name]
        verdict = CaseVerdict(name=name, title=gold.entry.title, outcome=ERROR, kind="error")
        if unknown := self.criteria(name).why_unjudged(()):
            return inconclusive(verdict, unknown)
        for _ in range(2):  # a retry helps where the failure was by chance, such as lack of memory
            try:
                spend()
                return judge_case(self.criteria(name), runs, guessing=guessing)
            except TooMuchToJudge as error:
                why = f"what it returned takes too much to be judged: {error}"
                return msgspec.structs.replace(verdict, outcome=COULD_NOT_RUN, reason=why, kind="timeout")
            except NotComparable as error:
                why = f"what it returned cannot be compared: {error}"
                return msgspec.structs.replace(verdict, outcome=COULD_NOT_RUN, reason=why, kind="raised")
            except Exception as error:
                verdict = msgspec.structs.replace(verdict, reason=f"goldsmith could not judge this: {error!r}")
        return verdict

    def blind_records(self, verdict: CaseVerdict) -> list[str]:
        """List what agrees in a case only because rounding moves gold itself as far, but for what the recipe allows to
        be noise. It is known once all runs of the case are judged: in float64, tolerances are smaller."""
        if verdict.outcome != AGREES:
            return []
        met = self._met(verdict)
        in_float64 = {leaf.path for leaf in verdict.leaves} if verdict.judged_in == "float64" else set()
        sharp = {path: item for path, item in met.sharp_tolerances.items() if path in in_float64}
        tolerances = {**met.tolerances, **sharp}
        allowed = met.gold.entry.allowed
        blind = [path for path in undecided(tolerances, verdict.natural) if path not in met.limits]
        blind += [leaf.path for leaf in verdict.natural if leaf.path in met.unjudged and leaf.path not in in_float64]
        return [path for path in blind if not is_allowed(allowed, path, ALLOWED_NOISE)]

    def without_blind_records(self, verdict: CaseVerdict) -> CaseVerdict:
        """Return a verdict that does not rest on blind records. Where nothing else was recorded, nothing can be
        said."""
        blind = self.blind_records(verdict)
        if not blind:
            return verdict
        name, why = shown_path(blind[0]), self._met(verdict).unjudged.get(blind[0])
        if why is not None:
            assert self.ruler is not None
            said = f"{name} is not judged in {self.ruler.setting.name}: {why}"
            if len(blind) < len(verdict.natural):
                return msgspec.structs.replace(verdict, notes=(*verdict.notes, said))
            return inconclusive(verdict, f"{said}; judge it in a finer dtype, or record other values")
        if len(blind) < len(verdict.natural):
            return msgspec.structs.replace(
                verdict, notes=(*verdict.notes, f"{name} was not judged: {moved_by_rounding('it')}")
            )
        own = next(leaf.gold_dtype for leaf in verdict.natural if leaf.path == blind[0])  # which its noise is in
        found = cancellation(blind[0], self._met(verdict).tolerances[blind[0]], own)
        return inconclusive(verdict, f"{name} is all that was recorded, and {moved_by_rounding('it', found)}", found)

    def _met(self, verdict: CaseVerdict) -> Criteria:
        """Return what an accepted answer was judged by: gold, or the variant that it met."""
        criteria = self.criteria(verdict.name)
        return criteria.variants.get(verdict.met, criteria)

    def layouts_of(self, case: str) -> list[str]:
        """List the adapter's layouts that make a difference to a case."""
        return self.adapter.layouts_of(self.weight_names(case))

    def weight_names(self, case: str) -> frozenset[str]:
        """Return the names of all weights of all models of a case."""
        return frozenset(name for weights in self.golds[case].initial_weights.values() for name in weights)

    def _may_be_missing(self, gold: GoldCase) -> MayBeMissing:
        """Say which weights another implementation need not have: computed buffers that are still as they were built,
        weights tied to another, and those that the course's adapter excuses."""
        facts = gold.entry.weights
        tied = {name for item in facts.values() for names in item.tied for name in names[1:]}
        built = {
            name: weights.get(name)
            for model, weights in gold.initial_weights.items()
            for name in (facts[model].buffers if model in facts else ())
        }
        return lambda name, value: (
            name in tied or self.adapter.excuses(name) or (name in built and same_bits(built[name], value))
        )


def judge_case(criteria: Criteria, replayed: CaseRuns, *, guessing: bool = True) -> CaseVerdict:
    """Judge one case, before anything is known about its modules; with `guessing`, also guess at what went wrong."""
    gold = criteria.gold
    verdict = CaseVerdict(name=gold.name, title=gold.entry.title, outcome=AGREES)
    if criteria.dtype:  # its trace is in gold's own dtype, in which it need not run
        replayed = CaseRuns({run: it for run, it in replayed.runs.items() if run != "traced" or not it.failure})
    first = replayed.first
    failed = next((item.failure for run, item in replayed.runs.items() if item.failure and not _is_aside(run)), None)
    late = failed is not None and first.failure is None
    if failed is not None and not (late and only_raised_in_float64(replayed)):
        when = " the second time" if late else ""
        return msgspec.structs.replace(
            verdict, outcome=COULD_NOT_RUN, failure=failed, reason=f"{failed.message}{when}", kind=failed.kind
        )
    variants = criteria.variants
    judged = [_judge(verdict, name, item, replayed, guessing) for name, item in variants.items()]
    best = min(judged, key=lambda item: (item.outcome != AGREES, _distance(item)))
    best = _with_side_effects(best, variants[best.met], replayed)
    return with_caveat(best, gold, criteria.expected, replayed.values("plain"))


def is_settled(verdict: CaseVerdict) -> bool:
    """Return whether a run in float64 could no longer change the verdict: the case could not run, is identical to gold,
    or is off by more than rounding ever is."""
    if verdict.outcome in (COULD_NOT_RUN, ERROR) or verdict.kind in ("second-run", "uninitialised", "overwrites"):
        return True
    if verdict.outcome == AGREES:
        return bool(verdict.natural) and all(leaf.identical for leaf in verdict.natural)
    return not is_rounding(verdict.natural)


def is_close(verdict: CaseVerdict) -> bool:
    """Return whether a case is right, or off by no more than rounding can explain."""
    return verdict.outcome == AGREES or (verdict.outcome == DIFFERS and not is_settled(verdict))


def only_raised_in_float64(replayed: CaseRuns) -> bool:
    """Return whether only the run in float64 raised: much code is written for one dtype, and is then judged in that
    dtype, with a note. A process that died does not count."""
    fine = all(item.failure is None for run, item in replayed.runs.items() if run != "float64" and not _is_aside(run))
    failure = replayed.runs["float64"].failure if "float64" in replayed.runs else None
    return fine and failure is not None and failure.kind not in CUT_OFF


def _is_aside(run: str) -> bool:
    """Return whether a run only tells more about others: that it fails says nothing."""
    return run == "dtypes" or is_nudged(run)


def _judge(verdict: CaseVerdict, met: str, criteria: Criteria, replayed: CaseRuns, guessing: bool) -> CaseVerdict:
    gold, expected = criteria.gold, dict(criteria.expected)
    actual, notes = _select_leaves(replayed.values("plain"), expected)
    nothing = [path for path in expected if path in actual and actual[path] is None and path.count(".") <= 1]
    if any(expected[path] is not None for path in nothing):
        text = f"{shown_path(nothing[0])} is None; is a `return` missing?"
        failure = Failure(kind="none", message=text)
        return msgspec.structs.replace(verdict, outcome=COULD_NOT_RUN, reason=text, kind="none", failure=failure)
    missing = [path for path in expected if path not in actual]
    left_out = [path for path in missing if path in criteria.optional]
    for path in left_out:
        del expected[path]
    if left_out:
        notes.append(f"not compared, for it has none: {_first_few(left_out)}")
    first = replayed.first
    ordered = in_order_of(expected, actual, gold.entry.unordered or ())
    ordered, excused = excuse_victims(ordered, expected, gold.entry.choices or ())
    notes += [f"{shown_path(path)} is not judged where it follows another choice than gold's" for path in excused]
    natural = criteria.compare_once(
        "plain",
        [first],
        guessing,
        lambda: criteria.compare_plain(ordered, expected, guessing, first.facts.created),
    )
    choices = gold.entry.choices or ()
    own_dtype = criteria.own_dtype(natural)
    wide, why_not = _in_float64(criteria, replayed, expected, guessing, own_dtype)
    spared = judge_and_spare(
        natural,
        (ordered, expected, choices, gold.choice_arrays, criteria.rounded_to),
        lambda found: criteria.compare_plain(found, expected, guessing, first.facts.created),
        whole=wide.seen if wide is not None else (),
        rowless=criteria.weight_like,
    )
    natural, chosen = spared.comparison, spared.chosen
    notes += choice_notes(chosen, natural, choices) + spared.notes
    notes += [
        f"{shown_path(leaf.path)} is {leaf.actual_dtype}, gold's is {leaf.gold_dtype}: no difference between numbers"
        for leaf in natural.leaves
        if leaf.agrees and {leaf.actual_dtype, leaf.gold_dtype} == {"float32", "float64"}
    ]
    verdict = msgspec.structs.replace(
        verdict,
        met=met,
        natural=natural.leaves,
        leaves=natural.leaves,
        judged_in=own_dtype,
        notes=tuple(notes),
        chosen=chosen,
    )
    setting = criteria.ruler.setting if criteria.ruler else Setting()
    inside = coarser_dtype(gold, replayed, setting)
    if wide is None:
        verdict = msgspec.structs.replace(
            verdict,
            notes=(*verdict.notes, why_not) if why_not else verdict.notes,
            own_dtype_only=bool(gold.reference and why_not),
        )
    may_round = not is_unseen(replayed)
    if criteria.is_ruled:
        may_round = may_round and all(leaf.relative <= BLIND for leaf in natural.differing)
    decided = decide(verdict, natural, wide.comparison if wide is not None else None, inside, may_round=may_round)
    doubt = unjudged_reason(chosen) or spared.doubt(wide)
    decided = criteria.with_ratio(decided)
    return inconclusive(decided, doubt) if doubt and decided.outcome == AGREES else decided


def _distance(verdict: CaseVerdict) -> float:
    return max((leaf.excess for leaf in verdict.leaves), default=0.0)


def _in_float64(
    criteria: Criteria, replayed: CaseRuns, expected: Mapping[str, Any], guessing: bool, dtype: str
) -> tuple[Spared | None, str]:
    """Compare with gold's float64 reference, or say why there is no comparison. Its own is `dtype`."""
    gold = criteria.gold
    run = replayed.runs.get("float64")
    if not gold.reference or run is None:
        rounded = any(item.dtype in BY_PRECISION[:4] for item in gold.entry.tensors if item.path in expected)
        return None, "" if gold.reference or not rounded else "gold keeps no float64 reference"
    if run.failure is not None:
        return None, f"it does not run in float64 ({run.failure.message.splitlines()[0][:80]})"
    if not run.facts.pure:
        return None, "it computes in a smaller dtype inside a run in float64"
    wanted = {path: gold.reference[path] for path in criteria.float64_paths if path in expected}
    if not wanted:
        return None, ""
    selected, _ = _select_leaves(replayed.values("float64"), wanted)
    beside = {**expected, **wanted}
    selected = in_order_of(beside, selected, gold.entry.unordered or ())
    selected, _ = excuse_victims(selected, beside, gold.entry.choices or ())
    actual = {path: numbers_of(selected[path]) for path in wanted if is_number(selected.get(path))}
    for path in (path for path in actual if is_float64(wanted[path]) and not is_float64(actual[path])):
        inside = computed_dtype(actual[path], "float64")
        return None, f"{shown_path(path)} is rounded to {inside} in a run in float64, too"
    limits = {path: criteria.sharp_tolerances[path] for path in wanted}
    inner = _rounded_inside(criteria, replayed, actual, wanted, limits, dtype)
    if inner:
        return None, f"it rounds to {inner} inside, whatever it is given"

    def compared(found: Mapping[str, Any]) -> Comparison:
        return compare(found, wanted, tolerances=limits, noisy=gold.noisy, equal_nan=list(wanted), guessing=guessing)

    comparison = criteria.compare_once("float64", [replayed.first, run], guessing, lambda: compared(actual))
    changed = changes(run.values, beside, gold.entry.choices or (), gold.choice_arrays, exact=wanted)
    return spare_followers(Spared(comparison), changed, actual, wanted, compared, rowless=criteria.weight_like), ""


def _rounded_inside(
    criteria: Criteria,
    replayed: CaseRuns,
    actual: Mapping[str, Any],
    wanted: Mapping[str, Any],
    limits: Mapping[str, Tolerance],
    dtype: str,
) -> str:
    """Return what it rounds to inside, if it was run to find that out and nothing else is off in float64."""
    for inner in criteria.inner_dtypes(dtype):
        moved = [replayed.runs.get(item.name) for item in nudges(inner)]
        if any(run is None or run.failure is not None for run in moved):
            continue
        fine, coarse = (_select_leaves(run.values, wanted)[0] for run in moved if run is not None)
        own, noisy, ruled = criteria.expected, criteria.gold.noisy, criteria.limits
        if rounds_inside(dtype, inner, (actual, fine, coarse), wanted, limits, own, noisy, ruled):
            return inner
    return ""


def _select_leaves(actual: Mapping[str, Any], expected: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Take the first of several items where gold has only one: extra return values are not a mistake."""
    found, notes = dict(actual), []
    inside: dict[str, list[str]] = {}
    for other in actual:
        for end in (place for place, letter in enumerate(other) if letter == "."):
            if other[:end] in expected and other[:end] not in actual:
                inside.setdefault(other[:end], []).append(other)
    for path in (path for path in expected if path in inside):
        below = inside[path]
        head = below[0]
        if any(other in expected for other in below) or "." in head.removeprefix(f"{path}."):
            continue
        found[path] = found[head]
        for other in below:
            del found[other]
        notes.append(f"{shown_path(path)} came as {len(below)} items; the first was judged")
    return found, notes


def _with_side_effects(verdict: CaseVerdict, criteria: Criteria, replayed: CaseRuns) -> CaseVerdict:
    """Add what else was seen: a different answer the second time, uninitialised memory, inputs overwritten."""
    plain = replayed.first
    notes = list(dict.fromkeys([*verdict.notes, *replayed.notes]))
    outcome, reason, kind = verdict.outcome, verdict.reason, verdict.kind
    first, _ = _select_leaves(replayed.values("plain"), criteria.expected)
    traced_alike = not criteria.dtype  # a trace is in gold's own dtype
    for run in (run for run in SECOND_RUNS if run in replayed.runs and (traced_alike or run != "traced")):
        second, _ = _select_leaves(replayed.values(run), criteria.expected)
        if are_the_same(first, second):
            continue
        second = in_order_of(first, second, criteria.gold.entry.unordered or ())
        again = criteria.compare_again(second, first)
        choices, arrays = criteria.gold.entry.choices or (), criteria.gold.choice_arrays
        again, _ = judge_choices(again, second, criteria.expected, choices, arrays, criteria.rounded_to)
        if not all(leaf.identical for leaf in again.leaves):
            notes.append("not the same to the last bit when it runs again")
        if not again.agrees:
            worst = again.worst
            name = shown_path(worst.path) if worst else ""
            outcome, kind = DIFFERS, "second-run"
            reason = f"{name} came out differently the second time"
            if worst is not None and worst.nan_gold > worst.nan_actual:
                reason, kind = f"{name} holds memory that nothing was written to", "uninitialised"
    own = frozenset(criteria.gold.entry.overwrites)
    inputs = criteria.gold.entry.inputs
    overwritten = [
        path
        for path in plain.facts.overwrote
        if path not in own and any(f"{path}.".startswith(f"{name}.") for name in inputs)
    ]
    if overwritten:
        text = f"overwrites its input {_first_few(overwritten)}"
        notes.append(text)
        if criteria.overwriting_differs and outcome == AGREES:
            outcome, reason, kind = DIFFERS, text, "overwrites"
    close = verdict.close and kind == verdict.kind
    return msgspec.structs.replace(verdict, outcome=outcome, reason=reason, kind=kind, close=close, notes=tuple(notes))


def _first_few(names: Sequence[str]) -> str:
    return f"{', '.join(names[:3])}{' …' if len(names) > 3 else ''}"
