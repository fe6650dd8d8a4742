"""Run a recipe alone, without verification: `python -m goldsmith.run_recipe RECIPE --output DIR`.

As under `goldsmith generate`, the recipe can import its assignment's code by any name, wherever it is started and
whatever its file is called. `python RECIPE --output DIR` is enough for a recipe that only imports by short names.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

from goldsmith.recipe.imports import prepare_recipe

USAGE = "usage: python -m goldsmith.run_recipe RECIPE --output DIR"


def run_recipe(recipe: Path, arguments: list[str]) -> None:
    """Run `recipe` as a script with these arguments, its assignment's code importable by every name."""
    path = recipe.absolute()
    prepare_recipe(path)
    sys.argv = [str(path), *arguments]
    runpy.run_path(str(path), run_name="__main__")


if __name__ == "__main__":
    if len(sys.argv) < 2 or not Path(sys.argv[1]).is_file():
        sys.exit(USAGE)
    run_recipe(Path(sys.argv[1]), sys.argv[2:])
