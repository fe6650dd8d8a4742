"""The consoles that everything for people is printed on, and the line that all of it is made of."""

from __future__ import annotations

import io
from collections.abc import Iterable

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from goldsmith.foundation.log_injection import command_places, without_control
from goldsmith.render.columns import beside, wrapped

LOG_WIDTH = 240
"""Cells; a log has no edge to wrap at, so tables there can be as wide as they need."""


class EscapingConsole(Console):
    """A console that prints strangers' words as text: names of files and students, messages, what code prints. None of
    them is markup, a control character or a command to a CI system, wherever Rich breaks the line."""

    def __init__(
        self,
        *,
        file: io.StringIO | None = None,
        stderr: bool = False,
        no_color: bool | None = None,
        force_terminal: bool | None = None,
        width: int | None = None,
    ) -> None:
        super().__init__(
            file=file,
            stderr=stderr,
            no_color=no_color,
            force_terminal=force_terminal,
            width=width,
            markup=False,
            emoji=False,
            highlight=False,
        )

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        segments = [_without_control(item) for item in super().render(renderable, options)]
        places = list(command_places("".join(item.text for item in segments if not item.control)))
        return _with_backslashes(segments, places) if places else segments


def _without_control(segment: Segment) -> Segment:
    return segment if segment.control else Segment(without_control(segment.text), segment.style)


def _with_backslashes(segments: Iterable[Segment], places: list[int]) -> Iterable[Segment]:
    begin = 0
    for segment in segments:
        if segment.control:
            yield segment
            continue
        end, text = begin + len(segment.text), segment.text
        for place in reversed([item - begin for item in places if begin <= item < end]):
            text = f"{text[:place]}\\{text[place:]}"
        begin = end
        yield Segment(text, segment.style)


def open_console(*, no_color: bool, stderr: bool = False) -> Console:
    """Open standard output, or standard error; Rich itself obeys NO_COLOR in the environment."""
    return EscapingConsole(stderr=stderr, no_color=no_color or None)


def text_console(text: io.StringIO, width: int = 10_000) -> Console:
    """Open a console that writes plain text."""
    return EscapingConsole(file=text, no_color=True, force_terminal=False, width=width)


def print_line(console: Console, *parts: Text | str, keep: bool = False) -> None:
    """Print one line. On a terminal, long text is wrapped between words and indented to where its last part began, or
    to where the line begins if it is all of one part; without room next to the other parts, the last starts on the
    next line. `keep` leaves what people copy in one piece."""
    last = parts[-1] if parts else ""
    line = Text.assemble(*parts)
    line.rstrip()
    if keep or not console.is_terminal or cell_len(line.plain) <= console.width:
        _print(console, line)
    elif len(parts) == 1:
        hanging = " " * (len(line.plain) - len(line.plain.lstrip()))
        style = last.style if isinstance(last, Text) else ""
        for piece in wrapped(line.plain.strip(), max(20, console.width - len(hanging))):
            _print(console, Text.assemble(hanging, (piece, style)))
    else:
        start = Text.assemble(*parts[:-1])
        indent, width, below = beside(cell_len(start.plain), console.width)
        if below:
            start.rstrip()
            _print(console, start)
        style, plain = (last.style, last.plain) if isinstance(last, Text) else ("", last)
        for number, piece in enumerate(wrapped(plain, width)):
            head = start if number == 0 and not below else Text(" " * indent)
            _print(console, Text.assemble(head, (piece, style)))


def _print(console: Console, line: Text) -> None:
    console.print(line, soft_wrap=True, highlight=False)
