"""How near to a tie choices are: by how much the scores they were made from move in the trials of a case."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from goldsmith.gold.advice import Advice
from goldsmith.gold.choice_links import as_found, find_links, holds
from goldsmith.gold.choice_ruling import decided_by_noise, rule
from goldsmith.gold.choices import (
    BRANCH_PREFIX,
    EQUAL_PREFIX,
    SCORES_PREFIX,
    WIDTHS_PREFIX,
    Branch,
    Change,
    Choice,
    Layout,
    Ties,
    after_change,
    alternatives,
    best_of,
    close_positions,
    widths_of,
)
from goldsmith.gold.facts import CaseFacts
from goldsmith.gold.precision import computed_dtype, unit_of
from goldsmith.gold.tolerances import DWARFS, pin_for

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from goldsmith.gold.calibration import Trials

    Array = npt.NDArray[np.float64]

MAX_SCORES = 2**22
"""Scores that are kept of one choice; of more, it stays exact."""
_SAME_IN_FLOAT64 = 2.0**-46
"""Scores are equal in float64 if they are nearer than this share of the largest near them: sums of the same numbers in
another order are."""


@dataclass
class MeasuredChoices:
    """The choices of a case with their noise, and what is kept of them in its reference file."""

    choices: list[Choice] = field(default_factory=list)
    arrays: dict[str, Any] = field(default_factory=dict)


def measure_choices(case: CaseFacts, trials: Trials) -> MeasuredChoices:
    """Measure the choices that a case declares, and those that are found in what it recorded or called."""
    found = MeasuredChoices()
    for choice in (*case.choices, *_found(case, trials)):
        measured = _measure(case, choice, trials, found.arrays)
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


def _measure(case: CaseFacts, choice: Choice, trials: Trials, arrays: dict[str, Any]) -> Choice | None:
    """Return a choice with its noise, and add what is kept of it to `arrays`; None if nothing was measured."""
    import numpy as np

    gold = trials.gold.get(choice.scores or f"{SCORES_PREFIX}{choice.path}")
    value = trials.gold.get(choice.path)
    if gold is None or value is None or not 0 < gold.size <= MAX_SCORES:
        return None
    if not _has_noise(case, choice, gold, trials):
        return None
    layout = Layout.of(choice, value.shape, gold.shape)
    scores, chosen = layout.scores(gold), layout.chosen(value)[:, layout.lead :].astype(np.int64)
    equal = _equal(choice, layout, scores, trials) if choice.ties or choice.found else None
    if choice.found and equal is not None:
        choice = msgspec.structs.replace(choice, ties=_rule_followed(layout, scores, chosen, equal, trials))
        layout = Layout.of(choice, value.shape, gold.shape)
    largest = np.zeros_like(scores)
    for _, gaps in _gaps(choice, layout, trials):
        largest = np.maximum(largest, gaps)
    finite = scores[np.isfinite(scores)]
    widths = widths_of(scores, largest, unit_of(finite, computed_dtype(finite, "float64")))
    widths[decided_by_noise(scores, widths)] = np.inf
    if not largest.any():
        widths[:] = 0.0
    close = close_positions(scores, widths, chosen.shape[-1], choice, equal)
    arrays[f"{WIDTHS_PREFIX}{choice.path}"] = widths.astype(np.float32)
    if not choice.scores:
        arrays[f"{SCORES_PREFIX}{choice.path}"] = gold
    if choice.ties and equal is not None and equal.any():
        arrays[f"{EQUAL_PREFIX}{choice.path}"] = equal.astype(np.int32)
    branches = _branches(choice, layout, scores, widths, chosen, trials, arrays)
    return msgspec.structs.replace(
        choice,
        positions=close.size,
        close=int(close.sum()),
        branches=tuple(branches),
        told_apart=bool(choice.ties) and equal is not None,
    )


def _has_noise(case: CaseFacts, choice: Choice, scores: Any, trials: Trials) -> bool:
    """Say whether the noise of scores is known: it was tried, or they are counts, by their dtype, and nothing that goes
    in can be disturbed."""
    from goldsmith.gold.calibration import FLOAT32, NOISE, OTHER_SEED

    if any(name.startswith(NOISE) for name in trials.differences):
        name = choice.scores or f"{SCORES_PREFIX}{choice.path}"
        return any(name in item for trial, item in trials.differences.items() if trial not in (FLOAT32, OTHER_SEED))
    leaf = next((leaf for leaf in case.file.leaves if leaf.path == choice.scores), None)
    dtype = leaf.dtype if leaf is not None else str(scores.dtype)
    return not choice.found and dtype.startswith(("int", "uint"))


def _equal(choice: Choice, layout: Layout, scores: Array, trials: Trials) -> Any:
    """Return by number which of equal scores are equal by more than rounding: in float64, and in every trial without
    noise, which tells apart what is the same. None if nothing tells. All are 0 if no others are equal."""
    import numpy as np

    from goldsmith.gold.calibration import FLOAT32, NARROWED, NOISE, OTHER_SEED

    name = choice.scores or f"{SCORES_PREFIX}{choice.path}"
    found = np.zeros(scores.shape, dtype=np.int64)
    ordered = np.sort(scores, axis=-1)
    tied = np.argwhere((ordered[..., 1:] == ordered[..., :-1]).any(axis=-1))
    if name not in trials.float64:
        moved = any(item[name].any() for item in trials.differences.values() if name in item)
        return None if moved or unit_of(scores[np.isfinite(scores)], "float64") else found  # counts, and such numbers
    exact = layout.scores(trials.float64[name])
    value = trials.float64.get(choice.path)
    own = trials.gold[choice.path]
    other = (
        after_change(layout, value - own) if choice.steps is not None and choice.scores and value is not None else None
    )
    calm = [
        layout.scores(item[name])
        for trial, item in trials.differences.items()
        if name in item and not trial.startswith((NOISE, NARROWED)) and trial not in (FLOAT32, OTHER_SEED)
    ]
    for at in map(tuple, tied):
        if other is not None and other[at]:
            found[at] = np.arange(scores.shape[-1])  # float64 has chosen otherwise before, and tells nothing
            continue
        near = exact[at]
        order = np.argsort(near, kind="stable")
        ranked = near[order]
        with np.errstate(invalid="ignore"):
            apart = ~(np.diff(ranked) <= _SAME_IN_FLOAT64 * _sizes_near(ranked)) & (ranked[1:] != ranked[:-1])
        numbers = np.empty(len(near), dtype=np.int64)
        numbers[order] = np.concatenate([[0], np.cumsum(apart)])
        seen = np.stack([scores[at], numbers, *(item[at] for item in calm)], axis=-1)
        first: dict[bytes, int] = {}
        whole = np.array([first.setdefault(line.tobytes(), number) for number, line in enumerate(seen + 0.0)])
        _, plain = np.unique(scores[at], return_inverse=True)
        if len(set(whole.tolist())) > plain.max() + 1:
            found[at] = whole
    return found


def _sizes_near(ranked: Array) -> Array:
    """Return of each two neighbours how large scores are there: the largest of all that dwarfs neither them nor the
    usual one, so that a mask says nothing, and terms that cancel do."""
    import numpy as np

    sizes = np.unique(np.abs(ranked[np.isfinite(ranked)]))
    if not sizes.size:
        return np.zeros(len(ranked) - 1)
    both = np.maximum(np.maximum(np.abs(ranked[1:]), np.abs(ranked[:-1])), sizes[(len(sizes) - 1) // 2])
    return np.asarray(sizes[np.maximum(np.searchsorted(sizes, DWARFS * both, side="right") - 1, 0)])


def _rule_followed(layout: Layout, scores: Array, chosen: Any, equal: Any, trials: Trials) -> Ties:
    """Return which of equal scores the solution chooses wherever there are any, in gold and in each trial; empty if
    there are none, or it follows no such rule."""
    import numpy as np

    choice = layout.choice
    name, runs = choice.scores or f"{SCORES_PREFIX}{choice.path}", [(scores, chosen, equal)]
    for item in trials.differences.values():
        if name in item and choice.path in item:
            value = (trials.gold[choice.path] + item[choice.path]).astype(np.int64)
            moved = layout.scores(trials.gold[name] + item[name])
            runs.append((moved, layout.chosen(value)[:, layout.lead :], np.zeros(equal.shape, np.int64)))
    left: set[Ties] = {"first", "last"}
    tied = False
    for rows, picked, numbers in runs:
        ranked = -np.sort(-rows, axis=-1)[..., : picked.shape[-1] + 1]
        for at in map(tuple, np.argwhere((ranked[..., 1:] == ranked[..., :-1]).any(axis=-1))):
            for ties in tuple(left):
                strict = msgspec.structs.replace(choice, ties=ties)
                right = best_of(rows[at], picked.shape[-1], ties)
                said = rule(rows[at], np.zeros(rows.shape[-1]), right, picked[at], strict, numbers[at])
                left -= {ties} if said.outcome != "same" else set()
            tied = tied or (numbers is equal and _share_a_number(rows[at], ranked[at], numbers[at]))
    return next(iter(left)) if tied and len(left) == 1 else ""


def _share_a_number(scores: Array, ranked: Array, equal: Any) -> bool:
    """Say whether two that are chosen between are equal by more than rounding."""

    return any(
        len(numbers) > len(set(numbers))
        for numbers in (equal[scores == value].tolist() for value in ranked[:-1][ranked[1:] == ranked[:-1]])
    )


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


def exact_values(choices: Sequence[Choice], arrays: Mapping[str, Any], trials: Trials) -> dict[str, Array]:
    """Return the values in float64, with gold's where they follow from a choice that is a tie and another one there:
    that they are far apart says nothing against gold."""
    import numpy as np

    found = dict(trials.float64)
    for change in _changed_in_float64(choices, arrays, trials):
        for path in (path for path in found if path in trials.gold):
            follows = path != change.choice.scores or change.choice.steps is not None
            if follows and np.shape(found[path]) == trials.gold[path].shape:
                _, (rows,) = change.reaches(np.shape(found[path]))
                found[path] = np.where(_widened(rows, found[path]), trials.gold[path], found[path])
    return found


def _widened(rows: Any, values: Array) -> Any:
    return rows.reshape(rows.shape + (1,) * (values.ndim - rows.ndim))


def _changed_in_float64(choices: Sequence[Choice], arrays: Mapping[str, Any], trials: Trials) -> Iterator[Change]:
    """Yield the choices that are others in float64, all of them ties."""
    import numpy as np

    for choice in choices:
        value, gold = trials.float64.get(choice.path), trials.gold.get(choice.path)
        scores, widths = (
            source.get(name)
            for source, name in (
                (trials.gold, choice.scores or f"{SCORES_PREFIX}{choice.path}"),
                (arrays, f"{WIDTHS_PREFIX}{choice.path}"),
            )
        )
        if value is None or gold is None or scores is None or widths is None or np.shape(value) != gold.shape:
            continue
        layout = Layout.of(choice, gold.shape, scores.shape)
        rows, wide = layout.scores(scores), np.asarray(widths, np.float64)
        own, other = (layout.chosen(item)[:, layout.lead :].astype(np.int64) for item in (gold, value))
        first = ~after_change(layout, value - gold) & (own != other).any(axis=-1)
        found = {rule(rows[at], wide[at], own[at], other[at], choice).outcome for at in map(tuple, np.argwhere(first))}
        if found and "wrong" not in found:
            yield Change.of(choice, gold, value)


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
