"""Texts to start from: those in `templates/`, whose names are filled in."""

from __future__ import annotations

from importlib.resources import files
from string import Template


def template(name: str) -> Template:
    """A text to start from; `$name` and `${name}` in it are filled in."""
    return Template((files("goldsmith.scaffold") / "templates" / name).read_text(encoding="utf-8"))
