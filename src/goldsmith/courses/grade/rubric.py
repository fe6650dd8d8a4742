"""Rubrics: what each case and each part of an assignment is worth, and what it needs before it counts."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal

import msgspec

from goldsmith.courses.layout.config import ItemConfig, RubricConfig, bad_setting
from goldsmith.courses.layout.layout import Assignment
from goldsmith.gold.arrays import judged_part
from goldsmith.gold.load import Gold
from goldsmith.gold.trivial_answers import hollow_paths
from goldsmith.judge.coverage import PartCoverage
from goldsmith.source_code.points import recipe_points

Kind = Literal["case", "part"]
CASE: Kind = "case"
PART: Kind = "part"
_NAMED = 8
_TABLES: dict[Kind, str] = {CASE: "cases", PART: "parts"}
Complain = Callable[[list[str], str], Exception]
"""Makes the error for a rubric's setting, from its keys and what is wrong."""


class RubricItem(msgspec.Struct, frozen=True, kw_only=True):
    """A case or a part with its points. It counts only if everything it `needs` is right; a `partial` case that differs
    earns the share of its recorded values that agree."""

    name: str
    kind: Kind
    points: float
    needs: tuple[str, ...] = ()
    partial: bool = False

    @property
    def key(self) -> str:
        return f"{self.kind}:{self.name}"


class Rubric(msgspec.Struct, frozen=True, kw_only=True):
    """All items that count. `cases` and `parts` are those of the assignment, `shown` the parts that each case runs on
    gold's side; `hollow` are a case's recorded values, by path, that take no work to get right, and `empty` lists cases
    that have no others."""

    items: tuple[RubricItem, ...]
    cases: tuple[str, ...]
    parts: tuple[str, ...] = ()
    shown: dict[str, tuple[str, ...]] = {}
    provided_changed: float = 1.0
    own_dtype: float = 0.0
    inconclusive: float = 0.0
    hollow: dict[str, tuple[str, ...]] = {}
    empty: tuple[str, ...] = ()

    def named(self, name: str, *, but: str = "") -> list[tuple[Kind, str]]:
        """List the cases and parts of that name, except the item `but`: a case may need the part of its own name."""
        found: list[tuple[Kind, str]] = [(CASE, item) for item in self.cases if item == name]
        found += [(PART, item) for item in self.parts if item == name]
        return [(kind, item) for kind, item in found if f"{kind}:{item}" != but]

    def item(self, kind: Kind, name: str) -> RubricItem | None:
        return next((item for item in self.items if (item.kind, item.name) == (kind, name)), None)


def rubric_of(
    assignment: Assignment, cases: Sequence[str], written: Iterable[str], shown: Mapping[str, Sequence[str]]
) -> Rubric:
    """Make the rubric from the course's configuration and the recipe. `cases` are gold's, `written` what its manifest
    says students write (`provenance.written`), `shown` what `parts_shown` found."""

    def complain(keys: list[str], problem: str) -> Exception:
        return bad_setting(assignment.course.root, ["assignment", assignment.name, "rubric", *keys], problem)

    own = [name.split(".")[1] for name in written if "." in name]
    parts = dict.fromkeys([*own, *(part for some in shown.values() for part in some)])
    worth = recipe_points(assignment.recipe, assignment.course.relative(assignment.recipe))
    return make_rubric(assignment.config.rubric, cases, list(parts), shown, complain, worth)


def parts_shown(gold: Gold) -> dict[str, tuple[str, ...]]:
    """Return the classes and functions that students write and that run in each case, by gold's record."""
    shown = PartCoverage.of({name: gold[name].entry for name in gold}, gold.folder)
    return {case: shown.parts(case) for case in shown.runs}


def with_hollow(rubric: Rubric, gold: Gold) -> Rubric:
    """Add what in each case takes no work to get right."""
    hollow = {name: tuple(hollow_paths(gold[name])) for name in rubric.cases}
    empty = tuple(name for name, paths in hollow.items() if set(paths) >= judged_part(gold[name].data).keys())
    return msgspec.structs.replace(rubric, hollow=hollow, empty=empty)


def make_rubric(
    config: RubricConfig,
    cases: Sequence[str],
    parts: Sequence[str] = (),
    shown: Mapping[str, Sequence[str]] | None = None,
    complain: Complain = lambda keys, problem: ValueError(f"{'.'.join(keys)}: {problem}"),
    worth: Mapping[str, float] | None = None,
) -> Rubric:
    """Make a rubric and check it: every name in it is one of the assignment's, and nothing needs itself.

    `worth` is what the recipe gives its cases. The configuration takes precedence; if it says nothing at all, every
    case counts.
    """
    said = {name: (worth or {})[name] for name in cases if name in (worth or {})}
    if not config.cases and not config.parts:
        said = dict.fromkeys(cases, 1.0) | said
    given: dict[Kind, Mapping[str, float | ItemConfig]] = {CASE: said | config.cases, PART: config.parts}
    known: dict[Kind, Sequence[str]] = {CASE: cases, PART: parts}
    items = []
    for kind, table in given.items():
        for name, value in table.items():
            if name not in known[kind]:
                raise complain([_TABLES[kind], name], _unknown(name, [kind], known))
            items.append(_item(kind, name, value))
    rubric = Rubric(
        items=tuple(items),
        cases=tuple(cases),
        parts=tuple(parts),
        shown={case: tuple(some) for case, some in (shown or {}).items()},
        provided_changed=config.provided_changed,
        own_dtype=config.own_dtype,
        inconclusive=config.inconclusive,
    )
    for item in items:
        for name in item.needs:
            if not rubric.named(name, but=item.key):
                keys = [_TABLES[item.kind], item.name, "needs"]
                problem = "it cannot need itself" if name == item.name else _unknown(name, [CASE, PART], known)
                raise complain(keys, f"`{name}`: {problem}")
        circle = _circle(rubric, item)
        if circle:
            raise complain(
                [_TABLES[item.kind], item.name, "needs"], f"goes round in a circle: {' needs '.join(circle)}"
            )
    return rubric


def _item(kind: Kind, name: str, value: float | ItemConfig) -> RubricItem:
    if isinstance(value, ItemConfig):
        return RubricItem(name=name, kind=kind, points=value.points, needs=value.needs, partial=value.partial)
    return RubricItem(name=name, kind=kind, points=value)


def _unknown(name: str, wanted: Sequence[Kind], known: Mapping[Kind, Sequence[str]]) -> str:
    """Say that there is nothing of that name, and which names are similar."""
    what = " or ".join(wanted)
    other = next((kind for kind in known if kind not in wanted and name in known[kind]), None)
    if other is not None:
        return f"there is no such {what}; {name} is a {other}, and belongs under `{_TABLES[other]}`"
    names = [item for kind in wanted for item in known[kind]]
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    if near:
        return f"there is no such {what}; did you mean {' or '.join(f'`{item}`' for item in near)}?"
    return (
        f"there is no such {what}; there are {', '.join(names[:_NAMED]) or 'none'}{' …' if len(names) > _NAMED else ''}"
    )


def _circle(rubric: Rubric, item: RubricItem) -> list[str]:
    """Return the path from an item through its needs back to itself; empty if there is none."""
    ways: list[list[RubricItem]] = [[item]]
    seen = set()
    while ways:
        way = ways.pop()
        for needed in _needed(rubric, way[-1]):
            if needed.key == item.key:
                return [step.name for step in (*way, item)]
            if needed.key not in seen:
                seen.add(needed.key)
                ways.append([*way, needed])
    return []


def _needed(rubric: Rubric, item: RubricItem) -> Iterator[RubricItem]:
    for name in item.needs:
        for kind, other in rubric.named(name, but=item.key):
            found = rubric.item(kind, other)
            if found is not None:
                yield found
