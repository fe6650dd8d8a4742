"""Which tests speak of gold: by the `gold` marker, and by fixtures."""

from __future__ import annotations

import pytest

_FIXTURES = {"gold", "gold_case"}


def marked_assignments(item: pytest.Item) -> list[str]:
    """List the assignments that the test's markers name, each once, the nearest marker first."""
    return list(dict.fromkeys(str(name) for mark in item.iter_markers("gold") for name in mark.args))


def speaks_of_gold(item: pytest.Item) -> bool:
    fixtures = getattr(item, "fixturenames", ())
    return item.get_closest_marker("gold") is not None or bool(_FIXTURES.intersection(fixtures))
