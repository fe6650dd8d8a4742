"""Run a recipe alone, without verification: `python -m goldsmith.run_recipe RECIPE --output DIR`.

As under `goldsmith generate`, the recipe can import its assignment's code by any name, wherever it is started and
whatever its file is called. `python RECIPE --output DIR` is enough for a recipe that only imports by short names.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

from goldsmith.courses.layout.layout import find_course
from goldsmith.errors.course import NotACourse
from goldsmith.recipe.imports import install, prepare_spawned_processes

USAGE = "usage: python -m goldsmith.run_recipe RECIPE --output DIR"


def run_recipe(recipe: Path, arguments: list[str]) -> None:
    """Run `recipe` as a script with these arguments, its assignment's code importable by every name."""
    path = recipe.absolute()
    _make_importable(path)
    sys.argv = [str(path), *arguments]
    runpy.run_path(str(path), run_name="__main__")


def _make_importable(recipe: Path) -> None:
    """Make the code of a recipe's assignment importable by both of its names, where the recipe is in a course."""
    folder = recipe.parent
    try:
        course = find_course(folder)
    except NotACourse:
        sys.path.insert(0, str(folder))  # as Python does for a script
        return
    folder = next((item.starter for item in course.assignments() if item.recipe == recipe), folder)
    if folder != recipe.parent:
        sys.path.insert(0, str(recipe.parent))  # a private recipe may have its own helpers
    install(course.root, folder)
    prepare_spawned_processes(install, course.root, folder)


if __name__ == "__main__":
    if len(sys.argv) < 2 or not Path(sys.argv[1]).is_file():
        sys.exit(USAGE)
    run_recipe(Path(sys.argv[1]), sys.argv[2:])
