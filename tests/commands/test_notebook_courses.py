"""Assignments that are notebooks: starter and solution, from `new` to `rigor`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.check_course import RECIPE, SOLUTION, STARTER
from support.course import RECIPE_FILE, CourseOnDisk, numpy_course
from support.notebooks import notebook, text

STARTER_FILE = "src/assignments/hw1/hw1.ipynb"
SOLUTION_FILE = "private/solutions/hw1/hw1_solution.ipynb"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    """A course with the assignment that `new --kind notebook` writes, and its gold."""
    course = CourseOnDisk(tmp_path_factory.mktemp("notebook") / "course")
    course.root.mkdir()
    course.git("init", "-q")
    assert course.run("init", "--yes").code == 0
    run = course.run("new", "hw1", "--kind", "notebook")
    assert run.code == 0, run.err
    assert "src/assignments/hw1/hw1.ipynb" in run.out
    course.with_gold()
    course.git("add", "-A")
    course.git("commit", "-qm", "all", "--no-verify")
    return course


def test_its_internal_tests_pass_on_the_solution_and_fail_on_the_starter(made: CourseOnDisk) -> None:
    run = made.run("test", "hw1")
    assert run.code == 0, run.out
    assert "all 7 fail on the starter" in run.out


def test_the_starter_is_not_written_yet_and_says_where(made: CourseOnDisk) -> None:
    run = made.run("check", "hw1", "--case", "distances")
    assert run.code == 3
    assert "squared_distances is not written yet (hw1.ipynb, cell 2, line 4)" in run.out


def test_outputs_and_text_do_not_make_gold_stale_and_code_does(made: CourseOnDisk, tmp_path: Path) -> None:
    path = made.root / SOLUTION_FILE
    before = path.read_text()
    book = json.loads(before)
    try:
        book["cells"][1] |= {
            "execution_count": 7,
            "outputs": [{"output_type": "stream", "name": "stdout", "text": "1"}],
        }
        book["cells"].append(text("Some more words."))
        path.write_text(json.dumps(book))
        assert made.run("status", "--json").json["assignments"][0]["outcome"] == "fresh"
        book["cells"][2]["source"][-1] = "    return (differences**2).sum(axis=2) * 1.0"
        path.write_text(json.dumps(book))
        assert made.run("status", "--json").json["assignments"][0]["outcome"] == "stale"
    finally:
        path.write_text(before)


def test_the_guard_finds_the_solution_in_a_public_notebook_and_nothing_in_the_starter(made: CourseOnDisk) -> None:
    assert made.run("guard").code == 0
    public = made.root / "notes" / "lecture.ipynb"
    public.parent.mkdir()
    public.write_text((made.root / SOLUTION_FILE).read_text().replace("moved", "m"))
    try:
        made.git("add", "-A")
        run = made.run("guard")
        assert run.code == 1
        assert "notes/lecture.ipynb" in run.out
        assert "hw1.move" in run.out
    finally:
        public.unlink()
        made.git("add", "-A")


def test_mutants_are_made_of_the_notebook_and_told_by_cell(made: CourseOnDisk) -> None:
    run = made.run("rigor", "hw1", "--list")
    assert run.code == 0
    assert "hw1_solution.ipynb, cell 5, line 3" in run.out


@pytest.mark.long
def test_its_gold_catches_every_mistake_that_goldsmith_can_think_of(made: CourseOnDisk) -> None:
    run = made.run("rigor", "hw1", "--json")
    assert run.code == 0, run.out


def test_the_solution_takes_the_notebooks_place_and_goes_again(made: CourseOnDisk) -> None:
    before = (made.root / STARTER_FILE).read_bytes()
    assert made.run("inject", "hw1").code == 0
    try:
        assert (made.root / STARTER_FILE).read_bytes() == (made.root / SOLUTION_FILE).read_bytes()
        assert made.run("check", "hw1", "--case", "distances").code == 0
    finally:
        assert made.run("reset", "hw1").code == 0
    assert (made.root / STARTER_FILE).read_bytes() == before


def _with_notebook(folder: Path, *cells: str) -> CourseOnDisk:
    """The course of `check_course` with its starter as a module, and a notebook as the solution."""
    course = numpy_course(folder)
    course.write({"src/assignments/hw1/ops.py": STARTER, RECIPE_FILE: RECIPE})
    for path in (course.root / "private/solutions/hw1").glob("*"):
        path.unlink()
    for path in (course.root / "src/assignments/hw1").glob("*.py"):
        if path.name not in ("ops.py", "generate_fixtures.py"):
            path.unlink()
    (course.root / "private/solutions/hw1/ops_solution.ipynb").write_text(notebook(*cells))
    return course


def test_a_notebook_may_be_the_solution_of_a_module(tmp_path: Path) -> None:
    training = "for epoch in range(10**9):\n    loss.backward()"
    course = _with_notebook(tmp_path / "course", "%matplotlib inline", _dedented(SOLUTION), training)
    run = course.run("generate", "hw1")
    assert run.code == 0, run.out + run.err
    refused = course.run("inject", "hw1")
    assert refused.code == 3
    assert "ops_solution.ipynb is a notebook and src/assignments/hw1/ops.py is not" in refused.err


def test_an_error_in_a_solutions_notebook_names_the_cell(tmp_path: Path) -> None:
    wrong = _dedented(SOLUTION).replace("return x * factor", "y = x\n    return y * unknown_factor")
    course = _with_notebook(tmp_path / "course", "import numpy as np", wrong)
    run = course.run("generate", "hw1")
    assert run.code == 3
    assert "is not defined (private/solutions/hw1/ops_solution.ipynb, cell 2, line 17)" in run.out


def test_a_notebook_that_fits_nothing_is_told(tmp_path: Path) -> None:
    course = _with_notebook(tmp_path / "course", _dedented(SOLUTION))
    solution = course.root / "private/solutions/hw1/ops_solution.ipynb"
    solution.rename(solution.with_name("other_solution.ipynb"))
    run = course.run("generate", "hw1")
    assert run.code == 3
    assert "other_solution.ipynb" in run.out


def _dedented(source: str) -> str:
    import textwrap

    return textwrap.dedent(source).strip()


BLANK = """
def scaled(x, factor):
    result = # FINISH ME
    return result
"""
EMPTY = """
def shifted(x, by):
    # YOUR CODE HERE
"""
FILLED = BLANK.replace("# FINISH ME", "x * factor")
SHIFTED = EMPTY.replace("# YOUR CODE HERE", "return x + by")
GIVEN = "def doubled(x):\n    return x + x\n"
CASES = """
    import numpy as np

    import goldsmith as gs
    from scale import scaled, shifted


    @gs.case
    def both(case):
        x = case.input("x", lambda: np.random.randn(5))
        case.record("scaled", scaled(x, 3.0))
        case.record("shifted", shifted(x, 2.0))


    if __name__ == "__main__":
        gs.main()
"""


def _practicals(folder: Path, *solution: str, recipe: bool = True) -> CourseOnDisk:
    """A course of nothing but notebooks, whose starters have cells that do not parse."""
    course = CourseOnDisk(folder)
    files = {"practicals/week 1/scale.ipynb": (GIVEN, BLANK, EMPTY), "solutions/week 1/scale_solution.ipynb": solution}
    course.write({name: notebook(*cells) for name, cells in files.items()})
    if recipe:
        course.write({"practicals/week 1/generate_fixtures.py": CASES})
    assert course.run("init", "--yes").code == 0
    return course


def test_a_course_of_notebooks_with_cells_that_do_not_parse_is_found_and_has_gold(tmp_path: Path) -> None:
    course = _practicals(tmp_path / "course", GIVEN, FILLED, SHIFTED)
    assert [item["name"] for item in course.run("status", "--json").json["assignments"]] == ["week 1"]
    run = course.run("generate", "week 1")
    assert run.code == 0, run.out + run.err
    assert course.run("guard").code == 0
    half = tmp_path / "half"
    half.mkdir()
    (half / "scale.ipynb").write_text(notebook(GIVEN, FILLED, EMPTY))
    run = course.run("check", "week 1", str(half))
    assert run.code == 3, "a cell that Jupyter cannot run is no answer"
    assert "scale.ipynb, cell 3" in run.out


@pytest.mark.parametrize("recipe", [True, False])
@pytest.mark.parametrize(
    ("cells", "place"),
    [
        (
            (GIVEN, BLANK, SHIFTED),
            "solutions/week 1/scale_solution.ipynb, cell 2, line 3, is not Python: result = # FINISH ME",
        ),
        (
            (GIVEN, FILLED, "def shifted(x, by):\n    return x +\n"),
            "scale_solution.ipynb, cell 3, line 2, is not Python: return x +",
        ),
    ],
)
def test_a_solution_s_cell_that_does_not_parse_is_named(
    tmp_path: Path, cells: tuple[str, ...], place: str, *, recipe: bool
) -> None:
    course = _practicals(tmp_path / "course", *cells, recipe=recipe)
    run = course.run("generate", "week 1", *([] if recipe else ["--kind", "outputs"]))
    assert run.code == 3
    assert place in run.err + run.out
