"""Trials of a candidate that agrees as it is written: compiled, and, of a kernel, what users of kernel benchmarks have
found to pass a comparison of outputs. Each has a name.

Runs under other conditions on the same inputs must give the same outputs, those on inputs with structure must agree
with the reference's. What the reference does not stand either is not tried.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Protocol

import msgspec

from goldsmith.errors.base import GoldsmithError
from goldsmith.judge.verdicts import AGREES, DIFFERS, CaseVerdict, gravest
from goldsmith.model_parity.both_sides import BothSides, Inconclusive, Runs
from goldsmith.model_parity.judge import ValueJudge, is_finite
from goldsmith.model_parity.noise import Measured
from goldsmith.runs.conditions import WIDE
from goldsmith.runs.requests import RunRequest

AGAIN: Mapping[str, tuple[Mapping[str, Any], str]] = MappingProxyType(
    {
        "uninitialised memory": ({"memory": "marked"}, "it returns memory that it has not written"),
        "same buffer, new contents": (
            {"before": "same buffer"},
            "it was called before with the same buffer, and what came back is not for its contents now",
        ),
        "eleventh call": ({"before": "ten calls"}, "what its eleventh call returns is not for what it was given"),
    }
)
"""By name, the conditions of a further run on the same inputs, and what it means if it differs."""
COMPILED = "compiled"
PREVIOUS_OUTPUT, OWN_MEMORY, LIBRARIES = "previous output", "memory of its own", "libraries as they were"


class _HasCases(Protocol):
    @property
    def cases(self) -> Sequence[CaseVerdict]: ...


def try_again(
    both: BothSides, judge: ValueJudge, base: RunRequest, runs: Runs, measured: Measured
) -> list[CaseVerdict]:
    """Run the candidate on the same inputs under other conditions, and look at what it has left behind."""
    found, changed = [], list(runs.theirs.facts.changed)
    for name, (changes, meaning) in AGAIN.items():
        asked = base.under(gradients=False, traced=False, **changes)
        mine = both.reference.run(asked)
        if mine.facts.failure is not None or not judge.outputs_agree(runs.mine.values, mine.values, measured):
            what = mine.facts.failure.message if mine.facts.failure is not None else "returns something else"
            both.notes.append(f"not tried: {name}, since the reference itself {what}")
            continue
        ran = both.candidate_run(both.their(asked))
        changed += ran.facts.changed
        if ran.facts.failure is not None:
            found.append(_wrong(name, "raised", f"it fails there: {ran.facts.failure.message}"))
            continue
        verdict = judge.again(name, runs, ran, measured)
        if verdict.outcome == DIFFERS and verdict.kind == "values":
            verdict = msgspec.structs.replace(verdict, reason=meaning)
        found.append(verdict)
        if "before" in changes and changes["before"] == "ten calls":
            again = ran.facts.recycled and not mine.facts.recycled
            reason = "a later call writes over what an earlier one returned" if again else ""
            found.append(_verdict(PREVIOUS_OUTPUT, "recycled", reason))
    shared = [name for name in runs.theirs.facts.shares if name not in runs.mine.facts.shares]
    reason = f"what it returns is memory of its input {', '.join(shared)}, and the reference's is not" if shared else ""
    found.append(_verdict(OWN_MEMORY, "shares", reason))
    changed = [item for item in dict.fromkeys(changed) if item not in runs.mine.facts.changed]
    found.append(_verdict(LIBRARIES, "settings", f"it changes {'; '.join(changed)}" if changed else ""))
    return found


def try_structure(
    both: BothSides, name: str, request: RunRequest, compare: Callable[[], _HasCases]
) -> CaseVerdict | None:
    """Compare both on inputs with structure; None, with a note, where nothing can be said there."""
    try:
        mine = both.reference.run(request)
    except GoldsmithError as problem:  # an assertion on a GPU, after which nothing runs there
        both.notes.append(f"not tried: {name}: {problem.sentence()}")
        return None
    failed = mine.facts.failure is not None
    if failed or not all(is_finite(mine.values[path]) for path in both.pairs.paths):
        why = "fails there" if failed else "returns numbers there that are not finite"
        both.notes.append(f"not tried: {name}, since the reference itself {why}")
        return None
    theirs = both.candidate_run(both.their(request))
    if theirs.facts.failure is not None:
        return _wrong(name, "raised", f"it fails there: {theirs.facts.failure.message}")
    try:
        verdict = msgspec.structs.replace(compare().cases[0], name=name)
    except Inconclusive as problem:
        both.notes.append(f"not decided: {name}: {problem}")
        return None
    if verdict.outcome not in (AGREES, DIFFERS):
        both.notes.append(f"not decided: {name}: {verdict.reason}")
        return None
    return verdict


def try_compiled(
    both: BothSides,
    judge: ValueJudge,
    prefix: str,
    request: RunRequest,
    runs: Runs,
    measured: Measured,
    shared: Callable[[str], bool] | None,
) -> list[CaseVerdict]:
    """Compare the candidate, compiled, with the reference as it is written."""
    asked = request.under(compiled=True)
    ran = both.candidate_run(both.their(asked))
    failure = ran.facts.failure
    if failure is not None and failure.kind == "compiler":
        raise Inconclusive("compiler", f"the candidate cannot be compiled: {failure.message}")
    if failure is not None:
        return [
            _wrong(
                f"{prefix}{COMPILED}", COMPILED, f"it agrees as it is written, and fails compiled: {failure.message}"
            )
        ]
    if not ran.facts.graphs:
        raise Inconclusive(
            "compiler", "nothing of the candidate is compiled: torch.compile finds no operation of torch's"
        )
    wide = None
    for _ in range(2):
        cases = judge.values(f"{prefix}{COMPILED}: ", Runs(runs.mine, ran, wide), measured, shared)
        if wide is not None or runs.wide is None or gravest(case.outcome for case in cases) != DIFFERS:
            break
        exact = both.candidate_run(both.their(asked.under(precision=WIDE, strict=False, lightly=True)))
        if exact.facts.failure is not None or not exact.facts.graphs:
            break
        wide = runs.wide[0], exact
    return [
        msgspec.structs.replace(case, kind=COMPILED, reason=f"it agrees as it is written; compiled, {case.reason}")
        if case.outcome == DIFFERS
        else case
        for case in cases
    ]


def _verdict(name: str, kind: str, reason: str) -> CaseVerdict:
    return _wrong(name, kind, reason) if reason else CaseVerdict(name=name, title="", outcome=AGREES)


def _wrong(name: str, kind: str, reason: str) -> CaseVerdict:
    return CaseVerdict(name=name, title="", outcome=DIFFERS, kind=kind, reason=reason)
