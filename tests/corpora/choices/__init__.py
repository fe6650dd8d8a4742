"""A corpus of choices: a recipe whose cases choose in every way, right implementations that differ by rounding, and
wrong ones. `scripts/choices_table.py` judges all of them."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from support.course import RECIPE_FILE, CourseOnDisk

HERE = Path(__file__).parent
STARTER_PATH, SOLUTION_PATH = "src/assignments/hw1/choosing.py", "private/solutions/hw1/choosing_solution.py"
STUB = '"""Write each function as its docstring says."""\n\n'


@dataclass(frozen=True)
class Variant:
    """One implementation; of a wrong one, the `case` that finds it and what that `says`."""

    name: str
    about: str
    code: str
    case: str = ""
    says: str = ""


def variants(kind: str) -> list[Variant]:
    """Return those of `right` or of `wrong`."""
    found = tomllib.loads((HERE / f"{kind}.toml").read_text(encoding="utf-8"))["variant"]
    return [
        Variant(item["name"], item["about"], _edited(item["edits"]), item.get("case", ""), item.get("says", ""))
        for item in found
    ]


def course_of_choices(root: Path) -> CourseOnDisk:
    """Write a course with the recipe and its solution."""
    solution = (HERE / "choosing.py").read_text(encoding="utf-8")
    stubs = [
        f"def {line.removeprefix('def ')}\n    raise NotImplementedError\n\n\n"
        for line in solution.splitlines()
        if line.startswith("def ") and not line.startswith("def _")
    ]
    return CourseOnDisk(root).write(
        {
            "goldsmith.toml": "",
            "pyproject.toml": "[project]\nname = 'course'\nversion = '1'\n",
            STARTER_PATH: f"{STUB}{''.join(stubs)}".rstrip() + "\n",
            SOLUTION_PATH: solution,
            RECIPE_FILE: (HERE / "recipe.py").read_text(encoding="utf-8"),
        }
    )


def _edited(edits: list[dict[str, str]]) -> str:
    code = (HERE / "choosing.py").read_text(encoding="utf-8")
    for edit in edits:
        assert edit["old"] in code, edit["old"]
        code = code.replace(edit["old"], edit["new"], 1)
    return code
