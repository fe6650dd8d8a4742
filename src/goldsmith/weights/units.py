"""The weights of a model as units: those of one module, of all layers at once where these are alike."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from goldsmith.runs.implementation import LINEAR, OTHER, Described
from goldsmith.weights.leaves import BIAS as BIAS
from goldsmith.weights.leaves import STATISTIC_LEAVES, dotted_names, normed_weights, running_statistics
from goldsmith.weights.leaves import WEIGHT as WEIGHT
from goldsmith.weights.rules import INDEX

Shape = tuple[int, ...]
Indices = frozenset[tuple[str, ...]]
_WEIGHTS = {"weight", "gain", "scale", "gamma", "g", "w", "kernel", "embedding"}
_BIASES = {"bias", "beta", "shift", "b"}
_STARS = re.compile(r"[*#]")
NORMAL, STACKED, INDEXED = "normal", "stacked", "indexed"


@dataclass(frozen=True)
class Unit:
    """Weights that go together: a matrix and its bias. `names` and `shapes` are by `weight`, `bias` or another role;
    names have stars where layers are alike, and `indices` is what these stand for. `calls` is its place in the order in
    which modules are called, `order` that in which they are made. `form` says whether it is seen as it is, as a tensor
    for several along its first axis, or as several that another side may have in one. `layer` is the class of its
    module, `library` what its model's arrays are of."""

    path: str
    names: Mapping[str, str]
    shapes: Mapping[str, Shape]
    indices: Indices
    kind: str
    calls: float
    order: float
    form: str = NORMAL
    layer: str = ""
    library: str = ""

    @property
    def members(self) -> set[str]:
        """Return the names of all its weights."""
        return {fill_stars(name, stars) for name in self.names.values() for stars in self._stars()}

    def _stars(self) -> Iterator[tuple[str, ...]]:
        if self.form == NORMAL:
            yield from self.indices
        else:
            yield from {stars[:-1] if self.form == STACKED else stars for stars in self.indices}


def fill_stars(pattern: str, stars: Sequence[str]) -> str:
    """Return a name with values in the place of its stars, the last one in the place of an index."""
    rest = list(stars)
    last = rest.pop() if INDEX in pattern else ""
    return _STARS.sub(lambda found: last if found[0] == INDEX else rest.pop(0), pattern)


def names_to_place(described: Described, other: Iterable[str] = ()) -> list[str]:
    """Return the weights that need a place: each once, without buffers that are computed. Of several names that a tied
    one has, the one that the `other` side has, too, counts."""
    known = set(other)
    left_out = set(described.facts.buffers).difference(running_statistics(described.weights))
    for names in described.facts.tied:
        chosen = next((name for name in names if name in known), names[0])
        left_out |= set(names) - {chosen}
    return [name for name in described.weights if name not in left_out]


def spare_places(described: Described) -> list[str]:
    """Return the buffers, which are places for weights that have no other: positions are a buffer here, a weight
    there."""
    statistics = running_statistics(described.weights)
    return [name for name in described.facts.buffers if name in described.weights and name not in statistics]


def units_of(described: Described, names: Iterable[str], calls: Sequence[str], *, starred: bool = True) -> list[Unit]:
    """Return the units of a model; `calls` are its modules in the order in which they are called."""
    modules: dict[str, dict[str, str]] = {}
    wanted = list(names)
    for name in wanted:
        module, _, leaf = name.rpartition(".")
        modules.setdefault(module, {})[leaf] = name
    dotted, statistics = dotted_names(described.weights), running_statistics(described.weights)
    normed = normed_weights(described.weights)
    single: dict[str, dict[str, str]] = {}
    for module, leaves in modules.items():
        for leaf, name in leaves.items():
            is_statistic = name in statistics and leaf in STATISTIC_LEAVES
            stem, role = ("", statistics[name]) if is_statistic else _stem(leaf, leaves, module)
            owner = module
            if name in normed:
                stem, (owner, role) = "", normed[name]
            path = dotted[name][: len(owner)]
            single.setdefault(".".join(part for part in (path, stem) if part), {})[role] = name
    shapes = {dotted[name]: described.weights[name] for name in wanted}
    alike = _alike(shapes, shapes) if starred else set()
    place = {module: number / max(len(calls), 1) for number, module in reversed(list(enumerate(calls)))}
    learned = [name for name in wanted if name not in statistics]  # those come elsewhere in other libraries
    order = dict.fromkeys(wanted, 1.0)
    order |= {name: number / max(len(learned), 1) for number, name in enumerate(learned)}
    found: dict[str, Unit] = {}
    for path, roles in single.items():
        pattern, stars = _starred(path, path, alike)
        first = next(iter(roles.values()))
        module = normed[first][0] if first in normed else first.rpartition(".")[0]
        kind = described.kinds.get(roles.get(WEIGHT, first), OTHER)
        if first in normed and kind == OTHER and "Linear" in described.modules.get(module, ""):
            kind = LINEAR
        unit = Unit(
            path=pattern,
            names={role: _starred(name, dotted[name], alike)[0] for role, name in roles.items()},
            shapes={role: described.weights[name] for role, name in roles.items()},
            indices=frozenset([stars]),
            kind=kind,
            calls=place.get(module, order[first]),
            order=order[first],
            layer=described.modules.get(module, ""),
            library=described.library,
        )
        known = found.get(pattern)
        found[pattern] = unit if known is None else replace(known, indices=known.indices | unit.indices)
    return list(found.values())


def forms_of(unit: Unit) -> Iterator[Unit]:
    """Yield a unit as it is, as one tensor for several along its first axis, and as several with an index."""
    yield unit
    if unit.form != NORMAL:
        return
    sizes = {shape[:1] for shape in unit.shapes.values()}
    if len(sizes) == 1 and all(len(shape) >= 2 for shape in unit.shapes.values()):
        numbers = [str(number) for number in range(sizes.pop()[0])]
        indices = frozenset((*stars, number) for stars in unit.indices for number in numbers)
        inner = {role: shape[1:] for role, shape in unit.shapes.items()}
        yield replace(unit, shapes=inner, indices=indices, form=STACKED)
    for position in range(unit.path.split(".").count("*")):
        names = {role: _with_index(name, position) for role, name in unit.names.items()}
        moved = frozenset((*stars[:position], *stars[position + 1 :], stars[position]) for stars in unit.indices)
        yield replace(unit, names=names, indices=moved, form=INDEXED)


def _with_index(name: str, position: int) -> str:
    at = [found.start() for found in _STARS.finditer(name)][position]
    return f"{name[:at]}{INDEX}{name[at + 1 :]}"


def _stem(leaf: str, leaves: Iterable[str], module: str) -> tuple[str, str]:
    """Return which weight of a module a name belongs to, and what it is of that: `in_proj` and `bias`."""
    for words, role in ((_WEIGHTS, WEIGHT), (_BIASES, BIAS)):
        if leaf in words and module and sum(other in words for other in leaves) == 1:
            return "", role
    found = re.fullmatch(r"(.+)_(weight|bias)", leaf)
    return (found[1], found[2]) if found else (leaf, WEIGHT)


def _alike(shapes: Mapping[str, Shape], names: Iterable[str]) -> set[str]:
    """Return the modules whose parts are numbered and hold weights of the same names and shapes, as layers do."""
    parts: dict[str, dict[str, dict[str, Shape]]] = {}
    for name in names:
        components = name.split(".")
        for at, component in enumerate(components):
            if component.isdecimal():
                inside = parts.setdefault(".".join(components[:at]), {}).setdefault(component, {})
                inside[".".join(components[at + 1 :])] = shapes[name]
    return {
        module
        for module, numbered in parts.items()
        if all(item == next(iter(numbered.values())) for item in numbered.values())
    }


def _starred(name: str, dotted: str, alike: set[str]) -> tuple[str, tuple[str, ...]]:
    """Return a name with stars for the numbers of layers that are alike, and these; the name may have them after an
    underscore, where its `dotted` form has a dot."""
    components = dotted.split(".")
    found, stars, end = "", [], 0
    for at, part in enumerate(components):
        is_star = part.isdecimal() and ".".join(components[:at]) in alike
        stars += [part] if is_star else []
        found += (name[end] if at else "") + ("*" if is_star else part)
        end += len(part) + bool(at)
    return found, tuple(stars)
