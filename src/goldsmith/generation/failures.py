"""From how a child ended to the error a person reads, with paths of the course, not of the workspace."""

from __future__ import annotations

from pathlib import Path

from goldsmith.course import Assignment
from goldsmith.errors import (
    DeviceMissing,
    GoldsmithError,
    MissingPackage,
    RecipeKilled,
    RecipeLeftEarly,
    RecipeMisused,
    RecipeOutOfMemory,
    RecipeRaised,
    RecipeTimedOut,
)
from goldsmith.generation.options import Options
from goldsmith.recording import Ending, Failure, Frame
from goldsmith.workspace import Workspace


def error_of(assignment: Assignment, workspace: Workspace, ending: Ending, options: Options) -> GoldsmithError | None:
    """Why the child did not finish, or None when it did."""
    recipe = assignment.course.relative(assignment.recipe)
    if ending.timed_out:
        return RecipeTimedOut(recipe, ending.last_case, options.timeout)
    if ending.result is None:
        if ending.signal:
            return RecipeKilled(recipe, ending.last_case, ending.signal)
        return RecipeLeftEarly(recipe, ending.last_case, f"its process ended with exit code {ending.code}")
    if ending.result.failure is None:
        return None
    if ending.result.failure.kind == "device":
        return DeviceMissing(options.device, ending.result.failure.message.split(", "))
    return _from_failure(assignment, workspace, ending.result.failure, recipe)


def _from_failure(assignment: Assignment, workspace: Workspace, failure: Failure, recipe: Path) -> GoldsmithError:
    frames = [(_in_course(assignment, workspace, frame), frame) for frame in failure.frames]
    if failure.kind == "misuse":
        last = frames[-1] if frames else None
        place = f"{last[0]}, line {last[1].line}" if last else None
        return RecipeMisused(recipe, failure.case, failure.message + ".", place)
    if failure.kind == "exit":
        return RecipeLeftEarly(recipe, failure.case, failure.message)
    if failure.kind == "memory":
        return RecipeOutOfMemory(recipe, failure.case, failure.message)
    if failure.kind == "package":
        return MissingPackage(failure.package, str(recipe))
    trace = []
    for path, frame in frames:
        trace.append(f"{path}:{frame.line} in {frame.function}")
        trace.append(f"    {frame.text}")
    return RecipeRaised(recipe, failure.case, _tidy(assignment, workspace, failure.message), tuple(trace))


def _in_course(assignment: Assignment, workspace: Workspace, frame: Frame) -> Path:
    """The file to open in an editor: the solution's own where it stood in for the starter's."""
    path = Path(frame.file)
    origin = workspace.origin(path)
    if origin is not None:
        return assignment.course.relative(origin)
    return path.relative_to(workspace.root) if path.is_relative_to(workspace.root) else path


def _tidy(assignment: Assignment, workspace: Workspace, text: str) -> str:
    return text.replace(str(workspace.root), str(assignment.course.root))
