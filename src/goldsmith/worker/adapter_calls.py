"""Call a submission's models and functions as the course's adapter prescribes."""

from __future__ import annotations

import functools
import sys
from types import ModuleType
from typing import Any, TypeVar

from goldsmith.frameworks.framework import is_module
from goldsmith.recipe.missing_parts import MissingPart
from goldsmith.weights.rules import Adapter

T = TypeVar("T")


def adapt_calls(model: T, adapter: Adapter) -> T:
    """Make a model use the adapter's call rule for its class, if there is one; return the model."""
    rule = adapter.calls.get(type(model).__name__)
    if rule is not None and is_module(model) and getattr(model.forward, "func", None) is not rule:
        model.forward = functools.partial(rule, model.forward)
    return model


def adapt_recipe(adapter: Adapter) -> None:
    """Replace the submission's parts in the recipe by the adapter's versions of them."""
    recipe = sys.modules["__main__"].__dict__
    for name, stand_in in adapter.parts.items():
        module_name, _, part = name.rpartition(".")
        module = sys.modules.get(module_name)
        theirs = getattr(module, part, None)
        if theirs is None or isinstance(theirs, MissingPart):
            continue
        adapted = functools.partial(stand_in, theirs)
        for key, value in list(recipe.items()):
            if value is theirs:
                recipe[key] = adapted
            elif value is module:
                recipe[key] = _with_part(module, part, adapted)


def _with_part(module: Any, part: str, adapted: Any) -> ModuleType:
    """Return a copy of `module` with one part adapted, for the recipe only."""
    copy = ModuleType(module.__name__)
    copy.__dict__.update(module.__dict__)
    setattr(copy, part, adapted)
    return copy
