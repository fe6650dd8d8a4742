"""A submission called the way the course's adapter says that its kind is called."""

from __future__ import annotations

import functools
import sys
from types import ModuleType
from typing import Any, TypeVar

from goldsmith.recipe.missing_parts import MissingPart
from goldsmith.weights.models import is_module
from goldsmith.weights.rules import Adapter

T = TypeVar("T")


def adapt_calls(model: T, adapter: Adapter) -> T:
    """The model, called the way the course's adapter says its kind is called."""
    rule = adapter.calls.get(type(model).__name__)
    if rule is not None and is_module(model):
        model.forward = functools.partial(rule, model.forward)
    return model


def adapt_recipe(adapter: Adapter) -> None:
    """Put the adapter's parts where the recipe has the submission's own."""
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
    """A module like `module`, seen from the recipe only, with one part adapted."""
    copy = ModuleType(module.__name__)
    copy.__dict__.update(module.__dict__)
    setattr(copy, part, adapted)
    return copy
