"""What a run is seen to do: which modules are called, what operations return, round to and draw, which optimisers take
steps, which weights are used.

Copies and pickles of a module get hooks that do nothing, and compiled code calls none. Which weights a result depends
on is asked of autograd's graph: a layer that is never called is still used if its weight is passed to `F.linear`.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook
from torch.utils._python_dispatch import TorchDispatchMode

from goldsmith.frameworks.framework import Watch
from goldsmith.frameworks.torch.rounding import EXACT, is_compiling
from goldsmith.gold.call_forms import tensors_in
from goldsmith.gold.facts import OptimiserFacts
from goldsmith.instruments.own_calls import unwatched

# --- hooks on modules


def on_enter(module: Any, call: Callable[[Any, Any, Any], None]) -> Any:
    """Call with a module and its arguments when it is called; the handle removes that."""
    return module.register_forward_pre_hook(_Hook(call), with_kwargs=True)


def on_leave(module: Any, call: Callable[[Any, Any, Any, Any], None], *, always: bool = False) -> Any:
    """Call with a module, its arguments and what it returned; if it raises, with None, and only if `always`."""
    return module.register_forward_hook(_Hook(call), with_kwargs=True, always_call=always)


class _Hook:
    def __init__(self, call: Callable[..., None] | None) -> None:
        self._call = call

    def __call__(self, *given: Any) -> None:
        if self._call is not None and not torch.compiler.is_compiling():
            self._call(*given)

    def __reduce__(self) -> Any:
        return _Hook, (None,)


class Listener(Protocol):
    """What is told of a call, as by hooks; `is_in` says whether it knows of it already."""

    def is_in(self, module: Any) -> bool: ...
    def enter(self, label: str, name: str, module: Any, args: Any, kwargs: Any) -> None: ...
    def leave(self, name: str, module: Any, output: Any) -> None: ...


class ForwardCalls:
    """Tells a listener of calls of `module.forward(…)` itself, which no hook sees, by patching classes: a copy of a
    module, which is none of the model's, goes on as it is. torch's own classes are left alone."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._names: dict[int, tuple[str, str]] = {}
        self._before: dict[type, Callable[..., Any]] = {}

    def attach(self, label: str, model: Any) -> None:
        for name, module in model.named_modules():
            self._names[id(module)] = label, name
            for kind in type(module).__mro__:
                forward = vars(kind).get("forward")
                if kind.__module__.partition(".")[0] == "torch":
                    break
                if kind not in self._before and inspect.isfunction(forward):
                    self._before[kind] = forward
                    kind.forward = self._telling(forward)  # type: ignore[attr-defined]

    def detach(self) -> None:
        for kind, forward in self._before.items():
            kind.forward = forward  # type: ignore[attr-defined]
        self._before.clear()

    def _telling(self, forward: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(forward)
        def call(module: Any, *args: Any, **kwargs: Any) -> Any:
            if torch.compiler.is_compiling() or id(module) not in self._names or self._listener.is_in(module):
                return forward(module, *args, **kwargs)
            label, name = self._names[id(module)]
            self._listener.enter(label, name, module, list(args), kwargs)
            output = None
            try:
                output = forward(module, *args, **kwargs)
            finally:
                self._listener.leave(name, module, output)
            return output

        return call


# --- operations and optimisers


MAX_TENSORS, MAX_BYTES = 4000, 64 * 2**20


class _Full(BaseException):
    """Raised in the code that runs once nothing more can be stored."""


@contextlib.contextmanager
def record_op_outputs(found: dict[str, Any]) -> Iterator[None]:
    """Store floating results by number within this context, up to `MAX_TENSORS` tensors and about `MAX_BYTES` bytes;
    then the context ends early. A view of as many numbers as it was made from is left out: the numbers are looked for
    in any order and shape."""
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


@contextlib.contextmanager
def noting_dtypes(watch: Watch) -> Iterator[None]:
    """Note, within this context, every floating dtype that a result is rounded to: by autocast, by `.half()`, or
    because it is computed in it."""
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
        watch.rounded_to = tuple(sorted({*watch.rounded_to, *names, *_in_products()}))


def _in_products() -> set[str]:
    """Return what float32 matrix products are rounded to, if the code has allowed that since torch was seeded."""
    try:
        allowed = torch.get_float32_matmul_precision()
    except RuntimeError:  # torch refuses if its old and its new setting were mixed
        allowed = "medium"
    return {"highest": set(), "high": {"tf32"}}.get(allowed, {"bfloat16"})


# --- which weights a model's results depend on


MAX_GRAPH_NODES = 100_000


def unused_parameters(model: Any, returned: Any) -> tuple[str, ...]:
    """Return the parameters that `returned` was not computed from, as far as autograd's graph tells: where there is no
    graph, or for parameters that require no gradients, nothing is known."""
    outputs = [item for item in tensors_in([returned]) if getattr(item, "grad_fn", None) is not None]
    used, complete = _leaves(outputs)
    named = model.named_parameters(remove_duplicate=False) if used and complete else ()
    return tuple(name for name, item in named if item.requires_grad and id(item) not in used)


class WeightUse:
    """An observer of one model's outputs. It needs autograd's graph: under `no_grad` it sees nothing."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._used: set[int] = set()
        on_leave(model, self._called)

    @unwatched
    def _called(self, module: Any, args: Any, kwargs: Any, output: Any) -> None:
        with contextlib.suppress(Exception):  # missing evidence is not a reason to fail
            if not all(id(item) in self._used for item in self._model.parameters()):
                self._used |= _leaves(tensors_in([output]))[0]

    def names(self) -> tuple[str, ...]:
        """Return the parameters that an output was computed from, or that have a gradient."""
        return tuple(
            name
            for name, item in self._model.named_parameters()
            if id(item) in self._used or getattr(item, "grad", None) is not None
        )

    def __deepcopy__(self, memo: Any) -> WeightUse:
        return self


def _leaves(outputs: list[Any]) -> tuple[set[int], bool]:
    """Return the ids of all leaf tensors below `outputs` in autograd's graph, and whether all of it was searched."""
    found: set[int] = set()
    seen: set[Any] = set()
    waiting = [item.grad_fn for item in outputs if getattr(item, "grad_fn", None) is not None]
    while waiting and len(seen) < MAX_GRAPH_NODES:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            found.add(id(node.variable))
        waiting += [below for below, _ in node.next_functions if below is not None]
    return found, not waiting
