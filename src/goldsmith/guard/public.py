"""What students get: public files of the working tree, of a folder, of a git revision with its history, or staged."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from goldsmith.course import LITTER, Course, git
from goldsmith.errors import NoSuchRevision

LARGEST = 50 * 2**20


@dataclass(frozen=True)
class PublicFile:
    """`past` names the blob when the file is not in the revision itself, only reachable through its history."""

    path: str
    content: bytes
    past: str = ""


def private_folders(course: Course) -> list[str]:
    config = course.config
    return list(dict.fromkeys([config.solutions, config.internal_tests, config.fixtures, *config.guard.private]))


def public_files(course: Course) -> Iterator[PublicFile]:
    """The working tree without its private folders and without what git ignores."""
    listed = git(course, "ls-files", "--cached", "--others", "--exclude-standard", "-z")
    names = [name for name in listed.split("\0") if name] if listed is not None else list(_walk(course.root))
    for name in sorted(set(names)):
        if not _is_private(course, name):
            yield from _read(course.root / name, name)


def public_in(folder: Path) -> Iterator[PublicFile]:
    """Everything in a folder, or one file, that somebody means to hand out."""
    if folder.is_file():
        yield from _read(folder, folder.name)
        return
    for name in sorted(_walk(folder)):
        yield from _read(folder / name, name)


def staged_files(course: Course) -> Iterator[PublicFile]:
    """What the next commit would add or change, outside private folders."""
    listed = git(course, "diff", "--cached", "--name-only", "--relative", "--diff-filter=ACMRT", "-z") or ""
    for name in filter(None, listed.split("\0")):
        if not _is_private(course, name):
            content = _blobs(course, [f":./{name}"]).get(f":./{name}")
            if content is not None:
                yield PublicFile(name, content)


def public_at(course: Course, revision: str) -> Iterator[PublicFile]:
    """Every file of a revision, private folders included, and every other that its history still holds."""
    tree = git(course, "ls-tree", "-r", "-z", revision, "--", ".")
    if tree is None:
        raise NoSuchRevision(revision, course.root)
    prefix = (git(course, "rev-parse", "--show-prefix") or "").strip()
    present: dict[str, list[str]] = {}
    for row in filter(None, tree.split("\0")):
        facts, _, name = row.partition("\t")
        if facts.split()[1] == "blob":
            present.setdefault(facts.split()[2], []).append(name)
    past: dict[str, str] = {}
    for row in (git(course, "rev-list", "--objects", revision, "--", ".") or "").splitlines():
        blob, _, name = row.partition(" ")
        if name.startswith(prefix) and blob not in present:
            past.setdefault(blob, name.removeprefix(prefix))
    contents = _blobs(course, [*present, *past])
    for blob, names in present.items():
        for name in names:
            if blob in contents:
                yield PublicFile(name, contents[blob])
    for blob, name in past.items():
        if blob in contents:
            yield PublicFile(name, contents[blob], past=blob)


def _blobs(course: Course, names: list[str]) -> Mapping[str, bytes]:
    """The content of blobs by name, those that are too large to be code or gold left out."""
    found: dict[str, bytes] = {}
    run = subprocess.run(
        ["git", "-C", str(course.root), "cat-file", "--batch"],
        input="\n".join(names).encode() + b"\n",
        capture_output=True,
    )
    rest = run.stdout
    for name in names:
        head, _, rest = rest.partition(b"\n")
        facts = head.split()
        if len(facts) != 3 or not facts[2].isdigit():
            continue
        size = int(facts[2])
        content, rest = rest[:size], rest[size + 1 :]
        if facts[1] == b"blob" and size <= LARGEST:
            found[name] = content
    return found


def _walk(folder: Path) -> Iterator[str]:
    for current, folders, files in os.walk(folder):
        here = Path(current)
        folders[:] = [
            name
            for name in folders
            if name not in LITTER | {".git", ".goldsmith"} and not (here / name / "pyvenv.cfg").is_file()
        ]
        for name in files:
            yield (here / name).relative_to(folder).as_posix()


def _read(path: Path, name: str) -> Iterator[PublicFile]:
    if path.is_file() and path.stat().st_size <= LARGEST:
        yield PublicFile(name, path.read_bytes())


def _is_private(course: Course, name: str) -> bool:
    return any(PurePosixPath(name).is_relative_to(folder) for folder in private_folders(course))
