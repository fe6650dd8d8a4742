"""Calibration: tolerances from trials, by how far the solution is from its own gold when things change that must not
matter.

Pure arithmetic over the trials' results; which trials there are is decided by the caller,
`generate/measure_tolerances.py`, whose `METHOD` is increased when this arithmetic changes.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from goldsmith.gold.advice import Advice
from goldsmith.gold.arrays import Computed, difference_of
from goldsmith.gold.choice_noise import choice_advice, exact_values, fragile_texts, measure_choices, without_victims
from goldsmith.gold.choices import Branch, Choice
from goldsmith.gold.facts import ALLOWED_NOISE, CaseFacts, LeafFacts
from goldsmith.gold.files import NOISY_PREFIX
from goldsmith.gold.precision import computed_dtype, is_exact
from goldsmith.gold.sizes import root_mean_square
from goldsmith.gold.tolerances import (
    ATOL,
    DRAWS,
    DWARFS,
    NOISY_SAFETY,
    RTOL,
    SAFETY,
    Noise,
    Tolerance,
    apply_pin,
    blind_paths,
    digits,
    is_blind,
    pin_for,
    sizes_of,
    tolerance_ratio,
    unmoved_tolerance,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[np.float64]

NOISY, COARSE = 1e-3, 32
"""An element that moves by more than this share of the tensor's size, or this many units in the last place of a coarse
type, is pure noise."""
FLOOR_L2, FLOOR_MAX = 8, 16
"""No tolerance is below this many units in the last place, however quiet the trials were."""
FLOOR_STEPS = 2
"""Nor below this many of the smallest numbers of its dtype, which is more for a tensor that is hardly above those."""
TRUSTED = 10.0
"""A float64 run farther from the gold than this many times the noise computes something else."""
TOO_NOISY = 0.05
FAR, FAR_IN_NOISE = 0.01, 0.1
"""Gold farther than this share of its size from the solution's float64 result is wrong itself; the second limit is for
gold that is noise as well, such as the result of long training. On the bundled course none is farther than 0.0003;
rotary angles at position 4,000 are 0.0002 off in float32 for every implementation."""
ZERO = 1e-6
"""A tensor whose float64 values are smaller by this factor is mathematically zero, and pure noise in float32."""

FLOAT64, FLOAT32, OTHER_SEED = "float64", "float32", "seed"
NOISE, NARROWED = "noise-", "narrowed-"
CONTROLS = ("again-1", "again-2")
"""Trials in which nothing is changed. If they differ all the same, a replay says nothing about noise."""
_EPS = {"float64": 2.0**-52, "complex128": 2.0**-52, "float32": 2.0**-23, "complex64": 2.0**-23, "float16": 2.0**-10}
_EPS |= {"float (Python)": _EPS["float64"]}
_COARSEST = 2.0**-7
_STEP = {"float64": 2.0**-1074, "float32": 2.0**-149, "float16": 2.0**-24, "bfloat16": 2.0**-133}
"""The smallest number of a dtype: below its normal range, neighbours are so far apart. `complex64` is in float32."""
_STEP |= {"complex128": _STEP["float64"], "complex64": _STEP["float32"], "float (Python)": _STEP["float64"]}


def pins_stand(case: CaseFacts, tolerances: Mapping[str, Tolerance]) -> bool:
    """Say whether a case's tolerances are still those that its recipe pins."""
    for path, tolerance in tolerances.items():
        pin = pin_for(path, case.pinned)
        if (pin is not None) != (tolerance.kind == "pinned"):
            return False
        if pin is not None and pin.draws and tolerance.noise and tolerance.noise.worst == DRAWS:
            continue  # on another machine, other draws give other limits
        if pin is not None and apply_pin(pin, tolerance) != tolerance:
            return False
    return True


def noise_limits(tolerance: Tolerance) -> Tolerance | None:
    """Return limits at the noise that was seen when the tolerance was measured; None if none was measured."""
    if tolerance.kind == "measured" and tolerance.l2 is not None and tolerance.max is not None:
        return msgspec.structs.replace(tolerance, l2=tolerance.l2 / SAFETY, max=tolerance.max / SAFETY)
    if tolerance.noise is not None:
        seen = tolerance.noise
        return Tolerance(kind="measured", reason="", l2=seen.l2, max=seen.max, scale=tolerance.scale)
    return None


@dataclass(frozen=True)
class Trials:
    """The results of one case's trials, by path: gold's numbers, each trial's differences from them, and the numbers of
    the float64 run. Of choices, those that were `found` in calls, and what follows after ties."""

    gold: Mapping[str, Array]
    differences: Mapping[str, Mapping[str, Array]]
    float64: Mapping[str, Array] = field(default_factory=dict)
    found: tuple[Choice, ...] = ()
    branches: Mapping[str, tuple[Branch, ...]] = field(default_factory=dict)


@dataclass
class Calibrated:
    """One case's tolerances by path, the content of its reference file, and advice."""

    tolerances: dict[str, Tolerance] = field(default_factory=dict)
    reference: dict[str, Any] = field(default_factory=dict)
    advice: list[Advice] = field(default_factory=list)
    untrusted: list[str] = field(default_factory=list)
    far: dict[str, float] = field(default_factory=dict)
    """How far gold is from its own float64 value, as a share of its size, where that is too far."""
    blind: list[str] = field(default_factory=list)
    """What noise moves too far to judge anything by, if that is all that was recorded."""
    unfaithful: bool = False
    choices: list[Choice] = field(default_factory=list)


def calibrate(case: CaseFacts, trials: Trials) -> Calibrated:
    """Compute the tolerances of one case; none if its replays are not faithful or no noise trial ran."""
    found = Calibrated()
    leaves = {leaf.path: leaf for leaf in case.file.leaves if leaf.path in trials.gold}
    if any(item.any() for name in CONTROLS for item in trials.differences.get(name, {}).values()):
        found.unfaithful = True
        return found
    choices = measure_choices(case, trials)
    found.choices, found.reference = choices.choices, choices.arrays
    if not any(name.startswith(NOISE) for name in trials.differences):
        return found
    exact = exact_values(found.choices, choices.arrays, trials)
    gold = {path: trials.gold[path] for path in leaves}
    trials = replace(trials, gold=gold, differences=without_victims(case, trials))
    floats = [leaf for leaf in case.file.leaves if leaf.is_array and leaf.is_inexact]
    coarsest = max((_eps(leaf) for leaf in floats), default=2.0**-52)
    stored = [case.path_in_item(leaf.path) for leaf in case.file.leaves if leaf.section.endswith("state_dict")]
    weights = tuple(f".{name}" for name in stored if name)
    for path, leaf in leaves.items():
        differences = {name: item[path] for name, item in trials.differences.items() if path in item}
        pin = pin_for(path, case.pinned)
        if pin is not None and pin.draws:
            found.tolerances[path] = apply_pin(pin, Tolerance(kind="exact", reason=""))
            continue
        if leaf.is_inexact:
            moved = any(item.any() for name, item in differences.items() if name.startswith(NOISE))
            inside = leaf.dtype if moved else computed_dtype(trials.gold[path], leaf.dtype)
            eps = max(_eps(leaf) if leaf.is_array else coarsest, _EPS.get(inside, _COARSEST))
            scale = _scale(path, trials.gold)
            step = _STEP.get(inside, 0.0)
            _inexact(found, leaf, (eps, step), scale, trials.gold[path], differences, trials.float64.get(path))
            if path in trials.float64 and pin is None:  # a pin was decided by a person
                _hold_to_float64(found, leaf, eps, scale, trials.gold[path], exact[path], weights)
        if pin is not None:
            standing = found.tolerances.get(path) or Tolerance(kind="exact", reason="", scale=_rms(trials.gold[path]))
            found.tolerances[path] = apply_pin(pin, standing)
            found.reference.pop(NOISY_PREFIX + path, None)
    chance = {path for path, item in trials.differences.get(OTHER_SEED, {}).items() if item.any()}
    found.far = {path: far for path, far in found.far.items() if path not in chance and not case.allows(path, FLOAT64)}
    found.blind = _blind(case, leaves, trials, found)
    found.advice = list(_advice(case, leaves, trials, found))
    return found


def _inexact(
    found: Calibrated,
    leaf: LeafFacts,
    units: tuple[float, float],
    scale: float,
    gold: Array,
    differences: Mapping[str, Array],
    float64: Array | None,
) -> None:
    """Measure the tolerance of one floating-point leaf; float64 counts as a trial once it is trusted. `units` are
    those of its dtype: of the last place, and the smallest number."""
    path, (eps, _) = leaf.path, units
    gaps = _comparable(differences, eps)
    if not gaps:
        return
    if float64 is not None and eps > _EPS["float64"]:
        if _is_trusted(np.abs(difference_of(float64, gold)), _measure(gaps, gold, scale, units), gold):
            gaps = _comparable({**differences, FLOAT64: difference_of(float64, gold)}, eps)
            found.reference[path] = float64
        else:
            found.untrusted.append(path)
    measured = _measure(gaps, gold, scale, units)
    if not any(gap.any() for gap in gaps.values()):
        found.tolerances[path] = unmoved_tolerance(measured.tolerance, is_exact(gold, leaf.dtype))
        return
    found.tolerances[path] = measured.tolerance
    if measured.tolerance.noisy:
        found.reference[NOISY_PREFIX + path] = measured.noisy


def _blind(case: CaseFacts, leaves: Mapping[str, LeafFacts], trials: Trials, found: Calibrated) -> list[str]:
    """List what noise moves too far, unless something else was recorded that can be judged."""
    sizes = {path: values.size for path, values in trials.gold.items()}
    if not all(path in found.tolerances and is_blind(found.tolerances[path], sizes[path]) for path in leaves):
        return []
    blind = blind_paths(found.tolerances, sizes)
    return [] if any(case.allows(path, ALLOWED_NOISE) for path in blind) else blind


def _hold_to_float64(
    found: Calibrated, leaf: LeafFacts, eps: float, scale: float, gold: Array, float64: Array, weights: tuple[str, ...]
) -> None:
    """Note gold that is too far from its own float64 value.

    Noisy weights and their gradients are left out: an optimiser takes full-size steps from a gradient that is zero.
    """
    gap = np.abs(difference_of(float64, gold))
    noisy = found.reference.get(NOISY_PREFIX + leaf.path, np.zeros(gold.shape, dtype=bool))
    far = _distance(gap, gold, scale, noisy)
    if leaf.path in found.untrusted and far > max(FAR, COARSE * eps):
        found.far[leaf.path] = far
    elif not leaf.path.endswith(weights) and _rms(float64) > ZERO * _rms(gold):
        far = _distance(gap, gold, scale, np.zeros_like(noisy))
        if far > max(FAR_IN_NOISE, COARSE * eps):
            found.far[leaf.path] = far


@dataclass(frozen=True)
class _Measured:
    tolerance: Tolerance
    noisy: npt.NDArray[np.bool_]


def _measure(gaps: Mapping[str, Array], gold: Array, scale: float, units: tuple[float, float]) -> _Measured:
    eps, step = units[0], units[1] / scale

    spread = functools.reduce(np.maximum, gaps.values())
    sizes = sizes_of(gold, scale)
    l2, farthest = 0.0, {}
    with np.errstate(over="ignore"):
        noisy = np.asarray(~(spread / sizes <= max(NOISY, COARSE * eps, FLOOR_STEPS * step)))
        for name, gap in gaps.items():
            quiet = (gap / sizes)[~noisy]
            l2, farthest[name] = max(l2, root_mean_square(quiet)), float(np.max(quiet, initial=0.0))
    worst = max(farthest, key=lambda name: farthest[name])
    wild = spread[noisy & np.isfinite(spread)]
    finite = np.isfinite(gold) & np.isfinite(spread)
    size = np.abs(gold[finite])
    noise = Noise(
        trials=len(gaps),
        l2=digits(l2),
        max=digits(farthest[worst]),
        worst=worst,
        float64=digits(farthest[FLOAT64]) if FLOAT64 in farthest else None,
        customary=digits(float(np.max(spread[finite] / (ATOL + RTOL * size), initial=0))),
        unseen=digits(float(np.mean((size > 0) & (size <= ATOL + RTOL * size)))) if size.size else 0.0,
    )
    tolerance = Tolerance(
        kind="measured",
        reason=f"{SAFETY:g} x the noise of {len(gaps)} trials",
        l2=digits(max(SAFETY * l2, FLOOR_L2 * eps, FLOOR_STEPS * step)),
        max=digits(max(SAFETY * farthest[worst], FLOOR_MAX * eps, FLOOR_STEPS * step)),
        scale=digits(scale),
        noisy=int(noisy.sum()),
        noisy_limit=digits(NOISY_SAFETY * float(wild.max())) if wild.size else 0.0,
        noise=noise,
    )
    return _Measured(tolerance, noisy)


def _comparable(differences: Mapping[str, Array], eps: float) -> Mapping[str, Array]:
    """Return the gaps that count as noise: all but another seed's; float32's only for float64 leaves, scaled down.

    Each is made when it is asked for: those of a large tensor in all trials would take twenty times its memory.
    """

    def gap(name: str) -> Array:
        found: Array = np.abs(differences[name]).astype(np.float64, copy=False)
        return found * 2.0**-29 if name == FLOAT32 else found  # float64 has 29 bits more

    left_out = {OTHER_SEED} if eps == _EPS["float64"] else {OTHER_SEED, FLOAT32}
    return Computed([name for name in differences if name not in left_out], gap)


def _is_trusted(gap: Array, measured: _Measured, gold: Array) -> bool:
    if not gap.size:
        return True
    sound = np.isfinite(gap) & np.isfinite(gold)
    if not sound.any() or not np.isfinite(gap).all():
        return False
    return tolerance_ratio(measured.tolerance, gap[sound], gold[sound], measured.noisy[sound]) <= TRUSTED / SAFETY


def _distance(gap: Array, gold: Array, scale: float, noisy: npt.NDArray[np.bool_]) -> float:
    """Return the distance from gold as a whole, over its size.

    Elements that are noise, dwarf the others or are not finite do not count: a mask filled with a dtype's largest
    number differs between dtypes.
    """
    counted = (gap / scale)[~noisy & np.isfinite(gap) & (sizes_of(gold, scale) == scale)]
    return root_mean_square(counted)


def _scale(path: str, gold: Mapping[str, Array]) -> float:
    """Return the tensor's root mean square, without the few elements that dwarf the others (a mask's -1e9); for a
    tensor that is all zero, that of the largest recorded with it."""
    own = _rms(_usual(gold[path]))
    if own:
        return own
    group = ".".join(path.split(".")[:2])
    return max((_rms(values) for name, values in gold.items() if name.startswith(group)), default=0.0) or 1.0


def _usual(values: Array) -> Array:
    sizes: Array = np.abs(values[np.isfinite(values)])
    if sizes.any():
        sizes = sizes[sizes <= DWARFS * np.median(sizes[sizes > 0])]
    return sizes


def _rms(values: Array) -> float:
    return root_mean_square(values[np.isfinite(values)])


def _eps(leaf: LeafFacts) -> float:
    return _EPS.get(leaf.dtype, _COARSEST)


def _advice(case: CaseFacts, leaves: Mapping[str, LeafFacts], trials: Trials, found: Calibrated) -> Iterator[Advice]:
    """Yield at most one piece of advice of each kind, about the first tensor it is true of."""
    for kind, texts in (
        ("unstored-chance", _unstored(case, trials)),
        ("fragile", fragile_texts(case, found.choices, trials)),
        ("noisy", _noisy(case, trials, found)),
        ("tight-pin", _tight(case, trials, found)),
    ):
        text = next(texts, None)
        if text is not None:
            yield Advice(f"{kind}:{case.name}", f"case {case.name}: {text}")
    yield from choice_advice(case, found.choices)


def _unstored(case: CaseFacts, trials: Trials) -> Iterator[str]:
    for path, difference in trials.differences.get(OTHER_SEED, {}).items():
        if difference.any():
            yield (
                f"{case.label(path)} depends on random numbers that are not stored, so nobody else can match it: "
                "draw them in case.input, and switch dropout off"
            )


def _noisy(case: CaseFacts, trials: Trials, found: Calibrated) -> Iterator[str]:
    """Yield advice on tensors too noisy to judge; those that are mathematically zero are noise by nature and left
    out."""
    largest = max((_rms(values) for values in trials.gold.values()), default=0.0)
    for path, tolerance in found.tolerances.items():
        values = trials.gold[path]
        mostly = tolerance.noisy > values.size / 2 or (tolerance.max or 0.0) > TOO_NOISY
        if mostly and _rms(values) > 1e-4 * largest:
            yield (
                f"{case.label(path)} varies so much with rounding alone that little can be judged by it: "
                "take fewer steps, or smaller ones"
            )


def _tight(case: CaseFacts, trials: Trials, found: Calibrated) -> Iterator[str]:
    for path, tolerance in found.tolerances.items():
        if tolerance.kind != "pinned" or tolerance.noise is None:
            continue
        gold = trials.gold[path]
        for name, gap in _comparable({name: item[path] for name, item in trials.differences.items()}, 0.0).items():
            finite = np.isfinite(gap) & np.isfinite(gold)
            if finite.any() and tolerance_ratio(tolerance, gap[finite], gold[finite]) > 1:
                label = case.label(path)
                yield f"the tolerance pinned for {label} is below its noise ({name}): correct work can fail"
