"""`gold.check(values)` and `gold.check(function, inputs)`: compare with what the test kept before, or keep it."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from goldsmith.comparison.results import Comparison
from goldsmith.errors.gold import NewerGold
from goldsmith.errors.pytest import (
    CheckedTwice,
    GoldMismatch,
    InputsOfNothing,
    KeptOtherwise,
    KeptUnreadable,
    MarkedForAssignment,
    ModelWithoutInputs,
    NotInAnyOrder,
)
from goldsmith.foundation.git import ignored_files
from goldsmith.foundation.nested import map_paths, walk
from goldsmith.frameworks.framework import is_module
from goldsmith.gold.arrays import is_array
from goldsmith.gold.labels import Labels
from goldsmith.judge.choices import judge_and_spare
from goldsmith.judge.decision import unjudged_reason
from goldsmith.pytest_support.call_values import Callee, CallValues, judge_call, why_undecided
from goldsmith.pytest_support.compared_values import compare_values, in_kept_order, number_paths
from goldsmith.pytest_support.differences import difference_text
from goldsmith.pytest_support.keepable import keepable, refuse_nan
from goldsmith.pytest_support.kept_changes import change_lines, lost_values
from goldsmith.pytest_support.kept_entry import SEED, ToKeep
from goldsmith.pytest_support.kept_gold import (
    KeptCheck,
    publish_kept,
    read_kept,
    refuse_place,
    remove_replaced_form,
    stage_kept,
)
from goldsmith.pytest_support.kept_place import KeptPlace, place_of, shown_path
from goldsmith.pytest_support.kept_report import CHECKED, RECORDED, UNCHANGED, UPDATED, key_of
from goldsmith.pytest_support.markers import marked_assignments
from goldsmith.pytest_support.obtained import forget_obtained, keep_obtained
from goldsmith.pytest_support.path_patterns import (
    Ignored,
    checked_limits,
    checked_patterns,
    own_tolerances,
    refuse_limit,
)

if TYPE_CHECKING:
    from goldsmith.pytest_support.session import GoldSession

NO_INPUTS: Any = object()
_DIFFERS = "differs: "
MakeCallee = Callable[[Any, Any, int], Callee]


class CheckOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a check compares, as the test says."""

    rtol: float | None = None
    atol: float | None = None
    tolerances: Mapping[str, Mapping[str, float]] = {}
    ignore: Collection[str] = ()
    equal_nan: bool = False
    train: bool = False
    weights: bool = True
    unordered: bool | Collection[str] = False

    @property
    def is_own(self) -> bool:
        """Say whether the test gives one tolerance for everything."""
        return self.rtol is not None or self.atol is not None


class ValueChecks:
    """The checks of one test. `make_callee` makes a callee of a function, its inputs and a seed."""

    def __init__(self, item: pytest.Item, session: GoldSession, make_callee: MakeCallee) -> None:
        self._item, self._session, self._make_callee = item, session, make_callee
        self._claimed: set[str] = set()

    def check(self, value: Any, inputs: Any, *, name: str | None, options: CheckOptions) -> Comparison:
        for label, limit in (("rtol", options.rtol), ("atol", options.atol)):
            if limit is not None:
                refuse_limit(label, limit)
        place = self._claim(name)
        check = _OneCheck(self, self._session, place, options)
        return check.run(value, inputs)

    def call_of(self, value: Any, inputs: Any, options: CheckOptions, ignored: Ignored) -> CallValues | None:
        if is_array(value) or not callable(value) or isinstance(value, type):
            if inputs is not NO_INPUTS:
                raise InputsOfNothing(
                    f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__
                )
            return None
        if inputs is NO_INPUTS and is_module(value):
            raise ModelWithoutInputs(type(value).__name__)
        if options.unordered:
            raise NotInAnyOrder("the noise of a function or model is measured in order, so call it yourself")
        given = () if inputs is NO_INPUTS else inputs
        return CallValues(
            lambda: self._make_callee(value, given, SEED),
            train=options.train,
            weights=options.weights,
            ignored=ignored,
        )

    def _claim(self, name: str | None) -> KeptPlace:
        marked = marked_assignments(self._item)
        if marked:
            raise MarkedForAssignment(marked[0])
        place = place_of(self._item, name, self._session.invoked)
        if place.check in self._claimed:
            raise CheckedTwice(place.test, f" with the name {name!r}" if name else "")
        self._claimed.add(place.check)
        return place

    def fail_later(self, message: str) -> None:
        """Let the test go on to its other checks, and fail it at its end."""
        frame, file = sys._getframe(), str(self._item.path)
        while frame.f_back is not None and frame.f_code.co_filename != file:
            frame = frame.f_back
        line = f":{frame.f_lineno}" if frame.f_code.co_filename == file else ""
        shown = shown_path(self._item.path, self._session.invoked)
        self._session.failures.setdefault(self._item.nodeid, []).append(f"{shown}{line}: {message}")


class _OneCheck:
    """One call of `gold.check`."""

    def __init__(self, test: ValueChecks, session: GoldSession, place: KeptPlace, options: CheckOptions) -> None:
        self._test, self._session, self._place, self._options = test, session, place, options
        self._ignored = Ignored(checked_patterns(options.ignore))
        self._limits = checked_limits(options.tolerances)

    def run(self, value: Any, inputs: Any) -> Comparison:
        place, update = self._place, self._session.update
        call = self._test.call_of(value, inputs, self._options, self._ignored)
        kept, was_damaged = self._read()
        if place.folder in self._session.written:
            raise GoldMismatch(f"{place.case}: {place.shown} was only written in this run; run again to compare")
        if kept is None:
            if not update and self._session.on_ci:
                raise GoldMismatch(_not_kept(place))
            return self._record(value, call, was_damaged=was_damaged)
        problem: Exception
        try:
            return self._compare(kept, value, call)
        except (GoldMismatch, KeptOtherwise) as error:
            problem = error
        if not update:
            raise problem
        return self._update(kept, value, call, problem)

    def _read(self) -> tuple[KeptCheck | None, bool]:
        """Read what was kept; what is damaged counts as missing if it is to be updated."""
        try:
            return read_kept(self._place), False
        except NewerGold:
            raise
        except KeptUnreadable:
            if not self._session.update:
                raise
            return None, True

    # --- recording

    def _record(self, value: Any, call: CallValues | None, *, was_damaged: bool) -> Comparison:
        place = self._place
        new, staged = self._stage(value, call, self._session.reason if was_damaged else "")
        if self._session.update:
            said = ["what was there could not be read"] if was_damaged else []
            outcome = UPDATED if was_damaged else RECORDED
            self._session.note(place, outcome, [*said, *_warnings(staged, place, new)], staged)
        else:
            publish_kept(place, staged)
            self._session.written.add(place.folder)
            self._session.note(place, CHECKED)
            self._test.fail_later("\n    note: ".join([_now_kept(place), *_warnings(staged, place, new)]))
        return compare_values(new.value, new.value, equal_nan=self._options.equal_nan)

    def _update(self, kept: KeptCheck, value: Any, call: CallValues | None, problem: Exception) -> Comparison:
        new, staged = self._stage(value, call, self._session.reason)
        found = compare_values(new.value, kept.value, rtol=0.0, equal_nan=self._options.equal_nan)
        lines = list(change_lines(found, everything=self._session.diff))
        said = str(problem).splitlines()[0]
        if isinstance(problem, KeptOtherwise) or not lines or _DIFFERS not in said:
            lines.insert(0, said.removeprefix(f"{self._place.case}: "))
        lost = lost_values(kept.value, new.value)
        lines += _warnings(staged, self._place, new)
        self._session.note(self._place, UPDATED, lines, staged, lost)
        return compare_values(new.value, new.value, equal_nan=self._options.equal_nan)

    def _stage(self, value: Any, call: CallValues | None, reason: str) -> tuple[ToKeep, Path]:
        refuse_place(self._place)
        new = ToKeep(keepable(value, self._ignored)) if call is None else call.record()
        in_kept_order(new.value, new.value, self._options.unordered)  # refuse what has no rows
        self._refuse_patterns(new.value, new.value)
        if not self._options.equal_nan:
            refuse_nan(new.value)
        into = self._session.folder / "staged" / key_of(self._place)
        return new, stage_kept(self._place, new, into, reason)

    # --- comparing

    def _compare(self, kept: KeptCheck, value: Any, call: CallValues | None) -> Comparison:
        place, options = self._place, self._options
        now = _form(call is not None, bool(call and call.keeps_weights))
        then = _form(kept.is_from_call, kept.weights is not None)
        if now != then:
            raise KeptOtherwise(place.standing, then, now)
        try:
            actual, wide = (keepable(value, self._ignored), {}) if call is None else call.replay(kept)
        except GoldMismatch as error:
            raise GoldMismatch(f"{place.case}: {error}\n{_next_step(place)}") from None
        own = self._refuse_patterns(actual, kept.value)
        gold = self._ignored.redact(kept.value)
        actual = in_kept_order(actual, gold, options.unordered)
        measured = {} if options.is_own else kept.tolerances
        hidden = {path for path, leaf in walk(gold) if isinstance(leaf, Labels)}
        reference = (
            {}
            if options.is_own
            else {path: item for path, item in kept.reference.items() if path not in own and path not in hidden}
        )
        noisy = {} if options.is_own else {path: item for path, item in kept.noisy.items() if path not in own}
        tolerances = {path: item for path, item in {**measured, **own}.items() if path not in hidden or path in own}
        compared = functools.partial(
            compare_values,
            gold=gold,
            rtol=options.rtol,
            atol=options.atol,
            tolerances=tolerances,
            noisy=noisy,
            equal_nan=options.equal_nan,
        )
        found = compared(actual)
        if not options.is_own:
            choices = [item for item in kept.choices if item.path not in own]
            sides = (dict(walk(actual)), dict(walk(gold)), choices, kept.choice_arrays, "")
            spared = judge_and_spare(
                found, sides, lambda leaves: compared(map_paths(lambda path, leaf: leaves[path], actual))
            )
            doubt = unjudged_reason(spared.chosen) or spared.doubt(None)
            if spared.comparison.agrees and doubt:
                raise GoldMismatch(f"{place.case}: inconclusive: {doubt}\n{_next_step(place)}")
            found = spared.comparison
        dtype, mine, theirs = "", actual, gold
        if call is not None and not options.is_own:
            found, dtype = judge_call(found, wide, reference, tolerances, noisy)
            mine, theirs = (wide, reference) if dtype else (actual, gold)
        unknown = why_undecided(found, tolerances) if found and call is not None else ""
        if unknown:
            raise GoldMismatch(f"{place.case}: {unknown}\n{_next_step(place)}")
        if found and self._session.update and _hides_more(kept.value, gold):
            raise GoldMismatch("what is ignored now is not kept any more")
        if found:
            self._agreed()
            return found
        text = difference_text(found, mine, theirs, everything=self._session.diff)
        text = f"in {dtype}, it {text}" if dtype else text
        return self._differs(found, actual, f"{place.case}: {text}\n{_next_step(place)}")

    def _refuse_patterns(self, actual: Any, kept: Any) -> dict[str, Any]:
        """Refuse patterns that match nothing on either side, and return the tolerances that the test gives by path."""
        self._ignored.redact(kept)
        self._ignored.refuse_unused([path for value in (actual, kept) for path, _ in walk(value)])
        return own_tolerances(self._limits, number_paths(actual, kept))

    def _agreed(self) -> None:
        place = self._place
        forget_obtained(self._session.obtained, place)
        if self._session.update:
            remove_replaced_form(place)
        self._session.note(place, UNCHANGED if self._session.update else CHECKED)

    def _differs(self, found: Comparison, actual: Any, message: str) -> Comparison:
        if self._session.update:
            raise GoldMismatch(message)
        self._session.note(self._place, CHECKED)
        said = keep_obtained(self._session.obtained, self._session.config, self._place, actual)
        message = "\n".join(filter(None, (message, said)))
        if self._session.diff:
            self._test.fail_later(message)
            return found
        raise GoldMismatch(message)


def _hides_more(kept: Any, redacted: Any) -> bool:
    """Say whether values are kept that are ignored now."""
    before = {path for path, leaf in walk(kept) if isinstance(leaf, Labels) and leaf.is_ignored}
    return {path for path, leaf in walk(redacted) if isinstance(leaf, Labels) and leaf.is_ignored} != before


def _warnings(staged: Path, place: KeptPlace, new: ToKeep) -> Sequence[str]:
    """Say what the person who records should know."""
    around = place.folder.parent
    inside = sorted(f"/{path.name}" for path in staged.iterdir()) if staged.is_dir() else [""]
    ignored = ignored_files(around.parent, [f"{around.name}/{staged.name}{name}" for name in inside])
    found = (
        [f"git ignores {ignored[0]}, so it would not be committed: add !**/*.gold/** to .gitignore"] if ignored else []
    )
    return [*found, new.note] if new.note else found


def _form(from_call: bool, weights: bool) -> str:
    return ("a model with its weights" if weights else "a function") if from_call else "values"


def _not_kept(place: KeptPlace) -> str:
    return (
        f"{place.case}: nothing is kept for it yet, and nothing is recorded on CI; run `pytest --gold-update` where "
        f"you develop, and commit {place.shown}"
    )


def _now_kept(place: KeptPlace) -> str:
    return (
        f"{place.case}: nothing was kept for it yet, so this run's values are, in {place.shown}; look at them, commit "
        "them, and run again"
    )


def _next_step(place: KeptPlace) -> str:
    return f"  kept in {place.shown}; if the change is meant, `pytest --gold-update` records it"
