"""`--html`: a page of what `check` and `parity` found."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.course import CourseOnDisk
from support.project import RECIPE, project

pytestmark = pytest.mark.xdist_group("record")
WRONG = "def half(x):\n    return 0.5 * x\n\n\ndef scale(x):\n    return half(x) + 3.5\n"


@pytest.fixture
def lone(tmp_path: Path) -> CourseOnDisk:
    return project(tmp_path / "a repo").with_gold(RECIPE)


def test_check_writes_a_page_next_to_what_it_prints(lone: CourseOnDisk, tmp_path: Path) -> None:
    lone.write({"src/oldpkg/scaling.py": WRONG})
    page = tmp_path / "a page.html"
    run = lone.run("check", RECIPE, "--html", str(page))
    assert run.code == 1
    assert f"Wrote {page}; open it in a browser." in run.err
    text = page.read_text()
    assert "scale is the first to go wrong" in text
    assert "return half(x) + 3.5" in text
    assert "data:image/png" in text
    assert lone.run("check", RECIPE, "--html", str(page), "--json").json["ok"] is False


def test_a_file_that_is_not_a_page_is_never_replaced(lone: CourseOnDisk, tmp_path: Path) -> None:
    mine = tmp_path / "mine.html"
    mine.write_text("my own")
    run = lone.run("check", RECIPE, "--html", str(mine))
    assert run.code == 2
    assert "--html" in run.err
    assert mine.read_text() == "my own"


def test_diff_writes_a_page(lone: CourseOnDisk, tmp_path: Path) -> None:
    lone.write({"src/oldpkg/scaling.py": WRONG})
    run = lone.run("diff", RECIPE, "--html", str(tmp_path / "diff.html"))
    assert run.code == 1
    assert "changed by regenerating" in (tmp_path / "diff.html").read_text()
