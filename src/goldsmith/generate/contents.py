"""The contents of a new gold folder: cases that stay as they are together with cases that are rewritten."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from goldsmith.generate.measure_tolerances import Measured, join_calibrations
from goldsmith.generate.options import Options
from goldsmith.generate.previous_gold import PreviousGold
from goldsmith.generate.recording import Recording
from goldsmith.generate.sources import Sources
from goldsmith.gold.drift import Movement
from goldsmith.gold.facts import CaseFacts, Environment, same_environment
from goldsmith.gold.manifest import Calibration, CaseEntry, case_entry, with_metadata
from goldsmith.gold.rulers import Ruler, kept_rulers
from goldsmith.gold.trace_tensors import keeps_sketches
from goldsmith.process.messages import Result
from goldsmith.source_code.case_code import CaseCode


@dataclass(frozen=True)
class Kept:
    """Names of the cases whose values stay as they are, and of those among them whose tolerances stay, too."""

    values: frozenset[str]
    entries: frozenset[str]


@dataclass(frozen=True)
class Contents:
    """Everything that goes into a gold folder; `paths` are its files where they are now."""

    result: Result
    cases: tuple[CaseEntry, ...]
    paths: tuple[Path, ...]
    calibration: Calibration | None
    environment: Environment
    sources: Sources
    reads: dict[str, str]
    rulers: tuple[Ruler, ...] = ()


def keep_cases(
    previous: PreviousGold,
    options: Options,
    recordings: Sequence[Recording],
    movements: Mapping[str, Movement],
    *,
    mode: str,
) -> Kept:
    """Return which cases stay; with other bits, only if their tolerances do: those are distances from old bits."""
    values, entries = set(), set()
    for case in (case for item in recordings for case in item.cases):
        movement = movements.get(case.name)
        if movement is None or movement.outcome == "moved":
            continue
        measured = options.calibrate != "off" and mode == "cases"
        lasting = previous.tolerances_stand(case, measured=measured) and options.calibrate != "always"
        lasting = lasting and not movement.float64_moved
        if movement.outcome == "same" or (lasting and not options.exact):
            values.add(case.name)
            entries |= {case.name} if lasting else set()
    return Kept(frozenset(values), frozenset(entries))


def written_again(movements: Mapping[str, Movement], kept: Kept) -> Iterator[str]:
    """Yield why cases of the previous gold do not stay, the first few by name."""
    moved = [item for item in movements.values() if item.case not in kept.values]
    for item in moved[:_MAX_NOTES]:
        yield f"case {item.case} no longer holds: {item.why or 'its bits differ'}"
    if len(moved) > _MAX_NOTES:
        yield f"{len(moved) - _MAX_NOTES} more cases no longer hold"


_MAX_NOTES = 5


def assemble(
    previous: PreviousGold,
    kept: Kept,
    result: Result,
    recordings: Sequence[Recording],
    measured: Measured,
    sources: Sources,
    reads: dict[str, str],
    code: CaseCode,
) -> Contents:
    """Collect entries and files of all cases: those that stay from the previous gold, the others from this run."""
    here = result.environment or Environment(python="", numpy="")
    before = previous.manifest.provenance.environment if previous.manifest and kept.values else here
    entries: list[CaseEntry] = []
    files: list[Path] = []
    references: list[Path] = []
    for recording in recordings:
        for case in recording.cases:
            folder = previous.folder if case.name in kept.values else recording.first
            known = previous.entry(case.name)
            traced = (
                folder if known and known.runs and _is_traced_alike(known, case, folder, recording) else recording.first
            )
            files += [folder / case.file.name, *([traced / case.trace] if case.trace else [])]
            own = code.of(case.definition)
            old = known if case.name in kept.entries else None
            if old is not None:
                entries.append(with_metadata(old, case, own))
                references += [previous.folder / old.reference] if old.reference else []
            else:
                entries.append(_entry(case, measured, own, _recorded_on(previous, kept, case, before, here)))
                references += [measured.references[case.name]] if case.name in measured.references else []
    names = {case.name for recording in recordings for case in recording.cases}
    old_calibration = previous.manifest.calibration if previous.manifest and kept.entries else None
    if all(entry.environment is not None for entry in entries) and here in [it.environment for it in entries]:
        before = here  # no case is left from the environment that the manifest named
        entries = [
            msgspec.structs.replace(entry, environment=None) if entry.environment == here else entry
            for entry in entries
        ]
    return Contents(
        result=result,
        cases=tuple(entries),
        paths=(*files, *references),
        calibration=join_calibrations(old_calibration, measured.calibration, measured.tolerances, names),
        environment=before,
        sources=sources,
        reads=reads,
        rulers=kept_rulers(previous.manifest.rulers, kept.entries) if previous.manifest else (),
    )


def _recorded_on(
    previous: PreviousGold, kept: Kept, case: CaseFacts, before: Environment, here: Environment
) -> Environment | None:
    """Return the environment that a case's values come from, None if it is the one that the manifest names."""
    if case.name in kept.values:
        old = previous.entry(case.name)
        return old.environment if old else None
    return None if same_environment(before, here) else here


def _entry(case: CaseFacts, measured: Measured, code: str, environment: Environment | None) -> CaseEntry:
    reference = measured.references.get(case.name)
    tolerances = measured.tolerances.get(case.name, {})
    choices = measured.choices.get(case.name, ())
    entry = case_entry(case, tolerances, measured.why_not, reference.name if reference else None, code, choices)
    noise = {name: float(f"{value:.1e}") for name, value in sorted(measured.call_noise.get(case.name, {}).items())}
    return msgspec.structs.replace(entry, environment=environment, call_noise=noise)


def _is_traced_alike(known: CaseEntry, case: CaseFacts, folder: Path, recording: Recording) -> bool:
    """Return whether an earlier trace may stay: it is of the same name, and keeps tensors or sketches as this one
    does."""
    if known.trace != case.trace or not case.trace:
        return known.trace == case.trace
    return keeps_sketches(folder / case.trace) == keeps_sketches(recording.first / case.trace)
