"""Text of strangers in what is printed: nothing of it is a command to the machine that keeps the log."""

from __future__ import annotations

import re

_COMMAND = re.compile(r"(?:^|(?<=\s))::(?=\S)|##(?=\[|vso\[|teamcity\[)")
"""GitHub Actions takes a line for a command that starts so, spaces aside; other systems, and its old form, anywhere."""


def without_commands(text: str) -> str:
    r"""Text of which no line, wherever it is broken, is taken for a command: `::error::x` becomes `\::error::x`."""
    return _COMMAND.sub(lambda found: "\\::" if found[0] == "::" else "#\\#", text)
