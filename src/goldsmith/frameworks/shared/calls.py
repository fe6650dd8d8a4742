"""Calls of modules, told to listeners, where a library has no hooks: classes are patched while anybody listens."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

_Key = tuple[int, str]


@dataclass(eq=False)
class _Handle:
    calls: Calls
    module: Any
    enter: Any = None
    leave: Any = None
    always: bool = False

    def remove(self) -> None:
        self.calls.forget(self)


@dataclass
class Calls:
    """Calls of a library's modules.

    seen:  what listeners are told of the values of a call, None if they are told nothing
    noted: called with a module and its arguments before that
    part:  of a module that its library tells of itself (`told`), the model that it is inside of and its name there
    """

    seen: Callable[[Any], Any]
    noted: Callable[[Any, Any, Any], None]
    part: Callable[[Any], tuple[Any, str] | None]
    _handles: dict[_Key, list[_Handle]] = field(default_factory=dict)
    _patched: dict[type, tuple[Any, int]] = field(default_factory=dict)
    """The `__call__` of each class that is patched, and how many listeners there are."""
    _open: list[Any] = field(default_factory=list)
    """The modules whose calls have not ended."""

    def on_enter(self, module: Any, call: Callable[[Any, Any, Any], None]) -> Any:
        return self._listen(_Handle(self, module, enter=call))

    def on_leave(self, module: Any, call: Callable[[Any, Any, Any, Any], None], *, always: bool = False) -> Any:
        return self._listen(_Handle(self, module, leave=call, always=always))

    def hears(self, module: Any) -> bool:
        """Say whether anybody listens to calls of a module."""
        return bool(self._handles.get(self._key(module)))

    def told(self, module: Any, shown: Any, call: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Make a call, and tell those who listen to a module of it, as one of the module that they are shown."""
        handles = list(self._handles.get(self._key(module), ()))
        given = self.seen([args, kwargs]) if handles else None
        if given is None:
            return call(*args, **kwargs)
        self.noted(module, args, kwargs)
        for handle in handles:
            if handle.enter is not None:
                handle.enter(shown, *given)
        self._open.append(shown)
        returned, finished = None, False
        try:
            returned = call(*args, **kwargs)
            finished = True
        finally:
            self._open.pop()
            told = self.seen([returned])
            for handle in handles:
                if handle.leave is not None and (finished or handle.always):
                    handle.leave(shown, *given, told and told[0])
        return returned

    def forget(self, handle: _Handle) -> None:
        key = self._key(handle.module)
        if handle in self._handles.get(key, ()):
            self._handles[key].remove(handle)
            if not self._handles[key]:
                del self._handles[key]
            if self.part(handle.module) is None:
                self._restore(type(handle.module))

    def _key(self, module: Any) -> _Key:
        model, name = self.part(module) or (module, "")
        return id(model), name

    def _listen(self, handle: _Handle) -> _Handle:
        self._handles.setdefault(self._key(handle.module), []).append(handle)
        if self.part(handle.module) is None:
            self._patch(type(handle.module))
        return handle

    def _patch(self, kind: type) -> None:
        for owner in _callable_classes(kind):
            original, count = self._patched.get(owner, (vars(owner)["__call__"], 0))
            self._patched[owner] = original, count + 1
            if not count:
                setattr(owner, "__call__", self._telling(original))  # noqa: B010

    def _restore(self, kind: type) -> None:
        for owner in _callable_classes(kind):
            original, count = self._patched.pop(owner)
            if count > 1:
                self._patched[owner] = original, count - 1
            else:
                setattr(owner, "__call__", original)  # noqa: B010

    def _telling(self, original: Any) -> Callable[..., Any]:
        @functools.wraps(original)
        def call(module: Any, *args: Any, **kwargs: Any) -> Any:
            bound = original.__get__(module, type(module))
            if self._open and self._open[-1] is module:  # a class calls the one that it inherits from
                return bound(*args, **kwargs)
            return self.told(module, module, bound, args, kwargs)

        return call


def _callable_classes(kind: type) -> list[type]:
    return [owner for owner in kind.__mro__ if "__call__" in vars(owner)]
