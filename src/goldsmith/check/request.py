"""The request (what to check and how), and the gold and adapter that are read for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from goldsmith.check.recipe_failures import SolutionFailures
from goldsmith.check.replay_workspace import SandboxPolicy
from goldsmith.errors.check import BadAdapter, NoGold, NoSuchCase, NotReplayed, StaleGold
from goldsmith.errors.rulers import NoRuler
from goldsmith.foundation.wording import nearest
from goldsmith.generate.freshness import stale_reasons
from goldsmith.gold.load import Gold, GoldCase, load_gold
from goldsmith.gold.manifest import MANIFEST
from goldsmith.gold.rulers import Ruler, ruler_for
from goldsmith.judge.evidence import Evidence
from goldsmith.process.fork_client import ForkClient
from goldsmith.process.launcher import Watcher
from goldsmith.runs.conditions import OWN
from goldsmith.runs.setting import Setting, options_for
from goldsmith.targets.target import Submission, Target
from goldsmith.weights.rules import Adapter, read_adapter


@dataclass(frozen=True)
class Request:
    """What to check and how. `adapter` replaces the course's own file. Many checks may share a `fork_server` and a
    `temporary_folder` for their workspaces. With `confined`, submissions are sandboxed.
    `hidden_files` are files and folders, relative to the course's root, that no submission can see. What the verdict
    rests on is put into `evidence`, if there is one. `solution_failures` tells failures of the course's own code from
    those of submissions; without it, every failure is the submission's. Runs are in `setting`, by default
    the plain one on the target's device."""

    cases: Sequence[str] = ()
    adapter: Path | None = None
    allow_stale: bool = False
    watcher: Watcher = field(default_factory=Watcher)
    fork_server: ForkClient | None = None
    confined: SandboxPolicy | None = None
    opened: OpenGold | None = None
    temporary_folder: Path | None = None
    hidden_files: Sequence[Path] = ()
    evidence: Evidence | None = None
    solution_failures: SolutionFailures | None = None
    setting: Setting | None = None
    compiled: bool = False


@dataclass(frozen=True)
class OpenGold:
    """Gold and adapter, read once for many checks. `given` is the folder with gold's inputs and weights, once
    written."""

    gold: Gold
    golds: Mapping[str, GoldCase]
    adapter: Adapter
    adapter_file: Path | None
    given: Path | None = None

    @classmethod
    def of(cls, target: Target, submission: Submission, request: Request) -> OpenGold:
        gold = open_gold(target, submission, allow_stale=request.allow_stale)
        golds = {name: gold[name] for name in _select_cases(gold, request.cases)}
        return cls(gold, golds, *open_adapter(target, request.adapter))


def needed_ruler(rulers: Sequence[Ruler], setting: Setting, assignment: str) -> Ruler | None:
    """Return the ruler of a setting. In another dtype, or with TF32, nothing can be judged without one; elsewhere there
    are gold's own tolerances."""
    found = ruler_for(rulers, setting)
    if found is None and (setting.dtype != OWN or setting.tf32):
        raise NoRuler(assignment, setting.name, options_for(setting))
    return found


def open_gold(target: Target, submission: Submission, *, allow_stale: bool) -> Gold:
    """Read the gold to check against. It must be sound, made from cases, and not stale."""
    if not (target.gold / MANIFEST).is_file():
        raise NoGold(target.name)
    gold = load_gold(target.gold)
    if gold.manifest.provenance.mode != "cases":
        raise NotReplayed(target.name)
    reasons = stale_reasons(target, gold.manifest, starter=not submission.is_tree)
    if reasons and not allow_stale:
        raise StaleGold(target.name, reasons)
    return gold


def open_adapter(target: Target, file: Path | None = None) -> tuple[Adapter, Path | None]:
    """Read the rules for submissions from `file` or the course's own; there are none where neither exists."""
    if file is None and not target.adapter.is_file():
        return Adapter(), None
    file = file or target.adapter
    try:
        return read_adapter(file.read_bytes(), str(file)), file
    except (Exception, SystemExit) as error:
        text = str(error).strip() or type(error).__name__
        raise BadAdapter(target.project.relative(file), f"{type(error).__name__}: {text.splitlines()[0]}") from None


def _select_cases(gold: Gold, wanted: Sequence[str]) -> list[str]:
    for name in wanted:
        if name not in list(gold):
            raise NoSuchCase(name, list(gold), nearest(name, gold))
    return [name for name in gold if not wanted or name in wanted]
