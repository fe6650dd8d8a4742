"""`make matrix`: the core of the tests on the oldest and the newest of what `pyproject.toml` allows.

Not part of CI: it downloads several versions of torch. What is to be had is run; a Python that is not installed is
skipped, with a note.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import nox

CORE = (
    "commands/test_generate",
    "unit/gold/test_gold_files",
    "unit/recipe/test_torch_recipes",
    "unit/gold/test_calibration",
    "unit/source_code/test_case_code",
    "commands/test_check",
    "unit/comparison/test_compare",
    "unit/comparison/test_compare_properties",
    "unit/comparison/test_compare_words",
    "commands/test_grade_scores",
    "commands/test_pytest_plugin",
    "commands/test_generate_again",
    "unit/sandbox/test_sandbox",
    "commands/test_generate_summary",
    "unit/weights/test_transplant",
    "docs/test_voice",
    "unit/workspace/test_copies",
)
"""Tests that take a few minutes and use every dependency."""
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
OLDEST = PYTHONS[0]
PYPROJECT = tomllib.loads(Path(__file__).with_name("pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
TEST = PYPROJECT["dependency-groups"]["test"]

nox.options.default_venv_backend = "venv"
nox.options.envdir = "build/matrix"
nox.options.error_on_missing_interpreters = False
nox.options.stop_on_first_error = False


def lowest(*extras: str) -> list[str]:
    """List the direct dependencies, of tests and of some extras too, at the lowest version that is allowed."""
    optional = [item for name in extras for item in PROJECT["optional-dependencies"][name]]
    wanted = [*PROJECT["dependencies"], *TEST, *optional]
    assert all(re.fullmatch(r"[\w-]+>=[\d.]+", item) for item in wanted), wanted
    return [item.replace(">=", "==") for item in wanted]


def run_core(session: nox.Session, *, torch: bool) -> None:
    """Run the core; without torch, those of its tests that do without."""
    files = [f"tests/{name}.py" for name in CORE]
    if not torch:
        files = [file for file in files if not re.search("^(import|from) torch", Path(file).read_text(), re.M)]
    marked = "not long" if torch else "not long and not torch"
    session.run("python", "-m", "pip", "list", "--format=freeze")
    session.run("python", "-m", "pytest", "-q", "-n", "2", "--dist", "loadgroup", "-m", marked, *files)


@nox.session(python=PYTHONS)
def python(session: nox.Session) -> None:
    """The newest of everything but torch, on each version of Python."""
    session.install("-e", ".[dask]", *TEST)
    run_core(session, torch=False)


@nox.session(python=OLDEST)
def lowest_versions(session: nox.Session) -> None:
    """The lowest version of every direct dependency, torch among them."""
    session.install("-e", ".[dask,torch]", *lowest("dask", "torch"))
    run_core(session, torch=True)


@nox.session(python=OLDEST)
def torch_oldest(session: nox.Session) -> None:
    """The oldest torch, and the newest of everything else."""
    session.install("-e", ".[dask,torch]", *TEST, *(item for item in lowest("torch") if item.startswith("torch==")))
    run_core(session, torch=True)


@nox.session(python=[OLDEST, "3.13"])
def torch_newest(session: nox.Session) -> None:
    """The newest of everything."""
    session.install("-e", ".[dask,torch]", *TEST)
    run_core(session, torch=True)
