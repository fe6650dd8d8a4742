"""Every table of every page is a table where pages are read, with as many cells in each row as in its heading."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from support.doc_pages import PAGES, ROOT

OTHERS = [ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "src/goldsmith").rglob("*.md"))]
PARSER = MarkdownIt("commonmark").enable("table")
Row = tuple[int, str]


def tables_of(text: str) -> Iterator[list[Row]]:
    """Yield what is meant as a table, outside of fenced blocks: lines one below the other that begin with a pipe."""
    fenced, rows = False, list[Row]()
    for number, line in enumerate([*text.split("\n"), ""], start=1):
        fenced ^= bool(re.match(r"\s*(```|~~~)", line))
        if not fenced and line.lstrip().startswith("|"):
            rows.append((number, line.strip()))
        elif rows:
            yield rows
            rows = []


def cells(row: str) -> int:
    """Count cells as GitHub does: a pipe counts, even in code, unless a backslash stands before it."""
    return len(re.findall(r"(?<!\\)\|", row)) - 1


def faults_of(text: str) -> list[str]:
    parsed = {
        token.map[0] + 1: token.map[1] for token in PARSER.parse(text) if token.type == "table_open" and token.map
    }
    found = []
    for rows in tables_of(text):
        first, last = rows[0][0], rows[-1][0]
        if parsed.get(first) != last:
            found.append(f"line {first}: no table, or not up to line {last}")
        found += [
            f"line {at}: {cells(row)} cells under {cells(rows[0][1])}"
            for at, row in rows
            if cells(row) != cells(rows[0][1])
        ]
        found += [f"line {at}: does not end with a pipe" for at, row in rows if not row.endswith("|")]
    return found


@pytest.mark.parametrize("page", [*PAGES, *OTHERS], ids=lambda page: str(page.relative_to(ROOT)))
def test_every_table_is_one_and_its_rows_have_a_cell_for_each_heading(page: Path) -> None:
    assert faults_of(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "table",
    [
        "| a | b |\n|---|---| 1 | 2 |\n| 3 | 4 |\n",
        "| a | b |\n|---|---|\n| 1 | 2 | 3 | 4 |\n",
        "| a | b |\n|---|---|\n| `x|y` | 2 |\n",
        "| a | b |\n|---|---|\n| 1 |\n",
        "| a | b |\n| 1 | 2 |\n",
        "words\n| a | b |\n|---|\n| 1 | 2 |\n",
    ],
)
def test_a_broken_table_is_seen(table: str) -> None:
    assert faults_of(table)


def test_a_table_in_a_block_of_code_is_none() -> None:
    assert faults_of("```text\n| a |\n```\n\n| a | b |\n|---|---|\n| `x\\|y` | 2 |\n") == []
