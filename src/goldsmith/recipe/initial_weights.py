"""Statistics of initial weights over many seeds, with limits that follow from how much they vary from seed to seed.

Where gold's weights are loaded, a submission's own initialisation never shows: a missing Kaiming factor would pass. Two
correct ones draw different numbers, so the numbers cannot be compared; their mean and their spread can, of the whole
and of blocks of rows or columns, such as the gates of a recurrent layer. Elements that come out the same from every
seed are compared one by one.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from goldsmith.errors.recipe import RecipeMisuse
from goldsmith.frameworks.framework import library_of
from goldsmith.frameworks.randomness import random_state_kept
from goldsmith.gold.arrays import is_array, is_floating, numbers_of
from goldsmith.recipe.seeding import seed_everything

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[np.float64]

SEEDS = 48
"""How many models are built. A weight of 500 elements then has its spread known to half a percent."""
DEVIATIONS = 6.0
"""How many standard errors two correct ones may be apart: once in 10^7 by chance, over 48 seeds."""
ROUNDING = 1e-6
"""The smallest limit, relative to the size of the weight: constants are equal except for their last bits."""
CLOSE = 1e-3
"""How far a single constant may be off, relative to the size of all: a table of sines in float32 is off by 2e-4."""
BLOCKS = (2, 3, 4, 5, 6, 8)
"""Into how many blocks of rows or columns a weight may be divided that are initialised differently."""
GATES = (3, 4)
"""Into how many blocks the longest axis is divided where all are initialised alike: query, key and value, or gates."""
OUTLIERS = 5.0
"""The kurtosis from which a weight has outliers, as a sparse one has: 1.8 if it is uniform, 3 if it is normal."""
_BY_CHANCE = 1e-6
_MAX_RANGES = 8


class Statistic(NamedTuple):
    """What describes a weight, and how far another correct implementation may be from it: a number, an array of those,
    or a text, which must be the same."""

    value: Any
    limit: float


def draw_weights(
    build: Callable[[int], Any], read: Callable[[Any], Mapping[str, Any]], seeds: Sequence[int]
) -> dict[str, Array]:
    """Build a model from each seed, which `build` is given, and read its weights, stacked by name; restore the random
    state afterwards."""
    found: dict[str, list[Any]] = {}
    with random_state_kept():
        for seed in seeds:
            seed_everything(seed)
            for name, value in read(build(seed)).items():
                if is_array(value) and is_floating(value) and math.prod(value.shape):
                    found.setdefault(name, []).append(numbers_of(value))
    shapes = {name: {draw.shape for draw in draws} for name, draws in found.items()}
    return {name: np.stack(found[name]) for name in found if len(found[name]) == len(seeds) and len(shapes[name]) == 1}


def check_varies(model: Any, name: str, draws: Mapping[str, Array]) -> None:
    """Refuse weights that are the same from every seed in a library whose randomness is an argument: the recipe keeps
    that to itself."""
    library = library_of(model)
    if library is None or library.numerics.random_state():
        return
    varies = any((item != item[0]).any() for item in draws.values())
    if not varies and not all(_are_one(item) for item in draws.values()):
        raise RecipeMisuse(
            f"case.initial: {name} comes out the same from every seed; hand over the key that it draws from as an "
            "argument, as in case.initial(make, key), so that another can take its place"
        )


def telling_statistics(draws: Array) -> tuple[str, ...]:
    """Return which statistics describe a weight, drawn once for each seed, besides its mean and its spread.

    `constant_at` says which elements come out the same from every seed, `constants` are those, and `constant` is their
    one value; `rows of 4` and `columns of 4` are the blocks of a weight that are initialised differently, `alike rows
    of 4` those that are not.
    """
    same = _constants(draws)
    if same.all():
        return () if _are_one(draws[0]) else ("constants",)
    found = ["constant_at"]
    if same.any():
        found.append("constant" if _are_one(draws[0][same]) else "constants")
    axes = {"rows": 0} | ({"columns": 1} if draws.ndim == 3 else {})
    longest = max(axes.values(), key=lambda axis: draws.shape[1 + axis]) if draws.ndim > 1 else None
    for what, axis in axes.items() if draws.ndim > 1 else ():
        for number in (number for number in BLOCKS if draws.shape[1 + axis] % number == 0):
            if _are_unlike(_blocks(draws, axis, number)):
                found.append(f"{what} of {number}")
            elif number in GATES and axis == longest and _kurtosis(draws) < OUTLIERS:
                found.append(f"alike {what} of {number}")
    return tuple(found)


def statistics_of(draws: Array, telling: Sequence[str]) -> dict[str, Statistic]:
    """Describe a weight, drawn once for each seed, by its mean and spread and by what else is `telling`."""
    found = _mean_and_spread(draws)
    for kind in telling:
        found |= dict(_more(draws, kind))
    return found


def _more(draws: Array, kind: str) -> Iterator[tuple[str, Statistic]]:
    if kind.startswith("constant"):
        same = _constants(draws)
        if kind == "constant_at":
            yield kind, Statistic(_ranges(same), 0.0)
            return
        values = np.where(same, draws[0], 0.0)
        size = float(np.sqrt(np.mean(values[same] ** 2))) if same.any() else 0.0
        if kind == "constants":
            yield kind, Statistic(values, CLOSE * size)
        else:
            one = float(values[same][0]) if same.any() and _are_one(values[same]) else math.nan
            yield kind, Statistic(one, ROUNDING * size)
        return
    what, _, number = kind.removeprefix("alike ").partition(" of ")
    axis = ("rows", "columns").index(what)
    if draws.ndim <= 1 + axis or draws.shape[1 + axis] % int(number):
        return  # nothing is said, and that is no agreement
    each = [_mean_and_spread(block) for block in _blocks(draws, axis, int(number))]
    if not kind.startswith("alike "):
        for index, block in enumerate(each, start=1):
            for name, item in block.items():
                yield f"{what} {index} of {number}.{name}", item
        return
    for name in each[0]:
        values = np.array([block[name].value for block in each])
        yield f"{what} of {number}.{name}", Statistic(values, max(block[name].limit for block in each))


def _mean_and_spread(draws: Array) -> dict[str, Statistic]:
    values = draws.reshape(len(draws), -1)
    mean = float(values.mean())
    means, spreads = values.mean(axis=1), np.sqrt(np.mean((values - mean) ** 2, axis=1))
    spread = float(np.sqrt(np.mean((values - mean) ** 2)))
    least = ROUNDING * max(abs(mean), spread)

    # With outliers it is chance how many of them there were in gold, and with that, how large the error seems.
    most = _deviations(len(draws)) * math.sqrt(max(1.0, _kurtosis(draws) / OUTLIERS))

    def limit(samples: Any) -> float:
        # The root of two, because the other implementation's varies as much.
        return max(most * math.sqrt(2 / len(samples)) * float(np.std(samples, ddof=1)), least)

    # The spread is taken about a mean that is itself off by chance; where nothing else varies, as of an orthogonal
    # matrix, that is what remains.
    by_mean = limit(means) ** 2 / (2 * spread) if spread else 0.0
    return {"mean": Statistic(mean, limit(means)), "spread": Statistic(spread, limit(spreads) + by_mean)}


def _deviations(seeds: int) -> float:
    """Return how many standard errors are as unlikely as `DEVIATIONS` over `SEEDS`: the fewer there are, the less is
    known about the error itself (quantiles of Student's t, to the second order)."""

    def quantile(freedom: int) -> float:
        z = DEVIATIONS
        return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)

    return DEVIATIONS * max(1.0, quantile(seeds - 1) / quantile(SEEDS - 1))


def _blocks(draws: Array, axis: int, number: int) -> list[Array]:
    return np.split(draws, number, axis=1 + axis)


def _are_unlike(blocks: Sequence[Array]) -> bool:
    """Return whether blocks of one weight are drawn from different distributions, beyond chance."""
    each = [_mean_and_spread(block) for block in blocks]

    def unlike(kind: str) -> bool:
        values = [float(item[kind].value) for item in each]
        return max(values) - min(values) > max(item[kind].limit for item in each)

    return unlike("mean") or unlike("spread")


def _kurtosis(draws: Array) -> float:
    """Return the fourth moment over the square of the second; 0 where nothing varies."""
    squares = (draws - draws.mean()) ** 2
    spread = float(np.mean(squares)) ** 2
    return float(np.mean(squares**2)) / spread if spread else 0.0


def _constants(draws: Array) -> npt.NDArray[np.bool_]:
    """Return which elements come out the same from every seed. Where others are often drawn as the same number (most
    elements of a sparse weight are 0), that may be chance, and they do not count."""
    same: npt.NDArray[np.bool_] = (draws == draws[0]).all(axis=0)
    if not same.any() or same.all():
        return same
    drawn = np.sort(draws[:, ~same], axis=None)
    found = draws[0]
    often = np.searchsorted(drawn, found, side="right") - np.searchsorted(drawn, found, side="left")
    same &= (often / drawn.size) ** len(draws) * same.size < _BY_CHANCE
    return same


def _are_one(values: Array) -> bool:
    return bool((values == values.reshape(-1)[0]).all())


def _ranges(marks: npt.NDArray[np.bool_]) -> str:
    """Say which elements are marked, counted row by row: `8:16` are the ninth to the sixteenth."""
    if marks.all() or not marks.any():
        return "all" if marks.all() else "none"
    flat = marks.reshape(-1)
    groups = ((mark, len(list(group))) for mark, group in itertools.groupby(flat.tolist()))
    start, found = 0, []
    for mark, length in groups:
        found += [f"{start}:{start + length}"] if mark else []
        start += length
    if len(found) <= _MAX_RANGES:
        return ", ".join(found)
    return f"{', '.join(found[:_MAX_RANGES])} … ({hashlib.sha256(flat.tobytes()).hexdigest()[:16]})"
