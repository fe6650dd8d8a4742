"""Drafts of whole assignments, untouched: they make gold, which accepts other right solutions and no wrong one."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.draft_measure import BUNDLED, SHAPES, measure

PARTS = {
    "layers": 8,
    "policies": 5,
    "encoder": 7,
    "systems": 4,
    "bounds": 8,
    "scratch-1": 9,
    "scratch-2": 7,
    "scratch-3": 5,
}


@pytest.mark.long  # in small: test_generate_kind_proved.py
@pytest.mark.parametrize("name", [*BUNDLED, *SHAPES])
def test_an_untouched_draft_accepts_twenty_right_solutions_and_no_wrong_one(name: str, tmp_path: Path) -> None:
    row = measure(name, tmp_path)
    assert row.parts >= PARTS[name]
    assert row.right >= 20
    assert not row.refused
    assert not row.missed
