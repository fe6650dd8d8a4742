"""A module that is split into cells, anywhere, with anything between them, has the same definitions."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora.known_submissions import SOLUTIONS, known
from goldsmith.courses.notebooks.convert import convert
from goldsmith.errors.notebooks import BadNotebook
from support.notebooks import notebook

NOISE = (
    "%matplotlib inline",
    "!pip install torch",
    "print(undefined_name)",
    "for epoch in range(10**9):\n    loss.backward()",
    "%%bash\nls",
    "help?",
    "assert undefined_name == 3",
    "plot = draw_everything(data)",
    "with open('/nowhere/file') as file:\n    text = file.read()",
    "this is not Python",
)


@st.composite
def modules(draw: st.DrawFn) -> list[str]:
    """Statements in an order in which they can run; each may use those before it, functions also those after."""
    count = draw(st.integers(2, 9))
    names = [f"{draw(st.sampled_from('fckl'))}{number}" for number in range(count)]
    found = ["import math"]
    for number, name in enumerate(names):
        before = names[:number]
        some = draw(st.lists(st.sampled_from(before), max_size=3)) if before else []
        values = [f"{other}()" if other[0] == "f" else f"{other}.value" if other[0] == "k" else other for other in some]
        numbers = [f"sum({value})" if value[0] == "l" else value for value in values]
        total = " + ".join(["math.floor(1.5)", str(number), *numbers])
        if name[0] == "f":
            found.append(f"def {name}(first={total}):\n    return first + {total}")
        elif name[0] == "c":
            found.append(f"{name} = {total}")
        elif name[0] == "k":
            bases = "".join(f"({other})" for other in some[:1] if other[0] == "k")
            found.append(f"class {name}{bases}:\n    value = {total}\n    def call(self):\n        return {total}")
        else:
            found += [f"{name} = [{number}]", f"{name}.append({total})"]
    return found


@given(modules(), st.data())
@settings(max_examples=60, deadline=None)
def test_cells_have_the_definitions_of_the_module_that_was_split(statements: list[str], data: st.DataObject) -> None:
    cells: list[str] = []
    for statement in statements:
        cells += data.draw(st.lists(st.sampled_from(NOISE), max_size=1))
        joined = cells and cells[-1] not in NOISE and data.draw(st.booleans())
        cells[-1:] = [f"{cells[-1]}\n\n# then\n{statement}"] if joined else [*cells[-1:], statement]
    module = convert(notebook(*cells).encode(), "split.ipynb")
    assert _values(module.source.decode()) == _values("\n".join(statements))
    for number, line in enumerate(module.source.decode().splitlines(), 1):
        cell, inside = module.place(number)
        if cell and line and not line.startswith("# cell "):
            code = [cell for cell in cells if cell.strip()]
            assert code[cell - 1].split("\n")[inside - 1] == line


def _values(source: str) -> dict[str, Any]:
    """What all functions and classes of a module return."""
    scope: dict[str, Any] = {}
    exec(source, scope)
    functions = {name: scope[name]() for name in scope if name[0] == "f" and name[1:].isdigit()}
    return functions | {name: scope[name]().call() for name in scope if name[0] == "k" and name[1:].isdigit()}


@pytest.mark.parametrize("every", [40, pytest.param(1, marks=pytest.mark.long)])
def test_known_submissions_keep_all_their_definitions_as_notebooks(every: int, tmp_path: Path) -> None:
    """Each statement as a cell of its own: only docstrings, and what is no definition, are left out."""
    count = 0
    submissions = [item for assignment in ("scratch-1", "scratch-2", "scratch-3") for item in known(assignment)]
    for known_one in submissions[::every]:
        for path in known_one.written(tmp_path / known_one.assignment, SOLUTIONS).rglob("*.py"):
            try:
                statements = ast.parse(path.read_bytes()).body
            except SyntaxError:
                continue
            source = path.read_text()
            cells = [_text(source, statement) for statement in statements]
            module = convert(notebook(*cells).encode(), "known.ipynb") if cells else None
            here = {ast.dump(statement) for statement in ast.parse(module.source).body} if module else set()
            lost = [
                item for item in statements if ast.dump(item) not in here and not isinstance(item, ast.Expr | ast.If)
            ]
            assert not lost, f"{known_one.name}: {ast.unparse(lost[0])}"
            count += 1
    assert count >= len(submissions) // every


def _text(source: str, statement: ast.stmt) -> str:
    first = min([statement.lineno, *(item.lineno for item in getattr(statement, "decorator_list", ()))])
    return "\n".join(source.split("\n")[first - 1 : statement.end_lineno])


PIECES = (
    "def f(",
    "):\n",
    "    return x",
    "class A(A):",
    "\n",
    "x = ",
    "'''",
    "(",
    ")",
    "\\",
    ";",
    "!ls",
    "%time ",
    "?",
    "é",
    "@a",
)


@given(st.lists(st.lists(st.sampled_from(PIECES), max_size=8).map("".join), min_size=1, max_size=4))
@settings(max_examples=80, deadline=None)
def test_whatever_is_written_becomes_a_module_that_python_can_parse(cells: list[str]) -> None:
    try:
        module = convert(notebook(*cells).encode(), "any.ipynb", ["f", "A"])
    except BadNotebook:
        assert not any(cell.strip() for cell in cells)
        return
    ast.parse(module.source)
