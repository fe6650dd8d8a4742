"""`--format`: what a command finds, in the formats of one list and in those that others install."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from goldsmith.cli.reports import FORMATS, formats_of
from support.check_course import checked_course, hand_in
from support.course import CourseOnDisk

COMMANDS = ("status", "verify", "check", "doctor", "guard")


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    return checked_course(tmp_path_factory.mktemp("formats") / "course")


def arguments(command: str) -> list[str]:
    return [command, *(["hw1"] if command in ("verify", "check") else [])]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_same_items_are_in_json_csv_junit_and_markdown(course: CourseOnDisk, command: str) -> None:
    said = course.run(*arguments(command), "--format", "json")
    assert said.json.keys() == course.run(*arguments(command), "--json").json.keys()
    items = next(value for value in said.json.values() if isinstance(value, list))
    table = course.run(*arguments(command), "--format", "csv")
    assert [row["name"] for row in csv.DictReader(io.StringIO(table.out))] == [item["name"] for item in items]
    tests = ElementTree.fromstring(course.run(*arguments(command), "--format", "junit").out)
    cases = [case for item in items for case in item.get("cases", ())] or items
    assert [test.get("name") for test in tests.iter("testcase")] == [case["name"] for case in cases]
    assert bool(list(tests.iter("failure")) or list(tests.iter("error"))) != said.json["ok"]
    assert (table.code, said.json["ok"]) == (said.code, said.code == 0)
    words = course.run(*arguments(command), "--format", "markdown").out
    assert words.startswith("### ")


def test_a_file_is_written_besides_the_screen_and_replaces_only_a_report(course: CourseOnDisk, tmp_path: Path) -> None:
    file = tmp_path / "status.xml"
    shown = course.run("status", "--format", f"junit={file}")
    assert shown.out == course.run("status").out
    assert ElementTree.parse(file).getroot().get("name") == "goldsmith status"
    assert course.run("status", "--format", f"junit={file}").code == 0
    file.write_text("mine")
    refused = course.run("status", "--format", f"junit={file}")
    assert (refused.code, file.read_text()) == (2, "mine")


def test_a_command_line_that_cannot_be_understood_is_told_in_json_too(course: CourseOnDisk) -> None:
    for asked in (["--json"], ["--format", "json"], ["--format=json"]):
        run = course.run("status", *asked, "--frmat")
        assert run.code == 2
        assert json.loads(run.out)["error"]["kind"] == "bad-usage"


def test_what_is_no_format_here_is_refused_with_the_nearest(course: CourseOnDisk) -> None:
    assert "did you mean markdown?" in course.run("status", "--format", "markdwn").err
    assert "there is no format html" in course.run("status", "--format", "html").err, "there is no such page"
    both = course.run("status", "--format", "csv", "--json")
    assert (both.code, "cannot both go to standard output" in both.err) == (2, True)


def test_an_installed_format_gets_the_object_that_json_prints(course: CourseOnDisk, tmp_path: Path) -> None:
    (tmp_path / "tap.py").write_text(
        "def render(found):\n"
        "    return '\\n'.join(f\"ok - {item['name']} {item['outcome']}\" for item in found['assignments'])\n"
    )
    (tmp_path / "tap-1.0.dist-info").mkdir()
    (tmp_path / "tap-1.0.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: tap\nVersion: 1.0\n")
    (tmp_path / "tap-1.0.dist-info/entry_points.txt").write_text("[goldsmith.reports]\ntap = tap:render\n")
    run = course.run("status", "--format", "tap", PYTHONPATH=str(tmp_path))
    assert run.out == "ok - hw1 fresh\n"


def test_a_class_has_its_own_table(course: CourseOnDisk, tmp_path: Path) -> None:
    ada = hand_in(course)
    run = course.run("grade", "hw1", ada, "--output", str(tmp_path / "out"), "--format", "csv")
    assert run.out == (tmp_path / "out/grades.csv").read_text()


def test_every_format_says_for_which_results_it_is() -> None:
    assert list(FORMATS) == formats_of("verdict")
    assert "html" not in formats_of("status")
