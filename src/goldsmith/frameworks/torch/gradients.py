"""Gradients of a call's inputs and weights, for a fixed direction in its outputs.

A superfluous `detach` changes no output. So after a case has run, each kind of call in its trace is repeated once with
gradients: on the solution when gold is made, on a submission only when a case differs. Gold keeps a few projections of
each gradient, which is enough to tell two apart.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import torch

from goldsmith.foundation.nested import map_tree
from goldsmith.frameworks.protocols import Backward
from goldsmith.frameworks.randomness import fixed_direction
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


def vjp(
    function: Callable[[list[Any]], Any], arrays: Sequence[Any]
) -> tuple[Any, Callable[[Sequence[Any]], list[Any]]]:
    """Call a function of arrays; return what it returns, and a function from directions in its arrays, in order, to the
    gradients of `arrays`, None where there is none. Those of complex numbers are torch's conjugates."""
    inputs = [item.detach() for item in arrays]
    for item in inputs:
        item.requires_grad_(item.is_floating_point() or item.is_complex())
    with torch.enable_grad():
        returned = function([item.clone() for item in inputs])  # it may write over them
    outputs = tensors_in(returned)

    def pull(directions: Sequence[Any]) -> list[Any]:
        pairs = [pair for pair in zip(outputs, directions, strict=True) if pair[0].requires_grad]
        wanted = [item for item in inputs if item.requires_grad]
        if not pairs or not wanted:
            return [None] * len(inputs)
        ends, along = [item for item, _ in pairs], [direction.conj() for _, direction in pairs]
        found = iter(torch.autograd.grad(ends, wanted, along, retain_graph=True, allow_unused=True))
        passed = [next(found) if item.requires_grad else None for item in inputs]
        return [None if item is None else item.conj().resolve_conj() for item in passed]

    return returned, pull


def _as_numbers(gradient: Any) -> Any:
    """Convert to float64, which NumPy has, with complex numbers as pairs."""
    real = torch.view_as_real(gradient) if gradient.is_complex() else gradient
    return real.detach().double()


def _direction(output: Any, number: int) -> Any:
    steps = torch.arange(1, output.numel() + 1, dtype=torch.float64)
    return torch.cos(steps * 1.7 + number).reshape(output.shape).to(output)


def backward(
    call: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], total: Callable[[Any], Any]
) -> Backward:
    leaves: list[Any] = []

    def learning(array: Any) -> Any:
        if not isinstance(array, torch.Tensor) or not (array.is_floating_point() or array.is_complex()):
            return array
        leaves.append(array.detach().requires_grad_())
        return leaves[-1].clone()  # a call may overwrite its inputs, which autograd refuses for leaves

    positional, named = map_tree(learning, [list(args), dict(kwargs)], _is_object)
    returned = call(*positional, **named)
    found = total(returned)
    if found is not None:
        found.backward()
    gradients = [item.grad for item in leaves]
    return Backward(returned, None if found is None else found.detach(), tuple(positional), named, gradients)


def _is_object(value: Any) -> bool:
    """Say whether a container is of a class of its own, which is passed as it is."""
    return type(value) not in (dict, list, tuple) and not hasattr(value, "_fields")


def backward_total(
    returned: Any,
    values: Mapping[str, Any],
    outputs: Sequence[str],
    loss: Callable[[Any], Any] | None,
    seed: int,
) -> Any:
    """Return the number that gradients are taken of: the loss, else a fixed random combination of the outputs."""
    if loss is not None:
        total = loss(returned)
        return total if isinstance(total, torch.Tensor) and total.requires_grad else None
    parts = []
    for number, path in enumerate(outputs):
        item = values.get(path)
        if item is None or not isinstance(item, torch.Tensor) or not item.requires_grad:
            continue
        drawn = torch.from_numpy(fixed_direction(tuple(item.shape), seed * 1000 + number))
        real = torch.view_as_real(item) if item.is_complex() else item
        drawn = drawn.unsqueeze(-1).expand(real.shape) if item.is_complex() else drawn
        parts.append((real * drawn.to(real)).sum())
    return sum(parts) if parts else None


def gradients_of(records: Sequence[Any], sources: Mapping[str, Any]) -> dict[str, Any]:
    """Differentiate every differentiable record with respect to every source, for a fixed direction."""
    found: dict[str, Any] = {}
    for leaf in records:
        if not leaf.requires_grad:
            continue
        direction = (
            torch.linspace(-1.0, 1.0, leaf.numel(), dtype=leaf.dtype, device=leaf.device).cos().reshape(leaf.shape)
        )
        with contextlib.suppress(RuntimeError):  # the case has called backward() itself
            gradients = torch.autograd.grad(
                leaf, list(sources.values()), direction, retain_graph=True, allow_unused=True
            )
            for name, gradient in zip(sources, gradients, strict=True):
                if gradient is not None:
                    found[name] = found.get(name, 0) + gradient.detach()
    return found
