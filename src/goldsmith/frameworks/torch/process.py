"""Torch in a process: preloaded before children are forked, its devices, and what bears on the bits it computes."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any

import torch

from goldsmith.frameworks.framework import CannotCompile, Watch

PACKAGES = ("torch",)


def preload() -> None:
    """Do not differentiate anything: autograd's threads would not survive a fork."""
    import safetensors.torch  # noqa: F401

    torch.set_num_threads(1)


def preload_optimisers() -> None:
    """Import what torch imports late: making the first optimiser takes as long as torch itself."""
    torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.0)


def keep_compiled() -> None:
    """Do nothing: it compiles only what it is asked to."""


def is_started() -> bool:
    return False


def devices() -> list[str]:
    """List the devices besides the CPU."""
    found = [f"cuda:{index}" for index in range(torch.cuda.device_count())]
    return [*found, "mps"] if torch.backends.mps.is_available() else found


def device_names() -> list[str]:
    """List them as their makers call them."""
    return [torch.cuda.get_device_name(item) if item.startswith("cuda") else item for item in devices()]


def has_device(device: str) -> bool:
    """Say whether a device computes: a product also starts its libraries, whose time is no case's."""
    try:
        torch.ones(2, 2, device=device) @ torch.ones(2, 2, device=device)
    except Exception:  # each backend raises its own
        return False
    return True


def settle(device: str) -> None:
    if device.startswith("cuda"):
        torch.cuda.synchronize(device)


def limit_memory(device: str, size: int) -> None:
    if device.startswith("cuda"):
        total = torch.cuda.get_device_properties(device).total_memory
        torch.cuda.set_per_process_memory_fraction(min(1.0, size / total), device)


def environment(device: str) -> dict[str, Any]:
    """Return the fields of `gold.facts.Environment` that torch knows."""
    unusual = unusual_settings()
    return {
        "torch": str(torch.__version__),
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "threads": torch.get_num_threads(),
        **({"settings": unusual} if unusual else {}),
    } | ({"device": f"{device} ({torch.cuda.get_device_name(device)})"} if device.startswith("cuda") else {})


def cpu_capability() -> str:
    """Name the instruction set that is used."""
    return torch.backends.cpu.get_cpu_capability()


# --- settings that hold for the whole process, and functions: what one piece of code changes there, all others compute
# with. A kernel that switches TF32 on, or exchanges a function of torch, bends the reference that runs beside it.

_Setting = tuple[Callable[[], Any], Callable[[Any], Any]]


def _attribute(owner: Any, name: str) -> _Setting:
    return lambda: getattr(owner, name), lambda value: setattr(owner, name, value)


def _autocast(device: str) -> _Setting:
    def get() -> Any:
        return torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else "off"

    def put(value: Any) -> None:
        torch.set_autocast_enabled(device, value != "off")
        if value != "off":
            torch.set_autocast_dtype(device, value)

    return get, put


_IN_CUDNN = "TF32 in cuDNN"
_PRODUCTS: Any = torch.backends.cuda.matmul
_CONVOLUTIONS: Any = torch.backends.cudnn
_SETTINGS: dict[str, _Setting] = {
    "precision of CUDA's products": _attribute(_PRODUCTS, "fp32_precision"),
    "default dtype": (torch.get_default_dtype, torch.set_default_dtype),
    "default device": (torch.get_default_device, torch.set_default_device),
    "recording of gradients": (torch.is_grad_enabled, torch._C._set_grad_enabled),
    "float32 matmul precision": (torch.get_float32_matmul_precision, torch.set_float32_matmul_precision),
    "TF32 in matrix products": _attribute(_PRODUCTS, "allow_tf32"),
    _IN_CUDNN: _attribute(_CONVOLUTIONS, "allow_tf32"),
    "float16 sums in matrix products": _attribute(_PRODUCTS, "allow_fp16_reduced_precision_reduction"),
    "bfloat16 sums in matrix products": _attribute(_PRODUCTS, "allow_bf16_reduced_precision_reduction"),
    "float16 accumulation": _attribute(_PRODUCTS, "allow_fp16_accumulation"),
    "autocast on the CPU": _autocast("cpu"),
    "autocast on CUDA": _autocast("cuda"),
    "cuDNN": _attribute(_CONVOLUTIONS, "enabled"),
    "cuDNN benchmark": _attribute(_CONVOLUTIONS, "benchmark"),
    "cuDNN deterministic": _attribute(_CONVOLUTIONS, "deterministic"),
    "deterministic algorithms": (torch.get_deterministic_debug_mode, torch.set_deterministic_debug_mode),
}
"""How each is read and set, in an order in which the first set makes the others readable again."""
_ONLY_CHOOSE = ("cuDNN", "cuDNN benchmark", "cuDNN deterministic", "deterministic algorithms")
"""Settings that choose between algorithms, all of which are right: they are put back, and nothing is said."""
_RECORDED = {
    "default dtype": torch.float32,
    "float32 matmul precision": "highest",
    "TF32 in matrix products": False,
    _IN_CUDNN: False,
    "autocast on the CPU": "off",
    "autocast on CUDA": "off",
}
"""What runs are made with unless their code says otherwise."""


def _read() -> dict[str, Any]:
    found = {}
    for name, (get, _) in _SETTINGS.items():
        with contextlib.suppress(AttributeError):  # older versions lack some
            try:
                found[name] = get()
            except RuntimeError:  # set in two ways that torch does not mix
                found[name] = "contradictory"
    return found


def unusual_settings() -> dict[str, str]:
    """Return the settings, in words, that bear on bits and are not what runs are made with."""
    now = _read()
    found = {name: _word(now[name]) for name, usual in _RECORDED.items() if now.get(name, usual) != usual}
    if not torch.cuda.is_available():
        found.pop(_IN_CUDNN, None)  # torch allows it unless told otherwise, and it bears on nothing here
    return found


@contextlib.contextmanager
def settings_kept(watch: Watch) -> Iterator[None]:
    """Put back, at the end of this context, the settings that code has changed, and tell the watch which."""
    before = _read()
    try:
        yield
    finally:
        watch.changed = settings_changed(before)
        now = _read()
        others = [name for name in before if now.get(name) != before[name] and before[name] != "contradictory"]
        for name in (*others, *others[:1]):  # setting one may change another: the first is read by none
            _SETTINGS[name][1](before[name])


def settings_changed(before: Mapping[str, Any]) -> tuple[str, ...]:
    """Name the settings that are not what they were, of those that change what torch computes."""
    now = _read()
    changed = [name for name in before if now.get(name) != before[name] and name not in _ONLY_CHOOSE]
    return tuple(f"{name} from {_word(before[name])} to {_word(now.get(name))}" for name in changed)


def _word(value: Any) -> str:
    return str(value).removeprefix("torch.")


settings = _read


def functions() -> dict[str, Any]:
    """Return torch's functions, and the methods of its classes, by name."""
    places: dict[str, Any] = {"torch": torch, "torch.Tensor": torch.Tensor, "torch.cuda": torch.cuda}
    for name in ("nn.functional", "nn.init", "linalg", "fft", "special", "testing", "random", "autograd"):
        owner: Any = torch
        for part in name.split("."):
            owner = getattr(owner, part)
        places[f"torch.{name}"] = owner
    places |= {f"torch.nn.{name}": item for name, item in vars(torch.nn).items() if isinstance(item, type)}
    return {
        f"{place}.{name}": item
        for place, owner in places.items()
        for name, item in list(vars(owner).items())
        if callable(item) and not isinstance(item, ModuleType)
    }


@contextlib.contextmanager
def memory(*, marked: bool) -> Iterator[None]:
    """Set whether torch fills uninitialised memory with NaN. It does so only with deterministic algorithms, which a
    user's own process may not have: then the functions that make tensors of it do."""
    own: Any = torch.utils.deterministic
    before = own.fill_uninitialized_memory
    names = (
        ("empty", "empty_like", "empty_strided") if marked and not torch.are_deterministic_algorithms_enabled() else ()
    )
    functions = {name: getattr(torch, name) for name in names}

    def marking(make: Callable[..., Any]) -> Callable[..., Any]:
        def made(*args: Any, **kwargs: Any) -> Any:
            found = make(*args, **kwargs)
            inexact = found.is_floating_point() or found.is_complex()
            return found.fill_(
                float("nan") if inexact else found.dtype is not torch.bool and torch.iinfo(found.dtype).max
            )

        return made

    own.fill_uninitialized_memory = marked
    vars(torch).update({name: marking(function) for name, function in functions.items()})
    try:
        yield
    finally:
        own.fill_uninitialized_memory = before
        vars(torch).update(functions)


# --- the compiler


_OFF = "TORCHDYNAMO_DISABLE"
"""Set in most processes, so that code runs as it is written."""
_compiled: list[Any] = []
"""The models that are compiled as long as such conditions are held."""


def require_compiler() -> None:
    """Raise unless torch finds what it compiles with."""
    try:
        from torch._inductor.cpp_builder import get_cpp_compiler
        from torch._inductor.exc import InvalidCxxCompiler
        from torch.utils._triton import has_triton
    except ImportError:  # another platform, or a torch that was built without it
        raise CannotCompile("this torch has no compiler") from None
    try:
        get_cpp_compiler()
    except InvalidCxxCompiler:
        raise CannotCompile("torch finds no C++ compiler: install g++, or name one in CXX") from None
    if torch.cuda.is_available() and not has_triton():
        raise CannotCompile("torch finds no Triton, which it compiles with for a GPU")


@contextlib.contextmanager
def compiling(watch: Watch) -> Iterator[None]:
    """Let what is `compiled` be compiled anew within this context, in this process, and count what was."""
    require_compiler()
    import torch._inductor.config as settings
    from torch._dynamo.utils import counters

    dynamo: Any = torch._dynamo
    dynamo.reset()
    before, off = counters["stats"]["unique_graphs"], os.environ.pop(_OFF, None)
    own: Any = dynamo.config.patch(trace_numpy=False, suppress_errors=False)
    try:
        with own, settings.patch(compile_threads=1):
            yield
    finally:
        watch.graphs = counters["stats"]["unique_graphs"] - before
        if off is not None:
            os.environ[_OFF] = off
        while _compiled:
            _compiled.pop()._compiled_call_impl = None


def compiled(target: Any) -> Any:
    """Return a function that is compiled, or the model itself, whose calls are until the conditions end."""
    from torch._dynamo.external_utils import wrap_inline

    if not isinstance(target, torch.nn.Module):
        return torch.compile(target)
    target._compiled_call_impl = torch.compile(wrap_inline(target._call_impl))
    _compiled.append(target)
    return target
