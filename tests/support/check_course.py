"""A NumPy course with four functions to write, two of them provided, and ways to hand in something for it."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from goldsmith.check.check import check as check_directly
from goldsmith.check.request import Request
from goldsmith.courses.layout.layout import find_course
from goldsmith.courses.layout.resolve import resolve
from goldsmith.courses.submissions.open_submission import open_submission
from goldsmith.judge.verdicts import Verdict
from goldsmith.process.fork_client import ForkClient
from support.course import CourseOnDisk, Run, exercise, numpy_course

STARTER = '''
    """Exercise: centre, scale, and a running sum."""

    import numpy as np


    def mean_of(x):
        """Provided."""
        return x.mean(axis=-1, keepdims=True)


    def centre(x):
        # TODO: subtract the mean of each row
        raise NotImplementedError


    def scale(x, factor=3.0):
        # TODO: multiply by factor
        raise NotImplementedError


    class Counter:
        """Provided: weights that the sum starts from."""

        def __init__(self, size):
            self.start = np.random.randn(size)

        def total(self, x):
            # TODO: the start plus the sum over the rows
            raise NotImplementedError
'''

SOLUTION = '''
    """Exercise: centre, scale, and a running sum."""

    import numpy as np


    def mean_of(x):
        """Provided."""
        return x.mean(axis=-1, keepdims=True)


    def centre(x):
        return x - mean_of(x)


    def scale(x, factor=3.0):
        return x * factor


    class Counter:
        """Provided: weights that the sum starts from."""

        def __init__(self, size):
            self.start = np.random.randn(size)

        def total(self, x):
            return self.start + x.sum(axis=0)
'''

RECIPE = """
    import numpy as np

    import goldsmith as gs
    from ops import Counter, centre, scale


    @gs.case
    def centred(case):
        \"\"\"Rows without their mean.\"\"\"
        case.record("y", centre(case.input("x", lambda: np.random.randn(4, 7))))


    @gs.case
    def scaled(case):
        case.record("y", scale(case.input("x", lambda: np.random.randn(3, 5))))


    @gs.case
    def counted(case):
        counter = case.model(Counter, 5)
        case.record("y", counter.total(case.input("x", lambda: np.random.randn(6, 5))))


    if __name__ == "__main__":
        gs.main()
"""


def checked_course(folder: Path, *, calibrate: bool = False) -> CourseOnDisk:
    """The course with its gold."""
    course = numpy_course(folder)
    course.write(exercise(SOLUTION, RECIPE, starter=STARTER))
    return course.with_gold(calibrate=calibrate)


SUMMED = """

    @gs.case
    def summed(case):
        y = scale(case.input("x", lambda: np.random.randn(31, 50)))
        case.record("y", y)
        case.record("sum", float(y.sum()))
"""


def sketched_course(folder: Path) -> CourseOnDisk:
    """The course with tensors that are large enough for sketches, but for one case's, and with its gold."""
    recipe = RECIPE.replace("randn(4, 7)", "randn(40, 70)").replace("randn(3, 5)", "randn(30, 50)")
    recipe = recipe.replace("\n\n    @gs.case\n    def counted", f"{SUMMED}\n\n    @gs.case\n    def counted")
    return CourseOnDisk(folder).write(exercise(SOLUTION, recipe, starter=STARTER)).with_gold(calibrate=True)


def hand_in(course: CourseOnDisk, *changes: tuple[str, str], name: str = "ada", **files: str) -> str:
    """A submission in a folder of its own: the solution with each `(old, new)` replaced, and other files beside it."""
    source = textwrap.dedent(SOLUTION)
    for old, new in changes:
        assert source.count(old) == 1, old
        column = source.index(old) - source.rfind("\n", 0, source.index(old)) - 1
        lines = textwrap.dedent(new).strip("\n").splitlines()
        source = source.replace(old, f"\n{' ' * column}".join(lines))
    folder = course.root.parent / "handed in" / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "ops.py").write_text(source)
    for other, content in files.items():
        (folder / f"{other}.py").write_text(textwrap.dedent(content))
    return str(folder)


def check(course: CourseOnDisk, *arguments: str, **options: str) -> Run:
    """By the command line."""
    return course.run("check", "hw1", *arguments, **options)


def judge(
    course: CourseOnDisk, what: str, warm: ForkClient, *, case_timeout: float = 20.0, cases: Sequence[str] = ()
) -> Verdict:
    """The same without a new process for each: a second or two less."""
    assignment = find_course(course.root).assignment("hw1")
    with open_submission(assignment, what) as submission:
        target = replace(resolve(assignment), timeout=60.0, case_timeout=case_timeout)
        return check_directly(target, submission, Request(cases=cases, fork_server=warm))


def outcomes(verdict: Verdict) -> dict[str, str]:
    return {case.name: case.outcome for case in verdict.cases}
