"""Mutation operators: small functions, each imitating one mistake that people make, registered under a name.

An operator is shown one node of the solution at a time, as a `Site`, and yields the edits that put its mistake there:

    @operator("sum-for-mean", "a sum is taken where a mean belongs", "norms", ast.Attribute)
    def sum_for_mean(site):
        if site.node.attr == "mean" and site.is_called:
            yield site.rename("sum")
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, TypeVar

from goldsmith.mutants.source import Edit, Function, Source

Mutation = Callable[["Site"], Iterator[Edit | None]]
M = TypeVar("M", bound=Mutation)


@dataclass(frozen=True)
class Operator:
    """An operator. `description` tells users what is wrong with its mutants; `looks_at` are the node types it gets."""

    name: str
    description: str
    family: str
    looks_at: tuple[type[ast.AST], ...]
    mutate: Mutation


REGISTERED: dict[str, Operator] = {}
"""Operators by name. Order is precedence: a mutant that two operators make is attributed to the first."""


def operator(name: str, description: str, family: str, *looks_at: type[ast.AST]) -> Callable[[M], M]:
    """Register an operator under a name that is not taken yet."""

    def register(function: M) -> M:
        if name in REGISTERED:
            raise ValueError(f"there is an operator {name!r} already")
        REGISTERED[name] = Operator(name, description, family, looks_at, function)
        return function

    return register


@dataclass(frozen=True)
class Site:
    """A node that an operator may change. `function` is the function or method it is in."""

    source: Source
    function: Function
    node: Any

    # --- what is there ------------------------------------------------------------------------------------------

    @property
    def parent(self) -> Any:
        return self.source.parents[self.node]

    @property
    def ancestors(self) -> Iterator[ast.AST]:
        """Yield the nodes around this one, from the parent outwards up to the function."""
        node = self.node
        while node is not self.function:
            node = self.source.parents[node]
            yield node

    @property
    def statement(self) -> ast.stmt:
        """Return the innermost statement around the node, or the node itself."""
        return next(item for item in (self.node, *self.ancestors) if isinstance(item, ast.stmt))

    @property
    def is_called(self) -> bool:
        return isinstance(self.parent, ast.Call) and self.parent.func is self.node

    @property
    def names(self) -> set[str]:
        """Return every name that the function reads, sets or takes as an argument."""
        found = {node.id for node in ast.walk(self.function) if isinstance(node, ast.Name)}
        return found | {node.arg for node in ast.walk(self.function.args) if isinstance(node, ast.arg)}

    @property
    def imported(self) -> set[str]:
        """Return the names that the file imports: `torch`, `F`, `np`."""
        return self.source.imported

    def text(self, node: ast.AST) -> str:
        """Return a node as it is written in the file."""
        return self.source.text(node)

    # --- what can be done to it -------------------------------------------------------------------------------------

    def replace(self, node: ast.expr, text: str) -> Edit:
        """Replace the expression `node` by `text`, in parentheses if needed; where `x = x` would be left, drop it."""
        statement = self.source.parents[node]
        if (
            isinstance(statement, ast.Assign)
            and node is statement.value
            and len(statement.targets) == 1
            and text == self.text(statement.targets[0])
            and statement.lineno == statement.end_lineno
        ):
            return self.drop(statement)
        return Edit(*self._room(node), (text, f"({text})"))

    def _room(self, node: ast.expr) -> tuple[int, int]:
        """Return where the expression is, including parentheses right around it: they may no longer be needed."""
        start, end = self.source.span(node)
        around = self.source.content[start - 1 : start] + self.source.content[end : end + 1]
        return (start - 1, end + 1) if around == b"()" else (start, end)

    def write(self, node: ast.expr, template: str, *parts: ast.expr | str) -> Edit:
        """Replace the expression `node` by `template` filled with `parts`, with as few parentheses as possible."""
        texts = [part if isinstance(part, str) else self.text(part) for part in parts]
        choices = product(*([text, f"({text})"] for text in texts))
        filled = [template.format(*choice) for choice in choices]
        return Edit(*self._room(node), (*filled, *(f"({text})" for text in filled)))

    def swap(self, one: ast.expr, two: ast.expr) -> Edit:
        """Swap two expressions, of which `one` comes before `two`."""
        (start, end), (start_2, end_2) = self.source.span(one), self.source.span(two)
        between = self.source.content[end:start_2].decode("utf-8")
        first, second = self.text(two), self.text(one)
        texts = [f"{a}{between}{b}" for a in (first, f"({first})") for b in (second, f"({second})")]
        return Edit(start, end_2, tuple(texts))

    def rename(self, text: str) -> Edit:
        """Give an attribute or a name another name."""
        end = self.source.span(self.node)[1]
        old = self.node.attr if isinstance(self.node, ast.Attribute) else self.node.id
        return Edit(end - len(old.encode("utf-8")), end, (text,))

    def between(self, one: ast.expr, two: ast.expr, old: str, new: str) -> Edit | None:
        """Replace the operator sign between two expressions; None where `old` is not there exactly once."""
        start, end = self.source.span(one)[1], self.source.span(two)[0]
        text = self.source.content[start:end].decode("utf-8")
        if text.count(old) != 1:
            return None
        at = start + len(text.partition(old)[0].encode("utf-8"))
        return Edit(at, at + len(old.encode("utf-8")), (new,))

    def argument(self, call: ast.Call, text: str) -> Edit:
        """Add an argument at the end of a call."""
        end = self.source.span(call)[1] - 1
        inside = self.source.content[self.source.span(call.func)[1] : end].decode("utf-8").strip()
        comma = "" if inside == "(" or inside.endswith(",") else ", "
        return Edit(end, end, (f"{comma}{text}",))

    def without(self, call: ast.Call, argument: ast.expr | ast.keyword) -> Edit:
        """Remove an argument of a call, and the comma next to it."""
        start, end = self.source.span(argument)
        before = self.source.content[: self.source.span(call.func)[1]]
        inside = self.source.content[len(before) : start]
        if inside.rstrip().endswith(b","):
            start = len(before) + len(inside.rstrip()) - 1
        else:
            rest = self.source.content[end:]
            if rest.lstrip(b" ").startswith(b","):
                end += len(rest) - len(rest.lstrip(b" ").removeprefix(b",").lstrip(b" "))
        return Edit(start, end, ("",))

    def drop(self, statement: ast.stmt) -> Edit:
        """Replace a statement by `pass`."""
        return Edit(*self.source.span(statement), ("pass",))


def sites(source: Source, function: Function) -> Iterator[Site]:
    """Yield every node of a function's body that may be changed; not assertions, errors, imports, prints or types."""
    pending: list[ast.AST] = list(reversed(function.body))
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Assert | ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom) or _is_talk(node):
            continue
        yield Site(source, function, node)
        below = [child for child in ast.iter_child_nodes(node) if not _is_annotation(node, child)]
        pending += reversed(below)


_TALK = ("print", "warn", "debug", "info", "warning", "log")


def _is_talk(node: ast.AST) -> bool:
    """Say whether it is a docstring, or a call of `print` and the like."""
    if not isinstance(node, ast.Expr):
        return False
    call = node.value
    if isinstance(call, ast.Constant):
        return True
    name = getattr(call.func, "attr", getattr(call.func, "id", "")) if isinstance(call, ast.Call) else ""
    return name in _TALK


def _is_annotation(node: ast.AST, child: ast.AST) -> bool:
    return child is getattr(node, "annotation", None) or child is getattr(node, "returns", None)
