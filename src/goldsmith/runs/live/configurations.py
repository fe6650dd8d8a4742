"""What a live implementation was built with, as far as it kept it: the entries of a configuration, and the arguments of
constructors. Only attributes are read; values that are no numbers, texts or switches are left out."""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import functools
import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from goldsmith.frameworks.framework import models_of
from goldsmith.frameworks.protocols import Models
from goldsmith.runs.implementation import Described

_HOLDERS = ("config", "cfg", "conf", "args", "hparams", "hyperparameters", "options", "opts", "settings")
"""Names under which models keep a configuration."""
_SAYS_NOTHING = {"name", "model_type", "architectures", "transformers_version", "dtype", "torch_dtype", "device"}
"""What is another in right models, too, or is told elsewhere."""
_MAX_ENTRIES, _MAX_ITEMS, _MAX_CHARS, _MAX_DEPTH = 500, 16, 60, 3
_MAX_WHOLE = 2**53
"""Up to where a whole number is the same as an int and as a float."""


def built_with_of(target: Any) -> Described:
    """Return what a model or function keeps of what it was built with."""
    models = models_of(target)
    root = models.modules(target)[""] if models is not None else target
    config: dict[str, str] = {}
    for holder in _HOLDERS:
        config |= {name: text for name, text in _entries(_read(root, holder)) if name not in config}
    return Described(
        name=type(root).__name__,
        config=dict(list(config.items())[:_MAX_ENTRIES]),
        arguments=dict(list(_arguments(target, root, models).items())[:_MAX_ENTRIES]),
    )


def _arguments(target: Any, root: Any, models: Models | None) -> dict[str, str]:
    """Return the arguments that a model and its own modules were made with, where they keep them under their names; of
    modules, what is the same in all of them."""
    if isinstance(target, functools.partial):
        return {name: text for name, value in target.keywords.items() if (text := _shown(value)) is not None}
    found: dict[str, set[str]] = {}
    for item in models.modules(target).values() if models is not None else ():
        if models is not None and not models.is_library_class(type(item)):
            for name, text in _made_with(item).items():
                found.setdefault(name, set()).add(text)
    return {name: texts.pop() for name, texts in found.items() if len(texts) == 1} | _made_with(root)


def _made_with(item: Any) -> dict[str, str]:
    """Return the arguments of an object's constructor that it keeps as attributes."""
    shown = ((name, _shown(_read(item, name))) for name in _parameters(item.__class__))
    return {name: text for name, text in shown if text is not None}


@functools.lru_cache(maxsize=1000)  # a model has thousands of modules, of a few classes
def _parameters(kind: type) -> tuple[str, ...]:
    try:
        return tuple(name for name in inspect.signature(kind).parameters if name not in _SAYS_NOTHING)
    except Exception:  # what the user's own class makes of it
        return ()


def _read(item: Any, name: str) -> Any:
    """Return an attribute; None where it is not there, or fails, which a property of the user's own may do."""
    try:
        return getattr(item, name, None)
    except Exception:
        return None


def _entries(config: Any, prefix: str = "", around: tuple[Any, ...] = ()) -> Iterator[tuple[str, str]]:
    items: list[tuple[Any, Any]] = []
    with contextlib.suppress(Exception):  # an object of the user's own
        items = list(itertools.islice(_items(config).items(), _MAX_ENTRIES))
    for name, value in items:
        if not isinstance(name, str) or name.startswith("_") or name in _SAYS_NOTHING:
            continue
        text = _shown(value)
        if text is not None:
            yield f"{prefix}{name}", text
        elif len(around) < _MAX_DEPTH and not any(value is item for item in (config, *around)):
            yield from _entries(value, f"{prefix}{name}.", (config, *around))


def _items(config: Any) -> Mapping[Any, Any]:
    """Return what a configuration holds: a dict, a dataclass, or an object with plain attributes."""
    if config is None or isinstance(config, type) or _is_code(config):
        return {}
    if isinstance(config, Mapping):
        return config
    if dataclasses.is_dataclass(config):
        return {field.name: _read(config, field.name) for field in dataclasses.fields(config)}
    if isinstance(config, tuple) and hasattr(config, "_fields"):
        return dict(zip(config._fields, config, strict=True))
    if models_of(config) is not None or hasattr(config, "__array__") or isinstance(config, list | tuple | set):
        return {}
    fields = getattr(type(config), "__struct_fields__", None)
    if fields is not None:
        return {name: _read(config, name) for name in fields}
    held = getattr(config, "__dict__", None)
    if held:
        return dict(held)
    as_dict: Callable[[], Any] | None = _read(config, "to_dict")
    found = as_dict() if callable(as_dict) else None
    return found if isinstance(found, Mapping) else {}


def _is_code(value: Any) -> bool:
    return inspect.isroutine(value) or inspect.ismodule(value)


def _shown(value: Any) -> str | None:
    """Return a plain value as text, the same for the same number; None for any other."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, enum.Enum):
        return value.name
    if value is None or isinstance(value, bool):
        return None if value is None else str(value)
    if type(value) is int and abs(value) >= _MAX_WHOLE:
        return hex(value) if value.bit_length() < 4 * _MAX_CHARS else None
    if type(value) in (int, float):
        return str(int(value)) if abs(value) < _MAX_WHOLE and value == int(value) else repr(value)
    if isinstance(value, str):
        return value if len(value) <= _MAX_CHARS else f"{value[: _MAX_CHARS - 1]}…"
    if isinstance(value, type) or inspect.isroutine(value):
        return str(getattr(value, "__name__", ""))
    if type(value) in (list, tuple) and len(value) <= _MAX_ITEMS:
        items = [_shown(item) for item in value]
        return f"({', '.join(map(str, items))})" if None not in items else None
    return None
