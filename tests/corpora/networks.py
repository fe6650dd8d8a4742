"""The course under tests/corpora/courses/networks, with gold that is made when it is needed and kept in build/."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from filelock import FileLock

import goldsmith
from goldsmith.courses.layout.layout import Course, find_course

NETWORKS = Path(__file__).parent / "courses" / "networks"
ASSIGNMENTS = ("recurrent", "numpy-layers", "optimisers", "functions")
_KEPT = Path(__file__).parents[2] / "build" / "corpus-gold"


def networks_course(folder: Path, assignments: Sequence[str] = ASSIGNMENTS) -> Course:
    """Copy the course to `folder`, as a git repository of its own, with the gold of `assignments` in it."""
    shutil.copytree(NETWORKS, folder, ignore=shutil.ignore_patterns("__pycache__", ".goldsmith"))
    author = ["-c", "user.name=corpus", "-c", "user.email=corpus@localhost", "-c", "commit.gpgsign=false"]
    for arguments in (["init", "--quiet"], ["add", "--all"], [*author, "commit", "--quiet", "-m", "The course"]):
        subprocess.run(["git", *arguments], cwd=folder, check=True, stdin=subprocess.DEVNULL)
    course = find_course(folder)
    for assignment in assignments:
        _put_gold(course, assignment)
    return course


def _put_gold(course: Course, assignment: str) -> None:
    """Put gold there that was made from the same course by the same goldsmith, or make it and keep it."""
    gold = course.assignment(assignment).gold
    kept = _KEPT / f"{assignment}-{_digest(assignment)}"
    _KEPT.mkdir(parents=True, exist_ok=True)
    with FileLock(_KEPT / f"{assignment}.lock"):
        if not kept.is_dir():
            done = subprocess.run(
                [sys.executable, "-c", "from goldsmith.cli import run; run()", "generate", assignment, "--yes"],
                cwd=course.root,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
            )
            if done.returncode:
                raise RuntimeError(f"no gold for {assignment}:\n{done.stdout}{done.stderr}")
            for older in _KEPT.glob(f"{assignment}-*"):
                shutil.rmtree(older)
            shutil.copytree(gold, kept.with_suffix(".new"))
            kept.with_suffix(".new").rename(kept)
        elif not gold.is_dir():
            shutil.copytree(kept, gold)


def _digest(assignment: str) -> str:
    """What gold depends on: the assignment, the course's settings, and goldsmith."""
    found = hashlib.sha256(sys.version.encode())
    for file in _sources(assignment):
        found.update(str(file).encode() + b"\0" + file.read_bytes() + b"\0")
    return found.hexdigest()[:16]


def _sources(assignment: str) -> Iterator[Path]:
    yield NETWORKS / "goldsmith.toml"
    package = Path(goldsmith.__file__).parent
    for folder in (NETWORKS / "src/assignments" / assignment, NETWORKS / "private/solutions" / assignment, package):
        yield from sorted(folder.rglob("*.py"))
