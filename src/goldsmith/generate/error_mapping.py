"""Errors for people from how a child ended, with paths of the course instead of the workspace."""

from __future__ import annotations

import re
from pathlib import Path

from goldsmith.errors.base import GoldsmithError
from goldsmith.errors.gold import CannotWrite
from goldsmith.errors.recipe import (
    DeviceMissing,
    MissingPackage,
    RecipeKilled,
    RecipeLeftEarly,
    RecipeMisused,
    RecipeOutOfMemory,
    RecipeRaised,
    RecipeTimedOut,
)
from goldsmith.generate.options import Options
from goldsmith.process.messages import NO_RESULT
from goldsmith.process.process_exit import ProcessExit
from goldsmith.runs.run import Failure, Frame
from goldsmith.targets.target import Target
from goldsmith.workspace.copies import Workspace


def error_of(target: Target, workspace: Workspace, ending: ProcessExit, options: Options) -> GoldsmithError | None:
    """Return why the child did not finish, or None if it did."""
    recipe = target.project.relative(target.recipe)
    if ending.overrun:
        return RecipeTimedOut(recipe, ending.last_case, ending.overrun)
    if ending.signal and (ending.result is None or ending.result.failure is None):
        return RecipeKilled(recipe, ending.last_case, ending.signal)
    if ending.result is None and ending.code == NO_RESULT:
        return CannotWrite(workspace.scratch, "the recipe's process could not leave its result there")
    if ending.result is None or (ending.result.failure is None and ending.code != 0):
        return RecipeLeftEarly(recipe, ending.last_case, f"its process ended with exit code {ending.code}")
    if ending.result.failure is None:
        return None
    if ending.result.failure.kind == "device":
        return DeviceMissing(options.device, ending.result.failure.message.split(", "))
    return _from_failure(target, workspace, ending.result.failure, recipe)


def _from_failure(target: Target, workspace: Workspace, failure: Failure, recipe: Path) -> GoldsmithError:
    frames = [(_in_course(target, workspace, Path(frame.file)), frame) for frame in failure.frames]
    if failure.kind == "misuse":
        last = frames[-1] if frames else None
        place = _place(workspace, *last, ", line ") if last else None
        return RecipeMisused(recipe, failure.case, failure.message + ".", place)
    if failure.kind == "exit":
        return RecipeLeftEarly(recipe, failure.case, failure.message)
    if failure.kind == "memory":
        return RecipeOutOfMemory(recipe, failure.case, failure.message)
    if failure.kind == "package":
        return MissingPackage(failure.package, str(recipe))
    trace = []
    for path, frame in frames:
        trace.append(f"{_place(workspace, path, frame)} in {frame.function}")
        trace.append(f"    {frame.text}")
    told = failure.message
    for file, notebook in workspace.notebooks.items():
        told = notebook.with_places(told, str(file))
    if frames and Path(frames[-1][1].file) in workspace.notebooks:
        told = f"{told} ({_place(workspace, *frames[-1])})"
    why = [text for notebook in workspace.notebooks.values() if (text := notebook.why_missing(told))]
    message, *more = _in_course_words(target, workspace, "; ".join([told, *why[:1]])).splitlines()
    hint = _hint(target, workspace, failure)
    return RecipeRaised(recipe, failure.case, message + (f"; {hint}" if hint else ""), tuple(trace + more))


def _place(workspace: Workspace, path: Path, frame: Frame, between: str = ":") -> str:
    """Name a line of a file in the course; of a notebook, by cell."""
    notebook = workspace.notebooks.get(Path(frame.file))
    if notebook is None:
        return f"{path}{between}{frame.line}"
    return f"{path.parent / notebook.place(frame.line)}"


def _hint(target: Target, workspace: Workspace, failure: Failure) -> str | None:
    """Guess the cause of an error that beginners often make, from the files that are there."""
    missing = re.match(r"ModuleNotFoundError: No module named '([^']+)'", failure.message)
    if target.starter is None or target.solution is None:
        places = ", ".join(map(str, workspace.search_path))
        return f"it was looked for in the environment and in {places}" if missing else None
    if failure.message.startswith("NotImplementedError") and failure.frames:
        origin = workspace.origin(Path(failure.frames[-1].file))
        if origin is not None and origin.is_relative_to(target.starter.folder) and origin != target.recipe:
            inside = origin.relative_to(target.starter.folder)
            wanted = target.solution.folder / inside.with_name(f"{inside.stem}_solution.py")
            return (
                f"that is the starter's {origin.name}: no solution took its place, "
                f"which would be called {target.project.relative(wanted)}"
            )
    if missing:
        if missing[1].endswith("_solution"):
            return f"the solution stands in its place: import {missing[1].removesuffix('_solution')}"
        skip = target.recipe.stem
        here = sorted(path.stem for path in workspace.folder.glob("*.py") if path.stem != skip)
        return f"the assignment's own modules are {', '.join(here)}" if here else None
    return None


def _in_course(target: Target, workspace: Workspace, path: Path) -> Path:
    """Return the file to open in an editor: the solution's own where it replaced the starter's."""
    origin = workspace.origin(path)
    if origin is not None:
        return target.project.relative(origin)
    return path.relative_to(workspace.root) if path.is_relative_to(workspace.root) else path


def _in_course_words(target: Target, workspace: Workspace, text: str) -> str:
    pattern = re.escape(str(workspace.root)) + r"/[^\s\"',:;)]*"
    return re.sub(pattern, lambda found: str(_in_course(target, workspace, Path(found[0]))), text)


def gravity(ending: ProcessExit) -> int:
    """Rank how a child ended: one that failed by itself explains more than a sibling that was stopped then."""
    if ending.result is not None and ending.result.failure is not None:
        return 0
    return 2 if ending.signal == "SIGTERM" else 1
