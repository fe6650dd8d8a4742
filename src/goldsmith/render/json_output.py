"""The same facts for machines: one JSON object per command."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from goldsmith.errors.base import GoldsmithError

SCHEMA = 1


def report(
    command: str, ok: bool, subjects: str, items: Sequence[Any], error: GoldsmithError | None = None, **more: Any
) -> str:
    """`items` become the list called `subjects`; each is a struct with at least `name` and `outcome`. What there is to
    say besides has names of its own."""
    body: dict[str, Any] = {
        "schema": SCHEMA,
        "command": command,
        "ok": ok,
        **msgspec.to_builtins(more),
        subjects: msgspec.to_builtins(items),
    }
    body["error"] = {"kind": error.kind, "message": str(error)} if error else None
    return msgspec.json.format(msgspec.json.encode(_readable(body)), indent=2).decode()


def _readable(value: Any) -> Any:
    """Names of files may hold bytes that are no text."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_readable(key): _readable(item) for key, item in value.items()}
    return [_readable(item) for item in value] if isinstance(value, list) else value
