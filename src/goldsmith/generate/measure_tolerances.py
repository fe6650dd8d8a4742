"""The second half of step 6: how far correct work may be from this gold, measured by trials on the solution itself."""

from __future__ import annotations

import os
import platform
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from goldsmith.errors.gold import NotCalibrated, TrialsFailed
from goldsmith.foundation.wording import count_of
from goldsmith.generate.error_mapping import error_of, gravity
from goldsmith.generate.jobs import make_job
from goldsmith.generate.options import Options
from goldsmith.generate.recording import Recording
from goldsmith.gold.advice import Advice
from goldsmith.gold.arrays import difference_of
from goldsmith.gold.calibration import (
    CONTROLS,
    FLOAT32,
    FLOAT64,
    NARROWED,
    NOISE,
    OTHER_SEED,
    Calibrated,
    Trials,
    calibrate,
)
from goldsmith.gold.choices import OF_CHOICES, Choice
from goldsmith.gold.facts import ALLOWED_NOISE, CaseFacts
from goldsmith.gold.files import REFERENCE_SUFFIX, read_arrays, write_arrays
from goldsmith.gold.manifest import Calibration
from goldsmith.gold.tolerances import BLIND, Tolerance, first_jump
from goldsmith.process.fork_client import ForkClient
from goldsmith.process.launcher import Watcher, run_parallel
from goldsmith.process.messages import CALL_NOISE, CHOICES, GOLD, NOTHING, NotedChoices, ReplayJob, TrialFailure
from goldsmith.process.process_exit import ProcessExit
from goldsmith.runs.conditions import Conditions
from goldsmith.targets.target import Target
from goldsmith.workspace.copies import make_workspaces

METHOD = 5
"""Increased whenever trials or arithmetic (`gold/calibration.py`) change. Tolerances of an older method stand until a
case moves."""
SAMPLES, NARROWED_SAMPLES = 12, 3
_TIMEOUT_FACTOR = 20
"""Trials may take this many times as long as the recording did."""
PLAIN_INSTRUCTIONS = {"ATEN_CPU_CAPABILITY": "default", "ONEDNN_MAX_CPU_ISA": "SSE41", "MKL_CBWR": "COMPATIBLE"}
if platform.machine() in ("x86_64", "AMD64"):
    PLAIN_INSTRUCTIONS["OPENBLAS_CORETYPE"] = "Nehalem"
    PLAIN_INSTRUCTIONS["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_cpu_max_isa=SSE4_2".strip()


IN_FLOAT64 = Conditions(name=FLOAT64, precision=FLOAT64, halves=True)
"""How the reference is computed that is kept."""


@dataclass
class Measured:
    """Tolerances by case and path, the noise of submodules and reference files by case, and notes about them."""

    tolerances: dict[str, dict[str, Tolerance]] = field(default_factory=dict)
    call_noise: dict[str, dict[str, float]] = field(default_factory=dict)
    references: dict[str, Path] = field(default_factory=dict)
    choices: dict[str, list[Choice]] = field(default_factory=dict)
    calibration: Calibration | None = None
    why_not: str = "not measured"
    notes: list[str] = field(default_factory=list)
    problems: dict[str, list[str]] = field(default_factory=dict)
    """Why this is not to be gold."""
    waivers: list[str] = field(default_factory=list)
    """The names of the checks that a recipe can waive then."""


def measure(
    target: Target,
    options: Options,
    recordings: Sequence[Recording],
    *,
    written: tuple[str, ...],
    recording_s: float,
    watcher: Watcher,
    fork_server: ForkClient | None = None,
) -> Measured:
    """Measure the tolerances of every recording, by trials on the implementation that made it, and the noise of the
    functions and methods that are `written` by students."""
    found = Measured()
    trials: tuple[str, ...] = ()
    failed: list[str] = []
    advice: list[Advice] = []
    for recording in recordings:
        outcomes = _run_trials(target, options, recording, written, recording_s, watcher, fork_server)
        trials = outcomes.names
        failed += [f"{item.case}: {item.trial}: {item.message.partition(':')[0]}" for item in outcomes.failures]
        for case in recording.cases:
            ran = outcomes.trials[case.definition]
            own = [item for item in outcomes.failures if item.case == case.definition]
            if own and not ran.differences and not ran.float64:
                raise TrialsFailed(target.name, case.name, len(own), own[0].message)
            calibrated = calibrate(case, ran)
            found.tolerances[case.name] = calibrated.tolerances
            found.choices[case.name] = calibrated.choices
            found.call_noise[case.name] = {} if calibrated.unfaithful else outcomes.call_noise[case.definition]
            advice += calibrated.advice
            found.notes += _notes(case, calibrated, own)
            if calibrated.far or calibrated.blind:
                found.problems[case.name] = list(_problems(case, calibrated, found.call_noise[case.name]))
            found.waivers += [FLOAT64] * bool(calibrated.far) + [ALLOWED_NOISE] * bool(calibrated.blind)
            if calibrated.reference:
                found.references[case.name] = recording.first / (case.name + REFERENCE_SUFFIX)
                write_arrays(calibrated.reference, found.references[case.name])
    found.calibration = Calibration(method=METHOD, trials=trials, failed=tuple(failed), advice=tuple(advice))
    return found


def join_calibrations(
    kept: Calibration | None, new: Calibration | None, measured: Collection[str], cases: Collection[str]
) -> Calibration | None:
    """Join what was `measured` now with what was measured before for the other existing `cases`."""
    if kept is None:
        return new
    others = set(cases) - set(measured)
    failed = tuple(text for text in kept.failed if text.partition(":")[0] in others)
    advice = tuple(item for item in kept.advice if item.name.partition(":")[2] in others)
    return Calibration(
        method=new.method if new else kept.method,
        trials=new.trials if new else kept.trials,
        failed=(*failed, *(new.failed if new else ())),
        advice=(*advice, *(new.advice if new else ())),
    )


@dataclass(frozen=True)
class _Outcomes:
    names: tuple[str, ...]
    trials: dict[str, Trials]
    failures: list[TrialFailure]
    call_noise: dict[str, dict[str, float]]


def _run_trials(
    target: Target,
    options: Options,
    recording: Recording,
    written: tuple[str, ...],
    recording_s: float,
    watcher: Watcher,
    fork_server: ForkClient | None,
) -> _Outcomes:
    """Run the trials in two processes at once, one of them with the plainest instructions that the libraries have."""
    plans = list(_plans(options, with_torch=any(case.file.name.endswith(".pt") for case in recording.cases)))
    kept = recording.kept_cases(recording.cases)
    with make_workspaces(target, recording.placed, len(plans)) as workspaces:
        jobs = [
            make_job(
                ReplayJob,
                target,
                workspace,
                options,
                kept=kept,
                trials=plan.trials,
                environment=dict(plan.environment),
                written=written,
            )
            for workspace, plan in zip(workspaces, plans, strict=True)
        ]
        timeout = max(options.timeout, _TIMEOUT_FACTOR * recording_s)
        endings = run_parallel(jobs, timeout=timeout, watcher=watcher, fork_server=fork_server)
        if fork_server is not None and not _used_plain_instructions(endings[1]):
            again = run_parallel(jobs[1:], timeout=timeout, watcher=watcher)
            endings = [endings[0], *again]
        for workspace, ending in sorted(zip(workspaces, endings, strict=True), key=lambda pair: gravity(pair[1])):
            error = error_of(target, workspace, ending, options)
            if error is not None:
                raise NotCalibrated(target.name, str(error))
        folders = [Path(job.output) for job in jobs]
        failures = [item for ending in endings if ending.result for item in ending.result.failed_trials]
        return _Outcomes(
            names=tuple(trial.name for plan in plans for trial in plan.trials),
            trials={name: read_trials(name, folders) for name in kept},
            failures=failures,
            call_noise={name: _call_noise(name, folders) for name in kept},
        )


def _used_plain_instructions(ending: ProcessExit) -> bool:
    """Return whether a child forked from a process with torch could still choose: torch chooses its instructions when
    it first computes something, which that process does not do. Other libraries do not tell, and choose as late."""
    environment = ending.result.environment if ending.result else None
    return environment is None or environment.cpu_capability in (None, "DEFAULT")


@dataclass(frozen=True)
class _Plan:
    trials: tuple[Conditions, ...]
    environment: Mapping[str, str] = field(default_factory=dict)


def _plans(options: Options, with_torch: bool) -> Iterator[_Plan]:
    noise = [Conditions(name=f"{NOISE}{number}", noise=number) for number in range(1, SAMPLES + 1)]
    twins = [Conditions(name=name) for name in CONTROLS]
    twins += [IN_FLOAT64, Conditions(name=OTHER_SEED, reseeded=True)]
    threads = options.threads + 1
    if with_torch:
        twins.append(Conditions(name=f"threads-{threads}", threads=threads))
    else:
        twins += [Conditions(name=FLOAT32, precision="float32"), Conditions(name="columns", columns=True)]
    half = SAMPLES // 2
    narrowed = [
        Conditions(name=f"{NARROWED}{number}", noise=SAMPLES + number, narrowed=True)
        for number in range(1, NARROWED_SAMPLES + 1)
    ]
    yield _Plan((*twins, *noise[:half], *narrowed))
    yield _Plan((Conditions(name="instructions"), *noise[half:]), PLAIN_INSTRUCTIONS)


def read_trials(case: str, folders: Sequence[Path]) -> Trials:
    """Read what the trials of a case left in these folders."""
    gold: dict[str, Any] = {}
    reference: dict[str, Any] = {}
    differences: dict[str, dict[str, Any]] = {}
    for folder in folders:
        for path in sorted((folder / case).glob("*.safetensors")):
            name, arrays = path.stem, read_arrays(path)
            if name == GOLD:
                gold = arrays
            elif name == FLOAT64:
                reference = arrays
            else:
                differences[name] = arrays
    own = {name: array for name, array in differences.get(CONTROLS[0], {}).items() if name.startswith(OF_CHOICES)}
    differences = {trial: _apart(own, item) for trial, item in differences.items()}
    noted = [_choices(folder / case / CHOICES) for folder in folders]
    return Trials({**gold, **own}, differences, reference, noted[0].found, noted[0].branches)


def _apart(own: Mapping[str, Any], item: Mapping[str, Any]) -> dict[str, Any]:
    """Return the differences of a trial. What choices are made from is as it is in its file: it is told by the
    first."""
    found = {name: array for name, array in item.items() if not name.startswith(OF_CHOICES)}
    alike = [name for name in item if name in own and item[name].shape == own[name].shape]
    return found | {name: difference_of(item[name], own[name]) for name in alike}


def _choices(path: Path) -> NotedChoices:
    return msgspec.json.decode(path.read_bytes(), type=NotedChoices) if path.is_file() else NotedChoices()


def _call_noise(case: str, folders: Sequence[Path]) -> dict[str, float]:
    """Return the largest noise of each submodule and function that was seen in any process."""
    found: dict[str, float] = {}
    for path in (folder / case / CALL_NOISE for folder in folders):
        noise = msgspec.json.decode(path.read_bytes(), type=dict[str, float]) if path.is_file() else {}
        found |= {name: max(value, found.get(name, 0.0)) for name, value in noise.items()}
    return found


def _problems(case: CaseFacts, calibrated: Calibrated, call_noise: Mapping[str, float]) -> Iterator[str]:
    for path, far in calibrated.far.items():
        where = f"case {case.name}: {case.label(path)}"
        yield f"{where} is {far:.0%} of its size away from what the solution itself computes in float64"
    for path in calibrated.blind[:1]:
        jump = first_jump(call_noise)
        begins = f" (that begins in {jump}: does a choice there depend on the last bit?)" if jump else ""
        yield (
            f"case {case.name}: rounding alone moves {case.label(path)} by more than {BLIND:.0%} of its size{begins}, "
            "so nothing can be judged by it: choose inputs without near-ties, or record what the choice is made from"
        )


def _notes(case: CaseFacts, calibrated: Calibrated, failures: Sequence[TrialFailure]) -> Iterator[str]:
    if calibrated.unfaithful:
        yield (
            f"case {case.name} comes out differently when it is replayed on its own gold, so its tolerances were not "
            "measured; does it keep something from one run to the next, such as a random generator of its own?"
        )
        return
    for failure in failures:
        if failure.trial == FLOAT64:
            yield f"case {case.name} does not run in float64 ({failure.message}): it is judged in its own dtype"
    others = [item for item in failures if item.trial not in (FLOAT64, FLOAT32)]
    if any(item.message.startswith(NOTHING) for item in others):
        yield f"case {case.name}: no floating-point array goes in that could be disturbed, so nothing was measured"
    elif others:
        first = others[0]
        count = count_of(len(others), "trial")
        yield f"case {case.name}: {count} failed, the first ({first.trial}) with {first.message}"
    unmeasured = [path for path, item in calibrated.tolerances.items() if item.kind == "customary"]
    if unmeasured:
        yield (
            f"case {case.name}: no trial moved {case.label(unmeasured[0])} at all, so no noise was measured; its "
            "tolerance is the customary one"
        )
    if calibrated.untrusted:
        path = case.label(calibrated.untrusted[0])
        yield f"case {case.name}: {path} is something else in float64; it is judged in its own dtype"
