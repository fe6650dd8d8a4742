"""`gold("scratch-1")` and `gold("scratch-1")["rmsnorm"]`: an assignment's gold, and one case of it, in a test."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goldsmith.errors.check import NoSuchCase
from goldsmith.errors.pytest import GoldMismatch, NoSuchOutput, WhichCase, blamed_on_the_caller
from goldsmith.foundation.wording import nearest
from goldsmith.gold.load import Gold, GoldCase
from goldsmith.gold.rulers import Ruler
from goldsmith.pytest_support.check_call import check_call
from goldsmith.pytest_support.outputs_by_name import compare_output, find, known_names
from goldsmith.pytest_support.replay import JudgedCase, Replay
from goldsmith.runs.setting import Setting
from goldsmith.weights.rules import Adapter

if TYPE_CHECKING:
    from goldsmith.comparison.results import Comparison
    from goldsmith.courses.layout.layout import Assignment
    from goldsmith.pytest_support.session import GoldSession

_DEFAULT = "gold_output"
_OTHER_THINGS = ("shape", "type", "missing", "extra")
_HINT = "  hint: if its case records something other than what the model returns, use .replay() or .assert_close"


class _Readable(ABC):
    """The keys of a gold file as attributes."""

    @property
    @abstractmethod
    def _shown(self) -> GoldCase: ...

    @property
    def input(self) -> Any:
        return self._shown.input

    @property
    def output(self) -> Any:
        return self._shown.output

    @property
    def state_dict(self) -> dict[str, Any]:
        return self._shown.state_dict

    @property
    def model_state_dict(self) -> dict[str, Any]:
        return self._shown.model_state_dict

    @property
    def model_config(self) -> dict[str, Any]:
        return self._shown.model_config

    @property
    def seed(self) -> int:
        return self._shown.seed

    @property
    def data(self) -> dict[str, Any]:
        """Return all that the case's file contains."""
        return self._shown.data


class CaseForTests(_Readable):
    """One case. If a test changes the arrays that it is shown, comparisons are not affected."""

    def __init__(self, gold: Gold, name: str, assignment: Assignment, session: GoldSession) -> None:
        self._gold, self._assignment, self._session = gold, assignment, session
        self.name = name

    @cached_property
    def _shown(self) -> GoldCase:
        return self._gold[self.name]

    @cached_property
    def judged(self) -> GoldCase:
        """Return the case's gold for comparisons only."""
        return self._gold[self.name]

    @blamed_on_the_caller
    def check(self, target: Callable[..., Any], *, train: bool | None = None) -> Comparison:
        """Put gold's weights into `target`, a model or a function, call it on gold's inputs, and compare the result. It
        is called in the mode that its case recorded, unless `train` is given; the weights stay in it. On another device
        or in a coarser dtype than gold's, the ruler of that judges."""
        with self._named():
            comparison = check_call(target, self.judged, self._adapter, train=train, ruler_in=self._ruler_in)
            if any(leaf.problem in _OTHER_THINGS for leaf in comparison.leaves):
                raise GoldMismatch(f"{comparison}\n{_HINT}")
            return _agreed(comparison)

    @blamed_on_the_caller
    def assert_close(self, name: str, value: Any) -> Comparison:
        """Compare `value` with what the recipe recorded as `name`, within the tolerance in the manifest."""
        with self._named():
            return _agreed(compare_output(value, self.judged, name))

    @blamed_on_the_caller
    def replay(self, path: str | Path | None = None, *, setting: str = "") -> JudgedCase:
        """Return this case of the replay of all cases."""
        return JudgedCase(self, Replay(self._session.replay(self._assignment, path, (), setting)))

    def _ruler_in(self, setting: Setting) -> Ruler | None:
        from goldsmith.check.request import needed_ruler

        return needed_ruler(self._gold.manifest.rulers, setting, self._assignment.name)

    @cached_property
    def _adapter(self) -> Adapter:
        from goldsmith.check.request import open_adapter
        from goldsmith.courses.layout.resolve import resolve

        return open_adapter(resolve(self._assignment))[0]

    @contextlib.contextmanager
    def _named(self) -> Iterator[None]:
        """Name the assignment and case in a mismatch."""
        try:
            yield
        except GoldMismatch as problem:
            raise GoldMismatch(f"{self._assignment.name}, {self.name}: {problem}") from None

    def __repr__(self) -> str:
        return f"<gold of {self._assignment.name}, case {self.name}>"


class GoldForTests(_Readable):
    """An assignment's gold. Used without a case's name, it stands for `gold_output`, or for the only case."""

    def __init__(self, session: GoldSession, assignment: Assignment) -> None:
        self._session, self._assignment = session, assignment
        self._gold = session.gold(assignment)
        self._cases: dict[str, CaseForTests] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._gold)

    def __len__(self) -> int:
        return len(self._gold)

    @blamed_on_the_caller
    def __getitem__(self, name: str) -> CaseForTests:
        if name not in list(self._gold):
            raise NoSuchCase(name, list(self._gold), nearest(name, self._gold))
        if name not in self._cases:
            self._cases[name] = CaseForTests(self._gold, name, self._assignment, self._session)
        return self._cases[name]

    @blamed_on_the_caller
    def check(self, target: Callable[..., Any], *, train: bool | None = None) -> Comparison:
        """See `CaseForTests.check`."""
        return self._default.check(target, train=train)

    @blamed_on_the_caller
    def assert_close(self, name: str, value: Any) -> Comparison:
        """Compare `value` with the output `name`, or with another case's, as in `rmsnorm.y`."""
        default = self._default_name
        if default and find(self[default].judged, name):
            return self[default].assert_close(name, value)
        case, _, rest = name.partition(".")
        if rest and case in list(self._gold):
            return self[case].assert_close(rest, value)
        known = known_names(self[default].judged) if default else []
        others = [f"{item}.{output}" for item in self._gold for output in known_names(self[item].judged)]
        raise NoSuchOutput(name, [*known, *others])

    @blamed_on_the_caller
    def replay(self, path: str | Path | None = None, cases: Sequence[str] = (), *, setting: str = "") -> Replay:
        """Run the recipe on an implementation in another process, as `goldsmith check` does, once in a run of pytest.

        `path` is relative to the course's root, or a git revision; without it, what --gold-submission says, or the
        tree. In a `setting` such as `cuda bfloat16`, the ruler of that judges.
        """
        return Replay(self._session.replay(self._assignment, path, cases, setting))

    @property
    def _default_name(self) -> str | None:
        names = list(self._gold)
        return _DEFAULT if _DEFAULT in names else names[0] if len(names) == 1 else None

    @property
    def _default(self) -> CaseForTests:
        if self._default_name is None:
            raise WhichCase(self._assignment.name, list(self._gold))
        return self[self._default_name]

    @property
    def _shown(self) -> GoldCase:
        return self._default._shown

    def __repr__(self) -> str:
        return f"<gold of {self._assignment.name}: {', '.join(self._gold)}>"


def _agreed(comparison: Comparison) -> Comparison:
    if not comparison.agrees:
        raise GoldMismatch(str(comparison))
    return comparison
