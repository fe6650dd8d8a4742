"""Step 2: the existing recipe, or a first one drafted from what the solution contains."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from goldsmith.errors.gold import CannotWrite
from goldsmith.errors.notebooks import CellSyntax
from goldsmith.errors.recipe import NoRecipe, NothingRuns, NothingToDraft, RecipeSyntax
from goldsmith.foundation.atomic_files import write_durably
from goldsmith.foundation.wording import count_of
from goldsmith.generate.draft_parts import draft_parts, public_tests
from goldsmith.generate.error_mapping import error_of
from goldsmith.generate.jobs import make_job
from goldsmith.generate.options import Options
from goldsmith.process.launcher import Watcher, run_parallel
from goldsmith.process.messages import DraftPart, Proposal, ProposeJob
from goldsmith.targets.target import Placement, Target
from goldsmith.workspace.copies import make_workspaces

KINDS = {
    "outputs": ("Model outputs", "what the model returns for fixed inputs and weights"),
    "checkpoint": ("Trained checkpoints", "weights and losses after training for a while"),
    "both": ("Both", "what it returns, and what it learns"),
}


def ensure_recipe(
    target: Target,
    placed: Sequence[Placement],
    options: Options,
    watcher: Watcher,
) -> str | None:
    """Make sure that there is a sound recipe. Return a note if there is something to say about it."""
    if target.recipe.is_file():
        check_syntax(target)
        return "--kind was not needed: there is a recipe already" if options.kind else None
    course = target.project
    if options.kind is None or target.starter is None:
        raise NoRecipe(target.name, course.relative(target.recipe))
    parts = draft_parts(target, placed)
    if not parts:
        raise NothingToDraft(target.name, course.relative(target.recipe))
    proposal = _propose(target, placed, options, options.kind, watcher, parts)
    _write(target.recipe, proposal.source)
    where = course.relative(target.recipe)
    if not proposal.cases:
        raise NothingRuns(target.name, where, tuple(map(_in_a_line, proposal.left_out.items())))
    count, left = len(proposal.parts), len(proposal.left_out)
    todo = f"; {left} more could not be called, see the TODO{'' if left == 1 else 's'} in it" if left else ""
    cases = count_of(proposal.cases, "case")
    return f"wrote {where}: {cases} for {count_of(count, 'part')}{todo}. A start, make it yours"


def _in_a_line(left_out: tuple[str, str]) -> str:
    """Return a part and the first line of why it cannot be called: some libraries go on to list what they accept."""
    name, why = left_out
    return f"{name}: {why.strip().partition(chr(10))[0].rstrip(' :,')}"


def check_syntax(target: Target) -> None:
    recipe = target.recipe
    try:
        compile(recipe.read_bytes(), str(recipe), "exec", dont_inherit=True)
    except SyntaxError as error:
        place = target.project.relative(recipe)
        raise RecipeSyntax(place, error.lineno or 1, error.msg, error.text or "") from None
    except ValueError as error:
        raise RecipeSyntax(target.project.relative(recipe), 1, str(error), "") from None


def check_notebooks(target: Target, placed: Sequence[Placement]) -> None:
    """Refuse a solution's notebook in which Python cannot parse a cell with a definition that is asked of it."""
    for item in placed:
        module = item.notebook()
        for line, text in module.errors.items() if module else ():
            cell, inside = module.place(line) if module else (0, 0)
            raise CellSyntax(target.project.relative(item.source), cell, inside, text)


def _propose(
    target: Target,
    placed: Sequence[Placement],
    options: Options,
    kind: str,
    watcher: Watcher,
    parts: tuple[DraftPart, ...],
) -> Proposal:
    with make_workspaces(target, placed, 1) as (workspace,):
        job = make_job(
            ProposeJob,
            target,
            workspace,
            options,
            kind=kind,
            parts=parts,
            assignment=target.name,
            public_tests=tuple(public_tests(target, workspace, parts)),
        )
        (ending,) = run_parallel([job], timeout=options.timeout, watcher=watcher)
        error = error_of(target, workspace, ending, options)
        if error is not None:
            raise error
    proposal = ending.result.proposal if ending.result else None
    return proposal or Proposal()


def _write(path: Path, source: str) -> None:
    try:
        write_durably(path, source.encode())
    except OSError as error:
        raise CannotWrite(path, error.strerror or str(error)) from None
