"""The classes and functions that students write, for which a recipe should have cases."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from goldsmith.foundation.wording import in_words
from goldsmith.frameworks.framework import active, is_model_class, is_optimiser_class
from goldsmith.process.messages import DraftPart


@dataclass
class Target:
    """A class or function that students write. `methods` are those of a class that they write themselves, in source
    order; `trouble` says why it could not be imported."""

    module: str
    name: str
    methods: tuple[str, ...] = ()
    is_class: bool = False
    object: Any = None
    trouble: str = ""
    used_by: set[str] = field(default_factory=set)
    explicit: tuple[str, ...] = ()
    docs: dict[str, str] = field(default_factory=dict)
    """What the starter says about it, by method; a solution may have no docstrings."""

    @property
    def is_model(self) -> bool:
        return is_model_class(self.object)

    @property
    def is_optimiser(self) -> bool:
        return is_optimiser_class(self.object)

    @property
    def calls(self) -> list[str]:
        """Return the names of what can be called, as `Sightings` has them: `function`, or `Class.method`."""
        return [f"{self.name}.{method}" for method in self.methods] if self.is_class else [self.name]


def find_targets(folder: Path, parts: Sequence[DraftPart]) -> list[Target]:
    """Return every class and function among `parts`, imported where that works; models come first."""
    for path in dict.fromkeys(item.search for item in parts if item.search):
        sys.path.insert(0, str(folder / path))
    found: dict[tuple[str, str], Target] = {}
    for item in parts:
        owner, _, method = item.name.partition(".")
        target = found.setdefault((item.module, owner), Target(item.module, owner, explicit=item.explicit))
        target.docs[method] = item.doc
        if method or item.is_class:
            target.is_class = True
            target.methods += (method,) if method else ()
    troubles: dict[str, str] = {}
    for target in found.values():
        if target.module not in troubles:
            troubles[target.module] = _import(target.module)
        target.trouble = troubles[target.module]
        target.object = getattr(sys.modules.get(target.module), target.name, None)
        started = [item.name for item in active() if item.process.is_started()]
        if started and not target.trouble:  # parts are tried in forks of this process
            target.object = None
            target.trouble = f"arrays of {started[0]} are made when its module is imported; make them in functions"
        if target.object is None and not target.trouble:
            target.trouble = f"the solution's {target.module} has no {target.name}"
    return _outermost_first(list(found.values()))


def _import(module: str) -> str:
    """Import a module; return why it cannot be imported, "" where it can."""
    try:
        importlib.import_module(module)
    except (Exception, SystemExit) as error:
        return f"its module cannot be imported: {in_words(error)}"
    return ""


def _outermost_first(targets: list[Target]) -> list[Target]:
    """Sort models before everything else: those first that no other model uses, later before earlier."""
    by_name = {item.name: item for item in targets}
    for item in targets:
        for name in names_in(item.object):
            if name in by_name and name != item.name:
                by_name[name].used_by.add(item.name)
    models = [item for item in reversed(targets) if item.is_model]
    models.sort(key=lambda item: bool({name for name in item.used_by if by_name[name].is_model}))
    return [*models, *(item for item in targets if item not in models)]


def names_in(thing: Any) -> Iterator[str]:
    """Yield the names that a function, or any method of a class, refers to."""
    functions = [item for item in vars(thing).values() if inspect.isfunction(item)] if inspect.isclass(thing) else []
    for function in [*functions, *([thing] if inspect.isfunction(inspect.unwrap(thing)) else [])] if thing else []:
        pending = [inspect.unwrap(function).__code__]
        while pending:
            code = pending.pop()
            yield from code.co_names
            pending += [item for item in code.co_consts if inspect.iscode(item)]
