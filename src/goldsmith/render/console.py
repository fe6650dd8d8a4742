"""The one printer: consoles, the lines, tables and differences that all screens are made of, and the one place where
strangers' words become harmless."""

from __future__ import annotations

import io
from collections.abc import Container, Iterable, Sequence

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from goldsmith.foundation.log_injection import command_places, without_control
from goldsmith.render.columns import beside, wrapped

_GAP_CELLS, _LIST_GAP_CELLS = 3, 2
"""Between the columns of a table, and of a list, which has no headings."""


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


def print_table(
    console: Console,
    headings: Sequence[str],
    rows: Iterable[Sequence[Text | str]],
    *,
    numbers: Container[int] = (),
    texts: int = 1,
) -> None:
    """Print a table: see `table_lines`. In a log each row is one line."""
    width = console.width if console.is_terminal else None
    for line in table_lines(headings, rows, numbers=numbers, texts=texts, width=width):
        _print(console, line)


def table_lines(
    headings: Sequence[str],
    rows: Iterable[Sequence[Text | str]],
    *,
    numbers: Container[int] = (),
    texts: int = 1,
    width: int | None = None,
) -> list[Text]:
    """Align rows in columns below dim headings, if there are any; columns of `numbers` are right-justified, and a cell
    may have several lines.

    The last `texts` columns may be of any length. Where the table is wider than `width`, they are wrapped in the room
    next to the others, one below the other; names that leave no room for the other columns are put above them.
    """
    cells = [[Text(cell) if isinstance(cell, str) else cell for cell in row] for row in rows]
    cells = [[Text(heading, "dim") for heading in headings], *cells] if headings else cells
    gap_cells = _GAP_CELLS if headings else _LIST_GAP_CELLS
    columns = range(len(cells[0]) if cells else 0)
    widths = [max(cell_len(line) for row in cells for line in row[at].plain.split("\n")) for at in columns]
    fits = width is None or sum(widths) + gap_cells * (len(widths) - 1) <= width
    fixed = len(columns) if fits else len(columns) - texts
    above = width is not None and not fits and sum(widths[:fixed]) + gap_cells * fixed > width
    found: list[Text] = []
    for row in cells:
        if above and width is not None:
            found += [Text(piece, row[0].style) for piece in wrapped(row[0].plain, width)]
        lines = [Text(" " * 4 if above else "") for _ in range(max(cell.plain.count("\n") for cell in row) + 1)]
        for at in columns[int(above) : fixed]:
            parts = row[at].split("\n")
            for number, line in enumerate(lines):
                part = parts[number] if number < len(parts) else Text()
                gap = " " * (widths[at] - cell_len(part.plain))
                line.append_text(Text.assemble(*((gap, part) if at in numbers else (part, gap)), " " * gap_cells))
        if width is not None:
            _put_beside(lines, [cell for cell in row[fixed:] if cell.plain], width)
        found += lines
    for line in found:
        line.rstrip()
    return found


def _put_beside(lines: list[Text], texts: Sequence[Text], width: int) -> None:
    """Add texts to the lines of a row, wrapped, one below the other."""
    start = cell_len(lines[0].plain)
    indent, room, below = beside(start, width)
    if len(texts) == 1 and start + cell_len(texts[0].plain) <= width:
        room, below = width, False
    pieces = [Text(piece, text.style) for text in texts for piece in wrapped(text.plain, room)]
    for number, piece in enumerate(pieces):
        if below or number >= len(lines):
            lines.append(Text.assemble(" " * indent, piece))
        else:
            lines[number].append_text(piece)


def print_difference(console: Console, lines: Sequence[str], most: int | None = None, *, indent: str = "") -> None:
    """Print a unified difference, at most `most` lines of it, in one piece each."""
    for line in lines[:most]:
        colour = "green" if line.startswith("+") else "red" if line.startswith("-") else "dim"
        print_line(console, Text(f"{indent}{line}", "bold" if line.startswith(("+++", "---")) else colour), keep=True)
    if most is not None and len(lines) > most:
        print_line(console, Text(f"{indent}and {len(lines) - most} more lines", "dim"))


def _print(console: Console, line: Text) -> None:
    console.print(line, soft_wrap=True, highlight=False)
