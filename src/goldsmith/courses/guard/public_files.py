"""The files that students get: of the working tree, of a folder, of a git revision with its history, or staged."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from goldsmith.courses.guard.leaks import private_folder
from goldsmith.courses.guard.nested_files import MAX_FILE_BYTES, TOO_LARGE, unpacked
from goldsmith.courses.guard.public_file import PublicFile
from goldsmith.courses.layout.layout import Course
from goldsmith.errors.course import GitCannotSay, NoSuchRevision, Unreadable
from goldsmith.foundation.git import git, read_blobs
from goldsmith.foundation.ignored_names import LITTER


def public_files(course: Course) -> Iterator[PublicFile]:
    """Yield the working tree's files, without private folders and files that git ignores."""
    listed = git(course.root, "ls-files", "--cached", "--others", "--exclude-standard", "-z")
    names = [name for name in (listed or "").split("\0") if name] or list(_walk(course.root))
    for name in sorted(set(names)):
        if private_folder(name, course.private_folders) is None:
            yield from _read(course.root / name, name)


def public_in(folder: Path) -> Iterator[PublicFile]:
    """Yield everything in a folder, an archive or one file that is to be handed out; no subfolder is skipped."""
    if folder.is_file():
        yield from _read(folder, folder.name)
        return
    for name in sorted(_walk(folder, everything=True)):
        yield from _read(folder / name, name)


def staged_files(course: Course) -> Iterator[PublicFile]:
    """Yield what the next commit would add or change, outside private folders."""
    listed = _must(
        git(course.root, "diff", "--cached", "--name-only", "--relative", "--diff-filter=ACMRT", "-z"), course
    )
    for name in filter(None, listed.split("\0")):
        if private_folder(name, course.private_folders) is None:
            blob = _must(git(course.root, "rev-parse", f":./{name}"), course).strip()
            for _, content in read_blobs(course.root, [blob], MAX_FILE_BYTES):
                yield from _of_blob(name, content)


def public_at(course: Course, revision: str) -> Iterator[PublicFile]:
    """Yield every file of a revision, in the whole repository with its private folders, and of its history."""
    tree = git(course.root, "ls-tree", "-r", "-z", "--full-tree", revision)
    if tree is None:
        raise NoSuchRevision(revision, course.root)
    prefix = _must(git(course.root, "rev-parse", "--show-prefix"), course).strip()
    present: dict[str, list[str]] = {}
    for row in filter(None, tree.split("\0")):
        facts, _, name = row.partition("\t")
        if facts.split()[1] == "blob":
            present.setdefault(facts.split()[2], []).append(name.removeprefix(prefix))
    past: dict[str, str] = {}
    for row in _must(git(course.root, "rev-list", "--objects", revision), course).splitlines():
        blob, _, name = row.partition(" ")
        if name and blob not in present:
            past.setdefault(blob, name.removeprefix(prefix))
    for blob, content in read_blobs(course.root, [*present, *past], MAX_FILE_BYTES):
        for name in present.get(blob, []):
            yield from _of_blob(name, content)
        if blob in past:
            yield from (replace(file, past=blob) for file in _of_blob(past[blob], content))


def _of_blob(name: str, content: bytes | None) -> Iterator[PublicFile]:
    if content is None:
        yield PublicFile(name, b"", unseen=TOO_LARGE)
    else:
        yield from unpacked(name, content)


def _must(answer: str | None, course: Course) -> str:
    """Return git's answer; raise where there is none, which must not pass for "nothing found"."""
    if answer is None:
        raise GitCannotSay(course.root)
    return answer


def _walk(folder: Path, *, everything: bool = False) -> Iterator[str]:
    for current, folders, files in os.walk(folder, followlinks=everything):
        here = Path(current)
        if not everything:
            folders[:] = [
                name
                for name in folders
                if name not in LITTER | {".git", ".goldsmith"} and not (here / name / "pyvenv.cfg").is_file()
            ]
        for name in files:
            yield (here / name).relative_to(folder).as_posix()


def _read(path: Path, name: str) -> Iterator[PublicFile]:
    if not path.is_file():
        return
    if path.stat().st_size > MAX_FILE_BYTES:
        yield PublicFile(name, b"", unseen=TOO_LARGE)
        return
    try:
        content = path.read_bytes()
    except OSError as error:
        raise Unreadable(path, error.strerror or str(error)) from None
    yield from unpacked(name, content)
