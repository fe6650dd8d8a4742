"""A module's text as a notebook: one cell for each part."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from typing import Any

from goldsmith.foundation.syntax import syntax_tree


def as_notebook(source: str, *more: str) -> str:
    """Return an `.ipynb` file: the docstring as a heading, a cell for the imports and one for each definition, then
    `more` cells of code."""
    cells = [*_cells(source), *(_code(text.strip("\n")) for text in more)]
    described = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    numbered = [{"id": f"cell-{number}", **cell} for number, cell in enumerate(cells, 1)]
    return json.dumps({"cells": numbered, "metadata": described, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"


def _cells(source: str) -> Iterator[dict[str, Any]]:
    tree, lines = syntax_tree(source), source.split("\n")
    heading = ast.get_docstring(tree)
    if heading:
        yield {"cell_type": "markdown", "metadata": {}, "source": _lines(f"# {heading}")}
    for node in tree.body[bool(heading) :]:
        yield _code("\n".join(lines[node.lineno - 1 : node.end_lineno]))


def _code(text: str) -> dict[str, Any]:
    return {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": _lines(text)}


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)
