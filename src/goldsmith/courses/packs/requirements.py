"""The packages that a pack needs, each in the version that is installed here."""

from __future__ import annotations

import ast
import importlib.metadata
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from goldsmith.errors.packs import CannotPackPackage
from goldsmith.foundation.syntax import decode_source, syntax_tree
from goldsmith.gold.facts import public_version

_OWN = "goldsmith"
_NAME = re.compile(r"[\w.-]+")


def pinned(files: Mapping[str, bytes], *, libraries: Iterable[str], declared: Sequence[str]) -> list[str]:
    """Return lines of a requirements file: what goldsmith needs, what these files import, the `declared` modules, and
    all that those need in turn. A build's local part, as in `+cpu`, is left out: no package index has it."""
    providers = importlib.metadata.packages_distributions()
    imported = sorted({*_imports(files), *declared} - sys.stdlib_module_names - _own_modules(files) - {_OWN})
    known = [name for module in imported for name in providers.get(module, ())]
    for module in declared:
        if module not in providers:
            raise CannotPackPackage(module)
    todo, found = [*_requires(_OWN), *libraries, *known], dict[str, str]()
    while todo:
        name = _normal(todo.pop())
        if name in found or name == _OWN:
            continue
        try:
            distribution = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue  # for another system, or for an extra
        if _is_from_a_folder(distribution):
            raise CannotPackPackage(name)
        found[name] = f"{distribution.metadata['Name']}=={public_version(distribution.version)}"
        todo += _requires(name)
    return [found[name] for name in sorted(found)]


def _imports(files: Mapping[str, bytes]) -> Iterator[str]:
    """Yield the modules at the top of what Python files import."""
    for name, content in files.items():
        if not name.endswith(".py"):
            continue
        try:
            tree = syntax_tree(decode_source(content))
        except (SyntaxError, ValueError, RecursionError):
            continue  # what cannot be parsed cannot be imported either
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                yield from (item.name.partition(".")[0] for item in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                yield node.module.partition(".")[0]


def _own_modules(files: Iterable[str]) -> set[str]:
    """Return every name that a module or package among these files may have."""
    paths = [PurePosixPath(name) for name in files if name.endswith(".py")]
    return {path.stem for path in paths} | {part for path in paths for part in path.parent.parts}


def _requires(name: str) -> list[str]:
    lines = importlib.metadata.requires(name) or []
    return [found[0] for line in lines if "extra ==" not in line and (found := _NAME.match(line))]


def _is_from_a_folder(distribution: importlib.metadata.Distribution) -> bool:
    """Return whether a distribution was installed from a folder here, which nobody else has."""
    try:
        return "dir_info" in json.loads(distribution.read_text("direct_url.json") or "{}")
    except ValueError:
        return False


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
