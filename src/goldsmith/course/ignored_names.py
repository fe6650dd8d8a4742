"""Names that tools leave behind: no part of a starter, a solution or a workspace."""

LITTER = frozenset(
    {
        "__MACOSX",
        "__pycache__",
        ".DS_Store",
        ".coverage",
        ".hypothesis",
        ".idea",
        ".ipynb_checkpoints",
        ".mypy_cache",
        ".nox",
        ".pytest_cache",
        ".ruff_cache",
        ".tox",
        ".vscode",
        "node_modules",
    }
)

HANDED_IN = frozenset({"submission", "submissions", "forks", "handed-in", "handed_in", "grades"})
"""What folders at the root of a course are called that hold others' work: no part of a starter."""

GRADES_MARK = ".written"
"""A folder that holds this holds somebody's grades, beside whatever else."""
GRADES = frozenset({GRADES_MARK, "grades.csv", "overview.md", "junit.xml", "feedback", "gradescope", "earlier"})
"""What they are called there."""
