"""A model of any library with gold's weights in it, by a plan made of names and shapes.

What goes where, what of it is tied, and how it comes back is decided here; how a library's model is read and written
is its own (`frameworks/*/load.py`). Parameters are placed by `transplant`. Buffers are computed, not learned: a model
keeps its own, since its own code reads them, unless they are statistics that training updates, or are drawn at random.
Weights that are withheld from submissions come as zeros, and a model keeps its own.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from goldsmith.frameworks.framework import are_equal, arrays_of
from goldsmith.gold.arrays import dtype_name, numbers_of
from goldsmith.gold.facts import WeightFacts
from goldsmith.runs.notes import MAX_ITEMS, Names, Note
from goldsmith.weights.axes import Shape
from goldsmith.weights.leaves import is_statistic, running_statistics, says_kernel
from goldsmith.weights.loaded import LoadedModel
from goldsmith.weights.placement import BY_RULE, BY_SHAPE, Placed
from goldsmith.weights.rules import Adapter, Rule, match
from goldsmith.weights.tied import places_of, plan_copies, shared_places
from goldsmith.weights.transplant import CannotPlace, Transplant, plan


class PlannedModel(LoadedModel):
    """One model with gold's weights in it. Its matrices that are `turned` are stored the other way round. With
    `guessing`, weights of another library's model are placed as their names and kinds say, after an adapter's rules."""

    def __init__(
        self,
        model: Any,
        kept: Mapping[str, Any],
        facts: WeightFacts,
        *,
        adapter: Adapter,
        layout: str,
        settings: Mapping[str, Any],
        turned: Collection[str] = (),
        guessing: bool = False,
    ) -> None:
        self.model = model
        self.notes: list[Note] = []
        self.unplaced: CannotPlace | None = None
        self._turned, self._guessing = turned, guessing
        self._kept = {name: value for name, value in kept.items() if not name.endswith("_extra_state")}
        self._facts = facts
        self._adapter, self._layout, self._settings = adapter, layout, settings
        self._transplant = Transplant()
        self._copies: list[Placed] = []
        self._statistics = running_statistics(self._kept)
        self._repeated = {name for names in facts.tied for name in names[1:]}
        self.idle: tuple[Rule, ...] = ()
        self.shared: tuple[str, ...] = ()

    @property
    def placed(self) -> tuple[Placed, ...]:
        return (*self._transplant.placed, *self._copies)

    @property
    def extra(self) -> tuple[str, ...]:
        return tuple(name for name in self._transplant.extra if name not in self._facts.withheld)

    # --- the plan -----------------------------------------------------------------------------------------------------

    def _plan(
        self, shapes: Mapping[str, Shape], aliases: Mapping[str, str], kinds: Callable[[], Mapping[str, str]]
    ) -> None:
        """Decide where weights go among those of these shapes and kinds; `aliases` maps other names of tied ones to
        theirs.

        Raises `CannotPlace` if a weight has no place.
        """
        wanted = {
            name: tuple(value.shape)
            for name, value in self._kept.items()
            if name not in self._repeated and (name not in self._facts.buffers or name in self._statistics)
        }
        needed = (name for name in wanted if not self._adapter.excuses(name))
        shared = shared_places(needed, aliases, self._adapter.rules)
        for name in shared:
            del wanted[name]
        guessed = self._guessed(wanted, shapes, kinds)
        adapter = dataclasses.replace(self._adapter, rules=[*self._adapter.rules, *guessed])
        found = plan(wanted, shapes, adapter, self._layout, self._settings, turned=self._turned)
        found = _as_assumed(found, guessed)
        twice = {
            name: tuple(self._kept[name].shape)
            for name in self._repeated
            if name in self._kept and name not in shapes and not set(aliases) & _places(name, self._adapter)
        }
        extra = {name: shapes[name] for name in found.extra if name not in self._repeated}
        self._copies = plan_copies(twice, extra, self._adapter, self._layout, self._settings, self._turned)
        copied = {name for item in self._copies for name in item.theirs}
        self._transplant = dataclasses.replace(found, extra=tuple(name for name in found.extra if name not in copied))
        self.shared = tuple(shared)
        self.idle = self._idle(found.idle, {*shapes, *aliases}, (*self._repeated, *shared))
        self.notes = self._transplant.notes()
        self._require_equal(shared, aliases, found)
        if self._copies:
            more = max(0, len(self._copies) - MAX_ITEMS)
            self.notes.append(Note("untied", tuple(item.names for item in self._copies[:MAX_ITEMS]), more))

    def _guessed(
        self, wanted: Mapping[str, Shape], shapes: Mapping[str, Shape], kinds: Callable[[], Mapping[str, str]]
    ) -> Sequence[Rule]:
        """Return rules for weights whose names are another library's: kernels here, weights there."""
        if not self._guessing or says_kernel(self._kept) == says_kernel(shapes):
            return ()
        from goldsmith.weights.guesses import guessed_rules

        return guessed_rules(wanted, shapes, kinds(), self._facts)

    def _require_equal(self, shared: Mapping[str, str], aliases: Mapping[str, str], found: Transplant) -> None:
        """Raise CannotPlace if two weights of gold's go into one, and are not the same numbers."""
        for name, alias in shared.items():
            holder = next((item.gold[0] for item in found.placed if item.theirs == (aliases[alias],)), None)
            mine = self._kept[name]
            if holder is None or not are_equal(self._kept[holder], mine):
                shape = tuple(mine.shape)
                reason = f"{alias} is tied to {aliases[alias]}, and {name} is not {holder or 'the same'} in gold"
                raise CannotPlace({name: shape}, {alias: shape}, [reason])
            self.notes.append(Note("one-weight", (Names(gold=(name, holder)),)))

    def _idle(self, rules: Collection[Rule], there: Collection[str], tied: Collection[str]) -> tuple[Rule, ...]:
        """Return those rules that are not about tied weights either."""
        about = [rule for name in tied for place, rule in places_of(name, rules) if rule and place in there]
        return tuple(rule for rule in rules if rule not in about)

    def _is_placed_by_rule(self, buffer: str) -> bool:
        """Say whether a rule is about this very buffer, or the same of all layers."""
        patterns = (item.name for rule in self._adapter.rules for item in rule.theirs)
        return any("**" not in pattern and match(pattern, buffer) is not None for pattern in patterns)

    def _rank(self, name: str) -> int:
        """Say how good a name of a tied weight is: gold has it, and under it the weight itself, no copy."""
        return (name in self._kept) + (name in self._kept and name not in self._repeated)

    def _let_go(self) -> None:
        """Forget gold's numbers once they are in the model: from here on their names are enough."""
        self._kept = dict.fromkeys(self._kept)

    # --- numbers ------------------------------------------------------------------------------------------------------

    def _carried(self) -> Iterator[tuple[str, Any]]:
        """Yield gold's values by their names, but for those that are withheld."""
        for item in self.placed:
            if not set(item.gold) <= set(self._facts.withheld):
                yield from zip(item.theirs, item.carry([self._kept[name] for name in item.gold]), strict=True)

    def _replaced(self, values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        """Yield, by their names, weights of which any of these values are a part, which are by gold's names."""
        now = {**self.weights(), **values}
        for item in self.placed:
            if set(item.gold) & set(values):
                yield from zip(item.theirs, item.carry([now[name] for name in item.gold]), strict=True)

    def _own_buffers(
        self, own: Mapping[str, Any], of_another: Callable[[], Mapping[str, Any]]
    ) -> Iterator[tuple[str, Any]]:
        """Yield gold's values for those of its own buffers that are not to stay: statistics, and what is drawn at
        random, which `of_another` model of the same kind has other values of."""
        other: Mapping[str, Any] | None = None
        for name in self._facts.buffers:
            mine, its = self._kept.get(name), own.get(name)
            if name in self._facts.withheld or name in self._statistics:
                continue
            if mine is None or its is None or its.shape != mine.shape or _are_close(its, mine):
                continue
            if is_statistic(name):
                yield name, mine
                continue
            other = of_another() if other is None else other
            if name in other and other[name].shape == its.shape and not _are_close(its, other[name]):
                yield name, mine
            else:
                self.notes.append(Note("own-buffer", (Names(gold=(name,)),)))

    def _under_gold_names(self, theirs: Mapping[str, Any]) -> dict[str, Any]:
        """Return weights and persistent buffers under gold's names, in its order."""
        found = self._transplant.to_gold(theirs)
        for names in self._facts.tied:
            found |= {name: theirs.get(name, found[names[0]]) for name in names[1:] if names[0] in found}
        found |= Transplant(tuple(self._copies)).to_gold(theirs)
        found |= {name: theirs[name] for name in self._facts.buffers if name in theirs and name not in found}
        return {name: found[name] for name in self._kept if name in found}

    def brought_back(self, gradients: Mapping[str, Any]) -> dict[str, Any]:
        found = self._transplant.to_gold(gradients)
        first = {name: names[0] for names in self._facts.tied for name in names[1:]}
        declared = Transplant(tuple(item for item in self._copies if item.how == BY_RULE))
        for name, more in declared.to_gold(gradients).items():
            own = found.get(first[name])
            found[first[name]] = more if own is None else own if more is None else own + more
        return {name: found[name] for name in self._kept if name in found and name not in self._facts.buffers}


def _as_assumed(found: Transplant, guessed: Collection[Rule]) -> Transplant:
    """Return a plan in which what was guessed is no rule of the adapter's."""
    return dataclasses.replace(
        found,
        placed=tuple(
            dataclasses.replace(item, how=BY_SHAPE) if item.rule in guessed else item for item in found.placed
        ),
        idle=tuple(rule for rule in found.idle if rule not in guessed),
    )


def _places(name: str, adapter: Adapter) -> set[str]:
    return {place for place, _ in places_of(name, adapter.rules)}


def _are_close(one: Any, two: Any) -> bool:
    import numpy as np

    if _kind(one) != _kind(two):
        return False
    mine, theirs = (numbers_of(arrays_of(item).host_copy(item)) for item in (one, two))
    return bool(np.allclose(mine, theirs, rtol=1e-6, atol=1e-9, equal_nan=True))


def _kind(array: Any) -> str:
    return next((kind for kind in ("complex", "float") if kind in dtype_name(array)), "")
