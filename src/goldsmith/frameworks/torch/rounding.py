"""Runs that round otherwise: random changes of the last bit, and float64 throughout.

Noise is as another order of the same additions would cause: the result of every operation that rounds is disturbed by
at most one unit in the last place, including backward passes and optimisers (Monte Carlo arithmetic at operator level).
Whole numbers stay, whatever the operation: counts, indices and buckets that are kept in floating point are exact, and
often become an index next. Torch operations are intercepted by a dispatch mode. NumPy has no such hook; there only the
inputs are disturbed.

Float64 is entered even by what asks for float32 by name: many norms and rotary tables use `.float()`. Left alone, they
would round in the middle of a float64 run, and right and wrong would no longer be nine orders of magnitude apart.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from goldsmith.frameworks.framework import Watch
from goldsmith.gold.arrays import numbers_of
from goldsmith.gold.precision import is_exact

# --- noise


_BUFFER, _FIRST_DRAW = 2**20, 2**17
EXACT = frozenset(
    """
    _to_copy _unsafe_view abs alias_copy amax amin arange bernoulli bernoulli_ cat clamp clamp_ clamp_min clamp_min_
    clone constant_pad_nd copy_ detach embedding empty empty_like empty_strided exponential_ fill fill_ flip full
    full_like gather index index_put index_put_ index_select lift_fresh masked_fill masked_fill_ masked_select max
    max_pool2d_with_indices maximum min minimum neg neg_ new_empty new_empty_strided new_full new_ones new_zeros
    normal_ one_hot ones ones_like rand rand_like randn randn_like random_ relu relu_ repeat resize_ roll
    scalar_tensor scatter select_backward select_scatter set_ sgn sign slice_backward slice_scatter sort stack
    threshold_backward topk tril triu uniform_ where zero_ zeros zeros_like
    """.split()  # noqa: SIM905
)
"""Operations that move, choose or draw numbers and round nothing."""
_SPARE_BITS, _FEW_BITS = 8, 11
"""A whole number is exact unless it is so large that, by chance, a rounded one is whole more often than once in 2^8
times. Of dtypes with so few bits, a tensor of nothing but whole numbers is."""


@contextlib.contextmanager
def rounding_noise(counter: Watch, seed: int, *, narrowed: bool = False) -> Iterator[None]:
    """Disturb torch's operations within this context, and count them.

    With `narrowed`, float64 results are disturbed as if they were float32.
    """
    with _mode(_pool(seed, narrowed), counter):
        yield


def is_compiling() -> bool:
    """Return whether anything has been compiled, so that torch's compiler must be told to skip a dispatch mode.

    Telling it always would import the compiler, for 1.3 s, and take 1 us at every operation.
    """
    frames = sys.modules.get("torch._dynamo.eval_frame")
    backends = getattr(frames, "cached_backends", {"unknown": frames})
    return any(item is not None for item in backends.values())


@functools.lru_cache(maxsize=1)
def _pool(seed: int, narrowed: bool) -> _Pool:
    """Draw the noise once for all cases of a trial."""
    return _Pool(seed, narrowed)


@dataclasses.dataclass(frozen=True)
class _Stretch:
    """Offsets from 1 of random factors within one unit in its last place, and which numbers they are for."""

    wide: torch.dtype
    offsets: torch.Tensor
    one: torch.Tensor
    bits: int

    @functools.cached_property
    def bound(self) -> float:
        return 2.0 ** (self.bits - _SPARE_BITS)

    def moved(self, value: torch.Tensor) -> torch.Tensor:
        """Return 1 for every number that noise moves, 0 for whole ones. What is beyond the bound is none: clamped, it
        is not itself."""
        if value.is_complex():
            parts = torch.view_as_real(value.resolve_conj())
            return parts.clamp(-self.bound, self.bound).round_().ne_(parts).amax(-1)
        bound, all_of_it = self.bound, self.bound * 2.0**_SPARE_BITS
        if self.bits <= _FEW_BITS and not value.clamp(-all_of_it, all_of_it).round_().ne_(value).any():
            bound = all_of_it
        return value.clamp(-bound, bound).round_().ne_(value).to(self.wide)


class _Pool(dict[Any, _Stretch]):
    """Noise by dtype and device, from the same random numbers: first as many as most cases need, then all, in 20 ms."""

    def __init__(self, seed: int, narrowed: bool) -> None:
        self._least = torch.finfo(torch.float32).eps if narrowed else 0.0
        self._generator = torch.Generator().manual_seed(seed)
        self._drawn, self._length = torch.empty(0, dtype=torch.float64, device="cpu"), 0

    def reach(self, end: int) -> None:
        """Draw until there are `end` numbers, the same as if all had been drawn at once."""
        if end > self._length:
            length = _FIRST_DRAW if end <= _FIRST_DRAW else _BUFFER
            drawn = torch.empty(length, dtype=torch.float64, device="cpu")
            drawn[: self._length] = self._drawn
            drawn[self._length :].uniform_(generator=self._generator).mul_(2).sub_(1)
            self._drawn, self._length = drawn, length
            self.clear()

    def __missing__(self, key: tuple[torch.dtype, torch.device]) -> _Stretch:
        kind, device = key
        wide = torch.float64 if kind in (torch.float64, torch.complex128) else torch.float32
        eps = torch.finfo(kind).eps
        offsets = (self._drawn * max(eps, self._least)).add_(1).to(device, wide).sub_(1)
        self[key] = _Stretch(wide, offsets, torch.ones((), dtype=wide, device=device), 1 - round(math.log2(eps)))
        return self[key]


def _strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Return the strides of a contiguous tensor."""
    found = [1]
    for size in reversed(shape[1:]):
        found.append(found[-1] * size)
    return tuple(reversed(found)) if shape else ()


def _mode(stretches: _Pool, counter: Watch) -> Any:
    strided, tensor = torch.strided, torch.Tensor
    doubles = (torch.float64, torch.complex128)

    class RoundingNoise(TorchDispatchMode):  # type: ignore[no-untyped-call]
        def __init__(self) -> None:
            super().__init__()  # type: ignore[no-untyped-call]
            self._targets: dict[Any, _Targets] = {}
            self._layouts: dict[Any, tuple[int, tuple[int, ...]]] = {}
            self._position = 0

        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            return is_compiling()

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = func(*args, **kwargs) if kwargs else func(*args)
            counter.operations += 1
            targets = self._targets.get(func)
            if targets is None:
                targets = self._targets[func] = _targets(func)
            for position, name in targets.written:
                self._disturb(args[position] if position < len(args) else (kwargs or {}).get(name))
            if targets.fresh:
                self._disturb(result)
            return result

        def _disturb(self, value: Any) -> None:
            if isinstance(value, tensor):
                kind = value.dtype
                inexact = kind.is_floating_point or kind.is_complex
                if inexact and value.layout == strided and not value._is_zerotensor():
                    counter.wide += kind in doubles
                    if value.numel() > _BUFFER and value.is_contiguous():
                        for part in torch.split(value.view(-1), _BUFFER):  # factors for all of it need as much memory
                            part.mul_(self._factor(part))
                    else:
                        value.mul_(self._factor(value))
            elif isinstance(value, (list, tuple)):
                for item in value:
                    self._disturb(item)

        def _factor(self, value: torch.Tensor) -> torch.Tensor:
            """Return the next stretch of noise in the value's shape, 1 where the value is whole; a value larger than
            the buffer repeats it."""
            shape = value.shape
            known = self._layouts.get(shape)
            if known is None:
                known = self._layouts[shape] = value.numel(), _strides(shape)
            count, strides = known
            if count <= _BUFFER < self._position + count:
                self._position = (self._position * 7 + count) % 1021 % (_BUFFER - count + 1)
            start = self._position
            stretches.reach(min(start + count, _BUFFER))
            stretch = stretches[value.dtype, value.device]
            moved = stretch.moved(value)
            if count > _BUFFER:
                offsets = stretch.offsets.repeat(-(-count // _BUFFER))[:count].view(shape)
                return torch.addcmul(stretch.one, moved, offsets)
            self._position += count
            # Slicing and viewing would take three times as long, and a mask ten times. All steps are exact, the last
            # one too: it gives back the factor that the offset was computed from.
            return torch.addcmul(stretch.one, moved, stretch.offsets.as_strided(shape, strides, start))

    return RoundingNoise()


@dataclasses.dataclass(frozen=True)
class _Targets:
    """Where an operation's rounding ends up: in arguments it writes to, in fresh results, or nowhere."""

    written: tuple[tuple[int, str], ...] = ()
    fresh: bool = False


def _targets(func: Any) -> _Targets:
    schema = func._schema
    if schema.name.partition("::")[2].removeprefix("_foreach_") in EXACT:
        return _Targets()
    written = tuple(
        (position, item.name)
        for position, item in enumerate(schema.arguments)
        if item.alias_info is not None and item.alias_info.is_write
    )
    return _Targets(written, fresh=all(item.alias_info is None for item in schema.returns))


# --- float64


_TORCH = os.path.dirname(torch.__file__)
_KNOWING = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
"""Where goldsmith lies."""


class _Border:
    """What leaves torch and comes back rounded to float32, as by JAX, ctypes or NumPy, was not computed in float64."""

    def __init__(self, purity: Watch) -> None:
        self._purity, self._left = purity, False
        self.asked = False
        """Whether code has asked for float32 by name, and got float64."""

    def tell_address(self, tensor: Any) -> None:
        """Note that code has asked where a tensor lies. What is handed an address knows by heart what lies there: if
        that was to be float32, its result says nothing. Triton asks for the dtype, too."""
        frame = sys._getframe(2)
        while frame.f_back is not None and frame.f_code.co_filename.startswith(_TORCH):
            frame = frame.f_back
        of_others = not frame.f_code.co_filename.startswith(_KNOWING) and "/triton/" not in frame.f_code.co_filename
        if self.asked and of_others and tensor.dtype == torch.float64:
            self._purity.pure = False

    def leave(self, tensor: Any) -> None:
        self._left = self._left or tensor.dtype in (torch.float64, torch.complex128)

    def enter(self, tensor: Any) -> Any:
        """Return a tensor that was made of other arrays or numbers, in float64."""
        if self._left and self._purity.pure and tensor.dtype in (torch.float32, torch.complex64):
            self._purity.foreign = not is_exact(numbers_of(tensor), "float32")
            self._purity.pure = not self._purity.foreign
        return to_float64(tensor)


@contextlib.contextmanager
def in_float64(purity: Watch, *, watched: bool, lightly: bool = False) -> Iterator[None]:
    """Make torch compute in float64 instead of float32 within this context. To watch for rounding takes time.

    `lightly` is faster: it patches only the functions that usually get a dtype, so something may still be rounded.
    """
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    module: Any = torch
    from_numpy = torch.from_numpy
    try:
        border = _Border(purity)
        widening = _widening_the_usual(border) if lightly else _widening(border)
        if not lightly:  # a mode does not see this function
            module.from_numpy = lambda array: border.enter(from_numpy(array))
        with widening, _watching(purity) if watched else contextlib.nullcontext():
            yield
    finally:
        module.from_numpy = from_numpy
        torch.set_default_dtype(before)


def to_float64(value: Any) -> Any:
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


Tensor: Any = torch.Tensor  # torch's types lack some of its methods
_LEAVING = ("numpy", "__array__", "__dlpack__")


def _wide() -> dict[Any, Any]:
    return {torch.float32: torch.float64, torch.complex64: torch.complex128, "torch.FloatTensor": "torch.DoubleTensor"}


@contextlib.contextmanager
def _widening_the_usual(border: _Border) -> Iterator[None]:
    """Patch the usual functions and methods that take a dtype, so that they widen it; no others."""
    wide, narrow = _wide(), ("tensor", "as_tensor", "from_numpy")

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
    instead = {"float": Tensor.double, "cfloat": Tensor.cdouble}
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


def _widening(border: _Border) -> Any:
    wide = _wide()
    methods = {Tensor.float: Tensor.double, Tensor.cfloat: Tensor.cdouble}
    narrow = {torch.as_tensor, torch.tensor}
    leaving = {getattr(torch.Tensor, name) for name in _LEAVING}
    names, kinds = {torch.dtype, str}, frozenset([*methods, *narrow, *leaving, Tensor.data_ptr])

    def change(value: Any) -> Any:
        if type(value) not in names or value not in wide:
            return value
        border.asked = True
        return wide[value]

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
            border.asked = border.asked or func in methods
            if func is Tensor.data_ptr:
                border.tell_address(args[0])
            found = methods.get(func, func)(*args, **(kwargs or {}))
            return border.enter(found) if func in narrow and isinstance(found, torch.Tensor) else found

    return Widening()


def _watching(purity: Watch) -> Any:
    eighths = {kind for name, kind in vars(torch).items() if name.startswith("float8")}
    narrow = {torch.float32, torch.float16, torch.bfloat16, torch.complex64, *eighths}
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
