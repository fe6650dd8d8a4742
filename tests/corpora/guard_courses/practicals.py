"""Practicals: nothing but notebooks, in one folder each for starters and solutions."""

from __future__ import annotations

import textwrap

from corpora.guard_courses.course import GuardedCourse, notebook

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
        "def attend(queries, keys, values, mask=None):\n    "
        + textwrap.dedent(f"            {ATTEND}").replace("\n", "\n    "),
    ),
    starters=("practicals/1.1 Bandits.ipynb", "practicals/2-attention.ipynb"),
    handed_in="handed in/practical 1",
)
