"""Other arguments for the same call: sizes that differ, a batch of one, longer sequences, small and large numbers,
other options. Only a trial shows whether a part can be called with them."""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from goldsmith.drafts.contracts import Contract, Domain
from goldsmith.drafts.specs import INTEGERS, Arguments, Array, Built, Group, Literal, Spec, arrays_in, map_spec, walk
from goldsmith.weights.models import signature_of

_OTHER_SIZES = (5, 7, 13, 9, 17, 19, 11, 23)
_TEXTS = ("a", "", "The End. The end!  The\tEND\n", "naïve café, 東京 🙂 it's", "aaabbb aaab ab")


def _resize(arguments: Arguments, change: Callable[[Array], Array]) -> Arguments:
    def apply(spec: Spec) -> Spec:
        return change(spec) if isinstance(spec, Array) else spec

    return {
        name: map_spec(spec, apply) if not isinstance(spec, Built) or not spec.is_model else spec
        for name, spec in arguments.items()
    }


def resize(arguments: Arguments, old: int, new: int, *, first_only: bool = False) -> Arguments:
    """Change every axis of size `old`, or every first axis of that size, to `new`."""

    def change(array: Array) -> Array:
        shape = tuple(
            new if size == old and (at == 0 or not first_only) else size for at, size in enumerate(array.shape)
        )
        return dataclasses.replace(array, shape=shape)

    return _resize(arguments, change)


def distinct_settings(arguments: Arguments) -> Arguments | None:
    """Make whole numbers among plain settings differ, so that none can be mistaken for another; return None where they
    do.

    Even numbers grow in steps of their half, so that its divisors still divide them.
    """
    taken = [spec.value for spec in arguments.values() if isinstance(spec, Literal) and type(spec.value) is int]
    found: dict[str, Spec] = {}
    seen: set[int] = set()
    for name, spec in arguments.items():
        if isinstance(spec, Literal) and type(spec.value) is int and spec.value > 2:
            value = spec.value
            if value in seen:
                step = value // 2 if value % 2 == 0 and value > 4 else 2
                value = next(item for item in itertools.count(value, step) if item not in taken)
                taken.append(value)
            seen.add(value)
            spec = Literal(value)
        found[name] = spec
    return found if found != dict(arguments) else None


def leading_size(arguments: Arguments) -> int | None:
    """Return the size that the arrays with the most axes begin with: the batch. What has fewer may be weights."""
    arrays = [array for array in _direct(arguments) if array.shape]
    most = max((len(array.shape) for array in arrays), default=0)
    counts = Counter(array.shape[0] for array in arrays if len(array.shape) == most)
    return counts.most_common(1)[0][0] if counts else None


def _direct(arguments: Arguments) -> list[Array]:
    return arrays_in(
        {name: spec for name, spec in arguments.items() if not isinstance(spec, Built) or not spec.is_model}
    )


def distinct(arguments: Arguments, taken: set[int]) -> Iterator[Arguments]:
    """Yield candidates in which one of two equal sizes differs: the leading one, or another axis. New sizes are not
    among those `taken`."""
    sizes = {size for array in _direct(arguments) for size in array.shape} | taken
    fresh = [size for size in _OTHER_SIZES if size not in sizes]
    for array in _direct(arguments):
        square = len(array.shape) == 4 and array.shape[2] == array.shape[3]
        shape = array.shape[:3] if square else array.shape
        same = [at for at, size in enumerate(shape) if size > 1 and shape.count(size) > 1]
        for at in same:
            for size in fresh[:2]:
                if at == 0:
                    yield resize(arguments, shape[at], size, first_only=True)
                yield _with_axis(arguments, array, at, size)


def _with_axis(arguments: Arguments, array: Array, at: int, size: int) -> Arguments:
    other = dataclasses.replace(array, shape=(*array.shape[:at], size, *array.shape[at + 1 :]))
    return _resize(arguments, lambda item: other if item == array else item)


def with_batch(arguments: Arguments, taken: set[int]) -> Arguments | None:
    """Change the batch to a size that is not `taken`, and not one."""
    size = leading_size(arguments)
    fresh = next((item for item in _OTHER_SIZES if item not in taken), None)
    if size is None or fresh is None:
        return None
    return resize(arguments, size, fresh, first_only=True)


def batch_of_one(arguments: Arguments) -> Arguments | None:
    size = leading_size(arguments)
    return resize(arguments, size, 1, first_only=True) if size and size > 1 else None


def longer(arguments: Arguments) -> Iterator[Arguments]:
    """Yield arguments with the second axis, or the only one, longer and shorter."""
    arrays = [array for array in _direct(arguments) if array.shape]
    axes = [array.shape[-2] for array in arrays if len(array.shape) > 2]
    axes += [
        array.shape[1] for array in arrays if len(array.shape) > 2 or (array.draw == INTEGERS and len(array.shape) > 1)
    ]
    axes += [array.shape[-2] for array in arrays if len(array.shape) == 2]
    axes += [array.shape[0] for array in arrays if len(array.shape) == 1]
    for size in dict.fromkeys(axes):
        for other in (3 * size + 1, 2 * size + 1, size + 2, size - 2):
            if other > 1:
                yield resize(arguments, size, other)


def scaled(arguments: Arguments, factor: float) -> Arguments | None:
    """Multiply normally distributed arrays by `factor`; return None where no array is floating."""
    if not any(array.is_floating for array in _direct(arguments)):
        return None
    return _resize(
        arguments, lambda item: dataclasses.replace(item, scale=item.scale * factor) if item.draw == "normal" else item
    )


def several(arguments: Arguments) -> Arguments | None:
    """Repeat the item of one-item lists three times; return None where there are none."""
    found = {
        name: dataclasses.replace(spec, items=spec.items * 3)
        if isinstance(spec, Group) and spec.kind == "list" and len(spec.items) == 1
        else spec
        for name, spec in arguments.items()
    }
    return found if found != dict(arguments) else None


def ragged(arguments: Arguments) -> Arguments | None:
    """Make the last array in lists smaller than the others."""
    found = dict(arguments)
    for name, spec in arguments.items():
        if not (isinstance(spec, Group) and spec.kind == "list" and len(spec.items) > 0):
            continue
        last = map_spec(
            spec.items[-1],
            lambda item: (
                dataclasses.replace(item, shape=(max(1, item.shape[0] // 2), *item.shape[1:]))
                if isinstance(item, Array) and item.shape
                else item
            ),
        )
        found[name] = dataclasses.replace(spec, items=(*spec.items[:2], last))
    return found if found != dict(arguments) else None


def other_options(function: Any, arguments: Arguments, skip: int = 0) -> list[dict[str, Spec]]:
    """Return values other than the default for options: all together first, then one by one."""
    found: dict[str, Spec] = {}
    try:
        parameters = list(signature_of(function).parameters.items())[skip:]
    except (TypeError, ValueError):
        return []
    for name, parameter in parameters:
        if name in arguments and not isinstance(arguments[name], Literal):
            continue
        value = _other(name, parameter.default)
        if value is not None and parameter.default is not parameter.empty:
            found[name] = Literal(value)
    alone = [{name: spec} for name, spec in found.items()]
    return [found, *alone] if len(found) > 1 else alone


def _other(name: str, value: Any) -> Any:
    if type(value) is bool:
        return not value
    if type(value) is float and "drop" not in name:
        return 0.3 if 0 <= value < 1e-2 else round(value * 0.6, 6) if abs(value) <= 10 else math.copysign(100.0, value)
    if type(value) is int and not isinstance(value, bool):
        return value + 1
    return None


def other_values(arguments: Arguments, contract: Contract) -> Iterator[Arguments]:
    """Yield plain values of other sizes: all at once, then one by one. They have the sign and the kind of those that
    are known to work, unless it is said or seen that others are allowed."""
    literals = {name: spec.value for name, spec in arguments.items() if isinstance(spec, Literal)}
    lists = [value for value in literals.values() if isinstance(value, list | tuple) and value]
    belong = len(lists) > 1 and len(set(map(len, lists))) == 1
    ordered = any(map(_is_sorted, lists))
    pools = {
        name: [*_same_changes(value, ordered)]
        if belong and isinstance(value, list | tuple)
        else _pool(value, contract.domains.get(name, Domain()))
        for name, value in literals.items()
    }
    pools = {name: pool for name, pool in pools.items() if pool}
    most = max((len(pool) for pool in pools.values()), default=0)
    for at in range(most):
        yield {
            name: Literal(pools[name][(at + (0 if belong else turn)) % len(pools[name])]) if name in pools else spec
            for turn, (name, spec) in enumerate(arguments.items())
        }
    for name, pool in pools.items():
        if len(pools) > 1 and not (belong and isinstance(literals[name], list | tuple)):
            yield from ({**arguments, name: Literal(value)} for value in pool[:4])


def _same_changes(value: Any, ordered: bool) -> Iterator[Any]:
    """Yield the same changes of every list, so that those that belong together keep one length."""
    yield value[:1]
    if not ordered:
        yield value[::-1]
        yield type(value)([*value, *value])


def _is_sorted(value: Any) -> bool:
    numbers = all(type(item) in (int, float) for item in value)
    return numbers and len(value) > 2 and list(value) == sorted(value)


def _pool(value: Any, domain: Domain) -> list[Any]:
    if type(value) is bool:
        return [not value]
    if type(value) is int:
        found: list[Any] = [value + 3, value + 1, 2 * value] if value >= 0 else [value - 3, value - 1, 2 * value]
        found += [*domain.edges(int), *((0, -value, -3) if domain.both_signs else ())]
        return [item for item in dict.fromkeys(found) if item != value]
    if type(value) is float:
        return [item for item in dict.fromkeys(_floats(value, domain)) if item != value]
    if isinstance(value, str):
        return [item for item in _TEXTS if item != value and (item or _may_be_empty(domain))] + [value[::-1]]
    if isinstance(value, bytes):
        return [b"a", *([b""] if _may_be_empty(domain) else []), bytes(range(0, 256, 5)), value[::-1]]
    if isinstance(value, list | tuple) and value:
        return [item for item in _lists(value, domain) if item != value]
    return []


def _may_be_empty(domain: Domain) -> bool:
    return "empty" in domain.text.lower()


def _floats(value: float, domain: Domain) -> list[float]:
    found = list(domain.edges(float))
    if 0 < abs(value) < 1:  # a share stays one
        found += [round(value * 0.6, 6), math.copysign(round(1 - (1 - abs(value)) * 0.6, 6), value)]
    else:
        found += [round(value * 1.7, 6), round(value * 0.6, 6)]
    if domain.both_signs:
        found += [-value, round(value + 1.9, 6), 0.0, 1.0, round(-value * 31, 6), 1e-3]
    return found


def _lists(value: Any, domain: Domain) -> list[Any]:
    """Return other lists of the same kind of items; sorted ones stay sorted, and shares stay shares."""
    kind = type(value)
    numbers = all(type(item) in (int, float) for item in value)
    is_sorted = _is_sorted(value)
    is_distribution = numbers and all(item >= 0 for item in value) and math.isclose(sum(value), 1.0, abs_tol=1e-6)
    found = [] if is_sorted else [value[::-1]]
    if is_distribution:
        return found
    if numbers and not all(type(item) is int and item in (0, 1) for item in value):
        found.append(kind(2 * item + 1 if item > 0 else 2 * item for item in value))
    found += [value[:1], *([value[:0]] if _may_be_empty(domain) else [])]
    if not is_sorted:
        found.append(kind([*value, *value]))
        found += [kind(dict.fromkeys(value))] if _hashable(value) else []
    return found


def _hashable(values: Any) -> bool:
    try:
        set(values)
    except TypeError:
        return False
    return True


def without_dropout(spec: Built) -> Built:
    """Set all dropout to 0, given or default: nothing else can draw what it drops."""
    kind = getattr(sys.modules.get(spec.module), spec.name, None)
    try:
        parameters = signature_of(kind).parameters if kind else {}
    except (TypeError, ValueError):
        parameters = {}
    settings = dict(spec.arguments)
    for name, parameter in parameters.items():
        value = settings.get(name, Literal(parameter.default))
        if "drop" in name.lower() and isinstance(value, Literal) and type(value.value) in (int, float) and value.value:
            settings[name] = Literal(0.0)
    return dataclasses.replace(spec, arguments=tuple(settings.items()))


def with_dropout(spec: Built, kind: Any) -> Built | None:
    """Set all dropout to 1, which needs no draws; return None where there is no such setting."""
    try:
        names = [name for name, item in inspect.signature(kind).parameters.items() if "drop" in name.lower()]
    except (TypeError, ValueError):
        return None
    if not names:
        return None
    settings = dict(spec.arguments) | {name: Literal(1.0) for name in names}
    return dataclasses.replace(spec, arguments=tuple(settings.items()))


def is_dict(spec: Spec | None) -> bool:
    return (isinstance(spec, Literal) and isinstance(spec.value, dict)) or getattr(spec, "kind", "") == "dict"


def form(arguments: Arguments) -> list[object]:
    """Return what tells one way to call from another: which arguments there are, axes of arrays, modes and options."""
    plain = [item for spec in arguments.values() for item in walk(spec) if isinstance(item, Literal)]
    ranks = [len(array.shape) for array in arrays_in(arguments)]
    return [list(arguments), ranks, [repr(it.value) for it in plain if isinstance(it.value, bool | str | dict | None)]]


def fewer(arguments: Arguments) -> Arguments:
    """Set the batch size to 5 where a number gives it."""
    return {
        name: Literal(5) if "batch" in name and isinstance(spec, Literal) and type(spec.value) is int else spec
        for name, spec in arguments.items()
    }


def asking(spec: Spec) -> Spec:
    """Return a floating torch array that requires its gradient; any other spec unchanged."""
    return (
        map_spec(
            spec,
            lambda item: (
                dataclasses.replace(item, gradient=True)
                if isinstance(item, Array) and item.library == "torch" and item.is_free
                else item
            ),
        )
        if isinstance(spec, Array)
        else spec
    )
