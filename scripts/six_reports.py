"""Six submissions of the corpus and the feedback that their authors get: the reports of measurements/six-reports.md.

`make reports` prints them; with `--write` they take the place of those in the page.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from submission_tables import judged

from corpora.known_submissions import known
from goldsmith.courses.grade.feedback import feedback_markdown
from goldsmith.courses.grade.grader import rubric_for
from goldsmith.courses.grade.grades import grade
from goldsmith.courses.layout.example import copy_example
from goldsmith.courses.layout.layout import Course
from goldsmith.process.fork_client import fork_server

PAGE = Path(__file__).parent.parent / "docs/contributing/measurements/six-reports.md"
_END = "```\n"
CHOSEN = (
    ("scratch-1", "final-norm-dropped"),
    ("scratch-1", "residual-detached"),
    ("scratch-1", "starter-untouched"),
    ("scratch-2", "caption-unshifted"),
    ("scratch-3", "act-from-right-end"),
    ("scratch-3", "denormalize-mean-first"),
)


def reports(course: Course) -> Iterator[tuple[str, str]]:
    """The name of each submission, and its author's report with a point for every case."""
    with fork_server(preload=["torch"]) as warm:
        for assignment, name in CHOSEN:
            item = next(item for item in known(assignment) if item.name == name)
            rubric = rubric_for(course.assignment(assignment), allow_stale=False)
            verdict = judged(course, item, warm).verdict
            yield name, feedback_markdown(grade(verdict, rubric), verdict).replace("```", "'''")


def main(arguments: list[str]) -> None:
    text = PAGE.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        for name, report in reports(copy_example(Path(folder, "course"))):
            print(report)
            before, mark, after = text.partition(f"<!-- {name} -->\n\n```text\n")
            text = f"{before}{mark}{report}{_END}{after.partition(_END)[2]}"
    if "--write" in arguments:
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
