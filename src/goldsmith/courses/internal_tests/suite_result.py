"""An assignment's internal tests: which they are, pytest's arguments to run them, and the outcome.

Nothing is started here: the caller runs them, in a fresh process or a forked one, and passes in how that ended.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import msgspec

from goldsmith.courses.layout.layout import Assignment, Course
from goldsmith.errors.internal_tests import NoInternalTests
from goldsmith.foundation.ignored_names import LITTER
from goldsmith.foundation.struct_types import prepare_types
from goldsmith.foundation.wording import count_of
from goldsmith.process.process_exit import ProcessExit
from goldsmith.process.untrusted_files import UntrustedFolder

FIDELITY = "fidelity"
WHOLE_FILES, NO_CATEGORY = "(whole files)", "(no category)"
COUNTS = "counts.json"
_STARTED = "counts.started"
_MAX_READ_BYTES = 64 * 2**20
_PLUGIN = "goldsmith.courses.internal_tests.pytest_recorder"
_USAGE_ERROR, _NOTHING_COLLECTED = 4, 5


class Chosen(msgspec.Struct, frozen=True):
    """Test files, relative to the course's root. With `marked`, only tests in them whose `gold` marker names it."""

    files: tuple[str, ...]
    marked: str = ""


class TestOutcome(msgspec.Struct, frozen=True):
    """One test, or a whole `file` that could not be imported or was skipped."""

    test: str
    outcome: str
    categories: tuple[str, ...] = ()
    reason: str = ""
    where: str = ""
    file: bool = False

    @property
    def failed(self) -> bool:
        return self.outcome in ("failed", "error")

    @property
    def passed(self) -> bool:
        return self.outcome == "passed"

    @property
    def skipped(self) -> bool:
        """Say whether it neither passed nor failed: skipped, deselected, or expected to fail, whatever it did then."""
        return not self.failed and not self.passed

    @property
    def deselected(self) -> bool:
        """Say whether the course's settings, a conftest.py or a plugin took it out before it could run."""
        return self.outcome == "deselected"

    @property
    def hides_fidelity(self) -> bool:
        """Say whether a fidelity test did not run; a skipped file may contain one."""
        return self.skipped and (self.file or FIDELITY in self.categories)

    @property
    def category(self) -> str:
        return ", ".join(self.categories)


class Counts(msgspec.Struct, frozen=True):
    """Tests in numbers."""

    total: int = 0
    """How many tests."""
    passed: int = 0
    """How many passed."""
    failed: int = 0
    """How many failed."""
    skipped: int = 0
    """How many were skipped."""

    @classmethod
    def of(cls, tests: Iterable[TestOutcome]) -> Counts:
        found = list(tests)
        passed, failed = sum(test.passed for test in found), sum(test.failed for test in found)
        return cls(len(found), passed, failed, len(found) - passed - failed)


class SuiteReport(msgspec.Struct, frozen=True):
    """The outcomes of the tests; or none, and the `problem` because of which they are not known."""

    tests: tuple[TestOutcome, ...] = ()
    problem: str = ""
    unmarked: int = 0
    unread: tuple[str, ...] = ()
    """Test files in a folder that pytest did not look into."""
    seconds: float = 0.0

    @property
    def counts(self) -> Counts:
        return Counts.of(self.tests)

    def categories(self) -> dict[str, Counts]:
        """Count by category; a test that has several counts in each."""
        found: dict[str, list[TestOutcome]] = {}
        for test in self.tests:
            for name in (WHOLE_FILES,) if test.file else test.categories or (NO_CATEGORY,):
                found.setdefault(name, []).append(test)
        return {name: Counts.of(found[name]) for name in sorted(found, key=category_order)}


def category_order(name: str) -> tuple[bool, str]:
    """Return a sort key: by name, then tests without a category and whole files."""
    return name in (NO_CATEGORY, WHOLE_FILES), name


def tests_of(assignment: Assignment) -> Chosen:
    """Return the files that the configuration names; else those named after the assignment; else those with tests whose
    `gold` marker names it.
    """
    course = assignment.course
    if assignment.config.tests:
        return Chosen(tuple(_configured(assignment)))
    files = _test_files(course)
    owners = {file: _owner(course, file) for file in files}
    named = files if assignment.is_whole else [file for file in files if owners[file] == assignment.name]
    if named:
        return Chosen(_relative(course, named))
    marker = re.compile(rf"""mark\.gold\([^)]*["']{re.escape(assignment.name)}["']""")
    marked = [file for file in files if owners[file] is None and marker.search(file.read_text(errors="replace"))]
    if marked:
        return Chosen(_relative(course, marked), marked=assignment.name)
    raise NoInternalTests(assignment.name, course.relative(course.internal_tests_folder))


def _configured(assignment: Assignment) -> Iterable[str]:
    course = assignment.course
    for pattern in assignment.config.tests:
        found = sorted(path for path in course.root.glob(pattern) if not LITTER.intersection(path.parts))
        if not found:
            raise NoInternalTests(assignment.name, course.relative(course.internal_tests_folder), pattern)
        yield from _relative(course, found)


def _relative(course: Course, files: Iterable[Path]) -> tuple[str, ...]:
    return tuple(course.relative(file).as_posix() for file in files)


def _test_files(course: Course) -> list[Path]:
    folder = course.internal_tests_folder
    found = {*folder.rglob("test_*.py"), *folder.rglob("*_test.py")}
    apart = (course.fixtures_folder, course.reports_folder)
    return sorted(
        file
        for file in found
        if file.is_file()
        and not LITTER.intersection(file.relative_to(folder).parts)
        and not any(file.is_relative_to(other) for other in apart)
    )


def _owner(course: Course, file: Path) -> str | None:
    """Return the assignment named in the file's name, or in that of a folder above it, the nearest first.

    Names match as whole words: test_scratch_1.py is not scratch-10's. Of two names in one, the longer counts.
    """
    names = sorted((item.name for item in course.assignments()), key=len, reverse=True)
    inside = file.relative_to(course.internal_tests_folder)
    for part in reversed((*inside.parent.parts, inside.stem)):
        for name in names:
            if re.search(rf"(?<![a-z0-9]){re.escape(_plain(name))}(?![a-z0-9])", _plain(part)):
                return name
    return None


def _plain(name: str) -> str:
    return name.lower().replace("_", "-")


def pytest_arguments(
    chosen: Chosen, root: Path, counts: Path, *, junit: Path | None = None, stop: bool = False, select: str = ""
) -> list[str]:
    """Return pytest's arguments: run what is marked `rigor`, in `root`, and write `counts`; `stop` at the first
    failure.

    They come after the course's own settings, so that they override those. Options that depend on an earlier run
    (--last-failed, --stepwise) are accepted, but do nothing.
    """
    after_an_earlier_run = [f"no:{name}plugin" for name in ("lf", "nf", "stepwise")]
    return [
        *("-m", "rigor", "-k", select, "-p", _PLUGIN, f"--rootdir={root}", "--color=no"),
        *(word for name in after_an_earlier_run for word in ("-p", name)),
        *("-o", f"cache_dir={counts.with_suffix('.cache')}"),
        *(f"--gold-counts={counts}", f"--gold-started={counts.with_name(_STARTED)}"),
        *("--tb=short", "-ra", f"--maxfail={int(stop)}", "--continue-on-collection-errors"),
        *([f"--gold-marked={chosen.marked}"] if chosen.marked else ()),
        *([f"--junitxml={junit}"] if junit else ()),
        *([f"--gold-select={select}"] if select else ()),
        "--",
        *chosen.files,
    ]


class _Written(msgspec.Struct, frozen=True):
    """The content of the file that `pytest_recorder` writes."""

    process: int
    status: int
    collected: int
    finished: int
    stops: bool
    unmarked: int
    select: str
    tests: tuple[TestOutcome, ...]
    unread: tuple[str, ...] = ()


def read_suite(left: UntrustedFolder, ending: ProcessExit) -> SuiteReport:
    """Read the file that `pytest_recorder` wrote.

    One that is incomplete, of another process, or at odds with how the process ended is a problem.
    """
    written = _read(left, ending.pid)
    if ending.overrun:
        problem = f"pytest took longer than {ending.overrun}{_at(left)}"
    elif ending.signal:
        problem = f"pytest was killed by {ending.signal}{_at(left)}"
    elif written is None:
        return _not_begun(left, ending)
    else:
        problem = _doubt(written, ending, left)
    if problem or written is None:
        return SuiteReport(problem=problem, seconds=ending.seconds)
    return SuiteReport(written.tests, unmarked=written.unmarked, unread=written.unread, seconds=ending.seconds)


def _read(left: UntrustedFolder, process: int) -> _Written | None:
    try:
        written = msgspec.json.decode(left.read(COUNTS, _MAX_READ_BYTES), type=_Written)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return written if written.process == process else None


def _doubt(written: _Written, ending: ProcessExit, left: UntrustedFolder) -> str:
    failed = any(test.failed for test in written.tests)
    if written.status != ending.code:
        return f"pytest said that it ended with {written.status} and ended with {ending.code}"
    if written.status == _USAGE_ERROR:
        return f"pytest did not begin: {_complaint(ending.log_tail)}"
    if not written.tests and written.status == _NOTHING_COLLECTED:
        return _nothing_collected(written)
    if written.finished < written.collected and not (written.stops and failed):
        return f"pytest stopped{_at(left)}, when {written.finished} of {written.collected} tests had run"
    if written.status not in (0, 1, _NOTHING_COLLECTED) or (written.status == 1) != failed:
        said = "at least one" if failed else "no"
        return f"pytest ended with exit code {written.status}, and {said} test failed"
    return ""


def _nothing_collected(written: _Written) -> str:
    if written.select:
        return f"no test marked rigor fits -k '{written.select}'"
    if written.unmarked:
        tests = count_of(written.unmarked, "test")
        return f"{tests} found, none marked rigor; put `pytestmark = pytest.mark.rigor` at the top of the file"
    return "pytest found no test"


def _not_begun(left: UntrustedFolder, ending: ProcessExit) -> SuiteReport:
    """Say why there is no file: code that exited early, or a pytest that could not begin.

    A conftest.py that cannot be imported counts as a whole file, because it hides all tests.
    """
    told = _lines(ending.log_tail)
    raised = [line[1:].strip() for line in told if re.match(r"E\s", line)]
    if ending.code == _USAGE_ERROR:
        loading = next((line for line in told if "while loading conftest" in line), None)
        if loading:
            where = loading.partition("'")[2].rpartition("'")[0]
            test = TestOutcome(where, "error", reason=(raised or [loading])[-1], where=where, file=True)
            return SuiteReport((test,), seconds=ending.seconds)
        return SuiteReport(problem=f"pytest did not begin: {_complaint(ending.log_tail)}", seconds=ending.seconds)
    if not _started(left):
        code = f"exit code {ending.code}"
        return SuiteReport(problem=f"pytest exited before the first test, with {code}", seconds=ending.seconds)
    problem = f"pytest stopped{_at(left)}: its process exited with code {ending.code}"
    return SuiteReport(problem=problem, seconds=ending.seconds)


def _lines(log: str) -> list[str]:
    return [line.strip() for line in log.splitlines() if line.strip()]


def _complaint(log: str) -> str:
    found = [line.split("error: ", 1)[-1].removeprefix("ERROR: ") for line in _lines(log) if "error: " in line.lower()]
    return (found or _lines(log) or ["it says nothing"])[-1]


def started_count(left: UntrustedFolder) -> int:
    """Return how many tests have begun."""
    return len(_started(left))


def _started(left: UntrustedFolder) -> list[str]:
    try:
        return left.read(_STARTED, _MAX_READ_BYTES).decode("utf-8", "replace").splitlines()
    except OSError:
        return []


def _at(left: UntrustedFolder) -> str:
    started = _started(left)
    return f" at {started[-1]}" if started else ""


prepare_types(_Written)
