"""Traces: inputs and outputs of every named submodule, and of every function that students write, while a case runs.

A *call* is one entry into a model from outside. Calls are kept whole: the first always, later ones while they fit the
budget; how many of how many were kept is recorded, too. Of functions and methods the first few calls are kept. One
call's output is often the next one's input: equal tensors are stored once.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from goldsmith.frameworks.framework import Framework, arrays_of, library_of, modelling, models_of
from goldsmith.frameworks.protocols import Models
from goldsmith.gold.arrays import is_array
from goldsmith.gold.call_forms import NO_FORM, form_of, tensors_in
from goldsmith.gold.sizes import projections
from goldsmith.instruments.own_calls import OwnCode, arguments_of, unwatched
from goldsmith.instruments.tensor_contents import contents_of, copy_of, hash_of, is_wrapped, unwrapped
from goldsmith.weights.crossing import foreign_of, modules_of

MAX_CALLS = 3
MAX_SAME = 6
"""How many calls of one function are kept."""
MAX_BYTES = 2 * 2**20
LARGE = 64 * 2**10
"""Bytes; functions that take or return more are recorded by hashes only: they often take whole data sets."""
Weights = Callable[[], Mapping[str, Any]]


class Tracer:
    """A recorder for the models of one case, through forward hooks, and for the functions that students write.

    `drew` says whether a model drew random numbers; `runs`, which functions and methods ran, in the order of their
    first call; `origins`, by record, which calls made by the recipe it comes from. With `forwards`, calls of a module's
    `forward` itself count as calls of it; those in functions that students write do anyway.
    """

    def __init__(self, own_code: OwnCode | None = None, *, forwards: bool = False) -> None:
        self.tensors: dict[str, Any] = {}
        self.index: list[dict[str, Any]] = []
        self.calls = 0
        self.kept = 0
        self.drew = False
        self.returned_none: str | None = None
        self.runs: dict[str, None] = {}
        self.origins: dict[str, tuple[str, ...]] = {}
        self._own_code = own_code
        self._with_forwards = forwards
        self._forwards: Any = None
        self._stack: list[_Open] = []
        self._stored: dict[str, str] = {}
        self._bytes = 0
        self._keeping = False
        self._outer: list[Any] = []
        self._inner: list[Any] = []
        self._owners: dict[int, tuple[str, str]] = {}
        self._weights: dict[str, Weights] = {}
        self._initial: dict[str, dict[str, str]] = {}
        self._same: Counter[str] = Counter()
        self._libraries: dict[str, Framework] = {}
        self._inside: dict[str, Models] = {}
        self._targets: dict[int, Any] = {}
        self._roots: list[tuple[str, set[str]]] = []

    def attach(self, label: str, model: Any, weights: Weights) -> None:
        """Trace `model`; `weights` returns its current weights by gold's names."""
        self._weights[label], self._initial[label] = weights, _hashes(weights)
        self._owners[id(model)] = label, ""
        library = library_of(model)
        if library is None:
            return
        self._libraries[label], held = library, foreign_of(model)
        self._inside[label] = library.models if held is None else held.other.models
        for name, module in modules_of(model).items():
            models = self._inside[label] if name else library.models
            self._owners[id(module)] = label, name
            handles = self._inner if name else self._outer
            handles.append(models.on_enter(module, functools.partial(self._entered, label, name)))
            handles.append(models.on_leave(module, functools.partial(self._left, name), always=True))
        if self._with_forwards:
            self._forwards = self._forwards or library.models.ForwardCalls(self)
            self._forwards.attach(label, model)

    def watch(self) -> contextlib.AbstractContextManager[None]:
        """Trace functions that students write within this context."""
        return self._own_code.watch(self) if self._own_code else contextlib.nullcontext()

    def detach(self) -> None:
        _remove(self._outer)
        _remove(self._inner)
        if self._forwards:
            self._forwards.detach()

    # --- modules ----------------------------------------------------------------------------------------------------

    def _entered(self, label: str, name: str, module: Any, args: Any, kwargs: Any) -> None:
        self.enter(label, name, module, list(args), kwargs)

    def _left(self, name: str, module: Any, args: Any, kwargs: Any, output: Any) -> None:
        self.leave(name, module, output)

    def is_in(self, module: Any) -> bool:
        """Say whether the innermost call that has not ended is one of this module."""
        return bool(self._stack) and self._stack[-1].owner is module

    @unwatched
    def enter(self, label: str, name: str, module: Any, args: Any, kwargs: Any) -> None:
        outermost = not any(item.is_module for item in self._stack)
        if outermost:
            self.calls += 1
            self._keeping = self._has_room
            self.kept += self._keeping
        models = self._inside[label] if name else self._libraries[label].models
        facts = {"own": not models.is_library_class(type(module)), "training": models.is_training(module)}
        entry = self._begin(label, name, type(module).__name__, "", [args, kwargs], facts) if self._keeping else None
        if entry is not None:
            self._targets[len(self.index) - 1] = module
        if entry is not None and outermost:
            entry["state"] = self._state(label, name)
        self._push(module, entry, is_module=True, values=[args, kwargs])

    @unwatched
    def leave(self, name: str, module: Any, output: Any) -> None:
        raised = output is None and sys.exc_info()[0] is not None
        if output is None and not raised:
            self.returned_none = f"{name or 'the model'} ({type(module).__name__})"
        self._end(module, output, raised=raised)
        if not any(item.is_module for item in self._stack) and not name and not self._has_room:
            _remove(self._inner)  # no room: the model's further calls are only counted

    # --- functions and methods --------------------------------------------------------------------------------------

    def enter_function(self, frame: Any, name: str, owner: Any) -> None:
        self.runs[name] = None
        last = name.rpartition(".")[2]
        if last == "forward" and self._stack and self._stack[-1].owner is owner:
            return  # the module hook has reported it
        label, module = self._owners.get(id(owner), ("", ""))
        inside = any(item.is_module for item in self._stack)
        entry = None
        values: list[Any] = []
        if (self._keeping if inside else self._bytes < MAX_BYTES) and self._same[name] < MAX_SAME:
            self._same[name] += 1
            kind, _, function = name.rpartition(".")
            is_method = owner is not None
            facts = {"own": True, "training": bool(getattr(owner, "training", False))}
            kind = kind if is_method else function
            function = "" if is_method and function == "forward" else function
            values = list(arguments_of(frame))
            entry = self._begin(label, module, kind, function, values, facts)
            self._targets[len(self.index) - 1] = _method(owner, last) if is_method else frame.f_globals.get(name)
            if label:
                entry["state"] = self._state(label, module)
            elif entry["form"] is None:
                entry["state"] = self._state_of_all()
            elif is_method:
                entry["form"] = None  # the object cannot be rebuilt
        before = _hashes(self._weights[label]) if entry and label else {}
        self._push(frame, entry, name=name, before=before, values=values)

    def leave_function(self, frame: Any, value: Any, *, raised: bool) -> None:
        if any(item.owner is frame for item in self._stack):
            self._end(frame, value, raised=raised)

    def keep_gradients(self, models: Mapping[str, Any], built: Mapping[str, Mapping[str, Any]]) -> None:
        """Record the gradients of each kind of call, once the case is over, with the model's weights as they were at
        the call; `built` are the weights it had at first."""
        known: set[tuple[str, str]] = set()
        for number, entry in enumerate(self.index):
            kind, target = (entry["class"], entry["function"]), self._targets.get(number)
            possible = entry["own"] and entry["form"] is not None and entry.get("state", {}) is not None
            never = any(entry.get(reason) for reason in ("drew", "no_grad", "transformed", "after"))
            if kind in known or target is None or never or not possible:
                continue
            try:
                passed = self._passed_back(target, entry, models.get(entry["model"]), built.get(entry["model"], {}))
                found = {name: projections(arrays_of(item).to_numpy(item)) for name, item in passed.items()}
            except Exception:
                continue  # the call cannot be differentiated
            known.add(kind)
            if found:
                entry["gradients"] = found

    def _passed_back(
        self, target: Any, entry: dict[str, Any], model: Any, built: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        prefix = f"{entry['module']}." if entry["module"] else ""
        inputs = [self.tensors[name] for name in entry["inputs"]]
        library = library_of(model) or modelling()
        assert library is not None
        models = models_of(model)
        if models is None:
            return library.numerics.passed_back(target, entry["form"], inputs, dict)
        state = {name: self.tensors[item] for name, item in entry.get("state", {}).items()}
        models.put(model, {**built, **state})
        models.clear_gradients(model)
        models.set_training(getattr(target, "__self__", target), entry["training"])

        def own() -> dict[str, Any]:
            passed = models.gradients(model)
            return {name: passed[name] for name in models.parameters(model) if name.startswith(prefix)}

        return library.numerics.passed_back(target, entry["form"], inputs, own, models.frozen(model))

    @unwatched
    def origin(self, record: str, value: Any) -> None:
        """Note which call a record comes from: those that returned it, else all that have been made."""
        content = contents_of([value])
        made = dict.fromkeys(name for name, returned in self._roots if content & returned)
        self.origins[record] = tuple(made or dict.fromkeys(name for name, _ in self._roots))

    # --- both -------------------------------------------------------------------------------------------------------

    def _begin(
        self, label: str, module: str, kind: str, function: str, values: list[Any], facts: dict[str, Any]
    ) -> dict[str, Any]:
        entry: dict[str, Any] = {
            "key": f"{len(self.index):04d}",
            "call": self.calls - 1,
            "model": label,
            "module": module,
            "class": kind,
            "function": function,
            "depth": len(self._stack),
            **facts,
        }
        self.index.append(entry)
        entry["inputs"] = self._keep(f"{entry['key']}.input", values, whole=not function)
        library = self._libraries.get(label) or modelling()
        if library is not None and not library.numerics.records_gradients():
            entry["no_grad"] = True
        if any(arrays_of(item).is_inference(item) for item in tensors_in(values)):
            entry["inference"] = True
        if any(map(is_wrapped, tensors_in(values))):
            entry["transformed"] = True
        known = sum(name in self.tensors for name in entry["inputs"]) == len(tensors_in(values))
        form = form_of(values, itertools.count()) if known else NO_FORM
        entry["form"] = None if form is NO_FORM else form
        return entry

    def _push(self, owner: Any, entry: dict[str, Any] | None, **options: Any) -> None:
        for item in self._stack:
            if entry is None and item.entry is not None:
                item.entry["partial"] = True
        watch = entry is not None or (options.get("is_module") and not self.drew)
        self._stack.append(_Open(owner, entry, chance=_draw_watch() if watch else None, **options))

    def _end(self, owner: Any, value: Any, *, raised: bool) -> None:
        while self._stack:
            item = self._stack.pop()
            if item.owner is not owner:
                continue
            drew = item.chance is not None and item.chance()
            self.drew = self.drew or (drew and item.is_module)
            if item.entry is not None:
                self._finish(item, value, drew=drew, raised=raised)
            if not self._stack and (item.name or item.entry):
                self._roots.append((item.name or _label_of(item.entry), contents_of([value])))
            break

    def _finish(self, item: _Open, value: Any, *, drew: bool, raised: bool) -> None:
        entry = item.entry
        assert entry is not None
        if drew:
            entry["drew"] = True
        if raised:
            entry["raised"] = True
            return
        entry["outputs"] = self._keep(f"{entry['key']}.output", [value], whole=not entry["function"])
        returned = form_of([value], itertools.count())
        entry["returned"] = None if returned is NO_FORM else returned
        crossed = self._is_crossed(entry)
        entry["learns"] = [] if crossed else [arrays_of(item).learns(item) for item in tensors_in([value])]
        if self._keep(f"{entry['key']}.now", item.values, whole=not entry["function"]) != entry["inputs"]:
            entry["overwrote"] = True
        if item.before:
            entry["after"] = self._changed(entry["model"], entry["module"], item.before, f"{entry['key']}.after")

    def _is_crossed(self, entry: Mapping[str, Any]) -> bool:
        """Say whether a call was made inside a model of another framework, whose arrays say nothing of gradients."""
        label = entry["model"]
        return bool(entry["module"]) and self._inside[label] is not self._libraries[label].models

    @property
    def _has_room(self) -> bool:
        return self.kept == 0 or (self.kept < MAX_CALLS and self._bytes < MAX_BYTES)

    def _state(self, label: str, module: str) -> dict[str, str] | None:
        """Return what has changed in a model since it was built: a module's output depends on it as on its inputs."""
        return self._changed(label, module, self._initial[label], f"{len(self.index):04d}.state")

    def _state_of_all(self) -> dict[str, str] | None:
        """Return the changes of every model: a function that was given more than arrays may use any of them."""
        found: dict[str, str] = {}
        for label in self._weights:
            state = self._state(label, "")
            if state is None:
                return None
            found |= {f"{label}:{name}": item for name, item in state.items()}
        return found

    def _changed(self, label: str, module: str, before: dict[str, str], prefix: str) -> dict[str, str] | None:
        found: dict[str, str] = {}
        for name, tensor in _weights_now(self._weights[label]).items():
            if not name.startswith(f"{module}." if module else ""):
                continue
            content = hash_of(tensor)
            if content is None:
                return None
            if content != before.get(name):
                if self._bytes > MAX_BYTES:
                    return None
                found[name] = self._store(f"{prefix}.{len(found)}", tensor, content)
        return found

    def _keep(self, prefix: str, values: list[Any], *, whole: bool) -> list[str]:
        """Store copies of all tensors in `values`, however nested; return the names they are stored under."""
        names: list[str] = []
        found = tensors_in(values)
        whole = whole or sum(item.nbytes for item in found) <= LARGE
        for tensor in map(unwrapped, found):
            if (content := hash_of(tensor)) is not None:
                names.append(self._store(f"{prefix}.{len(names)}", tensor, content, whole=whole))
        return names

    def _store(self, name: str, tensor: Any, content: str, *, whole: bool = True) -> str:
        """Store a tensor, whose hash is `content`, and return its name, or the name of an equal one; unless `whole`,
        only return its hash."""
        if not whole:
            return f"#{content}"
        stored = self._stored.setdefault(content, name)
        if stored not in self.tensors:
            copy = self.tensors[stored] = copy_of(tensor)
            self._bytes += copy.nbytes
        return stored


@dataclass
class _Open:
    """A call that has not ended."""

    owner: Any
    entry: dict[str, Any] | None
    chance: Callable[[], bool] | None
    is_module: bool = False
    name: str = ""
    before: dict[str, str] = field(default_factory=dict)
    values: list[Any] = field(default_factory=list)


def _label_of(entry: Mapping[str, Any] | None) -> str:
    return f"{entry['class']}.forward" if entry else ""


def _hashes(weights: Weights) -> dict[str, str]:
    return _hash_all(_weights_now(weights))


@unwatched
def _hash_all(arrays: Mapping[str, Any]) -> dict[str, str]:
    return {name: content for name, array in arrays.items() if (content := hash_of(array)) is not None}


def _weights_now(weights: Weights) -> dict[str, Any]:
    """Return the weights as they are; empty if they cannot be read, as from a model that is not complete yet."""
    try:
        return {name: value for name, value in weights().items() if is_array(value)}
    except Exception:
        return {}


def _remove(handles: list[Any]) -> None:
    for handle in handles:
        handle.remove()
    handles.clear()


def _draw_watch() -> Callable[[], bool] | None:
    """Return what says whether numbers were drawn since, in the library whose models run; None where there is none."""
    library = modelling()
    return None if library is None else library.numerics.draw_watch()


def _method(owner: Any, name: str) -> Any:
    """Return what was called of an object; None for a property, which asking for would compute."""
    static = inspect.getattr_static(owner, name, None)
    return None if isinstance(static, property) else getattr(owner, name)
