"""Step 2: the recipe that is there, or a first one written from what the solution contains."""

from __future__ import annotations

import ast
import contextlib
import os
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

import msgspec

from goldsmith.course.layout import Assignment
from goldsmith.course.solutions import Placement
from goldsmith.errors.gold import CannotWrite
from goldsmith.errors.recipe import (
    NoRecipe,
    NothingRuns,
    NothingToDraft,
    RecipeSyntax,
)
from goldsmith.foundation.atomic_files import write_durably
from goldsmith.foundation.syntax import syntax_tree
from goldsmith.generate.draft_parts import draft_parts, public_tests
from goldsmith.generate.error_mapping import error_of
from goldsmith.generate.options import Options
from goldsmith.process.fork_client import ForkServer, fork_server
from goldsmith.process.launcher import Watcher, run_parallel
from goldsmith.process.messages import DraftPart, Job, Proposal
from goldsmith.workspace.copies import Workspace, make_workspaces

KINDS = {
    "outputs": ("Model outputs", "what the model returns for fixed inputs and weights"),
    "checkpoint": ("Trained checkpoints", "weights and losses after training for a while"),
    "both": ("Both", "what it returns, and what it learns"),
}


def ensure_recipe(
    assignment: Assignment,
    placed: Sequence[Placement],
    options: Options,
    watcher: Watcher,
) -> str | None:
    """Make sure that there is a sound recipe. Returns a note when something is to be said about it."""
    course = assignment.course
    if assignment.recipe.is_file():
        check_syntax(assignment)
        return "--kind was not needed: there is a recipe already" if options.kind else None
    if options.kind is None:
        raise NoRecipe(assignment.name, course.relative(assignment.recipe))
    parts = draft_parts(assignment, placed)
    if not parts:
        raise NothingToDraft(assignment.name, course.relative(assignment.recipe))
    proposal = _propose(assignment, placed, options, options.kind, watcher, parts)
    _write(assignment.recipe, proposal.source)
    where = course.relative(assignment.recipe)
    if not proposal.cases:
        raise NothingRuns(assignment.name, where, tuple(map(_in_a_line, proposal.left_out.items())))
    count, left = len(proposal.parts), len(proposal.left_out)
    todo = f"; {left} more could not be called, see the TODO{'' if left == 1 else 's'} in it" if left else ""
    cases = f"{proposal.cases} case{'' if proposal.cases == 1 else 's'}"
    return f"wrote {where}: {cases} for {count} part{'' if count == 1 else 's'}{todo}. A start, make it yours"


def _in_a_line(left_out: tuple[str, str]) -> str:
    """A part and the first line of why it cannot be called: some libraries go on with all that they would accept."""
    name, why = left_out
    return f"{name}: {why.strip().partition(chr(10))[0].rstrip(' :,')}"


def check_syntax(assignment: Assignment) -> None:
    recipe = assignment.recipe
    try:
        compile(recipe.read_bytes(), str(recipe), "exec", dont_inherit=True)
    except SyntaxError as error:
        place = assignment.course.relative(recipe)
        raise RecipeSyntax(place, error.lineno or 1, error.msg, error.text or "") from None
    except ValueError as error:
        raise RecipeSyntax(assignment.course.relative(recipe), 1, str(error), "") from None


def _propose(
    assignment: Assignment,
    placed: Sequence[Placement],
    options: Options,
    kind: str,
    watcher: Watcher,
    parts: tuple[DraftPart, ...],
) -> Proposal:
    with make_workspaces(assignment, placed, 1) as (workspace,):
        job = msgspec.structs.replace(
            make_job(assignment, workspace, options, task="propose"),
            kind=kind,
            parts=parts,
            assignment=assignment.name,
            public_tests=tuple(public_tests(assignment, workspace, parts)),
        )
        (ending,) = run_parallel([job], timeout=options.timeout, watcher=watcher)
        error = error_of(assignment, workspace, ending, options)
        if error is not None:
            raise error
    proposal = ending.result.proposal if ending.result else None
    return proposal or Proposal()


@contextlib.contextmanager
def warm_for(assignment: Assignment, options: Options) -> Iterator[ForkServer | None]:
    """A process that has imported torch, for several that would each import it for two seconds and more.

    None where the recipe may do without torch: whether it has been imported decides how its gold is stored. None for
    another device, too, whose driver may not survive a fork.
    """
    if options.device == "cpu" and _imports_torch(assignment.recipe) and find_spec("torch") is not None:
        with fork_server(torch=True) as warm:
            yield warm
    else:
        yield None


def _imports_torch(recipe: Path) -> bool:
    """Whether it does so wherever it leads: only statements of the module itself count."""
    names: list[str] = []
    for statement in syntax_tree(recipe.read_bytes()).body:
        if isinstance(statement, ast.Import):
            names += [item.name for item in statement.names]
        elif isinstance(statement, ast.ImportFrom) and statement.module and not statement.level:
            names.append(statement.module)
    return any(name.partition(".")[0] == "torch" for name in names)


def make_job(
    assignment: Assignment,
    workspace: Workspace,
    options: Options,
    *,
    task: str = "record",
) -> Job:
    return Job(
        task=task,  # type: ignore[arg-type]
        root=str(workspace.root),
        folder=str(workspace.folder),
        recipe=str(workspace.folder / assignment.course.config.recipe),
        output=str(workspace.scratch / "gold"),
        scratch=str(workspace.scratch),
        seed=options.seed,
        threads=options.threads,
        device=options.device,
        parent=os.getpid(),
    )


def _write(path: Path, source: str) -> None:
    try:
        write_durably(path, source.encode())
    except OSError as error:
        raise CannotWrite(path, error.strerror or str(error)) from None
