"""The seam: which libraries of arrays and models are in use, and what Goldsmith knows of each.

A framework is a package with the modules `arrays`, `models`, `numerics` and `process`, which have the functions of the
protocols in `protocols.py`; what a module leaves out, `usual_*.py` answer. It is found by its library's name in
`sys.modules`: what the user's code has not imported is never imported for it. Frameworks of other distributions
register their package under the entry point `goldsmith.frameworks`.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeGuard, cast

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from goldsmith.frameworks.protocols import Arrays, Models, Numerics, Process

GROUP = "goldsmith.frameworks"
_OWN = {name: f"goldsmith.frameworks.{name}" for name in ("numpy", "torch", "jax")}


class Watch:
    """What a run under conditions has shown of itself.

    pure:        everything was computed in float64, as far as was watched
    foreign:     something was rounded outside of the library
    rounded_to:  the dtypes that results were rounded to, by name
    operations:  how many operations noise has disturbed; `wide`, how many of them rounded to float64
    outputs:     what operations returned, by number, if that is to be kept
    optimisers:  the course's own optimisers that took steps, by class, with the most that they were given
    changed:     settings of libraries that the code changed, in words; they have been put back
    graphs:      how many pieces of the code were compiled
    """

    def __init__(self) -> None:
        self.pure, self.foreign = True, False
        self.rounded_to: tuple[str, ...] = ()
        self.operations = self.wide = 0
        self.outputs: dict[str, Any] = {}
        self.optimisers: dict[str, Any] = {}
        self.changed: tuple[str, ...] = ()
        self.graphs = 0


class CannotCompile(Exception):
    """Nothing can be compiled here; the message says why."""


_WATCHES: list[Watch] = []
"""Those of the conditions that are held now."""


class Framework:
    """A library of arrays or models, by the name of its module, and the package with what Goldsmith knows of it."""

    def __init__(self, name: str, package: str) -> None:
        self.name, self._package = name, package

    @functools.cached_property
    def suffix(self) -> str:
        """Return the suffix of files that the library writes; empty if it has none of its own."""
        return str(getattr(importlib.import_module(self._package), "SUFFIX", ""))

    @functools.cached_property
    def arrays(self) -> Arrays:
        return cast("Arrays", self._part("arrays"))

    @functools.cached_property
    def models(self) -> Models:
        return cast("Models", self._part("models"))

    @functools.cached_property
    def numerics(self) -> Numerics:
        return cast("Numerics", self._part("numerics"))

    @functools.cached_property
    def process(self) -> Process:
        return cast("Process", self._part("process"))

    def preload(self, *, optimisers: bool = True) -> None:
        """Import the library and all that is known of it: children that are forked then have it already."""
        self.process.preload()
        late = getattr(self.process, "preload_optimisers", None)
        if optimisers and late is not None:
            late()
        for part in ("arrays", "models", "numerics"):
            getattr(self, part)

    def _part(self, name: str) -> ModuleType:
        importlib.import_module(self.name)  # first, so that what waits for it can ask for any part
        found = importlib.import_module(f"{self._package}.{name}")

        answers = functools.cache(lambda: importlib.import_module(f"goldsmith.frameworks.usual_{name}").Usual(self))

        def left_out(wanted: str) -> Any:
            return vars(found).setdefault(wanted, getattr(answers(), wanted))

        vars(found).setdefault("__getattr__", left_out)
        return found


_NO_ARRAYS = frozenset((type(None), bool, int, float, complex, str, bytes, list, tuple, dict))
_OF_TYPE: dict[type, Framework] = {}


def framework_of(value: object) -> Framework | None:
    """Return the framework whose array a value is; None for anything else."""
    kind = type(value)
    known = _OF_TYPE.get(kind)
    if known is not None or kind in _NO_ARRAYS:
        return known
    for item in active():
        if isinstance(value, item.arrays.TYPES):
            if issubclass(kind, item.arrays.TYPES):  # and not only by what it says of itself
                _OF_TYPE[kind] = item
            return item
    return None


def arrays_of(array: Any) -> Arrays:
    """Return the functions for arrays of this array's library."""
    found = framework_of(array)
    assert found is not None
    return found.arrays


def are_equal(one: Any, two: Any) -> bool:
    """Say whether two arrays of one library have the same shape and the same numbers."""
    return tuple(one.shape) == tuple(two.shape) and bool(arrays_of(one).equal(one, two))


def models_of(value: object) -> Models | None:
    """Return the models of the framework whose model a value is; None for anything else."""
    found = library_of(value)
    return None if found is None else found.models


def library_of(model: object) -> Framework | None:
    """Return the framework whose model a value is; None for anything else."""
    return next((item for item in active() if isinstance(model, item.models.TYPES)), None)


def adopted(value: Any) -> Any:
    """Return as a model what means one, such as a pair of a module and its variables; anything else as it is."""
    for item in active():
        value = item.models.adopted(value)
    return value


def is_module(value: object) -> TypeGuard[Any]:
    """Say whether a value is a framework's model, whose weights the framework knows."""
    return models_of(value) is not None


def is_model_class(kind: object) -> bool:
    return isinstance(kind, type) and any(issubclass(kind, item.models.TYPES) for item in active())


def is_optimiser_class(kind: object) -> bool:
    return isinstance(kind, type) and any(issubclass(kind, item.models.OPTIMISERS) for item in active())


def numerics_of(array: Any) -> Numerics:
    """Return the numerics of an array's library."""
    found = framework_of(array)
    assert found is not None
    return found.numerics


def active() -> list[Framework]:
    """Return the frameworks whose libraries have been imported in this process."""
    return [item for item in registered() if item.name in sys.modules]


def modelling() -> Framework | None:
    """Return the library in use whose models learn; None where there is none."""
    return next((item for item in active() if item.models.TYPES), None)


def storing() -> Framework:
    """Return the library whose files hold what is recorded: the one in use, NumPy where no other has files."""
    return next((item for item in reversed(active()) if item.suffix), framework("numpy"))


def writer_of(suffix: str) -> Framework:
    """Return the library that writes files with this suffix; it is imported when it is used."""
    return next(item for item in registered() if item.suffix == suffix)


def framework(name: str) -> Framework:
    """Return a framework by its name; its library is imported when it is used. One that nobody has registered here
    raises `ModuleNotFoundError`, as a library that is missing does."""
    found = next((item for item in registered() if item.name == name), None)
    if found is None:
        raise ModuleNotFoundError(f"nothing is known here of {name}", name=name)
    return found


@functools.cache
def registered() -> tuple[Framework, ...]:
    """Return all frameworks, in the order in which values are offered to them: Goldsmith's own first."""
    others = {name: entry.value for name, entry in entry_points_of(GROUP).items()}
    packages = _OWN | others | _OWN  # own ones come first, and no other in the place of one
    return tuple(Framework(name, package) for name, package in packages.items())


def entry_points_of(group: str) -> dict[str, EntryPoint]:
    """Return what is registered in a group, by name; nothing is imported of it."""
    if not _is_named_anywhere(f"[{group}]".encode()):
        return {}
    from importlib.metadata import entry_points

    return {item.name: item for item in entry_points(group=group)}


def _is_named_anywhere(group: bytes) -> bool:
    """Look for the group's name in all metadata: 2 ms, where to import and ask `importlib.metadata` takes 50."""
    for folder in sys.path:
        with contextlib.suppress(OSError), os.scandir(folder or ".") as entries:
            for entry in entries:
                if entry.name.endswith((".dist-info", ".egg-info")):
                    with contextlib.suppress(OSError), open(f"{entry.path}/entry_points.txt", "rb") as file:
                        if group in file.read():
                            return True
    return False


@contextlib.contextmanager
def conditions(**wanted: Any) -> Iterator[Watch]:
    """Hold conditions within this context, in every library that is in use; the watch says what came of it.

    precision:      compute in this floating dtype where code asks for none; in float64, also where it asks for float32
    watched:        in float64, watch every operation for rounding, which takes time
    lightly:        in float64, change only the functions that usually get a dtype, which is faster
    compiled:       let code be compiled, which is otherwise run as it is written
    tf32:           allow products of float32 to be computed in TF32, on devices that do
    noise:          disturb what operations return by up to a unit in the last place, drawn from this seed
    narrowed:       disturb float64 as if it were float32
    marked_memory:  fill memory that is not initialised with NaN, or see to it that it is not
    note_dtypes:    note the dtypes that results are rounded to
    keep_outputs:   keep what operations return, as far as there is room: then the context ends early
    note_optimisers: note which of the course's own optimisers take steps
    on_draw:        call this when random numbers have been drawn
    """
    watch = Watch()
    _WATCHES.append(watch)
    try:
        with contextlib.ExitStack() as stack:
            for item in active():
                stack.enter_context(item.numerics.conditions(watch, **wanted))
            yield watch
    finally:
        _WATCHES.remove(watch)


@contextlib.contextmanager
def rounding_unnoted() -> Iterator[None]:
    """Round within this context without that being held against the run: others take the place of these numbers."""
    before = [(watch, watch.pure, watch.foreign) for watch in _WATCHES]
    yield
    for watch, pure, foreign in before:
        watch.pure, watch.foreign = pure, foreign


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Suspend what disturbs or counts operations within this context, in any library in use."""
    with contextlib.ExitStack() as stack:
        for item in active():
            stack.enter_context(item.numerics.undisturbed())
        yield


@contextlib.contextmanager
def without_gradients() -> Iterator[None]:
    """Record no gradients within this context, in any library in use."""
    with contextlib.ExitStack() as stack:
        for item in active():
            stack.enter_context(item.numerics.without_gradients())
        yield


def source_name(value: object) -> str:
    """Name an argument that random numbers are drawn from, such as a key; empty for any other value."""
    return next((name for item in active() if (name := item.numerics.source_name(value))), "")


def reseeded(value: Any, seed: int) -> Any:
    """Return an argument that random numbers are drawn from with another seed, and any other as it is."""
    found = next((item for item in active() if item.numerics.source_name(value)), None)
    return value if found is None else found.numerics.reseeded(value, seed)
