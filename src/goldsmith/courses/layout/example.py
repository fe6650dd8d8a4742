"""Find the bundled example course, and copy it out as a git repository of its own."""

from __future__ import annotations

import shutil
from pathlib import Path

from goldsmith.courses.layout.layout import Course, find_course
from goldsmith.errors.course import FolderNotEmpty
from goldsmith.errors.gold import CannotWrite
from goldsmith.foundation.git import run_git

_IGNORED = shutil.ignore_patterns("__pycache__", ".pytest_cache", ".goldsmith", "*.pyc")


def example_folder() -> Path:
    """Find the example course: in the installed package, or in the repository of a working copy."""
    package = Path(__file__).resolve().parents[2]
    installed = package / "_example"
    return installed if installed.is_dir() else package.parent.parent / "examples" / "vla-course"


def copy_example(folder: Path) -> Course:
    """Copy the example course into an empty folder and make that a git repository."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FolderNotEmpty(folder)
    try:
        shutil.copytree(example_folder(), folder, ignore=_IGNORED, dirs_exist_ok=True)
    except (OSError, shutil.Error) as error:
        raise CannotWrite(folder, str(error)) from None
    _commit(folder)
    return find_course(folder)


def _commit(folder: Path) -> None:
    """Make one commit as the user, or as goldsmith where git knows no name."""
    try:
        identity = []
        if run_git(folder, "config", "user.email").returncode:
            identity = ["-c", "user.name=goldsmith", "-c", "user.email=goldsmith@localhost"]
        commit = ["commit", "--quiet", "-m", "The example course of goldsmith"]
        for arguments in (
            ["init", "--quiet", "--initial-branch=main"],
            ["add", "--all"],
            [*identity, "-c", "commit.gpgsign=false", *commit],
        ):
            answer = run_git(folder, *arguments)
            if answer.returncode:
                raise CannotWrite(folder, f"git {arguments[0]}: {answer.stderr.decode(errors='replace').strip()}")
    except OSError as error:
        raise CannotWrite(folder, f"git: {error.strerror}") from None
