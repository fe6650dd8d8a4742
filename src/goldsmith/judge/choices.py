"""Judge choices that are not gold's: by gold's scores alone, another one is a tie or it is wrong.

What a submission scored plays no part here: it could call everything equal. Its scores are compared as ever.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from goldsmith.comparison.results import Comparison
from goldsmith.foundation.wording import count_of
from goldsmith.frameworks.framework import arrays_of
from goldsmith.gold.arrays import as_numpy, is_array
from goldsmith.gold.choices import (
    BRANCH_PREFIX,
    SCORES_PREFIX,
    WIDTHS_PREFIX,
    Choice,
    Layout,
    Ruling,
    after_change,
    rule,
)
from goldsmith.gold.precision import computed_dtype
from goldsmith.gold.safetensors_reader import Bfloat16
from goldsmith.judge.bounds import spend
from goldsmith.judge.decision import shown_path
from goldsmith.judge.reduced_precision import eps_of
from goldsmith.judge.verdicts import ChoiceVerdict


def judge_choices(
    comparison: Comparison,
    actual: Mapping[str, Any],
    expected: Mapping[str, Any],
    choices: Sequence[Choice],
    arrays: Mapping[str, Any],
    rounded_to: str = "",
) -> tuple[Comparison, tuple[ChoiceVerdict, ...]]:
    """Judge the choices among what was compared: a tie agrees. What has another shape or dtype stays wrong. Where a
    setting rounds to a coarser dtype than gold's, the noise of the scores there is not known, only about how far it
    grows: what would be a tie then is not judged."""
    known = {choice.path: choice for choice in choices}
    leaves, verdicts = list(comparison.leaves), []
    for place, leaf in enumerate(leaves):
        choice = known.get(leaf.path)
        both = (actual.get(leaf.path), expected.get(leaf.path))
        if choice is None or leaf.problem != "values" or not all(map(_is_numeric, both)):
            continue
        if leaf.actual_dtype != leaf.gold_dtype or "int" not in leaf.gold_dtype:
            continue  # another dtype never agrees, and 3.9 is not a choice of 3
        own, theirs = as_numpy(expected[leaf.path]), as_numpy(actual[leaf.path])
        verdict = _judged(choice, own, theirs, arrays, expected, rounded_to)
        verdicts.append(verdict)
        if not verdict.wrong:
            no_difference = {"problem": "", "excess": 0.0, "relative": 0.0, "where": "", "guess": ""}
            leaves[place] = msgspec.structs.replace(leaf, agrees=True, **no_difference)
        elif verdict.index:
            first = {"gold": own[verdict.index].item(), "actual": theirs[verdict.index].item()}
            leaves[place] = msgspec.structs.replace(leaf, index=verdict.index, guess="", **first)
    return Comparison(tuple(leaves)), tuple(verdicts)


def excuse_victims(
    actual: Mapping[str, Any], expected: Mapping[str, Any], choices: Sequence[Choice]
) -> tuple[dict[str, Any], list[str]]:
    """Return what was recorded with gold's scores where a submission's are of another sequence, after another choice;
    and where that is so. That choice is judged by itself: it is a tie, or else wrong."""
    import numpy as np

    found, excused = dict(actual), []
    for choice in choices:
        theirs, scores = actual.get(choice.path), actual.get(choice.scores)
        known = (theirs, scores, expected.get(choice.path), expected.get(choice.scores))
        if choice.steps is None or not choice.positions or not all(map(_is_numeric, known)):
            continue
        assert theirs is not None
        assert scores is not None
        own, own_scores = as_numpy(expected[choice.path]), as_numpy(expected[choice.scores])
        if theirs.shape != own.shape or scores.shape != own_scores.shape or as_numpy(theirs).dtype.kind not in "iu":
            continue
        layout = Layout.of(choice, own.shape, own_scores.shape)
        chosen = [as_numpy(theirs).astype(np.int64), own.astype(np.int64)]
        if choice.unordered and choice.count:  # the same in another order is no other choice
            chosen = [np.sort(item, axis=choice.axis) for item in chosen]
        victims = after_change(layout, chosen[0] - chosen[1])
        if victims.any():
            flat = np.abs(layout.scores(np.arange(own_scores.size).reshape(own_scores.shape)))[victims].astype(np.int64)
            changed = np.array(as_numpy(scores))
            changed.reshape(-1)[flat.ravel()] = own_scores.reshape(-1)[flat.ravel()]
            found[choice.scores] = _like(changed, scores)
            excused.append(choice.scores)
    return found, excused


def without_rerouted(
    comparison: Comparison,
    chosen: Sequence[ChoiceVerdict],
    actual: Mapping[str, Any],
    expected: Mapping[str, Any],
    choices: Sequence[Choice],
) -> dict[str, Any]:
    """Return what differs with gold's rows where a choice is another and a tie: a token that goes to another expert
    comes back otherwise, and nobody is to blame for that."""
    import numpy as np

    found: dict[str, Any] = {}
    ties = {item.path for item in chosen if item.ties and not item.wrong and not item.unjudged}
    for choice in (item for item in choices if item.path in ties and item.steps is None):
        rows = as_numpy(actual[choice.path]) != as_numpy(expected[choice.path])
        rows = rows.any(axis=choice.axis) if choice.count else rows
        for leaf in comparison.differing:
            own, theirs = expected.get(leaf.path), found.get(leaf.path, actual.get(leaf.path))
            has_values = leaf.problem == "values" and leaf.actual_dtype == leaf.gold_dtype and _is_numeric(own)
            has_rows = rows.ndim > 0 and tuple(leaf.gold_shape)[: rows.ndim] == rows.shape
            if has_values and has_rows and leaf.path != choice.scores:
                changed = np.array(as_numpy(theirs))
                changed[rows] = as_numpy(own)[rows]
                found[leaf.path] = _like(changed, theirs)
    return found


def _is_numeric(leaf: Any) -> bool:
    return is_array(leaf) or isinstance(leaf, Bfloat16)


def _like(numbers: Any, template: Any) -> Any:
    """Return numbers in the dtype and library of a template."""
    import numpy as np

    if isinstance(template, Bfloat16):
        return Bfloat16((numbers.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16))
    if isinstance(template, np.ndarray):
        return numbers.astype(template.dtype)
    arrays = arrays_of(template)
    return arrays.cast(arrays.like(numbers, template), arrays.dtype(template))


def _judged(
    choice: Choice, gold: Any, actual: Any, arrays: Mapping[str, Any], expected: Mapping[str, Any], rounded_to: str
) -> ChoiceVerdict:
    known = ChoiceVerdict(path=choice.path, positions=choice.positions, close=choice.close)
    scores = expected.get(choice.scores) if choice.scores else arrays.get(f"{SCORES_PREFIX}{choice.path}")
    widths = arrays.get(f"{WIDTHS_PREFIX}{choice.path}")
    if scores is None or widths is None:
        why = "the noise of its scores is not known here, so it is compared exactly"
        return msgspec.structs.replace(known, wrong=1, why=why)
    numbers = as_numpy(scores)
    layout = Layout.of(choice, gold.shape, numbers.shape)
    own = computed_dtype(numbers.astype("float64"), "float64")  # whatever they are kept in
    coarser = eps_of(rounded_to) / eps_of(own) if rounded_to else 1.0
    is_half = own in ("float16", "bfloat16") and bool(choice.ties)
    return _Walk(layout, layout.scores(numbers), widths, arrays, is_half, coarser).verdict(known, gold, actual)


@dataclass
class _Walk:
    """Goes through the steps of each row, along gold's own choices or, after a tie, what follows it."""

    layout: Layout
    scores: Any
    widths: Any
    arrays: Mapping[str, Any]
    equal_by_rounding: bool = False
    """Whether equal scores may be so by rounding alone, so that a rule for equal ones does not decide."""
    coarser: float = 1.0
    """How many times farther one rounding goes where this ran than where the widths were measured."""
    ties: int = 0
    unjudged: int = 0
    why: str = ""

    def verdict(self, known: ChoiceVerdict, gold: Any, actual: Any) -> ChoiceVerdict:
        import numpy as np

        own, theirs = self.layout.chosen(gold), self.layout.chosen(actual)
        differ = (own != theirs).any(axis=-1)
        places = self.layout.chosen(np.arange(gold.size).reshape(gold.shape))
        if self.layout.choice.together:
            differ = self._until_tie(own, theirs, differ)
        wrong = 0
        first: tuple[tuple[int, ...], str] | None = None
        for row in np.flatnonzero(differ.any(axis=-1)):
            spend()
            found = self._row(int(row), own[row], theirs[row], differ[row])
            if found is not None:
                wrong += 1
                step, why = found
                rank = int(np.flatnonzero(own[row, step] != theirs[row, step])[:1].sum())
                index = np.unravel_index(places[row, step, rank], gold.shape) if gold.shape else ()
                first = first or (tuple(int(place) for place in index), why)
        index, why = first or ((), self.why)
        return msgspec.structs.replace(known, ties=self.ties, wrong=wrong, unjudged=self.unjudged, index=index, why=why)

    def _row(self, row: int, own: Any, theirs: Any, differ: Any) -> tuple[int, str] | None:
        """Return the first step of a row that is wrong, and why."""
        import numpy as np

        lead, choice = self.layout.lead, self.layout.choice
        if differ[:lead].any():
            return int(np.flatnonzero(differ)[0]), "what was given to continue is no longer there"
        along, scores, widths, branch = own, self.scores[row], self.widths[row], -1
        step = lead
        while step < len(theirs):
            if (along[step] == theirs[step]).all() or (choice.together and not differ[step]):
                step += 1
                continue
            at = step - lead
            ruling = self._rule(scores[at], widths[at], along[step], theirs[step])
            if ruling.outcome == "wrong":
                return step, ruling.why
            if ruling.outcome == "unknown":
                self.unjudged += 1
                self.why = self.why or "noise decides what is chosen"
            self.ties += ruling.outcome == "tie"
            on_its_own = choice.steps is not None and not choice.together
            if ruling.outcome != "same" and on_its_own and step + 1 < len(theirs):
                following = self._branch(row, at, theirs[step], branch)
                if following is None:
                    self.unjudged += len(theirs) - step - 1
                    self.why = self.why or "they follow a tie, and what follows is another sequence than gold's"
                    return None
                branch, chosen, scored = following
                along = np.concatenate([theirs[:step], chosen])
                padding = np.zeros((at, scores.shape[-1]))
                finite = self.widths[row][np.isfinite(self.widths[row])]
                scores = np.concatenate([padding, scored])
                widths = np.full(scores.shape, finite.max(initial=0.0))
            step += 1
        return None

    def _rule(self, scores: Any, widths: Any, own: Any, theirs: Any) -> Ruling:
        found = rule(scores, widths, own, theirs, self.layout.choice)
        if found.outcome == "wrong" and self.equal_by_rounding:
            free = rule(scores, widths, own, theirs, msgspec.structs.replace(self.layout.choice, ties=""))
            found = found if free.outcome == "wrong" else Ruling("unknown")
        if found.outcome == "wrong" and self.coarser > 1:
            wider = rule(scores, widths * self.coarser, own, theirs, self.layout.choice)
            return found if wider.outcome == "wrong" else Ruling("unknown")
        return found

    def _until_tie(self, own: Any, theirs: Any, differ: Any) -> Any:
        """Return what differs up to the first step in which something is a tie: what follows depends on that."""
        import numpy as np

        lead, found = self.layout.lead, differ.copy()
        for step in np.flatnonzero(differ[:, lead:].any(axis=0)):
            rows = np.flatnonzero(differ[:, lead + step])
            outcomes = {
                self._rule(
                    self.scores[row, step], self.widths[row, step], own[row, lead + step], theirs[row, lead + step]
                ).outcome
                for row in rows
            }
            rest = own.shape[0] * (own.shape[1] - lead - int(step) - 1)
            if "wrong" not in outcomes and outcomes != {"same"} and rest:
                found[:, lead + step + 1 :] = False
                self.unjudged += rest
                self.why = self.why or "they follow a tie, and what follows is another sequence than gold's"
                break
            if "wrong" in outcomes:
                found[:, lead + step + 1 :] = False
                break
        return found

    def _branch(self, row: int, step: int, chosen: Any, after: int) -> tuple[int, Any, Any] | None:
        for number, branch in enumerate(self.layout.choice.branches):
            if (branch.row, branch.step, branch.after) == (row, step, after) and list(branch.chosen) == chosen.tolist():
                prefix = f"{BRANCH_PREFIX}{self.layout.choice.path}:{number}"
                return number, self.arrays[f"{prefix}:chosen"], self.arrays[f"{prefix}:scores"]
        return None


def choice_notes(
    verdicts: Sequence[ChoiceVerdict], comparison: Comparison, choices: Sequence[Choice], whose: str = "gold's"
) -> list[str]:
    """Say which choices are others than gold's and as right, and what was held to gold's exactly although it may have
    been chosen."""
    known = {choice.path for choice in choices}
    ties = [
        f"{count_of(item.ties, 'choice')} in {shown_path(item.path)} {'is' if item.ties == 1 else 'are'} not {whose} "
        "and as right: rounding moves the scores there by more than they differ "
        f"({item.close} of {item.positions} are so near)"
        for item in verdicts
        if item.ties and not item.wrong
    ]
    return ties + [
        f"{shown_path(leaf.path)} is compared exactly: no scores are known that it was chosen by"
        for leaf in comparison.differing
        if leaf.problem == "values" and leaf.elements > 1 and "int" in leaf.gold_dtype and leaf.path not in known
    ]


def unjudged_reason(verdicts: Sequence[ChoiceVerdict]) -> str:
    """Say of which choices nothing can be said; empty if something can be said of each."""
    return next(
        (
            f"{item.unjudged} of {item.positions} choices in {shown_path(item.path)} are not judged: {item.why}"
            for item in verdicts
            if item.unjudged and not item.wrong
        ),
        "",
    )
