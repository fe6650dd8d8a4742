"""Tensors that the recipe itself makes from single numbers, as in `torch.tensor(losses)`. Students do not choose their
dtype: it depends on whether the numbers are Python's (float32 in torch, float64 in NumPy) or NumPy's (as they are)."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

from goldsmith.foundation.nested import leaves_in

_MAKERS = {"torch": ("tensor", "as_tensor"), "numpy": ("array", "asarray")}


class _Library(ModuleType):
    """A library as the recipe sees it, with some functions replaced. Other code still sees the original."""

    def __init__(self, own: ModuleType, makers: Mapping[str, Any]) -> None:
        super().__init__(own.__name__)
        self.__dict__.update(makers)
        self._own = own

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)


@contextlib.contextmanager
def noting_made(namespace: dict[str, Any], made: list[Any]) -> Iterator[None]:
    """Add to `made` every tensor that code in a recipe's `namespace` makes from numbers without a dtype."""
    instead: dict[int, Any] = {}
    for library, names in _MAKERS.items():
        module = sys.modules.get(library)
        if module is not None:
            makers = {name: _noting(getattr(module, name), made) for name in names}
            instead[id(module)] = _Library(module, makers)
            instead |= {id(getattr(module, name)): maker for name, maker in makers.items()}
    before = {name: value for name, value in namespace.items() if id(value) in instead}
    namespace.update({name: instead[id(value)] for name, value in before.items()})
    try:
        yield
    finally:
        namespace.update(before)


def _noting(own: Any, made: list[Any]) -> Any:
    @functools.wraps(own)
    def make(*args: Any, **options: Any) -> Any:
        found = own(*args, **options)
        if len(args) == 1 and "dtype" not in options and _is_of_numbers(args[0]):
            made.append(found)
        return found

    return make


def _is_of_numbers(value: Any) -> bool:
    leaves = leaves_in(value, is_leaf=lambda item: isinstance(item, dict))
    return all(isinstance(leaf, int | float) or getattr(leaf, "shape", None) == () for leaf in leaves)
