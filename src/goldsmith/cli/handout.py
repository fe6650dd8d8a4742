"""`goldsmith handout`: a kit with which students check their own work."""

from __future__ import annotations

from pathlib import Path

from goldsmith.cli.command import argument, command, option
from goldsmith.cli.options import PATH, at_a_terminal, choose_one, course_options, open_course, report_errors
from goldsmith.foundation.log_injection import say


@command
@argument("assignment", "A", "The assignment; omit it for a menu.", required=False)
@option(
    "--output", metavar="DIR", type=PATH, required=True, help="Where the kit goes; an earlier kit there is replaced."
)
@course_options
def handout(assignment: str | None, output: Path, course: Path, json: bool, no_color: bool, debug: bool) -> None:
    """Write a kit with which students check their own work, without the answers.

    It is a folder with the recipe, its inputs and weights, sketches of what the solution made of them, and a check.py
    that names the first wrong module. From a sketch one learns whether a tensor is right and by about how much it is
    off, not what it should be; what would give itself away has none. Grades still come from `goldsmith grade`.

    Examples:

        goldsmith handout scratch-1 --output kits/scratch-1      a folder for students
        python3 kits/scratch-1/check.py                          what they run, next to their code

    Exit codes: 0 written, 2 bad usage, 3 nothing can be handed out, or the gold is stale.
    """
    with report_errors("handout", as_json=json, debug=debug) as report:
        ask = at_a_terminal() and not json
        chosen = choose_one(
            open_course(course), assignment, "handout", ask=ask, no_color=no_color, after="--output DIR"
        )

        from goldsmith.cli.prompts import ask_anyway
        from goldsmith.courses.handout.make_kit import KitPlan, hand_out
        from goldsmith.errors.gold import MenuLeft
        from goldsmith.render.handout import poor_lines

        def before(plan: KitPlan) -> None:
            if plan.is_poor:
                say("\n".join(poor_lines(plan)), stderr=True)
            if plan.is_poor and ask and not ask_anyway(no_color=no_color):
                raise MenuLeft

        kit = hand_out(chosen, output, before)
        if json:
            report.print([kit])
        else:
            from goldsmith.render.console import open_console
            from goldsmith.render.handout import show_kit

            show_kit(open_console(no_color=no_color), kit)
