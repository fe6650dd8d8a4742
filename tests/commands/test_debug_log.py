"""`--debug` logs what children are asked and how they ended; without it nothing is logged."""

from __future__ import annotations

import shutil

from support.course import CourseOnDisk


def test_debug_logs_jobs_and_exits(course: CourseOnDisk) -> None:
    run = course.run("generate", "hw1", "--yes", "--debug")
    assert run.code == 0
    assert "goldsmith.process.launcher: job record started in process" in run.err
    assert "ended with 0 after" in run.err
    shutil.rmtree(course.root / "tests/internal/fixtures/hw1")
    assert "goldsmith.process" not in course.run("generate", "hw1", "--yes").err
