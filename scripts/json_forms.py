"""List which structs each command prints with `--json`, and what outcomes mean.

The reference is made from this, and tests hold every command's real output against it.
"""

from __future__ import annotations

import msgspec

from goldsmith.courses.handout.make_kit import HandedOut
from goldsmith.courses.injection.results import InjectionResult, ResetResult
from goldsmith.courses.internal_tests.verdict import InternalVerdict
from goldsmith.courses.packs.pack import Packed
from goldsmith.courses.skills.install import SkillResult
from goldsmith.doctor import Fact
from goldsmith.generate.calibrate import RulerReport
from goldsmith.generate.gold_difference import GoldDifference
from goldsmith.generate.outcome import Outcome
from goldsmith.generate.status import AssignmentStatus
from goldsmith.generate.verify import Proof
from goldsmith.judge.verdicts import Verdict
from goldsmith.model_parity.result import BriefParity, ParityReport
from goldsmith.render.doctor import MachineSummary
from goldsmith.render.grades import ClassSummary, GradedSubmission
from goldsmith.render.guard import GuardSummary, Leak
from goldsmith.render.help import HelpTopic, ShellCompletion
from goldsmith.render.rigor_json import ListedMutant, MutantResult, RigorSummary
from goldsmith.render.scaffold import CourseLayout, ExampleAssignment, NewAssignment, ScaffoldFile


class Form(msgspec.Struct, frozen=True, kw_only=True):
    """What one command's object has besides what all have: a list of `subjects`, and the fields of `more`."""

    command: str
    subjects: str
    item: type[msgspec.Struct]
    when: str = ""
    more: type[msgspec.Struct] | None = None


FORMS = (
    Form(command="init", subjects="files", item=ScaffoldFile, more=CourseLayout),
    Form(command="init", when="--example", subjects="assignments", item=ExampleAssignment),
    Form(command="new", subjects="assignments", item=NewAssignment),
    Form(command="generate", subjects="assignments", item=Outcome),
    Form(command="record", subjects="assignments", item=Outcome),
    Form(command="calibrate", subjects="assignments", item=RulerReport),
    Form(command="status", subjects="assignments", item=AssignmentStatus),
    Form(command="verify", subjects="assignments", item=Proof),
    Form(command="diff", subjects="assignments", item=GoldDifference),
    Form(command="check", subjects="submissions", item=Verdict),
    Form(command="parity", subjects="candidates", item=ParityReport),
    Form(command="parity", when="--brief", subjects="candidates", item=BriefParity),
    Form(command="test", subjects="assignments", item=InternalVerdict),
    Form(command="rigor", subjects="mutants", item=MutantResult, more=RigorSummary),
    Form(command="rigor", when="--list", subjects="mutants", item=ListedMutant),
    Form(command="grade", subjects="submissions", item=GradedSubmission, more=ClassSummary),
    Form(command="pack gradescope", subjects="assignments", item=Packed),
    Form(command="pack autolab", subjects="assignments", item=Packed),
    Form(command="pack classroom50", subjects="assignments", item=Packed),
    Form(command="handout", subjects="assignments", item=HandedOut),
    Form(command="inject", subjects="assignments", item=InjectionResult),
    Form(command="reset", subjects="assignments", item=ResetResult),
    Form(command="guard", subjects="findings", item=Leak, more=GuardSummary),
    Form(command="skills install", subjects="skills", item=SkillResult),
    Form(command="doctor", subjects="facts", item=Fact, more=MachineSummary),
    Form(command="completion", subjects="shells", item=ShellCompletion),
    Form(command="help", subjects="topics", item=HelpTopic),
)

OUTCOMES: dict[str, dict[str, str]] = {
    "gold, after `generate`": {
        "published": "regenerated, verified and published",
        "unchanged": "the same to the last bit, or fresh and left alone",
        "refused": "made, but not good enough to be gold; what was there is kept",
        "failed": "could not be made; what was there is kept",
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
        "inconclusive": "rounding alone moves the reference as far as a mistake would: never a pass, never a failure",
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
