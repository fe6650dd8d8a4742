"""`goldsmith diff`: what regenerating would change, or what changed since a git revision."""

from __future__ import annotations

from pathlib import Path

from click.exceptions import Exit

from goldsmith.cli.command import argument, command, flag, option
from goldsmith.cli.options import PATH, at_a_terminal, choose_subject, course_options, make_progress, report_errors
from goldsmith.cli.reports import Output, Wanted, asked_for, report_formats
from goldsmith.errors.base import AGAINST


@command
@argument("name", "A", "The assignment, or a recipe file; omit it for a menu.", required=False)
@argument("revision", "REV", "A git revision to compare with; omit it to compare with a new run.", required=False)
@flag("--exact", help="Also show differences that are within noise.")
@option("--html", "page", metavar="FILE", type=PATH, help="Also write a page to look at.")
@report_formats("difference")
@flag("--redraw", help="Draw inputs and weights again instead of using recorded ones.")
@course_options
def diff(
    name: str | None,
    revision: str | None,
    exact: bool,
    page: Path | None,
    formats: tuple[Wanted, ...],
    redraw: bool,
    course: Path,
    json: bool,
    no_color: bool,
    debug: bool,
) -> None:
    """Show tensor by tensor what regenerating would change, or what changed since a revision.

    Examples:

        goldsmith diff scratch-1             run the recipe again, compare with the gold
        goldsmith diff scratch-1 HEAD~3      compare the gold with that of three commits ago
        goldsmith diff parity_cases.py       the gold of a recipe by itself

    Recorded inputs and weights are used again as long as a case's own code in the recipe has not changed; where they
    are not, a note says why. Changes within noise, as between machines, are only a note.

    Nothing is written. Exit codes: 0 no tensor differs, 1 some do, 2 bad usage, 3 could not run.
    """
    wanted = asked_for(formats, json=json, page=page)
    json = Wanted("json") in wanted
    with report_errors("diff", as_json=json, debug=debug) as report:
        output = Output(report, "difference", wanted, no_color)
        ask = at_a_terminal() and not json
        chosen = choose_subject(course, name, "diff", ask=ask, no_color=no_color)

        from goldsmith.courses.grade.points_change import points_change
        from goldsmith.courses.layout.layout import Assignment
        from goldsmith.courses.layout.resolve import resolve
        from goldsmith.generate.gold_difference import PointsChange, difference_by_regenerating, difference_since

        target = resolve(chosen)

        def points(gold: Path) -> PointsChange | None:
            return points_change(chosen, target.gold, gold) if isinstance(chosen, Assignment) else None

        if revision:
            found = difference_since(target, revision, points)
        else:
            shown = make_progress(no_color)
            found = difference_by_regenerating(target, shown, exact=exact, redraw=redraw, points=points)
        output.show(found)
        output.finish([found])
    raise Exit(AGAINST if found.changes else 0)
