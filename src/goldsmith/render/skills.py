"""Show skills on a terminal: a line for each file, edited files as a difference, the next step last."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from goldsmith.courses.skills.install import Installed, SkillResult
from goldsmith.courses.skills.installed_state import CURRENT, EDITED, EDITED_OUTDATED, FOREIGN, MISSING, OUTDATED
from goldsmith.render.console import print_difference, print_line, print_table

_MAX_DIFF_LINES = 40
_SAID = {
    "written": "written",
    "updated": "brought up to date",
    "replaced": "replaced",
    "unchanged": "up to date",
    CURRENT: "up to date",
    MISSING: "missing",
    OUTDATED: "out of date",
    EDITED: "edited by you, otherwise up to date",
    EDITED_OUTDATED: "edited by you, and out of date",
    FOREIGN: "not goldsmith's",
}
_COLOURS = {
    "written": "green",
    "updated": "green",
    "replaced": "yellow",
    MISSING: "red",
    OUTDATED: "red",
    EDITED_OUTDATED: "yellow",
    FOREIGN: "yellow",
    EDITED: "cyan",
}


def show_skills(console: Console, results: Sequence[SkillResult]) -> None:
    files = [file for result in results for file in result.files]
    states = [file.found if file.outcome == "kept" else file.outcome for file in files]
    rows = [
        (f"  {file.name}", Text(_words(file), _COLOURS.get(state, "")))
        for file, state in zip(files, states, strict=True)
    ]
    print_table(console, (), rows)
    for file in files:
        if file.difference:
            print_line(console)
            print_difference(console, file.difference, _MAX_DIFF_LINES, indent="  ")
    print_line(console)
    print_line(
        console,
        Text(_last_line(results), "bold red" if any(item.behind for item in results) else "bold green"),
        keep=True,
    )


def _words(file: Installed) -> str:
    if file.outcome == "kept":
        return f"kept as it is: {_SAID[file.found]}"
    if file.outcome == "replaced":
        return f"replaced; yours is kept as {file.copy}"
    since = f" (written by goldsmith {file.version})" if file.outcome in (OUTDATED, EDITED_OUTDATED) else ""
    return f"{_SAID[file.outcome]}{since}"


def _last_line(results: Sequence[SkillResult]) -> str:
    behind = [item.name for item in results if item.behind]
    if not behind:
        names = ", ".join(f"/{item.name}" for item in results)
        return f"The skills are up to date. In your coding agent: {names}."
    names = ", ".join(behind)
    verb = "is" if len(behind) == 1 else "are"
    files = [file for item in results if item.behind for file in item.files]
    theirs = [file for file in files if file.found in (EDITED_OUTDATED, FOREIGN)]
    if any(file.outcome == "kept" for file in theirs):
        return (
            f"{names} {verb} not up to date: edits are never overwritten. Merge what you want of the difference by "
            "hand, or run `goldsmith skills install --force`, which keeps yours next to the new one."
        )
    force = " (edited ones need --force, which keeps yours next to them)" if theirs else ""
    return f"{names} {verb} not up to date; run `goldsmith skills install`{force}."
