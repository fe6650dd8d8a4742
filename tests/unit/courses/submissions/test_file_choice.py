"""Of several files that could stand for one of the starter's, the one of that name is used, and the author is told."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldsmith.courses.layout.layout import find_course
from goldsmith.courses.submissions.file_choice import stands_for
from goldsmith.courses.submissions.open_submission import open_submission
from goldsmith.errors.check import NothingToCheck
from goldsmith.targets.target import Submission
from support.check_course import SOLUTION, STARTER
from support.course import CourseOnDisk
from support.notebooks import notebook

GIVEN = textwrap.dedent(STARTER)
MINE = textwrap.dedent(SOLUTION)
OLD = MINE.replace("x - mean_of(x)", "x - x.mean()")
SAME_AS_GIVEN = GIVEN.replace("# TODO: subtract the mean of each row", "# I will do this tomorrow").replace("'", '"')
COPIES = [
    "ops_solution.py",
    "ops (1).py",
    "ops(2).py",
    "ops-1.py",
    "ops copy.py",
    "ops copy 2.py",
    "ops - Copy.py",
    "ops - Copy (2).py",
    "Copy of ops.py",
    "Ops.py",
    "OPS (1).PY",
]


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    files = {
        "src/assignments/hw1/ops.py": STARTER,
        "src/assignments/hw1/generate_fixtures.py": "from ops import centre\n",
        "private/solutions/hw1/ops_solution.py": SOLUTION,
    }
    return CourseOnDisk(tmp_path_factory.mktemp("choice") / "course").write(files)


def opened(course: CourseOnDisk, folder: Path, files: dict[str, str]) -> Submission:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    with open_submission(find_course(course.root).assignment("hw1"), str(folder)) as found:
        return found


def used(submission: Submission) -> str:
    (item,) = (item for item in submission.placed if item.target == Path("ops.py"))
    return item.read().decode()


@pytest.mark.parametrize("name", COPIES)
def test_the_plain_name_wins_and_the_other_is_named(course: CourseOnDisk, tmp_path: Path, name: str) -> None:
    found = opened(course, tmp_path, {"ops.py": MINE, name: OLD})
    assert used(found) == MINE
    assert found.choices == (f"{name} was not used: ops.py was submitted, too",)
    assert Path(name) in [item.target for item in found.placed]


@pytest.mark.parametrize("name", COPIES)
def test_alone_it_is_taken_for_the_file(course: CourseOnDisk, tmp_path: Path, name: str) -> None:
    found = opened(course, tmp_path, {name: MINE})
    assert used(found) == MINE
    assert found.notes == ()
    assert found.choices == (() if name == "ops_solution.py" else (f"{name} was used for ops.py",))


@pytest.mark.parametrize("name", COPIES)
def test_what_is_as_it_was_given_gives_way(course: CourseOnDisk, tmp_path: Path, name: str) -> None:
    found = opened(course, tmp_path, {"ops.py": SAME_AS_GIVEN, name: MINE})
    assert used(found) == MINE
    (told,) = found.choices
    assert told == f"{name} was used for ops.py: the ops.py that was submitted is as it was given"


def test_a_copy_that_is_as_it_was_given_changes_nothing(course: CourseOnDisk, tmp_path: Path) -> None:
    found = opened(course, tmp_path, {"ops.py": MINE, "ops_solution.py": GIVEN, "ops (1).py": GIVEN})
    assert used(found) == MINE
    assert len(found.choices) == 2


def test_among_several_copies_none_is_guessed(course: CourseOnDisk, tmp_path: Path) -> None:
    with pytest.raises(NothingToCheck, match=r"it has ops \(1\).py and ops \(2\).py, and none is called ops.py"):
        opened(course, tmp_path, {"ops (1).py": MINE, "ops (2).py": OLD})


def test_copies_with_the_same_code_are_one(course: CourseOnDisk, tmp_path: Path) -> None:
    found = opened(course, tmp_path, {"ops (1).py": MINE, "ops (2).py": f"# twice\n{MINE}"})
    assert used(found) == MINE
    assert found.choices == ("ops (1).py was used for ops.py", "ops (2).py was not used: ops (1).py was submitted, too")


def test_what_is_imported_is_no_leftover(course: CourseOnDisk, tmp_path: Path) -> None:
    importing = "from ops_solution import *\nfrom layers import scale\n"
    files = {"ops.py": importing, "ops_solution.py": MINE, "layers.py": OLD}
    found = opened(course, tmp_path, files)
    assert used(found) == importing
    assert found.choices == ()


@pytest.mark.parametrize("other", ["old/ops.py", "ops_final.py", "src/assignments/hw1/ops.py"])
def test_another_version_in_another_place_is_named(course: CourseOnDisk, tmp_path: Path, other: str) -> None:
    found = opened(course, tmp_path, {"ops.py": MINE, other: OLD, "notes/plan.py": "steps = 3\n"})
    assert used(found) == MINE
    assert found.choices == (f"{other} was not used: ops.py was submitted, too",)


def test_of_two_depths_the_one_counts_in_which_something_is_written(course: CourseOnDisk, tmp_path: Path) -> None:
    found = opened(course, tmp_path, {"ops.py": GIVEN, "src/assignments/hw1/ops.py": MINE})
    assert used(found) == MINE
    assert found.choices == ("ops.py was not used: src/assignments/hw1/ops.py was submitted, too",)


@pytest.mark.parametrize(
    ("files", "right", "told"),
    [
        ({"ops.py": MINE, "ops.ipynb": notebook(OLD)}, "ops.py", "ops.ipynb was not used: ops.py"),
        ({"ops.py": SAME_AS_GIVEN, "ops.ipynb": notebook(MINE)}, "ops.ipynb", ""),
        ({"ops.ipynb": notebook(MINE), "ops (1).ipynb": notebook(OLD)}, "ops.ipynb", "ops (1).ipynb was not used"),
        ({"ops.ipynb": notebook(MINE), "ops_solution.ipynb": notebook(OLD)}, "ops.ipynb", "ops_solution.ipynb was not"),
        ({"ops.ipynb": notebook(GIVEN), "ops (1).ipynb": notebook(MINE)}, "ops (1).ipynb", "ops.ipynb was not used: o"),
        ({"ops.py": MINE, "my work.ipynb": notebook(OLD)}, "ops.py", "my work.ipynb was not used: ops.py"),
    ],
)
def test_notebooks_too(course: CourseOnDisk, tmp_path: Path, files: dict[str, str], right: str, told: str) -> None:
    found = opened(course, tmp_path, files)
    assert "x - mean_of(x)" in used(found)
    assert right in [item.source.name for item in found.placed if item.target == Path("ops.py")]
    assert [text for text in found.choices if told and text.startswith(told)] == list(found.choices)


@given(st.lists(st.sampled_from([" (1)", "-2", " copy", " - Copy", "_solution"]), max_size=3), st.booleans())
def test_however_often_it_was_copied_it_is_the_same_file(added: list[str], upper: bool) -> None:
    stem = f"backbone{''.join(added)}"
    name = f"{stem.upper() if upper else stem}.py"
    assert stands_for(Path(name), ["backbone.py", "vision.py"]) == "backbone.py"
    assert stands_for(Path("more", name), ["backbone.py", "more/backbone.py"]) == "more/backbone.py"


@pytest.mark.parametrize("name", ["backbone2.py", "my_backbone.py", "backbone.txt", "bone.py", "copy.py", "(1).py"])
def test_other_names_are_other_files(name: str) -> None:
    assert stands_for(Path(name), ["backbone.py", "Net.py", "net.py"]) == ""


def test_what_could_be_two_is_none() -> None:
    assert stands_for(Path("NET.py"), ["Net.py", "net.py"]) == ""
    assert stands_for(Path("net.py"), ["Net.py", "net.py"]) == "net.py"
