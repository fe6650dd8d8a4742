"""Write the result files: `grades.csv`, JSON and Markdown for each submission, Gradescope's `results.json`, JUnit XML
and the overview; under file names that are safe whatever submissions are called."""

from __future__ import annotations

import csv
import hashlib
import io
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

import msgspec

from goldsmith.courses.grade.canvas import FILE as CANVAS
from goldsmith.courses.grade.feedback import item_text
from goldsmith.courses.grade.grades import Grade
from goldsmith.courses.grade.junit import junit_xml
from goldsmith.courses.grade.moves import Ledger, moved_words
from goldsmith.courses.grade.output_folder import Folder
from goldsmith.courses.grade.overview import Overview, overview_markdown
from goldsmith.courses.grade.redaction import one_line
from goldsmith.courses.grade.rubric import Rubric
from goldsmith.courses.grade.scoring import NOT_JUDGED, RIGHT, ItemResult, number
from goldsmith.foundation.ignored_names import RUN_RECORD
from goldsmith.judge.verdicts import ERROR, SILENT, Verdict

SCHEMA = 1
FEEDBACK, GRADESCOPE = "feedback", "gradescope"
HINT = ".hint.json"
GRADES, OVERVIEW, JUNIT = "grades.csv", "overview.md", "junit.xml"
CLASS_PAGE, MOVED_PAGE = "class.html", "moved.html"
COLUMNS = (
    "name",
    "outcome",
    "score",
    "points",
    "missing",
    "first_divergence",
    "first_case",
    "review",
    "not_judged",
    "withheld",
    "provided_changed",
    "stand_ins",
    "similarity",
    "reason",
    "seconds",
    "digest",
    "moved",
)
"""Columns that are always present; those of the rubric's items follow, as `case:…` and `part:…`."""
Visibility = Literal["visible", "hidden", "after_due_date", "after_published"]
_FOR_STAFF = ("not_given", "off_by", "similarity", "sandbox", "seconds")
"""Includes `off_by`: with all its digits it would reveal a lone number of gold's."""
_MAX_STEM_CHARS = 80
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.I)


# --- a table for everybody ------------------------------------------------------------------------------------------


def grades_csv(grades: Sequence[Grade], rubric: Rubric) -> str:
    """Render a row for each submission, points as numbers; no cell can be taken for a formula."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    keys = [item.key for item in rubric.items]
    writer.writerow([cell(name) for name in (*COLUMNS, *keys)])
    for grade in grades:
        earned = {f"{item.kind}:{item.name}": number(item.earned) for item in grade.items}
        writer.writerow([*(cell(_column(grade, name)) for name in COLUMNS), *(earned.get(key, "") for key in keys)])
    return text.getvalue()


def _column(grade: Grade, name: str) -> str:
    match name:
        case "score" | "points":
            return number(getattr(grade, name))
        case "seconds":
            return f"{grade.seconds:.1f}"
        case "review":
            return _list(grade.review)
        case "not_judged":
            return _list(item.name for item in grade.items if item.outcome in _UNJUDGED)
        case "withheld":
            return _list(item.name for item in grade.items if item.withheld)
        case "provided_changed":
            return _list(grade.provided)
        case "missing":
            return _list(grade.missing)
        case "similarity":
            found = sorted((grade.similarity or {}).items(), key=lambda item: (-item[1].statements, item[0]))
            return _list(f"{part} {item.statements} of {item.of} statements ({item.place})" for part, item in found)
        case "moved":
            return moved_words(grade.moved) if grade.moved else ""
        case "stand_ins":
            return _list(grade.stand_ins)
    return str(getattr(grade, name))


def _list(names: Any) -> str:
    return "; ".join(names)


def cell(text: str) -> str:
    """Make text safe for a spreadsheet: a leading apostrophe keeps it from being evaluated as a formula."""
    line = one_line(text, 2000)
    return f"'{line}" if unicodedata.normalize("NFKC", line)[:1] in ("=", "+", "-", "@", "|", "%") else line


# --- one submission -------------------------------------------------------------------------------------------------


def submission_json(grade: Grade) -> bytes:
    """Encode all that a submission's author may know."""
    plain = {name: value for name, value in grade.plain().items() if name not in _FOR_STAFF}
    return _json({"schema": SCHEMA, **plain})


def gradescope_json(grade: Grade, feedback: str, visibility: Visibility = "visible") -> bytes:
    """Encode what Gradescope reads from `/autograder/results/results.json`. It knows only passed and failed, so items
    that could not be judged say so in their name and text."""
    tests = [
        {
            "name": item_name(item),
            "name_format": "text",
            "score": item.earned,
            "max_score": item.points,
            "status": "passed" if item_passed(item) else "failed",
            "output": item_text(grade, item.name, item.kind),
            "output_format": "text",
            "visibility": visibility,
        }
        for item in grade.items
    ]
    return _json(
        {
            "score": grade.score,
            "output": feedback,
            "output_format": "md",
            "visibility": visibility,
            "stdout_visibility": "hidden",
            "tests": tests,
            "extra_data": {"outcome": grade.outcome, "first_divergence": grade.first_divergence},
        }
    )


def item_name(item: ItemResult) -> str:
    """Return what an item is called where only passed and failed are known: whether it was judged is in its name."""
    return f"{item.kind} {item.name}" + (" (not judged)" if item.outcome in _UNJUDGED else "")


def item_passed(item: ItemResult) -> bool:
    return item.outcome in RIGHT and item.earned >= item.points


def autolab_line(grade: Grade, forbidden_may_cost: bool) -> str:
    """Encode what Autolab reads from the last line of a grader's output: points by problem. Its problems have the names
    of the rubric's items, with their kind where a case and a part have the same; what forbidden uses cost is a problem
    of its own."""
    counts = Counter(item.name for item in grade.items)
    scores = {item.name if counts[item.name] == 1 else f"{item.kind} {item.name}": item.earned for item in grade.items}
    if forbidden_may_cost:
        scores["forbidden"] = -grade.forbidden_costs if grade.forbidden_costs else 0.0
    return msgspec.json.encode({"scores": scores}).decode()


_UNJUDGED = (NOT_JUDGED, ERROR, *SILENT)


def _json(body: dict[str, Any]) -> bytes:
    return msgspec.json.format(msgspec.json.encode(body), indent=2) + b"\n"


# --- writing --------------------------------------------------------------------------------------------------------


class Pages(Protocol):
    """Renders pages to look at: of one submission, for its author, from a verdict with errors in steps of tolerance;
    of points before and after, and of the class, for staff. `stems` are the file names of the submissions' own pages,
    without their suffix."""

    def of_submission(self, grade: Grade, verdict: Verdict) -> str: ...
    def of_moves(self, grades: Sequence[Grade], stems: Sequence[str], ledger: Ledger) -> str: ...
    def of_class(self, grades: Sequence[Grade], stems: Sequence[str], overview: Overview) -> str: ...


def write_submission(
    folder: Folder,
    stem: str,
    grade: Grade,
    feedback: str,
    visibility: Visibility = "visible",
    page: str = "",
    hint: bytes = b"",
) -> list[Path]:
    """Write the files of one submission, and its `hint` and `page` if there are any, under a `stem` from
    `file_names`."""
    return [
        *([folder.write(f"{FEEDBACK}/{stem}{HINT}", hint)] if hint else []),
        *([folder.write(f"{FEEDBACK}/{stem}.html", page.encode())] if page else []),
        folder.write(f"{FEEDBACK}/{stem}.md", feedback.encode("utf-8", "replace")),
        folder.write(f"{FEEDBACK}/{stem}.json", submission_json(grade)),
        folder.write(f"{GRADESCOPE}/{stem}/results.json", gradescope_json(grade, feedback, visibility)),
    ]


def write_class(
    folder: Folder,
    grades: Sequence[Grade],
    rubric: Rubric,
    overview: Overview,
    record: bytes = b"",
    page: str = "",
    gradebook: bytes = b"",
    moves: str = "",
) -> list[Path]:
    """Write the files about the whole class, its `page`, that of its `moves` and Canvas's `gradebook` if there are any,
    and move away files of submissions that are no longer in it. So is an earlier gradebook that this run does not
    write: it would no longer have the points of the table next to it. The `record` is for goldsmith alone, and is not
    returned."""
    along = (RUN_RECORD, GRADES, JUNIT, OVERVIEW, CLASS_PAGE, MOVED_PAGE, *((CANVAS,) if gradebook else ()))
    folder.put_aside_the_rest(along=along)
    written = [
        folder.write(GRADES, grades_csv(grades, rubric).encode()),
        folder.write(JUNIT, junit_xml(overview.assignment, grades).encode()),
        folder.write(OVERVIEW, overview_markdown(overview).encode()),
    ]
    if page:
        written.append(folder.write(CLASS_PAGE, page.encode()))
    if moves:
        written.append(folder.write(MOVED_PAGE, moves.encode()))
    if gradebook:
        written.append(folder.write(CANVAS, gradebook))
    if record:
        folder.write(RUN_RECORD, record)
    folder.finish()
    return written


def write_share(folder: Folder, record: bytes) -> Path:
    """Write the record of one share of a class, and move away what a run over a whole class has left there: nobody
    takes a share for the class."""
    folder.put_aside_the_rest(along=(RUN_RECORD,))
    written = folder.write(RUN_RECORD, record)
    folder.finish()
    return written


def file_names(names: Sequence[str]) -> list[str]:
    """Choose a file name for each submission: readable, unique even where case is ignored, and never a path.

    Names that would become equal get part of their digest, identical names a number.
    """
    stems = [_stem(name) for name in names]
    shared = Counter(_fold(stem) for stem in stems)
    taken: set[str] = set()
    found = []
    for name, stem in zip(names, stems, strict=True):
        digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        wanted = stem if shared[_fold(stem)] == 1 else f"{stem}-{digest}"
        chosen, count = wanted, 1
        while _fold(chosen) in taken or (chosen != stem and shared[_fold(chosen)]):
            count += 1
            chosen = f"{wanted}-{count}"
        taken.add(_fold(chosen))
        found.append(chosen)
    return found


def _stem(name: str) -> str:
    plain = "".join(char if char.isalnum() or char in "._-" else "-" for char in unicodedata.normalize("NFC", name))
    short = re.sub(r"-{2,}", "-", plain).strip("-.").encode("utf-8", "replace")[:_MAX_STEM_CHARS]
    stem = re.sub(r"\.hint$", "-hint", short.decode("utf-8", "ignore").rstrip("-."), flags=re.I)
    return f"submission-{stem}".rstrip("-") if not stem or _RESERVED.fullmatch(stem) else stem


def _fold(stem: str) -> str:
    return unicodedata.normalize("NFC", stem.casefold())
