"""Statistics of initial weights over many seeds, with limits that follow from how much they vary from seed to seed.

Where gold's weights are loaded, a submission's own initialisation never shows: a missing Kaiming factor would pass. Two
correct ones draw different numbers, so the numbers cannot be compared; their mean and their spread can.
"""

from __future__ import annotations

import contextlib
import math
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from goldsmith.gold.arrays import is_array, numbers_of
from goldsmith.recipe.seeding import seed_everything

SEEDS = 48
"""How many models are built. A weight of 500 elements then has its spread known to half a percent."""
DEVIATIONS = 6.0
"""How many standard errors two correct ones may be apart: once in 10^8 by chance."""
ROUNDING = 1e-6
"""The smallest limit, relative to the size of the weight: constants are equal except for their last bits."""


class Statistic(NamedTuple):
    """A number that describes a weight, and how far another correct implementation may be from it."""

    value: float
    limit: float


def draw_weights(build: Callable[[], Any], read: Callable[[Any], Mapping[str, Any]], seeds: Sequence[int]) -> list[Any]:
    """Build a model from each seed and read its weights; restore the random state afterwards."""
    with preserved_random_state():
        found = []
        for seed in seeds:
            seed_everything(seed)
            found.append({name: numbers_of(value) for name, value in read(build()).items() if _is_floating(value)})
        return found


def statistics_of(draws: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Statistic]]:
    """Describe each weight by its mean and its spread over all draws."""
    return {name: _describe([draw[name] for draw in draws]) for name in draws[0] if all(name in draw for draw in draws)}


def _describe(draws: Sequence[Any]) -> dict[str, Statistic]:
    import numpy as np

    values = np.stack([draw.reshape(-1) for draw in draws])
    if not values.size:
        return {}
    mean = float(values.mean())
    means, spreads = values.mean(axis=1), np.sqrt(np.mean((values - mean) ** 2, axis=1))
    spread = float(np.sqrt(np.mean((values - mean) ** 2)))
    least = ROUNDING * max(abs(mean), spread)

    def limit(samples: Any) -> float:
        # The root of two, because the other implementation's varies as much.
        return max(DEVIATIONS * math.sqrt(2 / len(samples)) * float(np.std(samples, ddof=1)), least)

    return {"mean": Statistic(mean, limit(means)), "spread": Statistic(spread, limit(spreads))}


@contextlib.contextmanager
def preserved_random_state() -> Iterator[None]:
    """Restore the state of all random sources afterwards."""
    import numpy as np

    plain, arrays = random.getstate(), np.random.get_state()
    torch = sys.modules.get("torch")
    devices = list(range(torch.cuda.device_count())) if torch and torch.cuda.is_initialized() else []
    with torch.random.fork_rng(devices=devices) if torch else contextlib.nullcontext():
        try:
            yield
        finally:
            random.setstate(plain)
            np.random.set_state(arrays)


def _is_floating(value: Any) -> bool:
    return is_array(value) and "float" in str(value.dtype)
