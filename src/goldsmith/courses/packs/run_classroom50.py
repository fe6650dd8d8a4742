"""Grade the checkout of a student's repository for Classroom 50: by the kit in its public bundle, or, on a machine that
has a pack with gold, by that."""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping
from pathlib import Path

from goldsmith.courses.grade.classroom50 import RELEASE_BODY, RESULT, classroom50_json, facts_from, points_scale
from goldsmith.courses.grade.feedback import feedback_markdown
from goldsmith.courses.grade.grader import rubric_for
from goldsmith.courses.grade.grades import Grade, grade, rejected
from goldsmith.courses.grade.redaction import Redaction
from goldsmith.courses.grade.result_files import FEEDBACK, file_names
from goldsmith.courses.handout.judge_kit import judge_by_kit
from goldsmith.courses.packs.classroom50 import KIT
from goldsmith.courses.packs.run_pack import NAME, graded
from goldsmith.courses.packs.settings import PackSettings, read_settings
from goldsmith.errors.base import COULD_NOT_RUN
from goldsmith.errors.handout import NothingToCheck
from goldsmith.foundation.git import commit_time
from goldsmith.judge.verdicts import ERROR, Verdict
from goldsmith.workspace.temporary import private_folder

GOLD = "GOLDSMITH_GOLD"
"""The variable that names the folder of an unpacked Gradescope pack, to grade by its gold."""
_BY_SKETCHES = (
    "Judged by sketches of the right answers, which do not show everything. No points here are for: {left_out}. The "
    "course's own run, with the answers, has the last word.\n\n"
)
_NOTHING = "nothing of the rubric"


def run_classroom50(pack: Path, checkout: Path, environment: Mapping[str, str] = os.environ) -> int:
    """Write result.json and the body of the release into the checkout. Where there is no verdict nothing is written,
    and Classroom 50 itself says that grading failed."""
    settings = read_settings(pack, "classroom50")
    facts = facts_from(environment, _committed_at(checkout))
    if environment.get(GOLD):
        with graded(Path(environment[GOLD]), checkout, "gradescope") as (made, folder, assignment):
            text = (folder / FEEDBACK / f"{file_names([NAME])[0]}.md").read_text(encoding="utf-8")
            scale = points_scale(rubric_for(assignment, allow_stale=False), assignment.config.forbid_costs)
    else:
        made, text = _by_sketches(pack, checkout, settings)
        scale = settings.scale
        text = _BY_SKETCHES.format(left_out=", ".join(settings.left_out) or _NOTHING) + text
    if made.outcome == ERROR:
        return COULD_NOT_RUN
    (checkout / RESULT).write_bytes(classroom50_json(made, facts, scale))
    (checkout / RELEASE_BODY).write_text(text, encoding="utf-8")
    return 0


def _by_sketches(pack: Path, checkout: Path, settings: PackSettings) -> tuple[Grade, str]:
    assert settings.rubric is not None
    try:
        verdict: Verdict = judge_by_kit(pack / KIT, checkout)
    except NothingToCheck as problem:
        verdict = rejected(NAME, settings.assignment, settings.rubric, str(problem))
    veil = Redaction(paths=(str(pack), str(checkout)))
    made = grade(verdict, settings.rubric, veil=veil, stand_ins=verdict.stand_ins, name=NAME)
    return made, feedback_markdown(made, verdict, veil)


def _committed_at(checkout: Path) -> str:
    """Return when the commit was made that is graded, so that grading it again says the same; else the present."""
    with private_folder() as room:
        seconds = commit_time(checkout, room)
    try:
        when = None if seconds is None else datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    except (OSError, OverflowError, ValueError):  # a year that no calendar has
        when = None
    return (when or datetime.datetime.now(datetime.UTC)).strftime("%Y-%m-%dT%H:%M:%SZ")
