"""Whatever lies in a class folder, every entry is graded or left out for a reason, and nobody's bytes reach another."""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path

import pytest

from goldsmith.courses.grade.collection import Collected, collect
from goldsmith.courses.grade.grader import SUBMISSION_ERRNOS
from goldsmith.courses.grade.redaction import one_line
from goldsmith.courses.grade.submissions import SubmissionRef, opened
from goldsmith.courses.layout.layout import Assignment, find_course
from goldsmith.errors.base import GoldsmithError
from goldsmith.errors.grade import OneOrClass
from support.check_course import checked_course
from support.course import CourseOnDisk
from support.generated_classes import MARK, MadeClass, make_class

_LIKE_THE_ASSIGNMENTS = re.compile(r"z*(hw1|src|private|ops.*|.*\.ipynb)", re.I | re.S)


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    return checked_course(tmp_path_factory.mktemp("class folders") / "course")


def read(assignment: Assignment, made: MadeClass) -> Collected:
    """What is found in it, as staff would say it once they were asked."""
    try:
        found = collect(assignment, [str(made.folder)], [])
    except OneOrClass:
        assert any(map(_LIKE_THE_ASSIGNMENTS.fullmatch, made.entries)), "staff are asked for nothing"
        return collect(assignment, [str(made.folder)], [], reading="class")
    assert [item.what for item in found.items] != [str(made.folder)], "all of them were taken for one"
    return found


def placed(assignment: Assignment, item: SubmissionRef) -> list[bytes] | None:
    """Everything of a submission that is put into its workspace; None where it is refused with a reason."""
    try:
        with opened(assignment, item) as submission:
            return [content for file in submission.placed for content in (file.read(), file.source.read_bytes())]
    except GoldsmithError:
        return None
    except OSError as error:
        if error.errno in SUBMISSION_ERRNOS:
            return None
        raise


def names_in(item: SubmissionRef) -> list[str]:
    return [Path(what).name for what in item.together or (item.what,)]


def check_class(assignment: Assignment, made: MadeClass) -> None:
    assert sorted(os.listdir(made.folder)) == sorted(made.entries)
    found = read(assignment, made)
    accounted = Counter(one_line(name) for item in found.items for name in names_in(item))
    accounted += Counter(left.name for left in found.left_out)
    assert accounted == Counter(map(one_line, made.entries))
    assert all(left.why for left in found.left_out)
    assert len({item.name for item in found.items}) == len(found.items)
    for item in found.items:
        own = {made.entries[name] for name in names_in(item)}
        assert len(own) == 1, "the files of two people are one submission"
        contents = placed(assignment, item)
        marks = {int(mark) for content in contents or () for mark in re.findall(rf"{MARK}(\d+)".encode(), content)}
        assert marks <= own
        if made.honest.intersection(names_in(item)):
            assert marks == own, item.name


@pytest.mark.parametrize(
    "seeds", [range(25), *(pytest.param(range(i, i + 100), marks=pytest.mark.long) for i in range(0, 1000, 100))]
)
def test_nobody_is_lost_and_nobody_sees_another(course: CourseOnDisk, tmp_path: Path, seeds: range) -> None:
    assignment = find_course(course.root).assignment("hw1")
    for seed in seeds:
        made = make_class(tmp_path / f"class {seed}", seed)
        try:
            check_class(assignment, made)
        except Exception as error:
            raise AssertionError(f"class {seed}: {sorted(made.entries)}") from error


@pytest.mark.parametrize("seed", [2000, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2001, 2020))])
def test_a_graded_class_has_a_row_for_everybody(course: CourseOnDisk, tmp_path: Path, seed: int) -> None:
    made = make_class(tmp_path / "class", seed)
    run = course.run("grade", "hw1", str(made.folder), "--class", "--json", "--output", str(tmp_path / "grades"))
    assert run.code in (0, 1), run.err
    rows = {row["name"]: row for row in run.json["submissions"]}
    items = collect(find_course(course.root).assignment("hw1"), [str(made.folder)], [], reading="class").items
    assert sorted(rows) == sorted(one_line(item.name) for item in items)
    assert len(run.json["left_out"]) + sum(len(names_in(item)) for item in items) == len(made.entries)
    for item in items:
        if made.honest.intersection(names_in(item)):
            assert rows[item.name]["score"] == 3.0, rows[item.name]["reason"]
        else:
            assert rows[one_line(item.name)]["reason"]
