"""Find where code uses what an assignment forbids, such as a ready-made `torch.nn.MultiheadAttention`, by reading it.

Follows imports, aliases, attributes, `getattr` with a literal name, and modules of the submission that pass a name on.
Names that are put together at run time are not found.
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from goldsmith.foundation.syntax import syntax_tree

MAX_USES = 20
_LARGEST, _ALL, _ROUNDS = 2**20, 2**23, 3
_MOST_MEANINGS, _LONGEST = 16, 200
"""Limits for code written so that the possible meanings of its names grow without bound."""


@dataclass
class _Module:
    """One file: what its names stand for, as dotted names, and the modules that it star-imports from."""

    tree: ast.Module
    lines: list[str]
    names: dict[str, set[str]] = field(default_factory=dict)
    stars: set[str] = field(default_factory=set)
    found: dict[int, set[str]] = field(default_factory=dict)
    """What each expression stands for, as far as it has been asked: it is part of others, which ask again."""

    def dotted(self, node: ast.AST) -> set[str]:
        """Return every dotted name that an expression may stand for."""
        if id(node) not in self.found:
            self.found[id(node)] = {name for name in self._dotted(node) if len(name) <= _LONGEST}
        return self.found[id(node)]

    def learn(self, name: str, found: set[str]) -> None:
        known = self.names.setdefault(name, set())
        known.update(sorted(found - known)[: _MOST_MEANINGS - len(known)])

    def _dotted(self, node: ast.AST) -> set[str]:
        match node:
            case ast.Name(id=name):
                return self.names.get(name) or {f"{star}.{name}" for star in self.stars}
            case ast.Attribute():
                inner, rest = _split(node)
                return {f"{base}.{rest}" for base in self.dotted(inner)} if rest else set()
            case ast.Call(func=ast.Name(id="getattr"), args=[value, ast.Constant(value=str(name)), *_]):
                return {f"{base}.{name}" for base in self.dotted(value)}
            case ast.Call(func=ast.Name(id="__import__") | ast.Attribute(attr="import_module"), args=[first, *_]):
                return {first.value} if isinstance(first, ast.Constant) and isinstance(first.value, str) else set()
        return set()


def _split(node: ast.Attribute) -> tuple[ast.AST, str]:
    """Split `a.b.c` at its first dot; return the node itself and "" where the chain is absurdly long."""
    inner: ast.AST = node
    names: list[str] = []
    while isinstance(inner, ast.Attribute):
        names.append(inner.attr)
        inner = inner.value
        if len(names) > _LONGEST // 2:
            return node, ""
    return inner, ".".join(reversed(names))


def forbidden_uses(files: Mapping[str, bytes], names: Sequence[str]) -> Iterator[tuple[str, str, int, str]]:
    """Yield each use of one of `names` as that name, its file, line and the line's text; the first on each line."""
    modules = dict(_parsed(files)) if names else {}
    for _ in range(_ROUNDS):  # names are passed on from file to file
        for module in modules.values():
            module.found.clear()
            _learn(module, {_stem(file): other for file, other in modules.items()})
    for file, module in modules.items():
        module.found.clear()
        seen: set[tuple[str, int]] = set()
        for node in ast.walk(module.tree):
            for found in _used(module, node):
                for name in names:
                    line = getattr(node, "lineno", 1)
                    if _is_of(found, name) and (name, line) not in seen:
                        seen.add((name, line))
                        text = module.lines[line - 1].strip() if line <= len(module.lines) else ""
                        yield name, file, line, text


def _parsed(files: Mapping[str, bytes]) -> Iterator[tuple[str, _Module]]:
    total = 0
    for file, content in files.items():
        total += len(content)
        if file.endswith(".py") and len(content) <= _LARGEST and total <= _ALL:
            with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):
                yield file, _Module(syntax_tree(content), content.decode("utf-8", "replace").splitlines())


def _learn(module: _Module, others: Mapping[str, _Module]) -> None:
    """Record what imports and assignments say about names."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            for item in node.names:
                name = item.asname or item.name.partition(".")[0]
                module.learn(name, {item.name if item.asname else name})
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            own = others.get(base.rpartition(".")[2])
            for item in node.names:
                if item.name == "*":
                    module.stars |= {base} | (own.stars if own else set())
                    for name, found in own.names.items() if own and own is not module else ():
                        module.learn(name, found)
                    continue
                passed_on = own.names.get(item.name, set()) if own else set()
                module.learn(item.asname or item.name, {f"{base}.{item.name}", *passed_on})
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found = module.dotted(node.value)
            for target in targets:
                if isinstance(target, ast.Name) and found:
                    module.learn(target.id, found)


def _used(module: _Module, node: ast.AST) -> set[str]:
    if isinstance(node, ast.Import):
        return {item.name for item in node.names}
    if isinstance(node, ast.ImportFrom):
        return {f"{node.module}.{item.name}" for item in node.names if node.module and not node.level}
    return module.dotted(node) if isinstance(node, ast.Name | ast.Attribute | ast.Call) else set()


def _is_of(found: str, name: str) -> bool:
    """Say whether `found` is `name`, is part of it, or is a longer or internal path to it."""
    if found == name or found.startswith(f"{name}."):
        return True
    theirs, ours = found.split("."), name.split(".")
    if theirs[0] != ours[0] or theirs[-1] != ours[-1] or len(theirs) <= 2:
        return False
    return theirs[:2] == ours[:2] or any(part.startswith("_") for part in theirs[1:-1])


def _stem(file: str) -> str:
    return file.removesuffix(".py").removesuffix("/__init__").rpartition("/")[2]
