"""What a reference's whole numbers were chosen from, among what its modules returned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from goldsmith.gold.arrays import as_numpy, dtype_name, is_array
from goldsmith.gold.choice_links import as_found, find_links, holds
from goldsmith.gold.choices import SCORES_PREFIX, Choice, Layout
from goldsmith.gold.safetensors_reader import Bfloat16
from goldsmith.judge.traces import Call, calls_in
from goldsmith.runs.implementation import OUTPUT, Implementation
from goldsmith.runs.requests import RunRequest
from goldsmith.runs.run import Run


def scores_in_calls(
    reference: Implementation,
    plain: Run,
    request: RunRequest,
    noisy: Sequence[RunRequest],
    differences: dict[str, Mapping[str, Any]],
) -> tuple[dict[str, Any], tuple[Choice, ...]]:
    """Return the scores that outputs were chosen from, and those choices; add to `differences` how far `noisy` runs
    move them. A link that does not hold in each of those is none."""
    whole = {path: as_numpy(value) for path, value in plain.values.items() if _is_whole(path, value)}
    recorded = {path: as_numpy(value) for path, value in plain.values.items() if _is_inexact(value)}
    known = find_links(whole, recorded) if whole else {}
    whole = {path: item for path, item in whole.items() if path not in known}
    traced = (plain if plain.trace is not None else reference.run(request)) if whole else plain
    if traced.trace is None or not whole:
        return {}, ()
    own = dict(_returned(calls_in(traced.trace)))
    links = find_links(whole, own)
    for number, request in enumerate(noisy if links else ()):
        ran = reference.run(request)
        if ran.facts.failure is None and ran.trace is not None:
            differences[f"traced-{number}"] = dict(_moved(links, whole, own, ran))
    scores = {f"{SCORES_PREFIX}{path}": own[name] for path, (name, _) in links.items()}
    return scores, tuple(as_found(choice, path, "", f"what {name} returned") for path, (name, choice) in links.items())


def _moved(
    links: dict[str, tuple[str, Choice]], whole: Mapping[str, Any], own: Mapping[str, Any], ran: Run
) -> Iterator[tuple[str, Any]]:
    """Yield how far scores moved in a run; drop links that do not hold in it."""
    assert ran.trace is not None
    found = dict(_returned(calls_in(ran.trace)))
    for path, (name, choice) in list(links.items()):
        value = as_numpy(ran.values[path]) if path in ran.values else None
        if (
            value is None
            or name not in found
            or (value.shape, found[name].shape) != (whole[path].shape, own[name].shape)
        ):
            continue
        if holds(Layout.of(choice, value.shape, own[name].shape), value, found[name], own[name]):
            yield f"{SCORES_PREFIX}{path}", found[name] - own[name]
        else:
            del links[path]


def _returned(calls: Sequence[Call]) -> Iterator[tuple[str, Any]]:
    """Yield the floating-point arrays that calls returned, and the last step of each."""
    for number, call in enumerate(calls):
        for place, output in enumerate(call.outputs):
            if _is_inexact(output) and len(output.shape):
                array, name = as_numpy(output), f"{call.label} (call {number + 1}, output {place + 1})"
                yield name, array
                if array.ndim > 2:
                    yield f"{name}, at the last step", array[..., -1, :]


def _is_whole(path: str, value: Any) -> bool:
    own = path.partition(".")[0] == OUTPUT
    return own and is_array(value) and bool(len(value.shape)) and dtype_name(value).startswith(("int", "uint"))


def _is_inexact(value: Any) -> bool:
    return is_array(value) and dtype_name(value).startswith(("float", "bfloat"))


def returned_scores(ran: Run) -> Iterator[tuple[str, Any]]:
    """Yield the floating-point arrays with rows that modules returned in a run, by name."""
    seen: Counter[str] = Counter()
    for call in calls_in(ran.trace) if ran.trace is not None else ():
        for output in call.outputs:
            array = as_scores(output)
            if array is not None and array.ndim > 1:
                seen[call.label] += 1
                yield f"{call.label}{f', number {seen[call.label]}' if seen[call.label] > 1 else ''}", array


def as_scores(value: Any) -> Any:
    """Return floating-point numbers as an array; None for anything else."""
    if isinstance(value, Bfloat16):
        return as_numpy(value).astype("float64")
    return as_numpy(value).astype("float64") if _is_inexact(value) else None
