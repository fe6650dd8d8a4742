"""`calibrate`: measure in another setting how far the solution is off there, and add that to the gold as a ruler.

The solution is replayed on gold's own inputs and weights. No case is recorded again: of the folder, only the manifest
and the README change.
"""

from __future__ import annotations

import shlex
import time
from pathlib import Path

import msgspec

from goldsmith.errors.check import NoGold, NotReplayed, StaleToMeasure
from goldsmith.errors.injection import IsInjected
from goldsmith.errors.rulers import PlainSetting, RulerRefused, SolutionFailsThere
from goldsmith.generate.error_mapping import error_of
from goldsmith.generate.freshness import stale_reasons
from goldsmith.generate.jobs import make_job
from goldsmith.generate.measure_tolerances import SAMPLES, read_trials
from goldsmith.generate.options import Options
from goldsmith.generate.recording import content_entry
from goldsmith.gold.calibration import CONTROLS, NOISE
from goldsmith.gold.facts import Environment
from goldsmith.gold.load import Gold, GoldCase, load_gold
from goldsmith.gold.manifest import MANIFEST, README, Manifest, encode
from goldsmith.gold.publish import Staging
from goldsmith.gold.readme import render_readme
from goldsmith.gold.ruler_limits import RulerCase, ruler_case
from goldsmith.gold.rulers import Ruler, ruler_for
from goldsmith.process.launcher import Watcher, run_parallel
from goldsmith.process.messages import KeptCase, ReplayJob, Result
from goldsmith.process.progress import Progress
from goldsmith.runs.conditions import Conditions
from goldsmith.runs.setting import Setting, options_for
from goldsmith.targets.target import Target
from goldsmith.workspace.copies import make_workspaces

PUBLISHED, UNCHANGED = "published", "unchanged"
_TIMEOUT_FACTOR = 20
"""The runs may take this many times as long as one recording may."""


class RulerReport(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the ruler of one assignment for one setting."""

    name: str
    """The assignment, or the recipe."""
    outcome: str
    """`published`, or `unchanged` where the gold has it already."""
    setting: str
    """The setting, in words."""
    machine: str
    """The device that it was measured on."""
    tensors: int
    """How many tensors it limits."""
    smallest: float
    """The smallest of its limits, over the tensor's size."""
    largest: float
    """The largest of them."""
    unjudged: dict[str, str] = {}
    """Tensors that nothing can be judged by in this setting, by case and name, with the reason."""
    failed: tuple[str, ...] = ()
    """Runs that did not come to an end, and why."""
    next: tuple[str, ...] = ()
    """Commands that make sense now."""
    seconds: float = 0.0
    """How long it took."""


def calibrate_in(
    target: Target, setting: Setting, options: Options, progress: Progress, *, force: bool = False
) -> RulerReport:
    """Add the ruler of a setting to the gold. The caller holds the project's lock. A ruler that is there stays, unless
    `force`."""
    started = time.monotonic()
    if setting.is_plain:
        raise PlainSetting(target.name)
    gold = _open(target)
    known = ruler_for(gold.manifest.rulers, setting)
    if known is not None and known.cases.keys() >= set(gold) and not force:
        return _report(target, gold, known, UNCHANGED, time.monotonic() - started)
    progress.begin(target.name)
    try:
        ruler = _measure(target, setting, options, gold, progress)
    finally:
        progress.end()
    _refuse_blind(target, gold, ruler)
    changed = _publish(target, gold.manifest, ruler)
    return _report(target, gold, ruler, PUBLISHED if changed else UNCHANGED, time.monotonic() - started)


def _open(target: Target) -> Gold:
    """Open the gold, which must be what its solution makes now."""
    if target.injected_since:
        raise IsInjected(target.name, target.injected_since)
    if not (target.gold / MANIFEST).is_file():
        raise NoGold(target.name)
    gold = load_gold(target.gold)
    if gold.manifest.provenance.mode != "cases":
        raise NotReplayed(target.name)
    reasons = stale_reasons(target, gold.manifest, starter=True)
    if reasons:
        raise StaleToMeasure(target.name, reasons)
    return gold


def _measure(target: Target, setting: Setting, options: Options, gold: Gold, progress: Progress) -> Ruler:
    cases = {name: gold[name] for name in gold}
    kept = {name: KeptCase.of(case.entry, case.path) for name, case in cases.items()}
    trials = tuple(_trials(setting))
    watcher = Watcher(
        on_case=lambda event: progress.step(f"{setting.name}: run {event.number} of {event.of}"),
        on_tick=progress.tick,
    )
    options = msgspec.structs.replace(options, seed=gold.manifest.seed)
    with make_workspaces(target, target.placed, 1) as (workspace,):
        job = make_job(ReplayJob, target, workspace, options, kept=kept, trials=trials)
        (ending,) = run_parallel([job], timeout=_TIMEOUT_FACTOR * options.timeout, watcher=watcher)
        error = error_of(target, workspace, ending, options)
        if error is not None:
            raise error
        assert ending.result is not None
        found = {
            name: ruler_case(case, read_trials(name, [Path(job.output)]), setting, _others(case, cases))
            for name, case in cases.items()
        }
        return _ruler(target, setting, ending.result, tuple(item.name for item in trials), found)


def _trials(setting: Setting) -> list[Conditions]:
    """Return the solution's runs: twice as it is, and with disturbed rounding, which every correct order of the same
    operations is within."""
    noise = [Conditions(name=f"{NOISE}{number}", noise=number) for number in range(1, SAMPLES + 1)]
    return [setting.within(item) for item in (*(Conditions(name=name) for name in CONTROLS), *noise)]


def _others(case: GoldCase, cases: dict[str, GoldCase]) -> list[GoldCase]:
    return [item for item in cases.values() if item is not case]


def _ruler(
    target: Target, setting: Setting, result: Result, trials: tuple[str, ...], found: dict[str, RulerCase]
) -> Ruler:
    failures = [f"{item.case}: {item.trial}: {item.message}" for item in result.failed_trials]
    empty = [name for name, item in found.items() if not item.limits and not item.unjudged]
    if failures and len(empty) == len(found):
        raise SolutionFailsThere(target.name, setting.name, failures[0].partition(": ")[2])
    ran = {
        name: item
        for name, item in found.items()
        if not any(it.startswith(f"{name}: {CONTROLS[0]}") for it in failures)
    }
    return Ruler(
        setting=setting,
        environment=result.environment or Environment(python="", numpy=""),
        trials=trials,
        cases={name: item.limits for name, item in ran.items()},
        unjudged={name: item.unjudged for name, item in ran.items() if item.unjudged},
        failed=tuple(failures),
    )


def _refuse_blind(target: Target, gold: Gold, ruler: Ruler) -> None:
    """Refuse a ruler by which nothing can be judged."""
    limited = sum(len(limits) for limits in ruler.cases.values())
    unjudged = [(case, path, why) for case, items in ruler.unjudged.items() for path, why in items.items()]
    if limited and sum(path in ruler.cases[case] for case, path, _ in unjudged) == limited:
        case, path, why = unjudged[0]
        said = f"nothing can be judged by it: of {gold[case].entry.label(path)} of case {case}, {why}"
        raise RulerRefused(target.name, ruler.setting.name, said)


def _publish(target: Target, manifest: Manifest, ruler: Ruler) -> bool:
    """Publish the gold with this ruler, and say whether a byte has changed."""
    others = [item for item in manifest.rulers if item.setting != ruler.setting]
    rulers = tuple(sorted((*others, ruler), key=lambda item: item.setting.name))
    manifest = msgspec.structs.replace(manifest, rulers=rulers)
    readme = render_readme(manifest, target.label, target.project.relative(target.gold).as_posix()).encode()
    files = [item for item in manifest.files if item.name != README]
    manifest = msgspec.structs.replace(manifest, files=(*files, content_entry(README, readme)))
    staging = Staging(target.gold)
    try:
        staging.open()
        for item in files:
            staging.take(target.gold / item.name)
        staging.write(README, readme)
        staging.write(MANIFEST, encode(manifest))
        staging.carry_over([item.name for item in files])
        if staging.equals_target():
            return False
        staging.publish()
        return True
    finally:
        staging.discard()


def _report(target: Target, gold: Gold, ruler: Ruler, outcome: str, seconds: float) -> RulerReport:
    limits = [item.l2 or 0.0 for limits in ruler.cases.values() for item in limits.values()]
    shown = {
        f"{case}: {gold[case].entry.label(path)}": why
        for case, items in ruler.unjudged.items()
        for path, why in items.items()
    }
    missing = [name for name in gold if name not in ruler.cases]
    shown |= {f"{name}: all of it": "the solution does not run there" for name in missing}
    return RulerReport(
        name=target.name,
        outcome=outcome,
        setting=ruler.setting.name,
        machine=ruler.environment.device,
        tensors=len(limits),
        smallest=min(limits, default=0.0),
        largest=max(limits, default=0.0),
        unjudged=shown,
        failed=ruler.failed,
        next=(f"goldsmith check {shlex.quote(target.name)} {options_for(ruler.setting)}",),
        seconds=round(seconds, 3),
    )
