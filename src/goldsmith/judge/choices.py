"""Judge choices that are not gold's: by gold's scores alone, another one is a tie or it is wrong.

What a submission scored plays no part here: it could call everything equal. Its scores are compared as ever. Only where
a rule for equal scores is broken, and its own are not equal there, that is rounding, and not judged.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from goldsmith.comparison.results import Comparison
from goldsmith.gold.arrays import as_numpy, is_numeric, like
from goldsmith.gold.choice_ruling import Ruling, rule
from goldsmith.gold.choices import (
    BRANCH_PREFIX,
    EQUAL_PREFIX,
    SCORES_PREFIX,
    WIDTHS_PREFIX,
    Change,
    Choice,
    Layout,
    after_change,
    best_of,
    joined,
)
from goldsmith.gold.precision import computed_dtype
from goldsmith.judge.bounds import spend
from goldsmith.judge.decision import shown_path
from goldsmith.judge.policy import FINER
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
        if choice is None or leaf.problem != "values" or not all(map(is_numeric, both)):
            continue
        if leaf.actual_dtype != leaf.gold_dtype or "int" not in leaf.gold_dtype:
            continue  # another dtype never agrees, and 3.9 is not a choice of 3
        own, theirs = as_numpy(expected[leaf.path]), as_numpy(actual[leaf.path])
        mine = next((actual.get(it.path) for it in leaves if it.path == choice.scores and it.agrees), None)
        verdict = _judged(choice, own, theirs, arrays, expected, rounded_to, mine)
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
        if choice.steps is None or not choice.positions or not all(map(is_numeric, known)):
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
            found[choice.scores] = like(changed, scores)
            excused.append(choice.scores)
    return found, excused


def changes(
    actual: Mapping[str, Any],
    expected: Mapping[str, Any],
    choices: Sequence[Choice],
    arrays: Mapping[str, Any],
    rounded_to: str = "",
    exact: Mapping[str, Any] | None = None,
) -> list[Change]:
    """List the choices that are others than gold's and not wrong. Of a run in float64, `exact` are the scores there."""
    found = []
    for choice in choices:
        both = (actual.get(choice.path), expected.get(choice.path))
        if not choice.positions or not all(map(is_numeric, both)):
            continue
        theirs, own = (as_numpy(item) for item in both)
        if theirs.shape != own.shape or theirs.dtype.kind not in "iu" or (theirs == own).all():
            continue
        width, scores = f"{WIDTHS_PREFIX}{choice.path}", dict(expected)
        if exact and choice.scores in exact and width in arrays:
            arrays = {**arrays, width: arrays[width] * FINER}
            scores[choice.scores] = exact[choice.scores]
        if _judged(choice, own, theirs, arrays, scores, rounded_to).wrong:
            continue
        change = Change.of(choice, own, theirs)
        found += [change] if change.at.any() else []
    return found


@dataclass(frozen=True)
class Spared:
    """A comparison without what may follow from choices that are others and as right, the verdicts on choices, and what
    was left out: by path, whether that is more than the rows of a tie, in which anything could be wrong."""

    comparison: Comparison
    chosen: tuple[ChoiceVerdict, ...] = ()
    left_out: Mapping[str, bool] = field(default_factory=dict)

    @property
    def seen(self) -> set[str]:
        return {leaf.path for leaf in self.comparison.leaves} - self.left_out.keys()

    @property
    def notes(self) -> list[str]:
        found = []
        for whole, why in (
            (False, " in rows that a tie sends elsewhere"),
            (True, ": a choice that is a tie may lead to it"),
        ):
            paths = [shown_path(path) for path, item in self.left_out.items() if item == whole]
            more = f" (and {len(paths) - 1} more)" if len(paths) > 1 else ""
            found += [f"{path}{more} is not judged{why}" for path in paths[:1]]
        return found

    def doubt(self, wide: Spared | None) -> str:
        """Say what nobody has judged; empty if there is none. Rows that were left out are judged in float64."""
        for path, whole in self.left_out.items():
            if whole:
                return f"{shown_path(path)} differs, and a choice that is a tie may lead to it"
            if wide is None or path not in wide.seen:
                return f"{shown_path(path)} is right but in rows that a tie sends elsewhere"
        return "" if wide is None or not wide.left_out else wide.doubt(None)


def spare_followers(
    judged: Spared,
    changed: Sequence[Change],
    actual: Mapping[str, Any],
    expected: Mapping[str, Any],
    again: Callable[[Mapping[str, Any]], Spared | Comparison],
    whole: Collection[str] = (),
    rowless: Collection[str] = (),
) -> Spared:
    """Compare `again` what differs, with gold's values where it may follow from a `changed` choice: as few of them as
    make it agree. That is nobody's fault, and is not judged. Of what is `rowless`, and of what is judged `whole` in
    float64, it may be all of it: a gradient is there or not."""
    import numpy as np

    comparison, reaches, sure = judged.comparison, dict[str, list[Any]](), dict[str, int]()
    for leaf in comparison.differing if changed else ():
        causes = [item for item in changed if leaf.path not in (item.choice.scores, item.choice.path)]
        alike = leaf.problem == "values" and leaf.actual_dtype == leaf.gold_dtype
        unused = leaf.path in rowless and any(it.get(leaf.path) is None for it in (actual, expected))
        if not causes or not (alike or unused):
            continue
        shape = () if leaf.path in rowless else tuple(leaf.gold_shape)
        both = [item.reaches(shape) for item in causes]
        sure[leaf.path] = min(len(near) for near, _ in both)
        each = [near + far for near, far in both]
        ranks = range(max(map(len, each)))
        reaches[leaf.path] = [joined([item[min(rank, len(item) - 1)] for item in each]) for rank in ranks]
        reaches[leaf.path] += [np.ones((), dtype=bool)] * (leaf.path in whole)
    if not reaches:
        return judged
    found, at = dict(actual), dict.fromkeys(reaches, 0)
    while True:
        for path, rank in at.items():
            rows, found[path] = reaches[path][rank], expected[path]
            if rows.ndim:
                numbers = np.array(as_numpy(actual[path]))
                numbers[rows] = as_numpy(expected[path])[rows]
                found[path] = like(numbers, actual[path])
        said = again(found)
        now, verdicts = (said.comparison, said.chosen) if isinstance(said, Spared) else (said, ())
        wrong = [path for path in at if not next(leaf.agrees for leaf in now.leaves if leaf.path == path)]
        for path in wrong:
            at[path] += 1
        lost = {path for path in wrong if at[path] == len(reaches[path])}
        at = {path: rank for path, rank in at.items() if path not in lost}
        found |= {path: actual[path] for path in lost}
        if not wrong or not at:
            break
    own = {leaf.path: leaf for leaf in comparison.leaves}
    leaves = tuple(leaf if leaf.path in at else own[leaf.path] for leaf in now.leaves)
    before = {item.path: item for item in judged.chosen}
    kept = (item for item in verdicts if item.path in at)
    return Spared(
        Comparison(leaves),
        tuple({**before, **{item.path: item for item in kept}}[path] for path in before),
        {path: rank >= sure[path] for path, rank in at.items()},
    )


Arrays = Mapping[str, Any]
Sides = tuple[Mapping[str, Any], Mapping[str, Any], Sequence[Choice], Mapping[str, Any], str]
"""A submission's values, gold's, its choices and what is kept of them, and the coarser dtype of a setting."""


def judge_and_spare(
    comparison: Comparison,
    sides: Sides,
    compare: Callable[[Mapping[str, Any]], Comparison],
    whole: Collection[str] = (),
    rowless: Collection[str] = (),
) -> Spared:
    """Judge choices and spare what follows them; `compare` compares other values than the submission's with gold's."""

    def judged(comparison: Comparison, actual: Mapping[str, Any]) -> Spared:
        return Spared(*judge_choices(comparison, actual, *sides[1:]))

    found = judged(comparison, sides[0])
    changed = () if found.comparison.agrees else changes(*sides)
    return spare_followers(
        found, changed, sides[0], sides[1], lambda it: judged(compare(it), it), whole=whole, rowless=rowless
    )


def _judged(
    choice: Choice, gold: Any, actual: Any, arrays: Arrays, expected: Arrays, rounded_to: str, mine: Any = None
) -> ChoiceVerdict:
    import numpy as np

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
    rows = layout.scores(numbers)
    equal = arrays.get(f"{EQUAL_PREFIX}{choice.path}", np.zeros(rows.shape, np.int64)) if choice.told_apart else None
    is_half = own in ("float16", "bfloat16")
    count = layout.chosen(gold).shape[-1]
    mine = best_of(layout.scores(as_numpy(mine)), count, choice.ties) if mine is not None and choice.ties else None
    return _Walk(layout, rows, widths, arrays, equal, is_half, coarser, mine).verdict(known, gold, actual)


@dataclass
class _Walk:
    """Goes through the steps of each row, along gold's own choices or, after a tie, what follows it."""

    layout: Layout
    scores: Any
    widths: Any
    arrays: Mapping[str, Any]
    equal: Any = None
    """By number which of equal scores are equal by more than rounding; None if that is not known."""
    is_half: bool = False
    """Whether equal scores may be so by rounding alone where that is not known: a rule for equal ones decides nothing
    then."""
    coarser: float = 1.0
    """How many times farther one rounding goes where this ran than where the widths were measured."""
    mine: Any = None
    """What the submission's own scores name, if they are gold's but for noise, which may part equal ones."""
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
            equal = self.equal[row, at] if self.equal is not None and branch < 0 else None
            mine = self.mine[row, at] if self.mine is not None and branch < 0 else None
            ruling = self._rule(scores[at], widths[at], along[step], theirs[step], equal, mine)
            if ruling.outcome == "wrong":
                return step, ruling.why
            if ruling.outcome == "unknown":
                self.unjudged += 1
                self.why = self.why or ruling.why or "noise decides what is chosen"
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

    def _rule(self, scores: Any, widths: Any, own: Any, theirs: Any, equal: Any = None, mine: Any = None) -> Ruling:
        choice = self.layout.choice
        found = rule(scores, widths, own, theirs, choice, equal)
        is_doubtful = bool(choice.found) or (self.is_half and equal is None)
        if found.outcome == "wrong" and mine is not None:
            is_doubtful |= rule(scores, widths, mine, theirs, choice).outcome == "same"
        if found.outcome == "wrong" and choice.ties and is_doubtful:
            free = rule(scores, widths, own, theirs, msgspec.structs.replace(choice, ties=""))
            why = f"{found.why}, if that is meant" if choice.found else ""
            found = found if free.outcome == "wrong" else Ruling("unknown", why)
        if found.outcome == "wrong" and self.coarser > 1:
            wider = rule(scores, widths * self.coarser, own, theirs, choice, equal)
            return found if wider.outcome == "wrong" else Ruling("unknown")
        return found

    def _until_tie(self, own: Any, theirs: Any, differ: Any) -> Any:
        """Return what differs up to the first step in which something is a tie: what follows depends on that."""
        import numpy as np

        lead, found = self.layout.lead, differ.copy()
        for step in np.flatnonzero(differ[:, lead:].any(axis=0)):
            rows = np.flatnonzero(differ[:, lead + step])
            equal = [None] * len(own) if self.equal is None else self.equal[:, step]
            at = lead + int(step)
            outcomes = {
                self._rule(
                    self.scores[row, step], self.widths[row, step], own[row, at], theirs[row, at], equal[row]
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
