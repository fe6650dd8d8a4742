"""Pair the units of two models' weights: by what their names say, by the order of calls, or by that of registration."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from goldsmith.runs.implementation import KERNEL, LINEAR, OTHER
from goldsmith.weights.axes import PLAIN, TURNED, Fit
from goldsmith.weights.leaves import is_class_name
from goldsmith.weights.roles import FIRST, place_of, roles_of, towers_of
from goldsmith.weights.rules import parts_named, without_parts
from goldsmith.weights.unit_fits import AS_IT_IS, cross, fused_ways, is_transposed, penalty, ways_between
from goldsmith.weights.units import INDEXED, NORMAL, STACKED, WEIGHT, Indices, Unit, forms_of

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
    fit: Fit = AS_IT_IS
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
        return f"{one} as {two}{self.fit.words}" + (", head by head" if self.by_head else "")


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
        first, second = (
            next((pair for pair in _pairs(a.mine[0], b.theirs[0], NAMES) if pair.fit == a.fit), None)
            for a, b in ((one, two), (two, one))
        )
        if first is None or second is None or (_is_of_one_name(one) and _is_of_one_name(two)):
            continue
        loss = one.score + two.score - first.score - second.score
        rest = [pair for pair in pairs if pair not in (one, two)]
        apart = _above(one.mine[0].path) != _above(two.mine[0].path)
        found.append((apart, loss, [*rest, first, second]))
    found.sort(key=lambda item: item[:2])
    yield from (pairs for _, _, pairs in found)


def _is_of_one_name(pair: UnitPair) -> bool:
    """Say whether the two have one name in libraries that call layers otherwise."""
    mine, theirs = pair.mine[0], pair.theirs[0]
    return cross(mine, theirs) and last_name(mine) == last_name(theirs)


# --- scores -----------------------------------------------------------------------------------------------------------


def _pairs(one: Unit, two: Unit, by: str) -> Iterator[UnitPair]:
    """Yield the ways in which two units can correspond."""
    for mine in forms_of(one):
        for theirs in forms_of(two):
            if {mine.form, theirs.form} not in ({NORMAL}, {STACKED, INDEXED}) or mine.indices != theirs.indices:
                continue
            for fit in ways_between(mine, theirs):
                yield UnitPair((mine,), (theirs,), fit, _score(mine, theirs, fit, by))


def _score(mine: Unit, theirs: Unit, fit: Fit, by: str) -> float:
    score = _by_name(mine, theirs) if by == NAMES else 0.0
    score -= penalty(mine, theirs, fit) + 0.5 * (mine.form != NORMAL)
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
    one_name, two_name = _last(mine.path), _last(theirs.path)
    if is_class_name(one_name) or is_class_name(two_name):
        return score
    return score + 0.5 * difflib.SequenceMatcher(None, one_name, two_name).ratio()


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
                pair = _fused(parts, whole, roles, parts_are_mine=not turn)
                if pair is not None:
                    yield replace(pair, mine=pair.theirs, theirs=pair.mine) if turn else pair


def _groups(units: Sequence[Unit]) -> Iterator[tuple[Unit, ...]]:
    siblings: dict[tuple[str, object], dict[str, Unit]] = {}
    for unit in units:
        for names in _FUSED:
            role = _part_role(unit)
            if role in names and len(unit.shapes.get(WEIGHT, ())) in (2, 3):
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


def _fused(parts: Sequence[Unit], whole: Unit, roles: Sequence[str], *, parts_are_mine: bool) -> UnitPair | None:
    """Return the pair if the parts fill the whole, as they are or the other way round."""
    joined = parts_named(_last(whole.path)) or ("gate up" if "gate up" in roles_of(whole.path) else "")
    named = joined in ("".join(roles), " ".join(roles))
    places = {place_of(unit.path) for unit in (*parts, whole)} - {""}
    if (joined and not named) or (len(places) > 1 and not named):
        return None
    for two in forms_of(whole):
        wanted = {NORMAL: NORMAL, STACKED: INDEXED, INDEXED: STACKED}[two.form]
        for one in zip(*(_forms(unit, wanted, two.indices) for unit in parts), strict=False):
            fit = next(fused_ways(one, two, parts_are_mine=parts_are_mine), None)
            if fit is not None:
                distance = abs(one[0].calls - two.calls) * 2
                score = (
                    4.0
                    + _by_tower(one[0], two)
                    + 2 * named
                    + (len(places) == 1)
                    - (0.5 if fit.kind == TURNED else 0)
                    - distance
                )
                return UnitPair(tuple(one), (two,), fit, score, NAMES if named or len(places) == 1 else SHAPES)
    return None


def _forms(unit: Unit, form: str, indices: Indices) -> Iterator[Unit]:
    return (item for item in forms_of(unit) if item.form == form and item.indices == indices)


# --- which way round --------------------------------------------------------------------------------------------------


def _oriented(pairs: Sequence[UnitPair]) -> list[UnitPair]:
    """Return the pairs with square matrices turned where others of the same kinds are."""
    votes: dict[tuple[str, str], int] = {}
    for pair in pairs:
        if pair.mine[0].kind != pair.theirs[0].kind and not _is_square(pair):
            kinds = pair.mine[0].kind, pair.theirs[0].kind
            votes[kinds] = votes.get(kinds, 0) + (1 if pair.fit.kind == TURNED else -1)
    return [
        replace(pair, fit=Fit(TURNED))
        if _is_square(pair) and pair.fit.kind == PLAIN and votes.get((pair.mine[0].kind, pair.theirs[0].kind), 0) > 0
        else pair
        for pair in pairs
    ]


def turned_squares(pairs: Sequence[UnitPair]) -> list[UnitPair] | None:
    """Return the pairs with all square matrices of different kinds the other way round; None if there are none."""
    flip = {PLAIN: Fit(TURNED), TURNED: Fit(PLAIN)}
    found = [replace(pair, fit=flip[pair.fit.kind]) if _may_be_turned(pair) else pair for pair in pairs]
    return found if found != list(pairs) else None


def stored_otherwise(pairs: Sequence[UnitPair], *, transposed_only: bool) -> list[UnitPair] | None:
    """Return the pairs with the next likely way to store weights, where shapes and kinds allow several: of transposed
    convolutions alone, or of all; None if there are none."""
    found = [_otherwise(pair) if not transposed_only or _is_transposed(pair) else pair for pair in pairs]
    return found if found != list(pairs) else None


def _otherwise(pair: UnitPair) -> UnitPair:
    mine, theirs = pair.mine[0], pair.theirs[0]
    if pair.is_fused or not cross(mine, theirs):
        return pair
    ways = ways_between(mine, theirs)
    at = ways.index(pair.fit) if pair.fit in ways else -1
    return replace(pair, fit=ways[(at + 1) % len(ways)]) if len(ways) > 1 else pair


def _is_transposed(pair: UnitPair) -> bool:
    return any(is_transposed(unit) for unit in (*pair.mine, *pair.theirs))


def _may_be_turned(pair: UnitPair) -> bool:
    kinds = {pair.mine[0].kind, pair.theirs[0].kind}
    return _is_square(pair) and kinds in ({LINEAR, OTHER}, {KERNEL, OTHER})


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
