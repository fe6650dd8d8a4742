"""`goldsmith record`: gold of a recipe by itself, without a course."""

from __future__ import annotations

from typing import TYPE_CHECKING

from goldsmith.cli.command import argument, command, option
from goldsmith.cli.gold_runs import Show, asking_of, calibration, check_gold, gold_run_options, make_gold, report_all
from goldsmith.cli.options import at_a_terminal, output_options, report_errors
from goldsmith.cli.reports import Output, Wanted, asked_for

if TYPE_CHECKING:
    from goldsmith.generate.outcome import Outcome


@command
@argument("recipes", "RECIPE…", "Python files with cases.", nargs=-1, required=True)
@option(
    "--with",
    "implementation",
    metavar="[NAME=]WHERE",
    help="Record from this folder, file or module instead of what the recipe imports.",
)
@gold_run_options
@output_options
def record(
    recipes: tuple[str, ...],
    implementation: str | None,
    seed: int | None,
    device: str | None,
    timeout: float | None,
    allow_large: bool,
    calibrate: bool | None,
    force: bool,
    exact: bool,
    redraw: bool,
    check: bool,
    review: bool,
    yes: bool,
    no_wait: bool,
    verbose: bool,
    formats: tuple[Wanted, ...],
    json: bool,
    no_color: bool,
    debug: bool,
) -> None:
    """Record verified, documented gold of a recipe file anywhere, without a course.

    The recipe runs where it is, on the implementation that it imports as the environment stands: from its own folder,
    from what is installed, from the repository around it. The gold goes into a folder next to it: `parity_cases.gold/`
    for `parity_cases.py`. It is recorded twice, must agree to the last bit, and its tolerances are measured, as with
    `goldsmith generate`.

    Examples:

        goldsmith record parity_cases.py                      from what it imports
        goldsmith record parity_cases.py --with ../old        from the modules of those names in another folder
        goldsmith record parity_cases.py --with model=old.py  from a file that takes the place of `model`
        goldsmith record parity_cases.py --check              would anything change? (for CI)
        goldsmith check parity_cases.py --with new_package    then: is another implementation right?

    Exit codes: 0 all well, 1 gold would change (with --check, or without --yes), 2 bad usage, 3 could not run or gold
    refused.
    """
    wanted = asked_for(formats, json=json)
    json = Wanted("json") in wanted
    outcomes: list[Outcome] = []
    with report_errors("record", as_json=json, debug=debug, finished=outcomes) as report:
        from goldsmith.check.implementations import recorded_from
        from goldsmith.courses.layout.resolve import open_recipe
        from goldsmith.errors.lone_recipe import NotARecipe
        from goldsmith.generate.options import options_of
        from goldsmith.targets.target import is_recipe_file

        interactive = at_a_terminal() and not (yes or json)
        asking = asking_of(interactive=interactive, yes=yes, check=check, review=review)
        show = Show(Output(report, "gold", wanted, no_color), verbose)
        for text in recipes:
            if not is_recipe_file(text):
                raise NotARecipe(text)
        opened = [open_recipe(text) for text in dict.fromkeys(recipes)]
        for target in [recorded_from(it, implementation) if implementation else it for it in opened]:
            options = options_of(
                target,
                seed=target.seed if seed is None else seed,
                timeout=target.timeout if timeout is None else timeout,
                device=device or "cpu",
                allow_large=allow_large,
                force=force,
                exact=exact,
                redraw=redraw,
                calibrate=calibration(target.calibrate, calibrate),
            )
            if check:
                check_gold([target], options, show, outcomes, seed=seed, device=device)
            else:
                planned = {target.name: (target, options)}
                make_gold(target.project, planned, asking, show, outcomes, wait=not no_wait)
        report_all(outcomes, show)
