"""`--shard`, `--times` and `--merge`: work in shares on machines that share nothing, of `grade` and `rigor`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from goldsmith.cli.command import Function, add_options, flag, option
from goldsmith.errors.usage import BadOption

if TYPE_CHECKING:
    from goldsmith.cli.reports import Wanted
    from goldsmith.foundation.shares import Share

NO_TIMES = "none"
_OF_ALL = ("page", "verbose", "gradebook", "column", "names", "least", "listed", "since", "never_lower", "dry_run")
"""Parameters of what takes all shares."""
_OPTIONS = (
    option(
        "--shard",
        metavar="K/N",
        default="",
        help="Only share K of N, counted from 1, for --merge; the same on every machine.",
    ),
    flag("--merge", help="Merge what all shares wrote: name their folders, and nothing else."),
)


def share_options(times: str, *, metavar: str) -> Callable[[Function], Function]:
    """Add the options `shard`, `merge` and `times`, the last with this help."""
    last = option("--times", metavar=metavar, default="", rare=True, help=times)
    return lambda function: add_options((*_OPTIONS, last), function)


def share_named(text: str) -> Share | None:
    """Return the share that `--shard` names, if it does."""
    from goldsmith.foundation.shares import read_share

    try:
        return read_share(text) if text or _is_given("shard") else None
    except ValueError as wanted:
        raise BadOption("--shard", text or "empty", str(wanted)) from None


def _is_given(name: str) -> bool:
    """Return whether an option was given, if only with the empty text of a variable that is not set."""
    return click.get_current_context().get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE


def refuse_others(option: str, why: str, allowed: Collection[str] = (), refused: Collection[str] = ()) -> None:
    """Raise if an option was given that cannot be there with this one: any but those `allowed`, or any `refused`."""
    context = click.get_current_context()
    for item in context.command.params:
        name = item.name or ""
        if _is_given(name) and isinstance(item, click.Option) and (name in refused if refused else name not in allowed):
            raise click.UsageError(f"{option} {why}: leave out {item.opts[0]}")


def require_share(share: Share | None, output: Path | None, formats: Sequence[Wanted]) -> None:
    """Raise unless a share has a folder of its own, and nothing is asked of it that takes all shares."""
    if _is_given("times") and not click.get_current_context().params["times"]:
        raise BadOption("--times", "empty", "the folder of an earlier run")
    if share is None:
        if _is_given("times"):
            raise click.UsageError("--times is for --shard, whose shares it makes even: give that, too")
        return
    refuse_others("--shard", "needs the same inputs on every machine", refused=("fresh",))
    refuse_others("--shard", "writes nothing but a record, for --merge", refused=_OF_ALL)
    others = [item.name for item in formats if item.name != "json"]
    if others:
        raise click.UsageError(f"--format {others[0]} takes all shares: give it to --merge")
    if output is None:
        raise click.UsageError("--shard needs --output, with a folder for this share alone, such as part3/")


def parts_named(command: str, names: Collection[str | None]) -> list[Path]:
    """Return the folders that are to be merged."""
    found = [Path(name) for name in names if name is not None]
    if not found:
        raise click.UsageError(f"--merge needs the folders that the shares wrote: goldsmith {command} --merge part*/")
    return found


def require_apart(output: Path, parts: Collection[Path]) -> None:
    """Raise if what is merged would be written over one of the parts."""
    if output.resolve() in [part.resolve() for part in parts]:
        raise click.UsageError(f"{output} is one of the folders that are merged: give --output another one")


def seconds_before(times: str, default: Path, assignment: str) -> Mapping[str, float]:
    """Return how long submissions took in the run whose folder `times` is, or in the one in `default` if there is."""
    from goldsmith.courses.grade.run_record import read_record
    from goldsmith.foundation.sealed_files import NotSealed

    if times == NO_TIMES:
        return {}
    try:
        record = read_record(Path(times) if times else default)
    except (NotSealed, OSError):
        if times:
            raise BadOption("--times", times, "the folder of an earlier run of grade, or none") from None
        return {}
    return record.seconds if record.assignment == assignment else {}
