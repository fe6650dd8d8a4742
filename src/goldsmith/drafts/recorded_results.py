"""What a draft records of the result of a call: which part of it, how gradients are passed back, and whether its axes
can be told apart."""

from __future__ import annotations

import functools
import inspect
import re
import sys
from collections.abc import Iterator
from typing import Any

from goldsmith.drafts.specs_of_values import library_of
from goldsmith.gold.arrays import is_array
from goldsmith.weights.values import first_of

_CACHE_DOCUMENTED = re.compile(r"(?:^|\n)\s*(?:Returns?|Outputs?)\b.*\bcache\b", re.DOTALL)
_CACHE_RETURNED = re.compile(r"\breturn\b[^\n]*,\s*\(?cache\b")


def backward_lines(name: str, result: Any, label: str = "") -> list[str]:
    shape = tuple(result.shape)
    if not shape:
        return [f"{name}.backward()"]
    sizes = ", ".join(map(str, shape))
    which = f"direction_{label}" if label else "direction"
    return [
        f'direction = case.input("{which}", lambda: torch.randn({sizes}))',
        f"({name} * direction).sum().backward()",
    ]


def returns_cache(result: Any, text: str) -> bool:
    """Say whether the last of several results is what a backward pass needs, by docstring and source."""
    if not isinstance(result, tuple) or len(result) < 2:
        return False
    return _CACHE_DOCUMENTED.search(text) is not None or _CACHE_RETURNED.search(text) is not None


def differentiable(result: Any, *, is_model: bool) -> tuple[str, Any]:
    """Return what gradients are passed back from, and how it is taken from a result: the main output of a model, of
    other results the first item that has a gradient."""
    if isinstance(result, tuple | list | dict) and result:
        if is_model:
            return "", first_of(result)
        for key, item in result.items() if isinstance(result, dict) else enumerate(result):
            if has_gradient(item):
                return f"[{key!r}]", item
        return "", None
    return "", result


def has_gradient(value: Any) -> bool:
    return bool(library_of(value) == "torch" and value.is_floating_point() and value.requires_grad)


def _parameters_of(value: Any) -> dict[str, str]:
    """Return what of a distribution is the same for everybody who means the same, as names of attributes."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(value, torch.distributions.Distribution):
        return {}
    kinds = torch.distributions
    plain = value.base_dist if isinstance(value, kinds.Independent) else value
    if isinstance(plain, kinds.Categorical | kinds.Bernoulli):
        return {"probs": "probs" if plain is value else "base_dist.probs"}
    if isinstance(plain, kinds.Normal | kinds.MultivariateNormal):
        return {"mean": "mean", "variance": "variance"}
    return {}


def kept(value: Any) -> Any:
    """Return the part of a result that `recorded` writes, where that is another value."""
    names = _parameters_of(value)
    found = {name: functools.reduce(getattr, path.split("."), value) for name, path in names.items()}
    return found.get("probs", found) if found else value


def recorded(expression: str, value: Any, *, is_model: bool) -> str:
    """Write the part of a result that can be kept; of a distribution its parameters, which samples would hide."""
    names = _parameters_of(value)
    if "probs" in names:
        return f"{expression}.{names['probs']}"
    if names:
        return f'{{"mean": (distribution := {expression}).mean, "variance": distribution.variance}}'
    if is_model and isinstance(value, tuple | list | dict) and value and not is_array(value):
        return f"case.first({expression})"
    if isinstance(value, set | frozenset):
        return f"sorted({expression})"
    if inspect.isgenerator(value) or isinstance(value, Iterator | map | filter | zip | range):
        return f"list({expression})"
    if isinstance(value, dict) and not all(isinstance(key, str | int) for key in value):
        return f"sorted({expression}.items())"
    return expression


def coincides(value: Any) -> bool:
    """Say whether two axes longer than one have the same length; images may be square."""
    shape = tuple(getattr(first_of(value) if isinstance(value, tuple | list | dict) else value, "shape", ()))
    sizes = [size for size in (shape[:3] if len(shape) == 4 else shape) if size > 1]
    return len(set(sizes)) < len(sizes)
