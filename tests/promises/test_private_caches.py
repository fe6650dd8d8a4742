"""What a forward pass hands to its backward pass is their own affair: another layout of it costs nobody points, and a
cache with the wrong content is the forward pass's mistake."""

from __future__ import annotations

import pytest

from goldsmith.judge.verdicts import Verdict
from goldsmith.process.fork_client import ForkClient
from support.check_course import judge
from support.course import CourseOnDisk, edited, exercise, numpy_course

SOLUTION = '''
    """Exercise: two layers and a step."""

    import numpy as np


    def affine_forward(x, w):
        return x @ w, (x, w)


    def affine_backward(dout, cache):
        x, w = cache
        return dout @ w.T, x.T @ dout


    def relu_forward(x):
        return np.maximum(x, 0), x


    def relu_backward(dout, cache):
        return dout * (cache > 0)


    def step(w, dw):
        return w - 0.1 * dw
'''
RECIPE = """
    import numpy as np

    import goldsmith as gs
    from ops import affine_backward, affine_forward, relu_backward, relu_forward, step


    @gs.case
    def affine(case):
        x, w = case.input("x", lambda: np.random.randn(4, 3)), case.input("w", lambda: np.random.randn(3, 5))
        out, cache = affine_forward(x, w)
        dx, dw = affine_backward(case.input("dout", lambda: np.random.randn(4, 5)), cache)
        case.record("out", out)
        case.record("dx", dx)
        case.record("dw", dw)


    @gs.case
    def training(case):
        x, w = case.input("x", lambda: np.random.randn(6, 3)), case.input("w", lambda: np.random.randn(3, 5))
        hidden, cache = affine_forward(x, w)
        out, mask = relu_forward(hidden)
        _, dw = affine_backward(relu_backward(out - 1, mask), cache)
        case.record("w", step(w, dw))
"""
PARTS = ("affine_forward", "affine_backward", "relu_forward", "relu_backward", "step")
TURNED = (("return x @ w, (x, w)", "return x @ w, (w.T.copy(), x.T.copy(), None)"),)
TURNED += (
    ("    x, w = cache\n    return dout @ w.T, x.T @ dout", "    w, x, _ = cache\n    return dout @ w, x @ dout"),
)
MASK = (("return np.maximum(x, 0), x", "return np.maximum(x, 0), (x > 0).astype(float)"),)
MASK += (("return dout * (cache > 0)", "return dout * cache"),)
STEP = (("w - 0.1 * dw", "w + 0.1 * dw"),)
WRONG_CACHE = (("return np.maximum(x, 0), x", "return np.maximum(x, 0), -x"),)


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    found = numpy_course(tmp_path_factory.mktemp("caches"))
    return found.write(exercise(SOLUTION, RECIPE)).with_gold()


def judged(course: CourseOnDisk, warm: ForkClient, changes: tuple[tuple[str, str], ...]) -> Verdict:
    folder = course.root / "submissions" / "ada"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "ops.py").write_text(edited(SOLUTION, *changes))
    return judge(course, str(folder), warm)


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        (TURNED + MASK, set()),
        (MASK + STEP, {"step"}),
        (TURNED + STEP, {"step"}),
        (WRONG_CACHE, {"relu_forward"}),
        (TURNED + WRONG_CACHE, {"relu_forward"}),
    ],
    ids=["another", "another-and-a-mistake", "another-beside-its-own-case", "wrong", "another-and-a-wrong-one"],
)
def test_a_cache_is_the_affair_of_those_who_share_it(
    course: CourseOnDisk, warm: ForkClient, changes: tuple[tuple[str, str], ...], wrong: set[str]
) -> None:
    found = judged(course, warm, changes)
    assert {part.name: part.outcome for part in found.parts} == {
        name: "differs" if name in wrong else "agrees" for name in PARTS
    }
    assert found.first_part in (wrong or {""})
