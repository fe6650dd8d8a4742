"""Grading: from verdicts to scores, and to the files that people use.

What was handed in, opened with suspicion; graders that judge it, locked in, and engines that run them; then pure
functions over verdicts: rubrics, scores, feedback, tables. What a submission's run is worth as a run is decided by
`checking`. All text that comes from a submission passes `texts` before it is shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from goldsmith.doors import late

if TYPE_CHECKING:
    from goldsmith.grading.collecting import HandedIn, collect, kept_apart
    from goldsmith.grading.engines import Dask, Engine, Local, Tls
    from goldsmith.grading.feedback import feedback_markdown
    from goldsmith.grading.folder import Folder
    from goldsmith.grading.fresh import fresh_assignment
    from goldsmith.grading.grader import Grader, Judged, rubric_for
    from goldsmith.grading.grades import CaseResult, Grade, PartResult, grade, unopened
    from goldsmith.grading.junit import junit_xml
    from goldsmith.grading.overview import Cluster, Overview, Tally, overview_markdown, overview_of, summary_line
    from goldsmith.grading.results import (
        file_names,
        grades_csv,
        gradescope_json,
        submission_json,
        write_class,
        write_submission,
    )
    from goldsmith.grading.rubric import Rubric, RubricItem, make_rubric, parts_shown, rubric_of
    from goldsmith.grading.run import Class, Wanted, grade_all
    from goldsmith.grading.scoring import NOT_JUDGED, ItemOutcome, ItemResult, score
    from goldsmith.grading.texts import Veil, clean, veiled

__all__ = [
    "NOT_JUDGED",
    "CaseResult",
    "Class",
    "Cluster",
    "Dask",
    "Engine",
    "Folder",
    "Grade",
    "Grader",
    "HandedIn",
    "ItemOutcome",
    "ItemResult",
    "Judged",
    "Local",
    "Overview",
    "PartResult",
    "Rubric",
    "RubricItem",
    "Tally",
    "Tls",
    "Veil",
    "Wanted",
    "clean",
    "collect",
    "feedback_markdown",
    "file_names",
    "fresh_assignment",
    "grade",
    "grade_all",
    "grades_csv",
    "gradescope_json",
    "junit_xml",
    "kept_apart",
    "make_rubric",
    "overview_markdown",
    "overview_of",
    "parts_shown",
    "rubric_for",
    "rubric_of",
    "score",
    "submission_json",
    "summary_line",
    "unopened",
    "veiled",
    "write_class",
    "write_submission",
]

_ROOMS = {
    "collecting": ("HandedIn", "collect", "kept_apart"),
    "engines": ("Dask", "Engine", "Local", "Tls"),
    "folder": ("Folder",),
    "fresh": ("fresh_assignment",),
    "grader": ("Grader", "Judged", "rubric_for"),
    "run": ("Class", "Wanted", "grade_all"),
    "feedback": ("feedback_markdown",),
    "grades": ("CaseResult", "Grade", "PartResult", "grade", "unopened"),
    "junit": ("junit_xml",),
    "overview": ("Cluster", "Overview", "Tally", "overview_markdown", "overview_of", "summary_line"),
    "rubric": ("Rubric", "RubricItem", "make_rubric", "parts_shown", "rubric_of"),
    "scoring": ("NOT_JUDGED", "ItemOutcome", "ItemResult", "score"),
    "texts": ("Veil", "clean", "veiled"),
}
_OF = {name: room for room, names in _ROOMS.items() for name in names}
__getattr__ = late("goldsmith.grading", {name: f"goldsmith.grading.{_OF.get(name, 'results')}" for name in __all__})
