"""Guess where the reference's weights go, as an adapter could say it: several guesses, the likeliest first."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from goldsmith.foundation.wording import some_of
from goldsmith.gold.facts import WeightFacts
from goldsmith.runs.implementation import KERNEL, LINEAR, OTHER, TABLE, Described, GuessedRule
from goldsmith.weights.axes import TURNED, Shape
from goldsmith.weights.leaves import leaf_of
from goldsmith.weights.roles import roles_of
from goldsmith.weights.rule_lines import line_of, no_counterpart_line
from goldsmith.weights.rules import INDEX, Rule, match, rule_of
from goldsmith.weights.unit_fits import axes_of_biases, is_certain
from goldsmith.weights.unit_pairs import (
    CALLS,
    NAMES,
    ORDER,
    UnitPair,
    exchanged,
    last_name,
    pair_units,
    stored_otherwise,
    turned_squares,
)
from goldsmith.weights.units import WEIGHT, names_to_place, spare_places, units_of

MOST_GUESSES = 8
_EXCHANGES = 4
_SHOWN = 4


@dataclass(frozen=True)
class WeightGuess:
    """Where weights may go: units that correspond, and weights of the reference's that are left without a place."""

    pairs: tuple[UnitPair, ...]
    missing: tuple[str, ...] = ()
    tied: tuple[tuple[str, str], ...] = ()
    """Weights of the reference's whose place is another name of a weight that is tied in the candidate."""
    against: tuple[str, ...] = ()
    """What is taken for what though names say otherwise: that the two agree so is no proof that they should."""

    @property
    def rules(self) -> tuple[GuessedRule, ...]:
        """Return the guess as rules."""
        found = [rule for pair in self.pairs for rule in _rules(pair)]
        return (*found, *(GuessedRule(gold=(one,), theirs=(two,)) for one, two in self.tied))

    @property
    def is_certain(self) -> bool:
        """Say whether names are the same on both sides, and kinds leave one way to store each weight."""
        return all(not pair.is_fused and is_certain(pair.mine[0], pair.theirs[0]) for pair in self.pairs)

    @property
    def places(self) -> set[tuple[tuple[str, ...], tuple[str, ...]]]:
        """Return which weights are which, whatever the order of their rows and columns."""
        return {(rule.gold, rule.theirs) for rule in self.rules}

    def lines(self, placed: Collection[str]) -> list[str]:
        """Return the lines of an adapter that place these weights so; those that have the same name need none."""
        rules = (rule for rule in _new(self.rules) if any(_is_one(rule, name) for name in placed))
        return list(dict.fromkeys(line_of(rule_of(*_arguments(rule))) for rule in rules))

    def other_names(self, assumed: Collection[str]) -> list[UnitPair]:
        """Return the pairs that place any of these weights under another name, or the other way round."""
        return [pair for pair in self.pairs if pair.members[0] & set(assumed) and list(_new(_rules(pair)))]

    def differs_from(self, other: WeightGuess) -> str:
        """Say in which pairs a guess is not the other."""
        known = {pair.words for pair in other.pairs}
        words = dict.fromkeys(pair.words for pair in self.pairs if pair.words not in known)
        return some_of(words, _SHOWN)


def _new(rules: Iterable[GuessedRule]) -> Iterator[GuessedRule]:
    """Yield the rules without which weights would have other places, or none."""
    return (rule for rule in rules if rule.gold != rule.theirs or rule.transpose or rule.by_head or rule.axes)


def missing_lines(missing: Collection[str], wanted: Collection[str]) -> list[str]:
    """Return the lines of an adapter that say that weights have no counterpart: one for all layers that lack it."""
    found: dict[str, None] = {}
    for name in missing:
        pattern = ".".join("*" if part.isdecimal() else part for part in name.split("."))
        all_of_them = all(item in missing for item in wanted if match(pattern, item) is not None)
        found[no_counterpart_line(gold=pattern if all_of_them else name, reason="the candidate has none")] = None
    return list(found)


def _is_one(rule: GuessedRule, name: str) -> bool:
    return any(match(pattern.replace(INDEX, "*"), name) is not None for pattern in rule.gold)


def _arguments(rule: GuessedRule) -> tuple[tuple[str, ...], tuple[str, ...], bool, bool, str]:
    return rule.gold, rule.theirs, rule.transpose, rule.by_head, rule.axes


def guess_places(
    mine: Described, theirs: Described, calls: tuple[Sequence[str], Sequence[str]] = ((), ())
) -> list[WeightGuess]:
    """Return guesses, no two alike; `calls` are the modules of both in the order in which they are called."""
    found: dict[tuple[GuessedRule, ...], WeightGuess] = {}
    by_names = None
    for guess in islice(_guesses(mine, theirs, calls), 3 * MOST_GUESSES):
        by_names = by_names or guess
        if guess.pairs:
            against = tuple(pair.words for pair in guess.pairs if _is_against(pair, by_names))
            found.setdefault(tuple(sorted(guess.rules, key=str)), replace(guess, against=against))
    return list(found.values())[:MOST_GUESSES]


def guessed_rules(
    gold: Mapping[str, Shape], theirs: Mapping[str, Shape], kinds: Mapping[str, str], facts: WeightFacts
) -> list[Rule]:
    """Return the likeliest guess as rules, where nothing can be tried. Of gold's weights, names say the kinds."""
    mine, other = _described(gold, kinds_by_name(gold), facts), _described(theirs, kinds, WeightFacts())
    guess = next(iter(guess_places(mine, other)), WeightGuess(()))
    return [rule_of(*_arguments(rule)) for rule in guess.rules]


def _described(shapes: Mapping[str, Shape], kinds: Mapping[str, str], facts: WeightFacts) -> Described:
    buffers = tuple(name for name in facts.buffers if name in shapes)
    return Described(name="", weights=dict(shapes), kinds=dict(kinds), facts=WeightFacts(buffers))


def kinds_by_name(shapes: Mapping[str, Shape]) -> dict[str, str]:
    """Say which weights are kernels, tables or matrices, as names do in the layers of libraries."""
    of_leaves = {"kernel": KERNEL, "embedding": TABLE}
    found = {name: of_leaves.get(leaf_of(name), OTHER) for name in shapes}
    for name, shape in shapes.items():
        if leaf_of(name) == WEIGHT and len(shape) == 2:
            found[name] = TABLE if "emb" in name.lower() else LINEAR
    return found


def _is_against(pair: UnitPair, by_names: WeightGuess) -> bool:
    """Say whether a unit has another place than its name says: that of another purpose, though one of its own name, or
    of its purpose, is there."""
    known = next((item for item in by_names.pairs if item.mine == pair.mine), None)
    if known is None or pair.is_fused or known.is_fused or known.theirs[0].path == pair.theirs[0].path:
        return False
    mine, theirs, other = (roles_of(unit.path) for unit in (pair.mine[0], known.theirs[0], pair.theirs[0]))
    return last_name(known.mine[0]) == last_name(known.theirs[0]) or bool(mine & theirs and other and not mine & other)


def _guesses(mine: Described, theirs: Described, calls: tuple[Sequence[str], Sequence[str]]) -> Iterator[WeightGuess]:
    wanted = names_to_place(mine)
    free = names_to_place(theirs, mine.weights)
    first = _pair_all(mine, wanted, theirs, free, calls, NAMES)
    whole = [_finished(pairs, mine, wanted, theirs) for pairs in _variants(first)]
    yield whole[0]
    for by in (CALLS, ORDER):
        yield _finished(_pair_all(mine, wanted, theirs, free, calls, by), mine, wanted, theirs)
    yield from whole[1:]


def _variants(pairs: list[UnitPair]) -> Iterator[list[UnitPair]]:
    """Yield the pairs, then with fused weights head by head, square ones turned, others stored in the next likely way,
    and two of them exchanged."""
    yield pairs
    by_head = [replace(pair, by_head=pair.is_fused and _holds_qkv(pair)) for pair in pairs]
    if by_head != pairs:
        yield by_head
    turned = turned_squares(pairs)
    if turned is not None:
        yield turned
    for transposed_only in (True, False):
        otherwise = stored_otherwise(pairs, transposed_only=transposed_only)
        if otherwise is not None:
            yield otherwise
    yield from islice(exchanged(pairs), _EXCHANGES)


def _holds_qkv(pair: UnitPair) -> bool:
    return max(len(pair.mine), len(pair.theirs)) == 3


def _pair_all(
    mine: Described,
    wanted: Sequence[str],
    theirs: Described,
    free: Sequence[str],
    calls: tuple[Sequence[str], Sequence[str]],
    by: str,
) -> list[UnitPair]:
    """Pair all layers at once, then what is left weight by weight."""
    found: list[UnitPair] = []
    left, there = list(wanted), list(free)
    for starred in (True, False):
        units = (
            units_of(mine, left, calls[0], starred=starred),
            units_of(theirs, there, calls[1], starred=starred),
        )
        found += pair_units(*units, by)
        used = [set().union(*(pair.members[side] for pair in found)) for side in (0, 1)]
        left, there = ([name for name in names if name not in used[side]] for side, names in ((0, left), (1, there)))
    if left:
        units = units_of(mine, left, calls[0]), units_of(theirs, spare_places(theirs), calls[1])
        found += [pair for pair in pair_units(*units, NAMES) if pair.why == NAMES]
    return found


def _finished(pairs: list[UnitPair], mine: Described, wanted: Sequence[str], theirs: Described) -> WeightGuess:
    """Return a guess with what it leaves without a place; a weight that is tied in the candidate has two names."""
    placed = {name for pair in pairs for name in _placed(pair)}
    missing = [name for name in wanted if name not in placed]
    tied = []
    for names in theirs.facts.tied:
        for alias in names[1:]:
            same = [name for name in missing if mine.weights[name] == theirs.weights[alias]]
            if len(same) == 1:
                tied.append((same[0], alias))
                missing.remove(same[0])
    return WeightGuess(tuple(pairs), tuple(missing), tuple(tied))


def _placed(pair: UnitPair) -> set[str]:
    """Return the reference's weights that a pair places: those of both units."""
    roles = set.intersection(*(set(unit.names) for unit in (*pair.mine, *pair.theirs)))
    found: set[str] = set()
    for unit in pair.mine:
        names = {role: name for role, name in unit.names.items() if role in roles}
        found |= replace(unit, names=names).members
    return found


def _rules(pair: UnitPair) -> Iterator[GuessedRule]:
    for role in pair.mine[0].names:
        if all(role in unit.names for unit in (*pair.mine, *pair.theirs)):
            axes = pair.fit.axes if role == WEIGHT else axes_of_biases(pair.fit.axes) if pair.is_fused else ""
            yield GuessedRule(
                gold=tuple(unit.names[role] for unit in pair.mine),
                theirs=tuple(unit.names[role] for unit in pair.theirs),
                transpose=pair.fit.kind == TURNED and role == WEIGHT,
                axes=axes,
                by_head=pair.by_head,
            )
