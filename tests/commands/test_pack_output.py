"""Where a pack goes, and what its file is called."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from support.check_course import checked_course
from support.course import CourseOnDisk


@pytest.fixture
def copy(tmp_path: Path) -> CourseOnDisk:
    return checked_course(tmp_path / "course")


def test_it_goes_by_default_where_only_staff_look_also_if_the_solutions_are_elsewhere(copy: CourseOnDisk) -> None:
    (copy.root / "private/solutions").rename(copy.root / "answers")
    copy.write({"goldsmith.toml": 'solutions = "answers"\n'})
    assert copy.run("generate", "hw1").code == 0
    run = copy.run("pack", "gradescope", "hw1", "--json")
    assert run.code == 0, run.err
    assert run.json["assignments"][0]["files"] == [str(copy.root / "private/packs/hw1-gradescope.zip")]
    assert "private/packs" not in copy.run("guard").out


def test_what_gradescope_takes_ends_in_zip_whatever_is_asked_for(copy: CourseOnDisk, tmp_path: Path) -> None:
    for output, written in (
        (tmp_path, "hw1-gradescope.zip"),
        (tmp_path / "grader", "grader.zip"),
        (tmp_path / "a.zip", "a.zip"),
    ):
        run = copy.run("pack", "gradescope", "hw1", "--output", str(output))
        assert run.code == 0, run.err
        assert zipfile.is_zipfile(tmp_path / written), run.out
