"""`@case` and `@checkpoint`, which register a recipe's cases in this process in the order written."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any, TypeVar, overload

from goldsmith.errors.recipe import RecipeMisuse
from goldsmith.gold.tolerances import Pinned
from goldsmith.source_code.points import MOST_POINTS, are_points

OUTPUT, CHECKPOINT = "output", "checkpoint"
ALLOWABLE = ("nan", "inf", "constant", "range", "float64", "hollow", "noise")
_RESERVED = {"manifest", "readme"}

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class CaseDefinition:
    name: str
    kind: str
    function: Callable[..., Any]
    allow: Mapping[str, str] = field(default_factory=dict)
    accepts: tuple[str, ...] = ()
    points: float | None = None

    @property
    def title(self) -> str:
        """Return the docstring's first paragraph on one line, which is shown next to the case's name."""
        itself = [] if isinstance(self.function, functools.partial) else [self.function]
        text = next(filter(None, map(inspect.getdoc, [*itself, *written_as(self.function)])), "")
        return " ".join(text.split("\n\n")[0].split())


def written_as(case: Any) -> Iterator[FunctionType]:
    """Yield the functions written for a case, outermost first: what a partial calls, what a wrapper wraps, an object's
    `__call__`."""
    while case is not None:
        if isinstance(case, functools.partial):
            case = case.func
            continue
        called = getattr(case, "__func__", None) or vars(type(case)).get("__call__")
        found = case if isinstance(case, FunctionType) else called
        if isinstance(found, FunctionType):
            yield found
        case = getattr(case, "__wrapped__", None)


registered: list[CaseDefinition] = []


@overload
def case(function: F) -> F: ...
@overload
def case(
    *,
    name: str | None = None,
    allow: Mapping[str, str] | None = None,
    accepts: Sequence[str] = (),
    points: float | None = None,
) -> Callable[[F], F]: ...
def case(
    function: Any = None,
    *,
    name: str | None = None,
    allow: Mapping[str, str] | None = None,
    accepts: Sequence[str] = (),
    points: float | None = None,
) -> Any:
    """Mark a function as a case: its recorded outputs become `<function name>.pt`.

    `allow={"constant": "why"}` accepts, by name and with a reason, what verification would refuse.
    `accepts=["decay-after"]` names variants of the solution whose answers are right, too.
    `points=2` is what the case is worth where submissions are graded; changing the number does not make gold stale.
    """
    return _register(OUTPUT, function, name, allow, accepts, points)


@overload
def checkpoint(function: F) -> F: ...
@overload
def checkpoint(
    *,
    name: str | None = None,
    allow: Mapping[str, str] | None = None,
    accepts: Sequence[str] = (),
    points: float | None = None,
) -> Callable[[F], F]: ...
def checkpoint(
    function: Any = None,
    *,
    name: str | None = None,
    allow: Mapping[str, str] | None = None,
    accepts: Sequence[str] = (),
    points: float | None = None,
) -> Any:
    """Mark a function as a case whose gold is a trained checkpoint; it must call `case.checkpoint`."""
    return _register(CHECKPOINT, function, name, allow, accepts, points)


def _register(
    kind: str,
    function: Any,
    name: str | None,
    allow: Mapping[str, str] | None,
    accepts: Sequence[str],
    points: float | None,
) -> Any:
    def add(target: F) -> F:
        case_name = name or getattr(target, "__name__", None)
        if case_name is None:
            raise RecipeMisuse(f"a case that is {_article(target)} needs a name of its own: gs.case(name=…)(…)")
        if not re.fullmatch(r"[A-Za-z_][\w-]*", case_name) or case_name.lower() in _RESERVED:
            raise RecipeMisuse(f"{case_name!r} cannot name a case: it becomes a file's name")
        if any(case_name.lower() == item.name.lower() for item in registered):
            raise RecipeMisuse(f"two cases are called {case_name}; each needs a name of its own")
        if not _takes_one_argument(target):
            raise RecipeMisuse(f"a case takes one argument: write `def {case_name.replace('-', '_')}(case):`")
        if isinstance(accepts, str) or not all(re.fullmatch(r"[\w-]+", item) for item in accepts):
            raise RecipeMisuse(f"accepts={accepts!r} must be a list of names of variants")
        if points is not None and not are_points(points):
            raise RecipeMisuse(
                f"points={points!r} cannot be counted; give {case_name} a number from 0 to {MOST_POINTS}"
            )
        allowed = check_allow(allow, (*ALLOWABLE, "reproducible", "sandbox"))
        registered.append(CaseDefinition(case_name, kind, target, allowed, tuple(accepts), points))
        return target

    return add if function is None else add(function)


def _article(target: Any) -> str:
    return f"a {type(target).__name__} object"


def _takes_one_argument(function: Callable[..., Any]) -> bool:
    try:
        inspect.signature(function).bind("case")
    except TypeError:
        return False
    return True


def check_allow(allow: Mapping[str, str] | None, known: Sequence[str] = ALLOWABLE) -> dict[str, str]:
    """Return `allow` as a dict; refuse an entry that names no check or gives no reason."""
    for check, reason in (allow or {}).items():
        if check not in known:
            raise RecipeMisuse(f"allow={{{check!r}: …}} names no check; here there are {', '.join(known)}")
        if not isinstance(reason, str) or not reason.strip():
            raise RecipeMisuse(f"allow={{{check!r}: …}} needs its reason as text")
    return dict(allow or {})


def pin_of(tolerance: Mapping[str, Any], name: str) -> Pinned:
    """Read the tolerance that a recipe sets; refuse one that cannot be read."""
    try:
        return Pinned.of(tolerance)
    except ValueError as problem:
        raise RecipeMisuse(f"the tolerance of {name!r} {problem}") from None
