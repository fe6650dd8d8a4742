"""Three assignments at the root, in parts, with the same file names again and again; no folder for tests."""

from __future__ import annotations

from corpora.course_shapes import Shape, module

MODULES = module('''
    """Layers of a network, forwards and backwards."""

    import numpy as np


    class LinearModule(object):
        """An affine layer; weights lie in `params`, what is learnt about them in `grads`."""

        def __init__(self, in_features, out_features):
            self.params = {"weight": np.zeros((out_features, in_features)), "bias": np.zeros((1, out_features))}
            self.grads = {"weight": None, "bias": None}

        def forward(self, x):
            # PUT YOUR CODE HERE
            raise NotImplementedError

        def backward(self, dout):
            # PUT YOUR CODE HERE
            raise NotImplementedError


    class SoftMaxModule(object):
        """Rows to probabilities."""

        def forward(self, x):
            # PUT YOUR CODE HERE
            raise NotImplementedError


    def one_hot(labels, classes):
        """Provided: a row for each label."""
        found = np.zeros((len(labels), classes))
        found[np.arange(len(labels)), labels] = 1.0
        return found
''')

LINEAR = """
    class LinearModule(object):
        '''An affine layer; weights lie in `params`, what is learnt about them in `grads`.'''

        def __init__(self, in_features, out_features):
            self.params = {"weight": np.zeros((out_features, in_features)), "bias": np.zeros((1, out_features))}
            self.grads = {"weight": None, "bias": None}

        def forward(self, x):
            self.x = x
            return x @ self.params["weight"].T + self.params["bias"]

        def backward(self, dout):
            self.grads["weight"] = dout.T @ self.x
            self.grads["bias"] = dout.sum(axis=0, keepdims=True)
            return dout @ self.params["weight"]
"""


def modules(softmax: str, linear: str = LINEAR) -> str:
    return module(
        f"""
    import numpy as np

{linear}

    class SoftMaxModule(object):
        def forward(self, x):
            {softmax}


    def one_hot(labels, classes):
        '''Provided: a row for each label.'''
        found = np.zeros((len(labels), classes))
        found[np.arange(len(labels)), labels] = 1.0
        return found
"""
    )


SOLUTION = modules("""shifted = np.exp(x - x.max(axis=1, keepdims=True))
            return shifted / shifted.sum(axis=1, keepdims=True)""")
RIGHT = modules("""powers = np.exp(x - np.max(x, axis=-1)[:, None])
            self.out = powers / powers.sum(-1)[:, None]
            return self.out""")
WRONG = modules("""powers = np.exp(x - np.max(x))
            return powers / powers.sum()""")

PROMPT = module('''
    """A frame around an image, to be learnt."""

    import numpy as np


    class PadPrompter:
        def __init__(self, size, width):
            self.size, self.width = size, width

        def forward(self, image, border):
            # PUT YOUR CODE HERE
            raise NotImplementedError

        def mask(self):
            """Provided: one on the frame, nought inside."""
            found = np.ones((self.size, self.size))
            inner = slice(self.width, self.size - self.width)
            found[inner, inner] = 0.0
            return found
''')

SHAPE = Shape(
    assignment="assignment1",
    public={
        "README.md": "# Practicals\n",
        "dl2023_cpu.yml": "name: dl2023\n",
        "assignment1/modules.py": MODULES,
        "assignment1/mlp_numpy.py": "from modules import LinearModule\n\nLAYERS = [LinearModule(4, 3)]\n",
        "assignment1/train_mlp_numpy.py": "def train(epochs):\n    # TODO\n    raise NotImplementedError\n",
        "assignment1/cifar10_utils.py": "def load(folder):\n    return folder\n",
        "assignment1/compare_batch_norm.py": "def plot(rows):\n    # TODO\n    raise NotImplementedError\n",
        "assignment1/unittests.py": "import unittest\n\n\nclass TestLayers(unittest.TestCase):\n    pass\n",
        "assignment2/README.md": "# Prompts\n",
        "assignment2/part1/train.py": "def train(epochs):\n    # PUT YOUR CODE HERE\n    raise NotImplementedError\n",
        "assignment2/part1/cifar100_utils.py": "def load(folder):\n    return folder\n",
        "assignment2/part2/main.py": "def main():\n    return 0\n",
        "assignment2/part2/utils.py": "def mean(rows):\n    return sum(rows) / len(rows)\n",
        "assignment2/part2/vp.py": PROMPT,
        "assignment3/part1/mnist.py": "def load(folder):\n    return folder\n",
        "assignment3/part1/train_pl.py": "def step(batch):\n    # PUT YOUR CODE HERE\n    raise NotImplementedError\n",
        "assignment3/part1/unittests.py": "import unittest\n",
        "assignment3/part3/gpt.py": "def sample(logits):\n    # PUT YOUR CODE HERE\n    raise NotImplementedError\n",
        "assignment3/part3/train.py": "def train(epochs):\n    return epochs\n",
        "assignment3/part3/lisa.job": "#SBATCH\n",
    },
    staff={
        "private/solutions/assignment1/modules.py": SOLUTION,
        "private/solutions/assignment2/part2/vp_solution.py": PROMPT.replace(
            "        # PUT YOUR CODE HERE\n        raise NotImplementedError",
            "        inside = self.mask() == 0\n        framed = np.where(inside, image, image + border)\n"
            "        return np.clip(framed, -1.0, 1.0)",
        ),
    },
    recipe={
        "assignment1/generate_fixtures.py": """
            import numpy as np

            import goldsmith as gs
            from modules import LinearModule, SoftMaxModule


            @gs.case
            def linear(case):
                layer = LinearModule(5, 3)
                layer.params["weight"] = case.input("weight", lambda: np.random.randn(3, 5))
                layer.params["bias"] = case.input("bias", lambda: np.random.randn(1, 3))
                case.record("y", layer.forward(case.input("x", lambda: np.random.randn(7, 5))))
                case.record("dx", layer.backward(case.input("dout", lambda: np.random.randn(7, 3))))
                case.record("dw", layer.grads["weight"])
                case.record("db", layer.grads["bias"])


            @gs.case
            def softmax(case):
                case.record("p", SoftMaxModule().forward(case.input("x", lambda: np.random.randn(6, 4) * 30)))


            if __name__ == "__main__":
                gs.main()
        """
    },
    tests={
        "tests/internal/test_assignment1.py": """
            import pytest

            pytestmark = [pytest.mark.rigor, pytest.mark.gold("assignment1")]


            def test_case(gold_case):
                gold_case.assert_agrees()
        """
    },
    right={"assignment1/modules.py": RIGHT},
    wrong={"assignment1/modules.py": WRONG},
    wrong_part="SoftMaxModule",
    settings={"assignments": ".", "solutions": "private/solutions", "internal-tests": "tests/internal"},
    names=("assignment1", "assignment2", "assignment3"),
    said=(
        "assignments: the root of the course (3)",
        "solutions: private/solutions/ (2)",
        "gold will go to tests/internal/",
    ),
    leak="docs/week1.py",
)
