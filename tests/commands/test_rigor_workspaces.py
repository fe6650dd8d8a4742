"""Mutants take turns in workspaces, and no mutant finds anything of another's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from goldsmith.check.check_context import CheckContext
from goldsmith.check.request import OpenGold, Request, open_adapter, open_gold
from goldsmith.courses.layout.layout import find_course
from goldsmith.courses.layout.resolve import resolve
from goldsmith.judge.verdicts import AGREES
from goldsmith.mutants.workspace_pool import PooledWorkspace, WorkspacePool
from goldsmith.process.fork_client import ForkClient
from goldsmith.runs.conditions import FLOAT64, PLAIN
from goldsmith.targets.target import Placement, Submission
from support.course import CourseOnDisk


@pytest.fixture
def desks(checked: CourseOnDisk, warm: ForkClient, tmp_path: Path) -> Iterator[WorkspacePool]:
    assignment = find_course(checked.root).assignment("hw1")
    target = replace(resolve(assignment), timeout=60.0, case_timeout=20.0)
    gold = open_gold(target, Submission("the solution"), allow_stale=False)
    opened = OpenGold(gold, {name: gold[name] for name in gold}, *open_adapter(target))
    request = Request(fork_server=warm)
    (tmp_path / "given").mkdir()
    with WorkspacePool(CheckContext(target, opened, request, warm), target.placed, tmp_path / "given") as made:
        yield made


@pytest.fixture
def mutant(desks: WorkspacePool, tmp_path: Path) -> Placement:
    """A solution that is wrong everywhere, in place of the first file."""
    solution = next(item for item in desks.placed if item.target.suffix == ".py")
    file = tmp_path / "mutant.py"
    file.write_text(solution.source.read_text().replace("return", "return 2 *"))
    return Placement(file, solution.target)


def outcomes(desks: WorkspacePool, desk: PooledWorkspace) -> set[str]:
    replays = desk.stage.replay(list(desks.checking.golds), (PLAIN, FLOAT64))
    return {desks.checking.judge.verdict(name, replay).outcome for name, replay in replays.items()}


def test_a_desk_that_was_left_as_it_was_found_is_lent_again_with_the_solution_back(
    desks: WorkspacePool, mutant: Placement
) -> None:
    with desks.borrow(mutant) as first:
        assert outcomes(desks, first) != {AGREES}
    unchanged = next(item for item in desks.placed if item.target == mutant.target)
    with desks.borrow(unchanged) as second:
        assert second.stage.workspace.root == first.stage.workspace.root
        assert outcomes(desks, second) == {AGREES}
        with desks.borrow(mutant) as beside:
            assert beside.stage.workspace.root != first.stage.workspace.root


def add(desk: PooledWorkspace) -> None:
    (desk.stage.workspace.root / "left.txt").write_text("by a mutant")


def rewrite(desk: PooledWorkspace) -> None:
    (desk.stage.workspace.root / "pyproject.toml").write_text("# by a mutant\n")


def remove(desk: PooledWorkspace) -> None:
    next(desk.stage.workspace.folder.glob("*.py")).unlink()


def spoil_what_is_given(desk: PooledWorkspace) -> None:
    next((desk.stage.workspace.scratch / "given").iterdir()).write_bytes(b"")


def say_so(desk: PooledWorkspace) -> None:
    desk.dirty = True


@pytest.mark.parametrize("harm", [add, rewrite, remove, spoil_what_is_given, say_so])
def test_a_desk_that_was_harmed_is_not_lent_again(
    desks: WorkspacePool, mutant: Placement, harm: Callable[[PooledWorkspace], None]
) -> None:
    with desks.borrow(mutant) as first:
        harm(first)
    with desks.borrow(mutant) as second:
        assert second.stage.workspace.root != first.stage.workspace.root
