"""What a command found, in the formats that were asked for: the screen, one report on standard output instead, files.

A format is a name, and for each kind of result what renders it. Goldsmith's own formats are all in `FORMATS`: what is
added there, every command has that finds such a result. A new kind of result is a name in `Kind` and its screen in
`show_text`. Others are found by the entry point `goldsmith.reports`: a
function that takes the object that `--json` prints, as plain Python values, and returns text.

    [project.entry-points."goldsmith.reports"]
    tap = "my_package:as_tap"

Then `goldsmith check scratch-1 --format tap` prints it, and `--format tap=FILE` writes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from goldsmith.cli.command import Function, option
from goldsmith.cli.options import JsonReport
from goldsmith.errors.usage import BadOption
from goldsmith.foundation.log_injection import say, say_json
from goldsmith.frameworks.framework import entry_points_of

if TYPE_CHECKING:
    import msgspec
    from rich.console import Console

Kind = Literal[
    "verdict", "parity", "difference", "rigor", "class", "gold", "proof", "tests", "status", "leaks", "machine"
]
GROUP = "goldsmith.reports"
_EVERY = ""
"""Stands for every kind, in formats that are made from the JSON object."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """What a command found: `subjects` as its own renderers take them, one by one, and what `--json` prints of them."""

    kind: Kind
    command: str
    list_name: str
    subjects: Sequence[Any]
    items: Sequence[msgspec.Struct]
    ok: bool = True
    more: msgspec.Struct | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def json(self) -> str:
        from goldsmith.render.json_output import encode_report

        return encode_report(self.command, self.list_name, self.items, ok=self.ok, more=self.more)

    def plain(self) -> dict[str, Any]:
        """Return the object that `--json` prints."""
        import json

        found: dict[str, Any] = json.loads(self.json)
        return found


Renderer = Callable[[Result], str]


def formats_of(kind: Kind) -> list[str]:
    """Return the names of goldsmith's own formats that this kind of result has."""
    return [name for name, renderers in FORMATS.items() if kind in renderers or _EVERY in renderers]


def renderer_of(name: str, kind: Kind) -> Renderer | None:
    """Find what renders this kind of result in the format called `name`: goldsmith's own, or one that is installed."""
    own = FORMATS.get(name)
    if own is not None:
        return own.get(kind) or own.get(_EVERY)
    entry = entry_points_of(GROUP).get(name)
    if entry is None:
        return None
    render: Callable[[dict[str, Any]], str] = entry.load()
    return lambda result: render(result.plain())


def show_text(console: Console, kind: Kind, subject: Any, settings: Mapping[str, Any]) -> None:
    """Show a result to people, on a console."""
    match kind:
        case "verdict":
            from goldsmith.render.verdict import show_verdict

            show_verdict(console, subject, everything=settings["verbose"], options=settings["options"])
        case "parity":
            from goldsmith.render.parity import show_parity

            show_parity(console, subject)
        case "difference":
            from goldsmith.render.gold_diff import show_difference

            show_difference(console, subject)
        case "rigor":
            from goldsmith.render.rigor import show_rigor

            show_rigor(console, subject, everything=settings["everything"])
        case "class":
            from goldsmith.render.grades import show_class

            show_class(console, subject, settings["folder"])
        case "gold":
            from goldsmith.render.summary import Summary

            Summary(console).show(subject)
        case "proof":
            from goldsmith.render.gold_diff import show_proof

            show_proof(console, subject)
        case "tests":
            from goldsmith.render.internal_tests import show_internal

            show_internal(console, subject)
        case "status":
            from goldsmith.render.status import show_status

            show_status(console, subject, settings["course"], settings["options"])
        case "leaks":
            from goldsmith.render.guard import show_leaks

            show_leaks(console, subject, **settings)
        case "machine":
            from goldsmith.render.doctor import show_machine

            show_machine(console, subject, settings["machine"])


def _text(result: Result) -> str:
    import io

    from goldsmith.render.console import text_console

    text = io.StringIO()
    for subject in result.subjects:
        show_text(text_console(text), result.kind, subject, result.settings)
    return text.getvalue().rstrip()


def _markdown(result: Result) -> str:
    """Render a heading and a row for each item: how it came out, and why."""
    from goldsmith.courses.grade.redaction import escaped

    rows = [(str(item["name"]), str(item["outcome"]), _why(item)) for item in result.plain()[result.list_name]]
    lines = [f"### goldsmith {result.command}: {'all well' if result.ok else 'not all well'}", ""]
    lines += ["| name | outcome | why |", "|---|---|---|"]
    return "\n".join([*lines, *(f"| {' | '.join(map(escaped, row))} |" for row in rows)])


def _verdict_markdown(result: Result) -> str:
    from goldsmith.courses.grade.verdict_markdown import verdict_markdown

    (verdict,) = result.subjects
    return verdict_markdown(verdict, reveal=result.settings["reveal"], verbose=result.settings["verbose"])


def _class_markdown(result: Result) -> str:
    from goldsmith.courses.grade.overview import overview_markdown

    (graded,) = result.subjects
    return overview_markdown(graded.overview)


def _csv(result: Result) -> str:
    """Render a row for each item, with what fits into a cell."""
    import csv
    import io

    from goldsmith.courses.grade.result_files import cell

    items = [
        {name: value for name, value in item.items() if not isinstance(value, (dict, list))}
        for item in result.plain()[result.list_name]
    ]
    text = io.StringIO()
    columns = list(dict.fromkeys(("name", "outcome", *(name for item in items for name in item))))
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for item in items:
        values = (item.get(name) for name in columns)
        writer.writerow([cell(value) if isinstance(value, str) else value for value in values])
    return text.getvalue().rstrip()


def _class_csv(result: Result) -> str:
    from goldsmith.courses.grade.result_files import grades_csv

    (graded,) = result.subjects
    return grades_csv(graded.grades, result.settings["rubric"]).rstrip()


def _junit(result: Result) -> str:
    """Render a suite for each item that has cases, and a test for each case; or one suite with a test for each item."""
    from goldsmith.courses.grade.junit import suites_xml, test_of

    found = result.plain()[result.list_name]
    cases = {item["name"]: item.get("cases") for item in found}
    if not all(isinstance(some, list) and all("outcome" in case for case in some) for some in cases.values()):
        cases = {result.command: found}
    suites = [
        (name, name, [test_of(it["name"], it["outcome"], _why(it)) for it in some]) for name, some in cases.items()
    ]
    return suites_xml(f"goldsmith {result.command}", suites).rstrip()


def _class_junit(result: Result) -> str:
    from goldsmith.courses.grade.junit import junit_xml

    (graded,) = result.subjects
    return junit_xml(graded.overview.assignment, graded.grades).rstrip()


def _why(item: Mapping[str, Any]) -> str:
    """Return the words that say why an item came out as it did, whatever its command calls them."""
    said = (item.get(name) for name in ("headline", "reason", "why", "reasons", "error"))
    first = next(filter(None, said), "")
    first = first.get("message", "") if isinstance(first, dict) else first
    return "; ".join(map(str, first)) if isinstance(first, list) else str(first)


def _verdict_html(result: Result) -> str:
    from goldsmith.gold.manifest import read_manifest
    from goldsmith.html_report.page import render_report
    from goldsmith.html_report.verdict_page import verdict_report

    (verdict,) = result.subjects
    recorded = read_manifest(result.settings["gold"]).provenance.environment
    return render_report(verdict_report(verdict, result.settings["evidence"], recorded, result.settings["options"]))


def _parity_html(result: Result) -> str:
    from goldsmith.html_report.page import render_report
    from goldsmith.html_report.parity_page import parity_report

    (report,) = result.subjects
    return render_report(parity_report(report, result.settings["evidence"]))


def _difference_html(result: Result) -> str:
    from goldsmith.html_report.diff_page import diff_page

    (found,) = result.subjects
    return diff_page(found)


def _rigor_html(result: Result) -> str:
    from goldsmith.html_report.rigor_page import rigor_page

    return rigor_page(result.subjects)


def _class_html(result: Result) -> str:
    (graded,) = result.subjects
    page: str = graded.page
    return page


FORMATS: dict[str, dict[str, Renderer]] = {
    "text": {_EVERY: _text},
    "json": {_EVERY: lambda result: result.json},
    "markdown": {_EVERY: _markdown, "verdict": _verdict_markdown, "class": _class_markdown},
    "csv": {_EVERY: _csv, "class": _class_csv},
    "junit": {_EVERY: _junit, "class": _class_junit},
    "html": {
        "verdict": _verdict_html,
        "parity": _parity_html,
        "difference": _difference_html,
        "rigor": _rigor_html,
        "class": _class_html,
    },
}


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
            from goldsmith.foundation.wording import nearest

            near = nearest(name, self._names)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(self._names)}"
            self.fail(f"there is no format {name}; {hint}", param, ctx)
        return Wanted(name, Path(file) if is_file else None)


def report_formats(kind: Kind, *more: str, help: str = "") -> Callable[[Function], Function]:
    """Add `--format`, with the formats that this kind of result has, and those that only this command has."""
    names = ", ".join(name for name in formats_of(kind) if name not in ("text", "json"))
    help = help or f"Print as {names} or another; =FILE writes it, too."
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
        """Say whether the screen is for people."""
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
        """Give all that was found in every format asked for; `subjects` are `items`, unless others are shown."""
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
