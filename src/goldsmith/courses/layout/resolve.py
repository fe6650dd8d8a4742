"""Resolve what a command is about, an assignment or a recipe by itself, into all that is to be known of it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from goldsmith.courses.layout.config import Config, read_config
from goldsmith.courses.layout.journal import read_journal
from goldsmith.courses.layout.layout import Assignment, Course, find_course
from goldsmith.courses.layout.solutions import all_notebooks, has_solutions, module_of, placements, variants_of
from goldsmith.courses.layout.starter_modules import notebook_modules, starter_scripts
from goldsmith.courses.notebooks.convert import convert, is_notebook
from goldsmith.errors.base import GoldsmithError
from goldsmith.errors.course import BadConfig, NotACourse
from goldsmith.errors.lone_recipe import NoSuchRecipe, RecipeOfACourse
from goldsmith.errors.notebooks import BadNotebook
from goldsmith.targets.replacements import search_path_of
from goldsmith.targets.target import (
    CONFIG_FILE,
    GOLD_SUFFIX,
    NOTEBOOK_SUFFIX,
    PROJECT_FILE,
    Project,
    Solution,
    Starter,
    Target,
    WorkspaceFiles,
)

Found = TypeVar("Found")
_ROOTS = (".git", PROJECT_FILE, "setup.py", "setup.cfg")
"""Any of these makes a folder the root of a project."""


def resolve(assignment: Assignment | Target) -> Target:
    """Return all that is to be known of an assignment; a recipe by itself is resolved when it is opened. What cannot be
    found out is raised where it is needed."""
    if isinstance(assignment, Target):
        return assignment
    course, own = assignment.course, assignment.config
    config = course.config
    return Target(
        name=assignment.name,
        recorded_name=assignment.name,
        kind="assignment",
        label=assignment.label,
        description=assignment.description,
        project=Project(course.root),
        recipe=assignment.recipe,
        adapter=assignment.adapter,
        gold=assignment.gold,
        gold_place=course.relative(assignment.gold).as_posix(),
        unstamped=(config.fixtures,),
        seed=config.seed,
        threads=config.threads,
        timeout=config.timeout,
        case_timeout=config.case_timeout,
        calibrate=config.calibrate,
        sketch_above=config.sketch_traces_above or None,
        stand_ins=config.stand_ins,
        packages=config.packages,
        loopback=config.grade.loopback,
        forbidden=assignment.forbidden,
        overwriting=own.overwriting,
        allow_drift=own.allow_drift,
        silence=own.silence,
        survivors=own.survivors,
        operators=config.rigor.operators,
        starter=_starter(assignment),
        solution=_solution(assignment),
        files=WorkspaceFiles(
            removes=own.removes,
            answers=(*course.solution_folders, course.fixtures_folder),
            reports=course.reports_folder,
            internal_tests=course.internal_tests_folder,
            closed=(
                *course.solution_folders,
                course.fixtures_folder,
                course.internal_tests_folder,
                course.grades_folder,
                course.reports_folder,
                course.state_folder,
                course.root / CONFIG_FILE,
            ),
            for_staff=tuple(course.root / name for name in config.guard.private),
            shared=config.shared,
            own_shared=own.shared,
            exclude=config.exclude,
        ),
        injected=_found(lambda: journal.since if (journal := read_journal(course, assignment.name)) else ""),
        resolve=partial(_resolve_at, config, assignment.name),
    )


def _resolve_at(config: Config, name: str, root: Path) -> Target:
    return resolve(Assignment(Course(root, config), name))


def _starter(assignment: Assignment) -> Starter:
    return replace(
        assignment.tree,
        scripts=tuple(starter_scripts(assignment)),
        notebooks=tuple(notebook_modules(assignment)),
        all_notebooks=tuple(all_notebooks(assignment)),
        as_module=_as_module,
    )


def _as_module(inside: Path, content: bytes) -> tuple[Path, bytes]:
    """Return a file of a starter as it is imported: of a notebook, its definitions."""
    target = module_of(inside) if inside.suffix == NOTEBOOK_SUFFIX else inside
    with contextlib.suppress(BadNotebook):
        return target, convert(content, inside.name).source if is_notebook(inside.name, content) else content
    return target, content


def _solution(assignment: Assignment) -> Solution:
    return Solution(
        folder=assignment.solution,
        variants_folder=assignment.variants,
        is_here=has_solutions(assignment),
        found=_found(lambda: tuple(placements(assignment))),
        found_variants=_found(lambda: {name: tuple(placed) for name, placed in variants_of(assignment).items()}),
    )


def _found(find: Callable[[], Found]) -> Found | GoldsmithError:
    try:
        return find()
    except GoldsmithError as error:
        return error


def open_recipe(text: str) -> Target:
    """Open the recipe at a path. One that belongs to an assignment of a course is refused: its gold is the course's."""
    path = Path(os.path.abspath(text))
    if path.suffix != ".py" or not path.is_file():
        raise NoSuchRecipe(text, is_there=path.exists())
    _refuse_a_courses_own(path, text)
    root = _root_of(path.parent)
    return recipe_target(text, path, path.with_name(f"{path.stem}_adapter.py"), root, read_config(root) or Config())


def recipe_target(name: str, recipe: Path, adapter: Path, root: Path, config: Config) -> Target:
    """Return all that is to be known of a recipe by itself. Its implementation is what it imports, as the environment
    stands. It runs where it is, not in a copy: what is installed there, how its packages are found and where they lie
    is part of what it runs on."""
    project, gold = Project(root), recipe.with_suffix(GOLD_SUFFIX)
    place = project.portable(gold.parent)
    return Target(
        name=name,
        recorded_name=recipe.name,
        kind="recipe",
        label=recipe.name,
        project=project,
        recipe=recipe,
        adapter=adapter,
        gold=gold,
        gold_place=Path(name).with_suffix(GOLD_SUFFIX).as_posix(),
        unstamped=(f"{place}/{gold.name}", f"{place}/.{gold.name}.*"),  # and where it is being made
        seed=config.seed,
        threads=config.threads,
        timeout=config.timeout,
        case_timeout=config.case_timeout,
        calibrate=config.calibrate,
        sketch_above=config.sketch_traces_above or None,
        stand_ins=config.stand_ins,
        search_path=search_path_of(recipe, root),
    )


def _refuse_a_courses_own(path: Path, text: str) -> None:
    try:
        course = find_course(path.parent)
        owner = next((item for item in course.assignments() if item.recipe == path), None)
    except (NotACourse, BadConfig):
        return
    if owner is not None:
        raise RecipeOfACourse(text, owner.name)


def _root_of(folder: Path) -> Path:
    """Return the nearest folder upwards that is the root of a project, else the folder itself."""
    around = (folder, *folder.parents)
    return next((item for item in around if any((item / name).exists() for name in _ROOTS)), folder)
