"""`goldsmith pack`: an assignment with its gold, ready for a place that grades submissions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from goldsmith.cli.command import Decorator, Function, Group, add_options, argument, option
from goldsmith.cli.options import (
    PATH,
    check_limits,
    choose_one,
    course_options,
    open_course,
    refuse_recipes,
    report_errors,
)
from goldsmith.errors.usage import BadOption
from goldsmith.foundation.log_injection import say

if TYPE_CHECKING:
    from goldsmith.courses.packs.settings import Place

_ASSIGNMENT = argument("assignment", "A", "The assignment.", required=False)
_GRADING: tuple[Decorator[Any], ...] = (
    option("--timeout", metavar="SECONDS", type=float, help="Stop a case after this much processor time."),
    option("--memory", metavar="GIB", type=float, default=6.0, help="Memory for all processes of a submission."),
    option("--extra-index-url", "index", metavar="URL", default="", help="A further package index to install from."),
)


def _grading_options(function: Function) -> Function:
    """Add the options that say how submissions are graded there."""
    return add_options(_GRADING, function)


@click.group(cls=Group)
def pack() -> None:
    """Pack an assignment for Gradescope, Autolab or Classroom 50; solutions stay here."""


@pack.command()
@_ASSIGNMENT
@option("--output", "-o", metavar="FILE", type=PATH, help="The zip file; default private/packs/A-gradescope.zip.")
@_grading_options
@course_options
def gradescope(
    assignment: str | None,
    output: Path | None,
    timeout: float | None,
    memory: float,
    index: str,
    course: Path,
    json: bool,
    no_color: bool,
    debug: bool,
) -> None:
    """Make the zip file that Gradescope takes as an autograder.

    It holds gold, recipe and starter, this goldsmith, and what to install; never a solution. Points are those of
    `goldsmith grade`, byte for byte. Where a container cannot sandbox submissions, nothing is graded there, and its
    results say so. Gold that is stale is refused.

    Examples:

        goldsmith pack gradescope scratch-1                        to private/packs/scratch-1-gradescope.zip
        goldsmith pack gradescope scratch-1 -o ~/autograder.zip    somewhere else, outside what students get
        goldsmith pack gradescope scratch-1 --timeout 60           a minute for each case

    Exit codes: 0 packed, 2 bad usage, 3 could not be packed.
    """
    _pack("gradescope", assignment, output, timeout, memory, "", index, course, json, debug)


@pack.command()
@_ASSIGNMENT
@option("--output", "-o", metavar="DIR", type=PATH, help="The folder to write to; default private/packs/A-autolab.")
@option("--handin", metavar="NAME", default="handin.zip", help="What Autolab calls a submitted file.")
@_grading_options
@course_options
def autolab(
    assignment: str | None,
    output: Path | None,
    handin: str,
    timeout: float | None,
    memory: float,
    index: str,
    course: Path,
    json: bool,
    no_color: bool,
    debug: bool,
) -> None:
    """Make the two files that Autolab takes as an autograder, autograde-Makefile and autograde.tar.

    They hold gold, recipe and starter, this goldsmith and a driver; never a solution. The driver prints feedback and,
    as the last line, the points that `goldsmith grade` gives. Where a container cannot sandbox submissions, there is
    no such line. Gold that is stale is refused.

    Examples:

        goldsmith pack autolab scratch-1                          to private/packs/scratch-1-autolab/
        goldsmith pack autolab scratch-1 --handin backbone.py     students submit one file

    Exit codes: 0 packed, 2 bad usage, 3 could not be packed.
    """
    _pack("autolab", assignment, output, timeout, memory, handin, index, course, json, debug)


@pack.command()
@_ASSIGNMENT
@option("--output", "-o", metavar="DIR", type=PATH, help="The folder to write to; default classroom50/A.")
@option("--extra-index-url", "index", metavar="URL", default="", help="A further package index to install from.")
@course_options
def classroom50(
    assignment: str | None, output: Path | None, index: str, course: Path, json: bool, no_color: bool, debug: bool
) -> None:
    """Make the autograder folder for Classroom 50, whose bundle everybody can read.

    So it holds no gold: a kit of sketches (`goldsmith handout`) decides, and items that no sketch shows are not scored.
    Results have the form that Classroom 50 reads, `result.json`, with feedback as the body of the release. Gold that is
    stale is refused.

    Examples:

        goldsmith pack classroom50 scratch-1       to classroom50/scratch-1/
        goldsmith pack classroom50 scratch-1 -o ~/classroom50/fall/autograders/scratch-1

    Exit codes: 0 packed, 2 bad usage, 3 could not be packed.
    """
    _pack("classroom50", assignment, output, None, 6.0, "", index, course, json, debug)


def _pack(
    place: Place,
    assignment: str | None,
    output: Path | None,
    timeout: float | None,
    memory: float,
    handin: str,
    index: str,
    course: Path,
    json: bool,
    debug: bool,
) -> None:
    with report_errors(f"pack {place}", as_json=json, debug=debug) as report:
        from goldsmith.courses.packs.pack import Wanted, output_for, pack
        from goldsmith.render.packs import packed_lines

        check_limits(timeout, memory)
        if handin and not _is_plain(handin):
            raise BadOption("--handin", handin, "the name of a file, of letters, digits, dots, hyphens and underscores")
        refuse_recipes(f"pack {place}", assignment)
        chosen = choose_one(open_course(course), assignment, f"pack {place}", ask=False)
        target = output_for(chosen, place, output)
        if not target.absolute().parent.is_dir():
            raise BadOption("--output", target, "a place in a folder that exists")
        packed = pack(Wanted(chosen, place, target, memory, timeout, handin, index))
        if json:
            report.print([packed])
        else:
            say(packed_lines(packed))


def _is_plain(name: str) -> bool:
    return name[0].isalnum() and all(char.isascii() and (char.isalnum() or char in "._-") for char in name)
