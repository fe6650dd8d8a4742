"""A Python file as mutation needs it: its bytes, its syntax tree, the parents of nodes, and the splicing of edits."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from goldsmith.foundation.syntax import syntax_tree

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Edit:
    """A replacement of the bytes from `start` to `end` by the last of `texts`.

    The first text that means the same there is taken, so that an edit has parentheses only where they are needed.
    """

    start: int
    end: int
    texts: tuple[str, ...]


@dataclass
class Source:
    """One Python file. `content` must be UTF-8, in whose bytes the tree's offsets count."""

    content: bytes
    tree: ast.Module = field(init=False)

    def __post_init__(self) -> None:
        self.content.decode("utf-8")
        self.tree = syntax_tree(self.content)

    @cached_property
    def _starts(self) -> list[int]:
        starts = [0]
        for line in self.content.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        return starts

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        return {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    @cached_property
    def imported(self) -> set[str]:
        """Return the names that the file imports: `torch`, `F`, `np`."""
        found = [node for node in ast.walk(self.tree) if isinstance(node, ast.Import | ast.ImportFrom)]
        return {item.asname or item.name.partition(".")[0] for node in found for item in node.names}

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Return where a node begins and ends in the bytes."""
        assert isinstance(node, ast.expr | ast.stmt | ast.keyword | ast.arg | ast.withitem)
        if isinstance(node, ast.withitem):
            return self.span(node.context_expr)
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._starts[node.lineno - 1] + node.col_offset, self._starts[node.end_lineno - 1] + node.end_col_offset

    def text(self, node: ast.AST) -> str:
        start, end = self.span(node)
        return self.content[start:end].decode("utf-8")

    def functions(self) -> Iterator[tuple[str, Function]]:
        """Yield functions and methods by dotted name; nested functions belong to the one around them."""

        def inside(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, Function]]:
            for node in body:
                if isinstance(node, Function):
                    yield f"{prefix}{node.name}", node
                elif isinstance(node, ast.ClassDef):
                    yield from inside(node.body, f"{prefix}{node.name}.")

        yield from inside(self.tree.body, "")

    def splice(self, edit: Edit) -> bytes | None:
        """Return the file after `edit`; None if that is not Python, changes nothing, or changes more than one line."""
        start, end, before = self._statement_around(edit)
        head, tail = self.content[start : edit.start], self.content[edit.end : end]
        versions = [head + text.encode("utf-8") + tail for text in edit.texts]
        meant = _dump(versions[-1])
        if meant in (None, before):
            return None
        changed = next(item for item in versions if _dump(item) == meant)
        whole = self.content[:start] + changed + self.content[end:]
        return whole if self.changed_line(whole) is not None else None

    def _statement_around(self, edit: Edit) -> tuple[int, int, str | None]:
        """Return start, end and meaning of the top-level statement around an edit: quicker to parse than the file."""
        return next(item for item in self._statements if item[0] <= edit.start and edit.end <= item[1])

    @cached_property
    def _statements(self) -> list[tuple[int, int, str | None]]:
        found = []
        for node in self.tree.body:
            decorators = getattr(node, "decorator_list", [])
            first = min(node.lineno, *(item.lineno for item in decorators)) if decorators else node.lineno
            start, end = self._starts[first - 1], self._starts[node.end_lineno or first]
            found.append((start, end, _dump(self.content[start:end])))
        return found

    def changed_line(self, other: bytes) -> tuple[int, str, str] | None:
        """Return number and both texts of the one line in which `other` differs; None where it is not exactly one."""
        mine, theirs = (item.decode("utf-8").split("\n") for item in (self.content, other))
        if len(mine) != len(theirs):
            return None
        found = [(number, *pair) for number, pair in enumerate(zip(mine, theirs, strict=True), 1) if pair[0] != pair[1]]
        return (found[0][0], found[0][1].rstrip("\r"), found[0][2].rstrip("\r")) if len(found) == 1 else None


def _dump(content: bytes) -> str | None:
    try:
        return ast.dump(syntax_tree(content))
    except (SyntaxError, ValueError, RecursionError):
        return None
