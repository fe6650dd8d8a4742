"""`goldsmith parity`: two models, one question."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from goldsmith.cli.options import DebugOption, JsonOption, NoColorOption, report_errors
from goldsmith.errors.usage import BadOption, BadUsage

_DTYPES = ("float64", "float32", "bfloat16", "float16")


def parity(
    reference: Annotated[
        str | None, typer.Argument(metavar="REF", help="The one that is right: file.py:Name or package.module:Name.")
    ] = None,
    candidate: Annotated[
        str | None, typer.Argument(metavar="TARGET", help="The one that should compute the same, named alike.")
    ] = None,
    setup: Annotated[
        Path | None,
        typer.Option("--with", metavar="FILE", help="A file that defines reference(), candidate() and inputs()."),
    ] = None,
    init: Annotated[
        str, typer.Option("--init", metavar="ARGS", help="Arguments to build both with: 'dim=64, num_heads=4'.")
    ] = "",
    init_candidate: Annotated[
        str | None, typer.Option("--init-candidate", metavar="ARGS", help="Arguments to build TARGET with.")
    ] = None,
    inputs: Annotated[
        list[str] | None,
        typer.Option("--input", metavar="EXPR", help="What both are called with; several are compared one by one."),
    ] = None,
    outputs: Annotated[
        list[str] | None,
        typer.Option("--output", metavar="REF=TARGET", help="Which output is which: '0=logits'; several times."),
    ] = None,
    adapter: Annotated[
        Path | None, typer.Option("--adapter", metavar="FILE", help="Rules that say where the weights go.")
    ] = None,
    weights: Annotated[
        bool, typer.Option("--weights/--own-weights", help="Carry REF's weights over, or leave both as they are.")
    ] = True,
    gradients: Annotated[
        bool, typer.Option("--gradients/--no-gradients", help="Compare every gradient, or outputs only.")
    ] = True,
    train: Annotated[bool, typer.Option("--train", help="In train mode, not in eval mode.")] = False,
    steps: Annotated[int, typer.Option("--steps", metavar="N", help="Also compare weights after N steps.")] = 0,
    device: Annotated[str, typer.Option("--device", metavar="D", help="Where both run.")] = "cpu",
    dtype: Annotated[
        str, typer.Option("--dtype", metavar="T", help="The dtype for both.", show_default="each its own")
    ] = "",
    rtol: Annotated[
        float | None, typer.Option("--rtol", metavar="X", help="A relative tolerance; without, noise is measured.")
    ] = None,
    atol: Annotated[
        float | None, typer.Option("--atol", metavar="X", help="An absolute tolerance; without, noise is measured.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seeds weights and inputs.")] = 42,
    threads: Annotated[int, typer.Option("--threads", metavar="N", help="Threads of each process.")] = 1,
    json: JsonOption = False,
    no_color: NoColorOption = False,
    debug: DebugOption = False,
) -> None:
    """Compare two models: does TARGET compute what REF does, and if not, where does it first go wrong?

    REF's weights go into TARGET: by name, by the rules of an adapter, or by shape. Both run on the same inputs, in
    float64 and in their own dtype; outputs and every gradient are compared. No tolerance is needed: REF's own noise is
    measured. The answer names the first module that is wrong by itself, and those that are only its victims. Each side
    is imported in a process of its own, so both may have modules of the same name.

    Examples:

        goldsmith parity old/model.py:Net new/model.py:Net --init 'dim=64, heads=4' --input 'torch.randn(2, 11, 64)'
        goldsmith parity old.model:Net new.model:Net --input 'torch.randn(1, 3)' --input 'torch.randn(7, 3)'
        goldsmith parity --with setup.py --train --steps 3

    An --input is an expression in which torch and np are known: one value, several with commas between them for
    positional arguments, or dict(x=…) for named ones.

    Exit codes: 0 agrees, 1 differs, 2 bad usage, 3 could not run.
    """
    with report_errors("parity", as_json=json, debug=debug, subjects="candidates") as report:
        _check_options(reference, candidate, setup, inputs, steps, threads, dtype)

        from goldsmith.model_parity.both_sides import ParityAsk
        from goldsmith.model_parity.in_processes import judge_in_processes
        from goldsmith.process.sides import SideJob
        from goldsmith.render.console import open_console
        from goldsmith.render.progress import step_progress

        common = SideJob(
            role="",
            target="",
            setup=str(setup or ""),
            init=init,
            inputs=tuple(inputs or ()),
            device=device,
            dtype=dtype,
            seed=seed,
            threads=threads,
            root=os.getcwd(),
        )
        ask = ParityAsk(
            reference=reference or "reference()",
            candidate=candidate or "candidate()",
            weights=weights,
            gradients=gradients,
            train=train,
            steps=steps,
            rtol=_number("--rtol", rtol),
            atol=_number("--atol", atol),
            outputs=_pairs(outputs or []),
            dtype=dtype,
        )
        with step_progress(open_console(no_color=no_color, stderr=True), "parity") as on_step:
            found = judge_in_processes(common, ask, init_candidate, adapter, on_step)
        if json:
            report.print([found], ok=found.exit_code == 0)
        else:
            from goldsmith.render.parity import show_parity

            show_parity(open_console(no_color=no_color), found)
    raise typer.Exit(found.exit_code)


def _check_options(
    reference: str | None,
    candidate: str | None,
    setup: Path | None,
    inputs: list[str] | None,
    steps: int,
    threads: int,
    dtype: str,
) -> None:
    if setup is None and (reference is None or candidate is None):
        raise BadUsage("goldsmith parity", f"{'REF' if reference is None else 'TARGET'} is missing; name both models")
    if setup is not None and (reference is not None or inputs):
        raise BadUsage("goldsmith parity", "--with says what is compared; leave out REF, TARGET and --input")
    if setup is None and not inputs:
        raise BadUsage("goldsmith parity", "--input is missing; say what both are called with")
    if dtype and dtype not in _DTYPES:
        raise BadOption("--dtype", dtype, ", ".join(_DTYPES))
    if steps < 0:
        raise BadOption("--steps", steps, "a number from 0 up")
    if threads < 1:
        raise BadOption("--threads", threads, "a number from 1 up")


def _number(option: str, value: float | None) -> float | None:
    if value is not None and not 0 <= value < float("inf"):
        raise BadOption(option, value, "a number from 0 up")
    return value


def _pairs(given: list[str]) -> dict[str, str]:
    found = {}
    for text in given:
        mine, equals, theirs = text.partition("=")
        if not equals:
            raise BadOption("--output", text, "REF=TARGET, such as 0=logits")
        found[mine.strip()] = theirs.strip()
    return found
