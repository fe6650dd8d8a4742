"""Find the earlier run that a run of `grade` is compared with."""

from __future__ import annotations

from pathlib import Path

from goldsmith.courses.grade.grader import cached_verdicts
from goldsmith.courses.grade.regrade import Since
from goldsmith.courses.grade.result_files import GRADES
from goldsmith.courses.grade.run_record import RunRecord, read_record
from goldsmith.courses.layout.layout import Assignment
from goldsmith.errors.usage import NoEarlierRun
from goldsmith.foundation.ignored_names import GRADES_MARK, RUN_RECORD
from goldsmith.foundation.sealed_files import NotSealed


def earlier_run(name: str, folder: Path, assignment: Assignment | None = None) -> Since:
    """Return the run of the assignment called `name` whose record is in a folder of grades, and where its verdicts are
    cached, if the assignment is at hand. Raise `NoEarlierRun` if there is none to compare with."""
    place = str(assignment.course.relative(folder) if assignment is not None else folder)
    record = _record_in(folder, place, name)
    if record.assignment != name:
        raise NoEarlierRun(place, f"it is a run of {record.assignment}", name)
    if record.share is not None:
        raise NoEarlierRun(place, f"it is share {record.share} of a class", name)
    return Since(record, place) if assignment is None else Since(record, place, cached_verdicts(assignment).get)


def has_record(folder: Path) -> bool:
    """Return whether a run came to its end in a folder of grades."""
    return (folder / RUN_RECORD).exists()


def has_grades(folder: Path) -> bool:
    """Return whether a run came to its end in a folder, of this goldsmith or of one that kept no record."""
    return (folder / GRADES).exists()


def _record_in(folder: Path, place: str, assignment: str) -> RunRecord:
    try:
        return read_record(folder)
    except NotSealed as problem:
        raise NoEarlierRun(place, f"{RUN_RECORD}: {problem}", assignment) from None
    except FileNotFoundError:
        cut_off = "a run was interrupted there, or an older goldsmith made it"
        why = cut_off if (folder / GRADES_MARK).exists() else f"there is no {RUN_RECORD} in it"
        raise NoEarlierRun(place, why, assignment) from None
    except OSError as error:
        raise NoEarlierRun(place, f"its {RUN_RECORD} cannot be read ({error.strerror})", assignment) from None
