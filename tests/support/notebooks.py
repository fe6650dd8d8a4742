"""Notebook files for tests, made of the text of their cells."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

Cell = str | Mapping[str, Any]


def code(source: str, **metadata: Any) -> dict[str, Any]:
    """A code cell with metadata, such as nbgrader's."""
    return {"cell_type": "code", "source": source, "metadata": metadata, "outputs": [], "execution_count": None}


def text(source: str, kind: str = "markdown") -> dict[str, Any]:
    return {"cell_type": kind, "source": source, "metadata": {}}


def nbgrader_tests(source: str) -> dict[str, Any]:
    """A cell that nbgrader marks as tests, as its releases do."""
    marks = {"grade": True, "grade_id": "q1", "locked": True, "points": 1, "schema_version": 3, "solution": False}
    return code(source, nbgrader={**marks, "task": False})


def nbgrader_answer(source: str) -> dict[str, Any]:
    marks = {"grade": False, "grade_id": "a1", "locked": False, "schema_version": 3, "solution": True, "task": False}
    return code(source, nbgrader=marks)


def notebook(*cells: Cell, **metadata: Any) -> str:
    """The text of an `.ipynb` file; cells that are strings are code."""
    made = [code(cell) if isinstance(cell, str) else cell for cell in cells]
    described = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}, **metadata}
    return json.dumps({"cells": made, "metadata": described, "nbformat": 4, "nbformat_minor": 5}, indent=1)
