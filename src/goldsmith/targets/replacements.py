"""Find what another implementation takes the place of: the modules that a recipe imports, by name."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from goldsmith.errors.lone_recipe import NoSuchImplementation, NothingToReplace
from goldsmith.foundation.ignored_names import LITTER
from goldsmith.foundation.syntax import syntax_tree
from goldsmith.targets.target import EVERYTHING, Project, Replacements, Target

NEVER_REPLACED = frozenset({*sys.stdlib_module_names, "goldsmith", "numpy", "torch"})
"""Top-level modules that are nobody's implementation."""
_NAMED = re.compile(r"([A-Za-z_][\w.]*)=(.+)", re.DOTALL)
_MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


def imported_modules(recipe: Path) -> list[str]:
    """List the modules that a recipe imports itself, in order, without the standard library, NumPy and torch."""
    found: dict[str, None] = {}
    for node in ast.walk(syntax_tree(recipe.read_bytes())):
        if isinstance(node, ast.Import):
            found |= dict.fromkeys(item.name for item in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found[node.module] = None
    return [name for name in found if name.partition(".")[0] not in NEVER_REPLACED]


def find_replacements(text: str, target: Target) -> Replacements | None:
    """Return what `--with TEXT` puts in the place of which module; None where it is no path and no module.

    TEXT is a folder, a file or an importable module; `NAME=TEXT` says what it takes the place of.
    """
    named = _NAMED.fullmatch(text) if not os.path.lexists(text) else None
    name, where = (named[1], named[2]) if named else ("", text)
    path = Path(os.path.abspath(where))
    recipe, modules = target.recipe, imported_modules(target.recipe)
    if path.is_dir():
        return ((name, str(path)),) if name else _of_folder(path, modules, text, recipe)
    if path.is_file() and path.suffix == ".py":
        return ((name or _of_file(path, modules, text, recipe), str(path)),)
    if path.exists():
        raise NoSuchImplementation(where)
    if _MODULE.fullmatch(where) and _is_importable(where, target.search_path):
        return ((name or _only(_tops(modules), text, recipe, modules), where),)
    if name:
        raise NoSuchImplementation(where)
    return None


def folders_with(bases: Sequence[Path], modules: Sequence[str]) -> list[Path]:
    """Return those folders that have any of these modules, by their top-level names."""
    return [base for base in bases if any(_has(base, name) for name in _tops(modules))]


def search_path_of(recipe: Path, root: Path) -> tuple[Path, ...]:
    """Return the folders that modules are found in besides those of the environment: the recipe's own before them, as
    for a script, the project's after them."""
    around = [folder for folder in (root / "src", root) if folder.is_dir()]
    return tuple(dict.fromkeys((recipe.parent, *around)))


def moved_to(target: Target, root: Path) -> Target:
    """Return the recipe as it is in another copy of its project, with that copy's modules before all others."""
    bases = bases_in(target, root)
    recipe = root / target.recipe.relative_to(target.project.root)
    return replace(
        target,
        recipe=recipe,
        project=Project(root),
        replacements=everything_in(bases),
        search_path=search_path_of(recipe, root),
    )


def bases_in(target: Target, root: Path) -> list[Path]:
    """Return those folders in another copy of the project that have any module that the recipe imports."""
    inside = [folder.relative_to(target.project.root) for folder in target.search_path]
    return folders_with([root / folder for folder in inside], imported_modules(target.recipe))


def everything_in(folders: Sequence[Path]) -> Replacements:
    """Return replacements by which all modules in these folders come before others."""
    return tuple((EVERYTHING, str(folder)) for folder in folders)


def _of_folder(folder: Path, modules: Sequence[str], text: str, recipe: Path) -> Replacements:
    bases = folders_with([folder, folder / "src"], modules)
    if bases:
        return everything_in(bases)
    tops = _tops(modules)
    if folder.name in tops:
        return ((folder.name, str(folder)),)
    if not any(folder.rglob("*.py")):
        raise NothingToReplace(text, recipe.name, tops)
    return ((_only(tops, text, recipe, modules), str(folder)),)


def _of_file(file: Path, modules: Sequence[str], text: str, recipe: Path) -> str:
    same = [name for name in modules if name.rpartition(".")[2] == file.stem]
    return same[0] if len(same) == 1 else _only(modules, text, recipe, modules)


def _only(names: Sequence[str], text: str, recipe: Path, modules: Sequence[str]) -> str:
    """Return the one module that can be meant."""
    if len(names) != 1:
        raise NothingToReplace(text, recipe.name, modules)
    return names[0]


def _tops(modules: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(name.partition(".")[0] for name in modules))


def _has(base: Path, name: str) -> bool:
    folder = base / name
    return (base / f"{name}.py").is_file() or (
        folder.is_dir() and name not in LITTER and any(any(folder.glob(pattern)) for pattern in ("*.py", "*/*.py"))
    )


def _is_importable(name: str, search_path: Sequence[Path]) -> bool:
    """Say whether the top-level package of a module is found; nothing is imported."""
    top = name.partition(".")[0]
    if any(_has(folder, top) for folder in search_path):
        return True
    try:
        return importlib.util.find_spec(top) is not None
    except (ImportError, ValueError):
        return False
