"""Loading weights that a function converts: from the reference's state dict to the candidate's.

Where the function only moves numbers, what it does with numbered places shows which number goes where: gradients and
trained weights can then be brought back, and modules be paired.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch

from goldsmith.frameworks.torch.load import unregistered
from goldsmith.gold.facts import WeightFacts
from goldsmith.weights.loaded import STATISTICS, CannotConvert, Convert
from goldsmith.weights.matching import Match
from goldsmith.weights.placement import size_words

_LISTED = 6


class ConvertedModule:
    """A torch model with converted weights in it."""

    def __init__(self, model: torch.nn.Module, kept: Mapping[str, Any], facts: WeightFacts, convert: Convert) -> None:
        self.model = model
        self.unplaced = None
        self.extra: tuple[str, ...] = ()
        self.notes: list[str] = []
        self._kept, self._convert = dict(kept), convert
        self._first = {name: names[0] for names in facts.tied for name in names[1:]}
        self._buffers = set(facts.buffers)
        self._fill(self._converted(self._kept))
        self._sources = self._traced()
        """For each parameter, by name, which of all the reference's numbers it holds; empty if that is not known."""
        self.placed = tuple(self._matches())
        if not self._sources:
            self.notes.append("gradients are not compared: convert does more than move numbers")

    @property
    def is_opaque(self) -> bool:
        """Return whether it is not known which weights correspond."""
        return not self._sources

    def put(self, values: Mapping[str, Any]) -> None:
        """Replace values, by the reference's names."""
        if values:
            self._fill(self._converted({**self._kept, **values}))

    def weights(self) -> dict[str, Any]:
        """Return parameters under the reference's names."""
        return {name: item for name, item in self._brought_back(self._parameters(), add=False) if item is not None}

    def gradients(self) -> dict[str, Any]:
        """Return gradients under the reference's names, for tied parameters under the first only; those of numbers that
        the candidate holds several times are added."""
        grads = {name: item.grad for name, item in self._parameters().items()}
        found = self._brought_back(grads, add=True)
        return {name: item for name, item in found if name not in self._first and name not in self._buffers}

    # --- conversion ---------------------------------------------------------------------------------------------------

    def _converted(self, state: Mapping[str, Any]) -> dict[str, Any]:
        found = self._convert({name: value.detach().clone() for name, value in state.items()})
        if not isinstance(found, Mapping) or not all(isinstance(name, str) for name in found):
            raise CannotConvert(f"it returns {type(found).__name__}, not a dict of tensors by name")
        odd = next((name for name, value in found.items() if not isinstance(value, torch.Tensor)), None)
        if odd is not None:
            raise CannotConvert(f"its {odd} is {type(found[odd]).__name__}, not a tensor")
        return {name: value.detach() for name, value in found.items()}

    def _fill(self, values: Mapping[str, Any]) -> None:
        groups = self._groups()
        given = {name: next((other for other in names if other in values), None) for name, names in groups.items()}
        missing = [name for name, other in given.items() if other is None]
        if missing:
            raise CannotConvert(f"it has no values for the candidate's {_listed(missing)}")
        targets: dict[str, Any] = {name: item for name, item in self._every().items() if name in values}
        for name, item in targets.items():
            if item.shape != values[name].shape:
                sizes = " and ".join(size_words(tuple(one.shape)) for one in (values[name], item))
                raise CannotConvert(f"its {name} has another size than the candidate's: {sizes}")
        for names in groups.values():
            both = [name for name in names if name in values]
            odd = next((name for name in both if not torch.equal(values[name], values[both[0]])), None)
            if odd is not None:
                raise CannotConvert(f"its {both[0]} and {odd} differ, and are one weight in the candidate")
        strange = [name for name in values if name not in targets]
        if strange:
            self.notes = [f"convert also returns {_listed(strange)}, which the candidate does not have"]
        with torch.no_grad():
            for name, item in targets.items():
                item.copy_(values[name])

    def _groups(self) -> dict[str, list[str]]:
        """Return the names of each parameter and statistic that must have a value."""
        found: dict[int, list[str]] = {}
        for name, item in self._every().items():
            if name not in dict(self.model.named_buffers()) or name.endswith(STATISTICS[:2]):
                found.setdefault(id(item), []).append(name)
        return {names[0]: names for names in found.values()}

    def _every(self) -> dict[str, Any]:
        parameters = dict(self.model.named_parameters(remove_duplicate=False)) | unregistered(self.model)
        return parameters | dict(self.model.named_buffers())

    def _parameters(self) -> dict[str, Any]:
        every = self._every()
        return {name: every[name] for name in self._groups()}

    # --- which number goes where --------------------------------------------------------------------------------------

    def _traced(self) -> dict[str, Any]:
        """Return which of the reference's numbers each parameter holds. Places are numbered twice, upwards and
        downwards: a function that computes with them gives two answers."""
        try:
            up, down = (self._converted(self._numbered(downwards=downwards)) for downwards in (False, True))
        except Exception:  # a function that looks at numbers may refuse these
            return {}
        total = sum(item.numel() for item in self._kept.values())
        found = {}
        for name, names in self._groups().items():
            given = next((item for item in names if item in up and item in down), None)
            if given is None or up[given].shape != self._every()[name].shape or up[given].is_complex():
                return {}
            one, two = (side[given].to(torch.float64).flatten() for side in (up, down))
            if not bool(((one + two == total - 1) & (one == one.round()) & (one >= 0) & (one < total)).all()):
                return {}
            found[name] = one.long().cpu()
        return found

    def _numbered(self, *, downwards: bool) -> dict[str, Any]:
        total = sum(item.numel() for item in self._kept.values())
        found = {}
        for name, start, size in self._ranges():
            numbers = torch.arange(start, start + size, dtype=torch.float64, device=self._kept[name].device)
            found[name] = (total - 1 - numbers if downwards else numbers).reshape(self._kept[name].shape)
        return found

    def _ranges(self) -> Iterator[tuple[str, int, int]]:
        start = 0
        for name, item in self._kept.items():
            yield name, start, item.numel()
            start += item.numel()

    def _matches(self) -> Iterator[Match]:
        """Yield weights that correspond: those that hold all numbers of one, then those that share some."""
        bounds = torch.tensor([start for _, start, _ in self._ranges()] or [0])
        names = [name for name, _, _ in self._ranges()]
        groups: list[tuple[set[str], list[str]]] = []
        for theirs, numbers in self._sources.items():
            held = torch.unique(torch.searchsorted(bounds, numbers, right=True) - 1).tolist()
            mine = {names[index] for index in held}
            if len(mine) == 1 and len(torch.unique(numbers)) == self._kept[next(iter(mine))].numel():
                yield Match((next(iter(mine)),), (theirs,))
                continue
            touching = [group for group in groups if group[0] & mine]
            groups = [group for group in groups if group not in touching]
            others = [name for group in touching for name in group[1]]
            groups.append((set().union(mine, *(group[0] for group in touching)), [*others, theirs]))
        for some, others in groups:
            yield Match(tuple(name for name in names if name in some), tuple(others))

    def _brought_back(self, values: Mapping[str, Any], *, add: bool) -> Iterator[tuple[str, Any]]:
        """Yield tensors by the reference's names, for those all of whose numbers the candidate holds."""
        given = {name: item for name, item in values.items() if item is not None and name in self._sources}
        total = sum(item.numel() for item in self._kept.values())
        known = next(iter(given.values()), torch.zeros(0))
        flat = torch.zeros(total, dtype=known.dtype, device=known.device)
        held, filled = torch.zeros(total, dtype=torch.bool), torch.zeros(total, dtype=torch.bool)
        canonical = self._canonical(total)
        for name, numbers in self._sources.items():
            places = canonical[numbers]
            held[places] = True
            if name in given:
                filled[places] = True
                some = given[name].detach().flatten().to(flat)
                where = places.to(flat.device)
                flat = flat.index_add(0, where, some) if add else flat.index_copy(0, where, some)
        for name, start, size in self._ranges():
            places = canonical[start : start + size]
            if bool(held[places].all()):
                whole = flat[places.to(flat.device)].reshape(self._kept[name].shape)
                yield name, whole if bool(filled[places].any()) else None

    def _canonical(self, total: int) -> Any:
        """Return the number of each place; places of tied weights have the numbers of the first."""
        found = torch.arange(total)
        starts = {name: start for name, start, _ in self._ranges()}
        for name, start, size in self._ranges():
            if name in self._first and self._first[name] in starts:
                first = starts[self._first[name]]
                found[start : start + size] = torch.arange(first, first + size)
        return found


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more
