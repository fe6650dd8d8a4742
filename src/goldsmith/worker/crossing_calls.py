"""Functions of a submission that is written in another framework than the recipe, as the recipe calls them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from goldsmith.frameworks.framework import Framework, active, framework
from goldsmith.instruments.own_files import OwnFiles
from goldsmith.process.messages import ReplayJob
from goldsmith.recipe.missing_parts import MissingPart
from goldsmith.weights.crossing import NeedsOwnForm, across, construct, foreign_of
from goldsmith.weights.models import signature_of


def cross_recipe(job: ReplayJob) -> None:
    """Have the recipe call functions of modules that are written in another framework with arrays of that, and get
    arrays of its own back."""
    others = _others(job.library)
    if not others:
        return
    own, recipe, files = framework(job.library), sys.modules["__main__"].__dict__, OwnFiles.of(job)
    crossing = {
        id(module): other
        for module in list(sys.modules.values())
        if isinstance(module, ModuleType) and (getattr(module, "__file__", None) or "") in files
        if (other := _written_in(module, others, own)) is not None
    }
    for key, value in list(recipe.items()):
        if isinstance(value, ModuleType) and id(value) in crossing:
            recipe[key] = _with_functions_across(value, crossing[id(value)], own)
        else:
            home = sys.modules.get(getattr(value, "__module__", None) or "")
            if id(home) in crossing and callable(value) and not isinstance(value, MissingPart):
                recipe[key] = _across(value, crossing[id(home)], own)


def uncrossed(error: BaseException, library: str) -> NeedsOwnForm | None:
    """Return what to say of an error that code of another framework raises because an array of the recipe's came to it
    as it is: by an object that is no model, for one."""
    if not isinstance(error, TypeError) or not _others(library):
        return None
    names = {f"{kind.__module__}.{kind.__qualname__}" for kind in framework(library).arrays.TYPES}
    if any(name in str(error) for name in names):
        found = NeedsOwnForm(f"an array of {library} reaches code of another library by an object of the submission's")
    elif "forward-mode" in str(error):
        found = NeedsOwnForm("it differentiates forwards")
    else:
        return None
    return found.with_traceback(error.__traceback__)


def as_recipe_has_it(part: Any, module: ModuleType, job: ReplayJob) -> Any:
    """Return a part of a module as the recipe would have it."""
    others = _others(job.library)
    own = framework(job.library) if others else None
    other = None if own is None else _written_in(module, others, own)
    return part if own is None or other is None else _across(part, other, own)


def _others(library: str) -> list[Framework]:
    """Return the frameworks in use besides the recipe's, if it has one."""
    return [item for item in active() if item.models.TYPES and item.name != library] if library else []


def _written_in(module: ModuleType, others: Sequence[Framework], own: Framework) -> Framework | None:
    """Return the other framework whose arrays a module works with: it imports that, and not one's own."""
    packages = {_package(value) for value in vars(module).values()}
    if own.name in packages:
        return None
    return next((item for item in others if not packages.isdisjoint(item.process.PACKAGES)), None)


def _package(value: object) -> str:
    name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
    return name.partition(".")[0] if isinstance(name, str) else ""


def _across(part: Any, other: Framework, own: Framework) -> Any:
    """Return a function as one of the recipe's framework; a class as one that is called as a recipe for that calls its
    own."""
    if not isinstance(part, type):
        return across(own.models.across, other, own, part)

    made: type = _Constructor(part.__name__, (), {"__module__": part.__module__, "__doc__": part.__doc__})
    made.__signature__ = signature_of(part)  # type: ignore[attr-defined]
    made._goldsmith = part, other, own  # type: ignore[attr-defined]
    return made


class _Constructor(type):
    """The class of what stands for a class of another framework in the recipe: it makes instances of that."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        part, other, own = vars(cls)["_goldsmith"]
        return construct(other, own, part, args, kwargs)

    def __getattr__(cls, name: str) -> Any:
        part, other, own = vars(cls)["_goldsmith"]
        found = getattr(part, name)
        return _across(found, other, own) if callable(found) else found

    def __instancecheck__(cls, value: object) -> bool:
        held = foreign_of(value)
        return isinstance(value if held is None else held.model, vars(cls)["_goldsmith"][0])


def _with_functions_across(module: ModuleType, other: Framework, own: Framework) -> ModuleType:
    """Return a copy of a module whose functions take and return arrays of the recipe's framework, for the recipe."""
    copy = ModuleType(module.__name__)
    copy.__dict__.update(module.__dict__)
    for name, value in vars(module).items():
        if callable(value) and getattr(value, "__module__", None) == module.__name__:
            setattr(copy, name, _across(value, other, own))
    return copy
