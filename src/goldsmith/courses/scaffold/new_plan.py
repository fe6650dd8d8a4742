"""The plan of `goldsmith new`: a small, complete assignment to start from."""

from __future__ import annotations

import keyword
import os
import re
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import PurePosixPath
from typing import Literal

from goldsmith.courses.layout.layout import Course
from goldsmith.courses.scaffold.changes import Change, Plan, whole_file
from goldsmith.courses.scaffold.notebook_file import as_notebook
from goldsmith.courses.scaffold.template_files import template
from goldsmith.errors.scaffold import AssignmentExists, BadName, InTheWay, NoPlaceForAnother

Kind = Literal["torch", "numpy", "jax", "notebook"]
KINDS: dict[Kind, tuple[str, str]] = {
    "torch": ("PyTorch", "a two-layer network, its loss, and the step that trains it"),
    "numpy": ("NumPy", "k-means, one part at a time"),
    "jax": ("JAX", "a two-layer network as functions, its loss, and the step that trains it"),
    "notebook": ("Notebook", "k-means in NumPy, one cell at a time"),
}
_MAX_NAME_CHARS = 60


def usual_kind() -> Kind:
    return "torch" if find_spec("torch") is not None else "numpy"


def new_assignment(course: Course, name: str, kind: Kind) -> Plan:
    """Plan six new files, or five for a notebook, in which students check themselves; raise if any of them exists, so
    that nothing is written."""
    _check(course, name)
    module = _module(name)
    internal = PurePosixPath(course.config.internal_tests)
    public = PurePosixPath(_public_tests(course)) / f"test_{module}.py"
    starter, solution = course.assignments_folder / name, course.solutions_folder / name
    places = {
        "README.md": starter / "README.md",
        "starter.py": starter / f"{module}.py",
        "recipe.py": starter / course.config.recipe,
        "solution.py": solution / f"{module}_solution.py",
        "public.py": course.root / public,
        "internal.py": course.root / internal / f"test_{module}_gold.py",
    }
    if kind == "notebook":
        places |= {
            "starter.py": starter / f"{module}.ipynb",
            "solution.py": solution / f"{module}_solution.ipynb",
        }
        del places["public.py"]
    words = {
        "name": name,
        "module": module,
        "label": name[:1].upper() + name[1:],
        "starter": course.relative(starter).as_posix(),
        "public": public.as_posix(),
        "up": str(len(public.parts) - 1),
        "internal_up": str(len(internal.parts)),
    }
    changes = [whole_file(course.root, part, path, _text(kind, part, words)) for part, path in places.items()]
    _must_all_be_new(course, name, changes)
    return Plan(course.root, changes)


def _text(kind: Kind, part: str, words: Mapping[str, str]) -> str:
    if kind != "notebook" or part == "README.md":
        return template(f"{kind}/{part}.txt").substitute(words)
    text = template(f"numpy/{part}.txt").substitute(words)
    checks = template("notebook/checks.py.txt").substitute(words)
    return as_notebook(text, checks) if part in ("starter.py", "solution.py") else text


def check_name(name: str) -> None:
    """Raise `BadName` for a name that an assignment cannot have."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9]*([-_][A-Za-z0-9]+)*", name) or len(name) > _MAX_NAME_CHARS:
        raise BadName(name, "letters and digits, in words joined by dashes, beginning with a letter, such as hw-1")
    if name == "all":
        raise BadName(name, "a name of its own: `all` stands for every assignment")


def _check(course: Course, name: str) -> None:
    check_name(name)
    if course.whole_assignment:
        raise NoPlaceForAnother(name, course.whole_assignment)
    module = _module(name)
    if f"{module}.py" in (course.config.recipe, course.config.adapter, "conftest.py"):
        raise BadName(name, f"another name: {module}.py has a meaning of its own")
    if keyword.iskeyword(module) or module in sys.stdlib_module_names or _is_installed(module):
        raise BadName(name, f"a name that Python does not use: its code goes into {module}.py")
    for other in course.assignments():
        if _module(other.name).lower() == module.lower():
            raise AssignmentExists(name, course.relative(other.starter))


def _module(name: str) -> str:
    return name.replace("-", "_")


def _is_installed(module: str) -> bool:
    """Say whether `import` would find it outside the current folder."""
    here = {"", os.getcwd()}
    before = list(sys.path)
    try:
        sys.path[:] = [entry for entry in before if entry not in here]
        spec = find_spec(module)
        return spec is not None and spec.origin is not None
    finally:
        sys.path[:] = before


def _must_all_be_new(course: Course, name: str, changes: list[Change]) -> None:
    for change in changes:
        if change.standing == "skipped":
            raise InTheWay(name, course.relative(change.path), change.reason)
        if change.standing != "create":
            raise AssignmentExists(name, course.relative(change.path))
    for folder in (course.solutions_folder / name, course.fixtures_folder / name):
        if folder.exists():
            raise AssignmentExists(name, course.relative(folder))


def _public_tests(course: Course) -> str:
    """Return a folder next to the internal tests, or another one if students would not get that."""
    private = [PurePosixPath(folder) for folder in course.private_folders]
    internal, solutions = PurePosixPath(course.config.internal_tests), PurePosixPath(course.config.solutions)
    with_solutions = internal.parts[0] == solutions.parts[0]
    beside = internal if len(internal.parts) == 1 or with_solutions else internal.parent / "public"
    for folder in (beside, PurePosixPath("tests/public"), PurePosixPath("public-tests")):
        if not any(folder.is_relative_to(other) for other in private):
            break
    return folder.as_posix()
