"""The modules of a starter: its Python files, and the notebooks that are modules by their definitions."""

from __future__ import annotations

import re
from pathlib import Path

from goldsmith.courses.layout.layout import Assignment
from goldsmith.courses.layout.solutions import CourseFile, module_of, starter_module
from goldsmith.errors.notebooks import BadNotebook
from goldsmith.source_code.parts import written_by_students
from goldsmith.targets.target import Placement

_NOTEBOOK = ".ipynb"


def starter_modules(assignment: Assignment) -> list[Placement]:
    """List the starter's modules, each with the file that it is in.

    A notebook is one if the recipe imports it or if it leaves something to students; other notebooks are prose.
    """
    return [*starter_scripts(assignment), *notebook_modules(assignment)]


def starter_scripts(assignment: Assignment) -> list[Placement]:
    """List those that are Python files."""
    return [CourseFile(path, path.relative_to(assignment.starter)) for path in assignment.files(".py")]


def notebook_modules(assignment: Assignment) -> list[Placement]:
    """List those that are notebooks, without one that has a Python file of its name next to it."""
    found: list[Placement] = []
    for path in assignment.files(_NOTEBOOK):
        target = module_of(path.relative_to(assignment.starter))
        if not (assignment.starter / target).is_file() and _is_module(assignment, path, target):
            found.append(CourseFile(path, target))
    return found


def read_starter(assignment: Assignment, target: Path) -> bytes | None:
    """Read a module of the starter; None where it has none of that name."""
    module = starter_module(assignment, target)
    return module.read() if module else None


def _is_module(assignment: Assignment, path: Path, target: Path) -> bool:
    recipe = assignment.recipe.read_text("utf-8", "replace") if assignment.recipe.is_file() else ""
    if re.search(rf"^\s*(?:from|import)\s[^#\n]*\b{re.escape(target.stem)}\b", recipe, re.M):
        return True
    try:
        return bool(written_by_students(CourseFile(path, target).read()))
    except (BadNotebook, OSError):
        return False
