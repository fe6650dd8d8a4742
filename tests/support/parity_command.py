"""`goldsmith parity` on files that a test writes."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

from support import fork_cli
from support.course import Run


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    return folder


def run(folder: Path, *arguments: str, new_workers: bool = False, **env: str) -> Run:
    return Run(*fork_cli.run(["parity", *arguments], folder, new_workers=new_workers, **env))


def candidate(found: Run) -> dict[str, Any]:
    (item,) = found.json["candidates"]
    return dict(item)
