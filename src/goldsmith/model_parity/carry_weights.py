"""Carry the reference's weights into the candidate, in the arrangement by which the two agree if there is one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

import msgspec

from goldsmith.errors.parity import IdleRule
from goldsmith.model_parity.weight_guesses import guess_places, weight_lines
from goldsmith.process.sides import LINEAR, TABLE, Described, IdleLine, LoadAsk, Loaded, Side
from goldsmith.weights.rules import fill, match

AGREEING = 1e-5
"""Relative distance of outputs in float64 up to which an arrangement of weights is taken for the right one."""
_LISTED = 6


class CannotCarry(Exception):
    """Weights that have no place; the message names both sides', `lines` are what an adapter could say."""

    def __init__(self, loaded: Loaded, described: tuple[Described, Described]) -> None:
        self.loaded = loaded
        self.resized = [name for name, shape in loaded.unplaced.items() if loaded.free.get(name, shape) != shape]
        self.strangers = not any(
            sorted(one) == sorted(two) for one in described[0].weights.values() for two in described[1].weights.values()
        )
        helpless = self.resized or self.strangers
        self.lines = [] if helpless else weight_lines(loaded.unplaced, loaded.free)
        super().__init__(self._sentence())

    def _sentence(self) -> str:
        unplaced = _listed(self.loaded.unplaced)
        free = _listed(self.loaded.free) or "none"
        reasons = "".join(f". {reason}" for reason in self.loaded.reasons)
        advice = ""
        if self.resized:
            name = self.resized[0]
            sizes = " and ".join(_size(shapes[name]) for shapes in (self.loaded.unplaced, self.loaded.free))
            advice = f". {name} is of two sizes, {sizes}: build both with the same sizes"
        elif self.strangers:
            advice = (
                ". No two weights have the same shape: build both with the same sizes, or keep each its own weights"
            )
            advice += " (weights=False, --own-weights)"
        return (
            f"these weights of the reference have no place in the candidate: {unplaced}; left over in the candidate: "
            f"{free}{reasons}{advice}"
        )


class CannotConvertWeights(Exception):
    """The function that was to convert the weights fails, or returns others than are needed."""


def carry_weights(
    reference: Side,
    candidate: Side,
    described: tuple[Described, Described],
    *,
    keep: bool,
    distance: Callable[[], float],
) -> Loaded:
    """Load the weights. Where the candidate then returns something else, by `distance`, try other arrangements: rows of
    fused matrices in another order, matrices the other way round."""
    mine, theirs = described
    weights = reference.weights()
    plain = LoadAsk(facts=mine.facts, keep=keep)
    turned = LoadAsk(facts=mine.facts, keep=keep, turned=_turned(mine, theirs))
    first = candidate.load(weights, plain)
    if first.refusal:
        raise CannotConvertWeights(first.refusal)
    require_used(first.idle, described[0].modules, described[1].modules)
    if first.opaque or not keep or (not first.unplaced and distance() <= AGREEING):
        return first
    others = [LoadAsk(facts=mine.facts, layout=layout) for layout in first.layouts]
    others += [turned] if turned.turned else []
    usable = [] if first.unplaced else [(distance(), plain, first)]
    for ask in others:
        loaded = candidate.load(weights, ask)
        if loaded.unplaced:
            continue
        far = distance()
        if far <= AGREEING:
            return loaded
        usable.append((far, ask, loaded))
    nearest = min(usable, key=lambda item: item[0], default=None)
    doubtful = first if nearest is None else _torn(nearest[2], described)
    if doubtful is not None:
        proven = _try_guess(candidate, weights, doubtful, plain, distance)
        if proven is None:
            raise CannotCarry(doubtful, described)
        return proven
    assert nearest is not None
    return candidate.load(weights, nearest[1])


def require_used(idle: Iterable[IdleLine], mine: Iterable[str], theirs: Collection[str]) -> None:
    """Refuse lines of an adapter that place nothing, unless they say which modules correspond."""
    names = list(mine)
    for item in idle:
        stars = (match(item.gold, name) for name in names) if item.gold and item.theirs else ()
        if not any(found is not None and fill(item.theirs, found) in theirs for found in stars):
            raise IdleRule(item.line, item.why)


def _torn(loaded: Loaded, described: tuple[Described, Described]) -> Loaded | None:
    """Return weights as unplaced that were matched by shape and order alone, where that puts weights of one module of
    the reference into several of the candidate: shapes are not enough to go by then. None where that is not so."""
    single = [(mine[0], theirs[0]) for mine, theirs in loaded.placed if len(mine) == len(theirs) == 1]
    matched = {one: two for one, two in single if one != two}
    modules: dict[str, set[str]] = {}
    for one, two in matched.items():
        modules.setdefault(one.rpartition(".")[0], set()).add(two.rpartition(".")[0])
    if loaded.renamed or all(len(others) == 1 for others in modules.values()):
        return None
    unplaced, free = (
        {name: side.weights[name] for name in names}
        for side, names in zip(
            described,
            (matched.keys(), [name for name in described[1].weights if name in set(matched.values())]),
            strict=True,
        )
    )
    return msgspec.structs.replace(loaded, unplaced=unplaced, free=free, placed=())


def _try_guess(
    candidate: Side, weights: Any, first: Loaded, plain: LoadAsk, distance: Callable[[], float]
) -> Loaded | None:
    """Place what is left as it is guessed; only that the two then agree shows that the guess is right."""
    guesses = guess_places(first.unplaced, first.free)
    if len(guesses) < len(first.unplaced):
        return None
    guessed = tuple((item.mine, item.theirs, item.turned) for item in guesses)
    loaded = candidate.load(weights, msgspec.structs.replace(plain, guessed=guessed))
    return loaded if not loaded.unplaced and distance() <= AGREEING else None


def _turned(mine: Described, theirs: Described) -> tuple[str, ...]:
    """Return the candidate's matrices that may be stored the other way round: those that are no rows of outputs, if
    the reference's are, or the reverse."""
    kinds = [mine.kinds.get(name) for name, shape in mine.weights.items() if len(shape) == 2]
    linear = kinds.count(LINEAR)
    others = len(kinds) - linear - kinds.count(TABLE)
    matrices = [name for name, shape in theirs.weights.items() if len(shape) == 2 and theirs.kinds.get(name) != TABLE]
    if linear >= others:
        return tuple(name for name in matrices if theirs.kinds.get(name) != LINEAR)
    return tuple(name for name in matrices if theirs.kinds.get(name) == LINEAR)


def _listed(shapes: dict[str, tuple[int, ...]]) -> str:
    names = [f"{name} ({_size(shape)})" for name, shape in shapes.items()]
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more


def _size(shape: tuple[int, ...]) -> str:
    return "×".join(map(str, shape)) or "scalar"
