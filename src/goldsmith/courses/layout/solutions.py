"""Map each solution file to the starter file that it replaces."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from goldsmith.courses.layout.layout import Assignment, Course
from goldsmith.errors.course import NoSolution, SolutionFitsNothing, SolutionIsAmbiguous, SolutionsCollide
from goldsmith.foundation.ignored_names import LITTER
from goldsmith.targets.target import NOTEBOOK_SUFFIX, SOLUTION_SUFFIX, NotebookModule, Placement

if TYPE_CHECKING:
    from goldsmith.targets.target import NOTEBOOK_SUFFIX, SOLUTION_SUFFIX, NotebookModule, Placement


@dataclass(frozen=True)
class CourseFile(Placement):
    """A file of a course or of a submission, which may be a notebook."""

    wanted: tuple[str, ...] = ()
    """What a notebook is there to define, if known: only what this needs is kept of its other code."""

    def notebook(self) -> NotebookModule | None:
        from goldsmith.courses.notebooks.convert import convert, is_notebook_file

        if self.target.suffix != ".py" or not is_notebook_file(self.source):
            return None
        return convert(self.source.read_bytes(), self.source.name, self.wanted, self.target.stem)


def placements(assignment: Assignment) -> list[Placement]:
    """Return every file of the assignment's solution with its target; never a file of another assignment."""
    course = assignment.course
    found = [*_from_folder(assignment, assignment.solution), *_from_flat_files(assignment)]
    if not found:
        orphans = [course.relative(file) for file, owners in _flat_files(course) if not owners]
        raise NoSolution(assignment.name, course.relative(assignment.solution), orphans)
    taken: dict[Path, Path] = {}
    for item in found:
        if item.target in taken:
            first, second = sorted((taken[item.target], item.source))
            target = course.relative(assignment.starter / item.target)
            raise SolutionsCollide(course.relative(first), course.relative(second), target)
        taken[item.target] = item.source
    return sorted(found, key=lambda item: item.target.as_posix())


def has_solutions(assignment: Assignment) -> bool:
    """Say whether the course's solutions are here; a recipe or adapter in their folder is none."""
    own = (assignment.recipe, assignment.adapter)
    folders = (folder for folder in assignment.course.solution_folders if folder.is_dir())
    return any(path.is_file() and path not in own for folder in folders for path in folder.rglob("*"))


def variants_of(assignment: Assignment) -> dict[str, list[Placement]]:
    """Return the solution's variants by name: the solution's files, some replaced by those in the variant's folder."""
    if not assignment.variants.is_dir():
        return {}
    folder = assignment.variants
    solution = {item.target: item for item in placements(assignment)}
    found = {}
    for variant in sorted(path for path in folder.iterdir() if path.is_dir() and path.name not in LITTER):
        own = {item.target: item for item in _from_folder(assignment, variant)}
        merged = solution | own
        found[variant.name] = sorted(merged.values(), key=lambda item: item.target.as_posix())
    return found


def _from_folder(assignment: Assignment, folder: Path) -> Iterator[Placement]:
    if not folder.is_dir():
        return
    course = assignment.course
    for file in sorted(folder.rglob("*")):
        inside = file.relative_to(folder)
        if file.is_relative_to(assignment.variants) and folder == assignment.solution:
            continue
        if not file.is_file() or LITTER.intersection(inside.parts) or file.suffix == ".pyc":
            continue
        is_named = file.name.endswith((SOLUTION_SUFFIX, f"_solution{NOTEBOOK_SUFFIX}"))
        if not is_named and file.suffix != NOTEBOOK_SUFFIX:
            yield CourseFile(file, inside)
            continue
        target = module_of(inside) if file.suffix == NOTEBOOK_SUFFIX else inside.with_name(_replaced(file))
        standing = starter_module(assignment, target)
        if standing is None and is_named:
            raise SolutionFitsNothing(course.relative(file), course.relative(assignment.starter / target))
        yield CourseFile(file, inside) if standing is None else CourseFile(file, target, defined_in(standing))


def module_of(notebook: Path) -> Path:
    """Return the module that a notebook is by its name: `hw-1_solution.ipynb` is `hw_1.py`."""
    return notebook.with_name(re.sub(r"\W", "_", notebook.stem.removesuffix("_solution")) + ".py")


def all_notebooks(assignment: Assignment) -> list[CourseFile]:
    """List the starter's notebooks, each with the module that it is by its name."""
    files = (path.relative_to(assignment.starter) for path in assignment.files(NOTEBOOK_SUFFIX))
    return [CourseFile(assignment.starter / path, module_of(path)) for path in files]


def starter_module(assignment: Assignment, target: Path) -> Placement | None:
    """Return the starter's file, a notebook if need be, that is the module `target`; None where it has none."""
    file = assignment.starter / target
    if file.is_file():
        return CourseFile(file, target)
    notebooks = (
        path for path in sorted(file.parent.glob(f"*{NOTEBOOK_SUFFIX}")) if module_of(path).name == target.name
    )
    return next((CourseFile(path, target) for path in notebooks if path.is_file()), None)


def defined_in(module: Placement) -> tuple[str, ...]:
    """Return the names that a module seems to define."""
    from goldsmith.courses.notebooks.statements import seeming_names

    return tuple(seeming_names(module.read().decode("utf-8", "replace")))


def _from_flat_files(assignment: Assignment) -> Iterator[Placement]:
    course = assignment.course
    if assignment.solution == course.solutions_folder:  # the folder's own files are found by `_from_folder`
        return
    for file, owners in _flat_files(course):
        if assignment.name not in owners:
            continue
        if len(owners) > 1:
            raise SolutionIsAmbiguous(course.relative(file), owners, course.relative(course.solutions_folder))
        yield CourseFile(file, Path(_replaced(file)))


def _flat_files(course: Course) -> list[tuple[Path, list[str]]]:
    """Return, for the old flat layout, each `<name>_solution.py` with the assignments that have a `<name>.py`."""
    files = sorted(course.solutions_folder.glob(f"*{SOLUTION_SUFFIX}"))
    assignments = course.assignments() if files else []
    return [(file, [item.name for item in assignments if (item.starter / _replaced(file)).is_file()]) for file in files]


def _replaced(file: Path) -> str:
    return file.name.removesuffix(SOLUTION_SUFFIX) + ".py"
