"""No recipe yet: one is written with a case for every part that students write, whatever the course is made of."""

from __future__ import annotations

from pathlib import Path

import pytest

import goldsmith
from support.course import CourseOnDisk

STARTERS, SOLUTIONS = "src/assignments", "private/solutions"

PLAIN_STARTER = """
    def count_words(text: str) -> dict[str, int]:
        raise NotImplementedError

    def neighbours(tokens, n=2):
        # TODO
        pass

    def load(path):
        raise NotImplementedError

    class Stack:
        def __init__(self):
            ...
        def push(self, item: int):
            ...
        def pop(self):
            ...

    def provided(x):
        return x + 1
"""

PLAIN_SOLUTION = """
    from collections import Counter

    def count_words(text: str) -> dict[str, int]:
        return dict(Counter(text.lower().split()))

    def neighbours(tokens, n=2):
        return [tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1)]

    def load(path):
        with open(path) as file:
            return file.read().split()

    class Stack:
        def __init__(self):
            self.items = []
        def push(self, item: int):
            self.items.append(item)
        def pop(self):
            return self.items.pop()

    def provided(x):
        return x + 1
"""

NUMPY_STARTER = '''
    import numpy as np

    def affine(x, w, b):
        """An affine layer.

        - x: a numpy array of shape (N, D)
        - w: a numpy array of shape (D, M)
        - b: a numpy array of shape (M,)
        """
        raise NotImplementedError

    def loss(scores, y):
        """scores: (N, C) array of scores; y: (N,) array of labels"""
        pass

    class Nearest:
        def fit(self, X, y):
            """X: (n_samples, n_features), y: (n_samples,) integer labels"""
            raise NotImplementedError
        def predict(self, X, k=1):
            """X: (num_test, n_features)"""
            raise NotImplementedError
'''

NUMPY_SOLUTION = """
    import numpy as np

    def affine(x, w, b):
        return x @ w + b

    def loss(scores, y):
        shifted = scores - scores.max(axis=1, keepdims=True)
        logs = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
        return -logs[np.arange(len(y)), y].mean()

    class Nearest:
        def fit(self, X, y):
            self.X, self.y = X, y
        def predict(self, X, k=1):
            distances = ((X[:, None] - self.X[None]) ** 2).sum(-1)
            nearest = np.argsort(distances, axis=1)[:, :k]
            return np.array([np.bincount(self.y[row]).argmax() for row in nearest])
"""


def drafted(folder: Path, files: dict[str, str], *options: str) -> tuple[CourseOnDisk, str, str]:
    """A course of these files, its recipe, and what `generate` said."""
    course = CourseOnDisk(folder).write(files)
    run = course.run("generate", "hw1", "--kind", "outputs", *options)
    assert run.code == 0, run.out + run.err
    return course, (folder / STARTERS / "hw1/generate_fixtures.py").read_text(), run.out


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> tuple[CourseOnDisk, str, str]:
    files = {f"{STARTERS}/hw1/text.py": PLAIN_STARTER, f"{SOLUTIONS}/hw1/text_solution.py": PLAIN_SOLUTION}
    return drafted(tmp_path_factory.mktemp("plain"), files)


@pytest.fixture(scope="module")
def arrays(tmp_path_factory: pytest.TempPathFactory) -> tuple[CourseOnDisk, str, str]:
    files = {f"{STARTERS}/hw1/layers.py": NUMPY_STARTER, f"{SOLUTIONS}/hw1/layers_solution.py": NUMPY_SOLUTION}
    return drafted(tmp_path_factory.mktemp("arrays"), files)


def test_plain_functions_are_called_with_several_arguments(plain: tuple[CourseOnDisk, str, str]) -> None:
    course, recipe, _ = plain
    gold = goldsmith.load(course.gold())
    assert {"count_words", "neighbours", "stack"} <= set(gold)
    assert recipe.count("count_words(text)") >= 4
    assert "neighbours(tokens, n=n)" in recipe, "options are given, too"


def test_what_students_are_given_has_no_case(plain: tuple[CourseOnDisk, str, str]) -> None:
    assert "provided" not in plain[1]


def test_methods_are_called_after_those_that_they_need(plain: tuple[CourseOnDisk, str, str]) -> None:
    recipe = plain[1]
    assert recipe.index("stack.push(") < recipe.index("stack.pop()")


def test_what_could_not_be_called_is_a_todo_with_its_reason(plain: tuple[CourseOnDisk, str, str]) -> None:
    _, recipe, out = plain
    assert "# TODO load: no case yet. " in recipe
    assert "1 more could not be called, see the TODO in it" in " ".join(out.split())


def test_the_recipe_draws_no_advice_about_itself(
    plain: tuple[CourseOnDisk, str, str], arrays: tuple[CourseOnDisk, str, str]
) -> None:
    for _, _, out in (plain, arrays):
        assert "Advice" not in out


def test_shapes_in_the_starters_docstrings_are_understood(arrays: tuple[CourseOnDisk, str, str]) -> None:
    inputs = goldsmith.load(arrays[0].gold())["affine"].data["input"]
    x, w, b = inputs["x"], inputs["w"], inputs["b"]
    assert x.shape[1] == w.shape[0]
    assert w.shape[1:] == b.shape
    assert len({*x.shape, *w.shape}) == 3, "sizes that differ"


def test_a_batch_of_one_small_and_large_numbers_are_tried(arrays: tuple[CourseOnDisk, str, str]) -> None:
    inputs = goldsmith.load(arrays[0].gold())["affine_again"].data["input"]
    assert inputs["x_one"].shape[0] == 1
    assert abs(inputs["x_small"]).max() < 0.1 < 10 < abs(inputs["x_large"]).max()


def test_labels_are_integers_and_fitting_comes_before_predicting(arrays: tuple[CourseOnDisk, str, str]) -> None:
    gold = goldsmith.load(arrays[0].gold())
    assert gold["loss"].data["input"]["y"].dtype.kind == "i"
    assert gold["nearest"].data["output"].shape == gold["nearest"].data["input"]["X_predict"].shape[:1]


def test_wrong_work_differs_from_drafted_gold(arrays: tuple[CourseOnDisk, str, str]) -> None:
    course = arrays[0]
    wrong = NUMPY_SOLUTION.replace("logs[np.arange(len(y)), y].mean()", "logs[np.arange(len(y)), y].sum()")
    course.write({"handed-in/layers.py": wrong})
    run = course.run("check", "hw1", "handed-in", "--json")
    assert run.code == 1
    (found,) = run.json["submissions"]
    outcomes = {item["name"]: item["outcome"] for item in found["cases"]}
    assert outcomes["loss"] == "differs"
    assert outcomes["affine"] == "agrees"


def test_packages_and_public_tests_show_how_a_part_is_called(tmp_path: Path) -> None:
    starter = '''
        def join(first, second, *, mark):
            """Two texts as one."""
            raise NotImplementedError
        '''
    files = {
        f"{STARTERS}/hw1/lib/words/__init__.py": "",
        f"{STARTERS}/hw1/lib/words/joining.py": starter,
        f"{SOLUTIONS}/hw1/lib/words/joining.py": """
            def join(first, second, *, mark):
                assert mark in ("+", "-"), mark
                return f"{first.title()}{mark}{second}"
            """,
        "tests/public/test_joining.py": """
            import sys
            from pathlib import Path
            sys.path.append(str(Path(__file__).parents[2] / "src/assignments/hw1/lib"))
            from words.joining import join

            def test_join():
                assert join("left", "right", mark="+") == "Left+right"
            """,
    }
    course, recipe, _ = drafted(tmp_path, files)
    assert 'sys.path.insert(0, str(Path(__file__).parent / "lib"))' in recipe
    assert "from words.joining import join" in recipe
    assert goldsmith.load(course.gold())["join"].data["output"]["result"] == "Left+right"


def test_a_recipe_is_left_behind_even_where_nothing_runs(course: CourseOnDisk) -> None:
    recipe = course.root / STARTERS / "hw1/generate_fixtures.py"
    recipe.unlink()
    course.write({f"{SOLUTIONS}/hw1/ops_solution.py": "import no_such_package\n\ndef scale(x):\n    return x\n"})
    run = course.run("generate", "hw1", "--kind", "both")
    assert run.code == 3
    assert "no part could be called" in run.last_line
    assert "no_such_package" in run.last_line
    text = recipe.read_text()
    assert "# TODO scale: no case yet. its module cannot be imported" in text
    assert "run\n# `goldsmith generate hw1` again" in text
    compile(text, "recipe", "exec")


def test_without_a_torch_model_the_recipe_says_why_it_trains_none(tmp_path: Path) -> None:
    files = {f"{STARTERS}/hw1/layers.py": NUMPY_STARTER, f"{SOLUTIONS}/hw1/layers_solution.py": NUMPY_SOLUTION}
    course = CourseOnDisk(tmp_path).write(files)
    assert course.run("generate", "hw1", "--kind", "both").code == 0
    assert "# No checkpoint: no torch model" in (tmp_path / STARTERS / "hw1/generate_fixtures.py").read_text()
