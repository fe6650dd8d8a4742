"""The CI workflow that `goldsmith init` writes, and the address from which it installs goldsmith."""

from __future__ import annotations

import importlib.metadata
import json
import re
import sys
from importlib.util import find_spec
from pathlib import Path

from goldsmith.courses.layout.layout import Course
from goldsmith.courses.scaffold.changes import Change, whole_file
from goldsmith.courses.scaffold.template_files import template
from goldsmith.foundation.git import git
from goldsmith.foundation.ignored_names import LITTER

WORKFLOW = ".github/workflows/goldsmith.yml"
_COMMANDS = "goldsmith generate all --check\ngoldsmith guard\ngoldsmith test all"
_NO_ADDRESS = b'GOLDSMITH: ""\n'


def workflow_change(course: Course) -> Change:
    path = course.root / WORKFLOW
    top = git(course.root, "rev-parse", "--show-toplevel")
    if top is not None and Path(top.strip()).resolve() != course.root.resolve():
        return Change("ci", path, "by-hand", reason="not-the-top", detail=top.strip(), by_hand=_COMMANDS)
    if (course.root / ".gitlab-ci.yml").exists() and not path.exists():
        return Change("ci", course.root / ".gitlab-ci.yml", "by-hand", reason="other-ci", by_hand=_COMMANDS)
    if path.is_file() and "Written by `goldsmith init`" in path.read_text(encoding="utf-8", errors="replace"):
        return Change("ci", path, "unchanged")
    requirements = ["pip install -r requirements.txt"] if (course.root / "requirements.txt").is_file() else []
    text = template("workflow.yml.txt").substitute(
        python=f"{sys.version_info.major}.{sys.version_info.minor}",
        requirements="".join(f"          {line}\n" for line in requirements),
        package="goldsmith[torch]" if _uses_torch(course) else "goldsmith",
        address=json.dumps(address_of_this_goldsmith()),
        dollar="$",
    )
    return whole_file(course.root, "ci", path, text)


def lacks_address(change: Change) -> bool:
    """Say whether this is a workflow in which the user must still say where goldsmith comes from."""
    return change.part == "ci" and _NO_ADDRESS in change.content


def address_of_this_goldsmith() -> str:
    """Return where pip installed this goldsmith from, if that is a git repository that others can reach; else ""."""
    try:
        recorded = importlib.metadata.distribution("goldsmith").read_text("direct_url.json")
    except importlib.metadata.PackageNotFoundError:
        return ""
    return git_address(recorded)


def git_address(recorded: str | None) -> str:
    """Return the address in pip's record of an installation (PEP 610), pinned to the commit.

    Return "" for anything but a git repository, and for one on this machine only.
    """
    try:
        facts = json.loads(recorded or "{}")
        url, version = facts["url"], facts["vcs_info"]
        if version["vcs"] != "git" or url.startswith("file:"):
            return ""
        return f"git+{url}@{version['commit_id']}"
    except (ValueError, KeyError, TypeError):
        return ""


def _uses_torch(course: Course) -> bool:
    """Say whether code of the course imports torch; without any code, whether torch is installed here."""
    seen = False
    own = (path for assignment in course.assignments() for path in assignment.files(".py"))
    for path in (*own, *(path for folder in course.solution_folders for path in folder.rglob("*.py"))):
        if not LITTER.intersection(path.parts):
            seen = True
            if re.search(r"^\s*(import|from) torch\b", path.read_text(encoding="utf-8", errors="replace"), re.M):
                return True
    return not seen and find_spec("torch") is not None
