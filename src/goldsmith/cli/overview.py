"""`goldsmith` without a command: what it sees in this folder, and the commands that make sense next."""

from __future__ import annotations

from pathlib import Path


def show_overview() -> None:
    """Show the state of the course around this folder, of recipes by themselves in it, or that there is neither."""
    from goldsmith.cli.options import open_course, report_errors

    with report_errors("", as_json=False, debug=False):
        from goldsmith.errors.course import NotACourse
        from goldsmith.generate.status import course_status, subject_status
        from goldsmith.gold.kit_files import CHECK, LIST
        from goldsmith.render.console import open_console
        from goldsmith.render.overview import show_course, show_kit, show_nothing, show_recipes
        from goldsmith.targets.lone_recipe import open_lone_recipe

        console, here = open_console(no_color=False), Path()
        try:
            course = open_course(here, repair=False)
        except NotACourse:
            recipes = [file.with_suffix(".py") for file in sorted(here.glob("*.gold"))]
            recipes = [file for file in recipes if file.is_file()]
            if recipes:
                show_recipes(console, [subject_status(open_lone_recipe(str(file))) for file in recipes])
            elif (here / LIST).is_file() and (here / CHECK).is_file():
                show_kit(console)
            else:
                show_nothing(console, here.resolve())
        else:
            show_course(console, course, course_status(course))
