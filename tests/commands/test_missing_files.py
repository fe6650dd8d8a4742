"""A file that was not submitted is the first thing said: to the student, to staff, in the table of the class."""

from __future__ import annotations

import csv
import textwrap
from pathlib import Path

import pytest

from support.course import RECIPE_FILE, CourseOnDisk, numpy_course

LAYERS = """
    import numpy as np


    def centre(x):
        # TODO
        raise NotImplementedError
"""
NETWORK = """
    from layers import centre
    from given import half


    def run(x):
        # TODO
        raise NotImplementedError
"""
SOLVED = {
    "layers": LAYERS.replace("# TODO\n        raise NotImplementedError", "return x - x.mean(axis=-1, keepdims=True)"),
    "network": NETWORK.replace("# TODO\n        raise NotImplementedError", "return half(centre(x)) * 3"),
}
RECIPE = """
    import numpy as np

    import goldsmith as gs
    from layers import centre
    from network import run


    @gs.case
    def centred(case):
        case.record("y", centre(case.input("x", lambda: np.random.randn(4, 7))))


    @gs.case
    def whole(case):
        case.record("y", run(case.input("x", lambda: np.random.randn(4, 7))))
"""


@pytest.fixture(scope="module")
def split(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    """A course whose assignment has two files to write, and one that is provided."""
    course = numpy_course(tmp_path_factory.mktemp("missing") / "course")
    home, solutions = "src/assignments/hw1", "private/solutions/hw1"
    for old in (course.root / home / "ops.py", *(course.root / solutions).iterdir()):
        old.unlink()
    files = {f"{home}/layers.py": LAYERS, f"{home}/network.py": NETWORK, RECIPE_FILE: RECIPE}
    files |= {f"{solutions}/{name}_solution.py": content for name, content in SOLVED.items()}
    return course.write({**files, f"{home}/given.py": "def half(x):\n    return x / 2\n"}).with_gold()


def hand_in(folder: Path, name: str, **files: str) -> Path:
    made = folder / name
    made.mkdir(parents=True)
    for stem, content in files.items():
        (made / f"{stem}.py").write_text(textwrap.dedent(content))
    return made


def test_check_says_first_that_a_file_is_missing(split: CourseOnDisk, tmp_path: Path) -> None:
    folder = hand_in(tmp_path, "ada", layers=SOLVED["layers"])
    for what in (folder, folder / "layers.py"):
        said = split.run("check", "hw1", str(what)).out.splitlines()[0]
        assert said.startswith(f"{what}: network.py is missing; the starter's was used. 1 of 2 cases could not run")
    (found,) = split.run("check", "hw1", str(folder), "--json").json["submissions"]
    assert found["missing"] == ["network.py"]
    comment = split.run("check", "hw1", str(folder), "--markdown").out
    assert "`network.py` is missing; the starter's was used." in comment


def test_a_provided_file_that_nobody_submits_is_no_more_than_a_note(split: CourseOnDisk, tmp_path: Path) -> None:
    said = split.run("check", "hw1", str(hand_in(tmp_path, "ada", **SOLVED))).out
    assert said.splitlines()[0].endswith(": agrees with the gold of hw1 in both cases.")
    assert "Note: given.py is not in it; the starter's was used." in said


def test_grading_says_first_that_a_file_is_missing(split: CourseOnDisk, tmp_path: Path) -> None:
    wrong = SOLVED["layers"].replace("x - x", "x + x")
    handed_in = tmp_path / "in"
    hand_in(handed_in, "half", layers=SOLVED["layers"])
    hand_in(handed_in, "half-again", layers=SOLVED["layers"] + "\n")
    hand_in(handed_in, "half-wrong", layers=wrong)
    hand_in(handed_in, "other-half", network=SOLVED["network"])
    out = tmp_path / "out"
    run = split.run("grade", "hw1", str(handed_in), "--output", str(out), "--html")
    table = {line.split()[0]: line for line in run.out.splitlines() if line.startswith(("half", "other"))}
    assert "network.py is missing; the starter's was used" in table["half"]
    assert "network.py is missing; the starter's was used; centre" in table["half-wrong"]
    assert "layers.py is missing; the starter's was used" in table["other-half"]
    assert (
        "Note: network.py is missing in 3 submissions; the starter's was used: half, half-again, half-wrong." in run.out
    )
    assert "    2  network.py is missing; the starter's was used\n       half, half-again\n" in run.out
    first = {name: (out / "feedback" / f"{name}.md").read_text().splitlines()[2] for name in table}
    assert first["half"] == "**Next step.** Submit `network.py`: it is missing, and the starter's was used."
    assert first["half-wrong"].startswith(f"{first['half']} As for what you submitted: look at `centre` first")
    assert first["other-half"].startswith("**Next step.** Submit `layers.py`")
    rows = {row["name"]: row["missing"] for row in csv.DictReader((out / "grades.csv").open())}
    assert rows == dict.fromkeys(("half", "half-again", "half-wrong"), "network.py") | {"other-half": "layers.py"}
    assert "network.py is missing; the starter&#39;s was used; centre" in (out / "class.html").read_text()
    page = (out / "feedback" / "half.html").read_text()
    assert "Submit <code>network.py</code>: it is missing" in page
