"""The questions that are asked at a terminal, and only there.

Esc and Ctrl-D leave a question without an answer, and the answer that loses nothing is the one that Enter gives.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from goldsmith.cli.menus.prompt import ask_one, ask_several
from goldsmith.cli.menus.rows import Row
from goldsmith.courses.layout.resolve import resolve
from goldsmith.errors.gold import MenuLeft
from goldsmith.foundation.wording import and_more, count_of
from goldsmith.generate.ensure_recipe import KINDS
from goldsmith.generate.freshness import NO_RECIPE, NO_SOLUTION, Freshness, freshness

if TYPE_CHECKING:
    from goldsmith.courses.layout.journal import Journal
    from goldsmith.courses.layout.layout import Assignment
    from goldsmith.courses.scaffold.changes import Change, Plan
    from goldsmith.courses.scaffold.layout_detection import Doubt
    from goldsmith.courses.scaffold.new_plan import Kind

_WHICH = {
    "generate": "Make gold for which assignment?",
    "verify": "Verify the gold of which assignment?",
    "diff": "Compare the gold of which assignment?",
    "check": "Check against the gold of which assignment?",
    "test": "Test which assignment?",
    "rigor": "Measure the gold of which assignment?",
    "handout": "Make a kit of which assignment?",
    "grade": "Grade which assignment?",
    "inject": "Inject the solution of which assignment?",
    "reset": "Reset which assignment?",
}

Answer = TypeVar("Answer")
Wanted = Callable[[Freshness], bool]


def _lacks_gold(state: Freshness) -> bool:
    return state.outcome in ("stale", "missing") and state.reasons not in ((NO_RECIPE,), (NO_SOLUTION,))


def _is_fresh(state: Freshness) -> bool:
    return state.outcome == "fresh"


_TICKED: dict[str, Wanted] = {"generate": _lacks_gold, "verify": lambda state: state.outcome != "missing"}
_POINTED: dict[str, Wanted] = {
    "diff": lambda state: state.outcome == "stale",
    "inject": lambda state: state.outcome != "injected",
}


def ask_assignments(command: str, found: Sequence[Assignment], *, no_color: bool = False) -> list[Assignment]:
    """Ask for one, several or all assignments; each row says how its gold stands."""
    states = [freshness(resolve(item)) for item in found]
    wanted = _TICKED.get(command)
    ticked = [index for index, state in enumerate(states) if wanted is not None and wanted(state)]
    rows = [_row(item, state) for item, state in zip(found, states, strict=True)]
    pointed = ticked[0] if ticked else _first(command, states)
    return _answered(_several(_WHICH[command], rows, ticked=ticked, pointed=pointed, no_color=no_color))


def ask_assignment(command: str, found: Sequence[Assignment], *, no_color: bool = False) -> Assignment:
    """Ask for one of the assignments."""
    states = [freshness(resolve(item)) for item in found]
    rows = [_row(item, state) for item, state in zip(found, states, strict=True)]
    answer: Assignment | None = _one(_WHICH[command], rows, pointed=_first(command, states), no_color=no_color)
    return _answered(answer)


def ask_injected(journals: Sequence[Journal], *, no_color: bool = False) -> list[str]:
    """Ask for the names of assignments to reset, among those whose solution is in place; all are ticked."""
    rows = [Row(item.assignment, item.assignment, "injected", f"since {item.since}") for item in journals]
    return _answered(_several(_WHICH["reset"], rows, ticked=range(len(rows)), no_color=no_color))


def ask_kind(assignment: Assignment, *, no_color: bool = False) -> str:
    """Ask what a first recipe should record."""
    rows = [Row(kind, label, about=description) for kind, (label, description) in KINDS.items()]
    question = f"{assignment.name} has no recipe yet. What should the first one record?"
    answer: str | None = _one(question, rows, no_color=no_color)
    return _answered(answer)


def ask_to_replace(name: str, count: int, others: Sequence[str] = (), *, no_color: bool = False) -> bool:
    """Ask whether gold that would change, or other files in its place, may be replaced; the default is no."""
    rows = [
        Row(False, "Keep", about="keep what is there, write nothing", keys="nk"),
        Row(True, "Replace", about="the new gold takes its place", keys="yr"),
    ]
    question = f"{count_of(count, 'tensor')} of the gold of {name} would change. Replace it?"
    if others:
        question = f"The gold folder of {name} holds edited or foreign files ({', '.join(others)}). Replace them?"
    return bool(ask_one(question, rows, no_color=no_color))


def ask_anyway(*, no_color: bool = False) -> bool:
    """Ask whether a kit that can hold few cases is made all the same; no is the answer that loses nothing."""
    rows = [Row(False, "no", about="nothing is written"), Row(True, "yes", about="a kit of the cases that it can hold")]
    return bool(_answered(_one("Make it all the same?", rows, no_color=no_color)))


def ask_what_to_write(plan: Plan, *, no_color: bool = False) -> list[Change]:
    """Ask which of a plan's changes to write; return those, maybe none."""
    from goldsmith.render.scaffold import shown_name, why

    pending = plan.pending
    many = len(pending) > 1
    choices = [Row("all", "All of it" if many else "Write it", keys="y")]
    choices += [Row("some", "Some of it", about="choose which")] if many else []
    choices.append(Row("nothing", "Nothing", keys="n"))
    question = f"Write {f'these {len(pending)} files' if many else shown_name(plan, pending[0])}?"
    answer: str = _answered(_one(question, choices, no_color=no_color))
    if answer != "some":
        return pending if answer == "all" else []
    rows = [Row(change, shown_name(plan, change), about=why(change)) for change in pending]
    return _answered(_several("Which of them?", rows, ticked=range(len(rows)), no_color=no_color))


def ask_about_layout(doubt: Doubt, *, no_color: bool = False) -> Mapping[str, str]:
    from goldsmith.render.scaffold import doubt_words

    question, words = doubt_words(doubt)
    rows = [Row(option, text) for text, option in zip(words, doubt.options, strict=True)]
    answer: Mapping[str, str] | None = _one(question, rows, no_color=no_color)
    return _answered(answer)


def ask_new_kind(usual: str, *, no_color: bool = False) -> Kind:
    """Ask what a new assignment uses; the usual one comes first."""
    from goldsmith.render.scaffold import kind_words

    rows = [Row(kind, text) for kind, text in kind_words().items()]
    rows.sort(key=lambda item: item.value != usual)
    answer: Kind | None = _one("What does it use?", rows, no_color=no_color)
    return _answered(answer)


def ask_about_edits(name: str, count: int, *, no_color: bool = False) -> str:
    """Ask what to do with edits: `keep`, `save`, `discard`, or `leave` to change nothing."""
    what = "This file was" if count == 1 else f"These {count} files were"
    rows = [
        Row("leave", "Leave", about="everything stays as it is, injected", keys="l"),
        Row("keep", "Keep", about="the edits become the solution", keys="k"),
        Row("save", "Save", about=f"the edits go into {name}-edits/", keys="s"),
        Row("discard", "Discard", about="the edits are lost", keys="d"),
    ]
    question = f"{what} edited while {name} was injected. What should happen to the edits?"
    answer: str | None = _one(question, rows, no_color=no_color)
    return _answered(answer)


def _one(question: str, rows: Sequence[Row], ask: Callable[..., Any] = ask_one, **more: Any) -> Any:
    """Ask, with Ctrl-C the same as Esc: nothing has begun yet."""
    try:
        return ask(question, rows, **more)
    except KeyboardInterrupt:
        return None


def _several(question: str, rows: Sequence[Row], **more: Any) -> list[Any]:
    return _one(question, rows, ask_several, **more) or []


def _answered(answer: Answer | None) -> Answer:
    if not answer:
        raise MenuLeft
    return answer


def _row(assignment: Assignment, state: Freshness) -> Row:
    why = f": {_short(state.reasons[0])}" if state.reasons else ""
    more = and_more(state.reasons)
    detail = "; ".join(state.reasons) if state.reasons and (more or why != f": {state.reasons[0]}") else ""
    return Row(assignment, assignment.label, f"{state.outcome}{why}{more}", assignment.description, detail)


def _short(reason: str) -> str:
    """Shorten a reason to fit next to a name: files without their folders."""
    return re.sub(r"\S*/(?=\S)", "", reason).removesuffix(" since the gold was made")


def _first(command: str, states: Sequence[Freshness]) -> int:
    wanted = _POINTED.get(command, _is_fresh)
    return next((index for index, state in enumerate(states) if wanted(state)), 0)
