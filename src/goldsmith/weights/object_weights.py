"""Weights outside torch modules and their registered parameters: found by walking through an object, read and replaced.

A hand-written `Parameter`, layers in a list, arrays in dicts: everything that holds numbers is a slot, named by its
path (`layers.0.weight`), as in a state dict.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from goldsmith.foundation.nested import leaves_in
from goldsmith.frameworks.framework import arrays_of, is_module
from goldsmith.gold.arrays import as_numpy, is_array, is_tensor
from goldsmith.weights.values import array_like

_MAX_DEPTH, _MAX_ITEMS = 8, 10_000
_NOT_WEIGHTS = frozenset(("grad", "history", "inputs", "op", "ctx", "creator", "parents", "prev", "children"))
"""Attributes in which hand-written tensor classes keep their history; leading underscores are ignored."""
_PLAIN = (type(None), bool, int, float, complex, str, bytes, bytearray, range, set, frozenset, type)
_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.ModuleType)


class CannotHold(Exception):
    """An object whose numbers can be read but not replaced."""


@dataclass(frozen=True)
class Slot:
    """A place that holds an array. `put` replaces the object in that place."""

    value: Any
    put: Callable[[Any], None]

    def read(self) -> Any:
        return array_like(self.value)

    def write(self, array: Any) -> None:
        """Replace the numbers, and check that they are there."""
        if is_array(self.value):
            self.put(array)
        elif not any(_works(way, self.value, array) for way in _WAYS):
            self._replace(array)

    def is_writable(self) -> bool:
        """Return whether the numbers can be replaced. This is tried and undone, with the same array object where
        possible: arrays that are shared stay shared."""
        try:
            self.put(self.value)
            if is_array(self.value):
                return True
            before = self.read()
            saved = arrays_of(before).copy(before)
            other = saved + 1
            if any(_works(way, self.value, other) for way in _WAYS):
                back = before if _are_close(before, saved) else saved
                return any(_works(way, self.value, back) for way in _WAYS)
            return _holds(type(self.value)(other), other)
        except Exception:  # a hand-written class may raise anything
            return False

    def _replace(self, array: Any) -> None:
        """Put a new object of the same class in its place."""
        try:
            made = type(self.value)(array)
            self.put(made)
        except Exception:
            made = None
        if made is None or not _holds(made, array):
            raise CannotHold(f"a {type(self.value).__name__} cannot be given other numbers")


def find_slots(model: Any) -> dict[str, Slot]:
    """Return every array that `model` holds, by path; an object with several paths appears under the first."""
    found: dict[str, Slot] = {}
    _visit(model, "", lambda value: None, found, set(), 0)
    return found


def slots_beside(module: Any) -> dict[str, Slot]:
    """Return parameters that a torch module has not registered: in lists and dicts, in objects that are not modules, or
    as plain tensors that require gradients."""
    known = {id(item) for item in (*module.parameters(), *module.buffers())}
    found: dict[str, Slot] = {}
    for path, part in module.named_modules():
        own = {key: value for key, value in vars(part).items() if not key.startswith("_") and key != "training"}
        for name, value in own.items():
            inside: dict[str, Slot] = {}
            _visit(value, name, _setter(part, name), inside, {id(part)}, 1)
            for inner, slot in inside.items():
                trained = is_tensor(slot.value) and slot.value.requires_grad and slot.value.is_leaf
                if trained and id(slot.value) not in known:
                    known.add(id(slot.value))
                    found[f"{path}.{inner}" if path else inner] = slot
    return found


def has_objects(value: Any) -> bool:
    """Return whether a container holds anything but arrays, plain values and containers of these."""
    return any(not is_array(leaf) and not isinstance(leaf, _PLAIN) for leaf in leaves_in(value))


def _visit(
    value: Any, path: str, put: Callable[[Any], None], found: dict[str, Slot], seen: set[int], depth: int
) -> None:
    if is_array(value):
        if path:
            found[path] = Slot(value, put)
        return
    if isinstance(value, (*_PLAIN, *_FUNCTIONS)) or depth > _MAX_DEPTH or id(value) in seen:
        return
    seen.add(id(value))
    if path and not isinstance(value, Mapping | list | tuple) and not is_module(value) and _is_holder(value):
        found[path] = Slot(value, put)
        return
    for name, item, setter in _children(value):
        _visit(item, f"{path}.{name}" if path else name, setter, found, seen, depth + 1)


def _is_holder(value: Any) -> bool:
    array = array_like(value)
    return array is not None and (is_tensor(array) or array.dtype.kind in "fc")


def _children(value: Any) -> Iterator[tuple[str, Any, Callable[[Any], None]]]:
    if isinstance(value, Mapping | list | tuple) and len(value) > _MAX_ITEMS:
        return  # a vocabulary or a data set, not a container of weights
    if isinstance(value, Mapping):
        for key, item in list(value.items()):
            yield str(key), item, _item_setter(value, key)
    elif isinstance(value, list | tuple):
        for at, item in enumerate(value):
            yield str(at), item, _item_setter(value, at)
    elif is_module(value):
        for name, parameter in value.named_parameters():
            yield name, parameter, _copier(parameter)
        for name, slot in slots_beside(value).items():
            yield name, slot.value, slot.put
    else:
        for name, item in _attributes(value):
            if name.strip("_") not in _NOT_WEIGHTS:
                yield name, item, _setter(value, name)


def _attributes(value: Any) -> Iterator[tuple[str, Any]]:
    names = list(vars(value)) if hasattr(value, "__dict__") else []
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        names += [slots] if isinstance(slots, str) else list(slots)
    for name in dict.fromkeys(names):
        if not name.startswith("__") and hasattr(value, name):
            yield name, getattr(value, name)


def _setter(owner: Any, name: str) -> Callable[[Any], None]:
    return lambda value: setattr(owner, name, value)


def _item_setter(owner: Any, key: Any) -> Callable[[Any], None]:
    def put(value: Any) -> None:
        owner[key] = value

    return put


def _copier(parameter: Any) -> Callable[[Any], None]:
    return lambda value: arrays_of(parameter).overwrite(parameter, value)


# --- ways to replace an object's numbers ----------------------------------------------------------------------------


def _works(way: Callable[[Any, Any], None], holder: Any, array: Any) -> bool:
    try:
        way(holder, array)
    except Exception:  # a hand-written class may raise anything: this way does not work
        return False
    return _holds(holder, array)


def _holds(holder: Any, array: Any) -> bool:
    found = array_like(holder)
    return found is not None and tuple(found.shape) == tuple(array.shape) and _are_close(found, array)


def _are_close(one: Any, two: Any) -> bool:
    mine, theirs = as_numpy(one), as_numpy(two)
    return bool(np.allclose(mine, theirs, rtol=1e-6, atol=1e-12, equal_nan=True))


def _by_attribute(holder: Any, array: Any) -> None:
    """Assign to the attribute in which the holder keeps its array."""
    now = np.asarray(array_like(holder))
    for name, item in _attributes(holder):
        alike = name.strip("_") not in _NOT_WEIGHTS and is_array(item) and tuple(item.shape) == now.shape
        if alike and np.array_equal(np.asarray(item), now, equal_nan=True):
            setattr(holder, name, array)
            if _holds(holder, array):
                return


def _by_number(holder: Any, array: Any) -> None:
    if type(getattr(holder, "data", None)) in (int, float):
        holder.data = float(array)


def _by_data(holder: Any, array: Any) -> None:
    holder.data = array


def _by_own(holder: Any, array: Any) -> None:
    """Assign an object of the holder's own class, or of the class that `data` has now, to `data`."""
    kinds = [type(getattr(holder, "data", None)), *type(holder).__mro__[:-1]]
    for kind in kinds:
        try:
            holder.data = kind(array)
        except Exception:
            continue
        if _holds(holder, array):
            return


def _in_place(holder: Any, array: Any) -> None:
    array_like(holder)[...] = array


_WAYS = (_by_attribute, _by_number, _by_data, _by_own, _in_place)
