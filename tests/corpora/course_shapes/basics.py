"""One repository, one assignment: a package that is all but empty, reached through `tests/adapters.py`."""

from __future__ import annotations

from corpora.course_shapes import Shape, module

ADAPTERS = module('''
    """Fill these in: they lead from the tests to your code."""

    from __future__ import annotations

    import numpy as np


    def run_softmax(in_features: np.ndarray, dim: int) -> np.ndarray:
        """Probabilities along one axis."""
        raise NotImplementedError


    def run_cross_entropy(inputs: np.ndarray, targets: np.ndarray) -> float:
        """The mean over a batch."""
        raise NotImplementedError


    def run_rmsnorm(eps: float, weights: np.ndarray, in_features: np.ndarray) -> np.ndarray:
        """Rows of unit size, scaled."""
        raise NotImplementedError
''')

NN = """
    import numpy as np


    def softmax(x, axis):
        powers = np.exp(x - x.max(axis=axis, keepdims=True))
        return powers / powers.sum(axis=axis, keepdims=True)


    def cross_entropy(logits, targets):
        shifted = logits - logits.max(axis=1, keepdims=True)
        norm = np.log(np.exp(shifted).sum(axis=1))
        return (norm - shifted[np.arange(len(targets)), targets]).mean()


    def rmsnorm(x, scale, eps):
        return x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + eps) * scale
"""


def adapters(package: str) -> str:
    return module(f'''
    """Filled in."""

    from __future__ import annotations

    import numpy as np

    from {package} import cross_entropy, rmsnorm, softmax


    def run_softmax(in_features: np.ndarray, dim: int) -> np.ndarray:
        return softmax(in_features, dim)


    def run_cross_entropy(inputs: np.ndarray, targets: np.ndarray) -> float:
        return cross_entropy(inputs, targets)


    def run_rmsnorm(eps: float, weights: np.ndarray, in_features: np.ndarray) -> np.ndarray:
        return rmsnorm(in_features, weights, eps)
''')


TEST = """
    import numpy as np

    from .adapters import run_softmax


    def test_softmax(numpy_snapshot):
        numpy_snapshot(run_softmax(np.arange(6.0).reshape(2, 3), 1))
"""

SHAPE = Shape(
    assignment="cs336_basics",
    public={
        "README.md": "# Basics\n",
        "CHANGELOG.md": "# Changes\n",
        ".python-version": "3.11\n",
        ".gitignore": "__pycache__/\n.venv/\n",
        "pyproject.toml": '[project]\nname = "cs336_basics"\nversion = "1.0.4"\n\n'
        '[tool.pytest.ini_options]\nlog_cli = true\naddopts = "-s"\n',
        "uv.lock": "version = 1\n",
        "make_submission.sh": "#!/usr/bin/env bash\nzip -r submission.zip . -x '*.venv*'\n",
        "cs336_basics/__init__.py": "import importlib.metadata\n\n"
        '__version__ = importlib.metadata.version("cs336_basics")\n',
        "cs336_basics/pretokenization_example.py": "def find_chunks(size, count):\n"
        "    return [size * number // count for number in range(count + 1)]\n",
        "tests/__init__.py": "",
        "tests/adapters.py": ADAPTERS,
        "tests/common.py": "from pathlib import Path\n\nFIXTURES_PATH = Path(__file__).parent / 'fixtures'\n",
        "tests/conftest.py": "import numpy as np\nimport pytest\n\n\n@pytest.fixture\ndef numpy_snapshot():\n"
        "    def check(value):\n        stored = np.load('tests/_snapshots/softmax.npy')\n"
        "        np.testing.assert_allclose(value, stored)\n\n    return check\n",
        "tests/test_nn_utils.py": TEST,
        "tests/test_model.py": TEST.replace("test_softmax", "test_again"),
        "tests/fixtures/corpus.en": "a b c\n",
        "tests/_snapshots/softmax.npy": "",
    },
    staff={
        "private/solutions/cs336_basics/nn.py": module(NN),
        "private/solutions/tests/adapters.py": adapters("cs336_basics.nn"),
    },
    recipe={
        "generate_fixtures.py": """
            import numpy as np

            import goldsmith as gs
            from tests.adapters import run_cross_entropy, run_rmsnorm, run_softmax


            @gs.case
            def softmax(case):
                x = case.input("x", lambda: np.random.randn(3, 4, 5) * 30)
                case.record("last", run_softmax(x, 2))
                case.record("first", run_softmax(x, 0))


            @gs.case
            def cross_entropy(case):
                logits = case.input("logits", lambda: np.random.randn(6, 5) * 300)
                targets = case.input("targets", lambda: np.random.randint(0, 5, 6))
                case.record("loss", run_cross_entropy(logits, targets))


            @gs.case
            def rmsnorm(case):
                x = case.input("x", lambda: np.random.randn(3, 8) * 1e-2)
                weights = case.input("weights", lambda: np.random.randn(8))
                case.record("y", run_rmsnorm(1e-4, weights, x))


            if __name__ == "__main__":
                gs.main()
        """
    },
    tests={
        "tests/internal/test_gold_files.py": """
            import pytest

            pytestmark = [pytest.mark.rigor, pytest.mark.gold("cs336_basics")]


            def test_case(gold_case):
                gold_case.assert_agrees()
        """
    },
    right={
        "cs336_basics/layers/__init__.py": module(NN).replace("powers", "p"),
        "tests/adapters.py": adapters("cs336_basics.layers"),
    },
    wrong={
        "cs336_basics/nn.py": module(NN).replace("+ eps) * scale", "+ eps)"),
        "tests/adapters.py": adapters("cs336_basics.nn"),
    },
    wrong_part="rmsnorm",
    settings={"assignments": ".", "solutions": "private/solutions", "internal-tests": "tests/internal"},
    said=(
        "assignments: the whole repository is one, cs336_basics (1)",
        "private/solutions/tests/adapters.py has what tests/adapters.py leaves to write",
        "solutions: private/solutions/ (1)",
        "public tests: tests/",
        "gold will go to tests/internal/fixtures/",
    ),
    leak="docs/hints.py",
)
