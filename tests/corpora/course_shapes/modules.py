"""One repository, one assignment: a package, its tests, and a `project/` of demo apps that students only run."""

from __future__ import annotations

from corpora.course_shapes import Shape, module

OPERATORS = module('''
    """Mathematical operators, and functions of functions."""

    import math
    from typing import Callable, Iterable


    def mul(x: float, y: float) -> float:
        "$f(x, y) = x * y$"
        # TODO: Implement for Task 0.1.
        raise NotImplementedError("Need to implement for Task 0.1")


    def sigmoid(x: float) -> float:
        "One that does not overflow."
        # TODO: Implement for Task 0.1.
        raise NotImplementedError("Need to implement for Task 0.1")


    def log_back(x: float, d: float) -> float:
        "d times the derivative of log at x."
        # TODO: Implement for Task 0.1.
        raise NotImplementedError("Need to implement for Task 0.1")


    EPS = 1e-6


    def log(x: float) -> float:
        "Provided."
        return math.log(x + EPS)


    def map(fn: Callable[[float], float]) -> Callable[[Iterable[float]], Iterable[float]]:
        "Apply to each."
        # TODO: Implement for Task 0.3.
        raise NotImplementedError("Need to implement for Task 0.3")
''')

DONE = module('''
    """Mathematical operators, and functions of functions."""

    import math
    from typing import Callable, Iterable


    def mul(x: float, y: float) -> float:
        return x * y


    def sigmoid(x: float) -> float:
        if x >= 0:
            return 1.0 / (1.0 + math.exp(-x))
        return math.exp(x) / (1.0 + math.exp(x))


    def log_back(x: float, d: float) -> float:
        return d / (x + EPS)


    EPS = 1e-6


    def log(x: float) -> float:
        "Provided."
        return math.log(x + EPS)


    def map(fn: Callable[[float], float]) -> Callable[[Iterable[float]], Iterable[float]]:
        def apply(items: Iterable[float]) -> Iterable[float]:
            return [fn(item) for item in items]

        return apply
''')

SHAPE = Shape(
    assignment="minitorch",
    public={
        "README.md": "# Module 0\n",
        ".gitignore": "__pycache__/\n",
        ".github/workflows/minitorch.yml": "name: CI\non: [push]\n",
        "setup.cfg": "[metadata]\nname = minitorch\nversion = 0.4\n\n"
        "[tool:pytest]\nmarkers =\n    task0_1\n    task0_3\n",
        "setup.py": "from setuptools import setup\n\nsetup(py_modules=[])\n",
        "pyproject.toml": '[tool.pyright]\ninclude = ["**/minitorch"]\n',
        "requirements.txt": "numpy\n",
        "requirements.extra.txt": "streamlit\n",
        "run_tests.py": "import pytest\n\nif __name__ == '__main__':\n    pytest.main()\n",
        "sync_previous_module.py": "def sync(source, target):\n    return source, target\n",
        "files_to_sync.txt": "minitorch/operators.py\n",
        "minitorch/__init__.py": "from .operators import *\n",
        "minitorch/operators.py": OPERATORS,
        "minitorch/module.py": "class Module:\n    def train(self) -> None:\n        self.training = True\n",
        "minitorch/testing.py": "def check(value: float) -> bool:\n    return value == value\n",
        "tests/__init__.py": "",
        "tests/strategies.py": "SMALL = range(-10, 10)\n",
        "tests/unit/mutants/test_operators.py": "import pytest\n\nfrom minitorch import mul\n\n\n@pytest.mark.task0_1\n"
        "def test_mul():\n    assert mul(2, 3) == 6\n",
        "tests/test_module.py": "from minitorch import operators\n\n\ndef test_it():\n    assert operators.EPS\n",
        "project/app.py": "def render(page):\n    return page\n",
        "project/run_manual.py": "def train(rate):\n    # TODO: try other rates\n    return rate\n",
        "project/math_interface.py": "def show(name):\n    return name\n",
        "project/interface/train.py": "def train(rate):\n    return rate\n",
        "project/interface/streamlit_utils.py": "def render(page):\n    return page\n",
    },
    staff={"solutions/minitorch/operators.py": DONE},
    recipe={
        "generate_fixtures.py": """
            import numpy as np

            import goldsmith as gs
            from minitorch import operators


            def each(function, *columns):
                return np.array([function(*row) for row in zip(*(column.tolist() for column in columns))])


            @gs.case
            def products(case):
                x, y = (case.input(name, lambda: np.random.randn(8)) for name in "xy")
                case.record("products", each(operators.mul, x, y))


            @gs.case
            def sigmoids(case):
                x = case.input("x", lambda: np.concatenate([np.random.randn(8) * 3, [700.0, -700.0]]))
                case.record("sigmoids", each(operators.sigmoid, x))


            @gs.case
            def slopes(case):
                x = case.input("x", lambda: np.random.rand(8) * 1e-5)
                d = case.input("d", lambda: np.random.randn(8))
                case.record("slopes", each(operators.log_back, x, d))


            @gs.case
            def mapped(case):
                x = case.input("x", lambda: np.random.randn(5))
                case.record("mapped", np.array(list(operators.map(lambda item: 3 * item)(x.tolist()))))


            if __name__ == "__main__":
                gs.main()
        """
    },
    tests={
        "tests/internal/test_gold_files.py": """
            import pytest

            pytestmark = [pytest.mark.rigor, pytest.mark.gold("minitorch")]


            def test_case(gold_case):
                gold_case.assert_agrees()
        """
    },
    right={"minitorch/operators.py": DONE.replace("1.0 / (1.0 + math.exp(-x))", "1.0 / (math.exp(-x) + 1.0)")},
    wrong={"minitorch/operators.py": DONE.replace("d / (x + EPS)", "d / x")},
    wrong_part="log_back",
    settings={"assignments": ".", "solutions": "solutions", "internal-tests": "tests/internal"},
    said=(
        "assignments: the whole repository is one, minitorch (1)",
        "solutions: solutions/ (1)",
        "public tests: tests/",
    ),
    package="minitorch",
    leak="project/extra.py",
)
