"""`goldsmith new --kind jax` is whole; `generate --kind` drafts recipes for functions and modules of JAX; `rigor` makes
mistakes in them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from commands.test_new import works
from support.course import CourseOnDisk
from support.pytest_course import LEAN
from with_jax.test_course import FILES, RECIPE_FILE, SOLUTION

pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def assignment(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    course = CourseOnDisk(tmp_path_factory.mktemp("new") / "course").write({"goldsmith.toml": ""})
    assert course.run("new", "hw1", "--kind", "jax").code == 0
    works(course, "hw1", "private/solutions/hw1")
    return course


def test_its_gold_catches_every_mistake(assignment: CourseOnDisk) -> None:
    run = assignment.run("rigor", "hw1", "--min", "1.0")
    assert run.code == 0, run.out
    assert "rigor 1.00" in run.last_line


def test_its_public_tests_fail_on_the_starter_and_pass_on_the_solution(assignment: CourseOnDisk) -> None:
    starter = assignment.root / "src/assignments/hw1/hw1.py"
    command = [sys.executable, "-m", "pytest", "-q", *LEAN, "tests/public/test_hw1.py"]
    for text, counted in (
        (starter.read_text(), "6 failed"),
        ((assignment.root / "private/solutions/hw1/hw1_solution.py").read_text(), "6 passed"),
    ):
        starter.write_text(text)
        done = subprocess.run(command, cwd=assignment.root, capture_output=True, text=True)
        assert counted in done.stdout, done.stdout


def test_a_draft_has_cases_for_functions_and_modules_and_reasons_for_the_rest(tmp_path: Path) -> None:
    course = CourseOnDisk(tmp_path).write({name: text for name, text in FILES.items() if name != RECIPE_FILE})
    run = course.run("generate", "hw1", "--kind", "outputs")
    assert run.code == 0, run.out + run.err
    recipe = (course.root / RECIPE_FILE).read_text()
    assert "case.model(Block, width=24, rngs=nnx.Rngs(0)" in recipe
    assert "case.model(Gate, width=24, key=jax.random.key(1)" in recipe
    assert 'case.record("output", attend(q, k, v))' in recipe
    assert "TODO Head: no case yet. " in recipe
    assert "class Head" in SOLUTION
