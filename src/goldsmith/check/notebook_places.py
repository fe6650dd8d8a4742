"""Errors and definitions in a submitted notebook, told by cell and line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from goldsmith.runs.run import Failure, Frame
from goldsmith.targets.target import Placement, ShownNotebook


def in_cells(failure: Failure, notebooks: Mapping[Path, ShownNotebook]) -> Failure:
    """Return a failure with every line of a module that was a notebook told as a line of a cell."""
    if not notebooks:
        return failure
    files = {str(path): notebook for path, notebook in notebooks.items()}
    frames = tuple(_frame(frame, files) for frame in failure.frames)
    message = failure.message
    for file, notebook in files.items():
        message = notebook.with_places(message, file)
    last = failure.frames[-1] if failure.frames else None
    if last is not None and last.file in files and not any(f"{item.name}, cell" in message for item in files.values()):
        message = f"{message} ({files[last.file].place(last.line)})"
    why = next((text for item in files.values() if (text := item.why_missing(message))), "")
    return msgspec.structs.replace(failure, message=f"{message}; {why}" if why else message, frames=frames)


def _frame(frame: Frame, files: Mapping[str, ShownNotebook]) -> Frame:
    notebook = files.get(frame.file)
    if notebook is None:
        return frame
    cell, line = notebook.module.place(frame.line)
    text = notebook.module.errors.get(frame.line, frame.text)
    return msgspec.structs.replace(frame, file=notebook.name, line=line, cell=cell, text=text)


def shown_place(place: str, placed: Sequence[Placement]) -> str:
    """Return a place such as `policy.py:63` as people find it: in a notebook, `hw1.ipynb, cell 4:2`."""
    file, _, line = place.rpartition(":")
    for item in placed:
        module = item.notebook() if item.target.as_posix() == file and line.isdecimal() else None
        if module is not None:
            cell, inside = module.place(int(line))
            return f"{_cell(item, cell)}:{inside}"
    return place


def cell_files(placed: Sequence[Placement]) -> dict[str, bytes]:
    """Return the code of submitted notebooks, cell by cell, by what `shown_place` calls each."""
    found: dict[str, bytes] = {}
    for item in placed:
        module = item.notebook()
        if module is not None:
            found |= {_cell(item, number): content for number, content in module.cells().items()}
    return found


def _cell(item: Placement, number: int) -> str:
    return f"{item.source.name}, cell {number}" if number else item.source.name
