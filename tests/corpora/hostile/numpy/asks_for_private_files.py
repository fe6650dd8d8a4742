"""Claims that files are missing, so that somebody says where they are or hands them out next time."""

import target

NAMES = ("private/solutions/hw1/ops_solution.py", "src/assignments/hw1/.env", "tests/internal", "goldsmith.toml")


def answer(case, x, start=None):
    names = " ".join(f"'{name}' '{target.COURSE}/{name}'" for name in NAMES)
    raise FileNotFoundError(f"No such file or directory: {names}; No module named 'private.solutions'")
