"""Points for Canvas and Autolab: in the right rows, with every other byte as it was, or nothing at all."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldsmith.courses.grade.canvas import CanvasMerge, CanvasPlan
from goldsmith.courses.grade.csv_cells import cells_of, with_cells
from goldsmith.courses.grade.grades import grade
from goldsmith.courses.grade.result_files import autolab_line
from goldsmith.courses.layout.layout import find_course
from goldsmith.errors.base import GoldsmithError
from goldsmith.judge.verdicts import ForbiddenUse
from support.check_course import checked_course, hand_in
from support.course import CourseOnDisk
from support.made_verdicts import case, rubric, verdict

HEAD = "Student,ID,SIS User ID,SIS Login ID,Section,Notes,hw1 (777),hw2 (778),hw2 (779),Current Score,Final Score"
POSSIBLE = "    Points Possible,,,,,,3.00,10.00,10.00,(read only),(read only)"
ADA = '"Lovelace, ""Ada""",101,s1,ada@uni.example,"A, B",=1+1,,5.00,,,'
BOB = '"Kim, Min",102,s2,bob,A,,,N/A,EX,,'
CY = '"Kim, Min",103,s3,cy,A,,1.5,,,,'
DEE = '"Turing, Alan",104,,dee,A,,,,,,'
TEST = '"Student, Test",199,,5f1c9,A,,,,,,'


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    return checked_course(tmp_path_factory.mktemp("canvas") / "course")


def gradebook(folder: Path, *rows: str, head: str = HEAD, end: str = "\r\n", mark: str = "\ufeff") -> Path:
    path = folder / "Grades.csv"
    path.write_bytes((mark + end.join([head, POSSIBLE, *rows]) + end).encode())
    return path


def merged(
    course: CourseOnDisk, path: Path, names: Sequence[str], column: str = "", names_file: Path | None = None
) -> tuple[str, CanvasMerge]:
    """The gradebook with points for submissions of these names, each of which agrees."""
    assignment = find_course(course.root).assignment("hw1")
    plan = CanvasPlan.of(path, assignment, names, column, names_file)
    content, result = plan.merge([grade(verdict(case("norm"), name=name), rubric()) for name in names])
    return content.decode(), result


def refused(
    course: CourseOnDisk, path: Path, names: Sequence[str], column: str = "", names_file: Path | None = None
) -> str:
    with pytest.raises(GoldsmithError) as found:
        merged(course, path, names, column, names_file)
    assert found.value.exit_code == 2
    return str(found.value)


def points(text: str, column: int = 6) -> dict[str, str]:
    return {row[1]: row[column] for row in csv.reader(io.StringIO(text)) if len(row) > column and row[1].isdigit()}


# --- the command ----------------------------------------------------------------------------------------------------


def test_a_class_is_graded_into_the_gradebook(course: CourseOnDisk, tmp_path: Path) -> None:
    submissions = [
        hand_in(course, name="lovelaceada_101_9001_hw1"),
        hand_in(course, ("x - mean_of(x)", "x + mean_of(x)"), name="kimmin_LATE_102_9002_hw1-1"),
        hand_in(course, ("return x * factor", "raise ValueError('no')"), name="cy"),
    ]
    book = gradebook(tmp_path, ADA, BOB, CY, DEE, TEST)
    before = book.read_bytes()
    options = ["--format", "canvas", "--gradebook", str(book)]
    run = course.run("grade", "hw1", *submissions, *options, "--json", "--output", str(tmp_path / "out"))
    assert run.code == 1, run.err
    written = (tmp_path / "out/canvas.csv").read_bytes()
    assert book.read_bytes() == before
    assert points(written.decode()) == {"101": "3", "102": "2", "103": "2", "104": "", "199": ""}
    now = (
        before.replace(b'A, B",=1+1,,', b'A, B",=1+1,3,').replace(b"bob,A,,,", b"bob,A,,2,").replace(b",,1.5,", b",,2,")
    )
    assert written == now, "only three cells differ"
    found = run.json["canvas"]
    assert (found["column"], found["filled"], found["note"]) == ("hw1 (777)", 3, "")
    assert found["without_submission"] == ["Turing, Alan (104)"]
    prose = course.run("grade", "hw1", *submissions, *options, "--output", str(tmp_path / "out"))
    assert prose.out.endswith("canvas.csv in Canvas: Grades, Import.\n")
    assert "left as they were: Turing, Alan (104).\n" in prose.out
    later = course.run("grade", "hw1", *submissions, "--output", str(tmp_path / "out"))
    assert later.code == 1
    assert not (tmp_path / "out/canvas.csv").exists(), "it would no longer belong to the table next to it"
    assert (tmp_path / "out/earlier/1/canvas.csv").read_bytes() == written


@pytest.mark.parametrize("name", ["lovelaceada_101_9001_ops.py", "love_lace_LATE_101_9001_ops-2.py"])
def test_a_file_that_canvas_renamed_is_taken_for_what_it_was(course: CourseOnDisk, tmp_path: Path, name: str) -> None:
    shutil.copy(Path(hand_in(course), "ops.py"), tmp_path / name)
    book = gradebook(tmp_path, ADA, BOB)
    options = ["--format", "canvas", "--gradebook", str(book), "--output", str(tmp_path / "out")]
    run = course.run("grade", "hw1", str(tmp_path / name), *options)
    assert run.code == 0, run.out + run.err
    assert points((tmp_path / "out/canvas.csv").read_text()) == {"101": "3", "102": ""}


def test_files_of_one_student_are_put_together_and_no_others(course: CourseOnDisk, tmp_path: Path) -> None:
    folder = tmp_path / "download"
    folder.mkdir()
    right = Path(hand_in(course), "ops.py").read_text()
    own = right.replace("x - mean_of(x)", "minus(x, mean_of(x))").replace(
        "import numpy", "from helpers import minus\nimport numpy"
    )
    (folder / "lovelaceada_101_9001_ops-1.py").write_text(own)
    (folder / "lovelaceada_101_9002_helpers.py").write_text("def minus(a, b):\n    return a - b\n")
    (folder / "kimmin_102_9003_ops.py").write_text(right)
    (folder / "kimmin_103_9004_ops.py").write_text(right)
    (folder / "kimmin_103_9005_ops-1.py").write_text(right.replace("x * factor", "x + factor"))
    book = gradebook(tmp_path, ADA, BOB, CY)
    options = ["--format", "canvas", "--gradebook", str(book), "--output", str(tmp_path / "out")]
    run = course.run("grade", "hw1", str(folder), *options)
    assert points((tmp_path / "out/canvas.csv").read_text()) == {"101": "3", "102": "3", "103": "3"}, run.out
    assert "ops-1.py was not used: `ops.py` was" in (tmp_path / "out/feedback/kimmin_103_9004_ops.md").read_text()


def test_nothing_is_graded_or_written_where_names_do_not_match(course: CourseOnDisk, tmp_path: Path) -> None:
    what = hand_in(course, name="nobody-here")
    book = gradebook(tmp_path, ADA, BOB)
    output = tmp_path / "out"
    run = course.run("grade", "hw1", what, "--format", "canvas", "--gradebook", str(book), "--output", str(output))
    assert run.code == 2
    assert "no student has the ID of nobody-here" in run.err
    assert "--names" in run.err
    assert not output.exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--format", "canvas"], "needs --gradebook"),
        (["--gradebook", "Grades.csv"], "belong to --format canvas"),
        (["--format", "canvas", "--gradebook", "out/canvas.csv", "--output", "out"], "not the one that is written"),
        (["--format", "canvas", "--gradebook", "none.csv"], "cannot be read"),
    ],
)
def test_options_that_do_not_fit_are_refused(course: CourseOnDisk, options: list[str], said: str) -> None:
    run = course.run("grade", "hw1", hand_in(course), *options)
    assert run.code == 2
    assert said in run.err


def test_autolab_gets_feedback_and_points_in_the_last_line(course: CourseOnDisk, tmp_path: Path) -> None:
    what = hand_in(course, ("x - mean_of(x)", "x + mean_of(x)"), name="bob")
    run = course.run("grade", "hw1", what, "--format", "autolab", "--output", str(tmp_path))
    assert (run.code, run.err) == (0, ""), "students see standard error, too"
    *feedback, last = run.out.splitlines()
    assert json.loads(last) == {"scores": {"centred": 0.0, "scaled": 1.0, "counted": 1.0}}
    assert "\n".join(feedback).rstrip() == (tmp_path / "feedback/bob.md").read_text().rstrip()
    for arguments in ([what, hand_in(course)], [what, "--json"]):
        assert course.run("grade", "hw1", *arguments, "--format", "autolab").code == 2


def test_autolab_s_problems_are_named_once_each_and_sum_up_to_the_score() -> None:
    judged = verdict(case("norm"), case("loss", "differs"), forbidden=(ForbiddenUse("x", "a.py:1", True),))
    made = grade(judged, rubric(cases={"loss": 2, "norm": 3}, parts={"loss": 4}), forbidden_costs=1.0)
    scores = json.loads(autolab_line(made, forbidden_may_cost=True))["scores"]
    assert set(scores) == {"case loss", "part loss", "norm", "forbidden"}
    assert sum(scores.values()) == made.score


# --- who is who -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["101", "S1", "ADA@uni.example", "ada", "lovelaceada_101_5_x", "love_lace_late_101_5_x_y"]
)
def test_a_student_is_known_by_any_id_and_by_canvas_s_own_file_names(
    course: CourseOnDisk, tmp_path: Path, name: str
) -> None:
    text, result = merged(course, gradebook(tmp_path, ADA, BOB, CY), [name])
    assert points(text) == {"101": "1", "102": "", "103": "1.5"}
    assert result.without_submission == ("Kim, Min (102)", "Kim, Min (103)")


def test_students_of_the_same_name_are_told_apart_by_id_and_never_by_name(course: CourseOnDisk, tmp_path: Path) -> None:
    book = gradebook(tmp_path, ADA, BOB, CY)
    assert points(merged(course, book, ["cy", "102"])[0]) == {"101": "", "102": "1", "103": "1"}
    assert "no student has the ID of Kim, Min;" in refused(course, book, ["Kim, Min"])


@pytest.mark.parametrize(
    ("rows", "names", "said"),
    [
        ([ADA, BOB], ["bob", "102"], "Kim, Min (102) has submitted bob and 102"),
        ([ADA, BOB], ["eve", "ada", "mallory"], "no student has the ID of eve, mallory"),
        ([ADA, '"Two, Ada",105,101,x,A,,,,,,'], ["101"], 'may be Lovelace, "Ada" (101) or Two, Ada (105)'),
        ([ADA, '"Two, Ada",105,,ada@b.example,A,,,,,,'], ["ada"], "ada may be"),
        ([ADA, '"Two, Ada",101,,x,A,,,,,,'], ["ada"], "have the same ID"),
        ([BOB, '"Two, Bob",105,,BOB,A,,,,,,'], ["102"], "have the same SIS Login ID: Kim, Min (102), Two, Bob (105)"),
    ],
)
def test_doubt_about_who_is_who_is_refused_by_name(
    course: CourseOnDisk, tmp_path: Path, rows: list[str], names: list[str], said: str
) -> None:
    assert said in refused(course, gradebook(tmp_path, *rows), names)


def test_a_file_says_whose_a_submission_is(course: CourseOnDisk, tmp_path: Path) -> None:
    names = tmp_path / "names.csv"
    names.write_text('submission,id\n"scratch/eve",103\nnobody,1\n')
    book = gradebook(tmp_path, ADA, BOB, CY)
    assert points(merged(course, book, ["scratch/eve", "bob"], names_file=names)[0])["103"] == "1"
    names.write_text("submission,id\neve,999\n")
    assert "no student has the ID of eve (999)" in refused(course, book, ["eve"], names_file=names)
    for content, said in (("eve,103\n", "has no submission and id"), ("submission,id\na,1\na,2\n", "twice")):
        names.write_text(content)
        assert said in refused(course, book, ["eve"], names_file=names)


# --- columns --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("column", ["", "hw1", "HW1", "777", "hw1 (777)"])
def test_a_column_is_known_by_title_number_heading_or_the_assignment(
    course: CourseOnDisk, tmp_path: Path, column: str
) -> None:
    assert merged(course, gradebook(tmp_path, ADA), ["ada"], column)[1].column == "hw1 (777)"


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ("hw2", "several columns of {} are called hw2; give --column with one of: hw2 (778), hw2 (779)"),
        ("Final Score", "no column of {} is called Final Score; give --column with one of: hw1 (777), hw2 (778), hw2"),
        ("Notes", "no column of {} is called Notes"),
    ],
)
def test_a_column_that_is_none_several_or_read_only_is_refused_with_those_there_are(
    course: CourseOnDisk, tmp_path: Path, column: str, said: str
) -> None:
    book = gradebook(tmp_path, ADA)
    assert said.format(book) in refused(course, book, ["ada"], column)


def test_excused_students_and_those_whom_it_is_not_for_are_left_alone(course: CourseOnDisk, tmp_path: Path) -> None:
    book = gradebook(tmp_path, ADA, BOB)
    for column, mark in (("778", "N/A"), ("779", "EX")):
        text, result = merged(course, book, ["ada", "bob"], column)
        assert result.left == (f"Kim, Min (102): {mark}",)
        assert (result.filled, result.note) == (1, "the column is worth 10 points in Canvas, and 4 here")
        assert BOB in text


# --- the file -------------------------------------------------------------------------------------------------------


def test_semicolons_decimal_commas_and_split_names_are_canvas_s_too(course: CourseOnDisk, tmp_path: Path) -> None:
    book = tmp_path / "Grades.csv"
    rows = ["LastName;FirstName;ID;SIS Login ID;Section;hw1 (777)", "    Points Possible;;;;;3,00"]
    book.write_text("\n".join([*rows, '"Kim; K, Min";Min;102;bob;A;', "Student;Test;199;x;A;"]))
    text, result = merged(course, book, ["bob"])
    assert text == "\n".join([*rows, '"Kim; K, Min";Min;102;bob;A;1', "Student;Test;199;x;A;"])
    assert result.without_submission == ()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "it is empty"),
        (b"PK\x03\x04\xff\xfe\x00", "it is not UTF-8 text"),
        (HEAD.replace("Student", "Stud\xe9nt").encode("latin-1"), "it is not UTF-8 text"),
        (HEAD.encode("utf-16"), "it is not UTF-8 text"),
        (b"Student,Section,hw1 (777)\nA,B,1\n", "its first row has none of ID, SIS User ID"),
        (b"name,points\nada,3\n", "its first row has none of ID"),
        (b"ID,Section,hw1 (777)\n1,B,1\n", "its first row has no Student"),
        (b'Student,ID,hw1 (777)\n"A" B,1,\n', "a cell in line 2 has quotes that do not fit"),
        (b'Student,ID,hw1 (777)\n"A,1,\n', "a cell in line 2 has quotes"),
        (b"Student,ID,hw1 (777)\nA,1\n", "row 2 has 2 cells, the first has 3"),
        (b"a\0b", "it is not text"),
    ],
)
def test_what_is_not_a_gradebook_is_refused_with_the_reason(
    course: CourseOnDisk, tmp_path: Path, content: bytes, said: str
) -> None:
    book = tmp_path / "Grades.csv"
    book.write_bytes(content)
    assert said in refused(course, book, ["ada"])


@given(
    rows=st.lists(
        st.lists(st.text(alphabet=st.sampled_from('ab",; \n=é'), max_size=5), min_size=2, max_size=4), min_size=1
    ),
    end=st.sampled_from(["\r\n", "\n"]),
    data=st.data(),
)
def test_any_other_cell_keeps_its_bytes(rows: list[list[str]], end: str, data: st.DataObject) -> None:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator=end).writerows(rows)
    cells = cells_of(text.getvalue(), ",")
    assert [[cell.value for cell in row] for row in cells] == rows
    assert with_cells(text.getvalue(), {}) == text.getvalue()
    row = data.draw(st.integers(0, len(rows) - 1))
    column = data.draw(st.integers(0, len(rows[row]) - 1))
    changed = with_cells(text.getvalue(), {cells[row][column]: "7.5"})
    rows[row][column] = "7.5"
    assert list(csv.reader(io.StringIO(changed, newline=""))) == rows
