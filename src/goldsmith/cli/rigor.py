"""`goldsmith rigor`: does the gold catch real mistakes?"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goldsmith.cli.options import (
    CourseOption,
    DebugOption,
    JsonOption,
    NoColorOption,
    at_a_terminal,
    choose,
    open_course,
    refuse_recipes,
    report_errors,
)
from goldsmith.errors.usage import BadOption

if TYPE_CHECKING:
    from goldsmith.course.layout import Assignment
    from goldsmith.mutants.measure import RigorOptions
    from goldsmith.mutants.results import Rigor
    from goldsmith.render.rigor import MutantResult


def rigor(
    assignments: Annotated[
        list[str] | None, typer.Argument(metavar="A… | all", help="Names of assignments; omit them for a menu.")
    ] = None,
    least: Annotated[
        float | None, typer.Option("--min", metavar="SCORE", help="Exit with 1 if a score is below this.")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="NAME", help="Only this mutant, part or operator; may be given several times."),
    ] = None,
    most: Annotated[
        int | None, typer.Option("--max", metavar="N", min=1, help="Try at most this many mutants, spread evenly.")
    ] = None,
    baselines: Annotated[
        bool,
        typer.Option("--baselines", help="Also try the internal tests and plain tolerances on them. Slow."),
    ] = False,
    everything: Annotated[bool, typer.Option("--all", help="Also list the mutants that were killed.")] = False,
    listed: Annotated[bool, typer.Option("--list", help="Show the mutants without trying them.")] = False,
    again: Annotated[bool, typer.Option("--again", help="Try all again, even those with a cached result.")] = False,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", "-j", metavar="N", min=1, help="How many run at once; default one for each processor."),
    ] = None,
    allow_stale: Annotated[bool, typer.Option("--allow-stale", help="Measure gold that is stale.")] = False,
    course: CourseOption = Path("."),
    json: JsonOption = False,
    no_color: NoColorOption = False,
    debug: DebugOption = False,
) -> None:
    """Find mistakes that the gold would miss, say why, and what to add to the recipe.

    Each mutant is the solution with one mistake that people really make; the recipe is replayed on it. Score = killed /
    (killed + survived). Mutants that no run could tell from the solution do not count: they are listed for you to
    read. Nothing in the course is touched; results are cached under `.goldsmith/`, so that a second run only tries
    what changed.

    Examples:

        goldsmith rigor scratch-1                         the gold of scratch-1
        goldsmith rigor scratch-1 --only RMSNorm --all    only mutants of RMSNorm, each with what saw it first
        goldsmith rigor all --min 0.95 --json             for CI

    Exit codes: 0 measured, 1 below `--min`, 2 bad usage, 3 a mutant could not be tried.
    """
    mutants: list[MutantResult] = []
    measured: list[Rigor] = []
    with report_errors("rigor", as_json=json, debug=debug, subjects="mutants", finished=mutants) as report:
        if least is not None and not 0 < least <= 1:
            raise BadOption("--min", least, "a score above 0 and at most 1")
        refuse_recipes("rigor", *(assignments or ()))
        opened = open_course(course)
        ask = at_a_terminal() and not json
        named = choose(opened, assignments or [], "rigor", ask=ask, no_color=no_color)

        from goldsmith.doctor import processors
        from goldsmith.generate.options import options_from
        from goldsmith.mutants.measure import RigorOptions, mutants_for, with_any_mutant
        from goldsmith.render import rigor as render
        from goldsmith.render.console import open_console

        console = open_console(no_color=no_color)
        config = opened.config
        wanted = RigorOptions(
            options=options_from(config),
            case_timeout=config.case_timeout,
            names=tuple(only or ()),
            most=most,
            jobs=jobs or processors(),
            keep=not again,
            baselines=baselines,
            allow_stale=allow_stale,
        )
        chosen = with_any_mutant(named, wanted.names)
        if listed:
            known = {item.name: mutants_for(item, wanted.names) for item in chosen}
            if json:
                report.print(render.listed_mutants(known))
            else:
                render.show_mutants(console, [item for some in known.values() for item in some])
            raise typer.Exit(0)
        for assignment in chosen:
            result = _measure(assignment, wanted, no_color)
            measured.append(result)
            mutants += render.mutant_results([result])
            if not json:
                render.show_rigor(console, result, everything=everything)
        below = [item for item in measured if least is not None and (item.score is None or item.score < least)]
        untried = any(item.of("could-not-run") for item in measured)
        if json:
            report.print(mutants, ok=not below and not untried, more=render.summarise_rigor(measured))
        elif below:
            names = ", ".join(item.assignment for item in below)
            console.print(f"Below --min {least}: {names}.", style="bold red", highlight=False)
    raise typer.Exit(1 if below else 3 if untried else 0)


def _measure(assignment: Assignment, wanted: RigorOptions, no_color: bool) -> Rigor:
    from goldsmith.mutants.measure import measure
    from goldsmith.render.console import open_console
    from goldsmith.render.rigor import rigor_progress

    with rigor_progress(open_console(no_color=no_color, stderr=True), assignment.name) as progress:
        told = dataclasses.replace(
            wanted, on_start=progress.on_start, on_finding=progress.on_finding, watcher=progress.watcher
        )
        return measure(assignment, told)
