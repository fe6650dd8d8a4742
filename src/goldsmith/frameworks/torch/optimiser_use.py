"""Which of the course's own optimisers took steps in a case, and on how much: shows what was never tried."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from goldsmith.gold.facts import OptimiserFacts


@contextlib.contextmanager
def noting_optimisers(found: dict[str, Any]) -> Iterator[None]:
    """Collect, within this context, each optimiser class that is not torch's own and the most it was given."""
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
