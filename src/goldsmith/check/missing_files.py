"""Find what a submission asked for and did not get although it exists: files of the course that workspaces do not
contain, packages that staff installed for themselves. Staff are told, with the setting that would provide it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from goldsmith.judge.verdicts import COULD_NOT_RUN, CaseVerdict
from goldsmith.sandbox.packages import places_of
from goldsmith.targets.target import Target
from goldsmith.workspace.copies import Workspace
from goldsmith.workspace.selection import is_private

_MAX_FILES, _MAX_MESSAGE_CHARS = 8, 4000
_QUOTED = re.compile(r"""['"`]([^'"`\n]{1,400})['"`]""")
_BARE = re.compile(r"[^\s'\"`(),;]*[/.][^\s'\"`(),;:]+")
_MODULE = re.compile(r"No module named ['\"]([\w.]{1,200})['\"]")


def not_given(target: Target, workspace: Workspace, cases: Iterable[CaseVerdict], *, confined: bool) -> tuple[str, ...]:
    """Return a sentence for each. Messages may be forged, so only files and packages are named that staff may
    declare."""
    if target.starter is None:
        return ()  # it ran in place, where everything is
    found: dict[str, None] = {}
    for case in cases:
        if case.outcome != COULD_NOT_RUN or case.failure is None:
            continue
        message = case.failure.message[:_MAX_MESSAGE_CHARS]
        found |= dict.fromkeys(_files(target, workspace, message))
        if confined and case.failure.package and places_of(case.failure.package):
            found[
                f"{case.failure.package} is installed here, but not from a package index, so that submissions do not "
                f'see it; if they need it, add it to `packages` in the settings: packages = ["{case.failure.package}"]'
            ] = None
    return tuple(found)[:_MAX_FILES]


def _files(target: Target, workspace: Workspace, message: str) -> Iterator[str]:
    root = target.project.root
    for name in _names(message):
        for base in (workspace.folder, workspace.root):
            path = Path(os.path.normpath(base / name.replace("\0", "")))
            if not path.is_relative_to(workspace.root) or path == workspace.root or os.path.lexists(path):
                continue
            inside = path.relative_to(workspace.root)
            if _exists(root / inside) and not is_private(target, root / inside):
                yield (
                    f"{inside.as_posix()} is in the course, but submissions do not get it; if they need it, add it to "
                    f'`shared` in the settings: shared = ["{inside.as_posix()}"]'
                )


def _names(message: str) -> Iterator[str]:
    """Yield everything in a message that may be a path."""
    for module in _MODULE.findall(message):
        parts = module.split(".")
        yield from (candidate for stop in range(1, len(parts) + 1) for candidate in _of_module(parts[:stop]))
    yield from _QUOTED.findall(message)
    yield from _BARE.findall(message)


def _of_module(parts: list[str]) -> tuple[str, str]:
    return "/".join(parts), f"{'/'.join(parts)}.py"


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False
