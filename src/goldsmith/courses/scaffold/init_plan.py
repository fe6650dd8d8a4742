"""The plan of `goldsmith init`: what this course lacks, and what it has already."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import msgspec

from goldsmith.courses.layout.config import ROOT, AssignmentConfig, Config, read_config
from goldsmith.courses.layout.example import example_folder
from goldsmith.courses.layout.layout import Course, find_course
from goldsmith.courses.scaffold.changes import Change, Plan, extended, whole_file
from goldsmith.courses.scaffold.config_file import settings_text
from goldsmith.courses.scaffold.gitignore import hidden_gold, ignored_change
from goldsmith.courses.scaffold.layout_detection import Layout, Note, detect
from goldsmith.courses.scaffold.pytest_marker import marker_change
from goldsmith.courses.scaffold.workflow import WORKFLOW, lacks_address, workflow_change
from goldsmith.courses.skills.bundled import SkillFile, skill_files
from goldsmith.courses.skills.installed_state import FOREIGN, MISSING, OUTDATED, standing_of
from goldsmith.errors.course import NotACourse
from goldsmith.errors.scaffold import NotAFolder, SettingsStand
from goldsmith.foundation.git import git

DEV_UTILS = "scripts/dev_utils.py"
_HOOK = """\
#!/bin/sh
# Written by `goldsmith init`: refuses commits while a solution is in place, or that would show one to students.
exec {python} -m goldsmith guard --staged --course {course}
"""


def course_at(folder: Path) -> Path:
    """Return the root of the course that `folder` is in; else the folder itself, which is to become a course."""
    if not folder.exists():
        return folder.resolve()
    try:
        return find_course(folder).root
    except NotACourse as error:
        if error.start.exists() and not error.start.is_dir():
            raise NotAFolder(error.start) from None
        return error.start


def detected(root: Path, said: Mapping[str, str] | None = None, whole: str = "") -> Layout | None:
    """Detect the layout, except for the settings in `said`; None where a configuration gives it."""
    if read_config(root) is None:
        return detect(root, said, whole)
    if said or whole:
        raise SettingsStand(root / ("goldsmith.toml" if (root / "goldsmith.toml").is_file() else "pyproject.toml"))
    return None


def course_of(root: Path, layout: Layout | None) -> Course:
    """Return the course at `root` as configured, or as it would be with `layout`."""
    config = read_config(root) or Config()
    if layout is not None:
        values: dict[str, Any] = {key.replace("-", "_"): value for key, value in layout.values.items()}
        if layout.whole:
            values["assignment"] = {layout.whole: AssignmentConfig(folder=ROOT)}
        if layout.beside:
            tables = {
                item.name: AssignmentConfig(folder=item.starter, solution=item.solution) for item in layout.beside
            }
            values["assignment"] = tables
        config = msgspec.structs.replace(config, **values)
    return Course(root, config)


def plan_course(
    root: Path, layout: Layout | None, without: Collection[str] = (), with_parts: Collection[str] = ()
) -> Plan:
    """Plan everything that `init` would do at `root`, except the parts in `without`.

    `layout` is None where the course is configured. Skills and scripts/dev_utils.py are included on request, or where
    the course has some already.
    """
    course = course_of(root, layout)
    changes = [
        _settings(course, layout),
        marker_change(root),
        ignored_change(course),
        workflow_change(course),
        _hook(course),
        *([_dev_utils(course)] if "scripts" in with_parts or (root / DEV_UTILS).exists() else []),
        *(_skills(course) if "skills" in with_parts or _has_skills(course) else []),
    ]
    notes = [*layout.notes] if layout is not None else []
    if hidden_gold(course):
        notes.append(Note("gold-ignored", (hidden_gold(course),)))
    if any(change.writes and lacks_address(change) for change in changes if change.part not in without):
        notes.append(Note("no-address", (WORKFLOW,)))
    return Plan(root, [change for change in changes if change.part not in without], notes)


def has_assignments(root: Path) -> bool:
    return bool(Course(root, read_config(root) or Config()).assignments())


def _settings(course: Course, layout: Layout | None) -> Change:
    own = course.root / "goldsmith.toml"
    if layout is None:
        where = own if own.is_file() else course.root / "pyproject.toml"
        return Change("settings", where, "unchanged")
    return whole_file(course.root, "settings", own, settings_text(layout))


def _hook(course: Course) -> Change:
    """Plan the pre-commit hook in the repository's own hooks folder; never write into one that repositories share."""
    hooks = git(course.root, "rev-parse", "--git-path", "hooks")
    if hooks is None:
        return Change("hook", course.root / ".git" / "hooks" / "pre-commit", "skipped", reason="no-repository")
    path = course.root / hooks.strip() / "pre-commit"
    top = Path((git(course.root, "rev-parse", "--show-toplevel") or str(course.root)).strip()).resolve()
    inside = course.root.resolve().relative_to(top).as_posix()  # hooks run at the top, also in a clone
    command = _HOOK.format(python=shlex.quote(sys.executable), course=shlex.quote(inside))
    by_hand = command.splitlines()[-1].removeprefix("exec ")
    own = [git(course.root, "rev-parse", "--git-common-dir"), str(top)]
    bases = [(course.root / answer.strip()).resolve() for answer in own if answer]
    real = path.parent.resolve()
    base = next((base for base in bases if real.is_relative_to(base)), None)
    if base is None:
        return Change("hook", path, "by-hand", reason="shared-hooks", detail=str(path.parent), by_hand=by_hand)
    path = real / "pre-commit"
    change = whole_file(base, "hook", path, command, mode=0o755)
    if change.standing != "kept":
        return change
    old = path.read_bytes()
    ours = re.fullmatch(_pattern(), old.decode("utf-8", "replace"))
    if ours is None:
        return Change("hook", path, "by-hand", reason="yours", by_hand=by_hand)
    python, guarded = (Path(*shlex.split(ours[name])) for name in ("python", "course"))
    if guarded == Path(inside) and python.exists():
        return Change("hook", path, "unchanged")
    other = (top / guarded).resolve()
    if other != course.root.resolve() and other.is_relative_to(top) and other.exists():
        return Change("hook", path, "by-hand", reason="yours", by_hand=by_hand)
    return Change("hook", path, "extend", command.encode(), old, mode=0o755)


def _pattern() -> str:
    """Return a pattern for a hook that goldsmith wrote, for any Python and course."""
    return re.escape(_HOOK).replace(r"\{python\}", "(?P<python>.+)").replace(r"\{course\}", "(?P<course>.+)")


def _dev_utils(course: Course) -> Change:
    """Plan the example course's dev_utils.py, unless there is one that uses goldsmith."""
    path = course.root / DEV_UTILS
    if path.is_file() and "goldsmith" in path.read_text(encoding="utf-8", errors="replace"):
        return Change("scripts", path, "unchanged")
    door = (example_folder() / "scripts" / "dev_utils.py").read_text(encoding="utf-8")
    return whole_file(course.root, "scripts", path, door)


def _skills(course: Course) -> list[Change]:
    """Plan the coding-agent skills that are missing or outdated; files that the user edited are kept."""
    return [_skill(course, file) for file in skill_files()]


def _has_skills(course: Course) -> bool:
    """Say whether any skill of goldsmith's is there, in any state."""
    return any(standing_of(course.root, file).state not in (MISSING, FOREIGN) for file in skill_files())


def _skill(course: Course, file: SkillFile) -> Change:
    path = course.root / file.place
    change = whole_file(course.root, "skills", path, file.text)
    if change.standing != "kept":
        return change
    standing = standing_of(course.root, file)
    if standing.state != OUTDATED:
        return change if standing.is_somebodys else Change("skills", path, "unchanged")
    newline = "\r\n" if "\r\n" in standing.content else "\n"
    return extended(course.root, "skills", path, file.text, "", newline=newline)
