"""A notebook as one Python module: the text of its definitions, and which line of which cell each line comes from."""

from __future__ import annotations

import hashlib
import itertools
import threading
from collections import OrderedDict
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path, PurePath

from goldsmith.courses.notebooks.bounds import (
    MAX_CODE_BYTES,
    MAX_NOTE_CHARS,
    MAX_NOTEBOOK_BYTES,
    MAX_NOTES,
    MAX_STATEMENTS,
    MAX_TEXT_BYTES,
)
from goldsmith.courses.notebooks.cells import Cell, NotANotebook, TooMuchCode, read_ipynb
from goldsmith.courses.notebooks.definitions import GIVEN, Slice, find_definitions
from goldsmith.courses.notebooks.statements import Parsed, Statement, parse_cells
from goldsmith.courses.notebooks.text_formats import HEAD_BYTES, TEXT_SUFFIXES, read_text, text_format
from goldsmith.errors.notebooks import BadNotebook
from goldsmith.foundation.wording import count_of
from goldsmith.targets.target import NotebookModule

SUFFIX = ".ipynb"
_MAX_CACHED = 64


def is_notebook(name: str | PurePath, content: bytes = b"") -> bool:
    """Say whether a file is a notebook: by its name, or by how its text begins."""
    suffix = PurePath(name).suffix
    return suffix == SUFFIX or bool(text_format(suffix, content))


def is_notebook_file(path: Path) -> bool:
    """Say the same of a file, of which only the beginning is read."""
    if path.suffix == SUFFIX or path.suffix not in TEXT_SUFFIXES:
        return path.suffix == SUFFIX
    with path.open("rb") as file:
        return is_notebook(path, file.read(HEAD_BYTES))


def convert(content: bytes, name: str, wanted: Collection[str] = (), own: str = "") -> NotebookModule:
    """Return the definitions of the notebook file called `name` as a module; see `find_definitions` for `wanted`, and
    `parse_cells` for `own`.

    Raise `BadNotebook` where there is nothing to convert.
    """
    key = (hashlib.sha256(content).digest(), name, own, tuple(sorted(wanted)))
    with _lock:
        if key in _converted:
            _converted.move_to_end(key)
            return _converted[key]
    found = _convert(content, name, wanted, own)
    with _lock:
        _converted[key] = found
        while len(_converted) > _MAX_CACHED:
            _converted.popitem(last=False)
    return found


_converted: OrderedDict[tuple[bytes, str, str, tuple[str, ...]], NotebookModule] = OrderedDict()
_lock = threading.Lock()


def _convert(content: bytes, name: str, wanted: Collection[str], own: str) -> NotebookModule:
    suffix = PurePath(name).suffix
    most, advice = (MAX_NOTEBOOK_BYTES, "clear its outputs") if suffix == SUFFIX else (MAX_TEXT_BYTES, "shorten it")
    if len(content) > most:
        raise BadNotebook(name, f"it has more than {most // 2**20} MiB", advice)
    try:
        cells = read_ipynb(content) if suffix == SUFFIX else read_text(content, suffix)
        if sum(len(cell.source) for cell in cells) > MAX_CODE_BYTES:
            raise TooMuchCode
    except NotANotebook as error:
        raise BadNotebook(name, str(error), error.advice) from None
    if not cells:
        raise BadNotebook(name, "it has no code", "submit the notebook with the code cells in it")
    parsed = parse_cells(cells, own)
    if len(parsed.statements) > MAX_STATEMENTS:
        raise BadNotebook(name, f"it has more than {MAX_STATEMENTS} statements", "move data out of its code cells")
    found = find_definitions(parsed, wanted)
    source, places, errors = _write(found)
    return NotebookModule(
        source=source.encode("utf-8", "backslashreplace"),
        places=places,
        notes=tuple(note[:MAX_NOTE_CHARS] for note in itertools.islice(_notes(parsed, found), MAX_NOTES)),
        missing={name: why for name, why in found.missing.items() if len(name) <= MAX_NOTE_CHARS},
        defines=frozenset(item for statement in found.kept for item in statement.binds)
        | {item for broken in found.broken for item in broken.names},
        errors=errors,
        imports_itself=parsed.imports_itself,
    )


def _write(found: Slice) -> tuple[str, tuple[tuple[int, int, int], ...], dict[int, str]]:
    lines = [f"from {GIVEN[name]} import {name}" for name in found.given]
    places: list[tuple[int, int, int]] = []
    errors: dict[int, str] = {}

    def add(cell: Cell, first: int, text: Sequence[str]) -> None:
        lines.append(f"# {cell.place(first)}")
        places.append((len(lines) + 1, cell.number, first if cell.number else cell.line + first - 1))
        lines.extend(text)

    for run in _runs(found.kept):
        add(run[0].cell, run[0].first, _text_of(run))
    for broken in found.broken:
        for name in broken.names:  # the last definition counts, even if it is none
            add(broken.cell, broken.line, [f"globals().pop({name!r}, None)"])
    for broken in found.broken[:1]:
        here = len(lines) + 2
        errors[here] = (broken.cell.source.split("\n")[broken.line - 1 : broken.line] or [""])[0].strip()[
            :MAX_NOTE_CHARS
        ]
        add(broken.cell, broken.line, [f"raise SyntaxError({broken.problem!r}, (__file__, {here}, 1, ''))"])
    for broken in found.broken:  # never run: what it leaves to write, for those who read the module
        for item in broken.unfinished:
            add(broken.cell, item.first, item.text.split("\n"))
    return "\n".join(lines) + "\n", tuple(places), errors


def _runs(kept: Sequence[Statement]) -> Iterator[list[Statement]]:
    """Yield statements that follow each other in a cell together."""
    run: list[Statement] = []
    for item in kept:
        follows = run and run[-1].alone and item.alone and item.cell is run[-1].cell
        if run and not (follows and item.position == run[-1].position + 1):
            yield run
            run = []
        run.append(item)
    if run:
        yield run


def _text_of(run: Sequence[Statement]) -> list[str]:
    """Return the lines of a run, with as many empty ones between statements as there are in the cell."""
    lines: list[str] = []
    for item in run:
        lines += [""] * (item.first - run[0].first - len(lines))
        lines += item.text.split("\n")
    return lines


def _notes(parsed: Parsed, found: Slice) -> Iterator[str]:
    """Say what a person should know: what was redefined, moved, or left out although it is needed."""
    for name, items in found.redefined:
        earlier = ", ".join(dict.fromkeys(item.cell.name for item in items[:-1]))
        yield f"{name} is defined {count_of(len(items), 'time')}: {items[-1].cell.name} counts, not {earlier}"
    for item, other, name in found.moved:
        yield f"{item.cell.name} uses {name} before {other.cell.name} defines it; it was defined first here"
    for broken in found.broken:
        yield f"{broken.cell.name} has the last definition of {', '.join(broken.names)}, and {broken.why}"
    told = {broken.cell for broken in found.broken}
    for cell, why in parsed.left_out:
        if cell not in told and not cell.left_out:
            yield f"{cell.name} was left out: {why}"
    for name, where in found.missing.items():
        yield f"{name} is only defined in {where}"
