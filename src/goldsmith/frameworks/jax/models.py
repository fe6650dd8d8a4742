"""Models of JAX."""

from __future__ import annotations

TYPES: tuple[type, ...] = ()
OPTIMISERS: tuple[type, ...] = ()
