"""`goldsmith rigor`: does the gold catch real mistakes?"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.exceptions import Exit

from goldsmith.cli.command import command, flag, option
from goldsmith.cli.engine import EngineChoice, engine_options
from goldsmith.cli.options import (
    PATH,
    at_a_terminal,
    choose,
    course_options,
    make_progress,
    open_course,
    refuse_recipes,
    report_errors,
    several_assignments,
)
from goldsmith.cli.reports import Output, Wanted, asked_for, report_formats
from goldsmith.cli.shares import parts_named, refuse_others, require_apart, require_share, share_named, share_options
from goldsmith.errors.usage import BadOption

if TYPE_CHECKING:
    from goldsmith.mutants.measure import RigorOptions
    from goldsmith.mutants.record import RigorRecord
    from goldsmith.render.rigor_json import MutantResult
    from goldsmith.targets.target import Target

_OF_A_MERGE = ("merge", "least", "everything", "page", "output", "formats", "course", "json", "no_color", "debug")


@command
@several_assignments
@option("--min", "least", metavar="SCORE", type=float, help="Exit with 1 if a score is below this.")
@option("--only", metavar="NAME", multiple=True, help="Only this mutant, part or operator; may be given several times.")
@option("--max", "most", metavar="N", type=click.IntRange(1), help="Try at most this many mutants, spread evenly.")
@flag("--baselines", help="Also try the internal tests and plain tolerances on them. Slow.")
@option(
    "--variants",
    metavar="N",
    type=click.IntRange(0),
    default=12,
    help="How many right variants of the solution to try.",
)
@option("--ruler", metavar="SETTING", default="", help="Judge by one ruler alone, such as 'cuda bfloat16'.")
@flag("--all", "everything", help="Also list mutants that were killed or that no case runs.")
@flag("--list", "listed", help="Show the mutants without trying them.")
@option("--html", "page", metavar="FILE", type=PATH, help="Also write a page to look at.")
@option(
    "--output", "-o", metavar="DIR", type=PATH, help="Also write a record: for --merge, and --times of a later run."
)
@share_options("An earlier --output, by whose times shares are made even.", metavar="DIR")
@report_formats("rigor")
@flag("--again", help="Try all again, even those with a cached result.")
@engine_options("mutants", certificates=False)
@option(
    "--jobs", "-j", metavar="N", type=click.IntRange(1), help="How many run at once; default one for each processor."
)
@flag("--allow-stale", help="Measure gold that is stale.")
@course_options
def rigor(
    assignments: tuple[str, ...],
    least: float | None,
    only: tuple[str, ...],
    most: int | None,
    baselines: bool,
    variants: int,
    ruler: str,
    everything: bool,
    listed: bool,
    page: Path | None,
    output: Path | None,
    shard: str,
    merge: bool,
    times: str,
    formats: tuple[Wanted, ...],
    again: bool,
    engine: EngineChoice,
    jobs: int | None,
    allow_stale: bool,
    course: Path,
    json: bool,
    no_color: bool,
    debug: bool,
) -> None:
    """Find mistakes that the gold would miss, say why, and what to add to the recipe.

    Examples:

        goldsmith rigor scratch-1                         the gold of scratch-1
        goldsmith rigor scratch-1 --only RMSNorm --all    only mutants of RMSNorm, and what saw each
        goldsmith rigor all --min 0.95 --json             for CI

    Exit codes: 0 measured, 1 below `--min`, 2 bad usage, 3 a mutant could not be tried. A share has 0.
    """
    asked = asked_for(formats, json=json, page=page)
    json = Wanted("json") in asked
    mutants: list[MutantResult] = []
    with report_errors("rigor", as_json=json, debug=debug, subjects="mutants", finished=mutants) as report:
        if least is not None and not 0 < least <= 1:
            raise BadOption("--min", least, "a score above 0 and at most 1")
        share = share_named(shard)
        require_share(share, output, asked)
        if share is not None and output is not None:
            _refuse_a_whole_measurement(output)
        shown = Output(report, "rigor", asked, no_color, {"everything": everything})
        if merge:
            from goldsmith.mutants.record import merged

            refuse_others("--merge", "tries nothing", allowed=_OF_A_MERGE)
            parts = parts_named("rigor", assignments)
            if output is not None:
                require_apart(output, parts)
            records = merged(parts)
            _write(output, records)
            for record in records:
                shown.show(record.conclusion())
            raise Exit(_finish(shown, records, least))
        if baselines and not engine.is_local:
            raise click.UsageError("--baselines runs the course's internal tests, which stay here: leave it out")
        refuse_recipes("rigor", *assignments)
        opened = open_course(course)
        ask = at_a_terminal() and not json
        named = choose(opened, assignments, "rigor", ask=ask, no_color=no_color)

        from goldsmith.courses.internal_tests.on_mutants import forked_tests
        from goldsmith.courses.layout.resolve import resolve
        from goldsmith.doctor import processors
        from goldsmith.mutants.measure import RigorOptions, mutants_for, with_any_mutant
        from goldsmith.mutants.record import RigorRecord
        from goldsmith.render import rigor_json
        from goldsmith.render.console import open_console
        from goldsmith.render.rigor import show_mutants
        from goldsmith.runs.setting import setting_named

        setting = setting_named(ruler)
        if setting is None:
            raise BadOption("--ruler", ruler, "a setting as `goldsmith calibrate` names it, such as 'cuda bfloat16'")

        wanted = RigorOptions(
            names=only,
            most=most,
            jobs=jobs or processors(),
            keep=not again,
            variants=variants,
            allow_stale=allow_stale,
            setting=setting,
            share=share,
            engine=engine.open(jobs or processors(), open_console(no_color=no_color, stderr=True).print),
        )
        by_name = {item.name: item for item in named}
        chosen = with_any_mutant(list(map(resolve, named)), wanted.names)
        if listed:
            known = {item.name: mutants_for(item, wanted.names) for item in chosen}
            if json:
                report.print(rigor_json.listed_mutants(known))
            else:
                show_mutants(shown.console, [item for some in known.values() for item in some])
            raise Exit(0)
        _write(output, ())  # where nothing can be written, nothing is tried
        before, found = _mutant_seconds(times), list[RigorRecord]()
        for target in chosen:
            find = partial(forked_tests, by_name[target.name]) if baselines else None
            own = dataclasses.replace(wanted, find_tests=find, seconds=before.get(target.name, {}))
            found.append(_measure(target, own, no_color))
            result = found[-1].conclusion()
            mutants += rigor_json.mutant_results([result])
            shown.show(result)
        _write(output, found)
        raise Exit(_finish(shown, found, least))


def _finish(shown: Output, records: Sequence[RigorRecord], least: float | None) -> int:
    """Give everything in the formats that were asked for; return the exit code."""
    from rich.text import Text

    from goldsmith.render import rigor_json
    from goldsmith.render.console import print_line

    measured = [item.conclusion() for item in records]
    share = records[0].share if records else None
    below = [item for item in measured if least is not None and (item.score is None or item.score < least)]
    untried = any(item.of("could-not-run") for item in measured)
    summary = rigor_json.summarise_rigor(measured, share)
    shown.finish(rigor_json.mutant_results(measured), measured, ok=not below and not untried, more=summary)
    if below and shown.is_shown:
        names = ", ".join(item.assignment for item in below)
        print_line(shown.console, Text(f"Below --min {least}: {names}.", "bold red"))
    if share is not None and shown.is_shown:
        print_line(shown.console, f"This was share {share} of the mutants; `goldsmith rigor --merge` counts all.")
    return 0 if share is not None else 1 if below else 3 if untried else 0


def _write(output: Path | None, records: Sequence[RigorRecord]) -> None:
    """Write what was found of each assignment into a folder, if there is one, for staff alone."""
    if output is not None:
        from goldsmith.courses.grade.output_folder import Folder
        from goldsmith.foundation.ignored_names import RIGOR_RECORD
        from goldsmith.mutants.record import encode

        folder = Folder(output)
        if records:
            folder.write(RIGOR_RECORD, encode(records))


def _refuse_a_whole_measurement(output: Path) -> None:
    """Raise if a share would be written over the record of all mutants."""
    from goldsmith.foundation.sealed_files import NotSealed
    from goldsmith.mutants.record import read_records

    try:
        records = read_records(output).values()
    except (NotSealed, OSError):  # nothing there that could be lost
        return
    if any(item.share is None for item in records):
        raise click.UsageError(f"{output} holds a whole measurement: give --output a folder for this share alone")


def _mutant_seconds(times: str) -> Mapping[str, Mapping[str, float]]:
    """Return how long mutants took in the measurement whose folder `times` is, by assignment."""
    from goldsmith.foundation.sealed_files import NotSealed
    from goldsmith.mutants.record import read_records

    if not times:
        return {}
    try:
        return {name: record.times for name, record in read_records(Path(times)).items()}
    except (NotSealed, OSError):
        raise BadOption("--times", times, "the folder of an earlier run of rigor") from None


def _measure(target: Target, wanted: RigorOptions, no_color: bool) -> RigorRecord:
    from goldsmith.mutants.measure import measured

    with make_progress(no_color).of(target.name) as progress:
        progress.step("the solution itself first")
        return measured(target, dataclasses.replace(wanted, progress=progress))
