"""The texts in `templates/` that new files start from."""

from __future__ import annotations

from importlib.resources import files
from string import Template


def template(name: str) -> Template:
    """Read a template; `$name` and `${name}` in it are to be filled in."""
    return Template((files("goldsmith.courses.scaffold") / "templates" / name).read_text(encoding="utf-8"))
