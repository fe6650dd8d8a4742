"""How a library computes that has no global random state, no settings and no compiler, and that does not tell of its
operations; gradients of a library that differentiates functions."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any

import numpy as np

from goldsmith.frameworks.framework import CannotCompile, Framework
from goldsmith.frameworks.shared.noise import disturbed
from goldsmith.gold.arrays import as_numpy


class Usual:
    disturbs_operations = False

    def __init__(self, library: Framework) -> None:
        self._library = library
        self._wanted: ContextVar[bool] = ContextVar("wanted", default=True)

    def compiled(self, target: Any) -> Any:
        raise CannotCompile(f"nothing compiles code of {self._library.name}")

    def tolerate_nondeterminism(self) -> None:
        """Do nothing: nothing is refused."""

    def settings(self) -> dict[str, Any]:
        return {}

    def settings_changed(self, before: Mapping[str, Any]) -> tuple[str, ...]:
        return ()

    def undisturbed(self) -> contextlib.AbstractContextManager[Any]:
        return contextlib.nullcontext()

    def setting_up(self) -> contextlib.AbstractContextManager[Any]:
        return self._library.numerics.undisturbed()

    # --- randomness

    def seed(self, seed: int, *, threads: int | None = None, device: str = "") -> None:
        """Do nothing: there is no global state to seed."""

    def initial_seed(self) -> int | None:
        return None

    def random_state(self) -> tuple[Any, ...]:
        return ()

    def draw_watch(self) -> Callable[[], bool]:
        before = self._library.numerics.random_state()
        return lambda: before != self._library.numerics.random_state()

    def random_state_kept(self, seed: int | None = None) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def source_name(self, value: Any) -> str:
        return ""

    def reseeded(self, value: Any, seed: int) -> Any:
        return value

    # --- noise

    def disturb(self, array: Any, generator: np.random.Generator, least: float = 0.0) -> Any:
        arrays = self._library.arrays
        dtype = arrays.dtype(array)
        moved = disturbed(as_numpy(array), dtype, generator, least)
        return arrays.like(arrays.from_numpy(moved, dtype), array)

    def last_place_noise(self, seed: int, unit: float = 0.0) -> Callable[[Any], Any]:
        generator = np.random.default_rng(seed)
        return lambda array: self._library.numerics.disturb(array, generator, unit or 2.0**-23)

    # --- gradients

    @contextlib.contextmanager
    def without_gradients(self, *, wanted: bool = False) -> Iterator[None]:
        token = self._wanted.set(wanted)
        try:
            yield
        finally:
            self._wanted.reset(token)

    def with_gradients(self) -> contextlib.AbstractContextManager[Any]:
        return self.without_gradients(wanted=True)

    def records_gradients(self) -> bool:
        return self._wanted.get()

    def backward(self, *args: Any) -> Any:
        from goldsmith.frameworks.shared import gradients

        return gradients.backward(self._library, *args)

    def passed_back(self, *args: Any) -> Any:
        from goldsmith.frameworks.shared import gradients

        return gradients.passed_back(self._library, *args)

    def backward_total(self, *args: Any) -> Any:
        from goldsmith.frameworks.shared import gradients

        return gradients.backward_total(*args)

    def gradients_of(self, records: Sequence[Any], sources: Mapping[str, Any]) -> dict[str, Any]:
        return {}  # an array does not know what it was computed from
