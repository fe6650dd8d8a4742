"""What a run of the nine steps can be told."""

from __future__ import annotations

import msgspec


class Options(msgspec.Struct, frozen=True, kw_only=True):
    seed: int
    threads: int
    timeout: float
    device: str = "cpu"
    kind: str | None = None
    allow_large: bool = False
    force: bool = False
