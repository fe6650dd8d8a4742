"""`goldsmith rigor`: does the gold catch real mistakes?"""

from __future__ import annotations

import dataclasses
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.exceptions import Exit

from goldsmith.cli.command import command, flag, option
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
from goldsmith.errors.usage import BadOption

if TYPE_CHECKING:
    from goldsmith.mutants.measure import RigorOptions
    from goldsmith.mutants.results import Rigor
    from goldsmith.render.rigor_json import MutantResult
    from goldsmith.targets.target import Target


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
@report_formats("rigor")
@flag("--again", help="Try all again, even those with a cached result.")
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
    formats: tuple[Wanted, ...],
    again: bool,
    jobs: int | None,
    allow_stale: bool,
    course: Path,
    json: bool,
    no_color: bool,
    debug: bool,
) -> None:
    """Find mistakes that the gold would miss, say why, and what to add to the recipe.

    Each mutant is the solution with one mistake that people really make; the recipe is replayed on it. Score = killed /
    (killed + survived), where mutants that no run could tell from the solution count as survivors until you explain
    them, unless they are another formula for the same numbers. The other number is of false failures: how many right
    variants of the solution, the same written in other ways, the gold accepts. A second run only tries what changed.

    Examples:

        goldsmith rigor scratch-1                         the gold of scratch-1
        goldsmith rigor scratch-1 --only RMSNorm --all    only mutants of RMSNorm, each with what saw it first
        goldsmith rigor all --min 0.95 --json             for CI

    Exit codes: 0 measured, 1 below `--min`, 2 bad usage, 3 a mutant could not be tried.
    """
    asked = asked_for(formats, json=json, page=page)
    json = Wanted("json") in asked
    mutants: list[MutantResult] = []
    measured: list[Rigor] = []
    with report_errors("rigor", as_json=json, debug=debug, subjects="mutants", finished=mutants) as report:
        if least is not None and not 0 < least <= 1:
            raise BadOption("--min", least, "a score above 0 and at most 1")
        refuse_recipes("rigor", *assignments)
        output = Output(report, "rigor", asked, no_color, {"everything": everything})
        opened = open_course(course)
        ask = at_a_terminal() and not json
        named = choose(opened, assignments, "rigor", ask=ask, no_color=no_color)

        from rich.text import Text

        from goldsmith.courses.internal_tests.on_mutants import forked_tests
        from goldsmith.courses.layout.resolve import resolve
        from goldsmith.doctor import processors
        from goldsmith.mutants.measure import RigorOptions, mutants_for, with_any_mutant
        from goldsmith.render import rigor_json
        from goldsmith.render.console import print_line
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
        )
        by_name = {item.name: item for item in named}
        chosen = with_any_mutant(list(map(resolve, named)), wanted.names)
        if listed:
            known = {item.name: mutants_for(item, wanted.names) for item in chosen}
            if json:
                report.print(rigor_json.listed_mutants(known))
            else:
                show_mutants(output.console, [item for some in known.values() for item in some])
            raise Exit(0)
        for target in chosen:
            find = partial(forked_tests, by_name[target.name]) if baselines else None
            result = _measure(target, dataclasses.replace(wanted, find_tests=find), no_color)
            measured.append(result)
            mutants += rigor_json.mutant_results([result])
            output.show(result)
        below = [item for item in measured if least is not None and (item.score is None or item.score < least)]
        untried = any(item.of("could-not-run") for item in measured)
        summary = rigor_json.summarise_rigor(measured)
        output.finish(mutants, measured, ok=not below and not untried, more=summary)
        if below and output.is_shown:
            names = ", ".join(item.assignment for item in below)
            print_line(output.console, Text(f"Below --min {least}: {names}.", "bold red"))
    raise Exit(1 if below else 3 if untried else 0)


def _measure(target: Target, wanted: RigorOptions, no_color: bool) -> Rigor:
    from goldsmith.mutants.measure import measure

    with make_progress(no_color).of(target.name) as progress:
        progress.step("the solution itself first")
        return measure(target, dataclasses.replace(wanted, progress=progress))
