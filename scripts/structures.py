"""Structures of the code as tables for people: their fields, types in plain words, and the text under each field."""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import pkgutil
import textwrap
import types
from collections.abc import Iterator
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

import goldsmith.errors
from goldsmith.errors.base import GoldsmithError, UsageError

Struct = type[msgspec.Struct]
_WORDS: dict[Any, str] = {str: "text", int: "whole number", float: "number", bool: "true or false", Any: "anything"}


@functools.cache
def every_error() -> tuple[type[GoldsmithError], ...]:
    """List every kind of error that people can see, by name."""
    for item in pkgutil.iter_modules(goldsmith.errors.__path__):
        importlib.import_module(f"goldsmith.errors.{item.name}")
    return tuple(sorted(set(_subclasses(GoldsmithError)) - {UsageError}, key=lambda kind: kind.__name__))


def _subclasses(kind: type[GoldsmithError]) -> Iterator[type[GoldsmithError]]:
    for item in kind.__subclasses__():
        yield item
        yield from _subclasses(item)


@functools.cache
def texts_of(kind: Struct) -> dict[str, str]:
    """The string under each field, where it is written, those of its bases included."""
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        if not (isinstance(base, type) and issubclass(base, msgspec.Struct)) or base is msgspec.Struct:
            continue
        (written,) = ast.parse(textwrap.dedent(inspect.getsource(base))).body
        assert isinstance(written, ast.ClassDef)
        for field, below in zip(written.body, written.body[1:], strict=False):
            is_text = isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and is_text:
                found[field.target.id] = " ".join(str(below.value.value).split())  # type: ignore[attr-defined]
    missing = [field for field in kind.__struct_fields__ if field not in found]
    if missing:
        raise SystemExit(f"{kind.__module__}.{kind.__name__}: say in a string under it what {missing[0]} is.")
    return found


def fields_of(kind: Struct) -> Iterator[tuple[str, Any, str, msgspec.structs.FieldInfo]]:
    """Each field by its name outside, with its type and its text."""
    hints = get_type_hints(kind)
    for info in msgspec.structs.fields(kind):
        yield info.encode_name, hints[info.name], texts_of(kind)[info.name], info


def in_words(kind: Any, link: str = "#{}") -> str:
    """A type as people say it; a structure as a link to its section."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Literal:
        return " or ".join(f"`{item}`" if item else "nothing" for item in inner)
    if origin in (Union, types.UnionType):
        kinds = [item for item in inner if item is not msgspec.UnsetType]
        return " or ".join("null" if item is type(None) else in_words(item, link) for item in kinds)
    if origin is tuple and inner[-1] is Ellipsis:
        return f"list of {_several(in_words(inner[0], link))}"
    if origin is tuple and len(inner) == 2 and inner[0] == inner[1]:
        return f"pairs of {_several(in_words(inner[0], link))}"
    if origin is dict:
        return f"table of {_several(in_words(inner[1], link))}"
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return f"[{kind.__name__}]({link.format(kind.__name__.lower())})"
    return _WORDS[kind]


def _several(words: str) -> str:
    return {"whole number": "whole numbers", "number": "numbers", "text": "texts"}.get(words, words)


def structures_in(kind: Any) -> Iterator[Struct]:
    """The structures that a type speaks of, each before those that it speaks of in turn."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        yield kind
        for _, inner, _, _ in fields_of(kind):
            yield from structures_in(inner)
    for inner in get_args(kind):
        yield from structures_in(inner)


def table(kind: Struct) -> list[str]:
    """A row for each field."""
    rows = ["| field | type | meaning |", "|---|---|---|"]
    left_out = kind.__struct_config__.omit_defaults
    for name, inner, text, info in fields_of(kind):
        optional = (left_out and not info.required) or info.default is msgspec.UNSET
        rows.append(f"| `{name}` | {in_words(inner)}{'; may be left out' if optional else ''} | {text} |")
    return rows


def sections(roots: list[Any], level: str) -> list[str]:
    """A section for each structure that `roots` speak of, under its name, once."""
    lines: list[str] = []
    for kind in dict.fromkeys(item for root in roots for item in structures_in(root)):
        lines += [f"{level} {kind.__name__}", "", _first_sentence(kind), "", *table(kind), ""]
    return lines


def _first_sentence(kind: Struct) -> str:
    """What the structure is, from its docstring; more than the first sentence is about fields."""
    text = " ".join((kind.__dict__.get("__doc__") or "").split())
    if not text:
        raise SystemExit(f"{kind.__module__}.{kind.__name__}: say in its docstring what it is.")
    return f"{text.split('. ')[0].rstrip('.')}."
