"""The record that `grade` leaves next to the grades: what a run was made of and what it found, from which the class can
be written again without running anything."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from goldsmith.courses.grade.class_results import ResultOptions, write_again
from goldsmith.courses.grade.run_record import RunRecord, read_record
from goldsmith.courses.layout.layout import find_course
from goldsmith.courses.layout.resolve import resolve
from goldsmith.foundation.ignored_names import RUN_RECORD
from goldsmith.foundation.sealed_files import NotSealed, seal
from goldsmith.html_report.class_page import ClassPages
from goldsmith.workspace.copies import make_workspaces
from support.check_course import checked_course, hand_in
from support.course import CourseOnDisk

WRONG = ("x - mean_of(x)", "x + mean_of(x)")


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    """A course with a class of four, one of them with a name that is no text, and one that cannot be opened; graded."""
    found = checked_course(tmp_path_factory.mktemp("recorded") / "course")
    hand_in(found, name="ada")
    folder = Path(hand_in(found, WRONG, name="bob")).parent
    Path(hand_in(found, WRONG, name="cy")).rename(folder / os.fsdecode(b"cy\xff"))
    (folder / "dee.zip").write_bytes(b"no archive")
    made = found.run("grade", "hw1", str(folder), "--html", "--output", "grades")
    assert made.code == 1, made.out + made.err
    return found


@pytest.fixture(scope="module")
def record(course: CourseOnDisk) -> RunRecord:
    return read_record(course.root / "grades")


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_class_written_from_its_record_is_the_same_to_the_last_byte(
    course: CourseOnDisk, record: RunRecord, tmp_path: Path
) -> None:
    write_again(record, ResultOptions(tmp_path / "again", pages=ClassPages()))
    assert files_of(tmp_path / "again") == files_of(course.root / "grades")


def test_a_record_says_what_was_found_of_whom_and_what_it_depends_on(record: RunRecord) -> None:
    assert [os.fsencode(name) for name in record.names] == [b"ada", b"bob", b"cy\xff", b"dee"]
    outcomes = [record.judged(entry).verdict.outcome for entry in record.entries]
    assert outcomes == ["agrees", "differs", "differs", "could-not-run"]
    ada, bob, cy, dee = record.entries
    assert bob.digest == cy.digest != ada.digest
    assert not dee.digest
    assert record.seconds["ada"] > 0
    assert record.ingredients.options["memory"] == 6.0
    assert record.ingredients.packages[0].startswith("Python 3")


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda content: content[:-20], "cut off"),
        (lambda content: content[:300] + bytes([content[300] ^ 1]) + content[301:], "damaged|changed"),
        (lambda content: content + b"more", "changed"),
        (lambda content: content.replace(b" record 1 ", b" record 2 ", 1), "version 2"),
        (lambda content: content.replace(b" record 1 ", b" part 1 ", 1), "not a run record"),
        (lambda content: b"", "not a run record"),
        (lambda content: seal("run record", 1, b"\x81\xa1a\x01"), "not a run record"),
        (lambda content: content[: content.index(b"\n") + 1] + zlib.compress(bytes(2**24)), "cut off|changed"),
    ],
)
def test_a_record_that_is_not_as_it_was_written_is_refused(
    course: CourseOnDisk, tmp_path: Path, spoil: Callable[[bytes], bytes], why: str
) -> None:
    (tmp_path / RUN_RECORD).write_bytes(spoil((course.root / "grades" / RUN_RECORD).read_bytes()))
    with pytest.raises(NotSealed, match=why):
        read_record(tmp_path)


@pytest.mark.parametrize(
    "changes",
    [
        {"verdict": zlib.compress(msgspec.msgpack.encode({"name": 1}))},
        {"verdict": zlib.compress(b"\xc1")},
        {"verdict": zlib.compress(bytes(2**27))},
        {"verdict": b"no zlib"},
        {"alike": {"ops.nothing": {"a": "b"}}},
        {"coded_name": b"\xff"},
        {"coded_paths": (b"\xff",)},
        {"seconds": "long"},
    ],
)
def test_all_of_a_record_is_looked_at_when_it_is_read(
    record: RunRecord, tmp_path: Path, changes: dict[str, Any]
) -> None:
    plain = msgspec.to_builtins(record, builtin_types=(bytes,))
    plain["entries"] = [*plain["entries"][:-1], plain["entries"][-1] | changes]
    (tmp_path / RUN_RECORD).write_bytes(seal("run record", 1, msgspec.msgpack.encode(plain)))
    with pytest.raises(NotSealed, match="not a run record"):
        read_record(tmp_path)


def test_no_submission_can_read_the_record(course: CourseOnDisk) -> None:
    """It lies below the course, in a folder of any name, and is not copied to where submissions run."""
    with make_workspaces(resolve(find_course(course.root).assignment("hw1")), (), 1, whole=True) as (workspace,):
        assert not list(workspace.root.rglob(RUN_RECORD))
