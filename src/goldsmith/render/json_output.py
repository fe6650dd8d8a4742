"""Encode what a command found as one JSON object: the structs that it returned, in an envelope that all commands share.

Field names, their order and their meaning are those of the structs; the reference is generated from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from goldsmith.errors.base import GoldsmithError

SCHEMA = 1


class Error(msgspec.Struct, frozen=True):
    """What kept a command from finishing."""

    kind: str
    """A stable word for it; see the [exit codes](exit-codes.md)."""
    message: str
    """The sentence that people get."""


class Envelope(msgspec.Struct, frozen=True, kw_only=True):
    """What every command's object has."""

    schema: int = SCHEMA
    """The version of this form: 1."""
    command: str
    """The command, such as `check`."""
    ok: bool
    """Whether all is well: `false` wherever the exit code is not 0, except in `diff` and `grade`, which have done what
    they were asked for."""
    error: Error | None = None
    """What kept the command from finishing; null where nothing did."""


def encode_report(
    command: str,
    subjects: str,
    items: Sequence[msgspec.Struct],
    *,
    ok: bool,
    error: GoldsmithError | None = None,
    more: msgspec.Struct | None = None,
) -> str:
    """Encode `items` as the list called `subjects`, after the fields of `more`, and the error last."""
    problem = Error(error.kind, str(error)) if error else None
    body: dict[str, Any] = msgspec.to_builtins(Envelope(command=command, ok=ok, error=problem))
    last = body.pop("error")
    body |= {} if more is None else msgspec.to_builtins(more)
    body |= {subjects: [_fields(item) for item in items], "error": last}
    return msgspec.json.format(msgspec.json.encode(_readable(body)), indent=2).decode()


def _fields(item: Any) -> dict[str, Any]:
    """Convert an item. A `plain` method handles numbers that JSON cannot hold; `json_first` names fields that a struct
    adds to those of its base but that come first."""
    found: dict[str, Any] = item.plain() if hasattr(item, "plain") else msgspec.to_builtins(item)
    return {name: found[name] for name in getattr(item, "json_first", ())} | found


def _readable(value: Any) -> Any:
    """Replace bytes that are not text, which file names may hold."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_readable(key): _readable(item) for key, item in value.items()}
    return [_readable(item) for item in value] if isinstance(value, list) else value
