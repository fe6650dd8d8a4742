"""tests/corpora/submissions is well-formed: what is said of each can be true, what it edits is there, and it does what
is said of it."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path
from typing import Any

import pytest

from corpora import networks
from corpora.known_submissions import CORPUS, SOLUTIONS, Edit, Known, known
from corpora.plain_replay import Weights, replay, same

COURSE = Path(__file__).parents[2] / "examples" / "vla-course"
KEYS = {"about", "outcome", "first", "parts", "unwritten", "kind", "like", "starter", "edits"} | {
    "notes",
    "needs_adapter",
}
LISTED = KEYS | {"name", "also", "untold", "seconds"}
NOT_PYTHON = ("indentation-mixed", "syntax-error")
OUTCOMES = {"agrees", "differs", "could-not-run", "provided-changed"}
NEW = {"scratch-1": (50, 25), "scratch-2": (40, 20), "scratch-3": (40, 20)}  # at least so many wrong and right ones
NEW |= {"recurrent": (40, 12), "numpy-layers": (35, 12), "optimisers": (30, 12), "functions": (35, 12)}

every_assignment = pytest.mark.parametrize("assignment", NEW)


def course_of(assignment: str) -> Path:
    return networks.NETWORKS if assignment in networks.ASSIGNMENTS else COURSE


def solutions_of(assignment: str) -> Path:
    return course_of(assignment) / "private" / "solutions"


def written_by_students(assignment: str) -> set[str]:
    """The starter's classes and functions that hold something to do."""
    found = set()
    for file in (course_of(assignment) / "src" / "assignments" / assignment).glob("*.py"):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            stubs = any(isinstance(item, ast.Pass | ast.Raise) for item in ast.walk(node))
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and stubs:
                found.add(node.name)
    return found


@every_assignment
def test_every_expectation_is_well_formed(assignment: str) -> None:
    for file in (CORPUS / assignment).glob("*/expected.toml"):
        check_facts(tomllib.loads(file.read_text(encoding="utf-8")), KEYS, str(file))
    if assignment in networks.ASSIGNMENTS:
        for facts in tomllib.loads((CORPUS / f"{assignment}.toml").read_text(encoding="utf-8"))["submission"]:
            check_facts(facts, LISTED, facts["name"])


def check_facts(facts: dict[str, Any], keys: set[str], where: str) -> None:
    assert facts.keys() <= keys, where
    assert {facts["outcome"], facts.get("also", facts["outcome"])} <= OUTCOMES, where
    assert facts["about"].endswith("."), where


@every_assignment
def test_parts_are_what_students_write(assignment: str) -> None:
    parts = written_by_students(assignment)
    for item in known(assignment):
        named = {*item.parts, *item.unwritten, *item.untold}
        assert named <= parts, item
        assert not set(item.parts) & set(item.unwritten), item
        if item.outcome not in ("could-not-run", "provided-changed"):  # what cannot be imported is nobody's part
            assert bool(named) == (item.outcome != "agrees"), item


@every_assignment
def test_every_submission_can_be_written(assignment: str, tmp_path: Path) -> None:
    for item in known(assignment):
        folder = item.written(tmp_path, solutions_of(assignment))
        assert not (folder / "expected.toml").exists()
        for edit in item.edits if item.name not in NOT_PYTHON else ():
            ast.parse((folder / edit.file).read_text(encoding="utf-8"))


@every_assignment
def test_no_two_submissions_are_the_same(assignment: str, tmp_path: Path) -> None:
    seen: dict[str, str] = {}
    for item in known(assignment):
        if item.kind:
            folder = item.written(tmp_path, solutions_of(assignment))
            text = "\n".join(ast.unparse(ast.parse(file.read_text(encoding="utf-8"))) for file in folder.glob("*.py"))
            assert seen.setdefault(text, item.name) == item.name


@every_assignment
def test_there_are_enough_of_each(assignment: str) -> None:
    outcomes = [item.outcome for item in known(assignment) if item.kind]
    wrong, right = NEW[assignment]
    assert outcomes.count("agrees") >= right
    assert len(outcomes) - outcomes.count("agrees") >= wrong


def test_an_edit_that_does_not_fit_names_the_submission(tmp_path: Path) -> None:
    item = Known("scratch-1", "eps-hard-coded", "", "differs", edits=(Edit("backbone.py", "no such text", ""),))
    with pytest.raises(ValueError, match="scratch-1/eps-hard-coded: 'no such text' occurs 0 times"):
        item.written(tmp_path, SOLUTIONS)


@pytest.mark.torch
@pytest.mark.parametrize(
    "assignment",
    [pytest.param(name, marks=() if name == "numpy-layers" else pytest.mark.long) for name in networks.ASSIGNMENTS],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # what overflows is wrong
def test_right_ones_do_what_the_solution_does_and_wrong_ones_do_not(assignment: str, tmp_path: Path) -> None:
    """On inputs and weights that gold does not have, in float64, and without anything that judges."""
    recipe = networks.NETWORKS / "src" / "assignments" / assignment
    solution = Known(assignment, "solution", "", "agrees").written(tmp_path, solutions_of(assignment))
    drawn: dict[int, dict[str, list[Weights]]] = {7: {}, 23: {}, 42: {}}
    gold = {seed: replay(recipe, solution, seed, weights) for seed, weights in drawn.items()}
    for item in known(assignment):
        if item.seconds:
            continue  # it never ends
        folder = item.written(tmp_path, solutions_of(assignment))
        found = {seed: replay(recipe, folder, seed, weights) for seed, weights in drawn.items()}
        off = [(seed, case) for seed in gold for case in gold[seed] if not same(gold[seed][case], found[seed][case])]
        assert bool(off) == (item.outcome != "agrees"), (item.name, off)
        if item.outcome == "could-not-run" and not item.unwritten:  # a stub may as well return None
            assert all(isinstance(found[seed][case], str) for seed, case in off), (item.name, off)
