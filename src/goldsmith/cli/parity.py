"""`goldsmith parity`: two models, one question."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from click.exceptions import Exit

from goldsmith.cli.command import argument, command, flag, option
from goldsmith.cli.options import PATH, make_progress, output_options, report_errors
from goldsmith.cli.reports import Output, Wanted, asked_for, report_formats
from goldsmith.errors.usage import BadOption, BadUsage

if TYPE_CHECKING:
    from goldsmith.model_parity.benchmark_form import BenchmarkForm

_DTYPES = ("float64", "float32", "bfloat16", "float16")


@command
@argument(
    "targets",
    "REF... TARGET",
    "One that is right, file.py:Name or package.module:Name, or several; last the one that should compute the same.",
    nargs=-1,
)
@option(
    "--with",
    "given",
    metavar="FILE|VERSION",
    multiple=True,
    help="A file that defines reference(), candidate() and inputs(); or versions to take REF from: of its package "
    "(name==1.2), of the repository (HEAD~3).",
)
@option("--init", metavar="ARGS", help="Arguments to build both with: 'dim=64, heads=4'.")
@option("--init-candidate", metavar="ARGS", rare=True, help="Arguments to build TARGET with, if others.")
@option("--input", "inputs", metavar="EXPR", multiple=True, help="What both are called with; several, one by one.")
@option(
    "--input-candidate",
    "own_inputs",
    metavar="EXPR",
    multiple=True,
    rare=True,
    help="What TARGET is called with instead; REF's are inputs.",
)
@option(
    "--init-from",
    metavar="NAME",
    default="",
    rare=True,
    help="A function of REF's file that returns arguments to build both with.",
)
@option(
    "--inputs-from",
    metavar="NAME",
    default="",
    rare=True,
    help="A function of REF's file that returns what both are called with.",
)
@flag("--kernel", help="Compare outputs alone, with trials of what kernels get away with.")
@option("--output", "outputs", metavar="REF=TARGET", multiple=True, help="Which output is which: '0=logits'.")
@option("--adapter", metavar="FILE", type=PATH, help="Rules that say where the weights go.")
@option(
    "--write-adapter", "proposed", metavar="FILE", type=PATH, help="Write the rules that the report proposes to a file."
)
@option("--convert", metavar="FILE.py:NAME", rare=True, help="A function that makes TARGET's state dict of REF's.")
@flag("--own-weights", help="Leave both with the weights that they are built with.")
@flag("--no-gradients", help="Compare outputs only.")
@flag("--train", help="Run in train mode, not in eval mode.")
@flag("--eval", "evaluate", rare=True, help="Run a kernel benchmark's models in eval mode, not as they are built.")
@option("--steps", metavar="N", type=int, default=0, help="Also compare weights after N optimiser steps.")
@flag("--compiled", help="Also compare TARGET as torch.compile makes it.")
@option("--device", metavar="D", default="cpu", help="Where both run.")
@option("--dtype", metavar="T", default="", help="A dtype for both, instead of their own.")
@option("--rtol", metavar="X", type=float, help="A relative tolerance, instead of REF's measured noise.")
@option("--atol", metavar="X", type=float, help="An absolute tolerance, instead of REF's measured noise.")
@flag("--brief", help="With --json, only what leads to the line that is wrong: some 2 kB.")
@option("--html", "page", metavar="FILE", type=PATH, help="Also write a page to look at: curves, trees, tensors.")
@report_formats("parity")
@option("--seed", metavar="N", type=int, default=42, rare=True, help="Seeds weights and inputs.")
@option("--threads", metavar="N", type=int, default=1, rare=True, help="Threads of each process.")
@output_options
def parity(
    targets: tuple[str, ...],
    given: tuple[str, ...],
    init: str | None,
    init_candidate: str | None,
    inputs: tuple[str, ...],
    own_inputs: tuple[str, ...],
    init_from: str,
    inputs_from: str,
    kernel: bool,
    outputs: tuple[str, ...],
    adapter: Path | None,
    proposed: Path | None,
    convert: str | None,
    own_weights: bool,
    no_gradients: bool,
    train: bool,
    evaluate: bool,
    steps: int,
    compiled: bool,
    device: str,
    dtype: str,
    rtol: float | None,
    atol: float | None,
    brief: bool,
    page: Path | None,
    formats: tuple[Wanted, ...],
    seed: int,
    threads: int,
    json: bool,
    no_color: bool,
    debug: bool,
) -> None:
    """Compare models: say whether TARGET computes what REF does, and where it first goes wrong.

    A class is built, with --init; a function is compared itself, unless --init says what to call it with. REF's weights
    go into TARGET: by name, by the rules of an adapter, or by shape. Both run on the same inputs, in float64 and in
    their own dtype; outputs and every gradient are compared, of a kernel outputs alone. No tolerance is needed: REF's
    own noise is measured. The answer names the first module that is wrong by itself, and those that are only its
    victims. Each side is imported in a process of its own, so both may have modules of the same name.

    Several REFs are compared with each other first; one far from all others is named and left out. If they differ more
    from each other than TARGET from the nearest, nothing can be said.

    Examples:

        goldsmith parity old/model.py:Net new/model.py:Net --init 'dim=64, heads=4' --input 'torch.randn(2, 11, 64)'
        goldsmith parity old.model:Net new.model:Net --input 'torch.randn(1, 3)' --input 'torch.randn(7, 3)'
        goldsmith parity --with setup.py --train --steps 3
        goldsmith parity problem.py solution.py              a kernel benchmark's Model, get_inputs() and ModelNew
        goldsmith parity a.py:Net b.py:Net c.py:Net new.py:Net --input 'torch.randn(1, 3)'
        goldsmith parity model.py:Net model.py:Net --with HEAD~3 --input 'torch.randn(1, 3)'
        goldsmith parity pkg.net:Net new.py:Net --with pkg==1.0 --with pkg==1.1 --input 'torch.randn(1, 3)'

    An --input is an expression that knows torch, np and REF's module: one value, several with commas between them for
    positional arguments, or dict(x=…) for named ones. Where TARGET takes others, each --input has an --input-candidate
    that makes them of REF's: --input 'dict(ids=…, pixels=…)' --input-candidate 'inputs["pixels"], inputs["ids"]'. What
    both print is not shown. Models too large for copies and traces are compared in Python, by
    goldsmith.parity(…, in_step=True).

    Exit codes: 0 agrees, 1 differs, 2 bad usage, 3 could not run, inconclusive, or references that differ.
    """
    wanted = asked_for(formats, json=json, page=page)
    json = Wanted("json") in wanted
    with report_errors("parity", as_json=json, debug=debug, subjects="candidates") as report:
        setup, versions = _setup_and_versions(given)
        *references, candidate = targets or ("", "")
        form = _form(references, candidate, inputs, setup, init_from, inputs_from)
        if form is not None:
            references, candidate, kernel = [form.reference], form.candidate, True
        _check_options(references, targets, setup, versions, inputs, own_inputs, drawn=form is not None)
        if kernel and (own_inputs or steps or max(len(references), len(versions)) > 1):
            other = "--steps" if steps else "--input-candidate" if own_inputs else "all REFs and versions but one"
            raise BadUsage(
                "goldsmith parity", f"a kernel is compared by its outputs for the same inputs; leave out {other}"
            )
        if brief and not json:
            raise BadUsage("goldsmith parity", "--brief is for --json; leave it out, or add --json")
        if convert and own_weights:
            raise BadUsage("goldsmith parity", "--convert makes weights that --own-weights leaves out; say one of them")
        _check_numbers(steps, threads, seed, dtype)
        if proposed is not None and (proposed.exists() or not proposed.absolute().parent.is_dir()):
            raise BadOption("--write-adapter", proposed, "a file that does not exist yet, in a folder that does")
        output = Output(report, "parity", wanted, no_color)

        import msgspec

        from goldsmith.model_parity.both_sides import ParityRequest
        from goldsmith.model_parity.brief import in_brief
        from goldsmith.model_parity.in_processes import judge_in_processes
        from goldsmith.runs.implementation import SideJob

        mine = SideJob(
            role="reference",
            target="",
            setup=str(setup or ""),
            init=init,
            inputs=inputs,
            benchmark=form.file if form is not None else "",
            init_from=form.init_from if form is not None else "",
            inputs_from=form.inputs_from if form is not None else "",
            kernel=kernel,
            device=device,
            dtype=dtype,
            seed=seed,
            threads=threads,
            root=os.getcwd(),
        )
        theirs = msgspec.structs.replace(
            mine,
            role="candidate",
            target=candidate,
            init=init if init_candidate is None else init_candidate,
            inputs=own_inputs,
            adapter=str(adapter.resolve()) if adapter else "",
            convert=convert or "",
        )
        request = ParityRequest(
            reference=f"reference() of {setup}",
            candidate=candidate or f"candidate() of {setup}",
            weights=not own_weights,
            gradients=not no_gradients and not kernel,
            train=train or (form is not None and not evaluate),
            kernel=kernel,
            compiled=compiled,
            notes=(form.note,) if form is not None else (),
            steps=steps,
            rtol=_tolerance("--rtol", rtol),
            atol=_tolerance("--atol", atol),
            outputs=_pairs(outputs),
            dtype=dtype,
            on_command_line=True,
        )
        with make_progress(no_color).of("parity") as progress:
            jobs = [msgspec.structs.replace(mine, target=target) for target in references]
            found, evidence = judge_in_processes(
                jobs, theirs, request, progress, versions=versions, with_evidence=output.wants("html")
            )
        if proposed is not None:
            _write_adapter(proposed, found.adapter_lines)
        output.settings["evidence"] = evidence
        output.show(found)
        output.finish([in_brief(found) if brief else found], [found], ok=found.exit_code == 0)
    raise Exit(found.exit_code)


def _form(
    references: Sequence[str],
    candidate: str,
    inputs: Sequence[str],
    setup: Path | None,
    init_from: str,
    inputs_from: str,
) -> BenchmarkForm | None:
    """Return what both are in the form of kernel benchmarks; None where something else says what they are."""
    from goldsmith.model_parity.benchmark_form import benchmark_form

    named = f"--init-from {init_from}" if init_from else f"--inputs-from {inputs_from}"
    if inputs or setup is not None or len(references) != 1 or not candidate:
        if init_from or inputs_from:
            raise BadUsage(
                "goldsmith parity", f"{named} is for REF and TARGET without --input and --with; leave it out"
            )
        return None
    form = benchmark_form(references[0], candidate, init_from=init_from, inputs_from=inputs_from, root=Path.cwd())
    if form is None and init_from:
        raise BadUsage("goldsmith parity", f"{named} needs --inputs-from, or a function get_inputs() in REF's file")
    return form


def _write_adapter(path: Path, lines: Sequence[str]) -> None:
    """Write the lines that were proposed, if there are any, and say so."""
    from click import echo

    from goldsmith.foundation.atomic_files import write_durably
    from goldsmith.weights.rule_lines import adapter_text

    if lines:
        write_durably(path, adapter_text(lines).encode())
    rules = f"{len(lines)} rule{'s' if len(lines) != 1 else ''}"
    echo(f"wrote {path}: {rules}" if lines else f"{path} was not written: nothing needs a rule", err=True)


def _setup_and_versions(given: Sequence[str]) -> tuple[Path | None, list[str]]:
    """Tell a file that says what is compared from versions of the reference."""
    files = [text for text in given if text.endswith(".py")]
    if len(files) > 1:
        raise BadUsage("goldsmith parity", f"--with names {len(files)} files, {files[0]} and {files[1]}; give one")
    return (Path(files[0]) if files else None), [text for text in given if text not in files]


def _check_options(
    references: Sequence[str],
    targets: Sequence[str],
    setup: Path | None,
    versions: Sequence[str],
    inputs: Sequence[str],
    own_inputs: Sequence[str],
    *,
    drawn: bool,
) -> None:
    from goldsmith.judge.bounds import MAX_REFERENCES

    if setup is None and len(targets) < 2:
        raise BadUsage("goldsmith parity", f"{'TARGET' if targets else 'REF'} is missing; name both models")
    if versions and len(references) > 1:
        raise BadUsage("goldsmith parity", "--with VERSION says where REF is taken from; give one REF")
    same = [name for names in (references, versions) for name in names if list(names).count(name) > 1]
    if same:
        raise BadUsage("goldsmith parity", f"{same[0]} is given twice; give each reference once")
    if max(len(references), len(versions)) > MAX_REFERENCES:
        raise BadUsage("goldsmith parity", f"give up to {MAX_REFERENCES} references; every two of them are compared")
    if setup is not None and (targets or inputs):
        raise BadUsage("goldsmith parity", "--with says what is compared; leave out REF, TARGET and --input")
    if setup is not None and own_inputs:
        problem = f"--with says what is compared; leave out --input-candidate, and define inputs_candidate() in {setup}"
        raise BadUsage("goldsmith parity", problem)
    if setup is None and not inputs and not drawn:
        raise BadUsage("goldsmith parity", "--input is missing; say what both are called with")
    if own_inputs and len(own_inputs) != len(inputs):
        problem = f"--input is given {_times(len(inputs))} and --input-candidate {_times(len(own_inputs))}"
        raise BadUsage("goldsmith parity", f"{problem}; give one for each")


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _check_numbers(steps: int, threads: int, seed: int, dtype: str) -> None:
    if dtype and dtype not in _DTYPES:
        raise BadOption("--dtype", dtype, " or ".join(_DTYPES))
    if steps < 0:
        raise BadOption("--steps", steps, "a number from 0 up")
    if threads < 1:
        raise BadOption("--threads", threads, "a number from 1 up")
    if not 0 <= seed < 2**32:
        raise BadOption("--seed", seed, "a number from 0 to 4294967295")


def _tolerance(option: str, value: float | None) -> float | None:
    if value is not None and not 0 <= value < float("inf"):
        raise BadOption(option, value, "a number from 0 up")
    return value


def _pairs(given: Sequence[str]) -> dict[str, str]:
    found = {}
    for text in given:
        mine, equals, theirs = text.partition("=")
        if not equals:
            raise BadOption("--output", text, "REF=TARGET, such as 0=logits")
        found[mine.strip()] = theirs.strip()
    return found
