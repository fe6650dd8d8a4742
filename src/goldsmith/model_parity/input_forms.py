"""Masks and tables of angles in another model's form: people hand them down in many, which mean the same."""

from __future__ import annotations

from typing import Any

import numpy as np

_HIDDEN = -1e4
"""What is added to hide a place is less than this: the smallest number of a dtype, or minus infinity."""


def in_form_of(item: Any, like: Any) -> Any:
    """Return a mask, or a table of cosines or sines, in the form of one that another model was given; None where they
    are nothing of the kind. What only `like` has, such as rows for longer inputs, is as it is there."""
    found = _mask_like(item, like)
    return _table_like(item, like) if found is None else found


def is_mask(item: Any) -> bool:
    return _hidden(item) is not None


def _mask_like(item: Any, like: Any) -> Any:
    one, two = _hidden(item), _hidden(like)
    if one is None or two is None:
        return None
    flat = one.reshape(-1, *one.shape[-2:])
    if not (flat == flat[:1]).all():
        return np.where(one, _lowest(like), 0).astype(like.dtype) if one.shape == two.shape and _adds(like) else None
    rows, columns = (min(sizes) for sizes in zip(one.shape[-2:], two.shape[-2:], strict=True))
    corner = flat[0, :rows, :columns]
    if not (_adds(item) and _adds(like)):  # where a mask is true may be what is seen, or what is not
        own = two[..., :rows, :columns]
        corner = corner if (own == corner).mean() >= (own == ~corner).mean() else ~corner
    found = two.copy()
    found[..., :rows, :columns] = corner
    return np.where(found, _lowest(like), 0).astype(like.dtype) if _adds(like) else found


def _hidden(item: Any) -> Any:
    """Return where a mask hides something, or may, if it says true or false; None if it is no mask."""
    if getattr(item, "ndim", 0) < 2 or min(item.shape[-2:]) < 2:
        return None
    if item.dtype.kind == "b":
        return item
    if item.dtype.kind != "f":
        return None
    hidden = item < _HIDDEN
    return hidden if hidden.any() and (item[~hidden] == 0).all() else None


def _adds(mask: Any) -> bool:
    return bool(mask.dtype.kind == "f")


def _lowest(mask: Any) -> Any:
    return mask.min()


def _table_like(item: Any, like: Any) -> Any:
    """Return a table with as many rows as another, and each column once or twice, as there."""
    one, two = _table(item), _table(like)
    if one is None or two is None:
        return None
    columns = two.shape[1]
    ways = [one] if one.shape[1] == columns else []
    if 2 * one.shape[1] == columns:
        ways = [one.repeat(2, axis=1), _twice(one)]
    elif one.shape[1] == 2 * columns:
        ways = [one[:, ::2], one[:, :columns]]
    rows = min(len(one), len(two))
    if not ways:
        return None
    best = min(ways, key=lambda way: float(abs(way[:rows] - two[:rows]).sum()))
    found = two.copy()
    found[:rows] = best[:rows]
    return found.reshape(like.shape)


def _table(item: Any) -> Any:
    """Return a table of cosines or sines as a matrix; None if it is none."""
    if getattr(item, "ndim", 0) < 2 or item.dtype.kind != "f" or item.shape[-2] * item.shape[-1] != item.size:
        return None
    return item.reshape(item.shape[-2:]) if (abs(item) <= 1 + 1e-6).all() else None


def _twice(table: Any) -> Any:
    return np.concatenate((table, table), axis=1)
