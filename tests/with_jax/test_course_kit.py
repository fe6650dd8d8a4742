"""A kit for students of a course in JAX checks functions without their answers, and without goldsmith, too."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support.course import CourseOnDisk, Run, exercise

SOLUTION = """
    import jax.numpy as jnp
    from flax import nnx


    def normalise(x):
        x = x - x.mean(axis=-1, keepdims=True)
        return x.at[0].multiply(2.0) / jnp.sqrt((x * x).mean(axis=-1, keepdims=True))


    class Gate(nnx.Module):
        def __init__(self, width, *, rngs):
            self.value = nnx.Linear(width, width, rngs=rngs)

        def __call__(self, x):
            return x * nnx.sigmoid(self.value(x))
"""
RECIPE = """
    import jax

    from flax import nnx

    import goldsmith as gs
    from ops import Gate, normalise


    @gs.case
    def normalised(case):
        x = case.input("x", lambda: jax.random.normal(jax.random.key(0), (37, 40)) + 0.3)
        case.record("y", normalise(x))


    @gs.case
    def gated(case):
        model = case.model(Gate, 40, rngs=nnx.Rngs(0), weights="stress")
        case.record("y", model(case.input("x", lambda: jax.random.normal(jax.random.key(1), (37, 40)))))
"""


@pytest.fixture(scope="module")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    course = CourseOnDisk(tmp_path_factory.mktemp("kit") / "course").write(exercise(SOLUTION, RECIPE))
    assert course.run("generate", "hw1", calibrate=True).code == 0
    made = course.run("handout", "hw1", "--output", str(course.root / "kit"))
    assert made.code == 0, made.out + made.err
    return course.root / "kit"


def checked(kit: Path, work: CourseOnDisk, *options: str) -> Run:
    command = [sys.executable, str(kit / "check.py"), str(work.root), *options]
    done = subprocess.run(command, capture_output=True, text=True, cwd=work.root)
    return Run(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize(("old", "new", "code"), [("2.0)", "2)", 0), ("2.0)", "3.0)", 1)])
def test_right_work_passes_and_wrong_work_does_not(kit: Path, tmp_path: Path, old: str, new: str, code: int) -> None:
    work = CourseOnDisk(tmp_path).write({"ops.py": SOLUTION.replace(old, new)})
    for options in ([], ["--plain", "--case", "normalised"]):
        run = checked(kit, work, *options)
        assert run.code == code, run.out + run.err


def test_a_model_takes_goldsmith(kit: Path, tmp_path: Path) -> None:
    work = CourseOnDisk(tmp_path).write({"ops.py": SOLUTION.replace("sigmoid", "tanh")})
    run = checked(kit, work)
    assert run.code == 1
    assert "Gate" in run.out
    run = checked(kit, work, "--plain")
    assert run.code == 3
    assert "could not run: its model is not a torch module; install goldsmith to check it" in run.out
