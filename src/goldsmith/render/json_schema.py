"""The form of what each command prints with `--json`: which fields there are, and what they mean.

The reference is made from this, and tests hold every command's real output against it. Nothing here is needed to run a
command.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from goldsmith.check.verdicts import Verdict
from goldsmith.doctor import Fact
from goldsmith.generate.outcome import Outcome
from goldsmith.generate.previous_gold import MachineNoise
from goldsmith.generate.verify import Proof
from goldsmith.gold.diff import TensorChange
from goldsmith.grade.grades import Grade
from goldsmith.grade.overview import Overview
from goldsmith.guard.leaks import Finding as Leak
from goldsmith.internal_tests.verdict import InternalVerdict
from goldsmith.mutants.results import Finding
from goldsmith.sandbox.promises import SandboxLevel
from goldsmith.skills.install import SkillResult


class Error(msgspec.Struct, frozen=True):
    """What kept a command from finishing."""

    kind: str
    """A stable word for it; see the [exit codes](exit-codes.md)."""
    message: str
    """The sentence that people get."""


class Common(msgspec.Struct, frozen=True, kw_only=True):
    """What every command's object has."""

    schema: int
    """The version of this form: 1."""
    command: str
    """The command, such as `check`."""
    ok: bool
    """Whether all is well: `false` wherever the exit code is not 0, except in `diff` and `grade`, which have done what
    they were asked for."""
    error: Error | None
    """What kept the command from finishing; null where nothing did."""


class Copied(msgspec.Struct, frozen=True, kw_only=True):
    """An assignment of the bundled course."""

    name: str
    """The assignment."""
    outcome: Literal["copied"]
    """Always `copied`."""


class Added(msgspec.Struct, frozen=True, kw_only=True):
    """A file that `init` adds to a course, or `new` to an assignment."""

    name: str
    """Its path in the course."""
    outcome: Literal["written", "left", "unchanged", "kept", "skipped", "by-hand"]
    """`written` now, `left` where it would be written and was not, `unchanged` where all is there, `kept` where it is
    somebody's own, `skipped` where it makes no sense, `by-hand` where somebody who knows the file should add to it."""
    part: str
    """What it belongs to, as `--without` takes it."""
    why: str
    """What it is for."""
    by_hand: str
    """What somebody should add there; empty elsewhere."""
    difference: tuple[str, ...]
    """What is new in it, as a difference."""


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """An assignment that `new` makes."""

    name: str
    """The assignment."""
    outcome: Literal["made", "planned"]
    """`planned` with `--dry-run`."""
    kind: Literal["torch", "numpy"]
    """What it uses."""
    files: tuple[Added, ...]
    """Its files."""


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """How the gold of one assignment stands."""

    name: str
    """The assignment."""
    outcome: Literal["fresh", "stale", "missing", "injected"]
    """How its gold stands."""
    reasons: tuple[str, ...]
    """Why it is not fresh."""
    notes: tuple[str, ...]
    """Facts that make no gold stale, such as another version of torch."""
    label: str
    """What it is called in menus."""
    description: str
    """One line about it."""
    recipe: str | None
    """Where its recipe lies; null where there is none."""
    folder: str | None
    """Where its gold lies; null where it is no assignment any more."""


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """What would change, or has changed, in the gold of one assignment."""

    name: str
    """The assignment."""
    outcome: Literal["stale", "unchanged"]
    """`stale` where a tensor differs."""
    revision: str | None
    """The git revision that was compared with; null where the recipe was run again."""
    changes: tuple[TensorChange, ...]
    """Each tensor that differs."""
    notes: tuple[str, ...]
    """What is worth knowing, though nothing is wrong."""
    noise: MachineNoise | None
    """Tensors that came out in other bits here, within noise, so that the gold stays; null where none did."""
    environment: tuple[str, ...]
    """What is different about this machine from the one that recorded the gold, as far as it is known."""
    redrawn: dict[str, str]
    """Cases that drew inputs or weights again instead of using recorded ones, with the reason."""


class Mutant(Finding, frozen=True, kw_only=True):
    """A mutant of the solution, and what became of it."""

    assignment: str
    """The assignment."""


class Sharpness(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """How sharp the gold of one assignment is."""

    name: str
    """The assignment."""
    outcome: Literal["measured"]
    """Always `measured`."""
    score: float | None
    """Killed over killed and survived; null where there is neither."""
    made: int
    """How many mutants there are, of which `--only` and `--max` may have chosen some."""
    killed: int
    """How many were killed."""
    crashed: int
    """How many crashed, which counts as killed."""
    survived: int
    """How many survived and are not explained."""
    not_told_apart: int
    """How many no run told from the solution, and are not explained; they do not count."""
    equivalent: int
    """How many were shown to be right: the same program, or what the recipe accepts."""
    could_not_run: int
    """How many could not be tried."""
    explained: int
    """How many survivors the course has explained."""
    seconds: float
    """How long it took."""
    notes: tuple[str, ...]
    """What is worth knowing."""


class Untried(msgspec.Struct, frozen=True, kw_only=True):
    """A mutant that was only listed."""

    assignment: str
    """The assignment."""
    name: str
    """`<part>/<operator>`, as `--only` takes it."""
    outcome: Literal["untried"]
    """Always `untried`."""
    operator: str
    """The operator that made it."""
    part: str
    """The function or method that it is in."""
    file: str
    """The file."""
    line: int
    """The line."""
    before: str
    """The line as the solution has it."""
    after: str
    """The line as the mutant has it."""


class Graded(Grade, frozen=True, kw_only=True):
    """One submission with its score and the reasons."""

    review: tuple[str, ...]
    """Items of the rubric that a person should look at."""


class Placed(msgspec.Struct, frozen=True, kw_only=True, rename={"source": "from"}):
    """A file that the solution put in place."""

    path: str
    """Its path in the course."""
    source: str | None
    """The solution's file; null where the solution takes a file away."""
    was: Literal["there", "missing"]
    """Whether the starter has such a file."""


class Injected(msgspec.Struct, frozen=True, kw_only=True):
    """A solution in place."""

    name: str
    """The assignment."""
    outcome: Literal["injected"]
    """Always `injected`."""
    already: bool
    """Whether it was in place before."""
    since: str
    """Since when."""
    files: tuple[Placed, ...]
    """The files in question."""
    uncommitted: tuple[str, ...]
    """Files with changes that git does not have, and that are kept safe."""
    edited: tuple[str, ...]
    """Files that were edited since."""


class TakenAway(msgspec.Struct, frozen=True, kw_only=True):
    """A solution that was in place, or was not."""

    name: str
    """The assignment."""
    outcome: Literal["reset", "unchanged"]
    """`unchanged` where nothing was in place."""
    files: tuple[str, ...]
    """The files that are as before."""
    kept: tuple[str, ...]
    """Where edits went."""


class Seen(Leak, frozen=True, kw_only=True):
    """Something that students must not see, and where."""

    name: str
    """The file, once more."""
    outcome: Literal["leak"]
    """Always `leak`."""


class Topic(msgspec.Struct, frozen=True, kw_only=True):
    """A page about goldsmith."""

    name: str
    """What it is called."""
    outcome: Literal["shown"]
    """It always is."""
    about: str
    """What it is about, in a line."""
    text: str | None
    """All of it, in Markdown, where it was asked for; else null."""


class OfCourse(msgspec.Struct, frozen=True, kw_only=True):
    """What `init` says about the course as a whole."""

    root: str
    """Its root."""
    found: tuple[str, ...]
    """What lies where, and by what it was found, a line each."""
    notes: tuple[str, ...]
    """What is worth knowing."""


class OfRigor(msgspec.Struct, frozen=True, kw_only=True):
    """What `rigor` says besides its mutants."""

    assignments: tuple[Sharpness, ...]
    """How sharp the gold of each is."""


class OfClass(msgspec.Struct, frozen=True, kw_only=True):
    """What `grade` says about a class as a whole."""

    sandbox: SandboxLevel | None
    """How well submissions were locked in, the weakest of all; null where nothing was run."""
    overview: Overview
    """The class in numbers."""
    earlier: str | None
    """Where files went that stood in the way; null where none did."""
    left: tuple[str, ...]
    """Files that a person has changed, and that this run had nothing new to say in."""


class OfMachine(msgspec.Struct, frozen=True, kw_only=True):
    """What `doctor` says about a machine as a whole."""

    sandbox: SandboxLevel
    """How well submissions can be locked in."""


class Form(msgspec.Struct, frozen=True, kw_only=True):
    """What one command's object has besides what all have: a list of `subjects`, and the fields of `more`."""

    command: str
    subjects: str
    item: type[msgspec.Struct]
    when: str = ""
    more: type[msgspec.Struct] | None = None


FORMS = (
    Form(command="init", subjects="files", item=Added, more=OfCourse),
    Form(command="init", when="--example", subjects="assignments", item=Copied),
    Form(command="new", subjects="assignments", item=Made),
    Form(command="generate", subjects="assignments", item=Outcome),
    Form(command="status", subjects="assignments", item=Standing),
    Form(command="verify", subjects="assignments", item=Proof),
    Form(command="diff", subjects="assignments", item=Difference),
    Form(command="check", subjects="submissions", item=Verdict),
    Form(command="test", subjects="assignments", item=InternalVerdict),
    Form(command="rigor", subjects="mutants", item=Mutant, more=OfRigor),
    Form(command="rigor", when="--list", subjects="mutants", item=Untried),
    Form(command="grade", subjects="submissions", item=Graded, more=OfClass),
    Form(command="inject", subjects="assignments", item=Injected),
    Form(command="reset", subjects="assignments", item=TakenAway),
    Form(command="guard", subjects="findings", item=Seen),
    Form(command="skills install", subjects="skills", item=SkillResult),
    Form(command="doctor", subjects="facts", item=Fact, more=OfMachine),
    Form(command="help", subjects="topics", item=Topic),
)

OUTCOMES: dict[str, dict[str, str]] = {
    "gold, after `generate`": {
        "published": "made anew, verified and put in place",
        "unchanged": "the same to the last bit, or fresh and left alone",
        "refused": "made, but not good enough to be gold; what stood there still stands",
        "failed": "could not be made; what stood there still stands",
    },
    "gold, as it stands": {
        "fresh": "made from what stands there now",
        "stale": "something that it follows from has changed since",
        "missing": "there is none",
        "injected": "the solution is in the starter's place, so that nothing can be said",
    },
    "an implementation, a case, a part": {
        "agrees": "every recorded value is within its tolerance",
        "differs": "at least one is not",
        "could-not-run": "an import, a device, a stub, a crash, a time limit: not wrong, and never a pass",
        "provided-changed": "all that the student wrote is right, but code that was given to them was changed",
        "error": "goldsmith itself failed: no verdict; points are withheld and marked for review",
    },
    "an item of a rubric, besides": {
        "not-judged": "nothing that ran shows whether it is right",
    },
    "a mutant": {
        "killed": "a case sees it",
        "crashed": "it raises, hangs or is ended, which a case sees; it counts as killed",
        "survived": "the gold would pass it",
        "not-told-apart": "no run told it from the solution, which proves nothing; it does not count",
        "equivalent": "shown to be right: the same program, or what the recipe accepts; it does not count",
        "could-not-run": "something other than the mutant went wrong; it does not count",
    },
    "internal tests": {
        "passed": "they pass on the solution, and at least one fails on the starter",
        "failed": "they do not",
        "could-not-run": "they could not be run to their end",
    },
}
"""What outcomes mean, by what they are said of."""
