"""The limits of a ruler, from runs of the solution in its setting. Pure arithmetic; the runs are made by
`generate/calibrate.py`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from goldsmith.gold.arrays import difference_of, judged_part, numbers_of
from goldsmith.gold.calibration import FLOOR_L2, FLOOR_MAX, Trials
from goldsmith.gold.load import GoldCase
from goldsmith.gold.precision import last_place
from goldsmith.gold.sizes import common_factor, root_mean_square
from goldsmith.gold.tolerances import BLIND, NOISY_SAFETY, SAFETY, Noise, Tolerance, digits, sizes_of, tolerance_ratio
from goldsmith.gold.trivial_answers import passing_answers
from goldsmith.runs.conditions import OWN
from goldsmith.runs.setting import Setting

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[np.float64]

COARSE_FLOORS = (1.0, 4.0)
"""The floors of limits in dtypes coarser than float32, in units of the last place: of a tensor as a whole, and of its
farthest element. Eight and sixteen, as in finer ones, would be a tenth of its size in bfloat16."""
FACTOR_FLOOR = 1.0
"""The least limit of a factor by which a whole tensor is off, in units of the last place of half precision: of TF32,
nothing is known. Two constants that are rounded to it make up as much, and what truncates in place of rounding 0.97.
Where rounding moves a normalised output by a tenth of its size, its own factor is 0.7 off; 1.01 is 1.28 in bfloat16."""


@dataclass
class RulerCase:
    """The limits of one case, and why nothing can be judged by some of its tensors."""

    limits: dict[str, Tolerance] = field(default_factory=dict)
    unjudged: dict[str, str] = field(default_factory=dict)


def ruler_case(case: GoldCase, trials: Trials, setting: Setting, others: Sequence[GoldCase]) -> RulerCase:
    """Measure how far the solution is from its own float64 reference in a setting, or from gold where there is none.
    The gold of `others` is among the answers that must not pass."""
    found = RulerCase()
    entries = {item.path: item for item in case.entry.tensors if item.tolerance is not None}
    for path in judged_part(case.data):
        entry, gold = entries.get(path), trials.gold.get(path)
        own = entry.tolerance if entry is not None else None
        if entry is None or own is None or gold is None:
            continue
        gaps = {name: item[path] for name, item in trials.differences.items() if path in item}
        if own.kind == "exact":
            if any(gap.any() for gap in gaps.values()):
                found.unjudged[path] = "the solution itself returns something else there"
            continue
        if own.kind == "pinned" and _holds(own, gaps, gold):
            continue
        base = numbers_of(case.reference[path]) if path in case.reference else gold
        far = {name: difference_of(gold + gap, base) for name, gap in gaps.items()}
        if not _are_finite(far, base):
            found.unjudged[path] = "the solution itself returns numbers there that are not finite"
            continue
        unit = _unit(entry.dtype, setting)
        limit = _limit(far, base, own, case.noisy.get(path), unit)
        if unit[1] == COARSE_FLOORS and not setting.tf32:
            limit = _with_factor(limit, far, base, unit[0])
        found.limits[path] = limit
        if _off(limit) > BLIND:
            found.unjudged[path] = f"the solution itself is off by up to {_off(limit):.0%} of its size there"
    answers = passing_answers(case, found.limits, others)
    found.unjudged |= {path: f"{name} would pass as it there" for path, name in answers.items()}
    return found


def _holds(pinned: Tolerance, gaps: Mapping[str, Array], gold: Array) -> bool:
    """Say whether the solution keeps to what a person has decided."""
    import numpy as np

    sound = np.isfinite(gold)
    return all(
        np.isfinite(gap[sound]).all() and tolerance_ratio(pinned, gap[sound], gold[sound]) <= 1 for gap in gaps.values()
    )


def _are_finite(far: Mapping[str, Array], base: Array) -> bool:
    import numpy as np

    return all(np.isfinite(gap[np.isfinite(base)]).all() for gap in far.values())


def _off(limit: Tolerance) -> float:
    return limit.noise.l2 if limit.noise else 0.0


def _unit(dtype: str, setting: Setting) -> tuple[float, tuple[float, float]]:
    """Return the unit in the last place of what is computed in a setting, and the floors in that unit."""
    fine = (FLOOR_L2, FLOOR_MAX)
    unit = last_place(dtype if setting.dtype == OWN else setting.dtype) or last_place("bfloat16") or 0.0
    tf32 = last_place("tf32") or 0.0
    if setting.tf32 and unit <= tf32:
        return tf32, COARSE_FLOORS
    return unit, fine if unit <= (last_place("float32") or 0.0) else COARSE_FLOORS


def _limit(
    far: Mapping[str, Array], base: Array, own: Tolerance, noisy: Any, unit: tuple[float, tuple[float, float]]
) -> Tolerance:
    """Return the limits of one tensor. What is noise in gold's own dtype is noise in any other."""
    import numpy as np

    eps, floors = unit
    marks = noisy if noisy is not None and noisy.shape == base.shape else np.zeros(base.shape, dtype=bool)
    sound = np.isfinite(base)
    scale = own.scale if own.scale and own.kind == "measured" else root_mean_square(base[sound]) or 1.0
    l2, farthest, wild = dict(_each(far, base, ~marks & sound, scale)), 0.0, 0.0
    worst = max(l2, key=lambda name: l2[name][1], default="")
    for name, gap in far.items():
        farthest = max(farthest, l2[name][1])
        wild = max(wild, float(np.max(np.abs(gap[marks & sound]), initial=0.0)))
    whole = max((item[0] for item in l2.values()), default=0.0)
    noise = Noise(trials=len(far), l2=digits(whole), max=digits(farthest), worst=worst)
    return Tolerance(
        kind="measured",
        reason=f"{SAFETY:g} x what the solution is off in {len(far)} runs there",
        l2=digits(max(SAFETY * whole, floors[0] * eps)),
        max=digits(max(SAFETY * farthest, floors[1] * eps)),
        scale=digits(scale),
        noisy=int(marks.sum()),
        noisy_limit=digits(NOISY_SAFETY * wild),
        noise=noise,
    )


def _with_factor(limit: Tolerance, far: Mapping[str, Array], base: Array, eps: float) -> Tolerance:
    """Limit the factor by which a whole tensor is off, if that says more than the limit of its distance does. Of few
    elements, roundings make up a factor by chance, which the solution's own need not show."""
    import numpy as np

    sound = np.isfinite(base)
    seen = max((abs(common_factor(gap[sound], base[sound])) for gap in far.values()), default=0.0)
    chance = _off(limit) / math.sqrt(max(1, int(sound.sum()) - (limit.noisy or 0)))
    factor = digits(max(SAFETY * seen, SAFETY * chance, FACTOR_FLOOR * eps))
    return msgspec.structs.replace(limit, factor=factor) if factor < (limit.l2 or 0.0) else limit


def _each(
    far: Mapping[str, Array], base: Array, counted: Any, scale: float
) -> Iterator[tuple[str, tuple[float, float]]]:
    """Yield how far each run is off, as a whole and at its farthest element."""
    import numpy as np

    for name, gap in far.items():
        off = np.abs(gap[counted]) / sizes_of(base[counted], scale)
        yield name, (root_mean_square(off), float(np.max(off, initial=0.0)))
