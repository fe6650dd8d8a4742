"""Loading gold by the name of its assignment, from plain Python."""

from __future__ import annotations

from pathlib import Path

from goldsmith.courses.layout.layout import find_course
from goldsmith.gold.load import Gold, load_gold


def load(assignment: str | Path) -> Gold:
    """Open the gold of an assignment of the course around the working directory, a gold folder, or what a test keeps.

    `load("scratch-1")["gold_output"].output` is a tensor whose file's hash was checked when it was read.
    """
    folder = Path(assignment)
    if (folder / "manifest.json").is_file():
        return load_gold(folder)
    for file in (folder, Path(f"{folder}.gold.json")):
        if file.name.endswith(".gold.json") and file.is_file():
            from goldsmith.pytest_support.one_file import open_one_file

            return open_one_file(file).gold
    return load_gold(find_course(Path.cwd()).assignment(str(assignment)).gold)
