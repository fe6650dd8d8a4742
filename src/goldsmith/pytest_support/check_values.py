"""`gold.check(values)` and `gold.check(function, inputs)`: compare with what the test kept before, or keep it."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from goldsmith.comparison.api import compare
from goldsmith.comparison.results import Comparison
from goldsmith.course.git import ignored_files
from goldsmith.errors.gold import NewerGold
from goldsmith.errors.parity import BadTolerance
from goldsmith.errors.pytest import (
    CheckedTwice,
    GoldMismatch,
    InputsOfNothing,
    KeptOtherwise,
    KeptUnreadable,
    MarkedForAssignment,
    ModelWithoutInputs,
)
from goldsmith.gold.arrays import is_array
from goldsmith.pytest_support.call_values import Callee, CallValues, judge_call, undecided
from goldsmith.pytest_support.differences import difference_text
from goldsmith.pytest_support.keepable import keepable, refuse_nan
from goldsmith.pytest_support.kept_gold import SEED, KeptCheck, ToKeep, read_kept, write_kept
from goldsmith.pytest_support.kept_place import KeptPlace, place_of, shown_path
from goldsmith.pytest_support.kept_report import RECORDED, UNCHANGED, UPDATED, note
from goldsmith.pytest_support.session import marked_assignments
from goldsmith.weights.models import is_module

if TYPE_CHECKING:
    from goldsmith.pytest_support.session import GoldSession

NO_INPUTS: Any = object()
MakeCallee = Callable[[Any, Any, int], Callee]


class ValueChecks:
    """The checks of one test. `make_callee` makes a callee of a function, its inputs and a seed."""

    def __init__(self, item: pytest.Item, session: GoldSession, make_callee: MakeCallee) -> None:
        self._item, self._session, self._make_callee = item, session, make_callee
        self._claimed: set[str] = set()

    def check(
        self,
        value: Any,
        inputs: Any,
        *,
        name: str | None,
        rtol: float | None,
        atol: float | None,
        equal_nan: bool,
        train: bool,
        weights: bool,
    ) -> Comparison:
        for label, limit in (("rtol", rtol), ("atol", atol)):
            if limit is not None and not 0 <= limit < math.inf:
                raise BadTolerance(label, limit)
        place = self._claim(name)
        call = self._call(value, inputs, train=train, weights=weights)
        kept, was_damaged = self._read(place)
        if place.folder in self._session.written:
            raise GoldMismatch(f"{place.case}: {place.shown} was only written in this run; run again to compare")
        if kept is None:
            if not self._session.update and self._session.on_ci:
                raise GoldMismatch(_not_kept(place))
            new = self._keep(place, value, call, equal_nan)
            if self._session.update:
                detail = ["what was there could not be read"] if was_damaged else []
                note(self._session.folder, place, UPDATED if was_damaged else RECORDED, *detail, *_warnings(place, new))
                return compare(new.value, new.value, equal_nan=equal_nan)
            self._session.written.add(place.folder)
            self._fail_later("\n    note: ".join([_now_kept(place), *_warnings(place, new)]))
            return compare(new.value, new.value, equal_nan=equal_nan)
        problem: Exception
        try:
            return self._compare(place, kept, value, call, rtol, atol, equal_nan)
        except (GoldMismatch, KeptOtherwise) as error:
            problem = error
        if not self._session.update:
            raise problem
        new = self._keep(place, value, call, equal_nan)
        lines = str(problem).splitlines()
        shown = lines[:-1] if self._session.diff or len(lines) < 3 else lines[:2]
        note(self._session.folder, place, UPDATED, *shown, *_warnings(place, new))
        return compare(new.value, new.value, equal_nan=equal_nan)

    def _claim(self, name: str | None) -> KeptPlace:
        marked = marked_assignments(self._item)
        if marked:
            raise MarkedForAssignment(marked[0])
        place = place_of(self._item, name, self._session.invoked)
        if place.check in self._claimed:
            raise CheckedTwice(place.test, f" with the name {name!r}" if name else "")
        self._claimed.add(place.check)
        return place

    def _call(self, value: Any, inputs: Any, *, train: bool, weights: bool) -> CallValues | None:
        if is_array(value) or not callable(value) or isinstance(value, type):
            if inputs is not NO_INPUTS:
                raise InputsOfNothing(
                    f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__
                )
            return None
        if inputs is NO_INPUTS and is_module(value):
            raise ModelWithoutInputs(type(value).__name__)
        given = () if inputs is NO_INPUTS else inputs
        return CallValues(lambda: self._make_callee(value, given, SEED), train=train, weights=weights)

    def _read(self, place: KeptPlace) -> tuple[KeptCheck | None, bool]:
        """Read what was kept; what is damaged counts as missing if it is to be updated."""
        try:
            return read_kept(place), False
        except NewerGold:
            raise
        except KeptUnreadable:
            if not self._session.update:
                raise
            return None, True

    def _compare(
        self,
        place: KeptPlace,
        kept: KeptCheck,
        value: Any,
        call: CallValues | None,
        rtol: float | None,
        atol: float | None,
        equal_nan: bool,
    ) -> Comparison:
        now = _form(call is not None, bool(call and call.keeps_weights))
        then = _form(kept.is_from_call, kept.weights is not None)
        if now != then:
            raise KeptOtherwise(place.folder, then, now)
        try:
            actual, wide = (keepable(value), {}) if call is None else call.replay(kept)
        except GoldMismatch as error:
            raise GoldMismatch(f"{place.case}: {error}\n{_next_step(place)}") from None
        own = rtol is not None or atol is not None
        found = compare(
            actual,
            kept.value,
            rtol=rtol,
            atol=atol,
            tolerances=None if own else kept.tolerances,
            noisy=None if own else kept.noisy,
            equal_nan=equal_nan,
        )
        dtype, mine, theirs = "", actual, kept.value
        if call is not None and not own:
            found, dtype = judge_call(found, wide, kept)
            mine, theirs = (wide, kept.reference) if dtype else (actual, kept.value)
        unknown = undecided(found, kept) if found and call is not None and not own else ""
        if unknown:
            raise GoldMismatch(f"{place.case}: {unknown}\n{_next_step(place)}")
        if found:
            if self._session.update:
                note(self._session.folder, place, UNCHANGED)
            return found
        text = difference_text(found, mine, theirs, everything=self._session.diff)
        text = f"in {dtype}, it {text}" if dtype else text
        message = f"{place.case}: {text}\n{_next_step(place)}"
        if self._session.diff and not self._session.update:
            self._fail_later(message)
            return found
        raise GoldMismatch(message)

    def _fail_later(self, message: str) -> None:
        """Let the test go on to its other checks, and fail it at its end."""
        frame, file = sys._getframe(), str(self._item.path)
        while frame.f_back is not None and frame.f_code.co_filename != file:
            frame = frame.f_back
        line = f":{frame.f_lineno}" if frame.f_code.co_filename == file else ""
        shown = shown_path(self._item.path, self._session.invoked)
        self._session.failures.setdefault(self._item.nodeid, []).append(f"{shown}{line}: {message}")

    def _keep(self, place: KeptPlace, value: Any, call: CallValues | None, equal_nan: bool) -> ToKeep:
        new = ToKeep(keepable(value)) if call is None else call.record()
        if not equal_nan:
            refuse_nan(new.value)
        write_kept(place, new)
        return new


def _warnings(place: KeptPlace, new: ToKeep) -> list[str]:
    """Say what the person who records should know."""
    ignored = ignored_files(place.folder)
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
