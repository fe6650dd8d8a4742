"""Declare commands: click's, except that arguments have help, too, and that examples stand in columns."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

Function = TypeVar("Function", bound=Callable[..., Any])
Decorator = Callable[[Function], Function]

_MIN_TEXT_CELLS = 30
"""Cells that must be left next to a column for text to be put there; otherwise it goes below."""

MAX_HELP_LINES = 40
"""A screen, at 100 columns: the shortest window that people use without scrolling."""
_MAX_EXAMPLES = 3

_NO_BREAK_HYPHEN = "\N{NON-BREAKING HYPHEN}"
"""Stands for a hyphen while lines are broken: an option or a name is not torn at it."""


class _Formatter(click.HelpFormatter):
    """Shows headings in bold and what can be typed in colour; click removes both outside of a terminal."""

    def write(self, string: str) -> None:
        super().write(string.replace(_NO_BREAK_HYPHEN, "-"))

    def write_text(self, text: str) -> None:
        super().write_text(_keep_hyphens(text))

    def write_heading(self, heading: str) -> None:
        self.write(click.style(f"{heading}:", bold=True) + "\n")

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        super().write_usage(prog, args, prefix or click.style("Usage:", bold=True) + " ")

    def write_rows(self, rows: Sequence[tuple[str, str]]) -> None:
        widest = max(len(first) for first, _ in rows)
        fits = self.width - self.current_indent - widest >= _MIN_TEXT_CELLS
        coloured = [(click.style(first, fg="cyan"), _keep_hyphens(second)) for first, second in rows]
        self.write_dl(coloured, col_max=widest if fits else self.indent_increment)


class _Context(click.Context):
    formatter_class = _Formatter


class Argument(click.Argument):
    """An argument with help; in brackets where it may be left out."""

    def __init__(self, *names: Any, help: str, metavar: str, **settings: Any) -> None:
        super().__init__(*names, metavar=metavar, **settings)
        self.help, self._shown = help, metavar

    def get_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [self._shown if self.required else f"[{self._shown}]"]

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        return self._shown, str(self.help)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete the names of assignments, where the argument is one."""
        if not re.match(r"A\b", self._shown):
            return super().shell_complete(ctx, incomplete)
        from goldsmith.courses.layout.layout import find_course
        from goldsmith.errors.base import GoldsmithError

        try:
            names = [item.name for item in find_course(Path(ctx.params.get("course") or ".")).assignments()]
        except (GoldsmithError, OSError):
            return []
        return [CompletionItem(name) for name in names if name.startswith(incomplete)]


class Option(click.Option):
    """An option; a `rare` one is left out of a help that would not fit a screen."""

    def __init__(self, *names: Any, rare: bool = False, **settings: Any) -> None:
        super().__init__(*names, **settings)
        self.rare = rare


class Command(click.Command):
    """A command whose help has usage, text with examples, and then what may be given. What does not fit a
    screen is left to `goldsmith help`."""

    context_class = _Context

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.help = inspect.cleandoc(self.help or "")

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse; what cannot be understood always carries the command that it was said to."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as problem:
            problem.ctx = problem.ctx or ctx
            raise

    def format_help(self, ctx: click.Context, formatter: Any) -> None:
        whole = self.whole_help(ctx)
        if len(whole.splitlines()) <= MAX_HELP_LINES or isinstance(self, click.Group):
            formatter.write(whole)
            return
        text, _, examples = (self.help or "").partition("Examples:\n\n")
        self.format_usage(ctx, formatter)
        formatter.write_paragraph()
        formatter.write_text(text.partition("\n\n")[0])
        shown = [_example(line) for line in examples.partition("\n\n")[0].splitlines()[:_MAX_EXAMPLES]]
        _write_section(formatter, "Examples", shown)
        for heading, rows in self.help_sections(ctx, brief=True):
            _write_section(formatter, heading, [(first, _first_of(second)) for first, second in rows])
        formatter.write_paragraph()
        name = ctx.command_path.removeprefix("goldsmith ")
        formatter.write_text(f"More examples, options and exit codes: `goldsmith help {name}`.")

    def whole_help(self, ctx: click.Context) -> str:
        """Return the help with everything in it."""
        formatter = ctx.make_formatter()
        self._format_whole(ctx, formatter)
        return formatter.getvalue()

    def _format_whole(self, ctx: click.Context, formatter: Any) -> None:
        self.format_usage(ctx, formatter)
        text, *examples = (self.help or "").split("Examples:\n\n")
        formatter.write_paragraph()
        formatter.write_text(text.strip())
        for part in examples:
            lines, _, after = part.partition("\n\n")
            _write_section(formatter, "Examples", [_example(line) for line in lines.splitlines()])
            formatter.write_paragraph()
            formatter.write_text(after)
        for heading, rows in self.help_sections(ctx):
            _write_section(formatter, heading, rows)
        if self.epilog:
            formatter.write_paragraph()
            formatter.write_text(self.epilog)

    def help_sections(self, ctx: click.Context, *, brief: bool = False) -> Iterator[tuple[str, list[tuple[str, str]]]]:
        """Yield headings, each with rows of what may be given and what it means; a `brief` help has no rare options."""
        for heading, kind in (("Arguments", click.Argument), ("Options", click.Option)):
            shown = [item for item in self.get_params(ctx) if not (brief and getattr(item, "rare", False))]
            records = (item.get_help_record(ctx) for item in shown if isinstance(item, kind))
            yield heading, [record for record in records if record]


class Group(Command, click.Group):
    """Commands below a common word, in the order in which they were declared."""

    command_class = Command

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def help_sections(self, ctx: click.Context, *, brief: bool = False) -> Iterator[tuple[str, list[tuple[str, str]]]]:
        yield from super().help_sections(ctx, brief=brief)
        found = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        yield "Commands", [(name, first_sentence(command)) for name, command in found if command is not None]


def command(function: Callable[..., None]) -> Command:
    """Make a function a command, with its docstring for help."""
    return click.command(cls=Command)(function)


def argument(name: str, metavar: str, help: str, **settings: Any) -> Decorator[Any]:
    """Declare an argument; `settings` are click's, such as `required=False` or `nargs=-1`."""
    return click.argument(name, cls=Argument, metavar=metavar, help=help, **settings)


def option(*names: str, help: str, **settings: Any) -> Decorator[Any]:
    """Declare an option with a value; `settings` are click's. Nothing is no default worth showing."""
    settings.setdefault("show_default", settings.get("default") != "")
    return click.option(*names, cls=Option, help=help, **settings)


def flag(*names: str, help: str, **settings: Any) -> Decorator[Any]:
    """Declare an option without a value, off by default."""
    return click.option(*names, cls=Option, is_flag=True, help=help, **settings)


def add_options(options: Sequence[Decorator[Any]], function: Function) -> Function:
    """Add options that several commands have, in this order."""
    for add in reversed(options):
        function = add(function)
    return function


def first_sentence(command: click.Command) -> str:
    """Return the paragraph that a command's help begins with, in one line."""
    return " ".join((command.help or "").partition("\n\n")[0].split())


def _first_of(text: str) -> str:
    """Return the first sentence of an option's help, and its default."""
    sentences, _, default = text.partition("  [")
    first = sentences.partition(". ")[0].removesuffix(".")
    return f"{first}.  [{default}" if default else f"{first}."


def _keep_hyphens(text: str) -> str:
    return text.replace("-", _NO_BREAK_HYPHEN)


def _write_section(formatter: Any, heading: str, rows: Sequence[tuple[str, str]]) -> None:
    if rows:
        with formatter.section(heading):
            formatter.write_rows(rows)


def _example(line: str) -> tuple[str, str]:
    """Split a line of examples into what to type and what it does."""
    typed, _, text = line.strip().partition("  ")
    return typed, text.strip()
