"""Show what students can see and must not: each leak, and what to do about them last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

import msgspec
from rich.console import Console
from rich.text import Text

from goldsmith.courses.guard.leaks import Finding
from goldsmith.courses.guard.scan import Unseen
from goldsmith.foundation.wording import count_of
from goldsmith.render.console import print_line

_MAX_UNSEEN = 20


class GuardSummary(msgspec.Struct, frozen=True, kw_only=True):
    """What `guard` says besides its findings."""

    not_looked_into: tuple[Unseen, ...]
    """Files, or files in files, that could not be looked into, each with the reason; they may hold anything."""


class Leak(Finding, frozen=True, kw_only=True):
    """Something that students must not see, and where."""

    json_first: ClassVar[tuple[str, ...]] = ("name", "outcome")

    name: str
    """The file, once more."""
    outcome: Literal["leak"] = "leak"
    """Always `leak`."""


def leaks_from(findings: Sequence[Finding]) -> list[Leak]:
    """Give findings the name and outcome that items of JSON output have."""
    return [Leak(name=item.file, **msgspec.structs.asdict(item)) for item in findings]


def show_leaks(
    console: Console, leaks: Sequence[Leak], unseen: Sequence[Unseen], where: str, parts_sought: int
) -> None:
    """Show each leak with its file, lines and reason; what could not be looked into; if there are no leaks, how many
    parts of solutions were searched for."""
    for leak in leaks:
        lines = f":{leak.first}" if leak.first else ""
        lines += f"-{leak.last}" if leak.last != leak.first else ""
        past = f", since commit {leak.commit}" if leak.commit else ""
        print_line(console, Text(f"{leak.kind:9}", "red"), f" {leak.file}{lines}{past}", keep=True)
        print_line(console, " " * 10, leak.why)
    for item in unseen[:_MAX_UNSEEN]:
        print_line(console, Text("Not looked into: ", "yellow"), f"{item.file} ({item.why})")
    if len(unseen) > _MAX_UNSEEN:
        print_line(console, f"and {len(unseen) - _MAX_UNSEEN} more files that were not looked into, which --json lists")
    if leaks:
        count = count_of(len(leaks), "finding")
        text = f"{count} in {where}: remove each, or allow it with a reason in [guard] of goldsmith.toml."
        print_line(console)
        print_line(console, Text(text, "bold red"))
    else:
        parts = f"{count_of(parts_sought, 'part')} of solutions"
        text = f"Nothing found in {where}: searched for {parts}."
        print_line(console, Text(text, "bold green"))
