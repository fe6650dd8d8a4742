"""Material for a first recipe, from the sources alone: the parts that students write, how they are imported, and public
tests that show how they are called."""

from __future__ import annotations

import ast
import functools
import itertools
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from goldsmith.foundation.ignored_names import LITTER
from goldsmith.process.messages import DraftPart
from goldsmith.source_code.parts import parse_parts, written_by_students
from goldsmith.source_code.stubs import code_of, is_stub
from goldsmith.targets.target import Placement, Target
from goldsmith.workspace.copies import Workspace

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_CALLED = ("forward", "__call__")
_OWN = (*_CALLED, "__init__")
_IMPORTED = re.compile(r"^\s*(?:from|import)\s+(\w+(?:\.\w+)+)", re.MULTILINE)
_MOST_FILES = 400
_TEST = re.compile(r"test_.*\.py|.*_test\.py")


def draft_parts(target: Target, placed: Sequence[Placement]) -> tuple[DraftPart, ...]:
    """Return classes and functions that the starter leaves to students; if it leaves none, all of the solution's."""
    code = [item for item in placed if _is_code(target, item)]
    left = [part for item in code for part in _left_to_students(target, item)]
    return tuple(left or [part for item in code for part in _defined(item)])


def _is_code(target: Target, item: Placement) -> bool:
    name = item.target.name
    return (
        item.target.suffix == ".py"
        and item.source != target.recipe
        and not _TEST.fullmatch(name)
        and name not in ("conftest.py", "setup.py", target.adapter.name)
    )


def _left_to_students(target: Target, item: Placement) -> Iterator[DraftPart]:
    starter = target.starter
    content = starter.read(item.target) if starter else None
    if starter is None or content is None:
        return
    written = written_by_students(content)
    solution = parse_parts(item.read())
    module, search = import_name(starter.folder, item.target)
    for name, node in parse_parts(content).items():
        other = solution.get(name)
        if isinstance(node, ast.ClassDef) and isinstance(other, ast.ClassDef):
            left = _left_alone(node, other)
            for method in (item for item in _methods(node, other, written) if item not in left):
                doc = next((_doc(part) for part in node.body if getattr(part, "name", "") == method), "")
                yield DraftPart(module, f"{name}.{method}" if method else name, is_class=True, search=search, doc=doc)
        elif name in written and isinstance(other, _FUNCTIONS) and not name.startswith("_"):
            if is_stub(other) or (isinstance(node, _FUNCTIONS) and code_of(other) == code_of(node)):
                continue  # the solution leaves it alone, too: next week's
            explicit = _asked_by_adapter(target, f"{module}.{name}")
            yield DraftPart(module, name, search=search, explicit=explicit, doc=_doc(node))


def _left_alone(starter: ast.ClassDef, solution: ast.ClassDef) -> set[str]:
    """Return the methods that the solution leaves as the starter has them, or as stubs."""
    mine = {node.name: node for node in starter.body if isinstance(node, _FUNCTIONS)}
    theirs = [node for node in solution.body if isinstance(node, _FUNCTIONS) and node.name in mine]
    same = {node.name for node in theirs if is_stub(node) or code_of(node) == code_of(mine[node.name])}
    return same - set(_OWN)


def _doc(node: ast.stmt) -> str:
    return (ast.get_docstring(node) or "") if isinstance(node, _FUNCTIONS) else ""


def _asked_by_adapter(target: Target, part: str) -> tuple[str, ...]:
    """Return the arguments, defaults or not, that the adapter needs in every call of a part:
    `@part("backbone.train")`."""
    content = target.adapter.read_bytes() if target.adapter.is_file() else b""
    for node in parse_parts(content).values():
        if not isinstance(node, ast.FunctionDef):
            continue
        for mark in node.decorator_list:
            if isinstance(mark, ast.Call) and [getattr(item, "value", None) for item in mark.args] == [part]:
                names = [item.arg for item in node.args.args]
                return tuple(names[1 : len(names) - len(node.args.defaults)])
    return ()


def _methods(starter: ast.ClassDef, solution: ast.ClassDef, written: set[str]) -> list[str]:
    """Return the methods that students write, in order, and how the object is called; for a class that is empty in the
    starter, all of the solution's."""
    mine = [node.name for node in starter.body if isinstance(node, _FUNCTIONS)]
    theirs = [node.name for node in solution.body if isinstance(node, _FUNCTIONS)]
    found = [name for name in mine if f"{starter.name}.{name}" in written]
    if not mine and theirs:
        found = theirs
    if not found:
        return []
    return list(dict.fromkeys([*found, *(name for name in theirs if name in _CALLED)]))


def _defined(item: Placement) -> Iterator[DraftPart]:
    module, search = import_name(item.source.parents[len(item.target.parts) - 1], item.target)
    for name, node in parse_parts(item.read()).items():
        if name.startswith("_"):
            continue
        if isinstance(node, ast.ClassDef):
            methods = [part.name for part in node.body if isinstance(part, _FUNCTIONS)]
            public = [method for method in methods if not method.startswith("_") or method in _OWN]
            for method in public or [""]:
                yield DraftPart(module, f"{name}.{method}" if method else name, is_class=True, search=search)
        elif isinstance(node, _FUNCTIONS):
            yield DraftPart(module, name, search=search)


def import_name(folder: Path, target: Path) -> tuple[str, str]:
    """Return how a file is imported: its module's name, and the folder to look in if its package is not at the top."""
    inside = target.with_suffix("").parts
    if inside[-1] == "__init__":
        inside = inside[:-1]
    if len(inside) > 1 and _is_imported_whole(folder, ".".join(inside)):
        return ".".join(inside), ""
    top = 0
    for depth in range(len(target.parts) - 1, 0, -1):
        if not (folder / Path(*target.parts[:depth]) / "__init__.py").is_file():
            top = depth
            break
    is_package = len(target.parts) - 1 > top
    if not is_package and _has_code(folder / Path(*target.parts[:1])):
        top = 0
    return ".".join(inside[top:]), Path(*target.parts[:top]).as_posix() if top else ""


def _is_imported_whole(folder: Path, name: str) -> bool:
    """Say whether other files of the folder import a file by its whole name, though its folders may have no
    `__init__.py`."""
    return name in _imported_names(folder)


@functools.lru_cache(maxsize=16)
def _imported_names(folder: Path) -> frozenset[str]:
    """Return the modules that the code in a folder imports, as it writes them."""
    found: set[str] = set()
    for path in itertools.islice(sorted(folder.rglob("*.py")), _MOST_FILES):
        if not LITTER.intersection(path.relative_to(folder).parts):
            found.update(_IMPORTED.findall(path.read_text(encoding="utf-8", errors="replace")))
    return frozenset(found)


def _has_code(folder: Path) -> bool:
    """Return whether a folder can be imported as it is: it contains Python files."""
    return folder.is_dir() and any(folder.glob("*.py"))


def public_tests(target: Target, workspace: Workspace, parts: Sequence[DraftPart]) -> Iterator[str]:
    """Yield test files that students have and that import any of these parts, relative to the workspace's root."""
    assert target.files is not None
    internal = workspace.root / target.project.relative(target.files.internal_tests)
    roots = {part.module.partition(".")[0] for part in parts} | {part.module.rpartition(".")[2] for part in parts}
    imports = re.compile(rf"^\s*(?:from|import)\s.*\b(?:{'|'.join(map(re.escape, sorted(roots)))})\b", re.MULTILINE)
    for path in sorted(workspace.root.rglob("*.py")):
        inside = path.relative_to(workspace.root)
        if not _TEST.fullmatch(path.name) or path.is_relative_to(internal) or LITTER.intersection(inside.parts):
            continue
        if imports.search(path.read_text(encoding="utf-8", errors="replace")):
            yield inside.as_posix()
