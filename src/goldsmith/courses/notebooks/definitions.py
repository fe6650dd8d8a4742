"""Which statements of a notebook belong to its definitions: a slice by the names that they bind and need."""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from goldsmith.courses.notebooks.statements import BUILTIN, Broken, Definition, Parsed, Statement

GIVEN = {"display": "IPython.display", "get_ipython": "IPython"}
"""Names that every cell has without an import, and where they are from."""


@dataclass
class Slice:
    """What is kept of a notebook, in the order in which it can run.

    `broken` are cells that Python cannot parse and that have the last definition of something needed. `missing` says of
    needed names where the code that binds them was left out. `moved` are statements that come earlier than in the
    notebook, because an earlier cell needs them at once. `given` are needed names that IPython has for everybody.
    """

    kept: list[Statement] = field(default_factory=list)
    broken: list[Broken] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)
    moved: list[tuple[Statement, Statement, str]] = field(default_factory=list)
    redefined: list[tuple[str, list[Statement]]] = field(default_factory=list)
    given: list[str] = field(default_factory=list)


def find_definitions(parsed: Parsed, wanted: Collection[str] = ()) -> Slice:
    """Keep all imports, functions and classes, what they need to be defined, and what those that are `wanted` need to
    be called. Without `wanted`, all are."""
    slicer = _Slicer(parsed)
    names = set(wanted) & (slicer.names | {name for _, item in parsed.broken for name in item.names})
    slicer.keep_definitions(reached=not names)
    if not names:
        slicer.need_unfinished()
    for name in [*sorted(names), *slicer.exported()]:
        slicer.need(name, slicer.end, reached=True)
    return slicer.result()


class _Slicer:
    def __init__(self, parsed: Parsed) -> None:
        self._parsed = parsed
        self._statements = parsed.statements
        self.end = len(self._statements)
        self._events: dict[str, list[int]] = {}
        for item in self._statements:
            for name in item.binds | item.changes:
                self._events.setdefault(name, []).append(item.position)
        self._kept: set[int] = set()
        self._reached: set[int] = set()
        self._walked: set[tuple[str, int, bool]] = set()
        self._queue: list[tuple[str, int, bool]] = []
        self._needed: set[str] = set()
        self._missing: dict[str, str] = {}

    @property
    def names(self) -> set[str]:
        return {name for item in self._statements for name in item.binds}

    def exported(self) -> list[str]:
        """Return `__all__`, where there is one, and the names in it."""
        positions = self._events.get("__all__", [])
        nodes = (node for number in positions for node in ast.walk(self._statements[number].node))
        listed = [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
        return [*(["__all__"] if positions else []), *(name for name in listed if name in self._events)]

    def keep_definitions(self, *, reached: bool) -> None:
        for item in self._statements:
            if item.is_definition:
                self._keep(item, reached=reached)
                for name in () if item.is_import else sorted(item.binds):
                    self._queue.append((name, self.end, reached))  # what changes it, such as `Model.forward = forward`
        self._work()

    def need_unfinished(self) -> None:
        """Count definitions that are left to fill in among those that are there."""
        for _, broken in self._parsed.broken:
            self._needed |= {name for item in broken.unfinished for name in item.binds}

    def need(self, name: str, position: int, *, reached: bool) -> None:
        self._queue.append((name, position, reached))
        self._work()

    def _work(self) -> None:
        while self._queue:
            self._bind(*self._queue.pop())

    def _bind(self, name: str, position: int, reached: bool) -> None:
        """Keep what gives `name` its value just before a position, or after it where nothing does before."""
        self._needed.add(name)
        events = self._events.get(name, [])
        number = bisect_left(events, position)
        binders: list[Statement] = []
        changes: list[Statement] = []
        while number and (name, events[number - 1], reached) not in self._walked:
            number -= 1
            item = self._statements[events[number]]
            self._walked.add((name, item.position, reached))
            if name not in item.binds:
                changes.append(item)
                continue
            why = item.why_never
            if why:
                self._missing.setdefault(name, f"{item.cell.place(item.first)}, which was left out: {why}")
                continue
            binders.append(item)
            if item.certain:
                break
        if not binders and number == 0:
            binders = self._first_after(name, position)
        for item in binders:
            self._keep(item, reached=reached or not item.is_definition)
        if not any(item.is_import for item in binders):
            for item in changes:
                if not item.why_never:
                    self._keep(item, reached=True)

    def _first_after(self, name: str, position: int) -> list[Statement]:
        events = self._events.get(name, [])
        later = (self._statements[number] for number in events[bisect_left(events, position) :])
        return [item for item in later if name in item.binds and not item.why_never][:1]

    def _keep(self, item: Statement, *, reached: bool) -> None:
        if item.position not in self._kept:
            self._kept.add(item.position)
            called = item.called if isinstance(item.node, Definition) else item.now
            self._queue += [(name, item.position, name in called) for name in sorted(item.now)]
        if reached and item.position not in self._reached:
            self._reached.add(item.position)
            self._queue += [(name, item.position, True) for name in sorted(item.now)]
            for name in sorted(item.later):
                self._queue += [(name, item.position, True), (name, self.end, True)]

    def result(self) -> Slice:
        found = Slice()
        kept = [self._statements[number] for number in sorted(self._kept)]
        bound = {name for item in kept for name in item.binds}
        last = {name: item.position for item in kept for name in item.binds}
        for position, broken in self._parsed.broken:
            if any(name in self._needed and last.get(name, -1) < position for name in broken.names):
                found.broken.append(broken)
        told = {name for broken in found.broken for name in broken.names}
        for name in sorted(self._needed - bound - BUILTIN - told):
            why = self._missing.get(name) or self._parsed.skipped.get(name)
            if why:
                found.missing[name] = why
        found.given = sorted(GIVEN.keys() & (self._needed - bound))
        found.kept = self._ordered(kept, found)
        found.redefined = _redefined(kept)
        return found

    def _ordered(self, kept: list[Statement], found: Slice) -> list[Statement]:
        """Order statements as in the notebook, but those that an earlier one needs at once before that one."""
        touching: dict[str, list[Statement]] = {}
        first: dict[str, Statement] = {}
        for item in kept:
            for name in item.binds | item.changes:
                touching.setdefault(name, []).append(item)
            for name in item.binds:
                first.setdefault(name, item)
        done = dict.fromkeys(touching, 0)
        order: list[Statement] = []
        begun: set[int] = set()
        for start in kept:
            stack: list[tuple[Statement, bool]] = [(start, False)]
            while stack:
                item, ready = stack.pop()
                if ready:
                    order.append(item)
                    continue
                if item.position in begun:
                    continue
                begun.add(item.position)
                stack.append((item, True))
                for name in sorted(item.now & first.keys(), reverse=True):
                    others = touching[name]
                    before = []
                    while done[name] < len(others) and others[done[name]].position < item.position:
                        before.append(others[done[name]])
                        done[name] += 1
                    stack += [(other, False) for other in reversed(before)]
                    other = first[name]
                    if other.position > item.position and other.position not in begun:
                        stack.append((other, False))
                        found.moved.append((item, other, name))
        return [item for item in order if _is_future(item)] + [item for item in order if not _is_future(item)]


def _is_future(item: Statement) -> bool:
    return isinstance(item.node, ast.ImportFrom) and item.node.module == "__future__"


def _redefined(kept: Iterable[Statement]) -> list[tuple[str, list[Statement]]]:
    """List functions and classes with more than one definition; a function that is added to a class
    is none, and a class that extends the one before it replaces nothing."""
    found: dict[str, list[Statement]] = {}
    for item in kept:
        if isinstance(item.node, Definition) and not item.node.decorator_list:
            found.setdefault(item.node.name, []).append(item)
    last = {name: items[-1] for name, items in found.items()}
    return [(name, items) for name, items in found.items() if len(items) > 1 and name not in last[name].now]
