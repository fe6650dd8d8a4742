"""What a run is seen to do: what its operations return, which optimisers take steps, whether numbers are drawn."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch

from goldsmith.gold.facts import OptimiserFacts

MAX_TENSORS, MAX_BYTES = 4000, 64 * 2**20


class _Full(BaseException):
    """Raised in the code that runs once nothing more can be stored."""


@contextlib.contextmanager
def record_op_outputs(found: dict[str, Any]) -> Iterator[None]:
    """Store floating results by number within this context, up to `MAX_TENSORS` tensors and about `MAX_BYTES` bytes;
    then the context ends early. A view of as many numbers as it was made from is left out: the numbers are looked for
    in any order and shape."""
    from torch.utils._python_dispatch import TorchDispatchMode

    size = 0

    class Tapping(TorchDispatchMode):  # type: ignore[no-untyped-call]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            nonlocal size
            result = func(*args, **(kwargs or {}))
            if func.is_view and isinstance(result, torch.Tensor) and result.numel() == args[0].numel():
                return result
            for item in result if isinstance(result, tuple | list) else (result,):
                if isinstance(item, torch.Tensor) and item.is_floating_point() and item.numel() > 1:
                    if len(found) >= MAX_TENSORS or size >= MAX_BYTES:
                        raise _Full
                    found[f"{len(found):04d}"] = item.detach().clone(memory_format=torch.contiguous_format)
                    size += item.numel() * item.element_size()
            return result

    with contextlib.suppress(_Full), Tapping():  # type: ignore[no-untyped-call]
        yield


@contextlib.contextmanager
def noting_optimisers(found: dict[str, Any]) -> Iterator[None]:
    """Collect each optimiser class that is not torch's own and the most it was given: shows what was never tried."""
    from torch.optim.optimizer import register_optimizer_step_pre_hook

    def look(optimiser: Any, args: Any, kwargs: Any) -> None:
        kind = type(optimiser)
        if kind.__module__.startswith("torch."):
            return
        before = found.get(kind.__name__, OptimiserFacts(kind.__name__, 0, 0))
        groups = optimiser.param_groups
        parameters = sum(len(group["params"]) for group in groups)
        found[kind.__name__] = OptimiserFacts(
            kind.__name__, max(before.parameters, parameters), max(before.groups, len(groups))
        )

    handle = register_optimizer_step_pre_hook(look)
    try:
        yield
    finally:
        handle.remove()


def noting_draws(on_draw: Callable[[], None]) -> Any:
    """Return a mode that tells of operations that draw from the global random state."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Noting(TorchDispatchMode):  # type: ignore[no-untyped-call]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            if torch.Tag.nondeterministic_seeded not in func.tags:
                return func(*args, **kwargs)
            before = torch.get_rng_state()
            result = func(*args, **kwargs)
            # attention without dropout has the tag, too
            if kwargs.get("generator") is not None or not torch.equal(before, torch.get_rng_state()):
                on_draw()
            return result

    return Noting()  # type: ignore[no-untyped-call]
