"""Which modules of two models correspond: by their weights, by name, by the adapter, by what they return, by class."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from goldsmith.judge.module_names import Pairs, module_names
from goldsmith.judge.traces import Call, farthest
from goldsmith.model_parity.aligned_calls import align_outputs, correspond
from goldsmith.weights.rule_lines import line_of
from goldsmith.weights.rules import fill, match, rule_of


def pair_modules(
    placed: Pairs,
    mine: Sequence[Call],
    theirs: Sequence[Call],
    there: Mapping[str, str],
    renamed: Sequence[tuple[str, str]],
    close: float,
    other: Collection[str] = (),
) -> dict[str, str]:
    """Map the reference's modules to those of the candidate's that are `there`, by name and class. Those that have no
    weights, and another name, are paired inside of the innermost modules around them that are paired. What has `other`
    numbers in its weights is paired by what it returns, first of all."""
    found = _by_adapter(mine, there, renamed)
    found = module_names(placed, [call.module for call in mine], list(there)) | found
    if other:
        held = {name.rpartition(".")[0] for one, _ in placed for name in one if name not in other}
        found = _by_values(found, {"", *held}, mine, theirs, close)
    weighty = {name for one, two in placed for weight in (*one, *two) for name in _around(weight)}
    outputs = {name: call for name, call in _last_calls(theirs).items() if name not in weighty}
    calls = _last_calls(mine)
    for call in sorted(calls.values(), key=lambda call: call.module.count(".")):
        if call.module in found or call.module in weighty:
            continue
        above = _closest(call.module, found)
        used = set(found.values())
        free = [name for name in outputs if name not in used and _closest(name, used) == found[above]]
        by_value = [name for name in free if call.tells and _returns_the_same(outputs[name], call, close)]
        by_class = [name for name in free if outputs[name].kind == call.kind]
        left = [
            item
            for item in dict.fromkeys(call.module for call in mine if call.module)
            if item not in found and item not in weighty and (calls[item].tells or item == call.module)
            if _closest(item, found) == above
        ]
        if len(by_value) == 1:
            found[call.module] = by_value[0]
        elif by_class and [item for item in left if _kind(mine, item) == call.kind].index(call.module) < len(by_class):
            found[call.module] = by_class[0]
        elif len(free) == len(left) == 1 and _same_form(outputs[free[0]], call):
            found[call.module] = free[0]
    return found


def _by_values(
    names: Mapping[str, str], sure: Collection[str], mine: Sequence[Call], theirs: Sequence[Call], close: float
) -> dict[str, str]:
    """Pair modules that are the only ones to return the same, but for those that are `sure`. Such a partner is no other
    module's any more."""
    calls, outputs = _last_calls(mine), _last_calls(theirs)

    def is_same(name: str, other: str) -> bool:
        return name in calls and other in outputs and _returns_the_same(outputs[other], calls[name], close)

    right = {name for name, other in names.items() if name in sure or is_same(name, other)}
    found = dict(names)
    for name in (name for name in calls if name not in right and calls[name].tells):
        used = {found[item] for item in right}
        same = [other for other in outputs if other not in used and is_same(name, other)]
        if len(same) == 1:
            found = {item: other for item, other in found.items() if other != same[0]} | {name: same[0]}
            right.add(name)
    return found


def merged_modules(placed: Pairs) -> dict[str, str]:
    """Map modules whose weights are part of a fused matrix, or were split, to the modules that hold them."""
    found: dict[str, str] = {}
    for one, two in placed:
        if len(one) > 1 or len(two) > 1:
            theirs = " + ".join(dict.fromkeys(name.rpartition(".")[0] for name in two))
            found |= {name.rpartition(".")[0]: theirs for name in one}
    return found


def _around(weight: str) -> Iterator[str]:
    """Yield the names of the modules that contain a weight."""
    path = weight.split(".")[:-1]
    return (".".join(path[:count]) for count in range(1, len(path) + 1))


def _by_adapter(mine: Sequence[Call], there: Mapping[str, str], renamed: Sequence[tuple[str, str]]) -> dict[str, str]:
    found = {}
    for pattern, other in renamed:
        for name in dict.fromkeys(call.module for call in mine):
            stars = match(pattern, name)
            if stars is not None and fill(other, stars) in there:
                found[name] = fill(other, stars)
    return found


def _last_calls(calls: Sequence[Call]) -> dict[str, Call]:
    return {call.module: call for call in calls if not call.function}


def _closest(name: str, known: Collection[str]) -> str:
    """Return the innermost of the `known` modules that holds a module; the model itself if none does."""
    while name:
        name = name.rpartition(".")[0]
        if name in known:
            return name
    return ""


def _kind(calls: Sequence[Call], name: str) -> str:
    return next(call.kind for call in calls if call.module == name)


def _returns_the_same(theirs: Call, mine: Call, close: float) -> bool:
    outputs = align_outputs(theirs.outputs, mine.outputs)
    return bool(mine.outputs) and bool(theirs.outputs) and farthest(outputs, mine.outputs) <= close


def _same_form(theirs: Call, mine: Call) -> bool:
    """Return whether both take and return as many tensors, of shapes that correspond."""
    sides = ((theirs.inputs, mine.inputs), (theirs.outputs, mine.outputs))
    return all(len(one) == len(two) and all(map(correspond, one, two)) for one, two in sides)


def adapter_lines(unpaired: Sequence[str], free: Mapping[str, str], kinds: Mapping[str, str]) -> list[str]:
    """Return a line of an adapter for each module without a partner that the candidate may have under another name: of
    the same class, else the only one that is left beside it. Numbers become stars, so that one line serves all
    layers."""
    found: dict[str, None] = {}
    for name in unpaired:
        same = [other for other, kind in free.items() if kind == kinds[name]]
        near = [other for other in same if _numbers(other) == _numbers(name)] or same
        if near:
            mine, theirs = _in_all_layers(name, near[0])
            found[line_of(rule_of([mine], [theirs]))] = None
    return list(found)


def _in_all_layers(mine: str, theirs: str) -> tuple[str, str]:
    """Return patterns that fit the same names in all layers, if both are numbered alike, else the names."""
    numbers = [[part for part in name.split(".") if part.isdecimal()] for name in (mine, theirs)]
    if numbers[0] != numbers[1]:
        return mine, theirs
    one, two = (".".join("*" if part.isdecimal() else part for part in name.split(".")) for name in (mine, theirs))
    return one, two


def _numbers(name: str) -> list[str]:
    return [part for part in name.split(".") if part.isdecimal()]
