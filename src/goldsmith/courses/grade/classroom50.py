"""Results for Classroom 50: `result.json` of its schema `classroom50/result/v1`, where points are whole numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import msgspec

from goldsmith.courses.grade.feedback import item_text
from goldsmith.courses.grade.grades import Grade
from goldsmith.courses.grade.result_files import item_name, item_passed
from goldsmith.courses.grade.rubric import Rubric

SCHEMA = "classroom50/result/v1"
RESULT, RELEASE_BODY = "result.json", "release-body.md"
_HUNDREDTHS = 100
_ALMOST = 1e-6
"""Points are rounded to six digits, so a share of them may fall short of a whole number by this much."""


class SubmissionFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What Classroom 50 says about a submission; `datetime` is when its commit was made."""

    classroom: str
    assignment: str
    assignment_type: str
    owner: str
    submission: str
    commit: str
    release: str
    review: str
    datetime: str


def facts_from(environment: Mapping[str, str], datetime: str) -> SubmissionFacts:
    """Read what the runner of Classroom 50 gives a grader in its environment."""
    commit = environment.get("COMMIT_URL", "")
    return SubmissionFacts(
        classroom=environment.get("CLASSROOM", ""),
        assignment=environment.get("ASSIGNMENT", ""),
        assignment_type=environment.get("ASSIGNMENT_TYPE", "") or "individual",
        owner=environment.get("OWNER", "") or environment.get("USERNAME", ""),
        submission=environment.get("SUBMISSION_TAG", ""),
        commit=commit,
        release=environment.get("RELEASE_URL", ""),
        review=environment.get("REVIEW_URL", "") or commit,
        datetime=datetime,
    )


def points_scale(rubric: Rubric, forbidden_costs: float) -> int:
    """Return by what points are multiplied: by nothing where everybody's are whole numbers, else by a hundred."""
    shares = (rubric.provided_changed, rubric.own_dtype, rubric.inconclusive)
    amounts = [*(item.points for item in rubric.items), *shares, forbidden_costs]
    whole = all(float(amount).is_integer() for amount in amounts) and not any(item.partial for item in rubric.items)
    return 1 if whole else _HUNDREDTHS


def classroom50_json(grade: Grade, facts: SubmissionFacts, scale: int) -> bytes:
    """Encode a submission's result. Points are rounded down."""
    tests: list[dict[str, Any]] = [
        {
            "test-name": item_name(item),
            "passed": item_passed(item),
            "score": _whole(item.earned * scale),
            "max-score": _whole(item.points * scale),
            "output": item_text(grade, item.name, item.kind),
        }
        for item in grade.items
    ]
    body = {
        "schema": SCHEMA,
        **msgspec.to_builtins(facts),
        "score": _whole(grade.score * scale),
        "max-score": sum(test["max-score"] for test in tests),
        "tests": tests,
    }
    return msgspec.json.format(msgspec.json.encode(body), indent=2) + b"\n"


def _whole(points: float) -> int:
    return math.floor(points + _ALMOST)
