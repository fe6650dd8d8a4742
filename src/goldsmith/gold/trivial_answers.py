"""Find hollow records: those that an effortless answer would pass as, within the tolerance.

A case that zeros, a constant, its own input or its initial weights would pass says nothing about anyone's work. A
record that another recorded value would pass as, its twin, may be hollow but need not be (a cache must change nothing).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from goldsmith.gold.advice import Advice
from goldsmith.gold.arrays import as_numpy, is_array, judged_part, leaves_of, numbers_of
from goldsmith.gold.facts import is_allowed, withheld_paths
from goldsmith.gold.load import GoldCase
from goldsmith.gold.manifest import TensorEntry
from goldsmith.gold.tolerances import Tolerance, tolerance_ratio

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[np.float64]

_ALLOWED = ("hollow", "constant")
_ALIKE = 0.1
"""Two tensors whose smallest, largest or mean elements differ by more than this, over their size, are not compared."""


@dataclass(frozen=True)
class TrivialPass:
    """A record that `answer` would pass as; `whole` if that is true of every record of its case. If `twin`, the answer
    is another recorded value."""

    case: str
    record: str
    answer: str
    whole: bool = False
    twin: bool = False


def find_hollow(cases: Sequence[GoldCase]) -> list[TrivialPass]:
    """List every record that a hollow answer passes as, unless its recipe allows that with a reason; then at most one
    twin for each case without such records."""
    known = [_Known(case) for case in cases if not case.entry.variant]
    found: list[TrivialPass] = []
    twins: list[TrivialPass] = []
    for number, item in enumerate(known):
        answers = {record: item.hollow(paths) for record, paths in item.records.items() if item.tells(paths)}
        hollow = {record: answer for record, answer in answers.items() if answer and not item.allows(record)}
        whole = bool(hollow) and all(answers.values())
        found += [TrivialPass(item.case.name, item.label(record), answer, whole) for record, answer in hollow.items()]
        if not hollow:
            twins += list(item.twins(known[:number]))[:1]
    return [*found, *twins]


def hollow_paths(case: GoldCase) -> list[str]:
    """List the recorded values of a case that take no work to get right: those that a hollow answer passes as, flags,
    zero, None, and arrays without elements."""
    known = _Known(case)
    telling = known.tells(list(known.leaves))
    return [
        path for path, leaf in known.leaves.items() if path not in telling or known.hollow([path]) or _is_free(leaf)
    ]


def is_hollow(case: GoldCase) -> bool:
    """Return whether all of a case's recorded values take no work to get right."""
    return set(hollow_paths(case)) >= judged_part(case.data).keys()


def passing_answers(case: GoldCase, limits: Mapping[str, Tolerance], others: Sequence[GoldCase]) -> dict[str, str]:
    """Return what would pass under these `limits` without any work, by path: what would pass under gold's own, too, is
    told when gold is made. Tried are zeros, the mean, inputs, initial weights, noise of the right size, what the case
    recorded before, and the gold of `others`."""
    known = _Known(case)
    more = [(f"{item.entry.label(path)} of case {item.name}", leaf) for item in others for path, leaf in _arrays(item)]
    found: dict[str, str] = {}
    for path, limit in limits.items():
        gold, own = known.numbers(path)
        if gold is None or own is None:
            continue
        own_records = [(case.entry.label(other), leaf) for other, leaf in known.leaves.items() if other != path]
        reference = _numbers(case.reference[path]) if path in case.reference else gold
        answers = [*known.answers(path, gold), *_noise_like(gold)]
        answers += [(name, _numbers(leaf)) for name, leaf in (*own_records, *more) if _has_shape(leaf, gold)]
        for name, answer in answers:
            if known.passes(path, reference, answer, limit) and not known.passes(path, gold, answer, own):
                found[path] = name
                break
    return found


def _arrays(case: GoldCase) -> Iterator[tuple[str, Any]]:
    return ((path, leaf) for path, leaf in judged_part(case.data).items() if is_array(leaf))


def _has_shape(leaf: Any, gold: Array) -> bool:
    return is_array(leaf) and tuple(leaf.shape) == gold.shape


def _numbers(leaf: Any) -> Array:
    """Return a leaf as `numbers_of` does; whole numbers that float64 does not hold as two parts that it does."""
    array = as_numpy(leaf)
    if array.dtype.kind not in "iu" or array.size < 2 or max(abs(int(array.min())), abs(int(array.max()))) <= 2**53:
        return np.asarray(numbers_of(leaf))
    return np.stack([array >> 32, array & (2**32 - 1)], axis=-1).astype(np.float64)


def _noise_like(gold: Array) -> Iterator[tuple[str, Array]]:
    """Yield random numbers with the mean and the spread of gold's."""
    drawn = np.random.default_rng(0).standard_normal(gold.shape)
    yield "noise of its size", gold.mean() + gold.std() * drawn


def _is_free(leaf: object) -> bool:
    if is_array(leaf):
        numbers = _numbers(leaf)
        return numbers.size == 1 and not numbers.any()
    return isinstance(leaf, bool) or (isinstance(leaf, int | float) and leaf == 0)


class _Known:
    """One case, with its judged leaves by the record that they belong to."""

    def __init__(self, case: GoldCase) -> None:
        self.case = case
        self.leaves = judged_part(case.data)
        self.entries: dict[str, TensorEntry] = {item.path: item for item in case.entry.tensors}
        self.label = case.entry.label
        self.withheld = withheld_paths(case.entry, case.entry.weights)
        self.records: dict[str, list[str]] = {}
        for path in self.leaves:
            self.records.setdefault(case.entry.item_path(path), []).append(path)

    def allows(self, record: str) -> bool:
        return any(is_allowed(self.case.entry.allowed, record, check) for check in _ALLOWED)

    def hollow(self, paths: Sequence[str]) -> str:
        """Return the first leaf's hollow answer if every leaf of a record has one, else ""."""
        answers = [self._hollow_leaf(path) for path in self.tells(paths)]
        return answers[0] if all(answers) else ""

    def tells(self, paths: Sequence[str]) -> list[str]:
        """Return the paths that say something about a record: all but None and arrays without elements."""
        leaves = {path: self.leaves[path] for path in paths}
        return [path for path, leaf in leaves.items() if leaf is not None and not (is_array(leaf) and 0 in leaf.shape)]

    def _hollow_leaf(self, path: str) -> str:
        gold, tolerance = self.numbers(path)
        if gold is None or tolerance is None:
            return ""
        return next(
            (name for name, answer in self.answers(path, gold) if self.passes(path, gold, answer, tolerance)), ""
        )

    def numbers(self, path: str) -> tuple[Array | None, Tolerance | None]:
        """Return a leaf of several finite numbers and its tolerance. A single number, such as a count or a flag, is
        constant by nature."""
        leaf, entry = self.leaves[path], self.entries.get(path)
        if not is_array(leaf) or entry is None:
            return None, None
        gold = _numbers(leaf)
        return (gold, entry.tolerance) if gold.size > 1 and bool(np.isfinite(gold).all()) else (None, None)

    def passes(self, path: str, gold: Array, answer: Array, tolerance: Tolerance) -> bool:
        """Say whether an answer is within a tolerance of gold's."""
        if answer.shape != gold.shape or not np.isfinite(answer).all():
            return False
        noisy = self.case.noisy.get(path)
        marks = noisy if noisy is not None and noisy.shape == gold.shape else None
        return tolerance_ratio(tolerance, answer - gold, gold, marks) <= 1

    def answers(self, path: str, gold: Array) -> Iterator[tuple[str, Array]]:
        """Yield what takes no work to return."""
        yield "zeros", np.zeros_like(gold)
        yield "a constant", np.full_like(gold, gold.mean())
        for name, leaf in leaves_of({"input": self.case.data.get("input")}).items():
            if is_array(leaf):
                yield f"its {name.replace('.', ' ', 1)}", _numbers(leaf)
        for name, leaf in leaves_of({"state_dict": self.case.data.get("state_dict")}).items():
            if is_array(leaf) and path.endswith(f".{name.partition('.')[2]}") and name not in self.withheld:
                yield "the weights that it starts from", _numbers(leaf)

    def twins(self, before: Sequence[_Known]) -> Iterator[TrivialPass]:
        """Yield records that an earlier one of their case passes as, and a case all of whose records have twins in
        earlier cases."""
        telling = [record for record, paths in self.records.items() if self.tells(paths) and not self.allows(record)]
        for number, record in enumerate(telling):
            for other in telling[:number]:
                if self._are_twins(record, self, other):
                    yield TrivialPass(self.case.name, self.label(record), self.label(other), twin=True)
        found = [self._twin_of(record, before) for record in telling]
        if found and all(found):
            yield TrivialPass(self.case.name, self.label(telling[0]), found[0], twin=True)

    def _twin_of(self, record: str, before: Sequence[_Known]) -> str:
        others = ((item, other) for item in before for other in item.records)
        twins = (pair for pair in others if self._are_twins(record, *pair))
        return next((f"{item.label(other)} of case {item.case.name}" for item, other in twins), "")

    def _are_twins(self, record: str, item: _Known, other: str) -> bool:
        mine, theirs = self.tells(self.records[record]), item.tells(item.records[other])
        return len(mine) == len(theirs) and all(self._is_twin(*pair, item) for pair in zip(mine, theirs, strict=True))

    def _is_twin(self, path: str, its: str, other: _Known) -> bool:
        mine, theirs = self.entries.get(path), other.entries.get(its)
        if mine is None or theirs is None or mine.shape != theirs.shape or not _are_alike(mine, theirs):
            return False
        gold, tolerance = self.numbers(path)
        leaf = other.leaves[its]
        if gold is None or tolerance is None or not is_array(leaf):
            return False
        return self.passes(path, gold, _numbers(leaf), tolerance)


def _are_alike(one: TensorEntry, two: TensorEntry) -> bool:
    sizes = [abs(value) for item in (one, two) for value in (item.min, item.max) if value is not None]
    pairs = ((one.min, two.min), (one.max, two.max), (one.mean, two.mean))
    return all(a is not None and b is not None and abs(a - b) <= _ALIKE * max(sizes) for a, b in pairs)


def hollow_problems(found: Sequence[TrivialPass]) -> dict[str, str]:
    """Describe cases of which every record is hollow, by their first record."""
    first = {item.case: item for item in reversed(found) if item.whole}
    return {
        item.case: f"case {item.case}: {item.answer} would pass as {item.record}, and nothing else in it asks for "
        "more; it can tell no implementation from one that does nothing"
        for item in reversed(first.values())
    }


def hollow_advice(found: Sequence[TrivialPass], given: Sequence[Advice] = ()) -> list[Advice]:
    """Advise on hollow records of cases that also have others, and on twins: once per kind and case, and not what
    `given` already says."""
    advice: dict[str, Advice] = {}
    untouched = {item.name for item in given}
    for item in found:
        if item.answer.startswith("its input") and f"output-equals-input:{item.case}" in untouched:
            continue
        if item.twin:
            name = f"twin-record:{item.case}"
            text = f"{item.record} is the same as {item.answer}, so that one answer passes as both: make them differ"
        else:
            name = f"hollow-record:{item.case}"
            text = f"{item.answer} would pass as {item.record}: choose inputs for which it does not"
        advice.setdefault(name, Advice(name, f"case {item.case}: {text}"))
    return list(advice.values())
