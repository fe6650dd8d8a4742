"""The command line: one small module per command. They parse, call and render; there is no logic here."""

from goldsmith.cli.app import run

__all__ = ["run"]
