"""Gold with measured tolerances, and a look at them."""

from __future__ import annotations

from goldsmith.gold.load import Gold, load_gold
from goldsmith.gold.tolerances import Tolerance
from support.course import RECIPE_FILE, SOLUTION_FILE, CourseOnDisk, recipe

MEAN = """
    @gs.case
    def gold_output(case):
        x = case.input("x", lambda: np.random.randn(40, 30).astype(np.float32))
        case.record("y", scale(x))
"""
SOLUTION = "def scale(x):\n    return (x * x).sum(axis=0) / 40\n"


def calibrated(course: CourseOnDisk, body: str, imports: str = "", solution: str = SOLUTION) -> Gold:
    course.write({RECIPE_FILE: recipe(body, imports), SOLUTION_FILE: solution})
    return load_gold(course.with_gold(calibrate=True).gold())


def tolerance_of(gold: Gold, path: str = "output", case: str = "gold_output") -> Tolerance | None:
    return next(item.tolerance for item in gold[case].entry.tensors if item.path == path)


def advice_of(gold: Gold) -> list[str]:
    return [item.name for item in gold.manifest.advice]
