"""Calls of the students' parts, with their arguments, observed while the course's own code runs.

The course's public tests and examples in docstrings show how a part is meant to be called; and when a model runs, its
parts are observed being called, too.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from goldsmith.drafts.specs import Arguments, Built, Spec, Unknown, arrays_in, walk
from goldsmith.drafts.specs_of_values import Reader
from goldsmith.drafts.targets import Target
from goldsmith.frameworks.framework import is_module

_MAX_SIGHTINGS = 8


class Sightings:
    """Distinct arguments by the name of what was called with them; `Class` for constructors."""

    def __init__(self, targets: Sequence[Target], root: str, folder: str) -> None:
        self._targets = targets
        self._root, self._folder = root, folder
        self._reader = Reader()
        self._found: dict[str, dict[str, Arguments]] = {}
        self.owners: dict[str, Built] = {}
        """What the object was built with that a method was called on, by `Class.method`."""
        self._depth = 0
        self.on_sighting: Callable[[str, Arguments | Built], None] = lambda name, seen: None
        """Called with what is new: the arguments of a call, or the object that a method was called on."""

    def take(self, name: str, seen: Arguments | Built) -> None:
        """Take what another process has seen."""
        if isinstance(seen, Built):
            self.owners.setdefault(name, seen)
        else:
            self._note(name, seen)

    def of(self, name: str) -> list[Arguments]:
        """Return calls whose arguments can be written down, those with arrays of the most different ranks first."""
        found = [item for item in self._found.get(name, {}).values() if is_written(item)]
        return sorted(found, key=lambda item: -len({len(array.shape) for array in arrays_in(item)}))

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Observe calls inside this context."""
        undo: list[Callable[[], None]] = []
        try:
            for kind in self._classes():
                self._watch_class(kind, undo)
            for target in self._targets:
                if not target.is_class and callable(target.object):
                    self._watch_function(target, undo)
            yield
        finally:
            for item in reversed(undo):
                item()

    def _classes(self) -> list[type]:
        """Return the classes of the course, provided ones, too: a function may take their objects."""
        found: dict[type, None] = {}
        for module in list(sys.modules.values()):
            file = getattr(module, "__file__", None) or ""
            if file.startswith(self._folder):
                for value in list(vars(module).values()):
                    if inspect.isclass(value) and value.__module__ == module.__name__:
                        found[value] = None
        return list(found)

    def _watch_class(self, kind: type, undo: list[Callable[[], None]]) -> None:
        own = {item.name: item for item in self._targets if item.object is kind}
        methods = own[kind.__name__].methods if kind.__name__ in own else ()
        with contextlib.suppress(TypeError, AttributeError):
            self._patch(kind, "__init__", self._constructor(kind), undo)
        for method in methods:
            found = inspect.getattr_static(kind, method, None)
            if method != "__init__" and inspect.isfunction(found):
                self._patch(kind, method, self._caller(f"{kind.__name__}.{method}", found, of_class=True), undo)

    def _patch(self, owner: Any, name: str, value: Any, undo: list[Callable[[], None]]) -> None:
        had, before = name in vars(owner), vars(owner).get(name)
        setattr(owner, name, value)
        undo.append(lambda: setattr(owner, name, before) if had else delattr(owner, name))

    def _watch_function(self, target: Target, undo: list[Callable[[], None]]) -> None:
        """Replace the function under every name that modules of the course have for it, so that calls in tests are
        seen, too."""
        watched = self._caller(target.name, target.object, of_class=False)
        for module in list(sys.modules.values()):
            if (getattr(module, "__file__", None) or "").startswith(self._root):
                for name, value in list(vars(module).items()):
                    if value is target.object:
                        self._patch(module, name, watched, undo)

    def _constructor(self, kind: Any) -> Any:
        plain = kind.__init__

        @functools.wraps(plain)
        def build(this: Any, *args: Any, **kwargs: Any) -> None:
            if type(this) is kind:
                named = self._named(plain, (this, *args), kwargs, skip=1)
                if named is not None:
                    spec = Built(kind.__module__, kind.__name__, tuple(named.items()), is_model=is_module(this))
                    if is_written(named):
                        self._reader.note_built(this, spec)
                    self._note(kind.__name__, named)
            plain(this, *args, **kwargs)

        return build

    def _caller(self, name: str, plain: Any, *, of_class: bool) -> Any:
        @functools.wraps(plain)
        def call(*args: Any, **kwargs: Any) -> Any:
            named = self._named(plain, args, kwargs, skip=1 if of_class else 0)
            if named is not None:
                self._note(name, named)
                owner = self._reader.read(args[0]) if of_class and args else None
                if isinstance(owner, Built) and not owner.holds_array and name not in self.owners:
                    self.owners[name] = owner
                    self.on_sighting(name, owner)
            return plain(*args, **kwargs)

        return call

    def _named(self, function: Any, args: Any, kwargs: Any, skip: int) -> dict[str, Spec] | None:
        if self._depth:
            return None
        self._depth += 1  # reading a value may call a watched function
        try:
            bound = inspect.signature(function).bind(*args, **kwargs)
            found: dict[str, Spec] = {}
            for name, value in list(bound.arguments.items())[skip:]:
                kind = bound.signature.parameters[name].kind
                if kind is inspect.Parameter.VAR_KEYWORD:
                    found |= {key: self._reader.read(item) for key, item in value.items()}
                elif kind is inspect.Parameter.VAR_POSITIONAL:
                    found[f"*{name}"] = self._reader.read(tuple(value))
                else:
                    found[name] = self._reader.read(value)
            return found
        except Exception:
            return None
        finally:
            self._depth -= 1

    def _note(self, name: str, arguments: Arguments) -> None:
        known = self._found.setdefault(name, {})
        if len(known) < _MAX_SIGHTINGS and repr(arguments) not in known:
            known[repr(arguments)] = arguments
            self.on_sighting(name, arguments)


def is_written(arguments: Arguments) -> bool:
    return not any(isinstance(item, Unknown) for spec in arguments.values() for item in walk(spec))


class _Late(BaseException):
    """Raised when tests take too long. A BaseException, so that tests do not catch it."""


def run_public_tests(sightings: Sightings, root: str, files: Sequence[str], seconds: float) -> None:
    """Run the course's public tests on the solution to see how they call it, whether they pass or not; raise
    `TimeoutError` if they are not through in so many seconds of processor time, which do not pass while others have the
    machine. Those that wait for something are for the caller to end."""
    try:
        import pytest
    except ImportError:
        return
    deadline = time.process_time() + seconds
    left: list[str] = []

    class Watch:
        def pytest_runtest_setup(self, item: Any) -> None:
            if time.process_time() > deadline:
                left.append(item.name)
                pytest.skip("there is no time for more")

    def late(number: int, frame: Any) -> None:
        left.append("")
        raise _Late

    before = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    here, paths = os.getcwd(), list(sys.path)
    try:
        with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
            os.chdir(root)
            options = ["-q", "-p", "no:cacheprovider", "-p", "no:goldsmith", "-p", "no:xdist", "-p", "no:randomly"]
            with contextlib.suppress(_Late, Exception, SystemExit), sightings.watching():
                pytest.main([*options, f"--rootdir={root}", *files], plugins=[Watch()])
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
        os.chdir(here)
        sys.path[:] = paths
    if left:
        raise TimeoutError(f"they took more than {seconds:g} seconds")


def run_examples(sightings: Sightings, targets: Sequence[Target]) -> None:
    """Run the examples in docstrings, line by line, ignoring errors."""
    import doctest

    parser = doctest.DocTestParser()
    for target in targets:
        names = vars(sys.modules[target.module]) if target.module in sys.modules else {}
        texts = [inspect.getdoc(item) or "" for item in (target.object, *_methods(target)) if item is not None]
        for text in texts:
            with contextlib.suppress(Exception), sightings.watching():
                scope = dict(names)
                for example in parser.get_examples(text):
                    exec(example.source, scope)


def _methods(target: Target) -> Iterator[Any]:
    for method in target.methods:
        yield getattr(target.object, method, None)
