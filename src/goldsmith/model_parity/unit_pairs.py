"""Pair the units of two models' weights: by what their names say, by the order of calls, or by that of registration."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from goldsmith.model_parity.weight_units import INDEXED, NORMAL, STACKED, WEIGHT, Indices, Unit, forms_of
from goldsmith.runs.implementation import LINEAR, TABLE
from goldsmith.weights.axes import can_reshape, swap_last_axes
from goldsmith.weights.roles import FIRST, place_of, roles_of, towers_of
from goldsmith.weights.rules import parts_named, without_parts

PLAIN, TURNED, RESHAPED = "plain", "turned", "reshaped"
NAMES, CALLS, ORDER, SHAPES = "names", "order of calls", "order", "shapes"
_FUSED = ("q", "k", "v"), ("gate", "up")
_BY_NAME_FROM = 1.5
"""Score from which the names of two units speak for each other."""
_LEAST = {NAMES: -2.5, CALLS: -6.0, ORDER: -6.0}


@dataclass(frozen=True)
class UnitPair:
    """Units that correspond: one of each, or several that one of the other side holds together. `why` is what speaks
    for it."""

    mine: tuple[Unit, ...]
    theirs: tuple[Unit, ...]
    fit: str = PLAIN
    score: float = 0.0
    why: str = ORDER
    by_head: bool = False

    @property
    def members(self) -> tuple[set[str], set[str]]:
        one, two = ([name for unit in side for name in unit.members] for side in (self.mine, self.theirs))
        return set(one), set(two)

    @property
    def is_fused(self) -> bool:
        return len(self.mine) + len(self.theirs) > 2

    @property
    def words(self) -> str:
        one, two = (" + ".join(_last(unit.path) for unit in side) for side in (self.mine, self.theirs))
        return (
            f"{one} as {two}" + (", turned" if self.fit == TURNED else "") + (", head by head" if self.by_head else "")
        )


def pair_units(mine: Sequence[Unit], theirs: Sequence[Unit], by: str) -> list[UnitPair]:
    """Pair units, the surest first, so that every weight has one place at most."""
    possible = list(_fused_pairs(mine, theirs))
    for one in mine:
        for two in theirs:
            possible += _pairs(one, two, by)
    possible.sort(key=lambda pair: -pair.score)
    chosen: list[UnitPair] = []
    taken: tuple[set[str], set[str]] = set(), set()
    for pair in possible:
        if pair.score < _LEAST[by] or any(used & own for used, own in zip(taken, pair.members, strict=True)):
            continue
        chosen.append(pair)
        for used, own in zip(taken, pair.members, strict=True):
            used |= own
    return _oriented([_with_reason(pair, mine, theirs, by) for pair in chosen])


def exchanged(pairs: Sequence[UnitPair]) -> Iterator[list[UnitPair]]:
    """Yield the same pairs with two of them exchanged that fit as well, those first that least speaks against."""
    found = []
    for one, two in combinations([pair for pair in pairs if not pair.is_fused], 2):
        others = [next(iter(_pairs(a.mine[0], b.theirs[0], NAMES)), None) for a, b in ((one, two), (two, one))]
        first, second = others
        if first is None or second is None or (first.fit, second.fit) != (one.fit, two.fit):
            continue
        loss = one.score + two.score - first.score - second.score
        rest = [pair for pair in pairs if pair not in (one, two)]
        apart = _above(one.mine[0].path) != _above(two.mine[0].path)
        found.append((apart, loss, [*rest, first, second]))
    found.sort(key=lambda item: item[:2])
    yield from (pairs for _, _, pairs in found)


# --- scores -----------------------------------------------------------------------------------------------------------


def _pairs(one: Unit, two: Unit, by: str) -> Iterator[UnitPair]:
    """Yield the ways in which two units can correspond."""
    for mine in forms_of(one):
        for theirs in forms_of(two):
            if {mine.form, theirs.form} not in ({NORMAL}, {STACKED, INDEXED}) or mine.indices != theirs.indices:
                continue
            fit = _fit(mine, theirs)
            if fit:
                yield UnitPair((mine,), (theirs,), fit, _score(mine, theirs, fit, by))


def _fit(mine: Unit, theirs: Unit) -> str:
    """Return how the weights of two units fit by their shapes; empty if they do not."""
    both = [role for role in mine.shapes if role in theirs.shapes]
    if WEIGHT not in both:
        return ""
    if any(mine.shapes[role] != theirs.shapes[role] for role in both if role != WEIGHT):
        return ""
    one, two = mine.shapes[WEIGHT], theirs.shapes[WEIGHT]
    if one == two:
        return PLAIN
    if len(one) == 2 and one == swap_last_axes(two):
        return TURNED
    return RESHAPED if can_reshape(one, two) and mine.form == theirs.form == NORMAL else ""


def _score(mine: Unit, theirs: Unit, fit: str, by: str) -> float:
    kinds = {mine.kind, theirs.kind}
    score = _by_name(mine, theirs) if by == NAMES else 0.0
    score -= 4 * (kinds == {TABLE, LINEAR})
    if fit == TURNED:
        score -= 5 if kinds == {LINEAR} or TABLE in kinds else 0.5
    score -= (fit == RESHAPED) + 0.5 * (mine.form != NORMAL)
    score += 0.5 * (set(mine.shapes) == set(theirs.shapes))
    score -= {NAMES: 2, CALLS: 6, ORDER: 2}[by] * abs(mine.calls - theirs.calls)
    score -= {NAMES: 0.5, CALLS: 0.5, ORDER: 6}[by] * abs(mine.order - theirs.order)
    numbers = _numbers(mine.path), _numbers(theirs.path)
    return score - 2 * (len(numbers[0]) == len(numbers[1]) and numbers[0] != numbers[1])


def _by_name(mine: Unit, theirs: Unit) -> float:
    one, two = roles_of(mine.path), roles_of(theirs.path)
    score = (3.0 if (one & two) - {FIRST} else 2.0) if one & two else -3.0 if one and two else 0.0
    places = place_of(mine.path), place_of(theirs.path)
    score += 1 if places[0] and places[0] == places[1] else -2 if all(places) else 0
    score += _by_tower(mine, theirs)
    same = 0
    for first, second in zip(reversed(mine.path.split(".")), reversed(theirs.path.split(".")), strict=False):
        if first != second or first == "*":
            break
        same += 1
    score += 1.5 * min(same, 2)
    return score + 0.5 * difflib.SequenceMatcher(None, _last(mine.path), _last(theirs.path)).ratio()


def _by_tower(mine: Unit, theirs: Unit) -> float:
    one, two = towers_of(mine.path), towers_of(theirs.path)
    return 2.0 if one & two else -3.0 if one and two else 0.0


def _with_reason(pair: UnitPair, mine: Sequence[Unit], theirs: Sequence[Unit], by: str) -> UnitPair:
    """Say what speaks for a pair: names, that nothing else fits, or only the order."""
    if pair.is_fused:
        return pair
    one, two = pair.mine[0], pair.theirs[0]
    if _by_name(one, two) >= _BY_NAME_FROM:
        return replace(pair, why=NAMES)
    rivals = [other for other in theirs if any(True for _ in _pairs(one, other, by))]
    others = [other for other in mine if any(True for _ in _pairs(other, two, by))]
    alone = len(rivals) == len(others) == 1
    return replace(pair, why=SHAPES if alone else CALLS if by == NAMES else by)


# --- several in one ---------------------------------------------------------------------------------------------------


def _fused_pairs(mine: Sequence[Unit], theirs: Sequence[Unit]) -> Iterator[UnitPair]:
    """Yield q, k and v, or gate and up, of one side with what may hold them together on the other."""
    for apart, together, turn in ((mine, theirs, False), (theirs, mine, True)):
        for parts in _groups(apart):
            roles = [_part_role(unit) for unit in parts]
            for whole in together:
                pair = _fused(parts, whole, roles)
                if pair is not None:
                    yield replace(pair, mine=pair.theirs, theirs=pair.mine) if turn else pair


def _groups(units: Sequence[Unit]) -> Iterator[tuple[Unit, ...]]:
    siblings: dict[tuple[str, object], dict[str, Unit]] = {}
    for unit in units:
        for names in _FUSED:
            role = _part_role(unit)
            if role in names and len(unit.shapes.get(WEIGHT, ())) == 2:
                key = without_parts(unit.path) if names[0] == "q" else _above(unit.path)
                siblings.setdefault((f"{names[0]} {key}", unit.indices), {}).setdefault(role, unit)
    for found in siblings.values():
        for names in _FUSED:
            if set(found) == set(names):
                yield tuple(found[name] for name in names)


def _part_role(unit: Unit) -> str:
    parts = parts_named(_last(unit.path))
    if parts:
        return parts
    roles = roles_of(unit.path)
    return "gate" if "gate" in roles else "up" if "up" in roles else ""


def _fused(parts: Sequence[Unit], whole: Unit, roles: Sequence[str]) -> UnitPair | None:
    """Return the pair if the parts fill the whole, as they are or the other way round."""
    joined = parts_named(_last(whole.path)) or ("gate up" if "gate up" in roles_of(whole.path) else "")
    named = joined in ("".join(roles), " ".join(roles))
    places = {place_of(unit.path) for unit in (*parts, whole)} - {""}
    if (joined and not named) or (len(places) > 1 and not named):
        return None
    for two in forms_of(whole):
        wanted = {NORMAL: NORMAL, STACKED: INDEXED, INDEXED: STACKED}[two.form]
        for one in zip(*(_forms(unit, wanted, two.indices) for unit in parts), strict=False):
            fit = _fused_fit(one, two)
            if fit:
                distance = abs(one[0].calls - two.calls) * 2
                score = (
                    4.0
                    + _by_tower(one[0], two)
                    + 2 * named
                    + (len(places) == 1)
                    - (0.5 if fit == TURNED else 0)
                    - distance
                )
                return UnitPair(tuple(one), (two,), fit, score, NAMES if named or len(places) == 1 else SHAPES)
    return None


def _forms(unit: Unit, form: str, indices: Indices) -> Iterator[Unit]:
    return (item for item in forms_of(unit) if item.form == form and item.indices == indices)


def _fused_fit(parts: Sequence[Unit], whole: Unit) -> str:
    shapes = [unit.shapes[WEIGHT] for unit in parts]
    wanted = whole.shapes.get(WEIGHT, ())
    if len(wanted) != 2:
        return ""
    turned = [swap_last_axes(shape) for shape in shapes]
    for fit, made, total in (
        (PLAIN, shapes, wanted),
        (TURNED, shapes, swap_last_axes(wanted)),
        (TURNED, turned, wanted),
    ):
        if {shape[1:] for shape in made} == {total[1:]} and sum(shape[0] for shape in made) == total[0]:
            return fit
    return ""


# --- which way round --------------------------------------------------------------------------------------------------


def _oriented(pairs: Sequence[UnitPair]) -> list[UnitPair]:
    """Return the pairs with square matrices turned where others of the same kinds are."""
    votes: dict[tuple[str, str], int] = {}
    for pair in pairs:
        if pair.mine[0].kind != pair.theirs[0].kind and not _is_square(pair):
            kinds = pair.mine[0].kind, pair.theirs[0].kind
            votes[kinds] = votes.get(kinds, 0) + (1 if pair.fit == TURNED else -1)
    return [
        replace(pair, fit=TURNED)
        if _is_square(pair) and pair.fit == PLAIN and votes.get((pair.mine[0].kind, pair.theirs[0].kind), 0) > 0
        else pair
        for pair in pairs
    ]


def turned_squares(pairs: Sequence[UnitPair]) -> list[UnitPair] | None:
    """Return the pairs with all square matrices of different kinds the other way round; None if there are none."""
    flip = {PLAIN: TURNED, TURNED: PLAIN}
    found = [replace(pair, fit=flip[pair.fit]) if _may_be_turned(pair) else pair for pair in pairs]
    return found if found != list(pairs) else None


def _may_be_turned(pair: UnitPair) -> bool:
    kinds = {pair.mine[0].kind, pair.theirs[0].kind}
    return _is_square(pair) and LINEAR in kinds and len(kinds) > 1 and TABLE not in kinds


def _is_square(pair: UnitPair) -> bool:
    shape = pair.mine[0].shapes[WEIGHT]
    return not pair.is_fused and len(shape) == 2 and shape[0] == shape[1]


def last_name(unit: Unit) -> str:
    """Return the name of a module, or of a weight of its own, without what is around it."""
    return _last(unit.path)


def _last(path: str) -> str:
    parts = [part for part in path.split(".") if part not in ("*", "#")]
    return parts[-1] if parts else path


def _above(path: str) -> str:
    return path.rpartition(".")[0]


def _numbers(path: str) -> list[str]:
    return [part for part in path.split(".") if part.isdecimal()]
