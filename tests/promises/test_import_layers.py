"""`make lint` notices an import that points up, and one that brings worker code into the parent."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def lint_imports(copy: Path) -> subprocess.CompletedProcess[str]:
    command = [Path(sys.executable).with_name("lint-imports"), "--no-cache", "--no-logo"]
    environment = os.environ | {"PYTHONPATH": str(copy / "src"), "NO_COLOR": "1"}
    return subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def add_import(copy: Path, file: str, module: str) -> None:
    path = copy / "src/goldsmith" / file
    path.write_text(f"{path.read_text()}\nimport {module}\n")


def test_the_code_as_it_is_keeps_every_contract(copy: Path) -> None:
    checked = lint_imports(copy)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "4 kept, 0 broken" in checked.stdout


def test_worker_code_in_the_parent_is_noticed(copy: Path) -> None:
    add_import(copy, "judge/verdicts.py", "goldsmith.worker.run_job")
    checked = lint_imports(copy)
    assert checked.returncode == 1
    assert "goldsmith.judge.verdicts -> goldsmith.worker.run_job" in checked.stdout


def test_worker_code_by_a_detour_is_noticed(copy: Path) -> None:
    (copy / "src/goldsmith/detour.py").write_text("import goldsmith.worker.run_job\n")
    add_import(copy, "courses/grade/grader.py", "goldsmith.detour")
    checked = lint_imports(copy)
    assert checked.returncode == 1
    assert "goldsmith.detour -> goldsmith.worker.run_job" in checked.stdout


def test_an_import_from_a_folder_above_is_noticed(copy: Path) -> None:
    add_import(copy, "gold/manifest.py", "goldsmith.render.columns")
    checked = lint_imports(copy)
    assert checked.returncode == 1
    assert "goldsmith.gold is not allowed to import goldsmith.render" in checked.stdout


def test_a_course_asked_from_the_core_is_noticed(copy: Path) -> None:
    add_import(copy, "check/check.py", "goldsmith.courses.layout.layout")
    checked = lint_imports(copy)
    assert checked.returncode == 1
    assert "goldsmith.check.check -> goldsmith.courses.layout.layout" in checked.stdout
