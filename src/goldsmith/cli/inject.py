"""`goldsmith inject`: the solution in the starter's place, with a journal."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from goldsmith.cli.options import (
    CourseOption,
    DebugOption,
    JsonOption,
    NoColorOption,
    at_a_terminal,
    choose_one,
    locked,
    open_course,
    report_errors,
)

EXAMPLES = """
Nothing is lost: what was there before, uncommitted edits too, is kept and comes back with `goldsmith reset`.

Examples:

    goldsmith inject              choose from a menu
    goldsmith inject scratch-1    then `goldsmith reset scratch-1` takes it away again

Exit codes: 0 injected (now or already), 2 bad usage, 3 could not: then everything is as it was.
"""


def inject(
    assignment: Annotated[str | None, typer.Argument(metavar="A", help="The assignment; without, a menu.")] = None,
    course: CourseOption = Path("."),
    json: JsonOption = False,
    no_color: NoColorOption = False,
    debug: DebugOption = False,
) -> None:
    with report_errors("inject", as_json=json, debug=debug):
        from goldsmith.course.solutions import placements
        from goldsmith.injection.inject import edited_since
        from goldsmith.injection.inject import inject as put_in_place

        found = open_course(course)
        ask = at_a_terminal() and not json
        chosen = choose_one(found, assignment, "inject", ask=ask, no_color=no_color)
        with locked(found, f"inject {chosen.name}"):
            done = put_in_place(chosen, placements(chosen))
        item = {
            "name": chosen.name,
            "outcome": "injected",
            "already": done.already,
            "since": done.journal.since,
            "files": [
                {"path": change.path, "from": change.source, "was": "there" if change.before else "missing"}
                for change in done.journal.changes
            ],
            "uncommitted": list(done.uncommitted),
            "edited": [change.path for change in edited_since(found, done.journal)] if done.already else [],
        }
        if json:
            from goldsmith.render.json_output import report

            print(report("inject", True, "assignments", [item]))
            return
        _show(item)


inject.__doc__ = f"Put the solution's files over the starter's, in place.\n{EXAMPLES}"


def _show(item: dict[str, Any]) -> None:
    if item["already"]:
        print(f"{item['name']} is injected already, since {item['since']}; nothing was done.")
        for path in item["edited"]:
            print(f"  edited since: {path}")
        return
    for file in item["files"]:
        if file["from"] is None:
            print(f"  removed  {file['path']}")
        else:
            print(f"  {'over   ' if file['was'] == 'there' else 'added  '}  {file['path']}  from {file['from']}")
    if item["uncommitted"]:
        print(f"Kept safe, although not committed: {', '.join(item['uncommitted'])}")
    print(f"{item['name']}: the solution is in place. Take it away with `goldsmith reset {item['name']}`.")
