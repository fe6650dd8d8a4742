"""The state of one run of pytest: its options, the gold it has opened, what it has recorded and replayed.

Fast to import, since every pytest run loads it. Processes of one run (xdist's workers) share a folder.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

from goldsmith.pytest_support.markers import marked_assignments, speaks_of_gold

if TYPE_CHECKING:
    from goldsmith.courses.layout.layout import Assignment
    from goldsmith.gold.load import Gold
    from goldsmith.judge.verdicts import Verdict
    from goldsmith.pytest_support.kept_place import KeptPlace
    from goldsmith.pytest_support.kept_report import Outcome

_FOLDER = "gold_folder"
_RECORDS = {"missing": "missing gold is made", "overwrite": "missing and stale gold is made, and overwritten"}


@dataclass
class GoldSession:
    """The options and caches of one run. `invoked` is where pytest was started; paths on its command line are relative
    to it."""

    invoked: Path
    course: Path | None
    submission: str | None
    allow_stale: bool
    timeout: float | None
    record: Literal["missing", "overwrite"] | None
    update: bool = False
    diff: bool = False
    reason: str = ""
    prune: bool = False
    config: Any = None
    shared: Path | None = None
    written: set[Path] = field(default_factory=set)
    """Where this process has kept values that were missing: in this run they prove nothing."""
    failures: dict[str, list[str]] = field(default_factory=dict)
    """By node id, what tests will fail of at their end: what was missing, and with `diff` all that differs."""
    lines: list[str] = field(default_factory=list)
    """What was done about values that tests keep, for the end of pytest's output."""
    _own: Path | None = None
    _ending: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)
    _gold: dict[Path, Gold] = field(default_factory=dict)
    _verdicts: dict[object, Verdict] = field(default_factory=dict)

    @classmethod
    def begin(cls, config: pytest.Config) -> None:
        option, invoked = config.option, config.invocation_params.dir
        shared = getattr(config, "workerinput", {}).get(_FOLDER)
        config.stash[_KEY] = cls(
            invoked=invoked,
            course=invoked / option.gold_course if option.gold_course else None,
            submission=option.gold_submission,
            allow_stale=option.gold_allow_stale,
            timeout=option.gold_timeout,
            record=None if option.collectonly else option.gold_record,
            update=option.gold_update,
            diff=option.gold_diff,
            reason=(option.gold_reason or "").strip(),
            prune=option.gold_prune and not option.collectonly,
            config=config,
            shared=Path(shared) if shared else None,
        )

        if option.gold_update and running_on_ci():
            raise pytest.UsageError(
                "--gold-update keeps values that nobody has looked at, and this is CI: run it where you develop and "
                "commit what it writes; for a job that commits it itself, say `env -u CI pytest --gold-update`"
            )
        if option.gold_prune and running_on_ci():
            raise pytest.UsageError("--gold-prune deletes gold, and this is CI: run it where you develop")
        if option.gold_reason is not None and not option.gold_update:
            raise pytest.UsageError("--gold-reason says why --gold-update changes gold: give both")
        if option.gold_reason is not None and not option.gold_reason.strip():
            raise pytest.UsageError("--gold-reason is empty: say what has changed, and why that is right")

    def end(self) -> None:
        self._ending.close()

    def adopt(self, workerinput: dict[str, Any]) -> None:
        workerinput[_FOLDER] = str(self.folder)

    @property
    def folder(self) -> Path:
        """Return the folder in which processes of this run share results."""
        if self.shared is not None:
            return self.shared
        if self._own is None:
            from goldsmith.workspace.temporary import private_folder

            self._own = self._ending.enter_context(private_folder())
        return self._own

    @functools.cached_property
    def obtained(self) -> Path | None:
        """Return the folder for the values of failed checks; None without one."""
        from goldsmith.pytest_support.obtained import obtained_folder

        return obtained_folder(self.config)

    # --- reports ----------------------------------------------------------------------------------------------------

    def header(self) -> str | None:
        said = [f"submission {self.submission}"] if self.submission else []
        said += ["stale gold is accepted"] if self.allow_stale else []
        said += [_RECORDS[self.record]] if self.record else []
        said += ["what tests keep is updated"] if self.update else []
        said += ["what no test checks is deleted"] if self.prune else []
        return f"goldsmith: {', '.join(said)}" if said else None

    def summary(self) -> list[str]:
        """List what was recorded, by any process."""
        if self.record is None or (self._own is None and self.shared is None):
            return []
        from goldsmith.pytest_support.record_gold import all_recorded

        return [item.line for item in all_recorded(self.folder)]

    def collected(self, items: Sequence[pytest.Item]) -> None:
        """Take down which tests there are, before any is deselected."""
        if self.update or self.prune:
            from goldsmith.pytest_support.kept_report import note_collected

            note_collected(self.folder, items)

    def note(self, place: KeptPlace, outcome: Outcome, *details: Any) -> None:
        """Take down what became of a check, if anybody asks at the end of the run."""
        if self.update or self.prune:
            from goldsmith.pytest_support.kept_report import note

            note(self.folder, place, outcome, *details)

    def doubt(self, why: str) -> None:
        """Take down why not everything that there is has run, so that nothing is deleted."""
        if self.prune:
            from goldsmith.pytest_support.prune import note_doubt

            note_doubt(self.folder, why)

    def finish(self, session: pytest.Session, exitstatus: int) -> bool:
        """Put what was staged in its place, and delete what is not used; return False if that was refused or failed."""
        if self.shared is not None or not (self.update or self.prune):
            return True
        from goldsmith.pytest_support.session_end import finish_run

        self.lines, fine = finish_run(self, session, exitstatus)
        return fine

    @property
    def on_ci(self) -> bool:
        return running_on_ci()

    @contextlib.contextmanager
    def failing_at_the_end(self, item: pytest.Item) -> Iterator[None]:
        """Fail a test at its end with everything that its checks have found."""
        __tracebackhide__ = True
        try:
            yield
        except Exception as error:
            for text in self.failures.pop(item.nodeid, []):
                error.add_note(text)
            raise
        found = self.failures.pop(item.nodeid, [])
        if found:
            from goldsmith.errors.pytest import LateMismatch

            raise LateMismatch("\n".join(found))

    def complete(self, report: pytest.TestReport, item: pytest.Item, call: pytest.CallInfo[None]) -> None:
        """Report missing, stale or broken gold as an error in any phase, even in a test that was expected to fail."""
        if call.excinfo is None or "goldsmith.errors" not in sys.modules or not speaks_of_gold(item):
            return
        from goldsmith.errors.base import GoldsmithError
        from goldsmith.errors.pytest import GoldMismatch, LateMismatch

        if call.excinfo.errisinstance(LateMismatch) and report.outcome == "failed":
            report.longrepr = call.excinfo.getrepr(style="value")
        elif call.excinfo.errisinstance(GoldsmithError):
            report.outcome = "failed"
            vars(report).pop("wasxfail", None)
            if call.when == "call":
                vars(report)["gold_error"] = True
            else:
                report.longrepr = call.excinfo.getrepr(style="value")
        elif not call.excinfo.errisinstance(GoldMismatch):
            return
        crash = getattr(report.longrepr, "reprcrash", None)
        if crash is not None:
            crash.message = str(call.excinfo.value)

    # --- gold -------------------------------------------------------------------------------------------------------

    def assignment(self, name: str, test: Path) -> Assignment:
        """Find an assignment in the course around the test file, or in the one that was named."""
        from goldsmith.courses.layout.layout import find_course

        return find_course(self.course or test.parent).assignment(name)

    def require_marked(self, item: pytest.Item) -> None:
        for name in marked_assignments(item):
            self.gold(self.assignment(name, item.path))

    def gold(self, assignment: Assignment) -> Gold:
        """Read gold, which is recorded first if that was requested; raise an error if it is missing, unreadable or
        stale."""
        from goldsmith.courses.layout.resolve import resolve
        from goldsmith.errors.check import NoGold
        from goldsmith.errors.pytest import NotRecorded, StaleForTests
        from goldsmith.generate.freshness import stale_reasons
        from goldsmith.gold.load import load_gold
        from goldsmith.gold.manifest import MANIFEST
        from goldsmith.pytest_support.record_gold import record

        if assignment.gold in self._gold:
            return self._gold[assignment.gold]
        made = record(self, assignment) if self.record else None
        if made is not None and made.problem and not (self.allow_stale and (assignment.gold / MANIFEST).is_file()):
            raise NotRecorded(made.problem)
        if not (assignment.gold / MANIFEST).is_file():
            raise NoGold(assignment.name)
        gold = load_gold(assignment.gold)
        reasons = stale_reasons(resolve(assignment), gold.manifest, starter=self.submission is not None)
        if reasons and not self.allow_stale:
            raise StaleForTests(assignment.name, reasons)
        self._gold[assignment.gold] = gold
        return gold

    def replay(
        self, assignment: Assignment, path: str | Path | None, cases: Sequence[str], setting: str = ""
    ) -> Verdict:
        """Return the verdict on `path`, or on what the command line names, in a setting such as `cuda bfloat16`;
        computed once in the whole run of pytest."""
        import msgspec

        from goldsmith.judge.verdicts import Verdict
        from goldsmith.pytest_support.run_once import once

        self.gold(assignment)
        shown = str(path) if path is not None else self.submission
        place = None if shown is None else _locate(shown, assignment.course.root if path else self.invoked)
        key = (str(assignment.gold), place, tuple(cases), self.timeout, setting)
        if key not in self._verdicts:
            found = once(
                self.folder,
                f"replay {key}",
                lambda: msgspec.msgpack.encode(self._check(assignment, place, shown, cases, setting)),
            )
            self._verdicts[key] = msgspec.msgpack.decode(found, type=Verdict)
        return self._verdicts[key]

    def _check(
        self, assignment: Assignment, place: str | None, shown: str | None, cases: Sequence[str], setting: str
    ) -> Verdict:
        import dataclasses

        from goldsmith.check.check import check
        from goldsmith.check.request import Request
        from goldsmith.courses.layout.resolve import resolve
        from goldsmith.courses.submissions.open_submission import open_submission
        from goldsmith.errors.usage import BadOption
        from goldsmith.runs.setting import setting_named

        wanted = setting_named(setting)
        if wanted is None:
            raise BadOption("setting", setting, "one as `goldsmith calibrate` names it, such as 'cuda bfloat16'")
        target = resolve(assignment)
        limit = self.timeout or target.case_timeout
        target = dataclasses.replace(target, device=wanted.device, case_timeout=limit)
        with _stale_in_our_words(), open_submission(assignment, place) as opened:
            request = Request(
                cases=tuple(cases),
                allow_stale=self.allow_stale,
                setting=wanted,
            )
            return check(target, dataclasses.replace(opened, name=shown or opened.name), request)


_KEY = pytest.StashKey[GoldSession]()
_CI_VARIABLES = ("CI", "BUILD_NUMBER")
"""Those that pytest itself looks at."""


def running_on_ci() -> bool:
    return any(os.environ.get(name, "").lower() not in ("", "0", "false") for name in _CI_VARIABLES)


def session_of(config: pytest.Config) -> GoldSession:
    return config.stash[_KEY]


def _locate(what: str, folder: Path) -> str:
    """Resolve a path from `folder`; anything else is a git revision."""
    return str((folder / what).resolve()) if (folder / what).exists() else what


@contextlib.contextmanager
def _stale_in_our_words() -> Iterator[None]:
    from goldsmith.errors.check import StaleGold
    from goldsmith.errors.pytest import StaleForTests

    try:
        yield
    except StaleGold as error:
        raise StaleForTests(error.assignment, error.reasons) from None
