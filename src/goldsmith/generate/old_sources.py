"""The sources that gold was made from, recovered from git's history by their hashes."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from goldsmith.errors.gold import CannotWrite
from goldsmith.foundation.git import git, git_bytes
from goldsmith.gold.manifest import Manifest
from goldsmith.source_code.points import without_points
from goldsmith.targets.replacements import moved_to
from goldsmith.targets.target import Project, Target
from goldsmith.workspace.copies import make_workspaces
from goldsmith.workspace.temporary import private_folder

_MAX_COMMITS = 500


class NotInHistory(Exception):
    """A source whose recorded version is not in git; its path is the message."""


@contextlib.contextmanager
def as_it_was(target: Target, manifest: Manifest) -> Iterator[Target]:
    """Yield the assignment in a private copy of its course, with every source that made the gold as it was then; of a
    recipe by itself, the recipe and what it imported.

    Raises `NotInHistory` for a source that is neither in the course nor in git.
    """
    project, made = target.project, manifest.provenance
    recorded = made.solution | made.starter | made.recipe | made.reads
    contents = {path: _content(project, path, digest, manifest.stamp.commit) for path, digest in recorded.items()}
    if target.starter is None:
        with private_folder() as root:
            _write(root, contents)
            yield moved_to(target, root)
    else:
        with make_workspaces(target, (), 1, whole=True) as (workspace,):
            _remove_added(target, workspace.root, contents)
            _write(workspace.root, contents)
            yield target.again(workspace.root)


def _remove_added(target: Target, root: Path, contents: Mapping[str, bytes]) -> None:
    """Remove the code of solution and starter that was added later."""
    assert target.solution is not None
    assert target.starter is not None
    inside = (target.project.relative(folder) for folder in (target.solution.folder, target.starter.folder))
    folders = [root / folder for folder in inside]
    try:
        for path in (path for folder in folders if folder.is_dir() for path in sorted(folder.rglob("*.py"))):
            if path.relative_to(root).as_posix() not in contents:
                _own_path(root, path).unlink()
    except OSError as error:
        raise CannotWrite(root, error.strerror or str(error)) from None


def _write(root: Path, contents: Mapping[str, bytes]) -> None:
    try:
        for name, content in contents.items():
            target = _own_path(root, root / name)
            target.unlink(missing_ok=True)  # a link is replaced, never written through
            target.write_bytes(content)
    except OSError as error:
        raise CannotWrite(root, error.strerror or str(error)) from None


def _own_path(root: Path, path: Path) -> Path:
    """Return the path if it is in the private copy itself: links that lead out of it lead to other people's files."""
    parent = Path(os.path.normpath(path.parent))
    if not parent.is_relative_to(root) or not parent.resolve().is_relative_to(root.resolve()):
        raise NotInHistory(f"{path.relative_to(root)}, which lies behind a link,")
    parent.mkdir(parents=True, exist_ok=True)
    return path


def _content(project: Project, path: str, digest: str, commit: str | None) -> bytes:
    """Return the version of a file that has the recorded hash."""
    for content in _versions(project, path, commit):
        if digest in (hashlib.sha256(content).hexdigest(), hashlib.sha256(without_points(content)).hexdigest()):
            return content
    raise NotInHistory(path)


def _versions(project: Project, path: str, commit: str | None) -> Iterator[bytes]:
    """Yield the current content, the one committed when the gold was made, then every version that git has."""
    with contextlib.suppress(OSError):
        yield (project.root / path).read_bytes()
    log = git(project.root, "log", "--all", f"--max-count={_MAX_COMMITS}", "--format=%H", "--", path) or ""
    for revision in dict.fromkeys([*([commit] if commit else []), *log.split()]):
        content = git_bytes(project.root, "show", f"{revision}:./{path}")
        if content is not None:
            yield content
