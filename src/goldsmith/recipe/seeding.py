"""Seed every random source and switch on every deterministic setting.

What must be set before the interpreter starts is in `process/launcher.py`; what can be set inside it is here. No
library is imported for this: one that a recipe imports later is seeded at that moment.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator

from goldsmith.foundation.on_import import when_imported
from goldsmith.frameworks.framework import Framework, active, registered, rounding_unnoted

DEFAULT_SEED = 42


def seed_everything(seed: int = DEFAULT_SEED, *, threads: int | None = None, device: str = "") -> None:
    """Seed `random`, NumPy and torch (all devices) and switch torch to deterministic algorithms.

    Call it at the top of a script: modules that are imported later are seeded on import. A library that would choose
    its `device` itself keeps to the one that is named.
    """
    _seed(seed, threads, device, keeps_compiled=False)


def seed_process(seed: int, *, threads: int, device: str, keeps_compiled: bool) -> None:
    """Do the same as a process of goldsmith's own begins, whose libraries may keep what they compile for later ones."""
    _seed(seed, threads, device, keeps_compiled=keeps_compiled)


def _seed(seed: int, threads: int | None, device: str, *, keeps_compiled: bool) -> None:
    random.seed(seed)
    for framework in registered():
        _seed_when_imported(framework, seed, threads, device, keeps_compiled)


def _seed_when_imported(
    framework: Framework, seed: int, threads: int | None, device: str, keeps_compiled: bool
) -> None:
    def begin(_: object) -> None:
        framework.numerics.seed(seed, threads=threads, device=device)
        if keeps_compiled:
            framework.process.keep_compiled()

    when_imported(framework.name, begin)


@contextlib.contextmanager
def setting_up(is_replaced: bool) -> Iterator[None]:
    """Make values within this context; how they are computed says nothing if gold's take their place."""
    with contextlib.ExitStack() as stack:
        for item in active() if is_replaced else ():
            stack.enter_context(item.numerics.setting_up())
        yield


@contextlib.contextmanager
def making_inputs(is_replaced: bool) -> Iterator[None]:
    """Do the same for inputs, which may be rounded to the dtype that they have: gold's have it already."""
    with setting_up(is_replaced), rounding_unnoted() if is_replaced else contextlib.nullcontext():
        yield
