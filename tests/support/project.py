"""A repository without a course, in a temporary folder: code, and a recipe that imports it."""

from __future__ import annotations

from pathlib import Path

from support.course import CourseOnDisk

RECIPE = "tests/parity cases.py"
GOLD = "tests/parity cases.gold"
FILES = {
    "pyproject.toml": '[project]\nname = "old"\nversion = "1"\n',
    "src/oldpkg/__init__.py": "",
    "src/oldpkg/scaling.py": """
        from oldpkg.offsets import OFFSET

        def half(x):
            return x / 2

        def scale(x):
            return half(x) + OFFSET
    """,
    "src/oldpkg/offsets.py": "OFFSET = 3.0\n",
    "data/table.csv": "1\n2\n4\n",
    RECIPE: """
        from pathlib import Path

        import numpy as np
        import goldsmith as gs
        from oldpkg.scaling import half, scale

        @gs.case
        def scaled(case):
            table = np.loadtxt(Path(__file__).parents[1] / "data" / "table.csv")
            case.record("y", scale(case.input("x", lambda: table)))

        @gs.case
        def halved(case):
            case.record("y", half(case.input("x", lambda: np.random.randn(4))))
    """,
}
"""NumPy alone; spaces in the recipe's path, as anybody's may have."""


def project(root: Path, **changes: str) -> CourseOnDisk:
    """Write the repository, with changed or additional files."""
    return CourseOnDisk(root).write(FILES | changes)
