"""Testing: gold in the hands of a pytest test. What the plugin's hooks and fixtures do lives here, behind thin hooks.

Every name is imported when it is first asked for: a pytest that never speaks of gold must not wait for NumPy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from goldsmith.doors import late

if TYPE_CHECKING:
    from goldsmith.testing.collecting import GoldOf, judged_case
    from goldsmith.testing.errors import GoldMismatch
    from goldsmith.testing.handles import CaseForTests, GoldForTests
    from goldsmith.testing.replays import JudgedCase, Replay

__all__ = ["CaseForTests", "GoldForTests", "GoldMismatch", "GoldOf", "JudgedCase", "Replay", "judged_case"]

__getattr__ = late(
    "goldsmith.testing",
    {
        "CaseForTests": "goldsmith.testing.handles",
        "GoldForTests": "goldsmith.testing.handles",
        "GoldMismatch": "goldsmith.testing.errors",
        "GoldOf": "goldsmith.testing.collecting",
        "JudgedCase": "goldsmith.testing.replays",
        "Replay": "goldsmith.testing.replays",
        "judged_case": "goldsmith.testing.collecting",
    },
)
