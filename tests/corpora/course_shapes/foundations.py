"""The usual layout with a life of its own: a flat folder of solutions, scripts and skills that somebody else wrote."""

from __future__ import annotations

from corpora.course_shapes import Shape, module

BACKBONE = module('''
    """A block of a transformer, to be written."""

    import numpy as np


    class RMSNorm:
        def __init__(self, dim, eps=1e-6):
            self.scale, self.eps = np.ones(dim), eps

        def forward(self, x):
            # TODO: normalise, then scale
            raise NotImplementedError


    def causal_mask(length):
        """True where one may look."""
        # TODO
        raise NotImplementedError


    def positions(length, dim):
        """Provided: angles, a row for each position."""
        rates = 10000.0 ** (-np.arange(0, dim, 2) / dim)
        return np.arange(length)[:, None] * rates[None, :]
''')
DONE = BACKBONE.replace(
    "        # TODO: normalise, then scale\n        raise NotImplementedError",
    "        size = np.sqrt((x * x).mean(axis=-1, keepdims=True) + self.eps)\n        return self.scale * x / size",
).replace(
    "    # TODO\n    raise NotImplementedError",
    "    rows = np.arange(length)\n    return rows[:, None] >= rows[None, :]",
)
HOME = "src/assignments/scratch-1"

SHAPE = Shape(
    assignment="scratch-1",
    public={
        "README.md": "# Foundations\n",
        ".gitignore": "node_modules/\n__pycache__/\n",
        "package.json": '{"name": "site"}\n',
        "content/course/assignments/scratch-1.mdx": "# Scratch 1\n",
        "content/textbook/foundations/page.mdx": "# Words\n",
        "app/layout.tsx": "export default 1;\n",
        f"{HOME}/README.md": "# Scratch-1: a transformer\n",
        f"{HOME}/backbone.py": BACKBONE,
        f"{HOME}/generate_data.py": "def main():\n    return 0\n",
        "tests/public/test_scratch1.py": "def test_imports():\n    import backbone\n",
        "scripts/dev_utils.py": "# inject and reset, by hand\n",
        "scripts/audit_linter.py": "def main():\n    return 0\n",
        "scripts/_sanitize_todos.py": "def main():\n    return 0\n",
        ".claude/skills/review/SKILL.md": "---\nname: review\n---\nOur own.\n",
    },
    staff={
        "private/solutions/backbone_solution.py": DONE,
        "private/training_run.py": "def main():\n    return 0\n",
        "private/fixtures/generate_gold_fixtures.py": "def main():\n    return 0\n",
        "tests/internal/test_scratch1_rigor.py": """
            import pytest

            pytestmark = [pytest.mark.rigor, pytest.mark.gold("scratch-1")]


            def test_case(gold_case):
                gold_case.assert_agrees()
        """,
    },
    recipe={
        f"{HOME}/generate_fixtures.py": """
            import numpy as np

            import goldsmith as gs
            from backbone import RMSNorm, causal_mask


            @gs.case
            def rmsnorm(case):
                norm = RMSNorm(8, eps=1e-4)
                norm.scale = case.input("scale", lambda: np.random.randn(8))
                case.record("y", norm.forward(case.input("x", lambda: np.random.randn(3, 8) * 1e-2)))


            @gs.case
            def mask(case):
                case.record("mask", causal_mask(5))


            if __name__ == "__main__":
                gs.main()
        """
    },
    tests={},
    right={f"{HOME}/backbone.py": DONE.replace("rows[:, None] >= rows[None, :]", "np.tri(length, dtype=bool)")},
    wrong={f"{HOME}/backbone.py": DONE.replace("rows[:, None] >=", "rows[:, None] >")},
    wrong_part="causal_mask",
    settings={"assignments": "src/assignments", "solutions": "private/solutions", "internal-tests": "tests/internal"},
    names=("scratch-1",),
    said=(
        "assignments: src/assignments/ (1): scratch-1",
        "solutions: private/solutions/ (1)",
        "public tests: tests/public/",
        "internal tests: tests/internal/",
    ),
    leak="content/hints.py",
)
