"""What can be wrong with gold, and what can keep it from being made or published."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from goldsmith.errors.base import AGAINST, INTERRUPTED, USAGE, GoldsmithError


@dataclass(eq=False)
class GoldRefused(GoldsmithError):
    outcome: ClassVar[str] = "refused"
    assignment: str
    problems: Sequence[str]
    hint: str

    def sentence(self) -> str:
        more = f" (and {len(self.problems) - 1} more)" if len(self.problems) > 1 else ""
        return f"gold refused: {self.problems[0]}{more}; fix it, or accept it by name: {self.hint}."


@dataclass(eq=False)
class CopyDisagrees(GoldsmithError):
    """A copy of the solution, checked like a submission, differs from the gold; `report` is that check's output."""

    outcome: ClassVar[str] = "refused"
    assignment: str
    cases: Sequence[str]
    reason: str
    report: str

    def sentence(self) -> str:
        names = f"{', '.join(self.cases[:3])}{' …' if len(self.cases) > 3 else ''}"
        return (
            f"gold refused: a copy of the solution, submitted like a student's, does not agree with it in {names} "
            f"({self.reason}); change the recipe or the solution so that it does, then run again."
        )


@dataclass(eq=False)
class NotCalibrated(GoldsmithError):
    assignment: str
    problem: str

    def sentence(self) -> str:
        problem = self.problem.rstrip(".")
        return f"tolerances could not be measured: {problem}; with --no-calibrate the gold gets customary ones."


@dataclass(eq=False)
class TrialsFailed(GoldsmithError):
    outcome: ClassVar[str] = "refused"
    assignment: str
    case: str
    trials: int
    problem: str

    def sentence(self) -> str:
        return (
            f"gold refused: all {self.trials} trials that measure the tolerances of case {self.case} failed, the first "
            f"with {self.problem.rstrip('.')}; make the case run again on its own inputs and weights, or use "
            "--no-calibrate for customary tolerances."
        )


@dataclass(eq=False)
class NotReplayable(GoldsmithError):
    case: str

    def sentence(self) -> str:
        return (
            f"case {self.case} accepts variants but comes out differently when it is replayed on its own inputs and "
            "weights; draw all that chance decides in case.input, and keep nothing from one run to the next."
        )


@dataclass(eq=False)
class GoldIsStale(GoldsmithError):
    exit_code: ClassVar[int] = AGAINST
    outcome: ClassVar[str] = "stale"
    assignment: str
    tensors: int

    def sentence(self) -> str:
        count = f"{self.tensors} tensor{'' if self.tensors == 1 else 's'}"
        name = self.assignment
        return (
            f"regenerating would change {count if self.tensors else 'its documentation'}; see what with "
            f"`goldsmith diff {name}`, then run `goldsmith generate {name}`."
        )


@dataclass(eq=False)
class GoldKept(GoldsmithError):
    exit_code: ClassVar[int] = AGAINST
    outcome: ClassVar[str] = "stale"
    assignment: str
    tensors: int
    others: tuple[str, ...] = ()

    def sentence(self) -> str:
        why = f"the old gold was kept: {self.tensors} of its tensors would change; replace it"
        if self.others:
            names = f"{', '.join(self.others[:3])}{' …' if len(self.others) > 3 else ''}"
            why = f"nothing was replaced: {names} stood there, not as goldsmith writes; replace"
        return f"{why} with `goldsmith generate {self.assignment} --yes`."


@dataclass(eq=False)
class UnknownRevision(GoldsmithError):
    exit_code: ClassVar[int] = USAGE
    revision: str
    folder: Path
    reason: str

    def sentence(self) -> str:
        return (
            f"git has no gold at {self.folder} in {self.revision!r} ({self.reason}); choose a revision that "
            f"`git log -- {self.folder}` lists."
        )


@dataclass(eq=False)
class TreeChanged(GoldsmithError):
    outcome: ClassVar[str] = "refused"
    paths: Sequence[Path]

    def sentence(self) -> str:
        names = ", ".join(str(path) for path in self.paths[:3]) + (" and more" if len(self.paths) > 3 else "")
        return (
            f"{names} changed while the recipe ran, by the recipe or by hand; look at what changed with `git diff`, "
            "then run again."
        )


@dataclass(eq=False)
class GoldUnreadable(GoldsmithError):
    path: Path
    problem: str

    def sentence(self) -> str:
        return f"{self.path} is not usable gold: {self.problem}; regenerate it with `goldsmith generate`."


@dataclass(eq=False)
class NewerGold(GoldUnreadable):
    """Gold written by a later version. It is never replaced, since it may hold what this version cannot read."""

    def sentence(self) -> str:
        return f"{self.path} is left alone: {self.problem}; upgrade goldsmith, then run again."


@dataclass(eq=False)
class CannotWrite(GoldsmithError):
    path: Path
    reason: str

    def sentence(self) -> str:
        return f"{self.path} cannot be written ({self.reason}); make room, or make it writable, then run again."


@dataclass(eq=False)
class Busy(GoldsmithError):
    folder: Path
    holder: str

    def sentence(self) -> str:
        return f"{self.folder} is in use by {self.holder}; wait for it, or leave out --no-wait."


@dataclass(eq=False)
class MenuLeft(GoldsmithError):
    exit_code: ClassVar[int] = INTERRUPTED

    def sentence(self) -> str:
        return "nothing was chosen, and nothing was done."


@dataclass(eq=False)
class Interrupted(GoldsmithError):
    exit_code: ClassVar[int] = INTERRUPTED
    command: str = ""

    def sentence(self) -> str:
        if self.command in ("init", "new"):
            return "Interrupted. Either everything was written or nothing; `git status` says which."
        if self.command in ("rigor", "grade"):
            return "interrupted; what was finished is kept, and the same command goes on from there."
        if self.command in ("inject", "reset"):
            return "interrupted; nothing is lost, and `goldsmith status` says whether the solution is in place."
        if self.command.startswith("skills"):
            return "interrupted; no file was left half written, and the same command does the rest."
        return "interrupted; the starter is untouched, and gold that was not finished was not published."


@dataclass(eq=False)
class Failed(GoldsmithError):
    """A run that another command needed failed; `message` says why."""

    message: str

    def sentence(self) -> str:
        return self.message


@dataclass(eq=False)
class Unexpected(GoldsmithError):
    """A bug in goldsmith itself."""

    error: str

    def sentence(self) -> str:
        return f"goldsmith itself failed ({self.error}); run it again with --debug to see where, and report that."
