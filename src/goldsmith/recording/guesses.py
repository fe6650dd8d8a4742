"""Guesses for a model nobody has described: constructor arguments and inputs, as values and as source text."""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import re
import typing
from collections.abc import Iterator
from typing import Any

_BATCH, _LENGTH = 5, 11  # sizes that coincide with no other: a coincidence can hide a bug

_SETTINGS: tuple[tuple[str, Any], ...] = (
    (r"drop", 0.0),
    (r"vocab", 256),
    (r"heads?$|^n_?heads?", 4),
    (r"layers?$|depth|blocks?$", 2),
    (r"max.*len|seq.*len|context|block_size|max_pos", 32),
    (r"(ff|feed|hidden|mlp|inner|inter).*(dim|size|width|features)?$", 128),
    (r"channels?$|^in_ch|chans?$", 3),
    (r"(image|img)_?size|resolution", 32),
    (r"patch", 8),
    (r"classes|tags|labels", 10),
    (r"chunk|horizon", 8),
    (r"action|act_", 6),
    (r"eps", 1e-5),
    (r"^out", 7),
    (r"dim|width|model|embed|size|features", 64),
)


def guess_settings(factory: Any) -> dict[str, Any]:
    """A value for every constructor argument that needs one, and no dropout."""
    settings: dict[str, Any] = {}
    hints = typing.get_type_hints(factory.__init__)
    for name, parameter in inspect.signature(factory).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if parameter.default is parameter.empty:
            settings[name] = _guess(name, hints.get(name))
        elif "drop" in name and parameter.default:
            settings[name] = 0.0
    return settings


def _guess(name: str, hint: Any) -> Any:
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return _filled(hint)
    if hint is bool:
        return False
    for pattern, value in _SETTINGS:
        if re.search(pattern, name.lower()):
            return value
    return 0.1 if hint is float else 16


def _filled(config: Any) -> Any:
    """A configuration object: its own defaults, guesses for the rest, no dropout."""
    hints = typing.get_type_hints(config)
    values: dict[str, Any] = {}
    for field in dataclasses.fields(config):
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            values[field.name] = _guess(field.name, hints.get(field.name))
        elif "drop" in field.name and field.default:
            values[field.name] = 0.0
    return config(**values)


def as_source(value: Any) -> str:
    """A setting as it is written in a recipe; of a configuration object only what is not its default."""
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return repr(value)
    given = [
        f"{field.name}={getattr(value, field.name)!r}"
        for field in dataclasses.fields(value)
        if field.default_factory is dataclasses.MISSING and getattr(value, field.name) != field.default
    ]
    return f"{type(value).__name__}({', '.join(given)})"


def guess_inputs(factory: Any, model: Any, settings: dict[str, Any]) -> Iterator[dict[str, str]]:
    """Sets of inputs for `forward`, as source text, the likeliest first."""
    parameters = list(inspect.signature(factory.forward).parameters.items())[1:]
    required = [
        name
        for name, parameter in parameters
        if parameter.default is parameter.empty
        and parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    if not required:
        return
    for choice in itertools.product(*(_sources(name, model, settings) for name in required)):
        yield dict(zip(required, choice, strict=True))


def _sources(name: str, model: Any, settings: dict[str, Any]) -> list[str]:
    flat = _flat(settings)
    sizes = _widths(model, flat)
    vocabulary = next((value for key, value in flat.items() if "vocab" in key), 16)
    tokens = f"torch.randint(0, {vocabulary}, ({_BATCH}, {_LENGTH}))"
    images = _images(model, flat)
    sequences = [f"torch.randn({_BATCH}, {_LENGTH}, {size})" for size in sizes]
    vectors = [f"torch.randn({_BATCH}, {size})" for size in sizes]
    grids = [f"torch.randn({_BATCH}, {one}, {two})" for one, two in itertools.permutations(sizes, 2)]
    if re.search(r"token|ids?$|^idx|indices|target|label", name):
        return [tokens]
    if re.search(r"image|img|pixel|frame", name):
        return [*images, *sequences]
    if re.fullmatch(r"t|time|timesteps?|tau", name):
        return [f"torch.rand({_BATCH})", f"torch.rand({_BATCH}, 1)"]
    own = [f"torch.randn({_BATCH}, {size})" for key, size in flat.items() if name.startswith(key.partition("_")[0])]
    return list(dict.fromkeys([*own, *sequences, *vectors, tokens, *images, *grids]))


def _images(model: Any, settings: dict[str, Any]) -> list[str]:
    """Images in the channels the first convolution wants, in the sizes that courses use."""
    wanted = [part.in_channels for part in model.modules() if hasattr(part, "in_channels")][:1]
    named = [value for key, value in settings.items() if "chan" in key]
    sides = [value for key, value in settings.items() if re.search("(image|img)_?size|resolution", key)]
    return [
        f"torch.randn({_BATCH}, {channels}, {side}, {side})"
        for side in dict.fromkeys([*sides, 32, 28, 64, 224])
        for channels in dict.fromkeys([*wanted, *named, 3, 1])
    ]


def _widths(model: Any, settings: dict[str, Any]) -> list[int]:
    """Widths an input may have: what is called so, then what the model's linear layers take."""
    sizes = {key: value for key, value in settings.items() if type(value) is int}
    named = [value for key, value in sizes.items() if re.search(r"^in_|dim|width|d_model|embed|features", key)]
    layers = [part.in_features for part in model.modules() if hasattr(part, "in_features")][:3]
    return list(dict.fromkeys([*named, *layers, *sizes.values(), 64]))


def _flat(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings with the fields of configuration objects among them."""
    found: dict[str, Any] = {}
    for key, value in settings.items():
        found.update(vars(value) if dataclasses.is_dataclass(value) else {key: value})
    return found
