"""What may go into a part, as its docstring says it: bounds, kinds of numbers, and sizes that belong together.

What the solution itself refuses needs no reading: a trial shows it.
"""

from __future__ import annotations

import ast
import inspect
import math
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from goldsmith.drafts.documented_shapes import shapes_in_docstring
from goldsmith.drafts.specs import (
    BINARY,
    BOOLEANS,
    INTEGERS,
    LOG_SHARES,
    NORMAL,
    ONE_HOT,
    PREFIX,
    RANGE,
    SHARES,
    SORTED,
    SYMMETRIC,
    UNIFORM,
    Arguments,
    Array,
    Built,
    Group,
    Literal,
    Spec,
)
from goldsmith.foundation.syntax import syntax_tree

_NUMBER = r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?"
_VALUE = rf"({_NUMBER}|zero|one|two|[A-Za-z_]\w*)"
_WORDS = {"zero": 0.0, "one": 1.0, "two": 2.0}
_AT_LEAST = re.compile(rf"(?:at least|>=|≥|no less than|not less than|starting at)\s*{_VALUE}")
_ABOVE = re.compile(rf"(?:greater than|larger than|more than|above|(?<![-=])>)\s*{_VALUE}")
_AT_MOST = re.compile(rf"(?:at most|<=|≤|no more than|not more than|up to)\s*{_VALUE}")
_BELOW = re.compile(rf"(?:less than|smaller than|below|(?<!<)<(?!=))\s*{_VALUE}")
_BETWEEN = re.compile(rf"between\s+{_VALUE}\s+and\s+{_VALUE}")
_INTERVAL = re.compile(rf"\bin\s*([\[\](]){_VALUE}\s*,\s*{_VALUE}([\]\[)])")
_CHAIN = re.compile(rf"{_VALUE}\s*(<=?|≤)\s*[A-Za-z_][\w.\[\], ]*?\s*(<=?|≤)\s*{_VALUE}")
_NOT_NEGATIVE = re.compile(r"non-?negative|not (?:be )?negative|≥ ?0", re.IGNORECASE)
_POSITIVE = re.compile(r"(?<!non-)(?<!non)\bpositive\b", re.IGNORECASE)
_BINARY_TEXT = re.compile(
    r"\b(?:0|zeros?)\s*(?:/|or|and)\s*(?:1|ones?)\b|\b(?:1|ones?)\s*(?:/|or|and)\s*(?:0|zeros?)\b|\bbinary\b"
    r"|\b1 (?:for|where|if)\b.{0,60}\b(?:0|else)\b|\b0 (?:for|where|if)\b.{0,60}\b(?:1|else)\b",
    re.IGNORECASE | re.DOTALL,
)
_INTEGER_TEXT = re.compile(r"\bintegers?\b|\bindices\b|\bindex of\b|\bwhole numbers?\b|\bint\b", re.IGNORECASE)
_PROBABLE = re.compile(r"probabilit|\bdistribution over\b", re.IGNORECASE)
_SUMS_TO_ONE = re.compile(r"sums? to (?:one|1)|each row|rows? (?:is|are|of)|distribution", re.IGNORECASE)
_ROWS = re.compile(
    r"(?:batch|rows?|N|samples|examples)\b[^.;\n]{0,40}(?:at least (?:2|two|several)|(?:greater|more) than (?:1|one)"
    r"|>\s*1\b|>=\s*2)|at least (?:2|two) (?:rows|samples|examples|images|items)|batch of one (?:has|is|can)",
    re.IGNORECASE,
)
_PROBABILITIES = re.compile(r"(^|_)(p|probs?|probabilit(y|ies))$")
_VARIANCES = re.compile(r"(^|_)(var|variance|variances|std|stds|stddev|sigma|sigmas|scale|precision)$")
_LOG_PROBABILITIES = re.compile(r"log_?p(rob(abilitie)?s?)?$")


@dataclass(frozen=True)
class Limit:
    """A bound: a number, or the name of another argument or of a size; `is_open` where it is not reached itself."""

    value: float | str
    is_open: bool = False


@dataclass
class Domain:
    """What is said of one argument."""

    lows: list[Limit] = field(default_factory=list)
    highs: list[Limit] = field(default_factory=list)
    text: str = ""
    both_signs: bool = False
    """Whether it was seen to be negative, or its sign decides about what is done."""

    def low(self) -> Limit | None:
        found = [item for item in self.lows if isinstance(item.value, float)]
        return max(found, key=lambda item: (item.value, item.is_open)) if found else None

    def high(self) -> Limit | None:
        found = [item for item in self.highs if isinstance(item.value, float)]
        return min(found, key=lambda item: (item.value, not item.is_open)) if found else None

    def edges(self, kind: type) -> Iterator[float | int]:
        """Yield the ends that are said to be allowed, and for real numbers one between them."""
        low, high = self.low(), self.high()
        for end in (low, high):
            if end is None or end.is_open or not isinstance(end.value, float) or not math.isfinite(end.value):
                continue
            if end.value == kind(end.value):
                yield kind(end.value)
        if low and high and kind is float and isinstance(low.value, float) and isinstance(high.value, float):
            yield round(low.value + 0.37 * (high.value - low.value), 6)


@dataclass
class Contract:
    """What is said of a part's arguments: the domain of each, the axes of arrays as symbols, and whether a batch must
    have several rows."""

    domains: Mapping[str, Domain]
    shapes: Mapping[str, Sequence[tuple[str, ...]]]
    several_rows: bool = False
    defaults: Mapping[str, Spec] = field(default_factory=dict)
    text: str = ""

    def fit(self, arguments: Arguments, settings: Mapping[str, Any]) -> dict[str, Spec]:
        """Return arguments whose arrays are drawn from what is said of them; `settings` are what the object was built
        with that a method belongs to."""
        sizes = self._sizes(arguments, settings) or {}

        def fitted(name: str, spec: Spec) -> Spec:
            if isinstance(spec, Built) and spec.is_model:
                return spec
            if isinstance(spec, Group) and spec.kind == "dict":  # what is said of a key, not of all of them
                return spec.with_parts(tuple(map(fitted, map(str, spec.keys), spec.items)))
            if isinstance(spec, Array):
                return _fit(name, spec, self.domains.get(name) or self.domain_of(name), sizes, arguments)
            return spec.with_parts(tuple(fitted(name, item) for item in spec.parts())) if spec.parts() else spec

        return {name: fitted(name, spec) for name, spec in arguments.items()}

    def domain_of(self, key: str) -> Domain:
        """Return what is said of a key of a dict."""
        return _domain(key, self.text, [*self.domains, *self._keys()])

    def _keys(self) -> list[str]:
        """Return the names at the beginning of lines, as lists of keys have them."""
        return re.findall(r"^\s*[-*]?\s*(\w+)\s*:", self.text, re.MULTILINE)

    def allows(self, arguments: Arguments, settings: Mapping[str, Any]) -> bool:
        """Say whether nothing that is said speaks against these arguments."""
        sizes = self._sizes(arguments, settings)
        if sizes is None:
            return False
        arrays = [spec for spec in arguments.values() if isinstance(spec, Array) and len(spec.shape) > 1]
        if self.several_rows and any(array.shape[0] < 2 for array in arrays):
            return False
        for name, spec in arguments.items():
            domain = self.domains.get(name)
            if domain is None or not isinstance(spec, Literal) or type(spec.value) not in (int, float):
                continue
            for limits, sign in ((domain.lows, 1), (domain.highs, -1)):
                for limit in limits:
                    end = _number(limit.value, sizes, {**self.defaults, **arguments})
                    if end is None:
                        continue
                    gap = sign * (spec.value - end)
                    if gap < 0 or (gap == 0 and limit.is_open):
                        return False
        return True

    def has_documented_axes(self, arguments: Arguments) -> bool:
        """Say whether every array has as many axes as is said of it, where that is said without an ellipsis."""
        return "..." in self.text or not any(
            isinstance(spec, Array) and self.shapes.get(name) and len(spec.shape) not in map(len, self.shapes[name])
            for name, spec in arguments.items()
        )

    def _sizes(self, arguments: Arguments, settings: Mapping[str, Any]) -> dict[str, int] | None:
        """Return the sizes that symbols have; None where one would have two."""
        found: dict[str, int] = {name: value for name, value in settings.items() if type(value) is int}
        for name, shapes in self.shapes.items():
            spec = arguments.get(name)
            if not isinstance(spec, Array):
                continue
            shape = next((item for item in shapes if len(item) == len(spec.shape)), None)
            for symbol, size in zip(shape or (), spec.shape, strict=False):
                if symbol.isidentifier() and found.setdefault(symbol, size) != size:
                    return None
        return found


def read_contract(function: Any, about: str, seen: Sequence[Arguments] = ()) -> Contract:
    """Read what docstrings and `about` say of a function's arguments; `seen` are calls of it."""
    text = f"{inspect.getdoc(function) or ''}\n\n{about}"
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        parameters = {}  # type: ignore[assignment]
    names = list(parameters)
    defaults = {name: Literal(item.default) for name, item in parameters.items() if type(item.default) in (int, float)}
    known = {name: spec.value for call in (defaults, *seen) for name, spec in call.items() if isinstance(spec, Literal)}
    domains = {name: _domain(name, text, names, known.get(name)) for name in names}
    for name in _decided_by_sign(function):
        if name in domains:
            domains[name].both_signs = True
    for call in seen:
        for name, spec in call.items():
            value = spec.value if isinstance(spec, Literal) else None
            if name in domains and isinstance(value, int | float) and value < 0:
                domains[name].both_signs = True
    shapes = {name: shapes_in_docstring(text, name) for name in names}
    shapes = {name: item for name, item in shapes.items() if item}
    return Contract(domains, shapes, bool(_ROWS.search(text)), defaults, text)


def _domain(name: str, text: str, names: Sequence[str], known: Any = None) -> Domain:
    said = _said_of(name, text, names)
    domain = Domain(text=said)
    said = re.split(r",? which\b", _ROWS.sub(" ", said))[0]
    plain = re.sub(r"\(\s*\w+\s*(,[^()]*)?\)", " ", said)  # shapes are no bounds
    for pattern, limits, is_open in (
        (_AT_LEAST, domain.lows, False),
        (_ABOVE, domain.lows, True),
        (_AT_MOST, domain.highs, False),
        (_BELOW, domain.highs, True),
    ):
        limits += [Limit(value, is_open) for match in pattern.finditer(plain) if (value := _value(match[1])) != name]
    for match in _BETWEEN.finditer(plain):
        domain.lows.append(Limit(_value(match[1])))
        domain.highs.append(Limit(_value(match[2])))
    for match in _INTERVAL.finditer(said):
        domain.lows.append(Limit(_value(match[2]), match[1] != "["))
        domain.highs.append(Limit(_value(match[3]), match[4] != "]"))
    for match in _CHAIN.finditer(said):
        if isinstance(_value(match[1]), float):
            domain.lows.append(Limit(_value(match[1]), match[2] == "<"))
            domain.highs.append(Limit(_value(match[4]), match[3] == "<"))
    if _NOT_NEGATIVE.search(plain):
        domain.lows.append(Limit(0.0))
    if _POSITIVE.search(plain):
        domain.lows.append(Limit(0.0, is_open=True))
    could_be = not isinstance(known, int | float) or 0 <= known <= 1
    is_probability = _PROBABLE.search(plain) or (_PROBABILITIES.search(name) and could_be)
    if is_probability and not _LOG_PROBABILITIES.search(name) and not (domain.low() and domain.high()):
        domain.lows.append(Limit(0.0, is_open=True))
        domain.highs.append(Limit(1.0, is_open=True))
    return domain


def _said_of(name: str, text: str, names: Sequence[str]) -> str:
    """Return what a docstring says after it has named an argument, up to the next one that it names."""
    others = "|".join(re.escape(item) for item in names if item != name) or r"(?!)"
    found = []
    for match in re.finditer(rf"(?<![\w.`'\"]){re.escape(name)}(?![\w(])", text):
        after = text[match.end() : match.end() + 300]
        if re.match(rf"(?:\s*,\s*(?:and\s+)?(?:{others}))+\s*[:(]", after):  # `gamma, lam: between 0 and 1`
            after = after[re.match(rf"(?:\s*,\s*(?:and\s+)?(?:{others}))+", after).end() :]  # type: ignore[union-attr]
        elif not re.match(r"\s*[:(]|\s+(?:is|must|should|has|in|of|<|>)|,?\s+which\b", after):
            continue
        after = re.sub(r"^,?\s+which\b", "", after)
        after = re.split(
            rf"\n\s*-?\s*(?:{others}|Returns?\b|Outputs?\b)\s*(?:[:(,]|\n|a )|\n\s*\n|\n\s*Returns?\b", after
        )[0]
        after = re.split(rf"[;.]\s+(?:{others}|Returns?)\b", after)[0]
        found.append(after)
    return "\n".join(found)


def _value(text: str) -> float | str:
    if text in _WORDS:
        return _WORDS[text]
    try:
        return float(text)
    except ValueError:
        return text


def _number(value: float | str, sizes: Mapping[str, int], arguments: Arguments) -> float | None:
    if isinstance(value, float):
        return value
    spec = arguments.get(value)
    if isinstance(spec, Literal) and type(spec.value) in (int, float):
        return float(spec.value)
    return float(sizes[value]) if value in sizes else None


def _decided_by_sign(function: Any) -> Iterator[str]:
    """Yield arguments that are compared with zero to choose what to do, or go through `abs` or a maximum with zero."""
    try:
        tree = syntax_tree(textwrap.dedent(inspect.getsource(inspect.unwrap(function))))
    except (OSError, TypeError, SyntaxError, ValueError):
        return
    refused = {id(node.test) for node in ast.walk(tree) if isinstance(node, ast.If) and _refuses(node.body)}
    refused |= {id(node.test) for node in ast.walk(tree) if isinstance(node, ast.Assert)}
    for node in ast.walk(tree):
        if isinstance(node, ast.If | ast.IfExp | ast.While) and id(node.test) not in refused:
            for item in ast.walk(node.test):
                if isinstance(item, ast.Compare) and any(_is_zero(it) for it in (item.left, *item.comparators)):
                    yield from (it.id for it in (item.left, *item.comparators) if isinstance(it, ast.Name))
        elif isinstance(node, ast.Call):
            called = getattr(node.func, "id", "")
            if called == "abs" or (called in ("max", "min") and any(map(_is_zero, node.args))):
                yield from (it.id for it in node.args if isinstance(it, ast.Name))


def _refuses(body: list[ast.stmt]) -> bool:
    return isinstance(body[-1], ast.Raise)


def _is_zero(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0 and not isinstance(node.value, bool)


def _fit(name: str, array: Array, domain: Domain, sizes: Mapping[str, int], arguments: Arguments) -> Array:
    """Return an array that is drawn as what is said of it."""
    said, lower = domain.text, name.lower()
    if array.draw == INTEGERS or (array.draw in (NORMAL, UNIFORM) and _INTEGER_TEXT.search(said)):
        return _whole(array, domain, sizes, arguments)
    if array.draw not in (NORMAL, UNIFORM):
        return array
    for applies, draw in _KINDS:
        if applies(lower, said, array):
            return replace(array, draw=draw, scale=1.0, dtype=array.dtype if draw != BOOLEANS else "")
    if _PROBABLE.search(said) or _PROBABILITIES.search(lower):
        rows = len(array.shape) and (_SUMS_TO_ONE.search(said) or len(array.shape) > 1)
        return replace(array, draw=SHARES if rows else RANGE, low=0.05, high=0.95, scale=1.0)
    low, high = domain.low(), domain.high()
    if low is None and high is None and _VARIANCES.search(lower) and "log" not in lower:
        return replace(array, draw=RANGE, low=0.5, high=2.0, scale=1.0)
    if low is None and high is None:
        return array
    start = float(low.value) if low else float(high.value) - 2.0  # type: ignore[union-attr]
    stop = float(high.value) if high else start + 2.0
    margin = 0.05 * (stop - start) if high else 0.25
    return replace(
        array,
        draw=RANGE,
        low=round(start + margin, 6),
        high=round(stop - margin if high else stop, 6),
        scale=1.0,
    )


def _whole(array: Array, domain: Domain, sizes: Mapping[str, int], arguments: Arguments) -> Array:
    low, high = array.low if array.draw == INTEGERS else 0, array.high if array.draw == INTEGERS else 2
    ends = [(_number(item.value, sizes, arguments), item.is_open) for item in domain.highs]
    lows = [(_number(item.value, sizes, arguments), item.is_open) for item in domain.lows]
    for end, is_open in ends:
        if end is not None:
            high = int(end) if is_open else int(end) + 1
    for end, is_open in lows:
        if end is not None:
            low = int(end) + 1 if is_open else int(end)
    if not ends and _BINARY_TEXT.search(domain.text):
        low, high = 0, 2
    low = min(low, high - 1)
    dtype = array.dtype if array.draw == INTEGERS else ""
    return replace(array, draw=INTEGERS, low=low, high=high, scale=1.0, dtype=dtype)


def _is_padding(name: str, said: str, array: Array) -> bool:
    words = re.search(r"padding|tokens?\b|lengths?\b|at least one", said)
    return bool("mask" in name and len(array.shape) == 2 and words and _BINARY_TEXT.search(said))


_KINDS: tuple[tuple[Callable[[str, str, Array], bool], str], ...] = (
    (lambda name, said, it: bool(_LOG_PROBABILITIES.search(name)) and len(it.shape) > 1, LOG_SHARES),
    (_is_padding, PREFIX),
    (lambda name, said, it: bool(re.search(r"one[- ]hot", said, re.IGNORECASE)), ONE_HOT),
    (lambda name, said, it: bool(re.search(r"\bbool(ean)?s?\b", said, re.IGNORECASE)), BOOLEANS),
    (lambda name, said, it: bool(_BINARY_TEXT.search(said)), BINARY),
    (lambda name, said, it: "symmetric" in said.lower() and it.shape[-1:] == it.shape[-2:-1], SYMMETRIC),
    (lambda name, said, it: bool(re.search(r"\bsorted\b|ascending|increasing", said)) and len(it.shape) == 1, SORTED),
)
