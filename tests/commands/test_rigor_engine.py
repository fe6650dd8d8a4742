"""`rigor` on a Dask cluster: the same findings as on this machine."""

from __future__ import annotations

from typing import Any

import pytest

from support.check_course import checked_course
from support.course import CourseOnDisk, Run

pytest.importorskip("distributed")
pytest.importorskip("cryptography")


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    return checked_course(tmp_path_factory.mktemp("rigor") / "course")


@pytest.mark.long
def test_rigor_on_a_cluster_finds_what_it_finds_here_and_keeps_it_here(course: CourseOnDisk) -> None:
    def found(run: Run) -> list[dict[str, Any]]:
        return [{key: value for key, value in item.items() if key != "seconds"} for item in run.json["mutants"]]

    options = ["rigor", "hw1", "--json", "--max", "6", "--variants", "2"]
    here = course.run(*options, "--again")
    there = course.run(*options, "--again", "--engine", "dask", "--jobs", "2")
    assert (there.code, found(there)) == (here.code, found(here)), there.err
    kept = course.run(*options)
    assert found(kept) == found(there)
    assert "8 mutants known from before, 0 to be tried" in " ".join(kept.err.split())


def test_internal_tests_do_not_travel(course: CourseOnDisk) -> None:
    run = course.run("rigor", "hw1", "--baselines", "--engine", "dask")
    assert run.code == 2
    assert "--baselines runs the course's internal tests, which stay here: leave it out" in " ".join(
        run.err.replace("│", " ").split()
    )
