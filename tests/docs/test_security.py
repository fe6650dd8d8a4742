"""What SECURITY.md promises stands beside attacks and tests that exist."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from support.doc_pages import ROOT

TEXT = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
HOSTILE = ROOT / "tests" / "corpora" / "hostile"
ATTACKS = re.findall(r"`((?:classes|loopback|numpy|parcels|points|torch)/\w+)`", TEXT)
FILES = re.findall(r"`((?:\w+/)*test_\w+\.py)`", TEXT)


def promises() -> Iterator[str]:
    """Yield the rows of all tables that name attacks."""
    for table in re.findall(r"(?:^\|.*\n)+", TEXT, re.MULTILINE):
        head, _, *rows = table.splitlines()
        if "attack" in head:
            yield from rows


@pytest.mark.parametrize("name", sorted(set(ATTACKS)))
def test_an_attack_that_it_names_is_in_the_corpus(name: str) -> None:
    assert (HOSTILE / f"{name}.py").is_file()


@pytest.mark.parametrize("name", sorted(set(FILES)))
def test_a_test_that_it_names_exists(name: str) -> None:
    assert any((folder / name).is_file() for folder in (ROOT, ROOT / "tests", ROOT / "tests" / "promises"))


def test_each_promise_names_what_attacks_it() -> None:
    rows = list(promises())
    assert len(rows) >= 20
    assert [row for row in rows if not any(f"`{name}`" in row for name in (*ATTACKS, *FILES))] == []
