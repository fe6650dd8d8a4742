"""What the last part of a weight's name says in the layers of libraries: a `kernel` is a `weight` whose outputs are its
last axis, a `scale` that of a norm, `mean` and `var` are what others call running."""

from __future__ import annotations

from collections.abc import Collection, Iterable

WEIGHT, BIAS = "weight", "bias"
MEAN, VAR = "running_mean", "running_var"
STATISTICS = (MEAN, VAR, "num_batches_tracked")
"""Buffers that training updates."""
KERNELS = frozenset(("kernel", "embedding"))
"""Names by which a model's weights are known to be by the words of Flax."""
_FLAX = {"mean": MEAN, "var": VAR}


def is_statistic(name: str) -> bool:
    return name.endswith(STATISTICS)


def says_kernel(names: Iterable[str]) -> bool:
    """Say whether weights are named as Flax does."""
    return any(leaf_of(name) in KERNELS for name in names)


def running_statistics(names: Collection[str]) -> dict[str, str]:
    """Map the names of running statistics to what they are elsewhere: `running_mean` or `running_var`. `mean` and
    `var` are so only next to each other, in a model whose weights are named as Flax does."""
    found = {name: item for name in names for item in (MEAN, VAR) if name.endswith(item)}
    if says_kernel(names):
        there = set(names)
        for name in names:
            module, _, leaf = name.rpartition(".")
            if leaf in _FLAX and {f"{module}.{item}" for item in _FLAX} <= there:
                found[name] = _FLAX[leaf]
    return found


def leaf_of(name: str) -> str:
    return name.rpartition(".")[2]
