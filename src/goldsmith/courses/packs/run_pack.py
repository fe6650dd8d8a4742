"""Grade one submission in the place that a pack was made for: `python -m goldsmith.courses.packs.run_pack PLACE …`.

What is written there is what `goldsmith grade` writes, byte for byte. Where submissions cannot be sandboxed, or
anything else is wrong, nothing is graded, and what is written says so.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from goldsmith.courses.grade.grade_class import GradingOptions, grade_all
from goldsmith.courses.grade.grader import Grader, rubric_for
from goldsmith.courses.grade.grades import Grade
from goldsmith.courses.grade.result_files import FEEDBACK, GRADESCOPE, autolab_line, file_names
from goldsmith.courses.grade.submissions import SubmissionRef
from goldsmith.courses.layout.layout import Assignment, find_course
from goldsmith.courses.layout.resolve import resolve
from goldsmith.courses.packs.contents import COURSE
from goldsmith.courses.packs.settings import Place, read_settings
from goldsmith.engines.engine import Local
from goldsmith.errors.base import COULD_NOT_RUN, GoldsmithError
from goldsmith.errors.sandbox import NoPrivateNetwork, NoSandbox
from goldsmith.foundation.log_injection import say
from goldsmith.foundation.platforms import require_sandbox
from goldsmith.generate.options import options_of
from goldsmith.judge.verdicts import ERROR
from goldsmith.sandbox.capabilities import probe
from goldsmith.workspace.temporary import private_folder

RESULTS = "results.json"
NAME = "submission"


def main(arguments: Sequence[str] | None = None) -> int:
    """Grade as the command line says; return 0 if there is a verdict."""
    parser = argparse.ArgumentParser(
        prog="python -m goldsmith.courses.packs.run_pack", description="Grade one submission."
    )
    places = parser.add_subparsers(dest="place", required=True)
    whats = {
        "gradescope": "write results.json",
        "autolab": "print feedback, then points",
        "classroom50": "write result.json and release-body.md",
    }
    for place, help_ in whats.items():
        one = places.add_parser(place, help=help_)
        one.add_argument("--pack", type=Path, required=True, help="the folder of the unpacked pack")
        one.add_argument("--submission", type=Path, required=True, help="what was submitted: a folder, file or archive")
    places.choices["gradescope"].add_argument("--results", type=Path, required=True, help="the folder to write to")
    given = parser.parse_args(arguments)
    os.umask(0o077)
    os.environ["GIT_CEILING_DIRECTORIES"] = str(given.pack.resolve())  # a pack may lie in a student's repository
    if given.place == "gradescope":
        return run_gradescope(given.pack, given.submission, given.results)
    if given.place == "autolab":
        return run_autolab(given.pack, given.submission)
    try:
        from goldsmith.courses.packs.run_classroom50 import run_classroom50

        return run_classroom50(given.pack, given.submission)
    except Exception as error:
        say(_for_staff(error), stderr=True)
        return COULD_NOT_RUN


def run_gradescope(pack: Path, submission: Path, results: Path) -> int:
    """Write Gradescope's results.json."""
    try:
        with graded(pack, submission, "gradescope") as (grade, folder, _):
            (stem,) = file_names([NAME])
            content = (folder / GRADESCOPE / stem / RESULTS).read_bytes()
            code = COULD_NOT_RUN if grade.outcome == ERROR else 0
    except Exception as error:
        say(_for_staff(error), stderr=True)
        content, code = not_graded(error), COULD_NOT_RUN
    (results / RESULTS).write_bytes(content)
    return code


def run_autolab(pack: Path, submission: Path) -> int:
    """Print feedback and, if there is a verdict, the line of points that Autolab reads."""
    try:
        with graded(pack, submission, "autolab") as (grade, folder, assignment):
            (stem,) = file_names([NAME])
            say((folder / FEEDBACK / f"{stem}.md").read_text(encoding="utf-8"))
            if grade.outcome == ERROR:
                return COULD_NOT_RUN
            say(autolab_line(grade, assignment.config.forbid_costs > 0))
            return 0
    except Exception as error:
        say(_for_students(error))
        say(_for_staff(error), stderr=True)
        return COULD_NOT_RUN


@contextlib.contextmanager
def graded(pack: Path, submission: Path, place: Place) -> Iterator[tuple[Grade, Path, Assignment]]:
    """Grade a submission in a sandbox; yield its grade and the folder that everything was written to."""
    require_sandbox()
    settings = read_settings(pack, place)
    assignment = find_course(pack.resolve() / COURSE).assignment(settings.assignment)
    course = assignment.course
    probe().require()
    what = str(submission.resolve())
    item = SubmissionRef(NAME, what, place=what, course=str(course.root))
    grader = Grader(
        assignment=assignment,
        rubric=rubric_for(assignment, allow_stale=False),
        options=options_of(resolve(assignment)),
        case_timeout=settings.timeout or course.config.case_timeout,
        memory=settings.memory,
        keep=False,
        hidden=(str(course.root), str(pack.resolve())),
    )
    with private_folder() as folder:
        result = grade_all(GradingOptions(grader, [item], folder / "grades", Local(1)))
        yield result.grades[0], folder / "grades", assignment


def not_graded(error: Exception) -> bytes:
    """Return a results.json that says that nothing was graded. Gradescope needs a number; 0 is never a pass."""
    body = {
        "score": 0.0,
        "output": _for_students(error),
        "output_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": [],
        "extra_data": {"outcome": "not-graded"},
    }
    return msgspec.json.format(msgspec.json.encode(body), indent=2) + b"\n"


def _for_students(error: Exception) -> str:
    """Say that nothing is known about the submission, and no more: the reason may name what is not for students."""
    why = (
        "submissions cannot be sandboxed here"
        if isinstance(error, NoSandbox | NoPrivateNetwork)
        else "the grading program failed"
    )
    return (
        f"This was not graded, because {why}. That says nothing about your work: the 0 is not a verdict. Course staff "
        "find the reason in the grader's output."
    )


def _for_staff(error: Exception) -> str:
    return f"goldsmith: not graded: {error if isinstance(error, GoldsmithError) else repr(error)}"


if __name__ == "__main__":
    sys.exit(main())
