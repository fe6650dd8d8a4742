"""`goldsmith` without a command: what it sees in this folder, and the commands that make sense next."""

from __future__ import annotations

from pathlib import Path


def show_overview() -> None:
    """Show the state of the course around this folder, of recipes by themselves in it, or that there is neither."""
    from goldsmith.cli.options import choose_subjects, open_course, report_errors

    with report_errors("", as_json=False, debug=False):
        from goldsmith.courses.layout.resolve import resolve
        from goldsmith.courses.status import course_status
        from goldsmith.errors.course import NotACourse
        from goldsmith.generate.status import target_status
        from goldsmith.gold.kit_files import CHECK, LIST
        from goldsmith.render.console import open_console
        from goldsmith.render.overview import show_course, show_kit, show_nothing, show_recipes

        console, here = open_console(no_color=False), Path()
        try:
            course = open_course(here, repair=False)
        except NotACourse:
            places = [folder.with_suffix(".py") for folder in sorted(here.glob("*.gold"))]
            recipes = [str(file) for file in places if file.is_file()]
            if recipes:
                show_recipes(
                    console, [target_status(resolve(it)) for it in choose_subjects(here, recipes, "status", ask=False)]
                )
            elif (here / LIST).is_file() and (here / CHECK).is_file():
                show_kit(console)
            else:
                show_nothing(console, here.resolve())
        else:
            show_course(console, course, course_status(course))
