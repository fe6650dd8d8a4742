"""The page of `goldsmith diff`: which tensors move, and by how much of their tolerance."""

from __future__ import annotations

from goldsmith.errors.base import making_command
from goldsmith.foundation.wording import count_of
from goldsmith.generate.gold_difference import GoldDifference
from goldsmith.html_report.curve import number_of
from goldsmith.html_report.page import render
from goldsmith.html_report.view import Lane, Point

_BAND = "the noise that was seen when their tolerance was measured"


def diff_page(found: GoldDifference) -> str:
    """Return the page of what would change, or has changed."""
    points = [
        Point(
            f"{item.case}: {item.path}",
            item.change,
            "wrong" if item.excess is None or item.excess > 1 else "right",
            item.relative,
            item.relative / item.noise if item.noise and item.relative else None,
            " → ".join(filter(None, (item.before, item.after))),
            item.relative / item.excess if item.excess and item.relative else None,
        )
        for item in found.changes
    ]
    return render(
        "diff.html",
        found=found,
        count=count_of(len(found.changes), "tensor") if found.changes else "no tensor",
        what=f"since {found.revision}" if found.revision else "by regenerating",
        lane=Lane("Tensors", "in the order of the record", _BAND, tuple(points), "their tolerance") if points else None,
        number_of=number_of,
        choose="" if found.revision else f"{making_command(found.name)} --review",
    )
