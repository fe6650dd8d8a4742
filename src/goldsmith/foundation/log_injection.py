"""Escape untrusted text before it is printed, so that no CI system takes a line of it for a command."""

from __future__ import annotations

import re

_COMMAND = re.compile(r"(?:^|(?<=\s))::(?=\S)|##(?=\[|vso\[|teamcity\[)")
"""GitHub Actions reads a command at the start of a line, after any spaces; its old form, and other systems,
anywhere."""


def without_commands(text: str) -> str:
    r"""Escape CI commands in `text`, however its lines are broken: `::error::x` becomes `\::error::x`."""
    return _COMMAND.sub(lambda found: "\\::" if found[0] == "::" else "#\\#", text)
