"""Find where a solution has drifted from its starter, so that no correct submission could agree with its gold.

Read from the sources alone. A part is *provided* if it does something and nothing in it is marked as left to students
(`stubs.py`). Students get it as it is, so the solution must have the same code, up to comments, docstrings and
formatting. What students write must keep the signature that the starter gives it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from goldsmith.foundation.syntax import syntax_tree
from goldsmith.source_code.parts import ParsedFile, parse, written_by_students
from goldsmith.source_code.stubs import Function, code_of, parameters, signature
from goldsmith.targets.target import Placement, Starter

_Assignment = ast.Assign | ast.AnnAssign


@dataclass(frozen=True)
class Drift:
    """One difference: the dotted name of the `part`, and one line each from starter and solution."""

    part: str
    problem: str
    starter: str
    solution: str

    def __str__(self) -> str:
        sides = f" (starter: {self.starter}; solution: {self.solution})" if self.starter or self.solution else ""
        return f"{self.part} {self.problem}{sides}"


def find_drift(starter: Starter, recipe: Path, placed: Sequence[Placement]) -> list[Drift]:
    """List every difference between starter and solution that would make a correct submission disagree with the
    gold."""
    found: list[Drift] = []
    starters: dict[str, ParsedFile] = {}
    for item in placed:
        if item.target.suffix != ".py" or item.source == recipe:
            continue
        one, two = _read(starter.module(item.target)), _read(item)
        if one is None or two is None:
            continue
        starters[item.target.stem] = one
        found += _module_drift(item.target.stem, one, two)
    found += _unknown_names(recipe, starters, {item.part for item in found})
    return found


def is_provided(starter: Starter, part: str) -> bool:
    """Say whether the starter provides `part`, a method such as `backbone.RMSNorm.__init__`."""
    file, class_name, method = part.split(".", 2)
    module = _read(starter.module(Path(f"{file}.py")))
    node = module.parts.get(class_name) if module else None
    if module is None or not isinstance(node, ast.ClassDef):
        return False
    found = [item for item in node.body if isinstance(item, Function) and item.name == method]
    return module.is_provided(found[0]) if found else module.is_provided(node)


def written_parts(starter: Starter, recipe: Path, placed: Sequence[Placement]) -> Iterator[str]:
    """Yield the parts of replaced files that the starter leaves to students."""
    for item in placed:
        replaced = starter.module(item.target) if item.target.suffix == ".py" else None
        if replaced is not None and item.source != recipe:
            for name in sorted(written_by_students(replaced.read())):
                yield f"{item.target.stem}.{name}"


def _read(module: Placement | None) -> ParsedFile | None:
    try:
        return parse(module.read()) if module else None
    except OSError:
        return None


def _module_drift(name: str, starter: ParsedFile, solution: ParsedFile) -> Iterator[Drift]:
    for part, node in starter.parts.items():
        if part.startswith("_"):
            continue
        other = solution.parts.get(part)
        if other is None:
            yield Drift(f"{name}.{part}", "is missing from the solution", "", "")
        elif isinstance(node, ast.ClassDef) and isinstance(other, ast.ClassDef):
            yield from _class_drift(f"{name}.{part}", starter, node, other)
        else:
            yield from _part_drift(f"{name}.{part}", starter, node, other)


def _class_drift(name: str, module: ParsedFile, starter: ast.ClassDef, solution: ast.ClassDef) -> Iterator[Drift]:
    mine = {node.name: node for node in starter.body if isinstance(node, Function)}
    theirs = {node.name: node for node in solution.body if isinstance(node, Function)}
    if [ast.dump(base) for base in starter.bases] != [ast.dump(base) for base in solution.bases]:
        yield Drift(name, "has other base classes", _bases(starter), _bases(solution))
    for method, node in mine.items():
        if method in theirs:
            yield from _part_drift(f"{name}.{method}", module, node, theirs[method])
        else:
            yield Drift(f"{name}.{method}", "is missing from the solution", "", "")
    added = theirs.get("__init__")
    if "__init__" not in mine and added is not None and _required(added):
        yield Drift(f"{name}.__init__", "is not in the starter but takes arguments", "none", signature(added))


def _part_drift(name: str, module: ParsedFile, starter: ast.stmt, solution: ast.stmt) -> Iterator[Drift]:
    """Compare a provided part by its code, and one that students write by its signature."""
    provided = module.is_provided(starter)
    if isinstance(starter, Function) and isinstance(solution, Function):
        if provided and code_of(starter) != code_of(solution):
            problem = "is provided by the starter, but other code in the solution"
            yield Drift(name, problem, *_differing(starter, solution))
        elif not provided and not _fits(starter, solution):
            yield Drift(name, "has another signature", signature(starter), signature(solution))
    elif provided and isinstance(starter, _Assignment) and isinstance(solution, _Assignment):
        one, two = ast.unparse(starter), ast.unparse(solution)
        if one != two:
            yield Drift(name, "has another value", one, two)


def _fits(starter: Function, solution: Function) -> bool:
    """Say whether every call that the starter's signature allows means the same to the solution's."""
    mine, theirs = _parameters(starter), _parameters(solution)
    same = all(theirs.get(name) == default for name, default in mine.items())
    in_order = [name for name in theirs if name in mine] == list(mine)
    return same and in_order and all(theirs[name] is not None for name in theirs if name not in mine)


def _parameters(node: Function) -> dict[str, str | None]:
    """Return the parameters' names in order with their defaults as text, None for those without."""
    return {item.arg: ast.unparse(default) if default else None for item, default in parameters(node)}


def _required(node: Function) -> list[str]:
    return [name for name, default in list(_parameters(node).items())[1:] if default is None]


def _bases(node: ast.ClassDef) -> str:
    return ", ".join(ast.unparse(base) for base in node.bases) or "none"


def _differing(starter: Function, solution: Function) -> tuple[str, str]:
    """Return the first line of code in which the two differ, from each."""
    one, two = code_of(starter).splitlines(), code_of(solution).splitlines()
    for first, second in zip(one, two, strict=False):
        if first != second:
            return first.strip(), second.strip()
    return ("…", two[len(one)].strip()) if len(two) > len(one) else (one[len(two)].strip(), "…")


def _unknown_names(recipe: Path, starters: Mapping[str, ParsedFile], told: set[str]) -> Iterator[Drift]:
    """Yield names that the recipe imports from a module of the assignment and that the starter's module lacks."""
    module = recipe.is_file() and _tree(recipe)
    if not module:
        return
    for node in ast.walk(module):
        if not isinstance(node, ast.ImportFrom) or not node.module:
            continue
        name = node.module.rpartition(".")[2]
        if name not in starters:
            continue
        for item in node.names:
            part = f"{name}.{item.name}"
            if item.name != "*" and item.name not in starters[name].parts and part not in told:
                yield Drift(part, "is used by the recipe but not in the starter", "", "")


def _tree(path: Path) -> ast.Module | None:
    try:
        return syntax_tree(path.read_bytes())
    except (SyntaxError, ValueError):
        return None
