"""Right variants: the same program as somebody else might have written it.

Every rewrite keeps the meaning for whatever goes in, up to rounding. Where that depends on types that the source does
not tell, the rewritten place calls a helper that looks at them when it runs (`runtime_helpers.py`).
"""

from __future__ import annotations

import ast
import copy
import random
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from goldsmith.foundation.syntax import decode_source, encode_source, syntax_tree
from goldsmith.source_code.rewriting import formulas, statements
from goldsmith.source_code.rewriting.runtime_helpers import HELPERS
from goldsmith.source_code.rewriting.surroundings import Function, Surroundings

Choose = Callable[[ast.AST], bool]


@dataclass(frozen=True)
class Rewrite:
    """One way to write the same. `apply` asks at each place whether to rewrite it."""

    name: str
    description: str
    apply: Callable[[Function, Surroundings, Choose], None]


@dataclass(frozen=True)
class Variant:
    """The whole file with one part written differently; `line` is the first line of `source` that is. `name` is
    `<part>/<rewrite>`, with a number from the second of a kind on; `part` is `function` or `Class.method`."""

    name: str
    part: str
    rewrite: str
    description: str
    line: int
    content: bytes


Changes = Sequence[tuple[Function, Sequence[tuple[Rewrite, Choose]]]]
REWRITES: tuple[Rewrite, ...] = tuple(
    Rewrite(name, description, apply)
    for name, (description, apply) in {**formulas.REWRITES, **statements.REWRITES}.items()
)


def right_variants(source: bytes, parts: Collection[str] | None = None) -> Iterator[Variant]:
    """Yield a variant for every place that one rewrite changes, part by part: of `parts`, or of all functions and
    methods. Of a source that does not parse there are none."""
    file = _File.read(source)
    if file is None:
        return
    for part, function in file.parts(parts):
        for rewrite in REWRITES:
            places = _places(function, file, rewrite)
            seen: set[bytes] = {source}
            for at, place in enumerate(places):
                content = file.rewritten([(function, [(rewrite, _only(at))])])
                if content is not None and content not in seen:
                    name = f"{part}/{rewrite.name}" if len(seen) == 1 else f"{part}/{rewrite.name}-{len(seen)}"
                    seen.add(content)
                    line = getattr(place, "lineno", function.lineno)
                    yield Variant(name, part, rewrite.name, rewrite.description, line, content)


def whole_variants(source: bytes, parts: Collection[str] | None = None, *, most: int = 24) -> list[Variant]:
    """Return up to `most` variants in which everything is written differently at once: by one rewrite wherever it
    applies, then by a mixture of all, chosen place by place, always the same."""
    file = _File.read(source)
    chosen = list(file.parts(parts)) if file else []
    if file is None or not chosen:
        return []
    line = min(function.lineno for _, function in chosen)
    found: dict[bytes, Variant] = {}

    def add(name: str, description: str, changes: Changes) -> None:
        content = file.rewritten(changes)
        if content is not None and content != source and len(found) < most:
            found.setdefault(content, Variant(name, "", name, description, line, content))

    for rewrite in REWRITES:
        add(rewrite.name, rewrite.description, [(function, [(rewrite, _always)]) for _, function in chosen])
    for number in range(1, 3 * most):
        some = _some(random.Random(number))
        mixed = [(function, [(rewrite, some) for rewrite in REWRITES]) for _, function in chosen]
        if len(found) < most:
            add(f"mixture-{number}", "several rewrites at once", mixed)
    return list(found.values())


def _always(_: ast.AST) -> bool:
    return True


def _some(draw: random.Random) -> Choose:
    share = draw.choice((0.3, 0.5, 0.8))
    return lambda _: draw.random() < share


def _only(at: int) -> Choose:
    left = iter(range(at, -1, -1))
    return lambda _: next(left, -1) == 0


def _places(function: Function, file: _File, rewrite: Rewrite) -> list[ast.AST]:
    found: list[ast.AST] = []

    def note(place: ast.AST) -> bool:
        found.append(place)
        return False

    rewrite.apply(copy.deepcopy(function), file.surroundings(), note)
    return found


@dataclass(frozen=True)
class _File:
    content: bytes
    lines: Sequence[str]
    tree: ast.Module

    @classmethod
    def read(cls, content: bytes) -> _File | None:
        try:
            return cls(content, decode_source(content).split("\n"), syntax_tree(content))
        except (SyntaxError, ValueError, RecursionError):
            return None

    def surroundings(self) -> Surroundings:
        return Surroundings.of(self.tree)

    def parts(self, wanted: Collection[str] | None) -> Iterator[tuple[str, Function]]:
        """Yield functions and methods by dotted name; what is compiled from its source or runs asynchronously stays as
        it is."""

        def inside(body: Sequence[ast.stmt], prefix: str) -> Iterator[tuple[str, Function]]:
            for node in body:
                if isinstance(node, ast.FunctionDef) and not _is_compiled(node):
                    name = f"{prefix}{node.name}"
                    if wanted is None or name in wanted or prefix.rstrip(".") in wanted:
                        yield name, node
                elif isinstance(node, ast.ClassDef):
                    yield from inside(node.body, f"{prefix}{node.name}.")

        yield from inside(self.tree.body, "")

    def rewritten(self, changes: Changes) -> bytes | None:
        """Return the file with functions rewritten, the rest of it as it is; None where nothing changed or the result
        is not Python."""
        around = self.surroundings()
        lines = list(self.lines)
        for function, rewrites in sorted(changes, key=lambda item: -item[0].lineno):
            changed = copy.deepcopy(function)
            for rewrite, choose in rewrites:
                rewrite.apply(changed, around, choose)
            if ast.dump(changed) == ast.dump(function):
                continue
            first = min([function.lineno, *(item.lineno for item in function.decorator_list)])
            lines[first - 1 : function.end_lineno] = _text(changed, lines[first - 1][: function.col_offset])
        if lines == list(self.lines):
            return None
        if around.helpers & self.surroundings().names:
            return None
        if around.helpers:
            at = self._before_definitions()
            lines[at:at] = ["\n\n".join(HELPERS[name] for name in HELPERS if name in around.helpers), ""]
        content = encode_source("\n".join(lines), self.content)
        try:
            compile(content, "<variant>", "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError):
            return None
        return content

    def _before_definitions(self) -> int:
        """Return how many lines precede the first function or class."""
        for node in self.tree.body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                return min([node.lineno, *(item.lineno for item in node.decorator_list)]) - 1
        return len(self.lines)


def _is_compiled(function: ast.FunctionDef) -> bool:
    words = ("jit", "compile", "kernel", "vmap", "overload", "property")
    return any(word in ast.unparse(item) for item in function.decorator_list for word in words)


def _text(function: Function, indentation: str) -> list[str]:
    """Write a function as it stands in blocks that are indented so."""
    depth = len(indentation) // 4 if indentation == " " * (len(indentation) // 4 * 4) else 0
    node: ast.stmt = ast.fix_missing_locations(function)
    for _ in range(depth):  # not by indenting lines, of which some may be inside a string
        node = ast.ClassDef(name="_", bases=[], keywords=[], body=[node], decorator_list=[])
    lines = ast.unparse(ast.fix_missing_locations(ast.Module([node], []))).split("\n")[depth:]
    while not lines[0]:
        lines = lines[1:]
    return lines if depth else [indentation + line if line else line for line in lines]
