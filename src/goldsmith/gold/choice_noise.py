"""How near to a tie choices are: by how much the scores they were made from move in the trials of a case."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from goldsmith.gold.advice import Advice
from goldsmith.gold.choice_links import as_found, find_links, holds
from goldsmith.gold.choices import (
    BRANCH_PREFIX,
    SCORES_PREFIX,
    WIDTHS_PREFIX,
    Branch,
    Choice,
    Layout,
    after_change,
    alternatives,
    close_positions,
    widths_of,
)
from goldsmith.gold.facts import CaseFacts
from goldsmith.gold.precision import computed_dtype, unit_of
from goldsmith.gold.tolerances import pin_for

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from goldsmith.gold.calibration import Trials

    Array = npt.NDArray[np.float64]

MAX_SCORES = 2**22
"""Scores that are kept of one choice; of more, it stays exact."""
DECIDED_BY_NOISE = 0.5
"""A choice between scores that noise moves by more than this share of how much all of them vary is made by chance.
Noise in bfloat16 is 0.02 of it, and a tie three times as wide."""


@dataclass
class MeasuredChoices:
    """The choices of a case with their noise, and what is kept of them in its reference file."""

    choices: list[Choice] = field(default_factory=list)
    arrays: dict[str, Any] = field(default_factory=dict)


def measure_choices(case: CaseFacts, trials: Trials) -> MeasuredChoices:
    """Measure the choices that a case declares, and those that are found in what it recorded or called."""
    found = MeasuredChoices()
    for choice in (*case.choices, *_found(case, trials)):
        measured = _measure(choice, trials, found.arrays)
        if measured is not None:
            found.choices.append(measured)
        elif not choice.found:
            found.choices.append(choice)
    return found


def _found(case: CaseFacts, trials: Trials) -> Iterator[Choice]:
    """Yield choices that nobody declared, and that hold in every trial."""
    declared = {choice.path for choice in case.choices} | {choice.scores for choice in case.choices}
    whole, scores = {}, {}
    for leaf in case.file.leaves:
        if not leaf.is_array or leaf.path not in trials.gold or leaf.path in declared:
            continue
        values = trials.gold[leaf.path]
        if leaf.dtype.startswith(("int", "uint")) and pin_for(leaf.path, case.pinned) is None:
            whole[leaf.path] = values.astype("int64")
        elif leaf.is_inexact and values.shape == leaf.shape:
            scores[leaf.path] = values
    linked = find_links(whole, scores)
    for path, (name, choice) in linked.items():
        layout = Layout.of(choice, whole[path].shape, scores[name].shape)
        if all(_holds_in(layout, path, name, trials, trial) for trial in trials.differences.values()):
            yield as_found(choice, path, name, f"what scores {case.label(name)} has")
    for choice in trials.found:
        if choice.path in whole and choice.path not in linked:
            yield choice


def _holds_in(layout: Layout, path: str, name: str, trials: Trials, trial: Mapping[str, Array]) -> bool:
    if path not in trial or name not in trial:
        return True
    value = (trials.gold[path] + trial[path]).astype("int64")
    return holds(layout, value, trials.gold[name] + trial[name], trials.gold[name])


def _measure(choice: Choice, trials: Trials, arrays: dict[str, Any]) -> Choice | None:
    """Return a choice with its noise, and add what is kept of it to `arrays`; None if nothing was measured."""
    import numpy as np

    gold = trials.gold.get(choice.scores or f"{SCORES_PREFIX}{choice.path}")
    value = trials.gold.get(choice.path)
    if gold is None or value is None or not 0 < gold.size <= MAX_SCORES:
        return None
    layout = Layout.of(choice, value.shape, gold.shape)
    scores, chosen = layout.scores(gold), layout.chosen(value)[:, layout.lead :].astype(np.int64)
    largest = np.zeros_like(scores)
    seen = 0
    for _, gaps in _gaps(choice, layout, trials):
        largest, seen = np.maximum(largest, gaps), seen + 1
    if not seen:
        return None
    finite = scores[np.isfinite(scores)]
    widths = widths_of(scores, largest, unit_of(finite, computed_dtype(finite, "float64")))
    widths[widths > DECIDED_BY_NOISE * float(finite.std() if finite.size else 0.0)] = np.inf
    if not largest.any():
        widths[:] = 0.0
    close = close_positions(scores, widths, chosen.shape[-1], choice)
    arrays[f"{WIDTHS_PREFIX}{choice.path}"] = widths.astype(np.float32)
    if not choice.scores:
        arrays[f"{SCORES_PREFIX}{choice.path}"] = gold
    branches = _branches(choice, layout, scores, widths, chosen, trials, arrays)
    return msgspec.structs.replace(choice, positions=close.size, close=int(close.sum()), branches=tuple(branches))


def _gaps(choice: Choice, layout: Layout, trials: Trials) -> Iterator[tuple[str, Array]]:
    """Yield how far the scores moved in each trial. Of a sequence, what follows another choice was scored after
    something else, unless scores are of gold's own choices."""
    import numpy as np

    from goldsmith.gold.calibration import FLOAT32, OTHER_SEED

    name = choice.scores or f"{SCORES_PREFIX}{choice.path}"
    for trial, item in trials.differences.items():
        if name not in item or trial in (FLOAT32, OTHER_SEED):
            continue
        moved = np.abs(np.nan_to_num(layout.scores(item[name]), nan=np.inf, posinf=np.inf, neginf=-np.inf))
        if choice.steps is not None and choice.scores and choice.path in item:
            moved[after_change(layout, item[choice.path])] = 0.0
        yield trial, moved


def without_victims(case: CaseFacts, trials: Trials) -> Mapping[str, Mapping[str, Array]]:
    """Return the differences of trials without those of scores that follow another choice: they say nothing about
    rounding."""
    import numpy as np

    found = {name: dict(item) for name, item in trials.differences.items()}
    for choice in case.choices:
        for item in found.values():
            if choice.steps is None or not choice.scores or choice.scores not in item or choice.path not in item:
                continue
            layout = Layout.of(choice, item[choice.path].shape, item[choice.scores].shape)
            victims = after_change(layout, item[choice.path])
            scores = np.array(item[choice.scores])
            flat = layout.scores(np.arange(scores.size).reshape(scores.shape))
            scores.reshape(-1)[np.abs(flat[victims]).astype(np.int64).ravel()] = 0.0
            item[choice.scores] = scores
    return found


def _branches(
    choice: Choice,
    layout: Layout,
    scores: Array,
    widths: Array,
    chosen: Any,
    trials: Trials,
    arrays: dict[str, Any],
) -> Iterator[Branch]:
    """Yield the branches that begin at a tie, numbered anew, and add what follows them to `arrays`. Their scores are as
    noisy as gold's in the same row at most are."""
    import numpy as np

    numbers: dict[int, int] = {-1: -1}
    followed: dict[int, tuple[Branch, Any, Array]] = {}
    for number, branch in enumerate(trials.branches.get(choice.path, ())):
        prefix = f"{BRANCH_PREFIX}{choice.path}:{number}"
        rest, after = trials.gold.get(f"{prefix}:chosen"), trials.gold.get(f"{prefix}:scores")
        if branch.after not in numbers or rest is None or after is None:
            continue
        if branch.after < 0:
            own, at, width = (
                chosen[branch.row, branch.step],
                scores[branch.row, branch.step],
                widths[branch.row, branch.step],
            )
        else:
            parent, other, parent_scores = followed[branch.after]
            place = branch.step - parent.step
            own, at = other[place].astype(np.int64), parent_scores[place]
            width = np.full(at.shape, _usual_width(widths[branch.row]))
        if branch.chosen not in set(alternatives(at, width, own, choice)):
            continue
        followed[number], numbers[number] = (branch, rest, after), len(numbers) - 1
        kept = f"{BRANCH_PREFIX}{choice.path}:{numbers[number]}"
        arrays[f"{kept}:chosen"], arrays[f"{kept}:scores"] = rest.astype(np.int64), after
        yield msgspec.structs.replace(branch, after=numbers[branch.after])


def _usual_width(widths: Array) -> float:
    """Return the width of ties in scores of which no noise was measured: the largest that was, near them."""
    import numpy as np

    finite = widths[np.isfinite(widths)]
    return float(finite.max(initial=0.0))


def fragile_texts(case: CaseFacts, choices: Sequence[Choice], trials: Trials) -> Iterator[str]:
    """Yield advice on what must be exact and changes with rounding alone, nobody knowing what it was chosen from."""
    from goldsmith.gold.calibration import FLOAT32, OTHER_SEED

    counted = [item for name, item in trials.differences.items() if name not in (FLOAT32, OTHER_SEED)]
    judged = {choice.path for choice in choices if choice.positions}
    for leaf in case.file.leaves:
        if leaf.path not in trials.gold or leaf.is_inexact or leaf.path in judged or pin_for(leaf.path, case.pinned):
            continue
        if any(item[leaf.path].any() for item in counted if leaf.path in item):
            yield (
                f"{case.label(leaf.path)} must be exact but changes with rounding alone, so correct work can fail: "
                "choose inputs without near-ties, or say in case.choice what it is chosen from"
            )


def choice_advice(case: CaseFacts, choices: Sequence[Choice]) -> Iterator[Advice]:
    """Yield advice on choices that rounding alone could make differently."""
    for choice in choices:
        if not choice.close:
            continue
        label, open_ended = case.label(choice.path), choice.steps is not None and len(choice.branches) < choice.close
        yield Advice(
            f"near-tie:{case.name}",
            f"case {case.name}: {choice.close} of {choice.positions} choices in {label} could be another by rounding "
            "alone, and the other counts as right there"
            + ("; what follows it is judged only with case.continues" if open_ended else ""),
        )
        return
