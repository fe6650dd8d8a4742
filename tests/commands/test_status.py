"""`goldsmith status --check`, for hooks and CI. What status says is tested where gold becomes stale."""

from __future__ import annotations

from pathlib import Path

from support.course import SOLUTION_FILE, numpy_course


def test_status_exits_with_one_only_if_that_was_asked(tmp_path: Path) -> None:
    course = numpy_course(tmp_path)
    assert course.run("status").code == 0
    assert course.run("status", "--check").code == 1
    course.run("generate", "hw1")
    assert course.run("status", "--check").code == 0
    with (tmp_path / SOLUTION_FILE).open("a") as file:
        file.write("\n\ndef more():\n    return 1\n")
    run = course.run("status", "--check", "--json")
    assert (run.code, run.json["ok"], run.json["assignments"][0]["outcome"]) == (1, False, "stale")
    assert course.run("status", "hw1", "--json").json["ok"] is True
