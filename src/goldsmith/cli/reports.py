"""Where what a command found goes: the screen, one report on standard output instead, reports in files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from goldsmith.cli.command import Function, option
from goldsmith.cli.options import JsonReport
from goldsmith.errors.usage import BadOption
from goldsmith.foundation.log_injection import say, say_json
from goldsmith.reports import FORMATS, Kind, Result, formats_of, renderer_of, show_text

if TYPE_CHECKING:
    import msgspec
    from rich.console import Console


@dataclass(frozen=True)
class Wanted:
    """A format that was asked for, and the file that it goes into; None is standard output."""

    name: str
    file: Path | None = None


class _Format(click.ParamType):  # type: ignore[type-arg]
    name = "format"

    def __init__(self, kind: Kind, more: Sequence[str]) -> None:
        self._kind, self._names = kind, [*formats_of(kind), *more]

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Wanted:
        if isinstance(value, Wanted):
            return value
        name, is_file, file = str(value).partition("=")
        if name not in self._names and (name in FORMATS or renderer_of(name, self._kind) is None):
            import difflib

            near = difflib.get_close_matches(name, self._names, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(self._names)}"
            self.fail(f"there is no format {name}; {hint}", param, ctx)
        return Wanted(name, Path(file) if is_file else None)


def report_formats(kind: Kind, *more: str, help: str = "") -> Callable[[Function], Function]:
    """Add `--format`, with the formats that this kind of result has, and those that only this command has."""
    names = ", ".join(name for name in formats_of(kind) if name not in ("text", "json"))
    help = help or f"Print it as {names} or another installed format; =FILE writes that besides the screen."
    return option("--format", "formats", metavar="NAME[=FILE]", type=_Format(kind, more), multiple=True, help=help)


@dataclass
class Output:
    """Gives what a command found in the formats that were asked for; without any, shows it on the screen."""

    report: JsonReport
    kind: Kind
    formats: Sequence[Wanted]
    no_color: bool = False
    settings: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if len([item for item in self.formats if item.file is None]) > 1:
            names = " and ".join(item.name for item in self.formats if item.file is None)
            raise click.UsageError(f"{names} cannot both go to standard output: give one of them a file, NAME=FILE")
        for item in self.formats:
            if item.file is not None:
                from goldsmith.html_report.write import require_place

                require_place(item.file, item.name)

    def wants(self, name: str) -> bool:
        return any(item.name == name for item in self.formats)

    @property
    def as_json(self) -> bool:
        return Wanted("json") in self.formats

    @cached_property
    def is_shown(self) -> bool:
        """Whether the screen is for people."""
        return all(item.file is not None for item in self.formats)

    @cached_property
    def console(self) -> Console:
        from goldsmith.render.console import open_console

        return open_console(no_color=self.no_color)

    def show(self, subject: Any) -> None:
        """Show something that was found, as soon as it is."""
        if self.is_shown:
            show_text(self.console, self.kind, subject, self.settings)

    def finish(
        self,
        items: Sequence[msgspec.Struct],
        subjects: Sequence[Any] | None = None,
        *,
        ok: bool = True,
        more: msgspec.Struct | None = None,
    ) -> None:
        """Give all that was found in every format that was asked for; `subjects` are `items`, unless others are
        shown."""
        result = Result(
            kind=self.kind,
            command=self.report.command,
            list_name=self.report.subjects,
            subjects=items if subjects is None else subjects,
            items=items,
            ok=ok,
            more=more,
            settings=self.settings,
        )
        for item in self.formats:
            render = renderer_of(item.name, self.kind)
            if render is None:
                raise BadOption("--format", item.name, f"one of {', '.join(formats_of(self.kind))}")
            if item.file is not None:
                from goldsmith.html_report.write import write_report

                write_report(item.file, render(result), item.name)
            elif item.name == "json":
                say_json(render(result))
            else:
                say(render(result))


def asked_for(
    formats: Sequence[Wanted], *, json: bool = False, markdown: bool = False, page: Path | None = None
) -> list[Wanted]:
    """Return what `--format` asks for, and the older options that say the same of one format each."""
    found = list(formats)
    found += [Wanted("json")] if json and Wanted("json") not in found else []
    found += [Wanted("markdown")] if markdown and Wanted("markdown") not in found else []
    return found + ([Wanted("html", page)] if page is not None else [])
