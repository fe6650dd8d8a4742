"""`goldsmith skills`: skills for coding agents, installed in a course and kept up to date."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
from click.exceptions import Exit

from goldsmith.cli.command import Group, argument, flag, option
from goldsmith.cli.options import PATH, open_course, output_options, report_errors
from goldsmith.errors.base import AGAINST

COMMAND = "skills install"


@click.group(cls=Group)
def skills() -> None:
    """Install skills that guide a coding agent: `/generate-fixtures`, `/test-rigor`, `/grade`, `/port`."""


@skills.command()
@argument("folder", "DIR", "A folder in the course, or for port in any repository.", type=PATH, default=".")
@option("--only", metavar="NAME", multiple=True, help="Only this skill; may be given several times.")
@flag("--check", help="Write nothing; exit with 1 if any is not up to date.")
@flag("--force", help="Replace edited ones; yours are kept next to them.")
@output_options
def install(
    folder: Path, only: tuple[str, ...], check: bool, force: bool, json: bool, no_color: bool, debug: bool
) -> None:
    """Install the skills for coding agents in a course, or check that they are up to date.

    Writes `.claude/skills/<name>/SKILL.md` for generate-fixtures, test-rigor and grade, or those that --only names, and
    for each a shortcut, `.claude/commands/<name>.md`. A file that you edited is never overwritten: you are shown the
    difference, and --force keeps yours next to the new one, as `SKILL.md.yours`.

    Examples:

        goldsmith skills install           in your course; again after an update
        goldsmith skills install --check   are they up to date? (for CI)
        goldsmith skills install --force   edited ones, too; yours are kept
        goldsmith skills install --only grade --force   one of them
        goldsmith skills install --only port   in any repository, without a course: for porting models

    Exit codes: 0 all well, 1 something is missing or out of date (with --check, or because you edited it), 2 bad usage,
    3 could not be written.
    """
    with report_errors(COMMAND, as_json=json, debug=debug, subjects="skills") as report:
        from goldsmith.courses.skills.install import check_skills, install_skills
        from goldsmith.errors.skills import CheckOrForce

        if check and force:
            raise CheckOrForce
        root = _root_of(folder, only)
        results = check_skills(root, only) if check else install_skills(root, only, force=force)
        ok = not any(item.behind for item in results)
        if json:
            report.print(results, ok=ok)
        else:
            from goldsmith.render.console import open_console
            from goldsmith.render.skills import show_skills

            show_skills(open_console(no_color=no_color), results)
    raise Exit(0 if ok else AGAINST)


def _root_of(folder: Path, only: Sequence[str]) -> Path:
    """Return the root of the course around a folder; for skills that need none, of the repository, or the folder."""
    from goldsmith.courses.skills.bundled import ANYWHERE
    from goldsmith.errors.course import NotACourse
    from goldsmith.foundation.git import top_level

    try:
        return open_course(folder).root
    except NotACourse:
        if not only or not set(only) <= set(ANYWHERE):
            raise
        return top_level(folder) or folder.resolve()
