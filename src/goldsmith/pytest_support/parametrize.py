"""Find the gold that a test's markers name: one test for each case, and the fixtures' values."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import pytest

from goldsmith.comparison.results import Comparison
from goldsmith.errors.base import GoldsmithError
from goldsmith.errors.check import StaleGold
from goldsmith.errors.pytest import CollectedWithoutGold, NoAssignmentNamed, blamed_on_the_caller
from goldsmith.pytest_support.check_values import NO_INPUTS, CheckOptions, MakeCallee, ValueChecks
from goldsmith.pytest_support.handles import GoldForTests
from goldsmith.pytest_support.markers import marked_assignments
from goldsmith.pytest_support.replay import JudgedCase
from goldsmith.pytest_support.session import GoldSession


class CaseParam(NamedTuple):
    """A case by name; if `case` is None, `id` says why."""

    assignment: str
    case: str | None
    id: str


_UNMARKED = CaseParam("", None, "no-assignment")


def parametrise(metafunc: pytest.Metafunc, session: GoldSession) -> None:
    """Make a test for each case. If gold cannot be read there is one test all the same, which does not pass."""
    names = marked_assignments(metafunc.definition)
    wanted = [item for name in names for item in _cases(metafunc, session, name)] or [_UNMARKED]
    ids = [f"{item.assignment}-{item.id}" if len(names) > 1 else item.id for item in wanted]
    metafunc.parametrize("gold_case", wanted, ids=ids, indirect=True)


def _cases(metafunc: pytest.Metafunc, session: GoldSession, name: str) -> list[CaseParam]:
    try:
        gold = session.gold(session.assignment(name, metafunc.definition.path))
    except StaleGold:
        return [CaseParam(name, None, "stale-gold")]
    except GoldsmithError:
        return [CaseParam(name, None, "no-gold")]
    return [CaseParam(name, case, case) for case in gold]


def judged_case(request: pytest.FixtureRequest, session: GoldSession) -> JudgedCase:
    wanted: CaseParam = getattr(request, "param", _UNMARKED)
    if not wanted.assignment:
        raise NoAssignmentNamed("gold_case")
    handle = GoldForTests(session, session.assignment(wanted.assignment, request.path))
    if wanted.case is None:
        raise CollectedWithoutGold(wanted.assignment)
    return handle[wanted.case].replay()


class GoldOf:
    """The `gold` fixture's value: what the test keeps itself, and the gold of assignments. Each test has its own."""

    def __init__(self, request: pytest.FixtureRequest, session: GoldSession, make_callee: MakeCallee) -> None:
        self._request, self._session = request, session
        self._found: dict[str, GoldForTests] = {}
        self._checks = ValueChecks(request.node, session, make_callee)

    @blamed_on_the_caller
    def check(
        self,
        value: Any,
        inputs: Any = NO_INPUTS,
        *,
        name: str | None = None,
        rtol: float | None = None,
        atol: float | None = None,
        tolerances: Mapping[str, Mapping[str, float]] | None = None,
        ignore: Collection[str] = (),
        equal_nan: bool = False,
        train: bool = False,
        weights: bool = True,
        unordered: bool | Collection[str] = False,
    ) -> Comparison:
        """Compare `value` with what this test kept before, in `test_block.gold/` next to `test_block.py`.

        `value` is an array, a number, text, a date, a data frame, or nested dicts, lists, tuples and dataclasses of
        these; or a function or model that is called on `inputs`: a tensor, a tuple of positional arguments, a dict of
        named ones, or a function that draws any of these. Then inputs, and a model's weights unless `weights` is False,
        are kept, too, and the tolerance is measured. A model runs in eval mode unless `train`. `rtol` and `atol` are
        used instead of what was measured or is the default of the dtype; `tolerances={"u": {"rtol": 1e-3}}` for what a
        pattern matches. Of what `ignore=["time", "**.path"]` matches, only its type is kept and compared. In patterns
        `*` is one part of a path and `**` any number of parts. Rows of a value that is `unordered`, or of what is named
        there, such as `unordered=["boxes"]`, may come in any order. If a test checks twice, each check needs a `name`.

        What is not kept yet is written, and the test fails once; `--gold-update` writes it, and what has changed.
        """
        options = CheckOptions(
            rtol=rtol,
            atol=atol,
            tolerances={} if tolerances is None else tolerances,
            ignore=ignore,
            equal_nan=equal_nan,
            train=train,
            weights=weights,
            unordered=unordered,
        )
        return self._checks.check(value, inputs, name=name, options=options)

    @blamed_on_the_caller
    def __call__(self, assignment: str | None = None) -> GoldForTests:
        marked = marked_assignments(self._request.node)
        if assignment is None and len(marked) != 1:
            raise NoAssignmentNamed("gold() without a name")
        name = marked[0] if assignment is None else assignment
        if name not in self._found:
            self._found[name] = GoldForTests(self._session, self._session.assignment(name, self._request.path))
        return self._found[name]

    def __repr__(self) -> str:
        return "<gold of this test>"
