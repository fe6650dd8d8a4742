"""Every tensor that a run produces, operation by operation: evidence where modules do not match by name."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

MAX_TENSORS, MAX_BYTES = 4000, 64 * 2**20


class _Full(BaseException):
    """Raised in the code that runs once nothing more can be stored."""


@contextlib.contextmanager
def record_op_outputs(torch: Any, found: dict[str, Any]) -> Iterator[None]:
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
