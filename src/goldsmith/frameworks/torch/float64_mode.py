"""A mode that runs everything in float64, even what asks for float32 by name; and a mode that notes which dtypes a run
rounds to.

Many norms and rotary tables use `.float()`. Left alone, they would round in the middle of a float64 run, and right and
wrong would no longer be nine orders of magnitude apart.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

from goldsmith.frameworks.framework import Watch
from goldsmith.frameworks.torch.rounding_noise import EXACT, is_compiling
from goldsmith.gold.arrays import numbers_of
from goldsmith.gold.precision import is_exact


class _Border:
    """What leaves torch and comes back rounded to float32, as by JAX, ctypes or NumPy, was not computed in float64."""

    def __init__(self, torch: Any, purity: Watch) -> None:
        self._torch, self._purity, self._left = torch, purity, False

    def leave(self, tensor: Any) -> None:
        self._left = self._left or tensor.dtype in (self._torch.float64, self._torch.complex128)

    def enter(self, tensor: Any) -> Any:
        """Return a tensor that was made of other arrays or numbers, in float64."""
        if self._left and self._purity.pure and tensor.dtype in (self._torch.float32, self._torch.complex64):
            self._purity.foreign = not is_exact(numbers_of(tensor), "float32")
            self._purity.pure = not self._purity.foreign
        return to_float64(tensor, self._torch)


@contextlib.contextmanager
def in_float64(torch: Any, purity: Watch, *, watched: bool, lightly: bool = False) -> Iterator[None]:
    """Make torch compute in float64 instead of float32 within this context. To watch for rounding takes time.

    `lightly` is faster: it patches only the functions that usually get a dtype, so something may still be rounded.
    """
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    from_numpy = torch.from_numpy
    try:
        border = _Border(torch, purity)
        widening = _widening_the_usual(torch, border) if lightly else _widening(torch, border)
        if not lightly:  # a mode does not see this function
            torch.from_numpy = lambda array: border.enter(from_numpy(array))
        with widening, _watching(torch, purity) if watched else contextlib.nullcontext():
            yield
    finally:
        torch.from_numpy = from_numpy
        torch.set_default_dtype(before)


def to_float64(value: Any, torch: Any) -> Any:
    """Convert a float32 tensor to float64, complex64 to complex128; return anything else unchanged."""
    if value.dtype == torch.float32:
        return value.double()
    return value.to(torch.complex128) if value.dtype == torch.complex64 else value


_MADE = (
    "tensor", "as_tensor", "from_numpy", "arange", "linspace", "logspace", "eye", "zeros", "ones", "full", "empty",
    "rand", "randn", "zeros_like", "ones_like", "full_like", "empty_like", "rand_like", "randn_like", "softmax",
    "log_softmax",
)  # fmt: skip
_DONE = ("to", "type", "sum", "mean", "prod", "cumsum", "softmax", "log_softmax", "new_tensor", "new_zeros", "new_ones")


_LEAVING = ("numpy", "__array__", "__dlpack__")


def _wide(torch: Any) -> dict[Any, Any]:
    return {torch.float32: torch.float64, torch.complex64: torch.complex128, "torch.FloatTensor": "torch.DoubleTensor"}


@contextlib.contextmanager
def _widening_the_usual(torch: Any, border: _Border) -> Iterator[None]:
    """Patch the usual functions and methods that take a dtype, so that they widen it; no others."""
    wide, narrow = _wide(torch), ("tensor", "as_tensor", "from_numpy")

    def changed(function: Any, name: str) -> Any:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            args = tuple(wide.get(item, item) if type(item) in (torch.dtype, str) else item for item in args)
            if "dtype" in kwargs:
                kwargs["dtype"] = wide.get(kwargs["dtype"], kwargs["dtype"])
            if name in _LEAVING:
                border.leave(args[0])
            found = function(*args, **kwargs)
            return border.enter(found) if name in narrow else found

        return call

    places = [(torch, name) for name in _MADE] + [
        (torch.Tensor, name) for name in (*_DONE, *_LEAVING, "float", "cfloat")
    ]
    places += [(torch.nn.functional, name) for name in ("softmax", "log_softmax")]
    own = [(place, name, vars(place)[name]) for place, name in places if name in vars(place)]
    instead = {"float": torch.Tensor.double, "cfloat": torch.Tensor.cdouble}
    try:
        for place, name in places:
            setattr(place, name, instead.get(name) or changed(getattr(place, name), name))
        yield
    finally:
        for place, name in places:
            with contextlib.suppress(AttributeError):
                delattr(place, name)
        for place, name, function in own:
            setattr(place, name, function)


def _widening(torch: Any, border: _Border) -> Any:
    from torch.overrides import TorchFunctionMode

    wide = _wide(torch)
    methods = {torch.Tensor.float: torch.Tensor.double, torch.Tensor.cfloat: torch.Tensor.cdouble}
    narrow = {torch.as_tensor, torch.tensor}
    leaving = {getattr(torch.Tensor, name) for name in _LEAVING}
    names, kinds = {torch.dtype, str}, frozenset([*methods, *narrow, *leaving])

    def change(value: Any) -> Any:
        return wide.get(value, value) if type(value) in names else value

    class Widening(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if kwargs:
                kwargs = {key: change(value) for key, value in kwargs.items()}
            for value in args:
                if type(value) in names:
                    args = tuple(map(change, args))
                    break
            if func not in kinds:  # nearly every call
                return func(*args, **kwargs) if kwargs else func(*args)
            if func in leaving:
                border.leave(args[0])
            found = methods.get(func, func)(*args, **(kwargs or {}))
            return border.enter(found) if func in narrow and isinstance(found, torch.Tensor) else found

    return Widening()


def _watching(torch: Any, purity: Watch) -> Any:
    from torch.utils._python_dispatch import TorchDispatchMode

    narrow = {torch.float32, torch.float16, torch.bfloat16, torch.complex64}
    wide, tensor = {torch.float64, torch.complex128}, torch.Tensor

    def has(values: Any, kinds: set[Any]) -> bool:
        return any(isinstance(item, torch.Tensor) and item.dtype in kinds and item.numel() for item in values)

    class Watching(TorchDispatchMode):  # type: ignore[no-untyped-call]
        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            return is_compiling()

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            found = func(*args, **kwargs) if kwargs else func(*args)
            if type(found) is tensor and found.dtype not in narrow:  # nearly every result
                return found
            if has(found if isinstance(found, tuple | list) else (found,), narrow):
                rounds = func.overloadpacket.__name__ not in EXACT  # moving numbers rounds if it narrows
                purity.pure = purity.pure and not (rounds or has(args, wide))
            return found

    return Watching()  # type: ignore[no-untyped-call]


@contextlib.contextmanager
def noting_dtypes(torch: Any, purity: Watch) -> Iterator[None]:
    """Note, within this context, every floating dtype that a result is rounded to: by autocast, by `.half()`, or
    because it is computed in it."""
    from torch.utils._python_dispatch import TorchDispatchMode

    seen: set[Any] = set()

    def eps(tensor: Any) -> float:
        return float(torch.finfo(tensor.dtype).eps)

    def inexact(values: Any) -> list[Any]:
        tensors = (item for item in values if isinstance(item, torch.Tensor))
        return [item for item in tensors if (item.is_floating_point() or item.is_complex()) and item.numel()]

    class Noting(TorchDispatchMode):  # type: ignore[no-untyped-call]
        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            return is_compiling()

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            found = func(*args, **kwargs) if kwargs else func(*args)
            for item in inexact(found if isinstance(found, tuple | list) else (found,)):
                if item.dtype in seen:
                    continue
                moves = func.overloadpacket.__name__ in EXACT  # moving numbers rounds if it narrows
                if not moves or any(eps(other) < eps(item) for other in inexact(args)):
                    seen.add(item.dtype)
            return found

    try:
        with Noting():  # type: ignore[no-untyped-call]
            yield
    finally:
        names = {str(dtype).removeprefix("torch.") for dtype in seen}
        purity.rounded_to = tuple(sorted({*purity.rounded_to, *names, *_in_products(torch)}))


def _in_products(torch: Any) -> set[str]:
    """Return what float32 matrix products are rounded to, if the code has allowed that since torch was seeded."""
    try:
        allowed = torch.get_float32_matmul_precision()
    except RuntimeError:  # torch refuses if its old and its new setting were mixed
        allowed = "medium"
    return {"highest": set(), "high": {"tf32"}}.get(allowed, {"bfloat16"})
