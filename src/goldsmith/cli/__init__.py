"""The command line: one small module per command. They parse, call and render; there is no logic here."""

from __future__ import annotations

import io
import sys

from goldsmith.errors.base import INTERRUPTED
from goldsmith.foundation.log_injection import say
from goldsmith.foundation.signals import install_handlers, remove_handlers


def run() -> None:
    """Run the console script. Even while it is still importing, an interruption is one word and an exit code."""
    try:
        install_handlers()
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="replace")  # a terminal that lacks a letter is no reason to fail
        from goldsmith.cli.usage_errors import run_app

        try:
            code = run_app()
        finally:
            remove_handlers()
        raise SystemExit(code)
    except KeyboardInterrupt:
        say("goldsmith: interrupted.", stderr=True)
        raise SystemExit(INTERRUPTED) from None


__all__ = ["run"]
