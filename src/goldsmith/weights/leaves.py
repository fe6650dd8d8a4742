"""What the last part of a weight's name says in the layers of libraries: a `kernel` is a `weight` whose outputs are its
last axis, a `scale` that of a norm, `mean` and `var` are what others call running."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

WEIGHT, BIAS, SIZE = "weight", "bias", "size"
"""What a weight is of its module: of one whose weight is normed, `size` is how large each output's row is."""
MEAN, VAR = "running_mean", "running_var"
STATISTICS = (MEAN, VAR, "num_batches_tracked")
"""Buffers that training updates."""
KERNELS = frozenset(("kernel", "embedding"))
"""Names by which a model's weights are known to be by the words of Flax."""
_FLAX = {"mean": MEAN, "var": VAR}
STATISTIC_LEAVES = frozenset((MEAN, VAR, *_FLAX))


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


def dotted_names(names: Collection[str]) -> dict[str, str]:
    """Map names to the same with a dot before the numbers of layers, where Flax has joined them by an underscore:
    `layers_3.attn.kernel` is `layers.3.attn.kernel`. `ln_1` has no layer 0 beside it, and `Dense_0` is a class's name
    unless there are layers in it."""
    if not says_kernel(names):
        return {name: name for name in names}
    numbers: dict[tuple[str, ...], set[str]] = {}
    for name in names:
        for above, stem, number in _numbered(name):
            numbers.setdefault((*above, stem), set()).add(number)
    found = {}
    for name in names:
        letters = list(name)
        for above, stem, number in _numbered(name):
            at = sum(len(part) + 1 for part in above) + len(stem)
            inside = name[at + len(number) + 2 :]
            if "0" in numbers[(*above, stem)] and (stem[0].islower() or "." in inside):
                letters[at] = "."
        found[name] = "".join(letters)
    return found


def is_class_name(module: str) -> bool:
    """Say whether a module is called as Flax calls it that nobody has named: `Dense_0`, which says nothing of it."""
    return re.fullmatch(r"[A-Z][A-Za-z0-9]*_\d+", module) is not None


_NORMED = (
    # torch's parametrization, its older form, and Equinox' WeightNorm: weight, size, and what is around the bias
    ("{}.parametrizations.weight.original1", "{}.parametrizations.weight.original0", ""),
    ("{}.weight_v", "{}.weight_g", ""),
    ("{}.layer.weight", "{}.g", "layer."),
)


def normed_weights(names: Collection[str]) -> dict[str, tuple[str, str]]:
    """Map the names of weights that are normed, as libraries keep them, to the module that is meant and what each is
    of it."""
    found: dict[str, tuple[str, str]] = {}
    there = set(names)
    for weight, size, inner in _NORMED:
        ending = size.removeprefix("{}")
        for module in (name.removesuffix(ending) for name in names if name.endswith(ending)):
            if weight.format(module) in there:
                found |= {weight.format(module): (module, WEIGHT), size.format(module): (module, SIZE)}
                found |= dict.fromkeys(there & {f"{module}.{inner}{BIAS}"}, (module, BIAS))
    return found


def _numbered(name: str) -> Iterable[tuple[tuple[str, ...], str, str]]:
    """Yield the components that end in a number: those above, the word, and the number."""
    components = name.split(".")
    for at, part in enumerate(components[:-1]):
        found = re.fullmatch(r"(.*[A-Za-z])_(\d+)", part)
        if found:
            yield tuple(components[:at]), found[1], found[2]
