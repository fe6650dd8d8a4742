"""What can be wrong with gold, and what can keep it from being made or published."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from goldsmith.errors.base import AGAINST, INTERRUPTED, GoldsmithError, UsageError, making_command


class GoldRefused(GoldsmithError):
    """Gold has problems, in `cases` only, where those are named; `hint` says by which key they can be accepted."""

    outcome = "refused"
    template = "gold refused: {problems:first}; fix it{way_out}."
    assignment: str
    problems: Sequence[str]
    hint: str = ""
    cases: Sequence[str] = ()

    @property
    def way_out(self) -> str:
        return f", or accept it by name: {self.hint}" if self.hint else ""


class CopyDisagrees(GoldsmithError):
    """A copy of the solution, checked like a submission, differs from the gold; `report` is that check's output."""

    outcome = "refused"
    template = (
        "gold refused: {copy}, does not agree with it in {cases:few} ({reason}); change the recipe or the {what} so "
        "that it does, then run again."
    )
    assignment: str
    cases: Sequence[str]
    reason: str
    report: str

    @property
    def what(self) -> str:
        return "implementation" if self.assignment.endswith(".py") else "solution"

    @property
    def copy(self) -> str:
        if self.what == "solution":
            return "a copy of the solution, submitted like a student's"
        return "the implementation, replayed on gold's inputs and weights"


class CopyFailsInSandbox(GoldsmithError):
    """A copy of the solution agrees with the gold, but not in the sandbox that submissions are graded in; `where` is
    the line and `denied` says what is refused there and what lets it in."""

    outcome = "refused"
    template = (
        "gold refused: the solution agrees with it, but not in the sandbox that submissions are graded in, where it "
        "cannot run {cases:few}{where}: {reason}; {denied}; or, to publish it anyway, declare it in the case: "
        'allow={{"sandbox": "why"}}.'
    )
    assignment: str
    cases: Sequence[str]
    where: str
    reason: str
    denied: str


class NotCalibrated(GoldsmithError):
    assignment: str
    problem: str

    def sentence(self) -> str:
        problem = self.problem.rstrip(".")
        return f"tolerances could not be measured: {problem}; use --no-calibrate for default tolerances."


class TrialsFailed(GoldsmithError):
    outcome = "refused"
    assignment: str
    case: str
    trials: int
    problem: str

    def sentence(self) -> str:
        return (
            f"gold refused: all {self.trials} trials that measure the tolerances of case {self.case} failed, the first "
            f"with {self.problem.rstrip('.')}; make the case run again on its own inputs and weights, or use "
            "--no-calibrate for default tolerances."
        )


class NotReplayable(GoldsmithError):
    template = (
        "case {case} accepts variants but comes out differently when it is replayed on its own inputs and weights; "
        "draw everything random with case.input, and keep nothing from one run to the next."
    )
    case: str


class GoldIsStale(GoldsmithError):
    exit_code = AGAINST
    outcome = "stale"
    assignment: str
    tensors: int

    def sentence(self) -> str:
        count = f"{self.tensors} tensor{'' if self.tensors == 1 else 's'}"
        name = self.assignment
        return (
            f"regenerating would change {count if self.tensors else 'its documentation'}; see what with "
            f"`goldsmith diff {shlex.quote(name)}`, then run `{making_command(name)}`."
        )


class GoldKept(GoldsmithError):
    exit_code = AGAINST
    outcome = "stale"
    assignment: str
    tensors: int
    others: tuple[str, ...] = ()

    def sentence(self) -> str:
        why = f"the old gold was kept: {self.tensors} of its tensors would change; replace it"
        if self.others:
            names = f"{', '.join(self.others[:3])}{' …' if len(self.others) > 3 else ''}"
            why = f"nothing was replaced: the gold folder holds edited or foreign files ({names}); replace them"
        return f"{why} with `{making_command(self.assignment)} --yes`."


class CasesKept(GoldsmithError):
    """Cases that a person did not accept, of all that would change."""

    exit_code = AGAINST
    outcome = "stale"
    assignment: str
    kept: tuple[str, ...]
    of: int

    def sentence(self) -> str:
        which = f"{', '.join(self.kept)} {'was' if len(self.kept) == 1 else 'were'} kept"
        return (
            f"nothing was written: of {self.of} cases that would change, {which}, and the solution would not agree with"
            " gold that is partly old; fix the solution or the recipe for those, then run"
            f" `{making_command(self.assignment)} --review` again."
        )


class ReviewLeft(GoldsmithError):
    exit_code = AGAINST
    outcome = "stale"
    template = "the review was left, and nothing was written; run the same command to begin again."


class ReviewNeedsTerminal(UsageError):
    template = (
        "--review asks questions, and there is no terminal to ask them on; see what would change with `goldsmith diff`,"
        " then accept all of it with --yes instead of --review."
    )


class ReviewAlone(UsageError):
    template = "--review asks about every case, so {option} does not go with it; use one of the two."
    option: str


class UnknownRevision(UsageError):
    template = (
        "git has no gold at {folder} in {revision!r} ({reason}); choose a revision that `git log -- {folder}` lists."
    )
    revision: str
    folder: Path
    reason: str


class TreeChanged(GoldsmithError):
    outcome = "refused"
    template = (
        "{paths:few} changed while the recipe ran, by the recipe or by hand; see what changed with `git diff`, then "
        "run again."
    )
    paths: Sequence[Path]


class GoldUnreadable(GoldsmithError):
    template = "{path} is not usable gold: {problem}; regenerate it with `goldsmith generate`."
    path: Path
    problem: str


class NewerGold(GoldUnreadable):
    """Gold written by a later version. It is never replaced, since it may hold what this version cannot read."""

    template = "{path} is left alone: {problem}; upgrade goldsmith, then run again."


class CannotWrite(GoldsmithError):
    template = "{path} cannot be written ({reason}); free some space or make it writable, then run again."
    path: Path
    reason: str


class LeadsElsewhere(GoldsmithError):
    template = (
        "{link} is a symbolic link, and what goldsmith keeps there is neither read nor written through one; remove the "
        "link, or put the folder itself there."
    )
    link: Path


class OtherGold(GoldsmithError):
    template = "{folder} is a symbolic link to the gold of {other}, which stays as it is; remove the link."
    folder: Path
    other: str


class NotOursToReplace(GoldsmithError):
    template = (
        "{folder} stays as it is: it is not empty, and holds no {proof} of goldsmith's; move it away, or choose "
        "another place."
    )
    folder: Path
    proof: str


class Busy(GoldsmithError):
    template = "{folder} is in use by {holder}; wait for it, or leave out --no-wait."
    folder: Path
    holder: str


class MenuLeft(GoldsmithError):
    exit_code = INTERRUPTED
    template = "nothing was chosen, and nothing was done."


class Interrupted(GoldsmithError):
    exit_code = INTERRUPTED
    command: str = ""

    def sentence(self) -> str:
        if self.command in ("init", "new"):
            return "interrupted; either everything was written or nothing, and `git status` says which."
        if self.command in ("rigor", "grade"):
            return "interrupted; finished work is kept, and the same command continues from there."
        if self.command in ("inject", "reset"):
            return "interrupted; nothing is lost, and `goldsmith status` says whether the solution is in place."
        if self.command.startswith("skills"):
            return "interrupted; no file was left half written, and the same command does the rest."
        if self.command == "parity":
            return "interrupted; both processes have ended, and the same command begins again."
        if self.command in ("record", "check", "verify", "diff"):
            return "interrupted; gold that was not finished was not published."
        return "interrupted; the starter is untouched, and gold that was not finished was not published."


class Failed(GoldsmithError):
    """A run that another command needed failed; `message` says why."""

    template = "{message}"
    message: str


class Unexpected(GoldsmithError):
    """A bug in goldsmith itself."""

    template = "goldsmith itself failed ({error}); run it again with --debug to see where, and report that."
    error: str
