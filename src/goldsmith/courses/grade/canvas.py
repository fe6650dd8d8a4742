"""Merge points into a gradebook that Canvas exported: by the IDs of students, one to one or not at all.

What Canvas writes and reads, by its own sources: a row of headings (`Student` or `LastName` and `FirstName`, `ID`,
`SIS User ID`, `SIS Login ID`, `Section`, then a column `Title (number)` for each assignment, then totals), perhaps a
row that says which are posted by hand, the row `Points Possible`, and a row for each student, the last of which may be
the test student. The separator is a comma or, by the user's settings, a semicolon.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from goldsmith.courses.grade.csv_cells import Cell, NotCsv, cells_of, read_text, with_cells
from goldsmith.courses.grade.grades import Grade
from goldsmith.courses.grade.scoring import number
from goldsmith.courses.layout.layout import Assignment
from goldsmith.courses.submissions.canvas_names import student_id
from goldsmith.errors.gradebook import BadNames, NamesDoNotMatch, NoSuchColumn, NotAGradebook
from goldsmith.judge.verdicts import ERROR

FILE = "canvas.csv"
_NAMES = ("Student", "LastName", "FirstName")
_IDS = ("ID", "SIS User ID", "SIS Login ID", "Integration ID")
_TITLE = re.compile(r"(?P<title>.*\S)\s*\((?P<number>\d+)\)\s*", re.S)
_READ_ONLY = re.compile(r"read\s+only", re.I)
_BY_HAND = re.compile(r"\s*(Muted|Manual Posting.*)?\s*", re.I)
_POINTS_POSSIBLE = "Points Possible"
_TEST_STUDENT = "Student, Test"
_NOT_GRADED = ("EX", "N/A")
"""Cells of students who are excused, or whom the assignment is not for."""


class CanvasMerge(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a Canvas gradebook."""

    file: str
    """The gradebook that was written: import this one."""
    column: str
    """The column that the points are in."""
    filled: int
    """How many students have points from this run."""
    left: tuple[str, ...]
    """Students whose cell was left as it was although they submitted: excused, or without a verdict."""
    without_submission: tuple[str, ...]
    """Students who submitted nothing here; their cell was left as it was."""
    note: str
    """What is worth knowing about the column; empty where nothing is."""


@dataclass(frozen=True)
class Student:
    """A row of the gradebook."""

    row: Sequence[Cell]
    name: str
    ids: Mapping[str, str]

    @property
    def label(self) -> str:
        known = next((value for value in self.ids.values() if value), "")
        return f"{self.name} ({known})" if known else self.name


@dataclass(frozen=True)
class Gradebook:
    """A gradebook as it was exported."""

    path: Path
    text: str
    head: Sequence[str]
    possible: Sequence[str]
    students: Sequence[Student]
    decimal: str = "."

    @classmethod
    def read(cls, path: Path) -> Gradebook:
        try:
            text = read_text(path)
            rows, separator = _rows(text)
        except NotCsv as problem:
            raise NotAGradebook(path, str(problem)) from None
        except OSError as error:
            raise NotAGradebook(path, f"it cannot be read ({error.strerror})") from None
        head = [cell.value.strip() for cell in rows[0]]
        for line, row in enumerate(rows, 1):
            if len(row) != len(head) and any(cell.value for cell in row):
                raise NotAGradebook(path, f"row {line} has {len(row)} cells, the first has {len(head)}")
        if not any(name in head for name in _NAMES) or not any(name in head for name in _IDS):
            raise NotAGradebook(path, f"its first row has no {_NAMES[0]} and none of {', '.join(_IDS)}")
        possible: list[str] = []
        students = []
        for row in rows[1:]:
            if _POINTS_POSSIBLE in row[0].value:
                possible = [cell.value for cell in row]
            elif not all(_BY_HAND.fullmatch(cell.value) for cell in row):
                students.append(_student(head, row))
        book = cls(path, text, head, possible, students, _decimal(separator, possible))
        book._refuse_equal_ids()
        return book

    def _refuse_equal_ids(self) -> None:
        for name in _IDS:
            counts = Counter(student.ids[name].casefold() for student in self.students if student.ids.get(name))
            equal = [student.label for student in self.students if counts[student.ids.get(name, "").casefold()] > 1]
            if equal:
                raise NotAGradebook(self.path, f"these students have the same {name}: {', '.join(equal)}")

    def column(self, wanted: str, assignment: Assignment) -> int:
        """Find a column by its heading, title or number; without any, by the assignment's name or title."""
        found = [(index, match) for index, text in enumerate(self.head) if (match := _TITLE.fullmatch(text))]
        columns = [(index, match) for index, match in found if not _READ_ONLY.search(self._possible(index))]
        known = [self.head[index] for index, _ in columns]
        names = {wanted} if wanted else {assignment.name, assignment.label}
        for form in (str, _plain):
            texts = {form(name) for name in names}
            fitting = [index for index, match in columns if texts & {form(item) for item in _called(match)}]
            if len(fitting) == 1:
                return fitting[0]
            if fitting:
                raise NoSuchColumn(self.path, wanted or assignment.name, True, [self.head[index] for index in fitting])
        raise NoSuchColumn(self.path, wanted or assignment.name, False, known)

    def _possible(self, column: int) -> str:
        return self.possible[column] if column < len(self.possible) else ""

    def match(self, names: Sequence[str], given: Mapping[str, str]) -> list[Student]:
        """Return the student of each submission: by the ID in `given`, else by the one that its name is or holds."""
        unknown, ambiguous, found = [], [], []
        for name in names:
            students = self._with_id(given[name]) if name in given else self._named(name)
            found += students[:1]
            if not students:
                unknown.append(f"{name} ({given[name]})" if name in given else name)
            elif len(students) > 1:
                ambiguous.append(f"{name} may be {' or '.join(student.label for student in students)}")
        if not unknown and not ambiguous:
            counts = Counter(student.row[0].begin for student in found)
            whose: dict[str, list[str]] = {}
            for name, student in zip(names, found, strict=True):
                if counts[student.row[0].begin] > 1:
                    whose.setdefault(student.label, []).append(name)
            ambiguous = [f"{label} has submitted {' and '.join(several)}" for label, several in whose.items()]
        if unknown or ambiguous:
            raise NamesDoNotMatch(self.path, unknown, ambiguous)
        return found

    def _with_id(self, wanted: str) -> list[Student]:
        text = wanted.strip().casefold()
        return [item for item in self.students if text in (value.casefold() for value in item.ids.values() if value)]

    def _named(self, name: str) -> list[Student]:
        """Return those whom a submission's name means: an ID, a login up to its @, or a file of Canvas's download."""
        told = student_id(name)
        students = [item for item in self.students if told and item.ids.get("ID") == told]
        if students:
            return students
        logins = [(item, item.ids.get("SIS Login ID", "")) for item in self.students]
        short = [
            item for item, login in logins if "@" in login and login.partition("@")[0].casefold() == name.casefold()
        ]
        return self._with_id(name) or short


@dataclass(frozen=True)
class CanvasPlan:
    """A gradebook, the column that points go to, and the student of each submission, in order."""

    book: Gradebook
    column: int
    students: Sequence[Student]

    @classmethod
    def of(
        cls, path: Path, assignment: Assignment, names: Sequence[str], column: str = "", names_file: Path | None = None
    ) -> CanvasPlan:
        """Read a gradebook and match it; raise unless column and students are certain."""
        book = Gradebook.read(path)
        given = dict(_read_names(names_file)) if names_file else {}
        return cls(book, book.column(column, assignment), book.match(names, given))

    def merge(self, grades: Sequence[Grade]) -> tuple[bytes, CanvasMerge]:
        """Return the gradebook with everybody's points, and what became of it. An error of goldsmith's own, someone
        excused and someone whom the assignment is not for get none."""
        new, left, rows = {}, [], {student.row[0].begin for student in self.students}
        for student, grade in zip(self.students, grades, strict=True):
            cell = student.row[self.column]
            if grade.outcome == ERROR:
                left.append(f"{student.label}: no verdict")
            elif cell.value.strip().upper() in _NOT_GRADED:
                left.append(f"{student.label}: {cell.value.strip()}")
            else:
                new[cell] = number(grade.score).replace(".", self.book.decimal)
        missing = [item for item in self.book.students if item.row[0].begin not in rows and item.name != _TEST_STUDENT]
        merged = CanvasMerge(
            file=FILE,
            column=self.book.head[self.column],
            filled=len(new),
            left=tuple(left),
            without_submission=tuple(item.label for item in missing),
            note=self._note(grades),
        )
        return with_cells(self.book.text, new).encode(), merged

    def _note(self, grades: Sequence[Grade]) -> str:
        possible = self.book._possible(self.column).strip().replace(",", ".")
        if not grades or not re.fullmatch(r"\d+(\.\d+)?", possible) or float(possible) == grades[0].points:
            return ""
        return f"the column is worth {number(float(possible))} points in Canvas, and {number(grades[0].points)} here"


def _rows(text: str) -> tuple[list[list[Cell]], str]:
    """Split a gradebook at the separator that gives its first row an ID column, and leave out empty lines."""
    problem = NotCsv("it is empty")
    for separator in (",", ";"):
        try:
            rows = [row for row in cells_of(text, separator) if len(row) > 1 or row[0].value]
        except NotCsv as error:
            problem = error
            continue
        if rows and any(cell.value.strip() in _IDS for cell in rows[0]):
            return rows, separator
        problem = NotCsv(f"its first row has none of {', '.join(_IDS)}") if rows else problem
    raise problem


def _student(head: Sequence[str], row: Sequence[Cell]) -> Student:
    values = {name: cell.value.strip() for name, cell in zip(head, row, strict=True)}
    name = values.get("Student") or ", ".join(values[part] for part in _NAMES[1:] if values.get(part))
    return Student(row, name, {key: values[key] for key in _IDS if key in values})


def _decimal(separator: str, possible: Sequence[str]) -> str:
    """Return the decimal separator that a gradebook's own numbers have."""
    comma = separator == ";" and any(re.fullmatch(r"\d+,\d+", value.strip()) for value in possible)
    return "," if comma else "."


def _called(match: re.Match[str]) -> Iterator[str]:
    yield from (match[0].strip(), match["title"], match["number"])


def _plain(name: str) -> str:
    return re.sub(r"[\s_-]+", " ", name).strip().casefold()


def _read_names(path: Path) -> Iterator[tuple[str, str]]:
    """Yield submissions with the IDs of their students, as a file with these two columns says."""
    try:
        rows = cells_of(read_text(path), ",")
    except (NotCsv, OSError) as problem:
        raise BadNames(path, str(problem)) from None
    head = [cell.value.strip().casefold() for cell in rows[0]]
    if not {"submission", "id"} <= set(head):
        raise BadNames(path, "its first row has no submission and id")
    seen: set[str] = set()
    for line, row in enumerate(rows[1:], 2):
        if len(row) == 1 and not row[0].value:
            continue
        if len(row) != len(head):
            raise BadNames(path, f"row {line} has {len(row)} cells, the first has {len(head)}")
        name = row[head.index("submission")].value.strip()
        if name in seen:
            raise BadNames(path, f"{name} is in it twice")
        seen.add(name)
        yield name, row[head.index("id")].value.strip()
