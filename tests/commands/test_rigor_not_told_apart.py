"""Mistakes that a recipe happens to hide are never called equivalent; what befell a neighbour is no verdict."""

from __future__ import annotations

import pytest

from goldsmith.mutants.results import Finding
from support.course import CourseOnDisk, exercise
from support.mutant_course import mutated_course, rigor_of

SOLUTION = '''
    """Exercise: a layer, a loss, a schedule, and a table that is made once."""

    import functools

    import numpy as np


    class Affine:
        def __init__(self, width):
            self.scale, self.bias = np.ones(width), np.zeros(width)

        def __call__(self, x):
            return x * self.scale + self.bias


    def masked_sum(x, mask, offset):
        return (x * mask).sum(axis=-1) + offset


    def loss(errors):
        return np.square(errors).mean()


    def rate(step, scale=None):
        return 0.1 * step if scale is None else 0.2 * step * scale


    @functools.lru_cache
    def table(size):
        return np.arange(size) * 2.5


    def looked_up(x):
        return x + table(5)


    def doubled(x):
        y = x.copy()
        y += x
        return y


    class Centred:
        def __call__(self, x):
            return self.apply(x)

        def apply(self, x):
            return x - x.mean()


    class Third:
        def compute(self, x):
            return x / 3.0


    def third(x):
        return Third().compute(x)
'''

HELPER = """
    def core(x):
        return x * 2.5
"""

RECIPE = """
    import numpy as np

    import goldsmith as gs
    from helper import core
    from ops import Affine, Centred, doubled, looked_up, loss, masked_sum, rate, third


    @gs.case(allow={"hollow": "the scale is one: that is what this is about"})
    def affine(case):
        case.record("y", case.model(Affine, 5)(case.input("x", lambda: np.random.randn(3, 5))))


    @gs.case
    def masked(case):
        x = case.input("x", lambda: np.random.randn(3, 5))
        mask, offset = case.input("mask", lambda: np.ones(5, dtype=bool)), case.input("offset", lambda: np.zeros(3))
        case.record("y", masked_sum(x, mask, offset))


    @gs.case
    def lost(case):
        case.record("y", loss(case.input("x", lambda: np.random.randn(1))))


    @gs.case
    def rated(case):
        case.record("y", rate(case.input("step", 3)) + case.input("x", lambda: np.random.randn(2)))


    @gs.case
    def first_lookup(case):
        case.record("y", looked_up(case.input("x", lambda: np.random.randn(5))))


    @gs.case
    def second_lookup(case):
        case.record("y", looked_up(case.input("x", lambda: np.random.randn(2, 5))))


    @gs.case
    def twice(case):
        case.record("y", core(doubled(case.input("x", lambda: np.random.randn(4)))))


    @gs.case
    def objects(case):
        case.record("centred", Centred()(case.input("x", lambda: np.random.randn(4))))
        case.record("third", third(case.input("z", lambda: np.random.randn(4))))
"""

OWN = {
    "no-scale": ("x * self.scale", "x"),
    "no-mask": ("x * mask", "x"),
    "no-offset": ("(x * mask).sum(axis=-1) + offset", "(x * mask).sum(axis=-1)"),
    "summed": ("np.square(errors).mean()", "np.square(errors).sum()"),
    "unreached": ("0.2 * step * scale", "0.2 * step / scale"),
    "step-forgotten": ("0.1 * step", "0.3"),
    "table-wrong": ("np.arange(size) * 2.5", "np.arange(size) * 3.5"),
    "overwrites": ("x.copy()", "x"),
    "result-kept": ("x - x.mean()", 'self.__dict__.setdefault("kept", x - x.mean())'),
    "kept-by-function": ("np.square(errors).mean()", 'loss.__dict__.setdefault("kept", np.square(errors).mean())'),
    "kept-by-none": ("x / 3.0", 'self.__dict__.setdefault("kept", x / 3.0)'),
    "kills-parent": ("y", "__import__('os').kill(__import__('os').getppid(), 9)"),
}


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    files = exercise(SOLUTION, RECIPE, "__init__") | {"private/solutions/hw1/helper.py": HELPER}
    return mutated_course(tmp_path_factory.mktemp("doubt") / "course", OWN, files, calibrate=False)


@pytest.fixture(scope="module")
def found(course: CourseOnDisk) -> dict[str, Finding]:
    return {item.operator: item for item in rigor_of(course, *OWN).findings}


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("no-scale", "stress"),
        ("no-mask", "general position"),
        ("no-offset", "general position"),
        ("summed", "another batch size"),
        ("overwrites", "overwriting"),
        ("result-kept", "call it twice"),
        ("kept-by-function", "call it twice"),
    ],
)
def test_a_mistake_that_the_inputs_hide_survives(found: dict[str, Finding], name: str, advice: str) -> None:
    assert found[name].outcome == "survived"
    assert advice in found[name].advice


def test_what_an_object_keeps_does_not_show_where_each_call_makes_a_new_one(found: dict[str, Finding]) -> None:
    assert found["kept-by-none"].outcome == "not-told-apart"


def test_half_a_line_that_never_runs_is_found(found: dict[str, Finding]) -> None:
    assert (found["unreached"].outcome, found["unreached"].reason) == ("survived", "no case runs it")


def test_what_runs_on_the_same_line_is_seen(found: dict[str, Finding]) -> None:
    assert found["step-forgotten"].outcome == "survived"
    assert "plain numbers" in found["step-forgotten"].advice


def test_what_is_made_once_counts_for_every_case_that_would_make_it(found: dict[str, Finding]) -> None:
    assert found["table-wrong"].outcome == "killed"


def test_what_kills_its_parent_is_crashed_and_its_neighbours_are_not(found: dict[str, Finding]) -> None:
    assert found["kills-parent"].outcome == "crashed"
    assert sum(item.outcome == "crashed" for item in found.values()) == 1


def test_two_files_with_the_same_name_in_them_are_told_apart(course: CourseOnDisk) -> None:
    more = course.root / "private/solutions/hw1/other.py"
    more.write_text((course.root / "private/solutions/hw1/helper.py").read_text())
    names = [item["name"] for item in course.run("rigor", "hw1", "--list", "--json").json["mutants"]]
    more.unlink()
    assert len(names) == len(set(names))
    assert any(name.startswith("other.py:core/") for name in names)
