"""Hooks on modules. Copies and pickles of a module get hooks that do nothing, and compiled code calls none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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
