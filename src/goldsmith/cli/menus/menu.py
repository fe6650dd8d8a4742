"""The state of a menu: where the pointer is, what is ticked, and how that looks in a terminal of a given size."""

from __future__ import annotations

from collections.abc import Sequence

from goldsmith.cli.menus.rows import Row, column_widths, in_sight, out_of_sight, row_pieces, shortened, wrapped

Pieces = list[tuple[str, str]]

_HELP_ONE = "Up and Down move, Enter chooses, Esc cancels."
_HELP_SEVERAL = "Up and Down move, Space ticks, a ticks all, Enter confirms, Esc cancels."
_MIN_ROWS = 5


class Menu:
    """The state of one question. Keys change it; `lines` shows it."""

    def __init__(self, question: str, rows: Sequence[Row], *, pointed: int = 0, ticked: Sequence[int] | None = None):
        self.question = question
        self.rows = list(rows)
        self.pointed = pointed
        self.several = ticked is not None
        self._has_all = self.several and len(rows) > 1
        if self._has_all:
            self.rows.insert(0, Row(None, "All", f"all {len(rows)} of them"))
            self.pointed += 1
        self._tickable = frozenset(range(int(self._has_all), len(self.rows)))
        self.ticked = frozenset(index + self._has_all for index in ticked or ())
        self._offers = bool(self.ticked)
        self._first = 0

    @property
    def answer(self) -> list[Row]:
        """Return what Enter would choose: the ticked rows; if none is, the one pointed at, unless some were ticked at
        first, for unticking them means none."""
        chosen = self.ticked
        if not chosen and not self._offers:
            chosen = self._tickable if self._at_all else frozenset({self.pointed})
        return [self.rows[index] for index in sorted(chosen)]

    def move(self, by: int) -> None:
        self.pointed = (self.pointed + by) % len(self.rows)

    def move_to(self, index: int) -> None:
        self.pointed = min(max(index, 0), len(self.rows) - 1)

    def tick(self) -> None:
        if self._at_all:
            self.tick_all()
        else:
            self.ticked ^= {self.pointed}

    def tick_all(self) -> None:
        """Tick all, or none if all were."""
        self.ticked = frozenset() if self.ticked == self._tickable else self._tickable

    def by_key(self, key: str) -> Row | None:
        return next((row for row in self.rows if len(key) == 1 and key in row.keys), None)

    def lines(self, columns: int, height: int) -> list[Pieces]:
        """Render the menu in this width and height; if it does not fit, leave out help and details first."""
        width = max(1, columns - 1)
        head = wrapped(self.question, width)
        mark = 6 if self.several else 2
        widths = column_widths(self.rows, width - mark)
        details, enter, keys = self._foot(widths, width)
        for part in (details, keys, enter):
            if height - len(head) - len(details) - len(enter) - len(keys) < min(_MIN_ROWS, len(self.rows)):
                part.clear()
        foot = [*details, *enter, *keys]
        room = max(1, height - len(head) - len(foot))
        shown = [[("class:question", shortened(text, width))] for text in head[: max(0, height - 1)]]
        return [*shown, *self._rows(widths, room), *foot]

    @property
    def _at_all(self) -> bool:
        return self._has_all and self.pointed == 0

    def _rows(self, widths: Sequence[int], room: int) -> list[Pieces]:
        long = len(self.rows) > room
        self._first, last = in_sight(len(self.rows), self.pointed, self._first, room - 2 if long and room > 2 else room)
        lines = [self._row(index, widths) for index in range(self._first, last)]
        if long and room > 2:
            above, below = self._first, len(self.rows) - last
            lines.insert(0, [("class:dim", f"    … {above} more above" if above else "")])
            lines.append([("class:dim", f"    … {below} more below" if below else "")])
        return lines

    def _row(self, index: int, widths: Sequence[int]) -> Pieces:
        here = index == self.pointed
        pieces: Pieces = [("class:pointer", "> " if here else "  ")]
        if self.several:
            ticked = index in self.ticked or (index not in self._tickable and self.ticked == self._tickable)
            pieces.append(("class:ticked" if ticked else "", "[x] " if ticked else "[ ] "))
        cells = row_pieces(self.rows[index], widths)
        if here and cells:
            cells[0] = ("class:pointed", cells[0][1])
        return [*pieces, *cells]

    def _foot(self, widths: Sequence[int], width: int) -> tuple[list[Pieces], list[Pieces], list[Pieces]]:
        """Return the lines below the rows: details, what Enter would do, the keys."""
        details = [line for text in out_of_sight(self.rows[self.pointed], widths) for line in wrapped(text, width - 2)]
        names = ", ".join(item.label for item in self.answer) or "nothing"
        enter: list[Pieces] = [[("", shortened(f"Enter: {names}", width))]] if self.several else []
        keys = wrapped(_HELP_SEVERAL if self.several else _HELP_ONE, width)
        return [[("class:dim", f"  {line}")] for line in details], enter, [[("class:dim", line)] for line in keys]
