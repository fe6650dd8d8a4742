"""Which weights of another model one holds already: the same numbers, perhaps rounded, stored the other way round, or
with rows in another order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch

from goldsmith.weights.loaded import HeldNumbers
from goldsmith.weights.placement import Placed

ROUNDED_TO = ("float16", "bfloat16")
"""Dtypes that checkpoints are rounded to, the coarsest last."""
_SAMPLED = 64
"""Numbers of a tensor by which its partner is looked for."""
_NEAR = 2.0**-6
"""Relative distance of such numbers up to which two tensors may hold the same, rounded to bfloat16."""


def pairs_by_numbers(
    mine: Mapping[str, torch.Tensor], theirs: Mapping[str, torch.Tensor]
) -> Iterator[tuple[str, str, bool]]:
    """Yield weights that hold nearly the same numbers, where there is only one such pair, and whether theirs are stored
    the other way round. Constants say nothing."""
    left = [{name: item.detach() for name, item in side.items() if _tells(item)} for side in (mine, theirs)]
    views: tuple[tuple[Callable[[Any], Any], bool], ...] = (
        (lambda item: item, False),
        (lambda item: item.mT if item.dim() >= 2 else item, True),
        (_whatever_the_order, False),
    )
    for view, turned in views:
        found = list(_alike(left[0], left[1], view, turned=turned))
        for one, two in found:
            del left[0][one], left[1][two]
            yield one, two, turned and mine[one].dim() >= 2


def numbers_held(
    placed: Iterable[Placed],
    weights: Mapping[str, torch.Tensor],
    own: Mapping[str, torch.Tensor],
    put: Mapping[str, torch.Tensor],
) -> HeldNumbers:
    """Compare a model's `own` weights with those that were `put` in their place from `weights`."""
    found = HeldNumbers()
    names: list[str] = []
    for item in placed:
        if not own.keys() & put.keys() >= set(item.theirs):
            continue
        both = [(own[name], put[name]) for name in item.theirs]
        for dtype in ("", *ROUNDED_TO):
            pairs = [(one, _rounded(two, dtype)) for one, two in both]
            order = None
            if not all(map(_same, *zip(*pairs, strict=True))):
                order = _row_order(*pairs[0]) if len(pairs) == len(item.gold) == 1 and not item.sizes else None
                if order is None:
                    continue
                found.rows[item.gold[0]] = order
            names += item.gold
            lost = dtype or _lost(item, weights, put)
            found.rounded.update(dict.fromkeys(item.gold, lost) if lost else {})
            break
    return HeldNumbers(tuple(names), found.rounded, found.rows)


def round_weights(own: Mapping[str, torch.Tensor], dtypes: Mapping[str, str]) -> None:
    """Round weights in their place."""
    with torch.no_grad():
        for name, dtype in dtypes.items():
            own[name].copy_(_rounded(own[name], dtype))


def _tells(item: torch.Tensor) -> bool:
    return item.is_floating_point() and item.numel() > 1 and bool((item != item.flatten()[0]).any())


def _alike(
    mine: Mapping[str, Any], theirs: Mapping[str, Any], view: Callable[[Any], Any], *, turned: bool
) -> Iterator[tuple[str, str]]:
    """Yield names on both sides whose numbers, seen in a way, are near each other's and nobody else's."""
    groups: dict[tuple[int, ...], tuple[list[str], list[str]]] = {}
    for number, side in enumerate((mine, theirs)):
        for name, item in side.items():
            shape = tuple(item.mT.shape) if turned and number and item.dim() >= 2 else tuple(item.shape)
            groups.setdefault(shape, ([], []))[number].append(name)
    for ones, twos in groups.values():
        if not (ones and twos):
            continue
        left = torch.stack([_sample(mine[name]) if turned else _sample(view(mine[name])) for name in ones])
        right = torch.stack([_sample(view(theirs[name])) for name in twos])
        sizes = left.norm(dim=1, keepdim=True).clamp(min=1e-300)
        near = torch.stack([(left - row).norm(dim=1) for row in right], dim=1) <= _NEAR * sizes
        for number, name in enumerate(ones):
            places = near[number].nonzero().flatten().tolist()
            if len(places) == 1 and int(near[:, places[0]].sum()) == 1:
                yield name, twos[places[0]]


def _sample(item: torch.Tensor) -> torch.Tensor:
    flat = item.flatten()
    places = torch.linspace(0, flat.numel() - 1, min(_SAMPLED, flat.numel()), dtype=torch.float64).long()
    return flat[places.to(flat.device)].cpu().double().nan_to_num()


def _whatever_the_order(item: torch.Tensor) -> torch.Tensor:
    """Return what does not depend on the order of rows."""
    wide = item.double()
    return wide.sum(0) if wide.dim() > 1 else wide.sort().values


def _rounded(item: torch.Tensor, dtype: str) -> torch.Tensor:
    return item.to(getattr(torch, dtype)).to(item.dtype) if dtype and item.is_floating_point() else item


def _same(one: torch.Tensor, two: torch.Tensor) -> bool:
    return one.shape == two.shape and torch.equal(one, two.to(one.device))


def _lost(item: Placed, weights: Mapping[str, torch.Tensor], put: Mapping[str, torch.Tensor]) -> str:
    """Return the model's dtype if numbers were rounded as they were put in."""
    given = item.carry([weights[name] for name in item.gold])
    for name, value in zip(item.theirs, given, strict=True):
        if not _same(put[name].to(value.dtype), value):
            return str(put[name].dtype).removeprefix("torch.")
    return ""


def _row_order(own: torch.Tensor, put: torch.Tensor) -> tuple[int, ...] | None:
    """Return, for each of its own rows, which of those that were put in it is; None unless they are the same rows."""
    if own.shape != put.shape or not own.dim():
        return None
    places = {row: number for number, row in enumerate(_rows(put))}
    order = [places.get(row) for row in _rows(own)]
    known = [number for number in order if number is not None]
    return tuple(known) if len(set(known)) == len(order) else None


def _rows(item: torch.Tensor) -> Sequence[bytes]:
    wide = item.detach().double().cpu().reshape(len(item), -1)
    return [row.tobytes() for row in (wide + 0.0).numpy()]  # no negative zeros
