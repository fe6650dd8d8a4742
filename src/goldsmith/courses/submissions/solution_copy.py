"""The solution, submitted like a student's work."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator, Sequence

from goldsmith.courses.layout.layout import Assignment
from goldsmith.courses.notebooks.convert import SUFFIX as NOTEBOOK
from goldsmith.courses.submissions.open_submission import open_submission
from goldsmith.generate.state import COPY_NAMES
from goldsmith.targets.target import Placement, Submission
from goldsmith.workspace.temporary import private_folder


@contextlib.contextmanager
def submitted_copy(assignment: Assignment, placed: Sequence[Placement]) -> Iterator[Submission]:
    """Yield a copy of the solution's files `placed`, as a submission."""
    with private_folder() as folder:
        copy = folder / "copy"
        for item in placed:
            target = copy / (item.target.with_suffix(NOTEBOOK) if item.source.suffix == NOTEBOOK else item.target)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(item.source, target)
        with open_submission(assignment, str(copy), COPY_NAMES["assignment"]) as submission:
            yield submission
