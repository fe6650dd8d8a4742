"""Traces: inputs and outputs of every named submodule while a case runs.

A *call* is one entry into the model from outside. Calls are kept whole, the first always, later ones
while they fit the budget; how many of how many were kept is part of what is recorded. One module's output
is often the next one's input: equal tensors are stored once.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from goldsmith.gold import array_hash, is_tensor

if TYPE_CHECKING:
    import torch

MAX_CALLS = 3
MAX_BYTES = 2 * 2**20


class Tracer:
    """Listens to the models of one case through forward hooks. `drew` says whether chance played in them."""

    def __init__(self) -> None:
        self.tensors: dict[str, torch.Tensor] = {}
        self.index: list[dict[str, Any]] = []
        self.calls = 0
        self.kept = 0
        self.drew = False
        self.returned_none: str | None = None
        self._stack: list[tuple[Any, dict[str, Any] | None]] = []
        self._stored: dict[str, str] = {}
        self._bytes = 0
        self._keeping = False
        self._chance: Any = None
        self._outer: list[Any] = []
        self._inner: list[Any] = []

    def attach(self, label: str, model: torch.nn.Module) -> None:
        for name, module in model.named_modules():
            enter, leave = _Hook(self, label, name, entering=True), _Hook(self, label, name, entering=False)
            handles = self._inner if name else self._outer
            handles.append(module.register_forward_pre_hook(enter, with_kwargs=True))
            handles.append(module.register_forward_hook(leave, with_kwargs=True, always_call=True))

    def detach(self) -> None:
        _remove(self._outer)
        _remove(self._inner)

    def enter(self, label: str, name: str, module: Any, args: Any, kwargs: Any) -> None:
        if not self._stack:
            self.calls += 1
            self._keeping = self._has_room
            self.kept += self._keeping
            self._chance = None if self.drew else _state_of_chance()
        entry: dict[str, Any] | None = None
        if self._keeping:
            entry = {
                "key": f"{len(self.index):04d}",
                "call": self.calls - 1,
                "model": label,
                "module": name,
                "class": type(module).__name__,
                "own": not type(module).__module__.startswith("torch."),
                "depth": len(self._stack),
                "training": module.training,
            }
            self.index.append(entry)
            entry["inputs"] = self._keep(f"{entry['key']}.input", [args, kwargs])
            form = _form([args, kwargs], itertools.count())
            entry["form"] = None if form is _NO_FORM else form
        self._stack.append((module, entry))

    def leave(self, name: str, module: Any, output: Any) -> None:
        if output is None and sys.exc_info()[0] is None:
            self.returned_none = f"{name or 'the model'} ({type(module).__name__})"
        while self._stack:
            owner, entry = self._stack.pop()
            if owner is module:
                if entry is not None:
                    entry["outputs"] = self._keep(f"{entry['key']}.output", [output])
                break
        if not self._stack and not name and not self._has_room:
            _remove(self._inner)  # the model is called as a whole: from here on its calls are only counted
        if not self._stack and self._chance is not None:
            self.drew = not bool((self._chance == _state_of_chance()).all())
            self._chance = None

    @property
    def _has_room(self) -> bool:
        return self.kept == 0 or (self.kept < MAX_CALLS and self._bytes < MAX_BYTES)

    def _keep(self, prefix: str, values: list[Any]) -> list[str]:
        """Store copies of all tensors in `values`, however nested; the names they were stored under."""
        names: list[str] = []
        for tensor in tensors_in(values):
            try:
                copy = tensor.detach().cpu().clone(memory_format=_contiguous())
                content = array_hash(copy)
            except RuntimeError:  # a tensor without storage, inside torch.func's transformations
                continue
            name = self._stored.setdefault(content, f"{prefix}.{len(names)}")
            if name not in self.tensors:
                self.tensors[name] = copy
                self._bytes += copy.numel() * copy.element_size()
            names.append(name)
        return names


def _remove(handles: list[Any]) -> None:
    for handle in handles:
        handle.remove()
    handles.clear()


class _Hook:
    """One hook on one module. Copies and pickles of a module take along one that no longer listens."""

    def __init__(self, tracer: Tracer | None, label: str, name: str, *, entering: bool) -> None:
        self._tracer = tracer
        self._label, self._name, self._entering = label, name, entering

    def __call__(self, module: Any, args: Any, kwargs: Any, output: Any = None) -> None:
        import torch

        if torch.compiler.is_compiling() or self._tracer is None:
            return
        if self._entering:
            self._tracer.enter(self._label, self._name, module, list(args), kwargs)
        else:
            self._tracer.leave(self._name, module, output)

    def __reduce__(self) -> Any:
        return _deaf, (self._entering,)


def _deaf(entering: bool) -> _Hook:
    return _Hook(None, "", "", entering=entering)


def tensors_in(value: Any) -> list[Any]:
    """Every tensor in `value`, however nested, in order."""
    if is_tensor(value):
        return [] if value.is_sparse else [value]
    if isinstance(value, dict):
        return [tensor for item in value.values() for tensor in tensors_in(item)]
    if isinstance(value, list | tuple):
        return [tensor for item in value for tensor in tensors_in(item)]
    return []


_NO_FORM = object()
TENSOR = "@tensor"


def _form(value: Any, number: Iterator[int]) -> Any:
    """What a module was called with, as JSON in which each tensor is a number in the order they were kept; with it
    the call can be made again. `_NO_FORM` when something in it is neither tensor nor plain."""
    if is_tensor(value):
        return _NO_FORM if value.is_sparse else {TENSOR: next(number)}
    if value is None or type(value) in (bool, int, float, str):
        return value
    if type(value) is dict and all(type(key) is str and key != TENSOR for key in value):
        items = {key: _form(item, number) for key, item in value.items()}
        return _NO_FORM if any(item is _NO_FORM for item in items.values()) else items
    if type(value) in (list, tuple):
        parts = [_form(item, number) for item in value]
        return _NO_FORM if any(item is _NO_FORM for item in parts) else parts
    return _NO_FORM


def _state_of_chance() -> Any:
    import torch

    return torch.get_rng_state()


def _contiguous() -> Any:
    import torch

    return torch.contiguous_format
