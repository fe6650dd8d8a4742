"""A menu on a real terminal, on `prompt_toolkit`: it draws, reads keys and gives the terminal back as it was."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from goldsmith.cli.menus.menu import Menu
from goldsmith.cli.menus.rows import Row
from goldsmith.foundation.log_injection import say

if TYPE_CHECKING:
    from prompt_toolkit.formatted_text import StyleAndTextTuples
    from prompt_toolkit.key_binding import KeyBindings

_ESCAPE_DELAY_S = 0.25
"""Seconds until an Esc is an Esc, and not the beginning of what an arrow key sends."""

_PAGE_ROWS = 10
_STYLE = {
    "question": "bold",
    "pointer": "ansicyan bold",
    "pointed": "bold underline",
    "ticked": "ansigreen bold",
    "good": "ansigreen",
    "doubt": "ansiyellow",
    "bad": "ansired",
    "dim": "ansibrightblack",
}


def ask_one(question: str, rows: Sequence[Row], *, pointed: int = 0, no_color: bool = False) -> Any:
    """Return the value of the chosen row; None when the question is cancelled by Esc or Ctrl-D."""
    answer = _run(Menu(question, rows, pointed=pointed), no_color)
    return answer[0].value if answer else None


def ask_several(
    question: str, rows: Sequence[Row], *, ticked: Sequence[int] = (), pointed: int = 0, no_color: bool = False
) -> list[Any]:
    """Return the values of the chosen rows, in order; none when the question is cancelled by Esc or Ctrl-D."""
    return [row.value for row in _run(Menu(question, rows, pointed=pointed, ticked=ticked), no_color)]


def _run(menu: Menu, no_color: bool) -> list[Row]:
    """Return the chosen rows, and print them in a line that stays; Ctrl-C raises KeyboardInterrupt."""
    from prompt_toolkit.application import Application
    from prompt_toolkit.layout import FormattedTextControl, Layout, Window
    from prompt_toolkit.output.color_depth import ColorDepth
    from prompt_toolkit.styles import Style

    def shown() -> StyleAndTextTuples:
        size = app.output.get_size()
        pieces: StyleAndTextTuples = []
        for number, line in enumerate(menu.lines(size.columns, size.rows - 1)):
            pieces += [("", "\n")] if number else []
            pieces += line
        return pieces

    control = FormattedTextControl(shown, focusable=True, show_cursor=False)
    app: Application[list[Row]] = Application(
        layout=Layout(Window(control, dont_extend_height=True, wrap_lines=False)),
        key_bindings=_keys(menu),
        style=Style.from_dict(_STYLE),
        color_depth=ColorDepth.DEPTH_1_BIT if no_color else ColorDepth.from_env() or ColorDepth.DEPTH_4_BIT,
        erase_when_done=True,
    )
    app.ttimeoutlen = _ESCAPE_DELAY_S
    app.renderer.cpr_not_supported_callback = None  # a terminal that is silent about its cursor is no news
    try:
        chosen = app.run()
    except EOFError:
        return []
    if chosen:
        say(f"{menu.question} {', '.join(row.label for row in chosen)}", stderr=True)
    return chosen


def _keys(menu: Menu) -> KeyBindings:
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

    bindings = KeyBindings()
    for key in ("up", "c-p"):
        bindings.add(key)(lambda event: menu.move(-1))
    for key in ("down", "c-n"):
        bindings.add(key)(lambda event: menu.move(1))
    bindings.add("pageup")(lambda event: menu.move_to(menu.pointed - _PAGE_ROWS))
    bindings.add("pagedown")(lambda event: menu.move_to(menu.pointed + _PAGE_ROWS))
    bindings.add("home")(lambda event: menu.move_to(0))
    bindings.add("end")(lambda event: menu.move_to(len(menu.rows) - 1))

    @bindings.add("enter")
    def _choose(event: KeyPressEvent) -> None:
        event.app.exit(result=menu.answer)

    @bindings.add("escape", eager=True)
    @bindings.add("c-d")
    def _leave(event: KeyPressEvent) -> None:
        event.app.exit(result=[])

    @bindings.add("c-c")
    @bindings.add("<sigint>")
    def _interrupt(event: KeyPressEvent) -> None:
        event.app.exit(exception=KeyboardInterrupt)

    @bindings.add("<any>")
    def _letter(event: KeyPressEvent) -> None:
        row = menu.by_key(event.data) or menu.by_key(event.data.lower())
        if row is not None:
            event.app.exit(result=[row])

    if menu.several:
        bindings.add("space")(lambda event: menu.tick())
        bindings.add("a")(lambda event: menu.tick_all())
    return bindings
