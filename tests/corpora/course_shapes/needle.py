"""One repository, one assignment: a home-made library below `python/`, found by `sys.path.append("./python")`."""

from __future__ import annotations

from corpora.course_shapes import Shape, module

PROVIDED = module('''
    """Tensors that know what they were made from. Provided."""

    import numpy as np


    class Tensor:
        def __init__(self, data, inputs=(), op=None):
            self.data = np.asarray(data)
            self.inputs, self.op, self.grad = inputs, op, None

        def numpy(self):
            return self.data

        def backward(self):
            order = []
            seen = set()

            def visit(node):
                if id(node) in seen:
                    return
                seen.add(id(node))
                for item in node.inputs:
                    visit(item)
                order.append(node)

            visit(self)
            self.grad = np.ones_like(self.data)
            for node in reversed(order):
                if node.op is not None:
                    for item, grad in zip(node.inputs, node.op.gradient(node.grad, node)):
                        item.grad = grad if item.grad is None else item.grad + grad


    class Op:
        def __call__(self, *inputs):
            return Tensor(self.compute(*(item.data for item in inputs)), inputs, self)
''')

OPS = module('''
    """Operations, forwards and backwards."""

    import numpy as np

    from ..autograd import Op


    class Divide(Op):
        def compute(self, a, b):
            ### BEGIN YOUR SOLUTION
            raise NotImplementedError()
            ### END YOUR SOLUTION

        def gradient(self, out_grad, node):
            ### BEGIN YOUR SOLUTION
            raise NotImplementedError()
            ### END YOUR SOLUTION


    class Add(Op):
        """Provided."""

        def compute(self, a, b):
            return a + b

        def gradient(self, out_grad, node):
            return out_grad, out_grad


    def divide(a, b):
        return Divide()(a, b)


    def add(a, b):
        return Add()(a, b)
''')
OPS_DONE = OPS.replace(
    """        ### BEGIN YOUR SOLUTION
        raise NotImplementedError()
        ### END YOUR SOLUTION
""",
    "        return a / b\n",
    1,
).replace(
    """        ### BEGIN YOUR SOLUTION
        raise NotImplementedError()
        ### END YOUR SOLUTION
""",
    "        a, b = (item.data for item in node.inputs)\n        return out_grad / b, -out_grad * a / (b * b)\n",
)
LOGARITHMIC = module('''
    """Logarithms of sums of powers."""

    import numpy as np

    from ..autograd import Op


    class LogSumExp(Op):
        def __init__(self, axis):
            self.axis = axis

        def compute(self, z):
            ### BEGIN YOUR SOLUTION
            raise NotImplementedError()
            ### END YOUR SOLUTION

        def gradient(self, out_grad, node):
            """Provided: the share of each in the sum."""
            z = node.inputs[0].data
            shifted = np.exp(z - z.max(axis=self.axis, keepdims=True))
            return (np.expand_dims(out_grad, self.axis) * shifted / shifted.sum(axis=self.axis, keepdims=True),)


    def logsumexp(z, axis):
        return LogSumExp(axis)(z)
''')
STUB = """        ### BEGIN YOUR SOLUTION
        raise NotImplementedError()
        ### END YOUR SOLUTION
"""
LOG_DONE = LOGARITHMIC.replace(
    STUB,
    "        top = z.max(axis=self.axis, keepdims=True)\n"
    "        rest = np.log(np.exp(z - top).sum(axis=self.axis))\n"
    "        return rest + top.squeeze(self.axis)\n",
)
NN = module('''
    """Layers."""

    import numpy as np

    from ..autograd import Tensor
    from ..ops import logsumexp


    class Module:
        """Provided."""

        def __call__(self, *args):
            return self.forward(*args)


    class SoftmaxLoss(Module):
        def forward(self, logits, labels):
            ### BEGIN YOUR SOLUTION
            raise NotImplementedError()
            ### END YOUR SOLUTION
''')
NN_DONE = NN.replace(
    STUB,
    "        chosen = logits.data[np.arange(len(labels)), labels]\n"
    "        return Tensor((logsumexp(logits, 1).data - chosen).mean())\n",
)

PACKAGE = "python/needle"
SHAPE = Shape(
    assignment="hw2",
    public={
        "README.md": "# Homework 2\n",
        "hw2.ipynb": '{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}\n',
        "apps/mlp_resnet.py": 'import sys\n\nsys.path.append("../python")\nimport needle as ndl\n\n\n'
        "def epoch(rows):\n    ### BEGIN YOUR SOLUTION\n    raise NotImplementedError()\n    ### END YOUR SOLUTION\n",
        f"{PACKAGE}/__init__.py": "from . import nn, ops\nfrom .autograd import Tensor\n",
        f"{PACKAGE}/autograd.py": PROVIDED,
        f"{PACKAGE}/backend_numpy.py": "import numpy as np\n\n\ndef default_device():\n    return np.float64\n",
        f"{PACKAGE}/ops/__init__.py": "from .ops_logarithmic import *\nfrom .ops_mathematic import *\n",
        f"{PACKAGE}/ops/ops_mathematic.py": OPS,
        f"{PACKAGE}/ops/ops_logarithmic.py": LOGARITHMIC,
        f"{PACKAGE}/nn/__init__.py": "from .nn_basic import *\n",
        f"{PACKAGE}/nn/nn_basic.py": NN,
        f"{PACKAGE}/init/__init__.py": "from .init_basic import *\n",
        f"{PACKAGE}/init/init_basic.py": "import numpy as np\n\n\ndef ones(*shape):\n    return np.ones(shape)\n",
        f"{PACKAGE}/data/__init__.py": "",
        f"{PACKAGE}/data/datasets/mnist_dataset.py": "def load(folder):\n    return folder\n",
        f"{PACKAGE}/optim.py": '"""Optimisers."""\n\n\nclass SGD:\n    def __init__(self, lr):\n        self.lr = lr\n',
        "src/ndarray_backend_cpu.cc": "int main() { return 0; }\n",
        "tests/hw2/test_nn_and_optim.py": 'import sys\n\nsys.path.append("./python")\nimport needle as ndl\n\n\n'
        "def test_divide():\n    assert ndl.ops.divide(ndl.Tensor(4.0), ndl.Tensor(2.0)).numpy() == 2\n",
        "tests/hw2/test_data.py": "def test_nothing():\n    assert True\n",
    },
    staff={
        f"private/solutions/{PACKAGE}/autograd.py": PROVIDED,
        f"private/solutions/{PACKAGE}/nn/nn_basic_solution.py": NN_DONE,
        f"private/solutions/{PACKAGE}/ops/ops_mathematic_solution.py": OPS_DONE,
        f"private/solutions/{PACKAGE}/ops/ops_logarithmic.py": LOG_DONE,
    },
    recipe={
        "generate_fixtures.py": """
            import sys

            import numpy as np

            import goldsmith as gs

            sys.path.append("./python")
            import needle as ndl


            @gs.case
            def divide(case):
                a = ndl.Tensor(case.input("a", lambda: np.random.randn(3, 4)))
                b = ndl.Tensor(case.input("b", lambda: np.random.randn(3, 4) + 3))
                out = ndl.ops.divide(a, b)
                out.backward()
                case.record("out", out.numpy())
                case.record("a_grad", a.grad)
                case.record("b_grad", b.grad)


            @gs.case
            def logsumexp(case):
                z = case.input("z", lambda: np.random.randn(4, 6) * 300)
                case.record("rows", ndl.ops.logsumexp(ndl.Tensor(z), 1).numpy())
                case.record("columns", ndl.ops.logsumexp(ndl.Tensor(z), 0).numpy())


            @gs.case
            def softmax_loss(case):
                logits = case.input("logits", lambda: np.random.randn(5, 7))
                labels = case.input("labels", lambda: np.random.randint(0, 7, 5))
                case.record("loss", ndl.nn.SoftmaxLoss()(ndl.Tensor(logits), labels).numpy())


            if __name__ == "__main__":
                gs.main()
        """
    },
    tests={
        "tests/internal/test_gold_files.py": """
            import pytest

            pytestmark = [pytest.mark.rigor, pytest.mark.gold("hw2")]


            def test_case(gold_case):
                gold_case.assert_agrees()
        """
    },
    right={
        f"{PACKAGE}/ops/ops_mathematic.py": OPS_DONE.replace("-out_grad * a / (b * b)", "-(out_grad / b) * (a / b)"),
        f"{PACKAGE}/ops/ops_logarithmic.py": LOG_DONE,
        f"{PACKAGE}/nn/nn_basic.py": NN_DONE,
    },
    wrong={
        f"{PACKAGE}/ops/ops_mathematic.py": OPS_DONE.replace("-out_grad * a", "out_grad * a"),
        f"{PACKAGE}/ops/ops_logarithmic.py": LOG_DONE,
        f"{PACKAGE}/nn/nn_basic.py": NN_DONE,
    },
    wrong_part="Divide",
    settings={"assignments": ".", "solutions": "private/solutions", "internal-tests": "tests/internal"},
    said=(
        "assignments: the whole repository is one, hw2 (1)",
        "solutions: private/solutions/ (1)",
        "public tests: tests/hw2/",
    ),
    package=PACKAGE,
    leak="docs/lecture.py",
)
