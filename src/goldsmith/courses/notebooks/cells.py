"""The code cells of a notebook file, in document order; outputs are skipped without being decoded."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from goldsmith.courses.notebooks.bounds import MAX_CELLS, MAX_CODE_BYTES, MAX_METADATA_BYTES, MAX_SOURCE_BYTES
from goldsmith.courses.notebooks.graders import BEGIN_TESTS, END_TESTS, why_tests
from goldsmith.foundation.struct_types import prepare_types


class NotANotebook(ValueError):
    """The file is no notebook of Python code; the message says why."""

    advice = "save it in Jupyter once more, and submit that file"


class TooMuchCode(NotANotebook):
    """It has more code than can be parsed at reasonable cost."""

    advice = "move data out of its code cells"

    def __init__(self) -> None:
        super().__init__(f"it has more than {MAX_CODE_BYTES // 2**10} KiB of code")


@dataclass(frozen=True)
class Cell:
    """A code cell with some code in it.

    `number` is counted among such cells, as `In [7]` is after everything was run from the top; it is 0 in a text file,
    where the first line's own number, `line`, says more. `left_out` says why nothing of it is used.
    """

    number: int
    source: str
    line: int = 1
    left_out: str = ""

    def place(self, line: int) -> str:
        """Name a line of the cell, counted from 1."""
        return f"cell {self.number}, line {line}" if self.number else f"line {self.line + line - 1}"

    @property
    def name(self) -> str:
        return f"cell {self.number}" if self.number else f"the cell at line {self.line}"


class _TooMany(Exception):
    """More cells than anybody has. Neither a ValueError nor a TypeError, which the decoder would replace by its own."""


_decoding = threading.local()


class _Counted(msgspec.Struct):
    """Something that is counted while it is decoded: a hundred million empty cells take ten gigabytes once they are
    there."""

    def __post_init__(self) -> None:
        _decoding.count += 1
        if _decoding.count > MAX_CELLS:
            raise _TooMany


class _Cell(_Counted):
    cell_type: str = ""
    source: msgspec.Raw = msgspec.Raw(b'""')
    input: msgspec.Raw = msgspec.Raw(b'""')
    metadata: msgspec.Raw = msgspec.Raw(b"{}")


class _Sheet(_Counted):
    cells: list[_Cell] = []


class _Notebook(msgspec.Struct):
    """What is read of a file, of format 4 or of format 3, which had worksheets. Everything else is skipped."""

    cells: list[_Cell] | None = None
    worksheets: list[_Sheet] | None = None
    metadata: msgspec.Raw = msgspec.Raw(b"{}")


def read_ipynb(content: bytes) -> list[Cell]:
    """Return the code cells of an `.ipynb` file. Raise `NotANotebook` where it is none, or in another language."""
    _decoding.count = 0
    try:
        notebook = msgspec.json.decode(content.removeprefix(b"\xef\xbb\xbf"), type=_Notebook)
    except _TooMany:
        raise NotANotebook(f"it has more than {MAX_CELLS} cells") from None
    except msgspec.ValidationError as error:
        raise NotANotebook(f"it is no Jupyter notebook: {error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise NotANotebook(f"it is not JSON, as notebooks are: {error}") from None
    if notebook.cells is None and notebook.worksheets is None:
        raise NotANotebook("it is no Jupyter notebook: it has no cells")
    raw = notebook.cells or [cell for sheet in notebook.worksheets or () for cell in sheet.cells]
    language = _language(_decode(notebook.metadata))
    if language not in ("", "python", "ipython"):
        raise NotANotebook(f"it is written in {language[:40]}, not in Python")
    return list(_code_cells(raw))


def _code_cells(raw: list[_Cell]) -> Iterator[Cell]:
    number, between = 0, ""
    for item in raw:
        is_code = item.cell_type == "code"
        source = _text(item.source, is_code=is_code) or _text(item.input, is_code=is_code)
        if not is_code:
            if BEGIN_TESTS.search(source):
                between = "otter marks it as tests"
            elif END_TESTS.search(source):
                between = ""
            continue
        if source.isspace() or not source:
            continue  # running it counts for nothing in Jupyter either
        number += 1
        yield Cell(number, source, left_out=between or why_tests(source, _decode(item.metadata)))


def _text(raw: msgspec.Raw, *, is_code: bool) -> str:
    """Return the text of a cell; empty where it is no code and very long, as with a picture in it."""
    if memoryview(raw).nbytes > MAX_SOURCE_BYTES:
        if is_code:
            raise TooMuchCode
        return ""
    try:
        source = msgspec.json.decode(raw, type=str | list[str])
    except msgspec.ValidationError as error:
        raise NotANotebook(f"it is no Jupyter notebook: the text of a cell is none ({error})") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise NotANotebook(f"it is not JSON, as notebooks are: {error}") from None
    text = source if isinstance(source, str) else "".join(source)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _decode(raw: msgspec.Raw) -> Mapping[str, Any]:
    """Decode metadata; empty where it is no object, or larger than any person's."""
    content = bytes(raw)
    if len(content) > MAX_METADATA_BYTES:
        return {}
    try:
        found = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _language(metadata: Mapping[str, Any]) -> str:
    """Return the language that a notebook says it is written in."""
    for key, field in (("kernelspec", "language"), ("language_info", "name")):
        described = metadata.get(key)
        said = described.get(field) if isinstance(described, dict) else None
        if isinstance(said, str) and said:
            return said.lower()
    return ""


prepare_types(_Notebook)
