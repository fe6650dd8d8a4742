"""`goldsmith reset`: everything as it was before `inject`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from goldsmith.cli.command import argument, command, flag, option
from goldsmith.cli.options import (
    PATH,
    at_a_terminal,
    course_options,
    locked,
    open_course,
    refuse_recipes,
    report_errors,
)

if TYPE_CHECKING:
    from goldsmith.courses.injection.results import EditChoice, ResetResult
    from goldsmith.courses.layout.layout import Course


@command
@argument("assignment", "A", "The assignment; omit it for a menu, or every injected one.", required=False)
@flag("--keep", help="Write edits back into the solution.")
@option("--save", metavar="DIR", type=PATH, help="Write edits into this folder.")
@flag("--discard", help="Discard edits.")
@course_options
def reset(
    assignment: str | None,
    keep: bool,
    save: Path | None,
    discard: bool,
    course: Path,
    json: bool,
    no_color: bool,
    debug: bool,
) -> None:
    """Take the solution out again: every byte, mode and link as before.

    Edits made while a solution was injected are never lost silently: you choose what happens to them.

    Examples:

        goldsmith reset                            what is injected; a menu if several are
        goldsmith reset scratch-1 --keep           make edits part of the solution
        goldsmith reset scratch-1 --save DIR       save edits in a folder
        goldsmith reset scratch-1 --discard        discard edits

    Exit codes: 0 reset (or nothing was injected), 1 edited files are in the way, 2 bad usage, 3 could not.
    """
    resets: list[ResetResult] = []
    with report_errors("reset", as_json=json, debug=debug, finished=resets) as report:
        from goldsmith.courses.injection.results import EditChoice, reset_assignment
        from goldsmith.errors.injection import OneWayOnly

        if keep + discard + (save is not None) > 1:
            raise OneWayOnly
        refuse_recipes("reset", assignment)
        found = open_course(course, repair=False)
        ask = at_a_terminal() and not json
        names = _chosen(found, assignment, ask, no_color)
        given = EditChoice(keep, save, discard) if keep or save or discard else None
        with locked(found, f"reset {assignment or 'all'}"):
            # Every question is asked before anything is reset.
            choices = [(name, given or _ask_about_edits(found, name, ask, no_color)) for name in names]
            for name, choice in choices:
                resets.append(reset_assignment(found, name, choice))
        if json:
            report.print(resets)
        else:
            from goldsmith.render.injection import show_resets

            show_resets(resets)


def _chosen(course: Course, assignment: str | None, ask: bool, no_color: bool) -> list[str]:
    """Return the assignment that is named, or what is injected; ask if there are several."""
    from goldsmith.courses.layout.journal import journals

    standing = list(journals(course))
    names = [item.assignment for item in standing]
    if assignment is not None:
        return [assignment] if assignment in names else [course.assignment(assignment).name]
    if len(names) < 2 or not ask:
        return names
    from goldsmith.cli.prompts import ask_injected

    return ask_injected(standing, no_color=no_color)


def _ask_about_edits(course: Course, name: str, ask: bool, no_color: bool) -> EditChoice:
    """Show edits as a difference and ask what to do with them."""
    from goldsmith.courses.injection.results import EditChoice, edits_of

    edited = edits_of(course, name)
    if not edited or not ask:
        return EditChoice()
    from goldsmith.cli.prompts import ask_about_edits
    from goldsmith.render.console import open_console
    from goldsmith.render.injection import show_edits

    show_edits(open_console(no_color=no_color, stderr=True), course, edited)
    answer = ask_about_edits(name, len(edited), no_color=no_color)
    folder = Path(f"{name}-edits") if answer == "save" else None
    return EditChoice(answer == "keep", folder, answer == "discard")
