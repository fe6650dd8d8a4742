"""What a call passes back: the gradients of its inputs and weights, for a fixed direction in what it returns.

A `detach` too many leaves every output as it is. So after a case has run, each kind of call in its trace is made once
more with gradients, on the solution when gold is made and on a submission alone when a case differs. Gold keeps a few
projections of each gradient, which is enough to tell one from another.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from goldsmith.gold.call_forms import rebuilt, tensors_in


def passed_back(
    call: Callable[..., Any],
    form: Any,
    tensors: Sequence[Any],
    weights: Callable[[], Mapping[str, Any]],
    frozen: Collection[str] = (),
) -> dict[str, Any]:
    """The gradients that `call` passes back to `tensors`, by number (`input.0`), and to its `weights`, by name
    (`weight.scale`, or `thawed.scale` if that was `frozen`); nothing where it passes back none at all."""
    import torch

    inputs = [item.detach().clone() for item in tensors]
    for item in inputs:
        item.requires_grad_(item.is_floating_point() or item.is_complex())
    with torch.enable_grad():
        # copies, for a call may overwrite what it is given unless that is a leaf
        args, kwargs = rebuilt(form, {str(number): item.clone() for number, item in enumerate(inputs)})
        outputs = [item for item in tensors_in([call(*args, **kwargs)]) if item.requires_grad]
        total = sum((item * _direction(item, number)).sum() for number, item in enumerate(outputs))
    if not outputs:
        return {}
    total.abs().backward() if total.is_complex() else total.backward()
    found = {f"input.{number}": item.grad for number, item in enumerate(inputs) if item.requires_grad}
    found |= {f"{'thawed' if name in frozen else 'weight'}.{name}": item for name, item in weights().items()}
    return {name: _as_numbers(gradient) for name, gradient in found.items() if gradient is not None}


def _as_numbers(gradient: Any) -> Any:
    """In a dtype that NumPy has, complex ones as pairs."""
    import torch

    real = torch.view_as_real(gradient) if gradient.is_complex() else gradient
    return real.detach().double()


def _direction(output: Any, number: int) -> Any:
    import torch

    steps = torch.arange(1, output.numel() + 1, dtype=torch.float64)
    return torch.cos(steps * 1.7 + number).reshape(output.shape).to(output)
