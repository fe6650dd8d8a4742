"""Fused matrices: split into parts, and joined from parts, in any of the row orders that `rows` accepts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from goldsmith.frameworks.framework import arrays_of
from goldsmith.weights.rules import BLOCKS

BY_HEAD = "head part row"


@dataclass(frozen=True)
class FusedMatrix:
    """The contents of one matrix: how many parts it holds, and the order of their rows."""

    parts: int = 1
    order: str = BLOCKS
    heads: int = 1

    def allows(self, sizes: Sequence[int]) -> bool:
        """Return whether parts of these sizes can be arranged in this order."""
        if self.parts == 1 or self.order == BLOCKS:
            return True
        even = all(size % self.heads == 0 for size in sizes)
        return even and (self.order == BY_HEAD or len(set(sizes)) == 1)


Side = tuple[FusedMatrix, ...]


def sizes_of(side: Side, rows: Sequence[int]) -> list[int] | None:
    """Return how many rows each part has, from the matrices of one side; None where they cannot be divided evenly."""
    if any(total % held.parts for held, total in zip(side, rows, strict=True)):
        return None
    return [total // held.parts for held, total in zip(side, rows, strict=True) for _ in range(held.parts)]


def common_sizes(mine: Side, my_rows: Sequence[int], other: Side, other_rows: Sequence[int]) -> tuple[int, ...] | None:
    """Return the sizes of the parts if both sides agree on them; the side with more matrices determines them."""
    pairs = [(mine, my_rows), (other, other_rows)]
    sizes = sizes_of(*max(pairs, key=lambda pair: len(pair[0])))
    if sizes is None:
        return None
    for side, rows in pairs:
        for held, total, own in zip(side, rows, _by_matrix(side, sizes), strict=True):
            if sum(own) != total or not held.allows(own):
                return None
    return tuple(sizes)


def take_apart(whole: Sequence[Any], side: Side, sizes: Sequence[int]) -> list[Any]:
    """Split the matrices of one side into their parts."""
    return [
        part
        for matrix, held, own in zip(whole, side, _by_matrix(side, sizes), strict=True)
        for part in _parts_of(matrix, held, own)
    ]


def put_together(parts: Sequence[Any], side: Side) -> list[Any]:
    """Join parts into the matrices of one side."""
    return [_whole_of(own, held) for held, own in zip(side, _by_matrix(side, parts), strict=True)]


def _by_matrix(side: Side, items: Sequence[Any]) -> list[list[Any]]:
    rest = iter(items)
    return [[next(rest) for _ in range(held.parts)] for held in side]


def _parts_of(whole: Any, held: FusedMatrix, sizes: Sequence[int]) -> list[Any]:
    if held.parts == 1:
        return [whole]
    if held.order == BLOCKS:
        return list(_split(whole, sizes))
    tail = tuple(whole.shape[1:])
    if held.order == BY_HEAD:
        by_head = whole.reshape((held.heads, -1, *tail)).swapaxes(0, 1)
        split = [part.swapaxes(0, 1) for part in _split(by_head, [size // held.heads for size in sizes])]
    else:
        by_row = whole.reshape((held.heads, -1, held.parts, *tail))
        split = [by_row[:, :, number] for number in range(held.parts)]
    return [part.reshape((-1, *tail)) for part in split]


def _split(whole: Any, sizes: Sequence[int]) -> Iterator[Any]:
    start = 0
    for size in sizes:
        yield whole[start : start + size]
        start += size


def _whole_of(parts: Sequence[Any], held: FusedMatrix) -> Any:
    if held.parts == 1:
        return parts[0]
    if held.order == BLOCKS:
        return arrays_of(parts[0]).concatenate(parts)
    tail = tuple(parts[0].shape[1:])
    by_head = [part.reshape((held.heads, -1, *tail)) for part in parts]
    arrays = arrays_of(parts[0])
    whole = arrays.concatenate(by_head, 1) if held.order == BY_HEAD else arrays.stack(by_head, 2)
    return whole.reshape((-1, *tail))
