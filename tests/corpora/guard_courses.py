"""Five clean courses with the folders, names and habits of public ones, and code of our own, for the guard.

What they have in common with a leak and is none: a starter that somebody hands in as it is, stubs that no solution
fills, provided code in both places, the boilerplate of command lines and configurations, a later assignment that gives
away what an earlier one asked for.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from support.course import CourseOnDisk

STUB = "raise NotImplementedError"


@dataclass(frozen=True)
class GuardedCourse:
    """`files` is the course as it is cloned, without what is handed in. `answers` are parts of its solutions, and
    `unchanged` are starters that a student hands in as they are."""

    files: Mapping[str, str]
    answers: tuple[str, ...]
    starters: tuple[str, ...]
    assignment: str
    handed_in: str = "submissions"
    extras: Mapping[str, str] = field(default_factory=dict)

    def write(self, root: Path) -> CourseOnDisk:
        course = CourseOnDisk(root)
        course.root.mkdir(parents=True)
        course.write(dict(self.files))
        course.git("init", "--quiet", "--initial-branch=main")
        course.git("add", "--all")
        course.git("commit", "--quiet", "-m", "The course")
        return course

    def hand_in(self, course: CourseOnDisk, folder: str = "") -> None:
        """Put submissions where staff unpack them: one is the starter, one is right."""
        for student, right in (("ada", False), ("bob", True)):
            for name in self.starters:
                text = self.files[name]
                answer = self.solution_of(name) if right else None
                course.write({f"{folder or self.handed_in}/{student}/{name}": answer or text})

    def solution_of(self, starter: str) -> str | None:
        """The text that the staff's folder has for a file of the starter."""
        stem, dot, suffix = starter.rpartition(".")
        names = [f"{stem}{ending}{dot}{suffix}" for ending in ("_solution", "_solutions", "")]
        for name, text in self.files.items():
            if name.startswith(("private/", "solutions/", "staff/")) and name.endswith(tuple(f"/{one}" for one in names)):
                return text
        return None


def code(text: str) -> str:
    return textwrap.dedent(text).lstrip("\n")


def notebook(*cells: str) -> str:
    """A notebook of code cells; one that begins with `#!md` is text."""
    rows = []
    for text in map(code, cells):
        kind = "markdown" if text.startswith("#!md") else "code"
        row = {"cell_type": kind, "metadata": {}, "source": text.removeprefix("#!md\n").splitlines(keepends=True)}
        rows.append(row | ({"execution_count": None, "outputs": []} if kind == "code" else {}))
    return json.dumps({"cells": rows, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)


def filled(starter: str, *answers: str) -> str:
    """A starter in which the first stubs are answered, those of `STUB` in order."""
    for answer in answers:
        at = starter.index(STUB)
        indent = " " * (at - starter.rindex("\n", 0, at) - 1)
        starter = starter.replace(STUB, textwrap.indent(code(answer), indent).strip(), 1)
    return starter


# --- reinforcement learning: homeworks at the root, each with the infrastructure of the last one, filled in

ROLLOUTS = code('''
    """Paths through an environment."""

    import numpy as np


    def sample_path(env, policy, length):
        """One path, as arrays by name."""
        # TODO: implement the loop; HINT: env.step gives the next observation, a reward, and whether it is over
        raise NotImplementedError


    def path_length(path):
        return len(path["reward"])


    def sample_paths(env, policy, least, length):
        """Provided: paths until there are enough steps."""
        steps, paths = 0, []
        while steps < least:
            paths.append(sample_path(env, policy, length))
            steps += path_length(paths[-1])
        return paths, steps


    def to_numpy(tensor):
        return tensor.to("cpu").detach().numpy()
''')
PATH = """
    observation = env.reset()
    rows = {name: [] for name in ("observation", "action", "reward", "terminal")}
    for step in range(length):
        action = policy.get_action(observation)
        following, reward, over = env.step(action)
        over = over or step + 1 == length
        for name, value in zip(rows, (observation, action, reward, over)):
            rows[name].append(value)
        observation = following
        if over:
            break
    return {name: np.array(values, dtype=np.float32) for name, values in rows.items()}
"""
AGENT = code('''
    """An agent that follows the gradient of what it expects."""

    import numpy as np
    import torch
    from torch import nn


    class PGAgent(nn.Module):
        def __init__(self, observation_dim, action_dim, layers, size, gamma, rate, use_baseline=False):
            super().__init__()
            self.observation_dim = observation_dim
            self.action_dim = action_dim
            self.gamma = gamma
            self.use_baseline = use_baseline
            self.actor = nn.Linear(observation_dim, action_dim)
            self.optimizer = torch.optim.Adam(self.actor.parameters(), rate)

        def update(self, observations, actions, advantages):
            """One step of the gradient; what it says of itself, by name."""
            # TODO: compute the loss and take a step
            raise NotImplementedError

        def discounted_return(self, rewards):
            """The same sum for each step."""
            # TODO
            raise NotImplementedError

        def discounted_reward_to_go(self, rewards):
            """For each step the sum of what follows."""
            # TODO
            raise NotImplementedError

        def estimate_advantages(self, values, rewards):
            """Next week: with lambda."""
            # TODO(next homework): implement generalised advantages
            raise NotImplementedError("You will need this in homework 3")
''')
AGENT_ANSWERS = (
    """
    logits = self.actor(observations)
    chosen = torch.distributions.Categorical(logits=logits).log_prob(actions)
    loss = -(chosen * advantages).sum() / max(1, len(advantages))
    self.optimizer.zero_grad()
    loss.backward()
    self.optimizer.step()
    return {"loss": loss.item()}
    """,
    """
    powers = self.gamma ** np.arange(len(rewards))
    return [float((powers * np.asarray(rewards)).sum())] * len(rewards)
    """,
    """
    found = np.zeros(len(rewards))
    running = 0.0
    for index in reversed(range(len(rewards))):
        running = rewards[index] + self.gamma * running
        found[index] = running
    return found
    """,
)
LAUNCH = code('''
    import argparse
    import os
    import time


    def run_training_loop(args):
        # TODO: complete the loop
        raise NotImplementedError


    def main():
        parser = argparse.ArgumentParser()
        parser.add_argument("--env_name", type=str, required=True)
        parser.add_argument("--exp_name", type=str, required=True)
        parser.add_argument("--n_iter", "-n", type=int, default=200)
        parser.add_argument("--discount", type=float, default=1.0)
        parser.add_argument("--batch_size", "-b", type=int, default=1000)
        parser.add_argument("--seed", type=int, default=1)
        parser.add_argument("--no_gpu", "-ngpu", action="store_true")
        args = parser.parse_args()
        logdir = os.path.join("data", args.exp_name + "_" + args.env_name + "_" + time.strftime("%d-%m-%Y"))
        os.makedirs(logdir, exist_ok=True)
        run_training_loop(args)


    if __name__ == "__main__":
        main()
''')
LOOP = """
    agent = make_agent(args)
    for iteration in range(args.n_iter):
        paths, steps = sample_paths(args.env, agent, args.batch_size, args.length)
        rewards = [path["reward"] for path in paths]
        info = agent.update(*flatten(paths), [agent.discounted_reward_to_go(row) for row in rewards])
        if iteration % args.every == 0:
            print(iteration, steps, sum(map(sum, rewards)) / len(rewards), info["loss"])
    return agent
"""
BUFFER = code('''
    """What was seen, to be seen again."""

    import numpy as np


    class ReplayBuffer:
        def __init__(self, capacity=1000000):
            self.capacity = capacity
            self.size = 0
            self.rows = None

        def sample(self, batch_size):
            """Rows by name, drawn with replacement."""
            # TODO: draw rows
            raise NotImplementedError

        def __len__(self):
            return self.size
''')
DRAW = """
    chosen = np.random.randint(0, self.size, size=(batch_size,)) % self.capacity
    return {name: column[chosen] for name, column in self.rows.items() if column is not None}
"""
LOGGER = code('''
    """Provided: numbers, written down."""

    import os
    import pickle


    class Logger:
        def __init__(self, folder, every=10):
            self.folder = folder
            self.every = every
            os.makedirs(folder, exist_ok=True)

        def log_scalar(self, value, name, step):
            with open(os.path.join(self.folder, name), "a") as file:
                file.write(f"{step}\\t{value}\\n")
''')
REINFORCEMENT = GuardedCourse(
    assignment="hw1",
    files={
        "README.md": "# Deep reinforcement learning\n",
        "hw1/README.md": "# Homework 1\n",
        "hw1/setup.py": 'from setuptools import setup\n\nsetup(name="rl", version="0.1", packages=["rl"])\n',
        "hw1/rl/__init__.py": "",
        "hw1/rl/agents/pg_agent.py": AGENT,
        "hw1/rl/infrastructure/rollouts.py": ROLLOUTS,
        "hw1/rl/infrastructure/logger.py": LOGGER,
        "hw1/rl/scripts/run_hw1.py": LAUNCH,
        "hw2/README.md": "# Homework 2\n",
        "hw2/setup.py": 'from setuptools import setup\n\nsetup(name="rl", version="0.1", packages=["rl"])\n',
        "hw2/rl/__init__.py": "",
        "hw2/rl/infrastructure/rollouts.py": filled(ROLLOUTS, PATH).replace("# TODO: implement the loop; HINT", "# HINT"),
        "hw2/rl/infrastructure/replay_buffer.py": BUFFER,
        "hw2/rl/infrastructure/logger.py": LOGGER,
        "hw2/rl/scripts/run_hw2.py": LAUNCH.replace('"--discount", type=float, default=1.0', '"--lambda", type=float'),
        "private/solutions/hw1/rl/agents/pg_agent.py": filled(AGENT, *AGENT_ANSWERS),
        "private/solutions/hw1/rl/infrastructure/rollouts.py": filled(ROLLOUTS, PATH),
        "private/solutions/hw1/rl/infrastructure/logger.py": LOGGER,
        "private/solutions/hw1/rl/scripts/run_hw1.py": filled(LAUNCH, LOOP),
        "private/solutions/hw2/rl/infrastructure/replay_buffer.py": filled(BUFFER, DRAW),
        "private/solutions/hw2/rl/infrastructure/rollouts.py": filled(ROLLOUTS, PATH),
        "private/solutions/hw2/rl/scripts/run_hw2.py": filled(
            LAUNCH.replace('"--discount", type=float, default=1.0', '"--lambda", type=float'), LOOP
        ),
    },
    answers=(PATH, *AGENT_ANSWERS, LOOP),
    starters=("hw1/rl/agents/pg_agent.py", "hw1/rl/infrastructure/rollouts.py"),
)

# --- NumPy: notebooks that call layers in packages without `__init__.py`

LAYERS = code('''
    from builtins import range
    import numpy as np


    def affine_forward(x, w, b):
        """Returns the output, and what `affine_backward` needs."""
        out = None
        ###########################################################################
        # TODO: Implement the affine forward pass. Store the result in out.       #
        ###########################################################################
        pass
        ###########################################################################
        #                             END OF YOUR CODE                            #
        ###########################################################################
        cache = (x, w, b)
        return out, cache


    def affine_backward(dout, cache):
        x, w, b = cache
        dx, dw, db = None, None, None
        ###########################################################################
        # TODO: Implement the affine backward pass.                               #
        ###########################################################################
        pass
        ###########################################################################
        #                             END OF YOUR CODE                            #
        ###########################################################################
        return dx, dw, db


    def relu_forward(x):
        out = None
        ###########################################################################
        # TODO: Implement the ReLU forward pass.                                  #
        ###########################################################################
        pass
        ###########################################################################
        #                             END OF YOUR CODE                            #
        ###########################################################################
        cache = x
        return out, cache


    def conv_forward_naive(x, w, b, conv_param):
        """For the next assignment."""
        out = None
        ###########################################################################
        # TODO: Implement the convolutional forward pass.                         #
        ###########################################################################
        pass
        ###########################################################################
        #                             END OF YOUR CODE                            #
        ###########################################################################
        cache = (x, w, b, conv_param)
        return out, cache
''')
AFFINE = "    out = x.reshape(x.shape[0], int(np.prod(x.shape[1:]))) @ w + b[None, :]\n"
AFFINE_BACK = (
    "    rows = x.reshape(x.shape[0], -1)\n    dw = np.dot(rows.T, dout)\n    db = np.sum(dout, axis=0)\n"
    "    dx = np.dot(dout, w.T).reshape(*x.shape)\n"
)
RELU = "    out = np.where(x > 0, x, np.zeros_like(x))\n"
LAYERS_DONE = LAYERS.replace("    pass\n", AFFINE, 1).replace("    pass\n", AFFINE_BACK, 1).replace("    pass\n", RELU, 1)
GRADIENT_CHECK = code('''
    import numpy as np


    def numeric_gradient(f, x, h=1e-5):
        """Provided: differences in the middle."""
        grad = np.zeros_like(x)
        it = np.nditer(x, flags=["multi_index"], op_flags=["readwrite"])
        while not it.finished:
            at = it.multi_index
            old = x[at]
            x[at] = old + h
            above = f(x)
            x[at] = old - h
            below = f(x)
            x[at] = old
            grad[at] = (above - below) / (2 * h)
            it.iternext()
        return grad
''')
KNN = code('''
    from builtins import object
    import numpy as np


    class KNearestNeighbor(object):
        def __init__(self):
            pass

        def train(self, X, y):
            self.X_train = X
            self.y_train = y

        def compute_distances_one_loop(self, X):
            num_test = X.shape[0]
            num_train = self.X_train.shape[0]
            dists = np.zeros((num_test, num_train))
            for i in range(num_test):
                # *****START OF YOUR CODE (DO NOT DELETE/MODIFY THIS LINE)*****
                pass
                # *****END OF YOUR CODE (DO NOT DELETE/MODIFY THIS LINE)*****
            return dists

        def predict_labels(self, dists, k=1):
            num_test = dists.shape[0]
            y_pred = np.zeros(num_test)
            for i in range(num_test):
                closest_y = []
                # *****START OF YOUR CODE (DO NOT DELETE/MODIFY THIS LINE)*****
                pass
                # *****END OF YOUR CODE (DO NOT DELETE/MODIFY THIS LINE)*****
            return y_pred
''')
DISTANCES = "dists[i] = np.sqrt(np.square(self.X_train - X[i][None]).sum(axis=tuple(range(1, X.ndim))))\n"
LABELS = "closest_y = self.y_train[np.argsort(dists[i], kind='stable')[:k]]\n            y_pred[i] = np.bincount(closest_y).argmax()\n"
KNN_DONE = KNN
for _answer in (DISTANCES, LABELS):
    KNN_DONE = KNN_DONE.replace("            # *****START OF YOUR CODE (DO NOT DELETE/MODIFY THIS LINE)*****\n            pass\n", f"            {_answer}", 1)
SETUP_CELL = """
    import random
    import numpy as np
    import matplotlib.pyplot as plt

    %matplotlib inline
    plt.rcParams["figure.figsize"] = (10.0, 8.0)
    plt.rcParams["image.interpolation"] = "nearest"
    %load_ext autoreload
    %autoreload 2
"""


def knn_notebook(answer: str, words: str) -> str:
    return notebook(
        "#!md\n# Nearest neighbours\n",
        SETUP_CELL,
        """
        from course.classifiers.k_nearest_neighbor import KNearestNeighbor

        classifier = KNearestNeighbor()
        classifier.train(X_train, y_train)
        dists = classifier.compute_distances_one_loop(X_test)
        print(dists.shape)
        plt.imshow(dists, interpolation="none")
        plt.show()
        """,
        f"""
        num_folds = 5
        k_choices = [1, 3, 5, 8, 10, 12, 15, 20, 50, 100]
        X_train_folds = []
        # TODO: split up the training data into folds
        {answer}
        k_to_accuracies = {{}}
        for k in sorted(k_to_accuracies):
            for accuracy in k_to_accuracies[k]:
                print("k = %d, accuracy = %f" % (k, accuracy))
        """,
        f"#!md\n**Inline question 1** Why are some rows brighter?\n\n$\\color{{blue}}{{\\textit Your Answer:}}$ {words}\n",
    )


NUMPY = GuardedCourse(
    assignment="assignment1",
    files={
        "README.md": "# Vision with NumPy\n",
        "assignment1/README.md": "Details about this assignment are on the page.\n",
        "assignment1/collectSubmission.sh": "#!/bin/bash\nzip -r a1_code_submission.zip course\n",
        "assignment1/knn.ipynb": knn_notebook("pass", ""),
        "assignment1/course/layers.py": LAYERS,
        "assignment1/course/gradient_check.py": GRADIENT_CHECK,
        "assignment1/course/classifiers/k_nearest_neighbor.py": KNN,
        "assignment2/README.md": "Details about this assignment are on the page.\n",
        "assignment2/course/layers.py": LAYERS,
        "assignment2/course/gradient_check.py": GRADIENT_CHECK,
        "solutions/assignment1/knn.ipynb": knn_notebook(
            "X_train_folds = np.array_split(X_train, num_folds)", "They are far from all others."
        ),
        "solutions/assignment1/course/layers.py": LAYERS_DONE,
        "solutions/assignment1/course/gradient_check.py": GRADIENT_CHECK,
        "solutions/assignment1/course/classifiers/k_nearest_neighbor.py": KNN_DONE,
        "solutions/assignment2/course/layers.py": LAYERS_DONE,
    },
    answers=(AFFINE_BACK, DISTANCES + LABELS.replace("            ", "")),
    starters=("assignment1/course/layers.py", "assignment1/course/classifiers/k_nearest_neighbor.py", "assignment1/knn.ipynb"),
    handed_in="handins/assignment1",
)

# --- practicals: nothing but notebooks, in one folder each for starters and solutions

BANDIT_HELP = """
    import numpy as np
    import matplotlib.pyplot as plt

    def show_rewards(rewards, title="Rewards"):
        fig, ax = plt.subplots(figsize=(8, 3))
        ax.plot(np.cumsum(rewards) / np.arange(1, len(rewards) + 1))
        ax.set_title(title)
        ax.set_xlabel("step")
        plt.show()

    class Bandit:
        def __init__(self, arms, seed=0):
            self.rng = np.random.default_rng(seed)
            self.means = self.rng.normal(size=arms)

        def pull(self, arm):
            return self.rng.normal(self.means[arm])
"""


def bandits(greedy: str, upper: str) -> str:
    return notebook(
        "#!md\n# Practical 1.1: bandits\n\n**Exercise**: fill in `# FINISH ME`.\n",
        "!pip install -q numpy matplotlib",
        BANDIT_HELP,
        f"""
        def choose_greedily(counts, totals, epsilon, rng):
            # Explore now and then.
            if rng.random() < epsilon:
                return rng.integers(len(counts))
            {greedy}
            return arm
        """,
        f"""
        def upper_bounds(counts, totals, step):
            {upper}
            return scores
        """,
        """
        bandit = Bandit(arms=5)
        rewards = [bandit.pull(step % 5) for step in range(500)]
        show_rewards(rewards)
        """,
    )


GREEDY = "arm = int(np.argmax(np.divide(totals, counts, out=np.full(len(counts), np.inf), where=counts > 0)))"
UPPER = "scores = totals / np.maximum(counts, 1) + np.sqrt(2.0 * np.log(max(step, 1)) / np.maximum(counts, 1))"


def attention(body: str) -> str:
    return notebook(
        "#!md\n# Practical 2: attention\n",
        BANDIT_HELP.partition("    class Bandit")[0],
        f"""
        def attend(queries, keys, values, mask=None):
            {body}
        """,
        """
        fig, ax = plt.subplots(figsize=(8, 3))
        ax.set_title("weights")
        ax.set_xlabel("step")
        plt.show()
        """,
    )


ATTEND = """scores = np.einsum("...qd,...kd->...qk", queries, keys) / np.sqrt(keys.shape[-1])
            if mask is not None:
                scores = np.where(mask, scores, -1e9)
            scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
            return np.einsum("...qk,...kd->...qd", scores / scores.sum(axis=-1, keepdims=True), values)"""
PRACTICALS = GuardedCourse(
    assignment="practicals",
    files={
        "README.md": "# Practicals\n",
        "practicals/1.1 Bandits.ipynb": bandits("arm = # FINISH ME", "scores = # FINISH ME"),
        "practicals/2-attention.ipynb": attention("# YOUR CODE HERE\n            pass"),
        "practicals/3 Reading.ipynb": notebook("#!md\n# Reading\n", "import numpy as np\n"),
        "solutions/practicals/1.1 Bandits.ipynb": bandits(GREEDY, UPPER),
        "solutions/practicals/2-attention_solution.ipynb": attention(ATTEND),
    },
    answers=(
        f"def pick(totals, counts):\n    {GREEDY.replace('arm =', 'return')}\n",
        f"def pick(totals, counts, step):\n    {UPPER.replace('scores =', 'return')}\n",
        "def attend(queries, keys, values, mask=None):\n    " + textwrap.dedent(f"            {ATTEND}").replace("\n", "\n    "),
    ),
    starters=("practicals/1.1 Bandits.ipynb", "practicals/2-attention.ipynb"),
    handed_in="handed in/practical 1",
)

# --- adapters: students write a package of their own; tests reach it by functions that they fill in

ADAPTERS = code('''
    from __future__ import annotations

    from typing import Type

    import torch


    def get_flash_autograd_function_pytorch() -> Type:
        """
        Returns a torch.autograd.Function subclass that implements attention by tiles.
        """
        # For example: return MyFlashFunctionClass
        raise NotImplementedError


    def get_ddp(module: torch.nn.Module) -> torch.nn.Module:
        """
        Returns a container that synchronises gradients.
        """
        # For example: return DDP(module)
        raise NotImplementedError


    def ddp_on_after_backward(model: torch.nn.Module, optimizer: torch.optim.Optimizer):
        """
        Code to run after the backward pass, before the optimizer takes a step.
        """
        # For example: model.finish_gradient_synchronization()
        raise NotImplementedError


    def get_sharded_optimizer(params, optimizer_cls: Type[torch.optim.Optimizer], **kwargs) -> torch.optim.Optimizer:
        """
        Returns an optimizer whose state is sharded.
        """
        raise NotImplementedError
''')
ADAPTERS_DONE = filled(
    ADAPTERS.replace("import torch\n", "import torch\n\nfrom systems.ddp import DDP\nfrom systems.flash import Flash\n", 1),
    "return Flash",
    "return DDP(module)",
    "model.finish_gradient_synchronization()",
)
DDP = code("""
    import torch
    import torch.distributed as dist
    from torch import nn


    class DDP(nn.Module):
        def __init__(self, module: nn.Module):
            super().__init__()
            self.module = module
            self.handles = []
            for parameter in self.module.parameters():
                dist.broadcast(parameter.data, src=0)
                if parameter.requires_grad:
                    parameter.register_post_accumulate_grad_hook(self._reduce)

        def _reduce(self, parameter):
            parameter.grad /= dist.get_world_size()
            self.handles.append(dist.all_reduce(parameter.grad, op=dist.ReduceOp.SUM, async_op=True))

        def forward(self, *args, **kwargs):
            return self.module(*args, **kwargs)

        def finish_gradient_synchronization(self):
            for handle in self.handles:
                handle.wait()
            self.handles.clear()
""")
FLASH = code("""
    import math

    import torch


    class Flash(torch.autograd.Function):
        @staticmethod
        def forward(ctx, q, k, v, is_causal=False):
            scale = 1 / math.sqrt(q.shape[-1])
            out, logs = [], []
            for tile in q.split(16, dim=-2):
                scores = tile @ k.transpose(-1, -2) * scale
                top = scores.max(dim=-1, keepdim=True).values
                weights = torch.exp(scores - top)
                total = weights.sum(dim=-1, keepdim=True)
                out.append(weights @ v / total)
                logs.append((top + total.log()).squeeze(-1))
            ctx.save_for_backward(torch.cat(logs, dim=-1), q, k, v)
            return torch.cat(out, dim=-2)
""")
BENCHMARK = code('''
    import argparse
    import timeit
    from dataclasses import dataclass

    import torch


    @dataclass
    class BenchmarkConfig:
        batch_size: int = 4
        context_length: int = 128
        d_model: int = 768
        num_layers: int = 12
        num_heads: int = 12
        warmup: int = 5
        steps: int = 10
        device: str = "cuda" if torch.cuda.is_available() else "cpu"


    def parse_args() -> BenchmarkConfig:
        parser = argparse.ArgumentParser(description="Benchmark a model")
        parser.add_argument("--batch-size", type=int, default=4)
        parser.add_argument("--context-length", type=int, default=128)
        parser.add_argument("--d-model", type=int, default=768)
        parser.add_argument("--num-layers", type=int, default=12)
        parser.add_argument("--num-heads", type=int, default=12)
        parser.add_argument("--warmup", type=int, default=5)
        parser.add_argument("--steps", type=int, default=10)
        return BenchmarkConfig(**vars(parser.parse_args()))
''')
PUBLIC_TEST = code("""
    import pytest
    import torch

    from .adapters import get_flash_autograd_function_pytorch


    def reference(q, k, v):
        scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
        return torch.softmax(scores, dim=-1) @ v


    def test_forward():
        q, k, v = (torch.randn(2, 32, 16) for _ in range(3))
        out = get_flash_autograd_function_pytorch().apply(q, k, v)
        torch.testing.assert_close(out, reference(q, k, v), rtol=1e-2, atol=1e-2)
""")
SYSTEMS = GuardedCourse(
    assignment="systems",
    files={
        "README.md": "# Systems\n",
        "pyproject.toml": '[project]\nname = "systems"\nversion = "1.0.4"\n',
        "systems/__init__.py": "",
        "tests/__init__.py": "",
        "tests/adapters.py": ADAPTERS,
        "tests/test_attention.py": PUBLIC_TEST,
        "basics/basics/model.py": "import torch\n\n\nclass Linear(torch.nn.Module):\n    def forward(self, x):\n"
        "        return x @ self.weight.T\n",
        "basics/scripts/train.py": BENCHMARK.replace("Benchmark a model", "Train a model").replace(
            "BenchmarkConfig", "TrainConfig"
        ),
        "private/solutions/systems/ddp.py": DDP,
        "private/solutions/systems/flash.py": FLASH,
        "private/solutions/systems/benchmark.py": BENCHMARK,
        "private/solutions/tests/adapters.py": ADAPTERS_DONE,
    },
    answers=(DDP, FLASH),
    starters=("tests/adapters.py",),
    handed_in="student_repos",
)

# --- minBERT: everything at the root

BERT = code('''
    """A small BERT."""

    import math

    import torch
    import torch.nn as nn
    import torch.nn.functional as F

    from config import BertConfig


    class BertSelfAttention(nn.Module):
        def __init__(self, config):
            super().__init__()
            self.num_attention_heads = config.num_attention_heads
            self.attention_head_size = int(config.hidden_size / config.num_attention_heads)
            self.all_head_size = self.num_attention_heads * self.attention_head_size
            self.query = nn.Linear(config.hidden_size, self.all_head_size)
            self.key = nn.Linear(config.hidden_size, self.all_head_size)
            self.value = nn.Linear(config.hidden_size, self.all_head_size)
            self.dropout = nn.Dropout(config.attention_probs_dropout_prob)

        def transform(self, x, linear_layer):
            batch, length = x.shape[:2]
            proj = linear_layer(x).view(batch, length, self.num_attention_heads, self.attention_head_size)
            return proj.transpose(1, 2)

        def attention(self, key, query, value, attention_mask):
            """Weights over keys, times values."""
            ### TODO
            raise NotImplementedError

        def forward(self, hidden_states, attention_mask):
            key_layer = self.transform(hidden_states, self.key)
            value_layer = self.transform(hidden_states, self.value)
            query_layer = self.transform(hidden_states, self.query)
            return self.attention(key_layer, query_layer, value_layer, attention_mask)


    class BertLayer(nn.Module):
        def __init__(self, config):
            super().__init__()
            self.self_attention = BertSelfAttention(config)
            self.attention_dense = nn.Linear(config.hidden_size, config.hidden_size)
            self.attention_dropout = nn.Dropout(config.hidden_dropout_prob)

        def add_norm(self, input, output, dense_layer, dropout, ln_layer):
            """The sum of both, normalised."""
            ### TODO
            raise NotImplementedError
''')
BERT_ANSWERS = (
    """
    scores = query @ key.transpose(-2, -1) / math.sqrt(self.attention_head_size)
    weights = self.dropout(F.softmax(scores + attention_mask, dim=-1))
    mixed = (weights @ value).transpose(1, 2).contiguous()
    return mixed.view(mixed.size(0), mixed.size(1), self.all_head_size)
    """,
    "return ln_layer(input + dropout(dense_layer(output)))",
)
ADAM = code('''
    """AdamW."""

    import math

    import torch
    from torch.optim import Optimizer


    class AdamW(Optimizer):
        def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-6, weight_decay=0.0):
            if lr < 0.0:
                raise ValueError("Invalid learning rate: {} - should be >= 0.0".format(lr))
            defaults = dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay)
            super().__init__(params, defaults)

        def step(self, closure=None):
            loss = None
            if closure is not None:
                loss = closure()
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is None:
                        continue
                    grad = p.grad.data
                    state = self.state[p]
                    alpha = group["lr"]
                    ### TODO: update the moments, then the weights
                    raise NotImplementedError
            return loss
''')
ADAM_ANSWER = """
    if not state:
        state["step"], state["m"], state["v"] = 0, torch.zeros_like(grad), torch.zeros_like(grad)
    state["step"] += 1
    first, second = group["betas"]
    state["m"].mul_(first).add_(grad, alpha=1 - first)
    state["v"].mul_(second).addcmul_(grad, grad, value=1 - second)
    rate = alpha * math.sqrt(1 - second ** state["step"]) / (1 - first ** state["step"])
    p.data.addcdiv_(state["m"], state["v"].sqrt().add_(group["eps"]), value=-rate)
    p.data.mul_(1 - alpha * group["weight_decay"])
"""
CLASSIFIER = code('''
    import argparse
    import random

    import numpy as np
    import torch
    import torch.nn.functional as F
    from torch.utils.data import DataLoader, Dataset
    from types import SimpleNamespace

    from bert import BertSelfAttention
    from optimizer import AdamW

    TQDM_DISABLE = True


    def seed_everything(seed=11711):
        random.seed(seed)
        np.random.seed(seed)
        torch.manual_seed(seed)
        torch.cuda.manual_seed(seed)
        torch.cuda.manual_seed_all(seed)
        torch.backends.cudnn.benchmark = False
        torch.backends.cudnn.deterministic = True


    class BertSentClassifier(torch.nn.Module):
        def __init__(self, config):
            super().__init__()
            self.num_labels = config.num_labels
            ### TODO
            raise NotImplementedError

        def forward(self, input_ids, attention_mask):
            ### TODO
            raise NotImplementedError


    class SentenceDataset(Dataset):
        def __init__(self, dataset, args):
            self.dataset = dataset
            self.p = args

        def __len__(self):
            return len(self.dataset)

        def __getitem__(self, idx):
            return self.dataset[idx]


    def train(args):
        device = torch.device("cuda") if args.use_gpu else torch.device("cpu")
        config = SimpleNamespace(hidden_dropout_prob=args.dropout, num_labels=2, hidden_size=768, option=args.option)
        model = BertSentClassifier(config).to(device)
        optimizer = AdamW(model.parameters(), lr=args.lr)
        for epoch in range(args.epochs):
            model.train()
            for batch in DataLoader(SentenceDataset([], args), shuffle=True, batch_size=args.batch_size):
                optimizer.zero_grad()
                logits = model(batch["token_ids"], batch["attention_mask"])
                loss = F.nll_loss(logits, batch["labels"].view(-1), reduction="sum") / args.batch_size
                loss.backward()
                optimizer.step()


    def get_args():
        parser = argparse.ArgumentParser()
        parser.add_argument("--train", type=str, default="data/cfimdb-train.txt")
        parser.add_argument("--dev", type=str, default="data/cfimdb-dev.txt")
        parser.add_argument("--seed", type=int, default=11711)
        parser.add_argument("--epochs", type=int, default=10)
        parser.add_argument("--use_gpu", action="store_true")
        parser.add_argument("--batch_size", type=int, default=8)
        parser.add_argument("--dropout", type=float, default=0.3)
        parser.add_argument("--lr", type=float, default=1e-5)
        return parser.parse_args()


    if __name__ == "__main__":
        args = get_args()
        args.filepath = f"{args.option}-{args.epochs}-{args.lr}.pt"
        seed_everything(args.seed)
        train(args)
''')
HEAD = """
    self.bert = BertSelfAttention(config)
    self.dropout = torch.nn.Dropout(config.hidden_dropout_prob)
    self.classifier = torch.nn.Linear(config.hidden_size, self.num_labels)
    for name, parameter in self.bert.named_parameters():
        parameter.requires_grad = config.option == "finetune" and not name.endswith("position")
"""
HEAD_FORWARD = """
    first = self.bert(input_ids, attention_mask)[:, 0]
    return F.log_softmax(self.classifier(self.dropout(first)), dim=-1)
"""
MULTITASK = CLASSIFIER.replace("BertSentClassifier", "MultitaskBERT").replace("num_labels=2", "num_labels=5")
CONFIG = code('''
    class BertConfig:
        def __init__(self, vocab_size=30522, hidden_size=768, num_hidden_layers=12, num_attention_heads=12,
                     hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.1, layer_norm_eps=1e-12, **kwargs):
            self.vocab_size = vocab_size
            self.hidden_size = hidden_size
            self.num_hidden_layers = num_hidden_layers
            self.num_attention_heads = num_attention_heads
            self.hidden_dropout_prob = hidden_dropout_prob
            self.attention_probs_dropout_prob = attention_probs_dropout_prob
            self.layer_norm_eps = layer_norm_eps
''')
MINBERT = GuardedCourse(
    assignment="minbert",
    files={
        "README.md": "# A small BERT\n",
        "bert.py": BERT,
        "optimizer.py": ADAM,
        "classifier.py": CLASSIFIER,
        "multitask_classifier.py": MULTITASK,
        "config.py": CONFIG,
        "utils.py": "import os\n\n\ndef is_remote_url(name):\n    return name.startswith(('http://', 'https://'))\n",
        "optimizer_test.py": "import numpy as np\nimport torch\n\nfrom optimizer import AdamW\n\n\n"
        "def test_optimizer(opt_class=AdamW):\n    model = torch.nn.Linear(3, 2, bias=False)\n"
        "    opt = opt_class(model.parameters(), lr=1e-3, weight_decay=1e-4)\n    for _ in range(1000):\n"
        "        opt.zero_grad()\n        y = model(torch.rand(3))\n        (y ** 2).sum().backward()\n        opt.step()\n",
        "sanity_check.py": "import torch\n\nfrom bert import BertLayer\n\nprint(torch.load('sanity_check.data'))\n",
        "solutions/bert.py": filled(BERT, *BERT_ANSWERS),
        "solutions/optimizer.py": filled(ADAM, ADAM_ANSWER),
        "solutions/classifier.py": filled(CLASSIFIER, HEAD, HEAD_FORWARD),
        "solutions/multitask_classifier.py": MULTITASK,
        "solutions/config.py": CONFIG,
    },
    answers=(BERT_ANSWERS[0], ADAM_ANSWER),
    starters=("bert.py", "optimizer.py", "classifier.py"),
)

COURSES = {
    "reinforcement learning": REINFORCEMENT,
    "NumPy and notebooks": NUMPY,
    "notebooks only": PRACTICALS,
    "adapters": SYSTEMS,
    "flat": MINBERT,
}
