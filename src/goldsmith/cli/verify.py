"""`goldsmith verify`: read the gold back and check all of it again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from click.exceptions import Exit

from goldsmith.cli.command import argument, command, flag
from goldsmith.cli.options import at_a_terminal, choose_subjects, course_options, make_progress, report_errors
from goldsmith.cli.reports import Output, Wanted, asked_for, report_formats
from goldsmith.foundation.platforms import require

if TYPE_CHECKING:
    from goldsmith.generate.verify import Proof


@command
@argument("assignments", "A… | all", "Names of assignments, or recipe files; omit them for a menu, or all.", nargs=-1)
@flag("--reproduce", help="Also run the recipe again and compare.")
@report_formats("proof")
@course_options
def verify(
    assignments: tuple[str, ...],
    reproduce: bool,
    formats: tuple[Wanted, ...],
    course: Path,
    json: bool,
    no_color: bool,
    debug: bool,
) -> None:
    """Read published gold back and repeat every check, hashes included.

    A flipped bit in any file is found and named. With --reproduce the recipe runs again in private copies, on recorded
    inputs and weights; nothing is written. Where the result differs, it says what caused that: the environment
    (processor, torch, threads) or the code, compared with the sources in git that made the gold.

    Examples:

        goldsmith verify                            choose from a menu; without a terminal, all
        goldsmith verify scratch-1 --reproduce      also run its recipe again
        goldsmith verify parity_cases.py            the gold of a recipe by itself

    Exit codes: 0 all sound, 1 a check failed or tensors moved beyond noise, 2 bad usage, 3 there is no gold.
    """
    wanted = asked_for(formats, json=json)
    json = Wanted("json") in wanted
    proofs: list[Proof] = []
    with report_errors("verify", as_json=json, debug=debug, finished=proofs) as report:
        require("verify --reproduce" if reproduce else "verify")
        output = Output(report, "proof", wanted, no_color)
        ask = at_a_terminal() and not json
        names = assignments or ([] if ask else ["all"])
        for assignment in choose_subjects(course, names, "verify", ask=ask, no_color=no_color):
            from goldsmith.courses.layout.resolve import resolve
            from goldsmith.generate.verify import prove
            from goldsmith.generate.verify import reproduce as run_again

            target = resolve(assignment)
            proof = prove(target)
            if reproduce:
                proof = run_again(proof, target, make_progress(no_color))
            proofs.append(proof)
            output.show(proof)
        output.finish(proofs, ok=all(proof.exit_code == 0 for proof in proofs))
    raise Exit(max((proof.exit_code for proof in proofs), default=0))
