"""Run what it takes to find out which part is to blame: operations' outputs, and single calls on gold's own inputs."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from goldsmith.check.replay_workspace import ReplayWorkspace
from goldsmith.errors.base import GoldsmithError
from goldsmith.judge.attribution import Attribution
from goldsmith.judge.evidence import Evidence
from goldsmith.judge.localisation import Isolate, IsolatedResult
from goldsmith.judge.trace_pairs import TracePair
from goldsmith.judge.traces import Call, as_numbers
from goldsmith.judge.verdicts import CaseVerdict
from goldsmith.runs.conditions import OP_OUTPUTS
from goldsmith.runs.requests import IsolatedCall
from goldsmith.runs.run import CaseRuns, Run

_AS_GIVEN = ("0", "2")
"""The calls that count, by number, of the three that `worker/isolated_calls.py` makes. The one between them is given
other values: what keeps something of a call, such as a cache that is never emptied, answers the third otherwise than
the first."""


def attribute(
    workspace: ReplayWorkspace,
    folder: Path,
    verdicts: Mapping[str, CaseVerdict],
    replays: Mapping[str, CaseRuns],
    layouts: Mapping[str, str],
    evidence: Evidence | None = None,
) -> dict[str, CaseVerdict]:
    """Add to failing verdicts what is known about their calls, and which goes wrong first. If that fails, the verdicts
    stay as they are."""
    found = Attribution(workspace.golds, folder, verdicts, replays)
    isolate = isolated_by(workspace, layouts)
    try:
        if evidence is not None:
            for name, pair in found.pairs.items():
                evidence.add_calls(name, pair, workspace.golds[name].entry)
        # in a fresh worker, which has not seen any of gold's intermediate values
        tapped = workspace.run(dict.fromkeys(found.ports, (OP_OUTPUTS,)), layouts)
        op_outputs = {name: list(_arrays(runs.runs["op_outputs"]).values()) for name, runs in tapped.items()}
        with workspace.one_worker():
            alone = found.run_alone(isolate)
        with workspace.one_worker():
            judged = found.judge_calls(alone, op_outputs, isolate)
        return found.attributed(judged, alone)
    except (GoldsmithError, OSError):
        raise
    except Exception as error:  # a bug of ours, perhaps provoked by a child's files: its text may be forged
        return found.unattributed(error)


def isolated_by(workspace: ReplayWorkspace, layouts: Mapping[str, str]) -> Isolate:
    """Return what makes single calls with the submission in a workspace."""
    return functools.partial(_run, workspace, layouts)


def _run(
    workspace: ReplayWorkspace, layouts: Mapping[str, str], pair: TracePair, call: Call, *, gradients: bool = False
) -> IsolatedResult | None:
    inputs = {str(index): tensor for index, tensor in enumerate(call.inputs)}
    state = call.state or {}
    item = IsolatedCall(
        model=call.model,
        module=pair.names.get(call.model, {}).get(call.module, call.module),
        function=call.function,
        form=call.form,
        training=call.training,
        state=tuple(state),
        bfloat16=tuple(sorted(call.bfloat16)),
        gradients=gradients,
    )
    given = inputs | {f"state.{name}": tensor for name, tensor in state.items()}
    run = workspace.run_module(pair.case, item, given, layouts.get(pair.case, ""))
    failure = run.failure
    if failure is not None:  # only a course could ask for a function: another implementation need not have it
        lacks = workspace.workspace.in_place and failure.kind == "import"
        return None if lacks else IsolatedResult(failure=failure)
    arrays = {name: as_numbers(value) for name, value in _arrays(run).items()}
    plain = {name: value for name, value in run.values.items() if name not in arrays}
    passed = {name.partition(".")[2]: value for name, value in arrays.items() if name.startswith("gradient.")}
    calls = tuple(_answer(arrays, plain, number, call) for number in _AS_GIVEN)
    return IsolatedResult(calls, passed, classes=run.facts.modules.get(call.model, ()))


def _arrays(run: Run) -> dict[str, Any]:
    return {name: value for name, value in run.values.items() if hasattr(value, "shape")}


def _answer(arrays: Mapping[str, Any], plain: Mapping[str, Any], number: str, call: Call) -> Call:
    """Return gold's call with the answer that was given the time `number`."""
    mine = {name.partition(".")[2]: value for name, value in arrays.items() if name.partition(".")[0] == number}
    outputs = tuple(value for name, value in mine.items() if not name.startswith("after."))
    after = {name.removeprefix("after."): value for name, value in mine.items() if name.startswith("after.")}
    values = [value for name, value in plain.items() if name.partition(".")[0] == number]
    return dataclasses.replace(call, outputs=outputs, after=after, returned=values or None)
