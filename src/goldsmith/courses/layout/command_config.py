"""Settings of single commands, which are parts of a course's configuration."""

from __future__ import annotations

import msgspec


class HandoutConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Settings of `goldsmith handout`: what the kit of an assignment has."""

    recipe: bool = False
    """Whether students may have the recipe although it is next to the solution."""
    max_bytes: int = 200_000
    """How large the kit may be; cases for which there is no room are left out."""
    leave_out: tuple[str, ...] = ()
    """Cases that are not handed out."""


class GradeConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Settings of `goldsmith grade`: what its sandbox lets in."""

    loopback: bool = False
    """Whether a recipe and what it calls may use sockets, as `torch.distributed` does: each process in a network of its
    own, in which nobody else is. Grading is refused where that cannot be had."""


class GuardConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Settings of `goldsmith guard`: what counts as a leak, what else is private, what may be seen."""

    threshold: float = 0.6
    """How much of a solution's part makes a leak: a share above 0, at most 1."""
    private: tuple[str, ...] = ()
    """More folders that are not for students."""
    allow: dict[str, str] = {}
    """Files, or `file:part`, that are meant to be seen, each with its reason."""


class RigorConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Settings of `goldsmith rigor`: a file with the course's own mutation operators."""

    operators: str = ""
    """A Python file in the course with mutation operators of its own."""
