"""Jobs for worker processes: what runs in a workspace, and the process that they are forked from."""

from __future__ import annotations

import ast
import contextlib
import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

from goldsmith.foundation.syntax import syntax_tree
from goldsmith.frameworks.framework import registered
from goldsmith.generate.options import Options
from goldsmith.process.fork_client import ForkClient, fork_server
from goldsmith.process.messages import Job, RecordJob
from goldsmith.targets.target import NOTEBOOK_PACKAGES, Target
from goldsmith.workspace.copies import Workspace

Task = TypeVar("Task", bound=Job)


def make_job(task: type[Task], target: Target, workspace: Workspace, options: Options | Target, **own: Any) -> Task:
    """Describe a task for a child in `workspace`, with what only that task has in `own`. Seed, threads and device are
    those of `options`."""
    shared: dict[str, Any] = dict(
        root=str(workspace.root),
        folder=str(workspace.folder),
        recipe=str(workspace.folder / target.recipe.name),
        output=str(workspace.scratch / "gold"),
        scratch=str(workspace.scratch),
        seed=options.seed,
        threads=options.threads,
        device=options.device,
        parent=os.getpid(),
        search_path=tuple(map(str, workspace.search_path)),
        replacements=target.replacements,
        stand_ins=NOTEBOOK_PACKAGES if workspace.notebooks else (),
    )
    if task is RecordJob:
        shared["sketch_above"] = target.sketch_above
    return task(**shared | own)


@contextlib.contextmanager
def recording_fork_server(target: Target, options: Options) -> Iterator[ForkClient | None]:
    """Start a process that has imported what the recipe computes with, to fork jobs from: importing torch would take
    each of them two seconds or more.

    Yield None if the recipe may do without such a library, since whether it was imported decides how gold is stored,
    and for a device other than the CPU, whose driver may not survive a fork.
    """
    libraries = libraries_of(target.recipe) if options.device == "cpu" else []
    if libraries:
        with fork_server(preload=libraries) as server:
            yield server
    else:
        yield None


def libraries_of(recipe: Path) -> list[str]:
    """Return the installed libraries, besides NumPy, that importing the recipe always imports: only statements at its
    top level count."""
    names: set[str] = set()
    for statement in syntax_tree(recipe.read_bytes()).body:
        if isinstance(statement, ast.Import):
            names |= {item.name.partition(".")[0] for item in statement.names}
        elif isinstance(statement, ast.ImportFrom) and statement.module and not statement.level:
            names.add(statement.module.partition(".")[0])
    found = (item.name for item in registered() if item.name != "numpy")
    return [name for name in found if name in names and find_spec(name) is not None]
