"""Arrays of a library that records no gradients in them, and whose files are NumPy's."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from goldsmith.foundation.nested import map_tree
from goldsmith.frameworks.framework import Framework, framework
from goldsmith.gold.arrays import as_numpy, is_array, is_floating, is_inexact


class Usual:
    def __init__(self, library: Framework) -> None:
        self._library = library

    def wide(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def dtype(self, array: Any) -> str:
        return str(array.dtype)

    def received(self, array: Any) -> Any:
        return self._library.arrays.from_numpy(array)

    def place(self, array: Any, device: str) -> Any:
        return array

    def moved(self, array: Any, device: Any, dtype: str) -> Any:
        arrays = self._library.arrays
        if dtype and (is_floating(array) or (is_inexact(array) and dtype == "float64")):
            array = arrays.cast(array, dtype)
        found = arrays.copy(array)
        return found if device is None else arrays.place(found, device)

    def stressed(self, array: Any, name: str, seed: int) -> Any:
        arrays = self._library.arrays
        if arrays.refusal(array) is not None or not is_floating(array):
            return None
        drawn = framework("numpy").arrays.stressed(as_numpy(array), name, seed)
        return arrays.cast(arrays.like(drawn, array), arrays.dtype(array))

    def detached(self, array: Any) -> Any:
        return array

    def alias(self, array: Any) -> Any:
        return array

    def unwrapped(self, array: Any) -> Any:
        return array

    def learning_as(self, array: Any, template: Any) -> Any:
        return array

    def learning(self, array: Any) -> Any:
        return None

    def learns(self, array: Any) -> bool:
        return False

    def equal(self, one: Any, two: Any) -> bool:
        return bool(np.array_equal(*(as_numpy(self._library.arrays.to_numpy(item)) for item in (one, two))))

    def is_dense(self, array: Any) -> bool:
        return True

    def is_inference(self, array: Any) -> bool:
        return False

    def refusal(self, array: Any) -> tuple[str, str] | None:
        return None

    def device_of(self, array: Any) -> Any:
        return None

    # --- files

    def save(self, payload: Mapping[str, Any], file: IO[bytes]) -> None:
        framework("numpy").arrays.save(payload, file)

    def load(self, path: Path, *, mapped: bool = False) -> Any:
        make = self._library.arrays.from_numpy
        return map_tree(lambda leaf: make(leaf) if is_array(leaf) else leaf, framework("numpy").arrays.load(path))

    def save_tensors(self, tensors: Mapping[str, Any], metadata: dict[str, str] | None = None) -> bytes:
        return framework("numpy").arrays.save_tensors(tensors, metadata)

    def load_tensors(self, path: Path) -> dict[str, Any]:
        held = framework("numpy").arrays.load_tensors(path)
        return {name: self._library.arrays.from_numpy(item) for name, item in held.items()}
