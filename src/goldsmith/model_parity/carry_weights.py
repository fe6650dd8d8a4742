"""Carry the reference's weights into the candidate, in the arrangement by which the two agree if there is one.

If none does, the candidate is wrong, or the arrangement is: the one by which most modules agree is taken, and the
report says that it is a guess, what speaks for it, and what else it could be.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from goldsmith.errors.parity import IdleRule
from goldsmith.judge.policy import AGREEING
from goldsmith.model_parity.both_sides import BothSides
from goldsmith.model_parity.guess_score import NOT_COUNTED, ModuleScores, Score
from goldsmith.model_parity.own_weights import load_what_fits, pair_own_weights
from goldsmith.model_parity.result import LIKELY, PROVEN, UNSURE, WeightGuessReport
from goldsmith.model_parity.weight_words import listed_sizes
from goldsmith.runs.implementation import KERNEL, LINEAR, TABLE, Described, IdleLine, Loaded, LoadRequest
from goldsmith.weights.axes import fits_between
from goldsmith.weights.guesses import WeightGuess, guess_places, missing_lines
from goldsmith.weights.placement import size_words
from goldsmith.weights.rules import fill, match
from goldsmith.weights.unit_pairs import CALLS, NAMES, ORDER, SHAPES, UnitPair
from goldsmith.weights.units import names_to_place

_SCORED = 5
"""Arrangements whose modules are counted."""
_OTHERS = 3


class CannotCarry(Exception):
    """Weights that have no place; the message names both sides'."""

    def __init__(self, loaded: Loaded, described: tuple[Described, Described]) -> None:
        self.loaded = loaded
        super().__init__(unplaced_words(loaded.unplaced, loaded.free, loaded.reasons, described))


class CannotConvertWeights(Exception):
    """The function that was to convert the weights fails, or returns others than are needed."""


@dataclass(frozen=True)
class Carried:
    """The weights that are in the candidate now. `missing` are the reference's that have no place, with shapes;
    `guess` says by which guess the others were placed, if by any, and `lines` are what an adapter would say."""

    loaded: Loaded
    missing: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    guess: WeightGuessReport | None = None
    lines: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Arrangement:
    """Weights as they were put in once: what was asked for, what came of it, how far the outputs were off then."""

    request: LoadRequest
    loaded: Loaded
    far: float
    guess: WeightGuess | None = None
    missing: tuple[str, ...] = ()
    by_names: bool = False
    confirmed: bool = False
    """Whether names say the same as shapes do."""
    score: Score = NOT_COUNTED

    def is_same(self, other: _Arrangement) -> bool:
        return set(self.loaded.placed) == set(other.loaded.placed) and self.far == other.far

    @property
    def is_against_names(self) -> bool:
        return self.guess is not None and bool(self.guess.against)

    @property
    def rank(self) -> tuple[bool, int, bool, bool, int, float]:
        """Return what decides between two: the more modules are right the better, unless names speak against it."""
        kept = not self.is_against_names
        return kept, self.score.right, not self.missing, self.by_names, self.score.in_place, -self.far


def carry_weights(both: BothSides, *, keep: bool) -> Carried:
    """Load the weights. Where the candidate then returns something else, try other arrangements: rows of fused matrices
    in another order, matrices the other way round, and guesses by names and by the order of calls."""
    mine, theirs = both.described
    weights = both.reference.weights()
    plain = LoadRequest(facts=mine.facts, keep=keep)
    first = both.candidate.load(weights, plain)
    if first.refusal:
        raise CannotConvertWeights(first.refusal)
    require_used(first.idle, mine.modules, theirs.modules)
    if first.opaque:
        return Carried(first)
    if not keep:
        own = pair_own_weights(both, weights, first, ModuleScores(both).call_orders)
        both.notes += own.notes
        return Carried(own.loaded, own.missing)
    if _stored_otherwise(mine, theirs) and (first.unplaced or (first.assumed and not first.renamed)):
        return _guess(both, weights, first, [])  # shapes and order alone say little then
    far = float("inf") if first.unplaced else both.distance()
    if far <= AGREEING:
        return Carried(first)
    tried = [] if first.unplaced else [_Arrangement(plain, first, far)]
    others = [LoadRequest(facts=mine.facts, layout=layout) for layout in first.layouts]
    turned = turned_matrices(mine, theirs)
    others += [LoadRequest(facts=mine.facts, turned=turned)] if turned else []
    for request in others:
        loaded = both.candidate.load(weights, request)
        if loaded.unplaced:
            continue
        far = both.distance()
        if far <= AGREEING:
            return Carried(loaded)
        tried.append(_Arrangement(request, loaded, far))
    if not first.unplaced and not first.assumed:  # by names and rules alone
        nearest = min(tried, key=lambda item: item.far)
        return Carried(both.candidate.load(weights, nearest.request))
    return _guess(both, weights, first, tried)


def _guess(both: BothSides, weights: Any, first: Loaded, tried: list[_Arrangement]) -> Carried:
    """Try guesses; take the one under which the two agree, else the one under which most modules do."""
    if _resized(first.unplaced, first.free):  # no guess is worth trying
        raise CannotCarry(first, both.described)
    scores = ModuleScores(both)
    facts = both.described[0].facts
    guesses = guess_places(*both.described, scores.call_orders())
    swapped: tuple[str, ...] = ()
    for number, guess in enumerate(guesses):
        by_names = guess.places == guesses[0].places
        found = _try(both, weights, guess, LoadRequest(facts=facts, guessed=guess.rules, missing=guess.missing))
        if found is None:
            continue
        if number == 0 and guess.is_certain and not found.missing and found.far > AGREEING:
            return Carried(found.loaded, lines=_lines(guess, found.loaded))
        if guess.against and found.far <= AGREEING and not found.missing:
            swapped = swapped or (_against_names(guess),)
        same = next((place for place, item in enumerate(tried) if item.is_same(found)), None)
        if same is not None:
            if tried[same].guess is None:
                tried[same] = replace(tried[same], guess=guess, by_names=by_names, confirmed=number == 0)
            continue
        if found.far <= AGREEING and not found.missing and not guess.against:
            return Carried(found.loaded, guess=_proven(guess, found.loaded), lines=_lines(guess, found.loaded))
        tried.append(replace(found, by_names=by_names))
    if not tried and not first.unplaced:
        tried = [_Arrangement(LoadRequest(facts=facts), first, both.distance())]
    if all(item.is_against_names for item in tried):
        raise CannotCarry(first, both.described)
    named = [number for number, item in enumerate(tried) if item.by_names]
    near = sorted(range(len(tried)), key=lambda number: (bool(tried[number].missing), tried[number].far))[:_SCORED]
    scored = []
    for item in (tried[number] for number in dict.fromkeys([*named, *near])):
        loaded = both.candidate.load(weights, item.request)
        scored.append(replace(item, score=scores.score(loaded)))
    scored.sort(key=lambda item: item.rank, reverse=True)
    best, *rest = scored
    missing = {name: both.described[0].weights[name] for name in best.missing}
    loaded = both.candidate.load(weights, best.request)
    loaded = msgspec.structs.replace(loaded, reasons=best.loaded.reasons)
    excuses = missing_lines(missing, names_to_place(both.described[0]))
    if not loaded.assumed or (best.confirmed and not _rivals(best, rest)):
        return Carried(loaded, missing, lines=tuple(excuses), notes=swapped)
    lines = _lines(best.guess, loaded) if best.guess else ()
    return Carried(loaded, missing, _unproven(best, rest), (*lines, *excuses), swapped)


def _stored_otherwise(mine: Described, theirs: Described) -> bool:
    """Say whether the two are of libraries that store weights each in its own way."""
    kernels = [KERNEL in side.kinds.values() for side in (mine, theirs)]
    return mine.library != theirs.library or kernels[0] != kernels[1]


def _rivals(best: _Arrangement, rest: list[_Arrangement]) -> list[_Arrangement]:
    """Return the arrangements by which as many modules agree."""
    return [item for item in rest if item.score.right >= best.score.right and not item.missing]


def _try(both: BothSides, weights: Any, guess: WeightGuess, request: LoadRequest) -> _Arrangement | None:
    """Put weights in as guessed; what does not fit then is left out. None if nothing has a place."""
    loaded, request = load_what_fits(both, weights, request)
    if loaded.unplaced or not loaded.placed:
        return None
    placed = {name for mine, _ in loaded.placed for name in mine} | set(loaded.excused)
    missing = tuple(name for name in names_to_place(both.described[0]) if name not in placed)
    return _Arrangement(request, loaded, both.distance(), guess, missing)


# --- what is said of a guess ----------------------------------------------------------------------------------------


def _lines(guess: WeightGuess, loaded: Loaded) -> tuple[str, ...]:
    return tuple(guess.lines([name for mine, _ in loaded.placed for name in mine]))


def _proven(guess: WeightGuess, loaded: Loaded) -> WeightGuessReport | None:
    """Return what is said of a guess that led to agreement; None if it is what names say as they are."""
    pairs = guess.other_names(loaded.assumed)
    if not pairs:
        return None
    return WeightGuessReport(sure=PROVEN, by=_reasons(pairs), pairs=_words(pairs))


def _unproven(best: _Arrangement, rest: list[_Arrangement]) -> WeightGuessReport:
    pairs = best.guess.other_names(best.loaded.assumed) if best.guess else []
    weak = best.guess is None or any(pair.why not in (NAMES, SHAPES) for pair in pairs)
    rivals = _rivals(best, rest)
    others = [_difference(item, best) for item in rest if not item.missing or best.missing]
    return WeightGuessReport(
        sure=UNSURE if rivals or (weak and not rest) else LIKELY,
        by=_reasons(pairs) or (SHAPES, ORDER),
        pairs=_words(pairs),
        right=best.score.right,
        of=best.score.of,
        others=tuple(dict.fromkeys(text for text in others if text))[:_OTHERS],
    )


def _against_names(guess: WeightGuess) -> str:
    words = ", ".join(dict.fromkeys(guess.against))
    return f"the two agree with weights against their names, {words}: are these confused where they are used?"


def _reasons(pairs: Iterable[UnitPair]) -> tuple[str, ...]:
    return tuple(why for why, _ in Counter(pair.why for pair in pairs).most_common())


def _words(pairs: Iterable[UnitPair]) -> tuple[str, ...]:
    """List what was taken for what, first what the least speaks for."""
    doubtful = sorted(pairs, key=lambda pair: (ORDER, CALLS, SHAPES, NAMES).index(pair.why))
    return tuple(dict.fromkeys(pair.words for pair in doubtful))


def _difference(item: _Arrangement, best: _Arrangement) -> str:
    """Say what another arrangement has in other places, and how many modules agree by it."""
    words = "in the order in which they are registered"
    if item.guess is not None:
        words = item.guess.differs_from(best.guess or WeightGuess(()))
    return f"{words} ({item.score.right} of {item.score.of} modules agree)" if words else ""


# --- what has no place ----------------------------------------------------------------------------------------------


def _resized(unplaced: Mapping[str, tuple[int, ...]], free: Mapping[str, tuple[int, ...]]) -> list[str]:
    """Return the weights that are of two sizes, and not of as many numbers in other axes."""
    return [
        name
        for name, shape in unplaced.items()
        if sorted(free.get(name, shape)) != sorted(shape) and not fits_between(shape, free[name])
    ]


def _strangers(described: tuple[Described, Described]) -> bool:
    sizes = [{tuple(sorted(shape)) for shape in item.weights.values()} for item in described]
    return not sizes[0] & sizes[1]


def unplaced_words(
    unplaced: Mapping[str, tuple[int, ...]],
    free: Mapping[str, tuple[int, ...]],
    reasons: Iterable[str],
    described: tuple[Described, Described],
) -> str:
    """Say which weights have no place, what is left in the candidate, and what may help."""
    advice = ""
    resized = _resized(unplaced, free)
    if resized:
        sizes = " and ".join(size_words(shapes[resized[0]]) for shapes in (unplaced, free))
        advice = f". {resized[0]} is of two sizes, {sizes}: build both with the same sizes"
    elif _strangers(described):
        advice = ". No two weights have the same shape: build both with the same sizes, or keep each its own weights"
        advice += " (weights=False, --own-weights)"
    told = "".join(f". {reason}" for reason in reasons)
    return (
        f"these weights of the reference have no place in the candidate: {listed_sizes(unplaced)}; left over in the "
        f"candidate: {listed_sizes(free) or 'none'}{told}{advice}"
    )


def require_used(idle: Iterable[IdleLine], mine: Iterable[str], theirs: Collection[str]) -> None:
    """Refuse lines of an adapter that place nothing, unless they say which modules correspond."""
    names = list(mine)
    for item in idle:
        stars = (match(item.gold, name) for name in names) if item.gold and item.theirs else ()
        if not any(found is not None and fill(item.theirs, found) in theirs for found in stars):
            raise IdleRule(item.line, item.why)


def turned_matrices(mine: Described, theirs: Described) -> tuple[str, ...]:
    """Return the candidate's matrices that may be stored the other way round: those that are no rows of outputs, if
    the reference's are, or the reverse."""
    kinds = [mine.kinds.get(name) for name, shape in mine.weights.items() if len(shape) == 2]
    linear = kinds.count(LINEAR)
    others = len(kinds) - linear - kinds.count(TABLE)
    matrices = [name for name, shape in theirs.weights.items() if len(shape) == 2 and theirs.kinds.get(name) != TABLE]
    if linear >= others:
        return tuple(name for name in matrices if theirs.kinds.get(name) != LINEAR)
    return tuple(name for name in matrices if theirs.kinds.get(name) == LINEAR)
