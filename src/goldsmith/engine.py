"""Write an engine, which decides where submissions are judged: the public names for it.

`docs/contributing/engine.md` shows a whole one. `grade_with` grades a class with an engine from Python, to try it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from goldsmith.courses.grade.class_results import Class
from goldsmith.courses.grade.collection import collect
from goldsmith.courses.grade.grade_class import GradingOptions, grade_all
from goldsmith.courses.grade.grader import Grader, Judged, rubric_for
from goldsmith.courses.grade.open_contexts import judging_contexts, stop
from goldsmith.courses.grade.submissions import SubmissionRef
from goldsmith.courses.layout.layout import find_course
from goldsmith.courses.layout.resolve import resolve
from goldsmith.engines.engine import Engine, Local
from goldsmith.generate.options import options_of

Work = Callable[[SubmissionRef], Judged]

__all__ = ["Engine", "Judged", "Local", "SubmissionRef", "Work", "grade_with", "judging_contexts", "stop"]


def grade_with(
    engine: Engine, course: Path, assignment: str, submissions: Sequence[str], output: Path, *, memory_gib: float = 6.0
) -> Class:
    """Grade submissions with `engine` and write the results to `output`, with the course's own settings."""
    root = find_course(course)
    chosen = root.assignment(assignment)
    options, rubric = options_of(resolve(chosen)), rubric_for(chosen, allow_stale=False)
    grader = Grader(chosen, rubric, options, case_timeout=root.config.case_timeout, memory=memory_gib)
    found = collect(chosen, submissions, [])
    return grade_all(GradingOptions(grader, found.items, output, engine, left_out=found.left_out, as_one=found.as_one))
