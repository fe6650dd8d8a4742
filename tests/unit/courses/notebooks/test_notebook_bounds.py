"""Notebooks made to cost memory or time: what is read of them is bounded before anything is done with it."""

from __future__ import annotations

import tracemalloc

import pytest

from goldsmith.courses.notebooks.convert import convert, is_notebook
from goldsmith.errors.notebooks import BadNotebook

EMPTY = {
    "cells": b'{"cells": [' + b"{}," * 10**6 + b"{}]}",
    "sheets": b'{"worksheets": [' + b"{}," * 10**6 + b"{}]}",
    "lines": b'{"cells": [{"cell_type": "code", "source": [' + b'"ab",' * 3 * 10**6 + b'""]}]}',
}


@pytest.mark.parametrize("kind", EMPTY)
def test_a_notebook_of_very_many_small_things_is_refused_before_they_take_memory(kind: str) -> None:
    content = EMPTY[kind]
    tracemalloc.start()
    try:
        with pytest.raises(BadNotebook, match=r"more than (20000 cells|512 KiB of code)"):
            convert(content, "odd.ipynb")
        assert tracemalloc.get_traced_memory()[1] < 16 * 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("net.py", b"#codingcoding\n" * 280 + b"x = 1\n"),
        ("net.py", b"# ---\r\n" + b"# what it is about\r\n" * 200 + b"x = 1\r\n"),
        ("net.py", b"# coding: utf-8\r\n" + b"\r\n" * 2000 + b"x = 1\r\n"),
        ("README.md", b"---\r\n" + b"title: x\r\n" * 300 + b"---\r\n"),
    ],
)
def test_a_file_that_begins_like_a_notebook_and_is_none_is_told_at_once(name: str, content: bytes) -> None:
    assert not is_notebook(name, content), "and this test has come to its end"


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("net.py", "import marimo\n\napp = marimo.App()\n" + "a;" * 2**20, "more than 512 KiB of code"),
        ("net.py", "# ---\n# jupyter: x\n# ---\n" + "\n" * 5 * 2**20, "more than 4 MiB"),
        ("net.md", "---\njupyter: x\n---\n```" + " " * 10**6 + "x\n", "it has no code"),
    ],
)
def test_text_that_nobody_wrote_is_refused_at_once(name: str, content: str, problem: str) -> None:
    with pytest.raises(BadNotebook, match=problem):
        convert(content.encode(), name)


def test_a_cell_with_very_many_marks_is_read_at_once() -> None:
    script = "# ---\n# jupyter: x\n# ---\n\n# %% " + "nbgrader={" * 10**5 + "\ndef f(): return 1\n"
    assert b"def f()" in convert(script.encode(), "net.py").source


@pytest.mark.parametrize("where", [b'{"metadata": {"a": "\xff"}, "cells": [%s]}', b'{"cells": [%s, {"metadata": 1}]}'])
def test_metadata_that_are_no_text_do_no_harm(where: bytes) -> None:
    cell = b'{"cell_type": "code", "source": "def f(): return 1", "metadata": {"tags": ["\xff"]}}'
    assert b"def f()" in convert(where % cell, "net.ipynb").source
