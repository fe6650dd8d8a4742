"""tests/corpora/submissions is well-formed: what each expected.toml says can be true, and what it edits is there."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

import pytest

from corpora.known_submissions import CORPUS, SOLUTIONS, Edit, Known, known

COURSE = Path(__file__).parents[2] / "examples" / "vla-course"
KEYS = {"about", "outcome", "first", "parts", "unwritten", "kind", "edits", "notes", "needs_adapter"}
OUTCOMES = {"agrees", "differs", "could-not-run", "provided-changed"}
NEW = {"scratch-1": (50, 25), "scratch-2": (40, 20), "scratch-3": (40, 20)}  # at least so many wrong and right ones

every_assignment = pytest.mark.parametrize("assignment", NEW)


def written_by_students(assignment: str) -> set[str]:
    """The starter's classes and functions that hold something to do."""
    found = set()
    for file in (COURSE / "src" / "assignments" / assignment).glob("*.py"):
        text = file.read_text(encoding="utf-8")
        for node in ast.parse(text).body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and "NotImplementedError" in ast.unparse(node):
                found.add(node.name)
    return found


@every_assignment
def test_every_expectation_is_well_formed(assignment: str) -> None:
    for file in (CORPUS / assignment).glob("*/expected.toml"):
        facts = tomllib.loads(file.read_text(encoding="utf-8"))
        assert facts.keys() <= KEYS, file
        assert facts["outcome"] in OUTCOMES, file
        assert facts["about"].endswith("."), file


@every_assignment
def test_parts_are_what_students_write(assignment: str) -> None:
    parts = written_by_students(assignment)
    for item in known(assignment):
        named = {*item.parts, *item.unwritten}
        assert named <= parts, item
        assert not set(item.parts) & set(item.unwritten), item
        if item.outcome != "could-not-run":  # what cannot even be imported is nobody's part
            assert bool(named) == (item.outcome != "agrees"), item


@every_assignment
def test_every_submission_can_be_written(assignment: str, tmp_path: Path) -> None:
    for item in known(assignment):
        folder = item.written(tmp_path, SOLUTIONS)
        assert not (folder / "expected.toml").exists()
        for edit in item.edits:
            ast.parse((folder / edit.file).read_text(encoding="utf-8"))


@every_assignment
def test_no_two_submissions_are_the_same(assignment: str, tmp_path: Path) -> None:
    seen: dict[str, str] = {}
    for item in known(assignment):
        if item.kind:
            folder = item.written(tmp_path, SOLUTIONS)
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
