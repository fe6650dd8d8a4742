"""Models of a library that are known by the names of their arrays alone; `TYPES` is empty where there are none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from goldsmith.frameworks.framework import Framework
from goldsmith.frameworks.shared import gradients
from goldsmith.frameworks.shared.descent import Descent
from goldsmith.frameworks.shared.load import ConvertedModule, LoadedModule
from goldsmith.frameworks.shared.working_model import WorkingModel
from goldsmith.gold.arrays import is_inexact


class ForwardCalls:
    """There is no call of a module that hooks do not see."""

    def __init__(self, listener: Any) -> None: ...

    def attach(self, label: str, model: Any) -> None: ...

    def detach(self) -> None: ...


class Usual:
    TYPES: tuple[type, ...] = ()
    CALLED = "__call__"
    IN_STEP = False
    UNSEEN = ""
    OPTIMISERS: tuple[type, ...] = ()
    USUAL_GAIN = 1.0
    ForwardCalls, WorkingModel = ForwardCalls, WorkingModel
    LoadedModule, ConvertedModule = LoadedModule, ConvertedModule

    def __init__(self, library: Framework) -> None:
        self._library = library

    @property
    def _models(self) -> Any:
        return self._library.models

    def adopted(self, value: Any) -> Any:
        return value

    def unbuilt(self, model: Any) -> str:
        return ""

    def usual_draw(self, module: Any) -> tuple[float, int] | None:
        return None

    def state(self, model: Any) -> Any:
        return self._models.weights(model)

    def put_back(self, model: Any, before: Mapping[str, Any]) -> None:
        self._models.put(model, before)

    def parameters(self, model: Any) -> dict[str, Any]:
        repeated = {name for names in self._models.weight_facts(model).tied for name in names[1:]}
        return {name: item for name, item in self._models.named_parameters(model).items() if name not in repeated}

    def named_parameters(self, model: Any) -> dict[str, Any]:
        buffers = self._models.weight_facts(model).buffers
        return {name: item for name, item in self._models.weights(model).items() if name not in buffers}

    def frozen(self, model: Any) -> set[str]:
        return set()

    def unused_parameters(self, model: Any, returned: Any) -> tuple[str, ...]:
        return ()  # what was returned does not say what it was computed from

    def stress(self, model: Any, seed: int) -> Any:
        fixed = {
            name for name in self._models.weight_facts(model).buffers if name.rpartition(".")[2] not in ("mean", "var")
        }
        found = {name: item for name, item in self._models.weights(model).items() if name not in fixed}
        redrawn = {name: self._library.arrays.stressed(item, name, seed) for name, item in found.items()}
        return self._models.put(model, {name: item for name, item in redrawn.items() if item is not None})

    def place(self, model: Any, device: str) -> Any:
        weights = self._models.weights(model).items()
        return self._models.put(model, {name: self._library.arrays.place(array, device) for name, array in weights})

    def in_precision(self, model: Any, dtype: str) -> Any:
        floating = {name: array for name, array in self._models.weights(model).items() if is_inexact(array)}
        cast = self._library.arrays.cast
        return self._models.put(model, {name: cast(array, dtype) for name, array in floating.items()})

    # --- gradients, which are kept beside the model

    def gradients(self, model: Any) -> dict[str, Any]:
        return {**dict.fromkeys(self._models.parameters(model)), **gradients.kept_gradients(model)}

    def clear_gradients(self, model: Any) -> None:
        gradients.clear_gradients(model)

    def take_gradients(self, model: Any, loss: Callable[[Any], Any]) -> Any:
        return gradients.take_gradients(self._library, model, loss)

    def optimiser(self, model: Any, make: Callable[[Any], Any] | None = None) -> Any:
        return Descent.of(model, make)
