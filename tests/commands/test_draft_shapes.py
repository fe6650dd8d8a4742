"""Drafts of whole assignments, untouched: they make gold, which accepts other right solutions and no wrong one."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.course import CourseOnDisk
from support.draft_measure import BUNDLED, SHAPES, measure

PARTS = {
    "layers": 8,
    "policies": 5,
    "encoder": 7,
    "systems": 4,
    "bounds": 8,
    "scratch-1": 9,
    "scratch-2": 7,
    "scratch-3": 5,
}
AGREES = """
    import pytest

    pytestmark = [pytest.mark.rigor, pytest.mark.gold("{assignment}")]


    def test_case(gold_case):
        gold_case.assert_agrees()
"""


@pytest.mark.timeout(1800)
@pytest.mark.long  # in small: test_generate_kind_proved.py
@pytest.mark.parametrize("name", [*BUNDLED, *SHAPES])
def test_an_untouched_draft_accepts_twenty_right_solutions_and_no_wrong_one(name: str, tmp_path: Path) -> None:
    row = measure(name, tmp_path)
    assert row.parts >= PARTS[name]
    assert row.right >= 20
    assert not row.refused
    assert not row.missed
    if name in SHAPES:
        with_its_gold(CourseOnDisk(tmp_path / "course"), SHAPES[name].assignment)


def with_its_gold(course: CourseOnDisk, assignment: str) -> None:
    """Go on in a course whose draft has made gold: the guard is silent, its tests pass, and rigor says both numbers."""
    course.write({f"tests/internal/{assignment}/test_gold.py": AGREES.format(assignment=assignment)})
    course.git("add", "--all")
    course.git("commit", "--quiet", "-m", "Gold, and a test")  # the hook lets it through
    for command in (["guard"], ["test", assignment], ["generate", assignment, "--check"]):
        run = course.run(*command)
        assert run.code == 0, run.out + run.err
    run = course.run("rigor", assignment, "--max", "8", "--variants", "4", "--json", new_workers=True)
    assert run.code == 0, run.out + run.err
    (found,) = run.json["assignments"]
    assert found["score"] > 0.6, found
    assert found["variants"] > 2, found
    assert not found["refused"], found
