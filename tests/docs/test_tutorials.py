"""A new user in an empty folder: the tutorials acted out as they are written, and what they promise is what comes."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.doc_pages import ROOT, act_out

NO_TORCH = """
import sys


class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name="torch")


sys.meta_path.insert(0, NoTorch())
"""
"""As if it were not installed, for every Python process that the commands start."""


def commands_of(ran: list[str]) -> set[str]:
    return {line.split()[1] for text in ran for line in text.splitlines() if line.startswith("goldsmith ")}


def test_a_new_user_gets_from_nothing_to_a_report(tmp_path: Path) -> None:
    ran = act_out(ROOT / "docs/tutorial.md", tmp_path, patience=False)
    assert commands_of(ran) == {"init", "status", "generate", "check", "guard"}


@pytest.mark.long  # in small, grades included: test_a_course_laid_out_otherwise_without_torch
def test_a_new_user_gets_from_nothing_to_grades(tmp_path: Path) -> None:
    ran = act_out(ROOT / "docs/tutorial.md", tmp_path)
    assert commands_of(ran) == {"init", "status", "generate", "check", "test", "rigor", "grade", "guard"}


def test_a_course_laid_out_otherwise_without_torch(tmp_path: Path) -> None:
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "sitecustomize.py").write_text(NO_TORCH)
    course = tmp_path / "course"
    course.mkdir()
    ran = act_out(ROOT / "docs/other-layouts.md", course, patience=False, PYTHONPATH=str(hidden))
    assert commands_of(ran) == {"status", "generate", "test", "rigor", "check", "grade", "guard"}
    assert not (course / "src").exists()


def test_torch_is_out_of_reach_there(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(NO_TORCH)
    page = tmp_path / "page.md"
    page.write_text("<!-- exits with 1 -->\n```python\nimport torch\n```\n")
    act_out(page, tmp_path, PYTHONPATH=str(tmp_path))


def test_what_a_page_promises_and_is_not_printed_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```bash\necho one; echo two\n```\n\n```text\none\nthree\n```\n")
    with pytest.raises(AssertionError, match="three"):
        act_out(page, tmp_path)
    page.write_text("```bash\nexit 3\n```\n")
    with pytest.raises(AssertionError, match="exit 3"):
        act_out(page, tmp_path)
