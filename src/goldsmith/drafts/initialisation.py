"""Cases for how classes initialise their weights, which no other case shows: all others load gold's weights."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

from goldsmith.drafts.recipe_text import Block, DraftCase, Scope, snake
from goldsmith.drafts.specs import Array, Built, Literal, build, walk
from goldsmith.drafts.targets import Target, names_in
from goldsmith.drafts.variations import distinct_settings
from goldsmith.gold.arrays import numbers_of
from goldsmith.recipe.seeding import seed_everything
from goldsmith.weights.object_weights import find_slots, slots_beside

IsOurs = Callable[[Any], bool]
_SETS_WEIGHTS = re.compile(r"\binit\.\w+_\(|\.(normal|uniform|trunc_normal|zero|fill|copy)_\(|\.apply\(")
"""Source that initialises the weights of inner layers."""
_MAKES_WEIGHTS = re.compile(r"\w_\(|Parameter\(|\brandn?\(|normal\(|uniform\(|zeros\(|ones\(")
_OWN_SEED = re.compile(r"\b(default_rng|RandomState|Generator|manual_seed|seed|Random)\(")


def draft_initial(target: Target, owner: Built | None, seed: int, is_ours: IsOurs) -> Iterator[DraftCase]:
    """Yield a case for a class whose initialisation students write and that has weights of its own.

    Sizes that differ are tried first. `is_ours` recognises objects that have such a case themselves.
    """
    if owner is None or not _is_written(target) or any(isinstance(item, Array) for item in walk(owner)):
        return
    blocks = []
    for candidate in (*_with_other_sizes(target, owner), owner):
        if _is_worth_a_case(target, candidate, seed, is_ours):
            scope = Scope()
            settings = scope.settings(candidate)
            name = scope.use(candidate.module, candidate.name)
            scope.lines.append(f"case.initial({name}{', ' if settings else ''}{settings})")
            blocks.append(scope.block("initial"))
    if blocks:
        title = f"How {target.name} initialises its weights, over many seeds."
        yield DraftCase(f"{snake(target.name)}_initial", title, Block("setup", ()), tuple(blocks), part=target.name)


def _is_written(target: Target) -> bool:
    """Say whether students write its constructor, or a method called there that makes weights."""
    if "__init__" in target.methods:
        return True
    constructor = getattr(target.object, "__init__", None)
    called = set(names_in(constructor)) if inspect.isfunction(constructor) else set()
    written = called.intersection(target.methods)
    return any(_MAKES_WEIGHTS.search(_source(getattr(target.object, name, None))) for name in written)


def _with_other_sizes(target: Target, owner: Built) -> Iterator[Built]:
    """Yield the same object with sizes that differ, defaults included, where two are the same."""
    given = dict(owner.arguments)
    parameters = inspect.signature(target.object).parameters.items()
    usual = {name: Literal(item.default) for name, item in parameters if type(item.default) is int}
    different = distinct_settings(usual | given)
    if different is not None:
        kept = {name: spec for name, spec in different.items() if name in given or spec != usual[name]}
        yield dataclasses.replace(owner, arguments=tuple(kept.items()))


def _is_worth_a_case(target: Target, owner: Built, seed: int, is_ours: IsOurs) -> bool:
    """Say whether it has weights that are not drawn from a seed of the constructor's own.

    Drawing those in another order is right, too, and statistics over seeds cannot tell how far apart they may be.
    """
    try:
        first, second = (_own_weights(target, owner, seed + more, is_ours) for more in (0, 1))
    except Exception:  # `Finder` reports what cannot be built
        return False
    drawn = any(name in second and not _are_same(value, second[name]) for name, value in first.items())
    return bool(first) and (drawn or _OWN_SEED.search(_source(target.object)) is None)


def _own_weights(target: Target, owner: Built, seed: int, is_ours: IsOurs) -> dict[str, Any]:
    seed_everything(seed, threads=1)
    model = build({"it": owner})["it"]
    if target.is_model:
        deep = _SETS_WEIGHTS.search(_source(target.object)) is not None
        found = dict(model.named_parameters(recurse=deep))
        found |= {name: slot.value for name, slot in slots_beside(model).items()}
    else:
        slots = find_slots(model).items()
        found = {name: slot.read() for name, slot in slots if not _is_inside(model, name, is_ours)}
    floats = {name: value for name, value in found.items() if "float" in str(value.dtype)}
    return {name: numbers_of(value).copy() for name, value in floats.items()}


def _is_inside(model: Any, path: str, is_ours: IsOurs) -> bool:
    """Say whether an object on the way to a weight has a case of its own."""
    for name in path.split(".")[:-1]:
        try:
            model = vars(model)[name] if hasattr(model, "__dict__") else model[int(name) if name.isdigit() else name]
        except (KeyError, IndexError, TypeError):
            return False
        if is_ours(model):
            return True
    return False


def _are_same(one: Any, two: Any) -> bool:
    return bool(one.shape == two.shape and (one == two).all())


def _source(kind: Any) -> str:
    try:
        return inspect.getsource(kind)
    except (OSError, TypeError):
        return ""
