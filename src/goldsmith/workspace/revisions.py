"""Git revisions of a repository, written to private folders."""

from __future__ import annotations

import tarfile
from pathlib import Path

from goldsmith.foundation.git import git, run_git


def commit_of(root: Path, revision: str) -> str:
    """Return the commit that a revision is in the repository of `root`; empty if there is none."""
    if revision.startswith("-"):
        return ""
    return (git(root, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}") or "").strip()


def export_revision(root: Path, revision: str, room: Path) -> Path | None:
    """Write what is below `root` as it is in a revision to a new folder in `room`; return None if that cannot be."""
    commit = commit_of(root, revision)
    found, archive = room / "revision", room / "revision.tar"
    if not commit or run_git(root, "archive", f"--output={archive}", commit).returncode:
        return None
    with tarfile.open(archive) as file:
        file.extractall(found, filter="data")
    archive.unlink()
    return found
