"""The dtype in which numbers were really computed, as they show it themselves: code that torch does not see, such as
JAX's or a compiled library's, may round to float32 whatever it is given and whatever it returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[np.float64]

BITS = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8}
"""How many binary digits a number of each dtype has, from fine to coarse."""
_TF32 = 11
"""The same of factors in TF32, which no array is of."""
_SAME = {"complex128": "float64", "complex64": "float32", "float (Python)": "float64", "complex (Python)": "float64"}
_SHORT_BITS, _MAX_SPARE_BITS = 4, 8
"""A number with as few digits as the first was not rounded, nor was a whole number of sixteenths, unless it is so large
that most numbers around it are: by chance a number of float32 below 1,000 is one of these once in a thousand times."""


def last_place(dtype: str) -> float | None:
    """Return the unit in the last place of a floating dtype or of `tf32`, of numbers around 1; None for any other."""
    bits = _TF32 if dtype == "tf32" else BITS.get(_SAME.get(dtype, dtype))
    return None if bits is None else float(2.0 ** (1 - bits))


def is_exact(values: Array, dtype: str) -> bool:
    """Say whether no number shows that it was ever rounded: whole numbers, zeros, halves."""
    import numpy as np

    bits = BITS.get(_SAME.get(dtype, dtype), min(BITS.values()))
    finite = values[np.isfinite(values)]
    digits = np.ldexp(np.frexp(finite)[0], _SHORT_BITS)
    large = 2.0 ** (bits - min(_MAX_SPARE_BITS, bits // 4))
    with np.errstate(over="ignore"):
        sixteenths = finite * 2.0**_SHORT_BITS
    short = digits == np.trunc(digits)
    short |= (finite == np.trunc(finite)) & (np.abs(finite) < large)
    short |= (sixteenths == np.trunc(sixteenths)) & (np.abs(sixteenths) < large)
    return bool(short.all())


def computed_dtype(values: Array, dtype: str) -> str:
    """Return the coarsest dtype to which numbers of `dtype` were rounded; `dtype` itself if no coarser one."""
    own = _SAME.get(dtype, dtype)
    if own not in BITS or is_exact(values, dtype):
        return dtype
    return next((name for name in reversed(BITS) if BITS[name] < BITS[own] and _fit(values, name)), dtype)


def is_float64(values: Any) -> bool:
    """Say whether numbers of a run in float64 were computed in it, as far as they show it; a sketch shows nothing."""
    return not hasattr(values, "__array__") or computed_dtype(values, "float64") == "float64"


def unit_of(values: Array, dtype: str) -> float:
    """Return the unit in the last place of the dtype in which numbers were computed; 0 if they are exact, or of a dtype
    that rounds nothing."""
    own = _SAME.get(dtype, dtype)
    is_inexact = own.startswith(("float", "bfloat"))
    if not is_inexact or is_exact(values, dtype):
        return 0.0
    return float(2.0 ** (1 - BITS.get(computed_dtype(values, own), min(BITS.values()))))


def _fit(values: Array, dtype: str) -> bool:
    import numpy as np

    finite = values[np.isfinite(values)]
    if dtype == "bfloat16":
        single = finite.astype(np.float32)
        return bool((single == finite).all()) and not bool((single.view(np.uint32) & np.uint32(0xFFFF)).any())
    if dtype not in ("float32", "float16"):
        return dtype == "float64"
    with np.errstate(over="ignore"):
        return bool((finite.astype(dtype) == finite).all())
