"""Calls of the functions and methods that students write, observed while a case runs.

Modules have hooks for their `forward`. Everything else (`ActionScaler.fit`, `next_token_loss`) is observed through
`sys.settrace`, which leaves the code as it is: no wrapper, no changed signature. A profiler would also be told of every
return and of every call into C, with the caller's variables copied each time: that took a third longer.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import opcode
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, ParamSpec, Protocol, TypeVar

from goldsmith.instruments.own_files import OwnFiles

P = ParamSpec("P")
R = TypeVar("R")
_MADE_LATER = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_tracers: list[Callable[..., Any]] = []
"""Those of this module that are in use."""


def unwatched(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function of goldsmith's own that runs inside a case: nothing within it is reported.

    It is not the case that calls there, and a tracer is told of every call: of a run's 1.6 million events all but a few
    thousand were goldsmith's own, and took three quarters of the time.
    """

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        tracer = sys.gettrace()
        if tracer not in _tracers:  # none, or the case's own, which may not survive being set again
            return function(*args, **kwargs)
        sys.settrace(None)
        try:
            return function(*args, **kwargs)
        finally:
            sys.settrace(tracer)

    return call


class Listener(Protocol):
    """A receiver of such calls. `name` is `function` or `Class.method`."""

    def enter_function(self, frame: FrameType, name: str, owner: Any) -> None:
        """Handle the start of a call; `arguments_of(frame)` is what it was called with."""

    def leave_function(self, frame: FrameType, value: Any, *, raised: bool) -> None:
        """Handle the end of a call."""


class OwnCode:
    """Functions in `files` that students write, by name (`function`, `Class.method`); without names, all that are
    defined at the top of a file or of a class there, except special methods. `found` are those that were called, with
    their modules."""

    def __init__(self, files: OwnFiles, written: frozenset[str] | None) -> None:
        self._files = files
        self._written = written
        self._last = frozenset(name.rpartition(".")[2] for name in written or ())
        self._known: dict[int, tuple[CodeType, bool]] = {}
        self._names: dict[tuple[int, int], tuple[type, str]] = {}
        self.found: dict[str, None] = {}

    @contextlib.contextmanager
    def watch(self, listener: Listener) -> Iterator[None]:
        """Report every call in this thread to `listener` within this context."""
        if self._written is not None and not self._written:
            yield
            return

        known = self._known

        def enter(frame: FrameType, event: str, value: Any) -> Any:
            number = id(frame.f_code)  # to hash a code object takes microseconds: it hashes all of its constants
            own = known.get(number)
            if own is None:
                own = known[number] = frame.f_code, self._may_be_own(frame.f_code)
            if not own[1] or event != "call":
                return None
            owner = _owner(frame)
            name = self._name_of(frame.f_code, owner)
            if not name:
                return None
            frame.f_trace_lines = False
            listener.enter_function(frame, name, owner)
            return leave

        def leave(frame: FrameType, event: str, value: Any) -> Any:
            if event == "return":
                listener.leave_function(frame, value, raised=not _returns(frame))
            return leave

        before = sys.gettrace()
        _tracers.append(enter)
        sys.settrace(enter)
        try:
            yield
        finally:
            sys.settrace(before)
            _tracers.remove(enter)

    def _may_be_own(self, code: CodeType) -> bool:
        named = code.co_name in self._last if self._written is not None else _is_plain(code)
        return named and code.co_filename in self._files and not code.co_flags & _MADE_LATER

    def _name_of(self, code: CodeType, owner: Any) -> str:
        """Return the name that students use; a method's comes from its object's class, as it may be inherited."""
        kind = type(owner)  # kept with its name, so that its id is not reused
        known = self._names.get((id(code), id(kind)))
        if known is None:
            known = self._names[id(code), id(kind)] = kind, self._find_name(code, owner)
            if known[1]:
                self.found[f"{Path(code.co_filename).stem}.{known[1]}"] = None
        return known[1]

    def _find_name(self, code: CodeType, owner: Any) -> str:
        if self._written is None:
            return code.co_qualname if owner is None else f"{type(owner).__name__}.{code.co_name}"
        classes = () if owner is None else type(owner).__mro__
        names = [code.co_qualname, *(f"{kind.__name__}.{code.co_name}" for kind in classes)]
        return next((name for name in names if name in self._written), "")


def _is_plain(code: CodeType) -> bool:
    """Return whether code is a function of a module or a method of its class, and no special one."""
    name = code.co_name
    special = name.startswith("__") and name.endswith("__") and name != "__call__"
    return not special and "<" not in code.co_qualname and code.co_qualname.count(".") <= 1


def _owner(frame: FrameType) -> Any:
    """Return the object that a method belongs to; None for a function."""
    code = frame.f_code
    return frame.f_locals.get("self") if code.co_argcount and code.co_varnames[0] == "self" else None


def arguments_of(frame: FrameType) -> tuple[list[Any], dict[str, Any]]:
    """Return the positional arguments, without `self`, and the keyword-only ones of a call that has just begun."""
    code, values = frame.f_code, frame.f_locals
    names = code.co_varnames
    positional = list(names[: code.co_argcount])
    named = names[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    at = code.co_argcount + code.co_kwonlyargcount
    args = [values[name] for name in positional[1 if _owner(frame) is not None else 0 :] if name in values]
    if code.co_flags & inspect.CO_VARARGS:
        args += values.get(names[at], ())
        at += 1
    kwargs = {name: values[name] for name in named if name in values}
    if code.co_flags & inspect.CO_VARKEYWORDS:
        kwargs |= values.get(names[at], {})
    return args, kwargs


def _returns(frame: FrameType) -> bool:
    """Return whether a frame ends at a `return`: a tracer gets a `return` event for an exception, too."""
    code = frame.f_code.co_code
    return 0 <= frame.f_lasti < len(code) and opcode.opname[code[frame.f_lasti]].startswith("RETURN")
