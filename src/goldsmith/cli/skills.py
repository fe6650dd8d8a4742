"""`goldsmith skills`: what coding agents need to use goldsmith well, put into a course and kept up to date."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from goldsmith.cli.options import DebugOption, JsonOption, NoColorOption, open_course, report_errors
from goldsmith.errors.base import AGAINST

COMMAND = "skills install"

app = typer.Typer(help="The coding-agent skills of a course.", no_args_is_help=True, rich_markup_mode="markdown")

EXAMPLES = """
Writes `.claude/skills/<name>/SKILL.md` for generate-fixtures, test-rigor and grade, and for each a shortcut,
`.claude/commands/<name>.md`. A file that you edited is never overwritten: you are shown the difference, and --force
keeps yours beside the new one, as `SKILL.md.yours`.

Examples:

    goldsmith skills install           in your course; again after an update
    goldsmith skills install --check   are they up to date? (for CI)
    goldsmith skills install --force   edited ones, too; yours are kept
    goldsmith skills install --only grade --force   one of them
    goldsmith skills install --only port   in any repository: for porting models, without a course

Exit codes: 0 all well, 1 something is missing or out of date (with --check, or because you edited it), 2 bad usage,
3 could not be written.
"""


@app.callback()
def _skills() -> None:
    """The skills that lead a coding agent through goldsmith's work: `/generate-fixtures`, `/test-rigor`, `/grade`; and,
    in any repository, `/port`."""


def install(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder in the course.")] = Path("."),
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="NAME", help="Only this skill; may be given several times.")
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Write nothing; exit 1 if any is not up to date.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace edited ones; yours are kept beside them.")] = False,
    json: JsonOption = False,
    no_color: NoColorOption = False,
    debug: DebugOption = False,
) -> None:
    with report_errors(COMMAND, as_json=json, debug=debug, subjects="skills") as report:
        from goldsmith.errors.skills import CheckOrForce
        from goldsmith.skills.install import check_skills, install_skills

        if check and force:
            raise CheckOrForce
        root = _root(folder, only or ())
        results = check_skills(root, only or ()) if check else install_skills(root, only or (), force=force)
        ok = not any(item.behind for item in results)
        if json:
            report.print(results, ok=ok)
        else:
            from goldsmith.render.console import open_console
            from goldsmith.render.skills import show_skills

            show_skills(open_console(no_color=no_color), results)
    raise typer.Exit(0 if ok else AGAINST)


def _root(folder: Path, only: Sequence[str]) -> Path:
    """The course that `folder` lies in; for skills that need none, the repository, or the folder itself."""
    from goldsmith.course.git import top_level
    from goldsmith.errors.course import NotACourse
    from goldsmith.skills.bundled import ANYWHERE

    try:
        return open_course(folder).root
    except NotACourse:
        if not only or not set(only) <= set(ANYWHERE):
            raise
        return top_level(folder) or folder.resolve()


install.__doc__ = f"Put the skills for coding agents into a course, or say whether they are up to date.\n{EXAMPLES}"
app.command("install")(install)
