"""Read shapes as courses write them: `x: (batch, seq, dim)`, `x (N, D)`, `Float[Tensor, "batch d_model"]`.

Each symbol gets a different size, so that no two axes have the same length: that could hide a wrong axis.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

Shape = tuple[str, ...]

_SIZES: tuple[tuple[str, int], ...] = (
    (r"b|bs|n|batch(_?size)?|num_samples|n_samples|samples|examples|num_examples|count", 5),
    (r"(num_?|n_?)?heads?|h", 3),
    (r"d_head|head_dim|d_k|d_v|dk|dv", 8),
    (r"vocab(ulary)?(_size)?|v", 61),
    (r"s|l|t|seq(uence)?(_?len(gth)?)?|length|time|steps|queries|tokens|len|n_q", 11),
    (r"keys|n_k|context|source", 13),
    (
        r"d|dim|d_model|embed(ding)?(_?dim)?|(n_|num_)?features?|width|d_in|in_dim|in_features|input(_?(dim|size))?|emb|e",
        24,
    ),
    (r"d_ff|hidden(_?(dim|size))?|ff(_?hidden)?(_?dim)?|hid", 40),
    (r"c|k|classes|num_classes|n_classes|labels", 10),
    (r"m|out|d_out|out_dim|out_features|output(_?(dim|size))?|o", 7),
    (r"channels?|in_channels|ch", 3),
    (r"height|hh?", 12),
    (r"ww?", 16),
)
_POOL = (9, 14, 17, 19, 23, 29)
_WORD = r"[A-Za-z_]\w*"
_AXIS = rf"(?:{_WORD}|\d+(?:{_WORD})?)(?:\s*(?:\*\*|//|[-+*/])\s*(?:{_WORD}|\d+(?:{_WORD})?))*"
_SHAPE = re.compile(rf"[(\[]\s*(?:\.\.\.\s*,\s*)?({_AXIS}(?:\s*,\s*{_AXIS})*)?\s*,?\s*[)\]]")


class Sizes:
    """A size for every symbol; `known` sizes are those that an object was built with. With `by_meaning`, a symbol has
    the size of the one that means the same: that of `embed_dim` for `E`."""

    def __init__(self, known: Mapping[str, Any] | None = None, *, by_meaning: bool = False) -> None:
        self._known = {key.lower(): value for key, value in (known or {}).items() if type(value) is int}
        self._given: dict[str, int] = {}
        self._by_meaning = by_meaning

    def of(self, symbol: str) -> int:
        symbol = symbol.lower()
        if symbol in self._known:
            return self._known[symbol]
        if symbol not in self._given:
            taken = {*self._given.values(), *self._known.values()}
            pattern, usual = next((item for item in _SIZES if re.fullmatch(item[0], symbol)), ("", 0))
            free = (size for size in (usual, *_POOL) if size and size not in taken)
            same = {size for name, size in self._known.items() if pattern and re.fullmatch(pattern, name)}
            is_known = self._by_meaning and len(same) == 1 and not same & {*self._given.values()}
            self._given[symbol] = same.pop() if is_known else next(free, 31 + len(self._given))
        return self._given[symbol]

    def like(self, symbol: str) -> int:
        """Return the size of a symbol with the same meaning, if one has a size already."""
        pattern = next((pattern for pattern, _ in _SIZES if re.fullmatch(pattern, symbol)), symbol)
        same = [size for other, size in self._given.items() if re.fullmatch(pattern, other)]
        return same[0] if same else self.of(symbol)

    def shape(self, shape: Shape) -> tuple[int, ...] | None:
        """Return the sizes of the axes; None where an axis is not an expression of symbols."""
        found = []
        for axis in shape:
            names = set(re.findall(r"[A-Za-z_]\w*", axis))
            try:
                size = int(eval(axis, {"__builtins__": {}}, {name: self.of(name) for name in names}))
            except Exception:
                return None
            if not 0 < size < 4096:
                return None
            found.append(size)
        return tuple(found)


def shapes_in_docstring(text: str, name: str) -> list[Shape]:
    """Return the shapes that a docstring gives for the argument `name`, the likeliest first."""
    found: list[Shape] = []
    for match in re.finditer(rf"(?<![\w.]){re.escape(name)}(?![\w(])", text):
        after = text[match.end() : match.end() + 160]
        before = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
        if before.count("(") > before.count(")") and re.match(r"\s*[,)=]", after):
            continue  # an item of a call or of another's shape
        after = re.split(rf"\n\s*(?:\w+\s*[:(]|Returns?\b|- {_WORD})|;|\.\s", after)[0]
        shape = next(_shapes(after), None)
        if shape is not None and shape not in found:
            found.append(shape)
    return found


def only_shape(text: str) -> list[Shape]:
    """Return the first shape in a docstring before it describes the result: that of the only argument."""
    return list(_shapes(re.split(r"\breturns?\b|->|→", text, flags=re.IGNORECASE)[0]))[:1]


def _shapes(text: str) -> Iterator[Shape]:
    for match in _SHAPE.finditer(text):
        axes = match.group(1)
        if axes is None:
            continue
        parts = [re.sub(r"\b(\d+)(?=[A-Za-z_])", r"\1*", re.sub(r"\s+", "", part)) for part in axes.split(",")]
        words = [part for part in parts if not part.isdigit()]
        if all(re.fullmatch(rf"{_WORD}|.*[-+*/].*|\d+", part) for part in parts) and _are_axes(words, match, text):
            yield tuple(parts)


def _are_axes(words: list[str], match: re.Match[str], text: str) -> bool:
    """Say whether words in brackets are a shape, unlike `(optional)` or `(see below)`.

    A single word is one if a comma follows it or if it is a usual symbol.
    """
    if len(words) == 1 and "," not in match.group(0):
        return any(re.fullmatch(pattern, words[0].lower()) for pattern, _ in _SIZES)
    return bool(words) or "shape" in text[: match.start()].lower()


def annotated_shape(hint: Any) -> tuple[str, Shape] | None:
    """Return the kind of dtype and the axes of a jaxtyping annotation, an object or text; `...` stands for a batch."""
    text = hint if isinstance(hint, str) else ""
    dims = getattr(hint, "dim_str", None)
    if isinstance(dims, str):
        word = type(hint).__name__ if not isinstance(hint, type) else hint.__name__
    else:
        match = re.match(
            r"(?:\w+\.)?(Float\w*|Int\w*|Bool|UInt\w*|Shaped|Num|Real|Inexact)\[[^,\]]*,\s*['\"]([^'\"]*)['\"]", text
        )
        if match is None:
            return None
        word, dims = match.group(1), match.group(2)
    axes: list[str] = []
    for part in dims.split():
        part = part.lstrip("#*").partition("=")[2] or part.lstrip("#*")
        axes += ["batch", "length"] if part == "..." and not axes else [] if part in ("...", "_") else [part]
    kind = "int" if word.startswith(("Int", "UInt")) else "bool" if word.startswith("Bool") else "float"
    return kind, tuple(axes)
