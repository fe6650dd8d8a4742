"""What a draft writes is right or not there: each part stands alone, inputs keep to what is said, and other right
solutions agree."""

from __future__ import annotations

import re

import pytest

import goldsmith
from support.course import RECIPE_FILE, CourseOnDisk

SOLUTION = '''
    import os

    import numpy as np


    def relu_forward(x):
        """Rectify.

        x: (N, D)

        Returns a tuple of:
        - out: of the same shape
        - cache: x
        """
        return np.maximum(0, x), x


    def relu_backward(dout, cache):
        """Pass dout back through what relu_forward keeps."""
        return dout * (cache > 0)


    def step(w, dw, config=None):
        """Take a step.

        w, dw: (N, D)
        config holds:
        - rate: the learning rate
        - velocity: a moving average
        """
        config = config or {}
        config.setdefault("rate", 0.1)
        config["velocity"] = 0.9 * config.get("velocity", np.zeros_like(w)) - config["rate"] * dw
        w += config["velocity"]
        return w, config


    def act(scores):
        """Sample an action. scores: (actions,)"""
        p = np.exp(scores - scores.max())
        return np.random.choice(len(scores), p=p / p.sum())


    def smooth(x, rate=0.1):
        """Mix with the mean of the batch, which must have at least 2 rows.

        x: (N, D)
        rate: at least 0 and less than 1
        """
        return (1 - rate) * x + rate * x.mean(axis=0)


    def kept_between_calls(x, seen=[]):
        """x: (N, D)"""
        seen.append(1)
        return x * len(seen)


    def by_order_of_sums(x):
        """Say which column is largest, of two that differ by rounding alone. x: (N, D)"""
        return ((x @ x.T) - (x[:, ::-1] @ x[:, ::-1].T)).argmax(axis=1)


    def q_update(q, s, a, r, s_next, rate=0.5):
        """Update q in place after one step. q: (S, A); s, a and s_next: indices; r: what was earned"""
        q[s, a] += rate * (r + 0.9 * q[s_next].max() - q[s, a])
        return q


    class Thresholds:
        """Say on which side of the mean of both classes a row lies."""

        def __init__(self):
            self.mean = None

        def fit(self, x, y):
            """Fit, and return the object itself.

            x: (N, D)
            y: (N,), labels 0 or 1
            """
            weights = y + 0.5
            self.mean = (x * weights[:, None]).sum(axis=0) / weights.sum()
            return self

        def scores(self, x):
            """x: (N, D)"""
            return (x - self.mean).sum(axis=1)


    def principal(x):
        """Project onto the first two principal axes. x: (N, D)"""
        centred = x - x.mean(axis=0)
        return centred @ np.linalg.svd(centred, full_matrices=False)[2][:2].T


    def leave(n):
        """n: at least 1"""
        os._exit(3)


    def next_week(x):
        raise NotImplementedError
'''
WRITTEN = ("relu_forward", "relu_backward", "step", "act", "smooth", "kept_between_calls", "by_order_of_sums", "leave")
WRITTEN = (*WRITTEN, "principal", "q_update", "Thresholds.fit", "Thresholds.scores")


@pytest.fixture(scope="module")
def proved(tmp_path_factory: pytest.TempPathFactory) -> tuple[CourseOnDisk, str]:
    from corpora.course_shapes.to_draft import module, stubbed

    course = CourseOnDisk(tmp_path_factory.mktemp("proved"))
    solution = module(SOLUTION)
    course.write({"src/assignments/hw1/lib/ops.py": stubbed(solution, WRITTEN)})
    course.write({"src/assignments/hw1/lib/use.py": "from lib.ops import relu_forward\n"})
    course.write({"private/solutions/hw1/lib/ops.py": solution})
    run = course.run("generate", "hw1", "--kind", "both")
    assert run.code == 0, run.out + run.err
    return course, (course.root / RECIPE_FILE).read_text()


def todo(recipe: str, name: str) -> str:
    (found,) = [line for line in recipe.split("\n") if line.startswith(f"# TODO {name}: ")]
    return found


def test_a_layer_that_returns_a_cache_is_recorded_without_it(proved: tuple[CourseOnDisk, str]) -> None:
    assert 'case.record("output", relu_forward(x)[0])' in proved[1]


def test_a_backward_pass_gets_the_cache_of_the_forward_pass(proved: tuple[CourseOnDisk, str]) -> None:
    assert "out, cache = relu_forward(x)" in proved[1]
    assert 'case.record("output", relu_backward(dout, cache))' in proved[1]


def test_state_is_recorded_by_documented_keys_and_taken_to_a_second_step(proved: tuple[CourseOnDisk, str]) -> None:
    assert "{key: state[key] for key in ['rate', 'velocity']}" in proved[1]
    assert "step(following, dw, config=state)[0]" in proved[1]


def test_a_sampled_action_is_no_gold(proved: tuple[CourseOnDisk, str]) -> None:
    assert "random numbers that are drawn inside" in todo(proved[1], "act")


def test_bounds_and_the_size_of_a_batch_are_kept(proved: tuple[CourseOnDisk, str]) -> None:
    case = proved[1].partition("def smooth_again(")[2].partition("@gs.case")[0]
    assert "x_one" not in case
    assert "rate=0.0" in case
    inputs = goldsmith.load(proved[0].gold())["smooth_again"].data["input"]
    assert all(len(value) > 1 for value in inputs.values())


def test_what_does_not_agree_with_itself_or_with_other_right_solutions_is_a_todo(
    proved: tuple[CourseOnDisk, str],
) -> None:
    assert "keeps state" in todo(proved[1], "kept_between_calls") or "two runs" in todo(proved[1], "kept_between_calls")
    assert "def by_order_of_sums_case" not in proved[1].replace("# def", "")


def test_what_depends_on_the_sign_that_a_decomposition_leaves_open_is_a_todo(proved: tuple[CourseOnDisk, str]) -> None:
    assert "eigenvectors of the other sign" in todo(proved[1], "principal")
    assert "principal_again" not in proved[1]


def test_an_index_is_one_number_and_arrays_have_the_axes_that_are_said(proved: tuple[CourseOnDisk, str]) -> None:
    assert 'case.input("q", lambda: np.random.randn(11, 9))' in proved[1]
    (line,) = [it for it in proved[1].split("\n") if 'record("output", q_update(' in it]
    assert re.search(r"q_update\(q, \d, \d, ", line)


def test_a_method_that_returns_its_object_is_called_for_its_effect(proved: tuple[CourseOnDisk, str]) -> None:
    assert "    thresholds.fit(x, y)\n" in proved[1]
    assert 'case.record("scores", thresholds.scores(x))' in proved[1]
    assert "np.random.randint(0, 2, (5,))" in proved[1]


def test_a_part_that_ends_the_process_is_one_todo(proved: tuple[CourseOnDisk, str]) -> None:
    assert "it ends its process, with exit code 3" in todo(proved[1], "leave")


def test_what_the_solution_leaves_alone_is_not_mentioned(proved: tuple[CourseOnDisk, str]) -> None:
    assert "next_week" not in proved[1]


def test_a_package_without_init_is_imported_by_its_name(proved: tuple[CourseOnDisk, str]) -> None:
    assert "from lib.ops import" in proved[1]


def test_right_solutions_agree_and_wrong_ones_differ(proved: tuple[CourseOnDisk, str]) -> None:
    from corpora.course_shapes.to_draft import module

    course, solution = proved[0], module(SOLUTION)
    changes = {
        "out-of-place": ('w += config["velocity"]', 'w = w + config["velocity"]'),
        "another-cache": ("return np.maximum(0, x), x", "return x * (x > 0), x.copy()"),
        "no-momentum": ("0.9 * config", "0.0 * config"),
        "one-sided": ("(1 - rate) * x + rate", "x + rate"),
    }
    outcomes = {}
    for name, (old, new) in changes.items():
        assert solution.count(old) == 1
        course.write({f"handed-in/{name}/lib/ops.py": solution.replace(old, new)})
        outcomes[name] = course.run("check", "hw1", f"handed-in/{name}", "--json").code
    assert outcomes == {"out-of-place": 0, "another-cache": 0, "no-momentum": 1, "one-sided": 1}
