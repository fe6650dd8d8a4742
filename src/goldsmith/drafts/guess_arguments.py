"""Guess arguments for a call that was never observed: by annotations, docstrings, names, and how the body uses them."""

from __future__ import annotations

import collections.abc
import dataclasses
import enum
import heapq
import inspect
import re
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from goldsmith.drafts import argument_use as usage
from goldsmith.drafts.documented_shapes import Sizes, annotated_shape, only_shape, shapes_in_docstring
from goldsmith.drafts.specs import BOOLEANS, INTEGERS, UNIFORM, Array, Built, Code, Group, Literal, Spec, Steps
from goldsmith.drafts.variations import distinct_settings
from goldsmith.frameworks.framework import is_model_class
from goldsmith.weights.models import signature_of

_TEXT = "the cat sat on the mat, and the dog sat by it"
_SETTINGS: tuple[tuple[str, Any], ...] = (
    (r"drop", 0.0),
    (r"vocab", 61),
    (r"heads?$|^n_?heads?", 3),
    (r"layers?$|depth|blocks?$", 2),
    (r"max.*len|seq.*len|context|block_size|max_pos", 40),
    (r"(ff|feed|hidden|mlp|inner|inter).*(dim|size|width|features)?$", 40),
    (r"^out|_out$", 7),
    (r"channels?$|^in_ch|chans?$", 3),
    (r"(image|img)_?size|resolution", 12),
    (r"patch", 4),
    (r"kernel", 3),
    (r"classes|tags|labels", 10),
    (r"chunk|horizon", 8),
    (r"action|act_", 6),
    (r"time_dim|t_dim", 10),
    (r"obs", 13),
    (r"eps", 1e-5),
    (r"momentum|beta|decay|gamma|alpha|rate|prob|^p$|threshold|tau|temperature", 0.3),
    (r"^lr|learning", 0.1),
    (r"theta|base", 100.0),
    (r"norm", 0.7),
    (r"head_dim|d_head|^d_k|^d_v", 8),
    (r"batch_?size", 5),
    (r"steps|epochs|iters?|iterations", 3),
    (r"seed", 7),
    (r"dim$|^d_|width|model|embed|features", 24),
    (r"size", 24),
    (r"^(k|n|m|num|count|times)$|^(num|n|max|top)_", 4),
    (r"axis|dim", 0),
)
_ODD_SIZES = (11, 7, 13, 5, 17, 9, 19)
_ALIKE_LATER = 24
"""How many sets of arguments are tried before those in which two sizes are the same."""
_IDS = re.compile(r"token|ids?$|^idx|indices|index$|prompt|^seq$|sequence")
_LABELS = re.compile(r"target|label|^y$|classes")
_ONE_EACH = re.compile(r"(?!n_|num|max)(\w+_)?(labels|tags)")
_SEVERAL = re.compile(rf"{_IDS.pattern}|{_LABELS.pattern}|mask|batch|es$|ids")
"""Names of indices that are arrays, as a rule."""
_MODEL = re.compile(r"(^|_)(model|net|network|policy|module|agent|encoder|decoder)$")
_OPTIMISER = re.compile(r"^(opt|optim|optimi[sz]er)$")
_BATCHES = re.compile(r"batches|loader|dataset|^data$")


@dataclasses.dataclass(frozen=True)
class Known:
    """Facts for guessing arguments: settings of the object that a method belongs to, the library that its module uses,
    models that could be built and their inputs, widths of layers, channels of images."""

    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    library: str = ""
    models: Sequence[tuple[Built, Sequence[Spec]]] = ()
    widths: Sequence[int] = ()
    images: Sequence[int] = ()


def guess(
    function: Any, known: Known, *, skip: int = 0, about: str = "", depth: int = 0, also: str = ""
) -> Iterator[dict[str, Spec]]:
    """Yield sets of arguments, the likeliest first; `about` is more text that may give shapes, `also` an optional
    argument to include."""
    signature = signature_of(function)
    parameters = list(signature.parameters.items())[skip:]
    required = [(name, item) for name, item in parameters if _is_needed(name, item) or name == also]
    guesser = _Guesser(function, known, f"{inspect.getdoc(function) or ''}\n{about}", len(required), depth)
    choices = [guesser.candidates(name, item, at) for at, (name, item) in enumerate(required)]
    alike: list[dict[str, Spec]] = []
    number = 0
    for number, ranks in enumerate(_best_first([len(item) for item in choices])):
        found = {name: choices[at][rank] for at, ((name, _), rank) in enumerate(zip(required, ranks, strict=True))}
        different = distinct_settings(found)
        if number == _ALIKE_LATER:
            yield from alike
        if different is None or number >= _ALIKE_LATER:
            yield found
            continue
        if not any(ranks):
            yield dict(different)
        alike.append(found)
    if number < _ALIKE_LATER:
        yield from alike


def _is_needed(name: str, parameter: inspect.Parameter) -> bool:
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        return False
    return parameter.default is parameter.empty or ("drop" in name and bool(parameter.default))


def _best_first(sizes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield every combination of ranks, those with the smallest sum first."""
    if not all(sizes):
        return
    start = (0,) * len(sizes)
    heap, seen = [(0, start)], {start}
    while heap:
        _, ranks = heapq.heappop(heap)
        yield ranks
        for at, size in enumerate(sizes):
            after = (*ranks[:at], ranks[at] + 1, *ranks[at + 1 :])
            if ranks[at] + 1 < size and after not in seen:
                seen.add(after)
                heapq.heappush(heap, (sum(after), after))


class _Guesser:
    def __init__(self, function: Any, known: Known, text: str, arguments: int, depth: int) -> None:
        self._known, self._text, self._depth = known, text, depth
        self._sizes = Sizes(known.settings)
        self._sizes_by_meaning = Sizes(known.settings, by_meaning=True)
        self._usage = usage.usages_of(function)
        self._lone = arguments == 1
        self._constructs = inspect.isclass(function)
        plain = function.__init__ if inspect.isclass(function) else inspect.unwrap(function)
        try:
            self._hints = typing.get_type_hints(plain)
        except Exception:
            self._hints = dict(getattr(plain, "__annotations__", {}))

    def candidates(self, name: str, parameter: inspect.Parameter, at: int) -> list[Spec]:
        if self._known.library == "jax" and _keys(name):
            return _keys(name)
        hint = self._hints.get(name, parameter.annotation)
        found = list(self._by_hint(name, hint)) if hint is not parameter.empty else []
        return [_turn(item, at) for item in dict.fromkeys(found or self._by_name(name, at))][:40]

    def _by_hint(self, name: str, hint: Any) -> Iterator[Spec]:
        shaped = annotated_shape(hint)
        if shaped is not None:
            kind, axes = shaped
            shape = self._sizes.shape(axes)
            if shape is not None:
                yield self._array(name, shape, kind, self._known.library or "torch")
            return
        origin, inner = typing.get_origin(hint), typing.get_args(hint)
        if origin in (typing.Union, types.UnionType):
            for item in inner:
                if item is not type(None):
                    yield from self._by_hint(name, item)
        elif origin is typing.Literal:
            yield from (Literal(item) for item in inner)
        elif origin is collections.abc.Callable or hint in (typing.Callable, collections.abc.Callable):
            yield Code(_function(len(inner[0]) if inner and isinstance(inner[0], list) else 1))
        elif isinstance(origin, type) and issubclass(origin, collections.abc.Iterable) and origin is not str:
            yield from self._container(name, origin, inner)
        elif isinstance(hint, type):
            yield from self._by_type(name, hint)

    def _by_type(self, name: str, hint: type) -> Iterator[Spec]:
        root = hint.__module__.partition(".")[0]
        if hint is bool:
            yield from (Literal(True), Literal(False))
        elif issubclass(hint, enum.Enum):
            return  # a recipe would not know how to import it
        elif hint in (int, float):
            yield from (Literal(item) for item in _numbers(name, hint))
        elif hint is str:
            yield from (Literal(_TEXT),)
        elif hint in (bytes, bytearray):
            yield Literal(_TEXT.encode())
        elif hint in (list, tuple, set, dict):
            yield from self._container(name, hint, ())
        elif root == "torch" and hint.__name__ == "Module":
            yield from (spec for spec, _ in self._known.models)
        elif root == "torch" and hint.__name__ in ("Tensor", "LongTensor", "FloatTensor"):
            yield from self._arrays(name, "torch", "int" if hint.__name__ == "LongTensor" else "")
        elif root == "torch" and hint.__name__ == "Optimizer":
            yield Steps("SGD", (("lr", 0.5),))
        elif root == "numpy":
            yield from self._arrays(name, "numpy", "")
        elif root == "jax" and hint.__name__ == "Array":
            yield from self._arrays(name, "jax", "")
        elif dataclasses.is_dataclass(hint) or hint.__module__ not in ("builtins", "typing", "collections.abc"):
            yield from self._instance(hint)

    def _instance(self, kind: Any) -> Iterator[Spec]:
        """Yield objects of a class of the course, built with guesses."""
        yield from (spec for spec, _ in self._known.models if spec.name == kind.__name__)
        if self._depth > 2 or not _takes_arguments(kind):
            return
        for number, arguments in enumerate(guess(kind, self._known, depth=self._depth + 1)):
            yield Built(kind.__module__, kind.__name__, tuple(arguments.items()), is_model=is_model_class(kind))
            if number == 3:
                return

    def _container(self, name: str, origin: type, inner: Sequence[Any]) -> Iterator[Spec]:
        names = re.sub(r"s$", "", name)
        if issubclass(origin, dict | collections.abc.Mapping):
            key, item = (inner[0], inner[1]) if len(inner) == 2 else (str, int)
            keys = ["the", "cat", "mat"] if key is str else [b"t", b"h"] if key is bytes else [3, 1, 7]
            values = [next(iter(self._by_hint(names, item)), Literal(2 + at)) for at in range(len(keys))]
            varied = [_vary(value, at) for at, value in enumerate(values)]
            yield _join("dict", varied, tuple(keys))
            return
        if issubclass(origin, tuple) and inner and inner[-1] is not Ellipsis:
            options = [next(iter(self._by_hint(names, item)), Literal(2)) for item in inner]
            yield _join("tuple", options)
            return
        element = inner[0] if inner else int
        kind = "set" if issubclass(origin, set | frozenset) else "tuple" if issubclass(origin, tuple) else "list"
        plain: dict[Any, list[Any]] = {
            int: [3, 1, 4, 1, 5, 9, 2],
            float: [0.7, -1.3, 2.1, 0.4, -0.2],
            str: ["the", "cat", "sat", "on", "the", "mat"],
            bytes: [b"the", b" cat", b" sat"],
            bool: [True, False, True],
        }
        if element in plain:
            values = plain[element]
            yield Literal(set(values) if kind == "set" else tuple(values) if kind == "tuple" else values)
            return
        for number, item in enumerate(self._by_hint(names, element)):
            yield _join(kind if kind != "set" else "list", [_vary(item, at) for at in range(3)])
            if number == 3:
                return

    def _by_name(self, name: str, at: int) -> list[Spec]:
        lower = name.lower()
        if _OPTIMISER.search(lower):
            return [Steps("SGD", (("lr", 0.5),))]
        if _MODEL.search(lower) and self._known.models:
            return [spec for spec, _ in self._known.models]
        found: list[Spec] = []
        if _BATCHES.search(lower):
            found += [Group("list", (spec, spec, spec)) for _, inputs in self._known.models for spec in inputs[:1]]
        seen = self._usage.get(name) or usage.Usage()
        library = self._known.library
        documented = self._documented(name)
        setting = [value for pattern, value in _SETTINGS if re.search(pattern, lower)][:1]
        kinds = seen.kinds()
        plain = self._constructs or (usage.ARRAY not in seen.likely and not _ONE_EACH.fullmatch(lower))
        if library and not documented and setting and not seen.attributes and plain:
            found += [Literal(item) for item in _numbers(name, type(setting[0]))]
        found += [Literal(word) for word in dict.fromkeys(seen.words)]
        if not documented and seen.is_index and seen.can_be_number and not _SEVERAL.search(lower):
            return [*found, Literal(1 + at % 3), Literal(1), Literal(0)]
        if not documented and (seen.is_size or (self._constructs and seen.can_be_number)):
            found += self._whole_numbers(name, at)
        if library and (documented or usage.ARRAY in kinds):
            found += list(self._arrays(name, library, ""))
        for kind in kinds:
            found += self._plain(name, kind)
        return found

    def _whole_numbers(self, name: str, at: int) -> list[Spec]:
        """Return sizes that differ between arguments and are odd, so that none divides another by chance; then even
        ones, for sizes that must be divisible."""
        others = (24, 4, 1) if self._constructs else (4, 24, 1)
        values = [*_numbers(name, int)[:-1], _ODD_SIZES[at % len(_ODD_SIZES)], *others]
        shape = [(5, 7)] if "shape" in name.lower() else []
        return [Literal(item) for item in (*shape, *values)]

    def _plain(self, name: str, kind: str) -> list[Spec]:
        if kind == usage.FUNCTION:
            return [Code(_function(1)), Code(_function(2))]
        if kind == usage.TEXT:
            return [Literal(_TEXT)]
        if kind == usage.MAPPING:
            return [Literal({"the": 3, "cat": 1, "mat": 2})]
        if kind == usage.LIST:
            words, numbers = ["the", "cat", "sat", "on", "the", "mat"], [3, 1, 4, 1, 5, 9, 2]
            if self._constructs:
                numbers = [13, 11, 7, 5]  # widths of layers
            texts = re.search(r"word|text|token|sentence|corpus|line|string|name|doc", name.lower())
            pairs = [[3, 1, 4], [1, 5, 9]]
            return [Literal(item) for item in ((words, numbers, pairs) if texts else (numbers, words, pairs))]
        if kind == usage.NUMBER:
            return [Literal(item) for item in (*_numbers(name, float), *_numbers(name, int))]
        return []

    def _documented(self, name: str) -> list[tuple[str, ...]]:
        found = shapes_in_docstring(self._text, name)
        return found or (only_shape(self._text) if self._lone else [])

    def _arrays(self, name: str, library: str, kind: str) -> Iterator[Spec]:
        shapes = [sizes.shape(it) for it in self._documented(name) for sizes in (self._sizes_by_meaning, self._sizes)]
        batch, length = 5, 11
        lower = name.lower()
        by_name = [value for key, value in self._known.settings.items() if _begins_alike(lower, key, value)]
        widths = list(dict.fromkeys([*by_name, *self._known.widths])) or [24]
        if re.search(r"image|img|pixel|frame", lower) or (self._known.images and not shapes):
            shapes += [(batch, channels, side, side) for side in self._sides() for channels in self._channels()]
        if _IDS.search(lower):
            shapes += [(batch, length), (length,)]
            kind = kind or "int"
        elif _LABELS.search(lower):
            shapes += [(batch,), (batch, length)]
        elif re.fullmatch(r"t|time|timesteps?|tau", lower):
            shapes += [(batch,), (batch, 1)]
        shapes += [(batch, length, width) for width in widths] + [(batch, width) for width in widths]
        shapes += [(width,) for width in widths] + [(one, two) for one in widths for two in widths if one != two]
        shapes += [(batch, 3, length, 8), (batch, batch)]
        for shape in dict.fromkeys(item for item in shapes if item is not None):
            labels = not kind and _LABELS.search(lower) is not None
            if labels and len(shape) == 1:
                yield self._array(name, shape, "int", library)
            yield self._array(name, shape, kind, library)
            if labels:
                yield self._array(name, shape, "int", library)

    def _sides(self) -> list[int]:
        named = [value for key, value in self._known.settings.items() if re.search("(image|img)_?size|resolution", key)]
        return list(dict.fromkeys([*(item for item in named if type(item) is int), 12, 28, 32, 64]))

    def _channels(self) -> list[int]:
        return list(dict.fromkeys([*self._known.images, 3, 1]))

    def _array(self, name: str, shape: tuple[int, ...], kind: str, library: str) -> Array:
        lower = name.lower()
        if kind == "bool" or (not kind and "mask" in lower):
            return Array(library, shape, BOOLEANS)
        if kind == "int":
            settings = self._known.settings
            labels = _LABELS.search(lower) and not _IDS.search(lower)
            words = ("class", "label") if labels else ("vocab",)
            bound = next((value for key, value in settings.items() if any(word in key for word in words)), None)
            high = bound if type(bound) is int else self._sizes.like("classes" if labels else "vocab")
            return Array(library, shape, INTEGERS, high=high)
        return Array(library, shape, UNIFORM if re.fullmatch(r"t|time|timesteps?|tau|p|probs?", lower) else "normal")


def _keys(name: str) -> list[Spec]:
    """Return what a source of randomness is, where an argument has the name of one."""
    if name == "rngs":
        return [Code("nnx.Rngs(0)")]
    return [Code("jax.random.key(1)")] if re.fullmatch(r"(prng_?|rng_?)?key|rng", name.lower()) else []


def _numbers(name: str, kind: type) -> list[Any]:
    """Return values that suit a number's name, of the requested kind where possible."""
    found = [value for pattern, value in _SETTINGS if re.search(pattern, name.lower())][:1]
    if kind is int:
        return [*(value for value in found if type(value) is int), 4]
    return [float(value) if kind is float and type(value) is float else value for value in found] + [0.7, 1.3]


def _function(arguments: int) -> str:
    names = ["x", "y", "z", "u"][: max(1, arguments)]
    return f"lambda {', '.join(names)}: {' + '.join(f'{at + 2} * {name}' for at, name in enumerate(names))} + 1"


def _vary(spec: Spec, at: int) -> Spec:
    """Change a number by its position, so that a container's items are not all the same."""
    if isinstance(spec, Literal) and type(spec.value) in (int, float):
        return Literal(spec.value + at * (1 if type(spec.value) is int else 0.6))
    return spec


def _turn(spec: Spec, at: int) -> Spec:
    """Change a list or text by the argument's position, so that no two arguments are the same."""
    if not at or not isinstance(spec, Literal):
        return spec
    if isinstance(spec.value, list | str) and len(spec.value) > at + 1:
        rest: Any = spec.value[at:]
        return Literal(rest + spec.value[:1])
    return spec


def _join(kind: str, items: Sequence[Spec], keys: tuple[Any, ...] = ()) -> Spec:
    if all(isinstance(item, Literal) for item in items):
        values = [item.value for item in items if isinstance(item, Literal)]
        return Literal(
            dict(zip(keys, values, strict=True)) if kind == "dict" else values if kind == "list" else tuple(values)
        )
    return Group(kind, tuple(items), keys)


def _begins_alike(name: str, key: str, value: Any) -> bool:
    return type(value) is int and name.startswith(key.partition("_")[0])


def _takes_arguments(kind: Any) -> bool:
    try:
        inspect.signature(kind)
    except (TypeError, ValueError):
        return False
    return not inspect.isabstract(kind)
