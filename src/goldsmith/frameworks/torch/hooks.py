"""Hooks on modules, and calls of `module.forward(…)` itself, which no hook sees: some people call their modules so.

Copies and pickles of a module get hooks that do nothing, and compiled code calls none.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, Protocol

import torch


def on_enter(module: Any, call: Callable[[Any, Any, Any], None]) -> Any:
    """Call with a module and its arguments when it is called; the handle removes that."""
    return module.register_forward_pre_hook(_Hook(call), with_kwargs=True)


def on_leave(module: Any, call: Callable[[Any, Any, Any, Any], None], *, always: bool = False) -> Any:
    """Call with a module, its arguments and what it returned; if it raises, with None, and only if `always`."""
    return module.register_forward_hook(_Hook(call), with_kwargs=True, always_call=always)


class _Hook:
    def __init__(self, call: Callable[..., None] | None) -> None:
        self._call = call

    def __call__(self, *given: Any) -> None:
        if self._call is not None and not torch.compiler.is_compiling():
            self._call(*given)

    def __reduce__(self) -> Any:
        return _Hook, (None,)


class Listener(Protocol):
    """What is told of a call, as by hooks; `is_in` says whether it knows of it already."""

    def is_in(self, module: Any) -> bool: ...
    def enter(self, label: str, name: str, module: Any, args: Any, kwargs: Any) -> None: ...
    def leave(self, name: str, module: Any, output: Any) -> None: ...


class ForwardCalls:
    """Tells a listener of direct calls, by patching classes: a copy of a module, which is none of the model's, goes on
    as it is. torch's own classes are left alone."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._names: dict[int, tuple[str, str]] = {}
        self._before: dict[type, Callable[..., Any]] = {}

    def attach(self, label: str, model: Any) -> None:
        for name, module in model.named_modules():
            self._names[id(module)] = label, name
            for kind in type(module).__mro__:
                forward = vars(kind).get("forward")
                if kind.__module__.partition(".")[0] == "torch":
                    break
                if kind not in self._before and inspect.isfunction(forward):
                    self._before[kind] = forward
                    kind.forward = self._telling(forward)  # type: ignore[attr-defined]

    def detach(self) -> None:
        for kind, forward in self._before.items():
            kind.forward = forward  # type: ignore[attr-defined]
        self._before.clear()

    def _telling(self, forward: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(forward)
        def call(module: Any, *args: Any, **kwargs: Any) -> Any:
            if torch.compiler.is_compiling() or id(module) not in self._names or self._listener.is_in(module):
                return forward(module, *args, **kwargs)
            label, name = self._names[id(module)]
            self._listener.enter(label, name, module, list(args), kwargs)
            output = None
            try:
                output = forward(module, *args, **kwargs)
            finally:
                self._listener.leave(name, module, output)
            return output

        return call
