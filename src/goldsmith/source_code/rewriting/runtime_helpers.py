"""What rewritten code calls where only a look at the values tells whether another formula means the same.

Each is written into the file that needs it, so it uses nothing but what it is given.
"""

from __future__ import annotations

import textwrap

_SOURCES = """
def _is_number(x):
    if isinstance(x, (int, float, complex)):
        return True
    kind = str(getattr(x, "dtype", "object"))
    return hasattr(x, "ndim") and any(word in kind for word in ("int", "float", "complex", "bool"))


def _is_floating(x):
    kind = str(getattr(x, "dtype", ""))
    return hasattr(x, "ndim") and "float" in kind and "float8" not in kind


def _swapped_sum(a, b):
    return b + a if _is_number(a) and _is_number(b) else a + b


def _swapped_product(a, b):
    of_numbers = _is_number(a) and _is_number(b) and "matrix" not in (type(a).__name__, type(b).__name__)
    return b * a if of_numbers else a * b


def _sum_with_negative(a, b):
    floats = all(_is_floating(x) or type(x) in (int, float) for x in (a, b))
    return -b + a if floats else a - b


def _times_reciprocal(a, b):
    if _is_floating(a) and (_is_floating(b) or (type(b) in (int, float) and b != 0)):
        return a * (1.0 / b)
    return a / b


def _power_by_products(x, n):
    if not _is_floating(x) or type(n) is not int or n not in (2, 3):
        return x**n
    return x * x if n == 2 else x * x * x


def _product_in_halves(multiply, a, b):
    if not (_is_floating(a) and _is_floating(b) and a.ndim >= 2 and b.ndim >= 2 and a.shape[-1] > 1):
        return multiply(a, b)
    if a.shape[-1] != b.shape[-2]:
        return multiply(a, b)
    half = a.shape[-1] // 2
    return multiply(a[..., half:], b[..., half:, :]) + multiply(a[..., :half], b[..., :half, :])


def _axes_of(x, args, kwargs):
    axes = kwargs.get("dim", kwargs.get("axis", args[0] if args else None))
    axes = range(x.ndim) if axes is None else [axes] if isinstance(axes, int) else axes
    return sorted(axis % x.ndim for axis in axes)


def _is_plain_reduction(x, args, kwargs):
    known = {"dim", "axis", "keepdim", "keepdims"}
    plain = len(args) <= 1 and set(kwargs) <= known and all(a is None or isinstance(a, (int, tuple)) for a in args)
    return plain and _is_floating(x) and x.ndim > 0


def _sum_of(x, *args, **kwargs):
    return x.sum(*args, **kwargs)


def _mean_of(x, *args, **kwargs):
    return x.mean(*args, **kwargs)


def _sum_backwards(total, x, *args, **kwargs):
    if not _is_plain_reduction(x, args, kwargs):
        return total(x, *args, **kwargs)
    axes = _axes_of(x, args, kwargs)
    if hasattr(x, "flip"):
        return total(x.flip(axes), *args, **kwargs)
    turned = tuple(slice(None, None, -1) if axis in axes else slice(None) for axis in range(x.ndim))
    return total(x[turned].copy(), *args, **kwargs)


def _mean_by_sum(mean, x, *args, **kwargs):
    if not _is_plain_reduction(x, args, kwargs) or "16" in str(x.dtype):
        return mean(x, *args, **kwargs)
    count = 1
    for axis in _axes_of(x, args, kwargs):
        count *= x.shape[axis]
    return x.sum(*args, **kwargs) / count if count else mean(x, *args, **kwargs)


def _root_as_power(root, x):
    return x**0.5 if _is_floating(x) else root(x)


def _where_not(where, condition, a, b):
    if "bool" in str(getattr(condition, "dtype", "")):
        return where(~condition, b, a)
    return where(condition, a, b)


def _fill_where(x, mask, value):
    if "bool" in str(getattr(mask, "dtype", "")) and type(value) in (int, float) and _is_floating(x):
        return x.where(~mask, value)
    return x.masked_fill(mask, value)


def _factors_negated(decompose, *args, **kwargs):
    found = decompose(*args, **kwargs)
    if not isinstance(found, tuple) or not 2 <= len(found) <= 3 or found[-1].ndim < 2:
        return found
    first = found[0] if len(found) == 2 and found[0].ndim < found[1].ndim else -found[0]
    negated = (first, *found[1:-1], -found[-1])
    return type(found)(*negated) if hasattr(found, "_fields") else type(found)(negated)


def _softmax_by_hand(softmax, x, *args, **kwargs):
    dim = kwargs.get("dim", args[0] if len(args) == 1 else None)
    if not isinstance(dim, int) or len(args) + len(kwargs) != 1 or not _is_floating(x) or x.ndim == 0:
        return softmax(x, *args, **kwargs)
    powers = (x - x.amax(dim, keepdim=True).detach()).exp()
    return powers / powers.sum(dim, keepdim=True)


def _log_softmax_by_hand(log_softmax, x, *args, **kwargs):
    dim = kwargs.get("dim", args[0] if len(args) == 1 else None)
    if not isinstance(dim, int) or len(args) + len(kwargs) != 1 or not _is_floating(x) or x.ndim == 0:
        return log_softmax(x, *args, **kwargs)
    return x - x.logsumexp(dim, keepdim=True)


def _cross_entropy_by_hand(cross_entropy, logits, targets):
    whole = "int" in str(getattr(targets, "dtype", ""))
    if not (whole and _is_floating(logits) and logits.ndim == 2 and targets.ndim == 1 and bool((targets >= 0).all())):
        return cross_entropy(logits, targets)
    chosen = logits.log_softmax(-1).gather(1, targets.long().unsqueeze(1))
    return -chosen.sum() / chosen.numel()
"""

HELPERS: dict[str, str] = {}
for _source in textwrap.dedent(_SOURCES).strip().split("\n\n\n"):
    HELPERS[_source.removeprefix("def ").partition("(")[0]] = _source

NEEDS = {name: [other for other in HELPERS if other != name and other in source] for name, source in HELPERS.items()}
"""The helpers that a helper calls."""
