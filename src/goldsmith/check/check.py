"""`check`: one implementation replayed against gold, judged case by case, module by module, part by part."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from goldsmith.check.attribution import Shown, attribute
from goldsmith.check.bounds import (
    LONGEST_FOR_EACH,
    LONGEST_JUDGED,
    RUNS_OF_A_CASE,
    TooMuchToJudge,
    Work,
    bounded_by,
    spend,
)
from goldsmith.check.case_verdict import MayBeMissing, is_doubtful, judge_case, same_bits, weights_by_model
from goldsmith.check.coarser_dtypes import needs_dtypes
from goldsmith.check.definitions import find_definition
from goldsmith.check.forbidden_use import find_forbidden
from goldsmith.check.missing_files import not_given
from goldsmith.check.part_verdicts import judge_parts
from goldsmith.check.provided_restored import Provided
from goldsmith.check.replay_results import CaseRuns
from goldsmith.check.replay_strategy import ReplayStrategy
from goldsmith.check.replay_workspace import ReplayWorkspace, SandboxPolicy, recipe_placements
from goldsmith.check.submissions import Submission
from goldsmith.check.verdicts import (
    AGREES,
    COULD_NOT_RUN,
    ERROR,
    PROVIDED_CHANGED,
    CaseVerdict,
    ModuleVerdict,
    PartVerdict,
    Verdict,
    gravest,
)
from goldsmith.comparison.leaves import NotComparable
from goldsmith.course.layout import Assignment
from goldsmith.course.solutions import Placement
from goldsmith.errors.check import (
    BadAdapter,
    NoGold,
    NoSuchCase,
    NotReplayed,
    StaleGold,
)
from goldsmith.generate.freshness import stale_reasons
from goldsmith.generate.options import Options
from goldsmith.gold.load import Gold, GoldCase, load_gold
from goldsmith.gold.manifest import MANIFEST, Manifest
from goldsmith.process.clocks import Allowance
from goldsmith.process.fork_client import ForkServer, fork_server
from goldsmith.process.launcher import Watcher
from goldsmith.weights.rules import Adapter, read_adapter
from goldsmith.workspace.copies import make_workspaces
from goldsmith.workspace.temporary import private_folder

CLEAR = 1e-3
"""A case whose first wrong record is this far off, over the size of gold's, shows clearly that something is wrong."""


@dataclass(frozen=True)
class Request:
    """What to check and how. `each` is how long one case may take; `adapter` another file than the course's own; a
    `warm` process may be shared by many checks, and a `room` be where their workspaces lie. What is `confined` cannot
    reach anything but what it is given. `without` are files and folders of the course, relative to its root, that no
    submission gets to see."""

    options: Options
    each: float
    cases: Sequence[str] = ()
    adapter: Path | None = None
    allow_stale: bool = False
    watcher: Watcher = field(default_factory=Watcher)
    warm: ForkServer | None = None
    confined: SandboxPolicy | None = None
    opened: Opened | None = None
    room: Path | None = None
    without: Sequence[Path] = ()


@dataclass(frozen=True)
class Opened:
    """Gold and adapter, read once for many checks; `given` is where its inputs and weights have been written."""

    gold: Gold
    golds: Mapping[str, GoldCase]
    adapter: Adapter
    adapter_file: Path | None
    given: Path | None = None

    @classmethod
    def of(cls, assignment: Assignment, submission: Submission, request: Request) -> Opened:
        gold = open_gold(assignment, submission, allow_stale=request.allow_stale)
        golds = {name: gold[name] for name in _chosen(gold, request.cases)}
        return cls(gold, golds, *open_adapter(assignment, request.adapter))


def open_gold(assignment: Assignment, submission: Submission, *, allow_stale: bool) -> Gold:
    """The gold to check against: there, sound, made from cases, and not stale."""
    if not (assignment.gold / MANIFEST).is_file():
        raise NoGold(assignment.name)
    gold = load_gold(assignment.gold)
    if gold.manifest.provenance.mode != "cases":
        raise NotReplayed(assignment.name)
    reasons = stale_reasons(assignment, gold.manifest, starter=not submission.is_tree)
    if reasons and not allow_stale:
        raise StaleGold(assignment.name, reasons)
    return gold


def check(assignment: Assignment, submission: Submission, request: Request) -> Verdict:
    """The verdict on `submission`. One that takes too much work to be judged could not run."""
    opened = request.opened or Opened.of(assignment, submission, request)
    gold = sum(file.stat().st_size for file in opened.gold.folder.iterdir() if file.is_file())
    try:
        with bounded_by(Work(seconds=LONGEST_JUDGED + LONGEST_FOR_EACH * gold / 2**20)):
            return _check(assignment, submission, request, opened)
    except TooMuchToJudge as error:
        cases = [
            CaseVerdict(
                name=name,
                title=case.entry.title,
                outcome=COULD_NOT_RUN,
                reason=f"what it left behind takes too much to be judged: {error}",
                kind="timeout",
            )
            for name, case in opened.golds.items()
        ]
        return Verdict(
            name=submission.name,
            assignment=assignment.name,
            outcome=COULD_NOT_RUN,
            cases=tuple(cases),
            notes=submission.notes,
        )


def _check(assignment: Assignment, submission: Submission, request: Request, opened: Opened) -> Verdict:
    started = time.monotonic()
    gold = opened.gold
    with contextlib.ExitStack() as stack:
        uses_torch = gold.manifest.provenance.environment.torch is not None
        warm = request.warm or stack.enter_context(fork_server(torch=uses_torch))
        in_all = request.options.timeout + RUNS_OF_A_CASE * request.each * len(opened.golds)
        checking = Checking(assignment, opened, request, warm, Allowance(in_all))
        with checking.stage(submission.placed, submission.beside) as stage:
            hearing = checking.judge(stage)
            verdicts, layouts = hearing.verdicts, hearing.layouts
            provided = Provided.of(assignment, submission, gold.manifest)
            changed = provided.parts
            if provided.changed and any(item.outcome != AGREES for item in verdicts.values()):
                verdicts, changed = checking.excuse_provided(submission, verdicts, provided)
            stood_in, sightings = tuple(sorted(stage.stubs_used)), tuple(stage.sightings)
            # last, for a module that runs alone is given what others should have returned; nothing that a child says
            # from here on is told to anybody but staff
            verdicts = attribute(stage, gold.folder, verdicts, hearing.replays, layouts)
            confined = request.confined is not None
            unseen = not_given(assignment, stage.workspace, verdicts.values(), confined=confined)
    found = list(verdicts.values())
    shown = Shown.of({name: case.entry for name, case in opened.golds.items()}, gold.folder)
    parts = tuple(judge_parts(found, shown))
    first = first_case(found, shown)
    source = next((item for item in first.modules if item.source), None) if first else None
    return Verdict(
        name=submission.name,
        assignment=assignment.name,
        outcome=gravest(item.outcome for item in found),
        first_divergence=first.first_divergence if first else "",
        first_part=first.first_part if first else "",
        first_case=first.name if first else "",
        first_name=source.their_label if source else "",
        first_place=_place(source, provided) if source else "",
        not_started=provided.is_untouched and not any(item.outcome == AGREES for item in found),
        cases=tuple(found),
        parts=parts,
        provided=changed,
        unwritten=provided.unwritten,
        unjudged=tuple(_unjudged(gold.manifest, parts)),
        not_run=len(gold) - len(opened.golds),
        layout=next(iter(layouts.values()), ""),
        stand_ins=stood_in,
        notes=submission.notes,
        forbidden=find_forbidden(assignment, submission, sightings),
        not_given=unseen,
        seconds=time.monotonic() - started,
    )


def first_case(found: Sequence[CaseVerdict], shown: Shown) -> CaseVerdict | None:
    """Choose the case that shows best what is wrong: the one that runs the least. Of several that run as little and
    show the same part, the first that shows it clearly: an eps in the wrong place is far off where numbers are small,
    and a hair beyond the tolerance elsewhere."""
    wrong = [
        item for item in found if item.outcome == gravest(case.outcome for case in found) and item.first_divergence
    ]
    if not wrong:
        return None
    first = min(wrong, key=lambda item: shown.width(item.name))
    alike = [
        item
        for item in wrong
        if item.first_part == first.first_part and shown.width(item.name) == shown.width(first.name)
    ]
    return next((item for item in alike if _how_far(item) >= CLEAR), max(alike, key=_how_far))


def _how_far(case: CaseVerdict) -> float:
    """How far off its first wrong record is, over the size of gold's; what is no matter of size is infinitely far."""
    leaf = case.first_wrong
    if leaf is None or leaf.problem != "values" or not math.isfinite(leaf.relative):
        return math.inf
    return leaf.relative


def _place(source: ModuleVerdict, provided: Provided) -> str:
    own = find_definition(provided.files, source.their_kind or source.kind, source.function)
    return own or find_definition(provided.files, source.kind, source.function)


def _unjudged(manifest: Manifest, parts: Sequence[PartVerdict]) -> list[str]:
    """Classes and functions that students write, in the order of their files, that no verdict speaks of."""
    known = {part.name for part in parts}
    written = dict.fromkeys(name.split(".")[1] for name in manifest.provenance.written if "." in name)
    return [name for name in written if name not in known]


def _chosen(gold: Gold, wanted: Sequence[str]) -> list[str]:
    for name in wanted:
        if name not in list(gold):
            raise NoSuchCase(name, list(gold))
    return [name for name in gold if not wanted or name in wanted]


def open_adapter(assignment: Assignment, file: Path | None = None) -> tuple[Adapter, Path | None]:
    """The rules for submissions, from `file` or the course's own; none where there is neither."""
    if file is None and not assignment.adapter.is_file():
        return Adapter(), None
    file = file or assignment.adapter
    try:
        return read_adapter(file.read_bytes(), str(file)), file
    except (Exception, SystemExit) as error:
        text = str(error).strip() or type(error).__name__
        raise BadAdapter(assignment.course.relative(file), f"{type(error).__name__}: {text.splitlines()[0]}") from None


@dataclass
class Checking:
    """Submissions to one assignment, put on a stage and judged; with an `allowance`, one that has it for all runs."""

    assignment: Assignment
    opened: Opened
    request: Request
    warm: ForkServer
    allowance: Allowance | None = None

    @property
    def golds(self) -> Mapping[str, GoldCase]:
        return self.opened.golds

    @property
    def adapter(self) -> Adapter:
        return self.opened.adapter

    @contextlib.contextmanager
    def stage(self, placed: Sequence[Placement], beside: Sequence[Path] = ()) -> Iterator[ReplayWorkspace]:
        """A workspace with `placed` and the course's own recipe and adapter in it, and without others' work."""
        without = (*self.request.without, *beside)
        everything = [*placed, *recipe_placements(self.assignment, self.opened.adapter_file)]
        reads, room = self.opened.gold.manifest.provenance.reads, self.request.room
        with make_workspaces(self.assignment, everything, 1, reads=reads, room=room, without=without) as (workspace,):
            yield ReplayWorkspace(
                self.assignment,
                workspace,
                msgspec.structs.replace(self.request.options, seed=self.opened.gold.manifest.seed),
                self.golds,
                self.opened.adapter_file is not None,
                self.request.each,
                self.request.watcher,
                self.warm,
                confined=self.request.confined,
                stand_ins=self.assignment.course.config.stand_ins,
                written=self.opened.gold.manifest.provenance.written,
                given=self.opened.given,
                allowance=self.allowance,
            )

    def judge(self, stage: ReplayWorkspace, cases: Sequence[str] | None = None) -> ReplayStrategy:
        """Every case, or these, until there is no doubt about any."""
        hearing = ReplayStrategy(self, stage)
        hearing.run_cases(list(self.golds) if cases is None else cases)
        return hearing

    def layouts_of(self, case: str) -> list[str]:
        """The adapter's layouts that make a difference to a case."""
        return self.adapter.layouts_of(self.weight_names(case))

    def weight_names(self, case: str) -> frozenset[str]:
        """Of all models of a case together."""
        gold = self.golds[case]
        weights = weights_by_model(gold.entry.models, gold.state_dict)
        return frozenset(name for names in weights.values() for name in names)

    def verdicts(
        self,
        stage: ReplayWorkspace,
        replays: dict[str, CaseRuns],
        layouts: Mapping[str, str] | None = None,
        before: Mapping[str, CaseVerdict] | None = None,
    ) -> dict[str, CaseVerdict]:
        """Every case judged. Where float64 alone speaks against one, or fails, that is heard again: in a process that
        has done nothing else yet, and that watches whether anything is rounded. What was found `before` there was a
        second run need not be found again. Where a case is close, it is seen which dtypes it computes in."""
        before = before or {}
        found = {name: self.verdict(name, replay, before=before.get(name)) for name, replay in replays.items()}
        doubtful = [name for name, item in found.items() if is_doubtful(item, replays[name])]
        with stage.company() as company:
            watched = company.replay(dict.fromkeys(doubtful, ("watched",)), layouts)
        for name, replay in watched.items():
            if replay.attempts["watched"].failure is None:
                replays[name] = replays[name].in_float64(replay)
                found[name] = self.verdict(name, replays[name])
        close = [name for name, item in found.items() if needs_dtypes(item, self.golds[name], replays[name])]
        with stage.company() as company:
            noted = company.replay(dict.fromkeys(close, ("dtypes",)), layouts)
        for name, replay in noted.items():
            replays[name] = replays[name].joined(replay)
            found[name] = self.verdict(name, replays[name])
        return found

    def verdict(
        self, name: str, replay: CaseRuns, *, guessing: bool = True, before: CaseVerdict | None = None
    ) -> CaseVerdict:
        gold = self.golds[name]
        verdict = CaseVerdict(name=name, title=gold.entry.title, outcome=ERROR, kind="error")
        for _ in range(2):  # what fails by chance, such as for want of memory, may not fail again
            try:
                spend()
                return judge_case(
                    gold,
                    replay,
                    excused=self._may_be_missing(name),
                    overwriting_differs=self.assignment.config.overwriting == "differs",
                    guessing=guessing,
                    before=before,
                )
            except TooMuchToJudge as error:
                why = f"what it returned takes too much to be judged: {error}"
                return msgspec.structs.replace(verdict, outcome=COULD_NOT_RUN, reason=why, kind="timeout")
            except NotComparable as error:
                why = f"what it returned cannot be compared: {error}"
                return msgspec.structs.replace(verdict, outcome=COULD_NOT_RUN, reason=why, kind="raised")
            except Exception as error:  # ours; the other cases are not lost over it
                verdict = msgspec.structs.replace(verdict, reason=f"goldsmith could not judge this: {error!r}")
        return verdict

    def _may_be_missing(self, case: str) -> MayBeMissing:
        """Weights that another implementation need not have: what is computed and still as it was built, what is tied
        to another, what the course has declared."""
        gold = self.golds[case]
        facts = gold.entry.weights
        tied = {name for item in facts.values() for names in item.tied for name in names[1:]}
        built = {
            name: weights.get(name)
            for model, weights in weights_by_model(gold.entry.models, gold.state_dict).items()
            for name in (facts[model].buffers if model in facts else ())
        }
        return lambda name, value: (
            name in tied or self.adapter.excuses(name) or (name in built and same_bits(built[name], value))
        )

    def excuse_provided(
        self, submission: Submission, verdicts: dict[str, CaseVerdict], provided: Provided
    ) -> tuple[dict[str, CaseVerdict], tuple[str, ...]]:
        """Cases that agree once the starter's own provided parts are back: all that was written there is right. With
        them, the fewest parts that must be put back, which is tried."""
        bad = [name for name, item in verdicts.items() if item.outcome not in (AGREES, ERROR)]
        mended = self._mended(submission, provided, provided.parts, bad)
        needed = provided.parts
        for part in provided.parts if mended and len(needed) > 1 else ():
            fewer = tuple(item for item in needed if item != part)
            found = self._mended(submission, provided, fewer, list(mended)) if fewer else {}
            if fewer and found.keys() == mended.keys():
                needed, mended = fewer, found
        excused = {
            name: msgspec.structs.replace(
                verdicts[name],
                outcome=PROVIDED_CHANGED,
                own_dtype_only=verdict.own_dtype_only,
                reason=f"{verdicts[name].reason}; it agrees with the provided {', '.join(needed)} put back",
            )
            for name, verdict in mended.items()
        }
        return verdicts | excused, needed

    def _mended(
        self, submission: Submission, provided: Provided, parts: Sequence[str], cases: Sequence[str]
    ) -> dict[str, CaseVerdict]:
        """The verdicts on those of `cases` that agree with these parts put back."""
        with contextlib.ExitStack() as stack:
            restored = provided.restored(submission, stack.enter_context(private_folder()) / "restored", parts)
            stage = stack.enter_context(self.stage(restored, submission.beside))
            found = self.judge(stage, cases).verdicts
        return {name: found[name] for name in cases if found[name].outcome == AGREES}
