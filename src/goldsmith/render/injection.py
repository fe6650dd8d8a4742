"""Show what `inject` and `reset` did, and what was edited in an injected solution."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from rich.console import Console

from goldsmith.courses.injection.results import InjectionResult, ResetResult
from goldsmith.courses.layout.journal import Change
from goldsmith.courses.layout.layout import Course
from goldsmith.foundation.log_injection import say
from goldsmith.foundation.wording import count_of
from goldsmith.render.console import print_difference

_MAX_DIFF_LINES = 60


def show_injection(done: InjectionResult) -> None:
    """Print each file that the solution put in place, and how to take it away again."""
    if done.already:
        say(f"{done.name} is injected already, since {done.since}; nothing was done.")
        for path in done.edited:
            say(f"  edited since: {path}")
        return
    for file in done.files:
        if file.source is None:
            say(f"  removed  {file.path}")
        else:
            say(f"  {'over   ' if file.was == 'there' else 'added  '}  {file.path}  from {file.source}")
    if done.uncommitted:
        say(f"Backed up, since not committed: {', '.join(done.uncommitted)}")
    say(f"{done.name}: the solution is in place. Take it out with `goldsmith reset {done.name}`.")


def show_resets(resets: Sequence[ResetResult]) -> None:
    """Print what is as it was before, and where edits went."""
    for item in resets:
        if item.outcome == "unchanged":
            say(f"{item.name} is not injected; nothing to do.")
            continue
        for path in item.kept:
            say(f"  edits are in {path}")
        count = count_of(len(item.files), "file")
        say(f"{item.name}: {count} as before the injection, byte for byte (checked).")
    if not resets:
        say("Nothing is injected.")


def show_edits(console: Console, course: Course, edited: Sequence[Change]) -> None:
    """Show edited files as a difference, each of bounded length."""
    for change in edited:
        print_difference(console, _difference(course, change), _MAX_DIFF_LINES)


def _difference(course: Course, change: Change) -> Sequence[str]:
    """Compare with the solution as it is in its own folder."""
    target = course.root / change.path
    source = course.root / change.source if change.source else None
    if not target.is_file():
        return [f"{change.path} is no longer a file"]
    one = source.read_text(errors="replace").splitlines() if source is not None and source.is_file() else []
    two = target.read_text(errors="replace").splitlines()
    return list(difflib.unified_diff(one, two, change.source or "nothing", change.path, lineterm=""))
