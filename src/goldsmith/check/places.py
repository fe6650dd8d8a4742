"""Places in a submission's files, as people find them: where a part is defined, and in a notebook by cell and line."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from goldsmith.runs.run import Failure, Frame
from goldsmith.source_code.parts import parse_parts
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


def find_definition(files: Mapping[str, bytes], kind: str, function: str | None) -> str:
    """Return the place of a definition, such as `policy.py:63`: the method's if there is one, else the class's; empty
    where no file defines it. Without a function it is the class's."""
    for name, content in files.items():
        node = parse_parts(content).get(kind)
        if node is None:
            continue
        inside = node.body if isinstance(node, ast.ClassDef) else []
        methods = {item.name: item for item in inside if isinstance(item, ast.FunctionDef)}
        found = node if function is None else methods.get(function or "forward", node)
        return f"{name}:{found.lineno}"
    return ""


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
