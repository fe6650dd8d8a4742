"""Names of files and folders that do not belong to a starter, a solution or a workspace."""

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

HANDED_IN = frozenset(
    {"submission", "submissions", "forks", "grades"}
    | {"handin", "handins", "hand-in", "hand-ins", "hand_ins", "handed-in", "handed_in", "handed in"}
    | {"student-repos", "student_repos", "student-submissions", "student_submissions"}
)
"""Names of folders at a course's root that hold submissions or grades: not part of a starter."""

GRADES_MARK = ".written"
"""A folder that contains this file holds grades, next to whatever else."""
RUN_RECORD = "run.record"
"""What a run was made of and what it found, with gold's values: next to the grades, for staff alone."""
RIGOR_RECORD = "rigor.record"
"""What `rigor` found, with lines of the solution."""
GRADES = frozenset(
    {GRADES_MARK, RUN_RECORD, RIGOR_RECORD, "grades.csv", "canvas.csv", "overview.md", "junit.xml"}
    | {"feedback", "gradescope", "earlier"}
)
"""Names of the files and folders that belong to the grades there."""
