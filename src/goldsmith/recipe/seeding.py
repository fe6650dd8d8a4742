"""Seed every random source and switch on every deterministic setting.

What must be set before the interpreter starts is in `process/launcher.py`; what can be set inside it is here. No
library is imported for this: one that a recipe imports later is seeded at that moment.
"""

from __future__ import annotations

import random

from goldsmith.foundation.on_import import when_imported
from goldsmith.frameworks.framework import Framework, registered

DEFAULT_SEED = 42


def seed_everything(seed: int = DEFAULT_SEED, *, threads: int | None = None, device: str = "") -> None:
    """Seed `random`, NumPy and torch (all devices) and switch torch to deterministic algorithms.

    Call it at the top of a script: modules that are imported later are seeded on import. A library that would choose
    its `device` itself keeps to the one that is named.
    """
    random.seed(seed)
    for framework in registered():
        _seed_when_imported(framework, seed, threads, device)


def _seed_when_imported(framework: Framework, seed: int, threads: int | None, device: str) -> None:
    def act(_: object) -> None:
        if device:
            framework.process.keep_to(device)
        framework.numerics.seed(seed, threads=threads)

    when_imported(framework.name, act)
