"""Loading weights into a torch model that a function converts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from goldsmith.frameworks.torch.load import tensor_of, unregistered
from goldsmith.weights.converted import ConvertedModel


class ConvertedModule(ConvertedModel):
    """A torch model with converted weights in it."""

    def _own(self, value: Any) -> torch.Tensor:
        return tensor_of(value).detach().clone()

    def _every(self) -> dict[str, Any]:
        parameters = dict(self.model.named_parameters(remove_duplicate=False)) | unregistered(self.model)
        return parameters | self._buffers()

    def _buffers(self) -> dict[str, Any]:
        return dict(self.model.named_buffers())

    def _groups(self) -> dict[str, list[str]]:
        found: dict[int, list[str]] = {}
        for name, item in self._every().items():
            if self._must_have(name):
                found.setdefault(id(item), []).append(name)
        return {names[0]: names for names in found.values()}

    def _gradients(self) -> dict[str, Any]:
        return {name: item.grad for name, item in self._parameters().items()}

    def _write(self, values: Mapping[str, Any]) -> None:
        every = self._every()
        with torch.no_grad():
            for name, value in values.items():
                every[name].copy_(tensor_of(value))
