"""Write pages and other reports to files: only where there is nothing yet, or an earlier report of the same format."""

from __future__ import annotations

from pathlib import Path

from goldsmith.errors.gold import CannotWrite
from goldsmith.errors.usage import BadOption
from goldsmith.foundation.atomic_files import write_durably
from goldsmith.foundation.log_injection import say
from goldsmith.html_report.page import GENERATOR

_HEAD_BYTES = 2000
_BEGINNINGS = {"html": GENERATOR, "json": '"schema": ', "junit": "<testsuites ", "csv": "name,outcome,"}
"""What earlier reports are known by; one of another format is never replaced."""


def require_place(path: Path, form: str = "html") -> None:
    """Raise unless a report can be written to `path` without replacing anything but an earlier one."""
    option, what = ("--html", "a page that") if form == "html" else ("--format", f"{form} that")
    known = _BEGINNINGS.get(form)
    if path.is_dir() or (path.exists() and not (known and known.encode() in path.read_bytes()[:_HEAD_BYTES])):
        raise BadOption(option, path, f"a file that does not exist yet, or {what} goldsmith has written")
    if not path.absolute().parent.is_dir():
        raise BadOption(option, path, "a file in a folder that exists")


def write_report(path: Path, text: str, form: str = "html") -> None:
    """Write a report, and say so."""
    try:
        write_durably(path, text.encode())
    except OSError as error:
        raise CannotWrite(path, error.strerror or str(error)) from None
    say(f"Wrote {path}{'; open it in a browser' if form == 'html' else ''}.", stderr=True)
