"""What staff are told of code that is as in the solution: how much and where, and nothing that right answers share."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from goldsmith.courses.guard.similarity import Similarity, matches, parts_to_write, similarities
from goldsmith.courses.layout.layout import find_course
from support.course import CourseOnDisk, numpy_course

STARTER = """
    import numpy as np


    def softmax(x):
        raise NotImplementedError


    def resample(signal, times, rate):
        grid = np.arange(times[0], times[-1], 1.0 / rate)
        # left = np.clip(np.searchsorted(times, grid, side="right") - 1, 0, len(times) - 2)
        # share = (grid - times[left]) / (times[left + 1] - times[left])
        raise NotImplementedError
"""
TEXTBOOK = """
        left = np.clip(np.searchsorted(times, grid, side="right") - 1, 0, len(times) - 2)
        share = (grid - times[left]) / (times[left + 1] - times[left])
"""
REST = """
        even = (1.0 - share) * signal[left] + share * signal[left + 1]
        if even.ndim > 1 and even.shape[0] < even.shape[-1]:
            even = even.reshape(even.shape[0], -1).sum(axis=-1) / max(1, even.size // even.shape[0])
        outside = [index for index, time in enumerate(grid) if not times.min() <= time < times.max()]
        even[outside] = signal.mean(axis=0) if len(outside) > len(grid) // 2 else signal[-1]
        return even / np.abs(even).max() if np.abs(even).max() > 0 else even - even.mean()
"""
HEAD = """
    import numpy as np


    def softmax(x):
        # shifted = np.exp(x - x.max(axis=-1, keepdims=True))
        # return shifted / shifted.sum(axis=-1, keepdims=True) * np.ones_like(x).mean()
        return np.exp(x - x.max(axis=-1, keepdims=True)) / np.exp(x - x.max(axis=-1, keepdims=True)).sum(-1)


    def resample(signal, times, rate):
        grid = np.arange(times[0], times[-1], 1.0 / rate)
"""
SOLUTION = HEAD + TEXTBOOK + REST
OWN = HEAD + TEXTBOOK + "        return np.interp(grid, times, signal) * len(times) / max(len(times), 1)\n"


@pytest.fixture
def course(tmp_path: Path) -> CourseOnDisk:
    made = numpy_course(tmp_path / "course")
    return made.write({"src/assignments/hw1/ops.py": STARTER, "private/solutions/hw1/ops_solution.py": SOLUTION})


def alike(course: CourseOnDisk, *texts: str) -> list[dict[str, Similarity]]:
    parts = parts_to_write(find_course(course.root).assignment("hw1"))
    return similarities([matches(parts, {"ops.py": textwrap.dedent(text).encode()}) for text in texts])


def test_a_copy_is_told_with_its_lines_whatever_its_names_and_comments_are(course: CourseOnDisk) -> None:
    renamed = SOLUTION.replace("share", "w").replace("outside", "rest").replace("even", "curve")
    assert alike(course, renamed) == [{"ops.resample": Similarity(8, 8, "ops.py:14", "ops.py:22")}]


def test_comments_short_parts_and_the_starters_code_count_for_nobody(course: CourseOnDisk) -> None:
    commented = STARTER.replace("raise NotImplementedError", "pass") + textwrap.indent(
        REST, "    # ", lambda line: True
    )
    quoted = STARTER + '\n\n    """' + HEAD + TEXTBOOK + REST + '"""\n'
    assert alike(course, STARTER, commented, quoted, OWN) == [{}, {}, {}, {}]


def test_what_others_have_who_wrote_the_rest_differently_does_not_count(course: CourseOnDisk) -> None:
    (alone,) = alike(course, SOLUTION)
    copied, *others = alike(course, SOLUTION, OWN, OWN)
    assert others == [{}, {}]
    assert copied["ops.resample"].of == alone["ops.resample"].of - 2
    assert copied["ops.resample"].statements == copied["ops.resample"].of


def test_what_everybody_writes_is_told_of_nobody(course: CourseOnDisk) -> None:
    assert alike(course, *[SOLUTION] * 6) == [{}] * 6
    few = alike(course, *[SOLUTION] * 2, *[STARTER] * 20)
    assert [bool(item) for item in few] == [True, True, *[False] * 20]


def test_the_class_table_says_how_much_and_where(course: CourseOnDisk) -> None:
    recipe = """
        import numpy as np

        import goldsmith as gs
        from ops import resample


        @gs.case
        def resampled(case):
            times = case.input("times", lambda: np.sort(np.random.rand(9)))
            case.record("y", resample(case.input("signal", lambda: np.random.randn(9)), times, 40))


        if __name__ == "__main__":
            gs.main()
    """
    course.write({"src/assignments/hw1/generate_fixtures.py": recipe}).with_gold()
    folder = course.root.parent / "class"
    for name, text in (("ada", SOLUTION), ("bob", OWN)):
        (folder / name).mkdir(parents=True)
        (folder / name / "ops.py").write_text(textwrap.dedent(text))
    run = course.run("grade", "hw1", str(folder), "--output", str(course.root.parent / "out"))
    assert "8 of 8 statements of ops.resample as in the solution (ops.py, lines 14 to 22)" in run.out.replace("\n", " ")
    found = course.run("grade", "hw1", str(folder), "--output", str(course.root.parent / "out"), "--json").json
    similar = {item["name"]: item["similarity"] for item in found["submissions"]}
    assert similar["bob"] == {}
    assert similar["ada"]["ops.resample"]["statements"] == 8
