"""Rounding noise: random changes of the last bit, as another order of the same additions would cause.

The result of every operation that rounds is disturbed by at most one unit in the last place, including backward passes
and optimisers (Monte Carlo arithmetic at operator level). Whole numbers stay, whatever the operation: counts, indices
and buckets that are kept in floating point are exact, and often become an index next. Torch operations are intercepted
by a dispatch mode. NumPy has no such hook; there only the inputs are disturbed.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from goldsmith.frameworks.framework import Watch

if TYPE_CHECKING:
    import torch

_BUFFER = 2**20
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
def rounding_noise(torch_module: Any, counter: Watch, seed: int, *, narrowed: bool = False) -> Iterator[None]:
    """Disturb torch's operations within this context, and count them.

    With `narrowed`, float64 results are disturbed as if they were float32.
    """
    with _mode(torch_module, _pool(seed, narrowed), counter):
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
    """Draw the noise once for all cases of a trial: that takes 20 ms, longer than most cases do."""
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
        import torch

        if value.is_complex():
            parts = torch.view_as_real(value.resolve_conj())
            return parts.clamp(-self.bound, self.bound).round_().ne_(parts).amax(-1)
        bound, all_of_it = self.bound, self.bound * 2.0**_SPARE_BITS
        if self.bits <= _FEW_BITS and not value.clamp(-all_of_it, all_of_it).round_().ne_(value).any():
            bound = all_of_it
        return value.clamp(-bound, bound).round_().ne_(value).to(self.wide)


class _Pool(dict[Any, _Stretch]):
    """Noise by dtype and device, all from the same random numbers."""

    def __init__(self, seed: int, narrowed: bool) -> None:
        import torch

        self._least = torch.finfo(torch.float32).eps if narrowed else 0.0
        drawn = torch.rand(_BUFFER, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        self._drawn = drawn * 2 - 1

    def __missing__(self, key: tuple[torch.dtype, torch.device]) -> _Stretch:
        import torch

        kind, device = key
        wide = torch.float64 if kind in (torch.float64, torch.complex128) else torch.float32
        eps = torch.finfo(kind).eps
        factors = (1 + self._drawn * max(eps, self._least)).to(device, wide)
        one = torch.ones((), dtype=wide, device=device)
        found = self[key] = _Stretch(wide, factors - 1, one, 1 - round(math.log2(eps)))
        return found


def _strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Return the strides of a contiguous tensor."""
    found = [1]
    for size in reversed(shape[1:]):
        found.append(found[-1] * size)
    return tuple(reversed(found)) if shape else ()


def _mode(torch: Any, stretches: _Pool, counter: Watch) -> Any:
    from torch.utils._python_dispatch import TorchDispatchMode

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
                        for part in value.view(-1).split(_BUFFER):  # factors for all of it would need as much memory
                            part.mul_(self._factor(part))
                    else:
                        value.mul_(self._factor(value))
            elif isinstance(value, (list, tuple)):
                for item in value:
                    self._disturb(item)

        def _factor(self, value: torch.Tensor) -> torch.Tensor:
            """Return the next stretch of noise in the value's shape, 1 where the value is whole; a value larger than
            the buffer repeats it."""
            stretch, shape = stretches[value.dtype, value.device], value.shape
            known = self._layouts.get(shape)
            if known is None:
                known = self._layouts[shape] = value.numel(), _strides(shape)
            count, strides = known
            moved = stretch.moved(value)
            if count > _BUFFER:
                offsets = stretch.offsets.repeat(-(-count // _BUFFER))[:count].view(shape)
                return torch.addcmul(stretch.one, moved, offsets)
            if self._position + count > _BUFFER:
                self._position = (self._position * 7 + count) % 1021 % (_BUFFER - count + 1)
            start = self._position
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
