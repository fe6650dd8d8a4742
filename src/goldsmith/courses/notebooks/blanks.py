"""Blanks that a starter leaves: `scores = # FINISH ME`, or a body that is nothing but a comment."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence

from goldsmith.courses.notebooks.magics import replace_magics
from goldsmith.foundation.syntax import syntax_tree
from goldsmith.foundation.todo_marks import is_marked

_MOST_BLANKS = 40
_UNFINISHED = re.compile(r"(?:[-=+*/%@&|<>,(\[{:]|\b(?:and|or|not|in|is|if|else|await|yield|from))\s*$")


def with_blanks_filled(source: str) -> str | None:
    """Return the text with `...` before the comments that stand for missing code; None where that does not make Python
    of it."""
    lines = replace_magics(source).source.split("\n")
    wrong = _line_of_error(lines)
    for _ in range(_MOST_BLANKS):
        if wrong is None:
            return "\n".join(lines)
        for number in range(min(wrong, len(lines)), 0, -1):
            filled = _filled(lines[number - 1])
            if filled is None:
                continue
            tried = [*lines[: number - 1], filled, *lines[number:]]
            after = _line_of_error(tried)
            if after is None or after > wrong:
                lines, wrong = tried, after
                break
        else:
            return None
    return None


def _filled(line: str) -> str | None:
    """Return a line with `...` in front of its comment, if the comment or the code before it says that some is
    missing."""
    code, sign, comment = line.partition("#")
    missing = bool(sign) and (is_marked(comment) or bool(_UNFINISHED.search(code)))
    return f"{code}...  #{comment}" if missing and not code.rstrip().endswith("...") else None


def _line_of_error(lines: Sequence[str]) -> int | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            syntax_tree("\n".join(lines))
        except SyntaxError as error:
            return error.lineno or 1
    return None
