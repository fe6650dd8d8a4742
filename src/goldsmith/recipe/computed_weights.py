"""Find weights that a model computes: buffers, frozen parameters and arrays that come out the same from every seed.

Such a table is an answer, not a starting point. A submission computes its own, and is not given gold's.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any

from goldsmith.foundation.nested import walk
from goldsmith.frameworks.framework import models_of
from goldsmith.frameworks.randomness import random_state_kept
from goldsmith.gold.arrays import array_hash, is_array, numbers_of
from goldsmith.gold.facts import WeightFacts
from goldsmith.recipe.seeding import seed_everything
from goldsmith.weights.leaves import STATISTICS

_SEEDS = re.compile(r"seed|rng|random_?state|generator|random\.Random\b", re.IGNORECASE)


def computed_weights(
    model: Any,
    kept: Mapping[str, Any],
    facts: WeightFacts,
    rebuilt: Callable[[], Mapping[str, Any]],
    seed: int,
) -> tuple[str, ...]:
    """Return the names of those among the weights in `kept` that are `rebuilt` from another seed as they are.

    Where code has seeds of its own, only buffers count: all else may be drawn there, and is the same for that reason.
    """
    try:
        candidates = _candidates(model, kept, facts)
        if not candidates:
            return ()
        with random_state_kept():
            seed_everything(seed + 1)
            again = rebuilt()
        return tuple(name for name in candidates if name in again and _content(again[name]) == _content(kept[name]))
    except Exception:  # a model that cannot be built twice, or whose numbers cannot be read inside a transformation
        return ()


def _candidates(model: Any, kept: Mapping[str, Any], facts: WeightFacts) -> list[str]:
    found = list(kept)
    models = models_of(model)
    if models is not None:
        frozen = models.frozen(model)
        buffers = {name for name in facts.buffers if not name.endswith(STATISTICS)}
        found = [name for name in kept if name in frozen | buffers]
    telling = [name for name in found if _tells(kept[name])]
    return [name for name in telling if name in facts.buffers] if telling and _has_seeds(model) else telling


def _tells(value: Any) -> bool:
    """Return whether numbers say anything about how they are computed: not where all are zero, or all one."""
    arrays = [numbers_of(leaf) for _, leaf in walk(value) if is_array(leaf)]
    return any(bool((array != 0).any() and (array != 1).any()) for array in arrays)


def _content(value: Any) -> list[tuple[str, str]]:
    return [(path, array_hash(leaf) if is_array(leaf) else repr(leaf)) for path, leaf in walk(value)]


def _has_seeds(model: Any) -> bool:
    """Return whether the source of a model's classes names a seed or a generator of its own; so if it is not known."""
    models = models_of(model)
    kinds = {type(part) for part in models.modules(model).values()} if models is not None else {type(model)}
    names = {kind.__module__ for kind in kinds if models is None or not models.is_library_class(kind)}
    try:
        return any(_SEEDS.search(inspect.getsource(sys.modules[name])) for name in names)
    except (OSError, TypeError, KeyError):
        return True
