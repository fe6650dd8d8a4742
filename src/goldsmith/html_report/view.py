"""What a page shows, as plain data: made from a verdict or a parity, drawn by the templates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from goldsmith.html_report.pictures import Profile, Slices

if TYPE_CHECKING:
    from goldsmith.model_parity.reference_words import Table

Role = Literal["source", "hidden", "victim", "holds", "wrong", "right", "unpaired", "unknown"]

ROLES: dict[Role, str] = {
    "source": "the difference begins here",
    "hidden": "the difference begins here, but what it returns does not show it",
    "victim": "wrong only because of what it is given: right when given the right inputs",
    "holds": "wrong because of what is inside it",
    "wrong": "out of tolerance",
    "right": "right where it stands",
    "unpaired": "has no partner",
    "unknown": "not judged: what it was given may be wrong already",
}

SHORT_ROLES: dict[Role, str] = {
    "source": "begins here",
    "hidden": "begins here, not seen in what it returns",
    "victim": "right when given the right inputs",
    "holds": "wrong inside",
    "wrong": "wrong",
    "right": "right",
    "unpaired": "no partner",
    "unknown": "not judged",
}


@dataclass(frozen=True)
class Point:
    """One call, gradient or weight on a curve. `error`, the measured `noise` and the `limit` that it is judged by are
    relative; None is not known. `not_comparable` says why the error is no number, or shows nothing."""

    label: str
    kind: str
    role: Role
    error: float | None
    noise: float | None
    note: str = ""
    limit: float | None = None
    not_comparable: str = ""


@dataclass(frozen=True)
class Lane:
    """One curve: its points in order, what their order is, what the band under them is and what the line; `note` says
    what the points do not show."""

    title: str
    order: str
    band: str
    points: tuple[Point, ...]
    limit: str = ""
    note: str = ""

    @property
    def shows(self) -> bool:
        """Return whether a point shows what is wrong."""
        return any(point.role in ("source", "wrong") for point in self.points)

    @property
    def measured(self) -> int:
        """Return the number of points whose noise was measured."""
        return sum(point.noise is not None for point in self.points)


@dataclass(frozen=True)
class Node:
    """A module in one of the two trees."""

    name: str
    kind: str
    role: Role
    children: tuple[Node, ...] = ()


@dataclass(frozen=True)
class Tensor:
    """One tensor that differs."""

    name: str
    facts: tuple[tuple[str, str], ...]
    explanation: str
    slices: Slices
    profiles: tuple[Profile, ...]
    histogram: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Source:
    """Lines of code from a definition on, which has the number `start`."""

    file: str
    start: int
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Case:
    """One case, or one thing that was compared."""

    name: str
    title: str
    outcome: str
    judged_in: str
    why: str
    lines: tuple[str, ...] = ()
    lanes: tuple[Lane, ...] = ()
    ours: tuple[Node, ...] = ()
    theirs: tuple[Node, ...] = ()
    tensors: tuple[Tensor, ...] = ()


@dataclass(frozen=True)
class Report:
    """One page about one implementation. `facts` are names and values; `differences` are sentences about the two
    machines or configurations; `tables` are shown before the cases; `gold` is what to call the side that is right."""

    title: str
    outcome: str
    outcome_words: str
    headline: str
    facts: tuple[tuple[str, str], ...]
    differences: tuple[str, ...]
    cases: tuple[Case, ...]
    source: Source | None = None
    tables: tuple[Table, ...] = ()
    adapter_lines: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    next_step: str = ""
    gold: str = "gold"
    for_staff: bool = True
