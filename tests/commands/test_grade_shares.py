"""A class in shares, each graded by a machine that knows nothing of the others, and merged: byte for byte the class of
one machine, or refused."""

from __future__ import annotations

import csv
import io
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from goldsmith.courses.grade.class_results import ResultOptions, write_again
from goldsmith.courses.grade.merge_shares import merged
from goldsmith.courses.grade.moves import Moved
from goldsmith.courses.grade.run_record import Entry, RunRecord, encode, read_record
from goldsmith.errors.base import GoldsmithError
from goldsmith.errors.shares import PartUnreadable
from goldsmith.foundation.ignored_names import RUN_RECORD
from goldsmith.foundation.shares import Share
from goldsmith.workspace.snapshot import take_snapshot
from support.check_course import checked_course, hand_in
from support.course import COMMAND, CourseOnDisk, Run

WRONG = ("x - mean_of(x)", "x + mean_of(x)")
RAISES = ("return x * factor", "raise ValueError('not today')")


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    """A class of seven: two share a mistake, one raises, one is no archive, and one entry is no submission."""
    found = checked_course(tmp_path_factory.mktemp("shared") / "course")
    for name, *changes in [("ada",), ("bob", WRONG), ("cy", RAISES), ("dee", WRONG), ("eve",), ("flo", RAISES)]:
        hand_in(found, *changes, name=name)
    folder = handed_in(found)
    (folder / "gil.zip").write_bytes(b"no archive")
    (folder / "notes.txt").write_text("for staff")
    return found


def handed_in(course: CourseOnDisk) -> Path:
    return course.root.parent / "handed in"


def machine_of(course: CourseOnDisk, name: str) -> CourseOnDisk:
    """A machine with copies of its own of the course and of what was handed in, elsewhere, and no cached verdict."""
    place = course.root.parent / name
    shutil.copytree(course.root, place / "course", ignore=shutil.ignore_patterns(".goldsmith", "part*", "grades"))
    shutil.copytree(handed_in(course), place / "handed in")
    return CourseOnDisk(place / "course")


def grade(course: CourseOnDisk, *arguments: str) -> Run:
    return course.run("grade", "hw1", "../handed in", *arguments)


def share(course: CourseOnDisk, which: str, output: str = "part") -> Path:
    made = grade(course, "--shard", which, "--output", output)
    assert made.code == 0, made.out + made.err
    return course.root / output


@pytest.fixture(scope="module")
def parts(course: CourseOnDisk) -> list[Path]:
    return [share(machine_of(course, f"machine{number}"), f"{number}/3") for number in (1, 2, 3)]


def merge(course: CourseOnDisk, *parts: Path, to: Path | str = "merged") -> Run:
    return course.run("grade", "--merge", *map(str, parts), "--output", str(to))


def results_in(folder: Path) -> dict[str, bytes]:
    """Return every file but the record, without how long anything took, nor the digests of files that say so."""
    found = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    marks = found.pop(".written").decode().splitlines()
    found[".written"] = "\n".join(line for line in marks if line[66:] not in ("grades.csv", RUN_RECORD)).encode()
    del found[RUN_RECORD]
    rows = list(csv.DictReader(io.StringIO(found["grades.csv"].decode())))
    found["grades.csv"] = repr([{**row, "seconds": ""} for row in rows]).encode()
    return found


def facts_in(folder: Path) -> RunRecord:
    """Return the record without times, nor where the course was."""

    def timeless(entry: Entry) -> Entry:
        verdict = msgspec.structs.replace(record.judged(entry).verdict, seconds=0.0)
        return msgspec.structs.replace(entry, verdict=msgspec.msgpack.encode(verdict), seconds=0.0, coded_paths=())

    record = read_record(folder)
    return msgspec.structs.replace(record, entries=tuple(map(timeless, record.entries)))


def test_the_shares_of_a_class_merged_are_byte_for_byte_what_one_machine_writes(
    course: CourseOnDisk, parts: list[Path]
) -> None:
    whole = grade(course, "--output", "grades", "--html")
    made = course.run("grade", "--merge", *map(str, reversed(parts)), "--output", "merged", "--html")
    assert (whole.code, made.code) == (1, 1), made.out + made.err
    assert results_in(course.root / "merged") == results_in(course.root / "grades")
    assert facts_in(course.root / "merged") == facts_in(course.root / "grades")
    told = [run.out.replace("merged/", "grades/") for run in (whole, made)]
    assert told[0] == told[1]


def test_shares_are_disjoint_complete_and_of_one_size(parts: list[Path]) -> None:
    names = [list(read_record(part).seconds) for part in parts]
    assert sorted(name for some in names for name in some) == ["ada", "bob", "cy", "dee", "eve", "flo", "gil"]
    assert sorted(map(len, names)) == [2, 2, 3]


def test_a_share_writes_its_record_and_nothing_that_could_be_taken_for_the_class(parts: list[Path]) -> None:
    assert sorted(path.name for part in parts for path in part.iterdir()) == sorted(
        3 * [".gitignore", ".written", RUN_RECORD]
    )


@pytest.mark.parametrize(("copied", "told"), [({"bob"}, {"bob"}), ({"ada", "bob", "cy", "dee", "eve", "flo"}, set())])
def test_what_is_as_in_the_solution_is_counted_over_the_class_and_not_over_a_share(
    parts: list[Path], tmp_path: Path, copied: set[str], told: set[str]
) -> None:
    """Statements that one has are told of; those that everybody has are not, though few have them in each share."""
    places = {f"statement {number}": f"ops.py:{number}" for number in range(12)}
    for number, part in enumerate(parts):
        record = read_record(part)
        entries = [
            msgspec.structs.replace(item, alike={"ops.scale": places} if item.is_judged and item.name in copied else {})
            for item in record.entries
        ]
        statements = {"ops.scale": tuple(places)} if any(item.alike for item in entries) else {}
        (tmp_path / str(number)).mkdir()
        new = msgspec.structs.replace(record, entries=tuple(entries), statements=statements)
        (tmp_path / str(number) / RUN_RECORD).write_bytes(encode(new))
    found = write_again(merged(sorted(tmp_path.iterdir())), ResultOptions(tmp_path / "merged"))
    assert {grade.name for grade in found.grades if grade.similarity} == told


def test_shares_are_made_even_by_the_times_of_an_earlier_run(course: CourseOnDisk, parts: list[Path]) -> None:
    slow = course.root / "slow"
    taken = {"ada": 70.0, "bob": 20.0, "cy": 20.0, "dee": 20.0}
    known = merged([*parts])
    entries = [msgspec.structs.replace(item, seconds=taken.get(item.name, 0.5)) for item in known.entries]
    slow.mkdir()
    (slow / RUN_RECORD).write_bytes(encode(msgspec.structs.replace(known, entries=tuple(entries))))
    made = grade(course, "--shard", "1/2", "--output", "even", "--times", "slow")
    assert made.code == 0, made.err
    assert list(read_record(course.root / "even").seconds) == ["ada"]
    other = grade(course, "--shard", "2/2", "--output", "uneven", "--json").json
    assert (other["share"], len(other["submissions"])) == ("2/2", 3), "as many, by their names"
    refused = merge(course, course.root / "even", course.root / "uneven")
    assert (refused.code, "other times of an earlier run" in refused.err) == (3, True), refused.err


# --- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--shard", "0/4"], "from 1/4 to 4/4: they are counted from 1"),
        (["--shard", "5/4"], "from 1/4 to 4/4: they are counted from 1"),
        (["--shard", "1/0"], "K/N with 1 to 10,000 shares"),
        (["--shard", "a/b"], "K/N, such as 3/16"),
        (["--shard", "1/4"], "--shard needs --output"),
        (["--shard", ""], "--shard is empty; give K/N"),
        (["--shard", "1/4", "--output", "p", "--times", ""], "--times is empty"),
        (["--times", ""], "--times is empty"),
        (["--shard", "1/4", "--output", "p", "--fresh"], "leave out --fresh"),
        (["--shard", "1/4", "--output", "p", "--html"], "leave out --html"),
        (["--shard", "1/4", "--output", "p", "--verbose"], "leave out --verbose"),
        (["--shard", "1/4", "--output", "p", "--gradebook", "b.csv"], "leave out --gradebook"),
        (["--shard", "1/4", "--output", "p", "--format", "csv"], "give it to --merge"),
        (["--shard", "1/4", "--output", "p", "--format", "canvas"], "give it to --merge"),
        (["--shard", "1/4", "--output", "p", "--times", "nowhere"], "--times is nowhere"),
        (["--merge", "--fresh"], "leave out --fresh"),
        (["--merge", "--shard", "1/4", "--output", "p"], "leave out --shard"),
        (["--merge", "--jobs", "2"], "leave out --jobs"),
        (["--merge", "--format", "autolab"], "--format autolab is for one submission"),
    ],
)
def test_what_makes_no_sense_with_shares_is_bad_usage(course: CourseOnDisk, arguments: list[str], words: str) -> None:
    run = grade(course, *arguments)
    assert (run.code, words in " ".join(run.err.split())) == (2, True), run.err
    assert not (course.root / "p").exists()


def test_merge_without_folders_and_into_one_of_them_is_bad_usage(course: CourseOnDisk, parts: list[Path]) -> None:
    bare = course.run("grade", "--merge", "--output", "merged")
    assert (bare.code, "goldsmith grade --merge part*/" in bare.err) == (2, True)
    before = (parts[0] / RUN_RECORD).read_bytes()
    into = merge(course, *parts, to=parts[0])
    assert (into.code, "is one of the folders that are merged" in into.err) == (2, True)
    assert (parts[0] / RUN_RECORD).read_bytes() == before


Spoil = Callable[[list[Path], Path], list[Path]]


def edited(**changes: Any) -> Spoil:
    """The second part with other facts in its record, whose digest fits."""

    def spoil(parts: list[Path], room: Path) -> list[Path]:
        record = read_record(parts[1])
        ingredients = {name: value for name, value in changes.items() if name in record.ingredients.__struct_fields__}
        own = {name: value for name, value in changes.items() if name not in ingredients}
        new = msgspec.structs.replace(record.ingredients, **ingredients)
        (room / RUN_RECORD).write_bytes(encode(msgspec.structs.replace(record, ingredients=new, **own)))
        return [parts[0], room, parts[2]]

    return spoil


def cut(parts: list[Path], room: Path) -> list[Path]:
    (room / RUN_RECORD).write_bytes((parts[1] / RUN_RECORD).read_bytes()[:-9])
    return [parts[0], room, parts[2]]


def copied(parts: list[Path], room: Path) -> list[Path]:
    shutil.copy(parts[1] / RUN_RECORD, room)
    return [*parts, room]


def with_less(parts: list[Path], room: Path) -> list[Path]:
    record = read_record(parts[1])
    entries = [msgspec.structs.replace(item, verdict=b"") for item in record.entries]
    return edited(entries=tuple(entries))(parts, room)


def with_moved_points(parts: list[Path], room: Path) -> list[Path]:
    moved = Moved(was=9.0, of=9.0, now=0.0, score=9.0, kept=True)
    entries = [msgspec.structs.replace(item, moved=moved) for item in read_record(parts[1]).entries]
    return edited(entries=tuple(entries))(parts, room)


def with_a_share_that_nobody_has(parts: list[Path], room: Path) -> list[Path]:
    for number, part in enumerate(parts):
        record = read_record(part)
        entries = [msgspec.structs.replace(item, share=9, verdict=b"") for item in record.entries]
        (room / str(number)).mkdir()
        new = msgspec.structs.replace(record, entries=tuple(entries))
        (room / str(number) / RUN_RECORD).write_bytes(encode(new))
    return sorted(room.iterdir())


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda parts, room: parts[:2], r"share 3/3 is missing"),
        (lambda parts, room: parts[1:2], r"shares 1/3, 3/3 are missing"),
        (lambda parts, room: [*parts, parts[1]], r"machine2/course/part are both share 2/3"),
        (copied, r"machine2/course/part and \S+room are both share 2/3"),
        (lambda parts, room: [parts[0], room, parts[2]], r"room cannot be merged: it has no run.record"),
        (lambda parts, room: [parts[0], room / "x", parts[2]], r"room/x cannot be merged: there is no such folder"),
        (cut, r"room cannot be merged: .* cut off"),
        (with_less, r"room cannot be merged: it holds other work than that of share 2/3"),
        (with_a_share_that_nobody_has, r"room/0 cannot be merged: it holds other work"),
        (edited(share=None), r"room cannot be merged: it holds grades of a whole class"),
        (edited(share=Share(4, 3)), r"room cannot be merged: it holds other work"),
        (edited(share=Share(2, 10**9)), r"room cannot be merged: it holds other work"),
        (edited(share=Share(2, 4)), r"room does not belong with \S+part: .* another number of shares \(4, there 3\)"),
        (edited(assignment="hw2"), r"room does not belong .* another assignment \(hw2, there hw1\)"),
        (edited(sandbox="limits only"), r"room does not belong .* another sandbox \(limits only, there "),
        (edited(goldsmith="9.9"), r"room does not belong .* another goldsmith \(9.9, there "),
        (edited(packages=("torch 1",)), r"room does not belong .* other packages"),
        (edited(options={"memory": 1.0}), r"room does not belong .* another value of "),
        (edited(gold="0"), r"room does not belong .* another manifest of gold;"),
        (edited(recipe="0"), r"room does not belong .* another recipe;"),
        (with_moved_points, r"room cannot be merged: it says that points moved"),
        (edited(forbidden_costs=2.0), r"room does not belong .* another rubric;"),
    ],
)
def test_parts_that_are_not_one_class_are_refused_by_name(
    parts: list[Path], tmp_path: Path, spoil: Spoil, why: str
) -> None:
    (tmp_path / "room").mkdir()
    with pytest.raises(GoldsmithError, match=why) as refused:
        merged(spoil(parts, tmp_path / "room"))
    assert refused.value.exit_code == 3


def test_parts_of_another_goldsmith_are_merged_by_that_one(parts: list[Path], tmp_path: Path) -> None:
    for number, part in enumerate(parts):
        (tmp_path / str(number)).mkdir()
        record = read_record(part)
        old = msgspec.structs.replace(record.ingredients, goldsmith="0.0.1, method 1")
        (tmp_path / str(number) / RUN_RECORD).write_bytes(encode(msgspec.structs.replace(record, ingredients=old)))
    with pytest.raises(PartUnreadable, match=r"made by goldsmith 0.0.1, method 1, and this is"):
        merged(sorted(tmp_path.iterdir()))


def test_a_submission_that_changes_between_shares_is_named(course: CourseOnDisk, parts: list[Path]) -> None:
    late = machine_of(course, "late")
    (handed_in(late) / "eve/ops.py").write_text((handed_in(late) / "bob/ops.py").read_text())
    refused = merge(course, parts[0], parts[1], share(late, "3/3"))
    assert (refused.code, "late/course/part does not belong" in refused.err) == (3, True), refused.err
    assert "other files of eve;" in refused.err


@pytest.mark.long
def test_a_share_with_another_rubric_is_named(course: CourseOnDisk, parts: list[Path]) -> None:
    other = machine_of(course, "generous")
    with (other.root / "goldsmith.toml").open("a") as settings:
        settings.write("\n[assignment.hw1.rubric]\ncases = {centred = 5, scaled = 1}\n")
    refused = merge(course, share(other, "1/3"), *parts[1:])
    assert (refused.code, "generous/course/part does not belong" in refused.err) == (3, True), refused.err
    assert "it was made with another rubric;" in refused.err


def test_more_shares_than_submissions_leave_some_empty_and_merge_all_the_same(course: CourseOnDisk) -> None:
    folders = [course.root / f"of-one-{number}" for number in (1, 2)]
    for number, folder in enumerate(folders, start=1):
        alone = ("../handed in/ada", "--shard", f"{number}/2", "--output", folder.name)
        assert course.run("grade", "hw1", *alone).code == 0
    assert [len(read_record(folder).seconds) for folder in folders] == [1, 0]
    assert merge(course, *folders, to="of-one").code == 0
    assert len(read_record(course.root / "of-one").seconds) == 1


def test_a_share_that_is_interrupted_leaves_nothing_that_could_be_merged(
    course: CourseOnDisk, parts: list[Path]
) -> None:
    machine = machine_of(course, "killed")
    hand_in(machine, ("return x * factor", "while True: pass"), name="aaa")
    running = subprocess.Popen(
        [*COMMAND, "grade", "hw1", "../handed in", "--shard", "1/3", "--output", "part"], cwd=machine.root
    )
    while not (machine.root / "part/.written").exists():
        assert running.poll() is None
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    running.wait(timeout=60)
    refused = merge(course, machine.root / "part", *parts[1:])
    assert (refused.code, "did not come to an end" in refused.err) == (3, True), refused.err


def test_parts_are_only_read(course: CourseOnDisk, parts: list[Path], tmp_path: Path) -> None:
    before = {part: take_snapshot(part) for part in parts}
    for part in parts:
        part.chmod(0o555)
    try:
        assert merge(course, *parts, to=tmp_path / "merged").code == 1
    finally:
        for part in parts:
            part.chmod(0o755)
    assert {part: take_snapshot(part) for part in parts} == before


def test_a_share_that_cannot_be_written_is_not_judged_first(course: CourseOnDisk) -> None:
    (course.root / "a file").write_text("")
    run = grade(course, "--shard", "1/3", "--output", "a file/part")
    assert (run.code, "1/3  " in run.err) == (3, False), run.err


@pytest.mark.long
@pytest.mark.timeout(900)
def test_five_hundred_submissions_in_seven_shards_are_byte_for_byte_those_of_one_run(tmp_path: Path) -> None:
    """Many have handed in the same, so that each machine judges some twenty, and scores and writes all of its share."""
    large = checked_course(tmp_path / "large/course")
    kinds = [(), (WRONG,), (), (RAISES,), ()]
    for number in range(499):
        folder = Path(hand_in(large, *kinds[number % len(kinds)], name=f"student-{number * 7919 % 1000:03d}-{number}"))
        with (folder / "ops.py").open("a") as file:
            file.write(f"\n# as in group {number % 20}\n")
    (handed_in(large) / "zoe.zip").write_bytes(b"no archive")
    folders = [share(machine_of(large, f"machine{number}"), f"{number}/7") for number in range(1, 8)]
    assert [len(read_record(folder).seconds) for folder in folders] == [72, 72, 72, 71, 71, 71, 71]
    whole, made = grade(large, "--output", "grades"), merge(large, *folders)
    assert (whole.code, made.code) == (1, 1), made.out + made.err
    assert results_in(large.root / "merged") == results_in(large.root / "grades")
    assert facts_in(large.root / "merged") == facts_in(large.root / "grades")
    assert made.out.replace("merged/", "grades/") == whole.out
