"""Seed every random source and switch on every deterministic setting.

What must be set before the interpreter starts is in `process/launcher.py`; what can be set inside it is here. Torch is
never imported for this: when a recipe imports it later, it is seeded at that moment.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import os
import random
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

DEFAULT_SEED = 42
_COMPILER_SETTINGS = "torch._inductor.config"


def seed_everything(seed: int = DEFAULT_SEED, *, threads: int | None = None) -> None:
    """Seed `random`, NumPy and torch (all devices) and switch torch to deterministic algorithms.

    Call it at the top of a script: modules that are imported later are seeded on import.
    """
    random.seed(seed)
    when_imported("numpy", lambda numpy: numpy.random.seed(seed))
    when_imported("torch", lambda torch: _fix_torch(torch, seed, threads))


def _fix_torch(torch: Any, seed: int, threads: int | None) -> None:
    accelerator = getattr(torch, "accelerator", None)
    if accelerator is not None and not accelerator.is_available():
        torch.default_generator.manual_seed(seed)  # the only one; `manual_seed` would store a traceback for each device
    else:
        torch.manual_seed(seed)
    if torch.cuda.is_available():
        torch.cuda.manual_seed_all(seed)
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    use_deterministic_algorithms(torch)
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.set_float32_matmul_precision("highest")
    torch.backends.mha.set_fastpath_enabled(False)  # hooks for tracing switch it off, which would change bits
    if threads is not None:
        torch.set_num_threads(threads)


def use_deterministic_algorithms(torch: Any, *, warn_only: bool = False) -> None:
    """Do what torch's function of this name does, without importing `torch._inductor` to tell it, too.

    Importing that takes as long as importing torch itself (1.7 s of processor time, torch 2.13), in every process that
    runs a recipe; where it is imported later, for an optimiser or a compiler, it is told then.
    """
    switch = getattr(torch._C, "_set_deterministic_algorithms", None)
    if switch is None or _COMPILER_SETTINGS in sys.modules:
        torch.use_deterministic_algorithms(True, warn_only=warn_only)
        return
    when_imported(_COMPILER_SETTINGS, _make_compiler_deterministic)
    switch(True, warn_only=warn_only)


def _make_compiler_deterministic(settings: Any) -> None:
    if hasattr(settings, "deterministic"):  # older versions have no such setting
        settings.deterministic = True


def when_imported(name: str, action: Callable[[Any], object]) -> None:
    """Call `action` with a module: now or, if it has not been imported yet, on import; a later action replaces it."""
    _PENDING.pop(name, None)
    if name in sys.modules:
        action(sys.modules[name])
        return
    _PENDING[name] = action
    if not any(isinstance(finder, _Watcher) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Watcher())


_PENDING: dict[str, Callable[[Any], object]] = {}


class _Watcher(importlib.abc.MetaPathFinder):
    """A finder that lets the others find an awaited module and runs its action once it is loaded."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in _PENDING:
            return None
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(fullname, path, target)
            if spec is not None:
                if spec.loader is not None and hasattr(spec.loader, "exec_module"):
                    spec.loader = _Acting(spec.loader, fullname)
                return spec
        return None


class _Acting(importlib.abc.Loader):
    def __init__(self, loader: Any, name: str) -> None:
        self._loader = loader
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(self._loader, attribute)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        module: ModuleType | None = self._loader.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        action = _PENDING.pop(self._name, None)
        if action is not None:
            action(module)
