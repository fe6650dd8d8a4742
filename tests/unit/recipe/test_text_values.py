"""Text and bytes are inputs and outputs like any other: recorded, kept, compared, told, and worth points."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import goldsmith
from goldsmith.comparison.leaf_result import first_difference, place_in_text
from goldsmith.gold.files import read_payload, write_payload
from goldsmith.process.result_log import RecordedRun
from support.course import CourseOnDisk, edited, exercise, numpy_course

SOLUTION = """
    def split(text):
        return text.split()


    def pack(words):
        return b"".join(len(word).to_bytes(1, "big") + word.encode() for word in words)


    def shout(text):
        return "\\n".join(line.upper() + "!" for line in text.splitlines())
"""
RECIPE = """
    {torch}import goldsmith as gs
    from ops import pack, shout, split


    @gs.case(points=2)
    def loud(case):
        case.record("said", shout(case.input("text", "one line\\nand another\\nand a third")))


    @gs.case(points=3)
    def packed(case):
        raw = case.input("raw", lambda: bytes([104, 105, 32, 206, 169, 32, 98]))
        words = split(raw.decode())
        case.record("words", words)
        case.record("packed", {{"all": pack(words), "none": pack([])}})


    @gs.case(points=1)
    def lone_bytes(case):
        case.record("packed", pack(case.input("words", ["a", "bc"])))
"""


def made(folder: Path, *, torch: bool) -> CourseOnDisk:
    course = numpy_course(folder / "course")
    course.write(exercise(SOLUTION, RECIPE.format(torch="import torch  # noqa\n    " if torch else "")))
    return course.with_gold(calibrate=True)


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    return made(tmp_path_factory.mktemp("texts"), torch=False)


def submission(folder: Path, *changes: tuple[str, str]) -> str:
    folder.mkdir(exist_ok=True)
    (folder / "ops.py").write_text(edited(SOLUTION, *changes))
    return str(folder)


@pytest.mark.parametrize("torch", [False, pytest.param(True, marks=pytest.mark.long)])
def test_text_and_bytes_make_gold_that_the_solution_agrees_with(tmp_path: Path, torch: bool) -> None:
    course = made(tmp_path, torch=torch)
    gold = {path.stem: read_payload(path) for path in course.gold().glob("*.pt" if torch else "*.npz")}
    assert gold["packed"]["input"] == b"hi \xce\xa9 b"
    assert gold["packed"]["output"]["packed"]["all"] == b"\x02hi\x01\xce\xa9\x01b"
    assert gold["lone_bytes"]["output"] == b"\x01a\x02bc"
    run = course.run("check", "hw1", submission(tmp_path / "right"))
    assert run.code == 0, run.out + run.err
    before = course.gold_bytes()
    assert course.run("generate", "hw1", "--force", calibrate=True).code == 0
    assert course.gold_bytes() == before
    assert course.run("verify", "hw1").code == 0


def test_what_is_another_text_is_told_by_its_first_difference(course: CourseOnDisk, tmp_path: Path) -> None:
    wrong = submission(tmp_path / "wrong", ('+ "!"', '+ "?"'))
    run = course.run("check", "hw1", wrong)
    assert run.code == 1
    assert "first differs at character 9, where it has '?\\nAND" in run.out
    assert "gold has '!\\nAND" in run.out
    shown = course.run("check", "hw1", wrong, "--markdown").out
    assert "first differs at character 9" in shown
    assert "gold has" not in shown
    assert "gold has" in course.run("check", "hw1", wrong, "--markdown", "--reveal").out


def test_what_is_other_bytes_is_wrong_and_so_is_text_for_bytes(course: CourseOnDisk, tmp_path: Path) -> None:
    big = submission(tmp_path / "big", ('to_bytes(1, "big")', 'to_bytes(2, "big")'))
    run = course.run("check", "hw1", big)
    assert run.code == 1
    assert "first differs at byte 1, where it has b'\\x00" in run.out
    joined = ('b"".join', '"".join'), ('len(word).to_bytes(1, "big") + word.encode()', "word")
    text = submission(tmp_path / "text", *joined)
    run = course.run("check", "hw1", text)
    assert run.code == 1
    assert "is str, not bytes" in run.out


def test_cases_of_text_are_worth_their_points(course: CourseOnDisk, tmp_path: Path) -> None:
    handed_in = tmp_path / "class"
    handed_in.mkdir()
    submission(handed_in / "right")
    submission(handed_in / "wrong", ('+ "!"', '+ "?"'))
    run = course.run("grade", "hw1", str(handed_in), "--output", str(tmp_path / "grades"), "--json")
    found = {item["name"]: item["score"] for item in run.json["submissions"]}
    assert found == {"right": 6.0, "wrong": 4.0}, run.out + run.err


def test_an_empty_text_alone_is_no_gold(tmp_path: Path) -> None:
    course = numpy_course(tmp_path / "course")
    recipe = RECIPE.format(torch="").replace('"one line\\nand another\\nand a third"', '""')
    course.write(exercise(SOLUTION, recipe))
    run = course.run("generate", "hw1")
    assert run.code == 3
    assert "is empty; it can tell no implementation from another" in run.out + run.err


def test_text_that_comes_back_as_it_went_in_is_advised_against(tmp_path: Path) -> None:
    course = numpy_course(tmp_path / "course")
    recipe = RECIPE.format(torch="").replace('shout(case.input("text"', '(lambda text: text)(case.input("text"')
    course.write(exercise(SOLUTION, recipe))
    run = course.run("generate", "hw1", "--json")
    assert run.code == 0, run.out + run.err
    assert "output-equals-input:loud" in run.out


def test_a_change_of_text_or_bytes_is_shown(tmp_path: Path) -> None:
    course = made(tmp_path, torch=False)
    changed = SOLUTION.replace('to_bytes(1, "big")', 'to_bytes(2, "big")')
    course.write({"private/solutions/hw1/ops_solution.py": changed})
    run = course.run("diff", "hw1")
    assert run.code == 1, run.out + run.err
    assert "b'\\x01a\\x02bc'" in run.out


@given(st.text() | st.binary(), st.text() | st.binary())
def test_the_first_difference_is_the_first(one: str | bytes, two: str | bytes) -> None:
    if type(one) is not type(two) or one == two:
        return
    place = first_difference(one, two)
    assert place is not None
    assert one[:place] == two[:place]
    assert one[place : place + 1] != two[place : place + 1]
    assert goldsmith.compare(one, two).leaves[0].index == (place,)


def test_a_place_is_counted_as_people_do() -> None:
    assert place_in_text("abc", 0) == "character 1"
    assert place_in_text("ab\ncd", 4) == "line 2, character 2"
    assert place_in_text(b"abc", 2) == "byte 3"


TEXTS = st.text() | st.binary() | st.sampled_from(["@array:x", "@bytes:", "@text:a"])
PLAIN = st.none() | st.booleans() | st.integers(-9, 9) | TEXTS


@settings(deadline=None, max_examples=50)
@given(st.dictionaries(st.sampled_from("abc"), st.lists(PLAIN, max_size=3) | PLAIN), st.sampled_from([".pt", ".npz"]))
def test_texts_and_bytes_come_back_from_files_and_messages(payload: dict[str, Any], suffix: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        assert read_payload(write_payload(payload, Path(folder) / "x", suffix)) == payload
    plain = {name: item for name, item in payload.items() if not isinstance(item, list)}
    assert msgspec.json.decode(RecordedRun(plain=plain).as_json(), type=RecordedRun).plain == plain


def test_forged_bytes_are_no_run() -> None:
    for forged in ('{"other": 1}', '{"bytes": 1}', '{"bytes": "?"}'):
        with pytest.raises((ValueError, KeyError)):
            msgspec.json.decode(f'{{"plain": {{"a": {forged}}}}}', type=RecordedRun)
