"""Decide a case by what was compared in its own dtype and in float64: of gold, of two models, of a test's values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from goldsmith.comparison.results import Comparison, LeafComparison
from goldsmith.foundation.wording import count_of
from goldsmith.gold.choices import Choice
from goldsmith.gold.precision import last_place
from goldsmith.gold.tolerances import BLIND, NOISY_SAFETY, SAFETY, Tolerance, blind_paths
from goldsmith.judge.policy import FINEST, NEAR, ROUNDING, SHARPER
from goldsmith.judge.reduced_precision import eps_of, explains
from goldsmith.judge.verdicts import AGREES, DIFFERS, INCONCLUSIVE, Cancellation, CaseVerdict, ChoiceVerdict

_HALF = ("bfloat16", "float16", "complex32")
OTHER_INPUTS = "record what it is made from, too, or choose inputs at which rounding moves it less"
FINER = f"judge it in a finer dtype, {OTHER_INPUTS}"
GIVE_TOLERANCE = "give other inputs, or a tolerance of your own"


def decide(
    verdict: CaseVerdict, natural: Comparison, wide: Comparison | None, inside: str = "", *, may_round: bool = True
) -> CaseVerdict:
    """Decide by the comparisons in a case's own dtype and in float64, if there is one. What is right in float64 may be
    off by rounding in its own dtype, if it `may_round`, unless it computes in the coarser dtype `inside`."""
    if wide is None:
        return _with_doubt(_conclude(verdict, natural.agrees, natural, inside), natural)
    unsaid = {leaf.path for leaf in natural.differing} - {leaf.path for leaf in wide.leaves}
    rounds = wide.agrees and not natural.agrees and not unsaid and is_rounding(natural.leaves)
    if rounds and not inside and may_round:
        note = "right in float64; rounding takes it a little past its tolerance in its own dtype"
        return msgspec.structs.replace(
            verdict, outcome=AGREES, judged_in="float64", leaves=wide.leaves, notes=(*verdict.notes, note)
        )
    if natural.agrees:
        verdict = msgspec.structs.replace(verdict, leaves=wide.leaves, judged_in="float64")
        return _conclude(verdict, wide.agrees, wide, inside if wide.agrees else "")
    found = _conclude(verdict, False, natural, inside)
    return _with_doubt(found, natural) if unsaid and wide.agrees else found


def _with_doubt(verdict: CaseVerdict, natural: Comparison) -> CaseVerdict:
    """Mark a case as close that is off by little, where no run in float64 says anything about what is off."""
    near = [
        leaf.problem == "values" and leaf.excess <= NEAR and leaf.tolerance != "pinned" for leaf in natural.differing
    ]
    return msgspec.structs.replace(verdict, close=verdict.kind == "values" and bool(near) and all(near))


def _conclude(verdict: CaseVerdict, agrees: bool, comparison: Comparison, inside: str) -> CaseVerdict:
    """Fill in the outcome and reason. `inside` is the dtype, coarser than the case's own, that was computed in."""
    if agrees:
        note = f"computed in {inside} inside, and within its tolerance all the same"
        return msgspec.structs.replace(verdict, notes=(*verdict.notes, note)) if inside else verdict
    worst = comparison.worst
    reason = f"{shown_path(worst.path)} differs" if worst else "nothing was recorded"
    if inside and explains(inside, verdict.natural):
        return msgspec.structs.replace(
            verdict, outcome=DIFFERS, reason=f"{reason}: computed in {inside} inside", kind="precision"
        )
    return msgspec.structs.replace(verdict, outcome=DIFFERS, reason=reason, kind="values")


def undecided(tolerances: Mapping[str, Tolerance], leaves: Sequence[LeafComparison]) -> list[str]:
    """List what agrees only because its tolerance is as large as itself. What is the same to the last bit says
    something, whatever its tolerance."""
    return blind_paths(tolerances, {leaf.path: leaf.elements for leaf in leaves if not leaf.identical})


def cancellation(path: str, tolerance: Tolerance, dtype: str, remedy: str = "") -> Cancellation:
    """Measure it of a tensor that was judged in `dtype`. Noise over the unit of rounding is how far rounding is
    amplified, which is about the size of the terms over the size of what is left of them."""
    moved = _noise(tolerance)
    return Cancellation(
        tensor=path,
        dtype=dtype,
        moved=moved,
        amplified=moved / eps_of(dtype),
        remedy=remedy or (FINER if dtype in _HALF else OTHER_INPUTS),
    )


def moved_by_rounding(name: str, found: Cancellation | None = None) -> str:
    """Say why nothing can be judged by a value."""
    said = f"rounding alone moves {name} by more than {BLIND:.0%} of its size"
    if found is None or found.amplified <= 1:
        return said
    return f"{said}: {found.amplified:,.1g} times one rounding to {found.dtype}, as where terms so much larger cancel"


def _noise(tolerance: Tolerance) -> float:
    """Return the largest noise that was seen, over the tensor's size, of all its elements or of those that are
    noise."""
    seen = tolerance.noise.l2 if tolerance.noise is not None else (tolerance.l2 or 0.0) / SAFETY
    noisy = tolerance.noisy_limit / NOISY_SAFETY / tolerance.scale if tolerance.noisy and tolerance.scale else 0.0
    return max(seen, noisy)


def inconclusive(verdict: CaseVerdict, why: str, cancels: Cancellation | None = None) -> CaseVerdict:
    """Return the verdict that nothing can be said."""
    return msgspec.structs.replace(verdict, outcome=INCONCLUSIVE, kind=INCONCLUSIVE, reason=why, cancels=cancels)


def sharper(tolerance: Tolerance, dtype: str = "") -> Tolerance:
    """Tighten a tolerance for float64: the more, the coarser the dtype is that it was measured in. Pinned ones stay: a
    person decided them."""
    if tolerance.kind == "pinned" or tolerance.l2 is None or tolerance.max is None:
        return tolerance
    eps, single = last_place(dtype), last_place("float32")
    share = SHARPER * min(1.0, single / eps) if eps and single else SHARPER

    def limit(value: float) -> float:
        return min(max(value * share, FINEST), value)

    return msgspec.structs.replace(
        tolerance,
        l2=limit(tolerance.l2),
        max=limit(tolerance.max),
        noisy_limit=min(max(tolerance.noisy_limit * share, tolerance.scale * FINEST), tolerance.noisy_limit),
    )


def is_rounding(natural: Sequence[LeafComparison]) -> bool:
    return all(leaf.agrees or (leaf.problem == "values" and leaf.excess <= ROUNDING) for leaf in natural)


_PRECISIONS = {"float (Python)": "float64", "complex (Python)": "complex128"}
BY_PRECISION = ("bfloat16", "float16", "float32", "complex64", "float64", "complex128")


def coarsest_dtype(comparison: Comparison) -> str:
    """Return the smallest floating dtype among the leaves: the one whose rounding decides."""
    kinds = {_PRECISIONS.get(leaf.gold_dtype, leaf.gold_dtype) for leaf in comparison.leaves}
    return next((kind for kind in BY_PRECISION if kind in kinds), "exact")


def is_off_in_float64(verdict: CaseVerdict) -> bool:
    """Return whether a case differs in float64 alone, and agrees in its own dtype."""
    natural = bool(verdict.natural) and all(leaf.agrees for leaf in verdict.natural)
    return verdict.outcome == DIFFERS and verdict.kind == "values" and natural and verdict.judged_in == "float64"


def natural_dtype(verdict: CaseVerdict) -> str:
    """Return the smallest floating dtype in which a case was compared in its own."""
    return coarsest_dtype(Comparison(verdict.natural))


def choice_notes(
    verdicts: Sequence[ChoiceVerdict], comparison: Comparison, choices: Sequence[Choice], whose: str = "gold's"
) -> list[str]:
    """Say which choices are others than gold's and as right, and what was held to gold's exactly although it may have
    been chosen."""
    known = {choice.path: choice for choice in choices}
    ties = [
        f"{count_of(item.ties, 'choice')} in {shown_path(item.path)} {'is' if item.ties == 1 else 'are'} not {whose} "
        "and as right: rounding moves the scores there by more than they differ "
        f"({item.close} of {item.positions} are so near)"
        for item in verdicts
        if item.ties and not item.wrong
    ]
    rules = [
        f'case.choice with ties="{known[item.path].ties}" for {shown_path(item.path)} says that this one of equal '
        "scores is meant, and without it that any is"
        for item in verdicts
        if item.unjudged and whose == "gold's" and known[item.path].found and known[item.path].ties
    ]
    tell = "; case.choice tells them, and case.continues how it goes on after a tie" if whose == "gold's" else ""
    return [*ties, *rules] + [
        f"{shown_path(leaf.path)} is compared exactly: no scores are known that it was chosen by{tell}"
        for leaf in comparison.differing
        if leaf.problem == "values" and leaf.elements > 1 and "int" in leaf.gold_dtype and leaf.path not in known
    ]


def unjudged_reason(verdicts: Sequence[ChoiceVerdict]) -> str:
    """Say of which choices nothing can be said; empty if something can be said of each."""
    return next(
        (
            f"{item.unjudged} of {item.positions} choices in {shown_path(item.path)} are not judged: {item.why}"
            for item in verdicts
            if item.unjudged and not item.wrong
        ),
        "",
    )


_NAMED_SECTIONS = ("gradients", "input_gradients", "weights", "loss")
"""Sections of what two models are compared by, which are part of a value's name."""


_SECTIONS = {"output": "the output", "model_state_dict": "the checkpoint"}


def shown_path(path: str) -> str:
    """Return a path as the author knows it, without `output.`; what has no name of its own is an item of what has one:
    `item 24 of long`."""
    section, _, rest = path.partition(".")
    name = path if rest.partition(".")[0].isdecimal() or section in _NAMED_SECTIONS else rest or section
    items = ""
    while "." in name and name.rpartition(".")[2].isdecimal():
        name, _, number = name.rpartition(".")
        items += f"item {number} of "
    return items + _SECTIONS.get(name, name)
