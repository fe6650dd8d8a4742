"""Mutants in shares, each tried by a machine that knows nothing of the others, and merged: the same findings as of one
machine, or refused."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

from goldsmith.errors.base import GoldsmithError
from goldsmith.foundation.ignored_names import RIGOR_RECORD
from goldsmith.mutants.record import RigorRecord, encode, merged, read_records
from support.check_course import checked_course
from support.course import RECIPE_FILE, CourseOnDisk, Run

FEW = ("--max", "5", "--variants", "1")


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    found = checked_course(tmp_path_factory.mktemp("mutants") / "course")
    with (found.root / "goldsmith.toml").open("a") as settings:
        settings.write('\n[assignment.hw1.survivors]\n"no/such-mutant" = "it is gone"\n')
    return found


def rigor(course: CourseOnDisk, *arguments: str) -> Run:
    return course.run("rigor", *arguments, "--json")


def machine_of(course: CourseOnDisk, name: str) -> CourseOnDisk:
    place = course.root.parent / name
    shutil.copytree(course.root, place, ignore=shutil.ignore_patterns(".goldsmith"))
    return CourseOnDisk(place)


@pytest.fixture(scope="module")
def parts(course: CourseOnDisk) -> list[Path]:
    found = []
    for number in (1, 2, 3):
        machine = machine_of(course, f"machine{number}")
        made = rigor(machine, "hw1", *FEW, "--shard", f"{number}/3", "--output", "part")
        assert (made.code, made.json["share"]) == (0, f"{number}/3"), made.out + made.err
        found.append(machine.root / "part")
    return found


def timeless(found: Any) -> Any:
    if isinstance(found, dict):
        return {name: timeless(item) for name, item in found.items() if name != "seconds"}
    return [timeless(item) for item in found] if isinstance(found, list | tuple) else found


def test_the_shares_merged_have_the_findings_of_one_machine(course: CourseOnDisk, parts: list[Path]) -> None:
    whole = rigor(course, "hw1", *FEW, "--output", "whole")
    made = rigor(course, "--merge", *map(str, reversed(parts)), "--output", "merged")
    assert made.code == whole.code, made.err
    assert timeless(made.json) == timeless(whole.json)
    assert len(whole.json["mutants"]) == 5
    assert {item["outcome"] for item in whole.json["mutants"]} >= {"killed", "survived"}
    (one,), (other,) = (read_records(course.root / name).values() for name in ("whole", "merged"))
    assert timeless(msgspec.to_builtins(one)) == timeless(msgspec.to_builtins(other))


def test_shares_have_different_mutants_and_all_of_them(parts: list[Path]) -> None:
    digests = [list(read_records(part)["hw1"].times) for part in parts]
    assert sorted(map(len, digests)) == [2, 2, 2]
    assert len({digest for some in digests for digest in some}) == 6


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"base": "0"}, r"room does not belong .* another solution, starter"),
        ({"cases": {}}, r"room does not belong .* another recipe or gold"),
        ({"goldsmith": "9"}, r"another goldsmith \(9, there "),
        ({"survivors": {}}, r"other explanations of survivors"),
        ({"pieces": ()}, r"other mutants"),
        ({"share": None}, r"room cannot be merged: it holds a whole measurement"),
        ({"assignment": "hw2"}, r"cannot be merged: it has no mutants of hw"),
    ],
)
def test_parts_that_are_not_one_measurement_are_refused_by_name(
    parts: list[Path], tmp_path: Path, changes: dict[str, Any], why: str
) -> None:
    (tmp_path / "room").mkdir()
    second: RigorRecord = read_records(parts[1])["hw1"]
    (tmp_path / "room" / RIGOR_RECORD).write_bytes(encode([msgspec.structs.replace(second, **changes)]))
    with pytest.raises(GoldsmithError, match=why) as refused:
        merged([parts[0], tmp_path / "room", parts[2]])
    assert refused.value.exit_code == 3


def test_missing_doubled_and_foreign_parts_are_refused(course: CourseOnDisk, parts: list[Path]) -> None:
    missing = rigor(course, "--merge", *map(str, parts[:2]))
    assert (missing.code, missing.json["error"]["kind"]) == (3, "shares-missing")
    doubled = rigor(course, "--merge", *map(str, parts), str(parts[0]))
    assert (doubled.code, doubled.json["error"]["kind"]) == (3, "shared-twice")
    empty = rigor(course, "--merge", *map(str, parts[:2]), str(course.root / "src"))
    assert (empty.code, "it has no rigor.record" in empty.err) == (3, True)


def test_neither_a_merge_nor_a_share_is_written_over_what_nobody_has_twice(
    course: CourseOnDisk, parts: list[Path], tmp_path: Path
) -> None:
    before = (parts[0] / RIGOR_RECORD).read_bytes()
    into = course.run("rigor", "--merge", *map(str, parts), "--output", str(parts[0]))
    assert (into.code, "is one of the folders that are merged" in into.err) == (2, True), into.err
    assert (parts[0] / RIGOR_RECORD).read_bytes() == before
    whole = encode(merged(parts))
    (tmp_path / RIGOR_RECORD).write_bytes(whole)
    over = course.run("rigor", "hw1", "--shard", "1/3", "--output", str(tmp_path))
    assert (over.code, "holds a whole measurement" in over.err) == (2, True), over.err
    assert (tmp_path / RIGOR_RECORD).read_bytes() == whole


@pytest.mark.long
def test_a_share_with_another_recipe_is_named(course: CourseOnDisk, parts: list[Path]) -> None:
    other = machine_of(course, "other")
    recipe = other.root / RECIPE_FILE
    recipe.write_text(recipe.read_text().replace("randn(3, 5)", "randn(3, 6)"))
    assert other.run("generate", "hw1").code == 0
    assert rigor(other, "hw1", *FEW, "--shard", "1/3", "--output", "part").code == 0
    refused = rigor(course, "--merge", str(other.root / "part"), *map(str, parts[1:]))
    assert (refused.code, "other/part does not belong" in refused.err) == (3, True), refused.err
    assert "another recipe or gold" in refused.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--shard", "4/3", "--output", "p"], "from 1/3 to 3/3: they are counted from 1"),
        (["--shard", "1/3"], "--shard needs --output"),
        (["--shard", "", "--output", "p"], "--shard is empty; give K/N"),
        (["--shard", "1/3", "--output", "p", "--times", ""], "--times is empty"),
        (["--shard", "1/3", "--output", "p", "--min", "0.5"], "leave out --min"),
        (["--shard", "1/3", "--output", "p", "--html", "page.html"], "leave out --html"),
        (["--merge", "--only", "scale"], "leave out --only"),
        (["--shard", "1/3", "--output", "p", "--times", "nowhere"], "--times is nowhere"),
        (["--times", "nowhere"], "--times is for --shard"),
    ],
)
def test_what_makes_no_sense_with_shares_of_mutants_is_bad_usage(
    course: CourseOnDisk, arguments: list[str], words: str
) -> None:
    run = course.run("rigor", "hw1", *arguments)
    assert (run.code, words in " ".join(run.err.split())) == (2, True), run.err
