"""Gradients of a call's inputs and weights, for a fixed direction in its outputs.

A superfluous `detach` changes no output. So after a case has run, each kind of call in its trace is repeated once with
gradients: on the solution when gold is made, on a submission only when a case differs. Gold keeps a few projections of
each gradient, which is enough to tell two apart.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from goldsmith.gold.call_forms import rebuild, tensors_in


def passed_back(
    call: Callable[..., Any],
    form: Any,
    tensors: Sequence[Any],
    weights: Callable[[], Mapping[str, Any]],
    frozen: Collection[str] = (),
) -> dict[str, Any]:
    """Return the gradients that `call` passes back to `tensors`, by number (`input.0`), and to its `weights`, by name
    (`weight.scale`, or `thawed.scale` if that was `frozen`); empty if it passes back none."""
    import torch

    inputs = [item.detach().clone() for item in tensors]
    for item in inputs:
        item.requires_grad_(item.is_floating_point() or item.is_complex())
    with torch.enable_grad():
        # copies: a call may overwrite its inputs, which autograd refuses for leaves
        args, kwargs = rebuild(form, {str(number): item.clone() for number, item in enumerate(inputs)})
        outputs = [item for item in tensors_in([call(*args, **kwargs)]) if item.requires_grad]
        total = sum((item * _direction(item, number)).sum() for number, item in enumerate(outputs))
    if not outputs:
        return {}
    total.abs().backward() if total.is_complex() else total.backward()
    found = {f"input.{number}": item.grad for number, item in enumerate(inputs) if item.requires_grad}
    found |= {f"{'thawed' if name in frozen else 'weight'}.{name}": item for name, item in weights().items()}
    return {name: _as_numbers(gradient) for name, gradient in found.items() if gradient is not None}


def _as_numbers(gradient: Any) -> Any:
    """Convert to float64, which NumPy has, with complex numbers as pairs."""
    import torch

    real = torch.view_as_real(gradient) if gradient.is_complex() else gradient
    return real.detach().double()


def _direction(output: Any, number: int) -> Any:
    import torch

    steps = torch.arange(1, output.numel() + 1, dtype=torch.float64)
    return torch.cos(steps * 1.7 + number).reshape(output.shape).to(output)
