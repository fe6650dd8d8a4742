"""Cases run under conditions that their recipe does not have, to find out what would show a difference.

Gold's inputs made small or large or drawn anew, weights off their identity, gradients of everything that is recorded,
the other mode with dropout that drops all, more batches: each run is in float64, so that a difference is a difference.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import sys
from typing import Any, TypeVar

from goldsmith.gold import is_tensor, walk
from goldsmith.recording.given import Given
from goldsmith.recording.models import is_module
from goldsmith.recording.protocol import Condition
from goldsmith.recording.stress import apply_stress

T = TypeVar("T")
_SMALL, _LARGE = 1e-3, 30.0


@dataclasses.dataclass(frozen=True)
class GivenUnder(Given):
    """Gold's inputs as a condition has them; its weights as they are."""

    condition: Condition = "stress"

    def input(self, name: str, made: Any) -> Any:
        if self.condition in ("small", "large"):
            resized = dataclasses.replace(self, change=lambda array: self._resized(self.change(array)))
            return resized._pour(made, self.inputs[name])
        value = self._pour(made, made) if self.condition == "draws" else super().input(name, made)
        return [*value, *reversed(value)] if self.condition == "longer" and isinstance(value, list) else value

    def _resized(self, array: Any) -> Any:
        """Thirty times as large; or a thousandth, and of size 1e-3 at most."""
        if self.condition == "large":
            return array * _LARGE
        size = float(abs(array).max()) if math.prod(array.shape) else 0.0
        return array * (min(_SMALL, _SMALL / size) if 0 < size < math.inf else _SMALL)


class Changes:
    """What a condition does to the models and outputs of one case."""

    def __init__(self, condition: Condition, seed: int) -> None:
        self.condition = condition
        self._seed = seed
        self._sources: dict[str, Any] = {}
        self._recorded: list[Any] = []

    def model(self, name: str, model: Any) -> None:
        if not is_module(model):
            return
        if self.condition == "stress":
            apply_stress(model, self._seed)
        elif self.condition == "mode":
            model.train(not model.training)
            dropout = sys.modules["torch"].nn.modules.dropout._DropoutNd
            for part in model.modules():
                if isinstance(part, dropout):
                    part.p = 1.0
        self._sources |= {f"{name}.{path}": weight for path, weight in model.named_parameters() if weight.requires_grad}

    def input(self, name: str, value: T) -> T:
        """Where there is no model, gradients go to what a function is given."""
        if self.condition != "gradients" or self._sources or not is_tensor(value):
            return value
        tensor: Any = value
        if not tensor.is_floating_point():
            return value
        self._sources[name] = tensor.detach().requires_grad_()
        return self._sources[name].clone()  # type: ignore[no-any-return]

    def record(self, name: str, value: Any) -> None:
        self._recorded += [leaf for _, leaf in walk(value, name) if is_tensor(leaf)]

    def gradients(self) -> dict[str, Any]:
        """Of everything that was recorded and still can be differentiated, with respect to every source."""
        if self.condition != "gradients" or not self._sources:
            return {}
        torch = sys.modules["torch"]
        found: dict[str, Any] = {}
        for leaf in self._recorded:
            if not leaf.requires_grad:
                continue
            direction = torch.linspace(-1.0, 1.0, leaf.numel(), dtype=leaf.dtype).cos().reshape(leaf.shape)
            with contextlib.suppress(RuntimeError):  # the case has called backward() itself
                gradients = torch.autograd.grad(
                    leaf, list(self._sources.values()), direction, retain_graph=True, allow_unused=True
                )
                for name, gradient in zip(self._sources, gradients, strict=True):
                    if gradient is not None:
                        found[name] = found.get(name, 0) + gradient.detach()
        return {f"gradients.{name}": gradient for name, gradient in found.items()}
