"""What became of a ruler, as text."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from goldsmith.foundation.wording import count_of
from goldsmith.generate.calibrate import UNCHANGED, RulerReport
from goldsmith.render.console import print_line

_SHOWN = 6


def show_ruler(console: Console, found: RulerReport) -> None:
    """Show what it limits, what cannot be judged by it, and the conclusion last."""
    reasons = [f"{name}: {why}" for name, why in found.unjudged.items()]
    for line in reasons[:_SHOWN]:
        print_line(console, f"not judged: {line}")
    if len(reasons) > _SHOWN:
        print_line(console, f"not judged: {len(reasons) - _SHOWN} more, all in the manifest")
    for line in found.failed[:_SHOWN]:
        print_line(console, f"failed: {line}")
    if reasons or found.failed:
        print_line(console)
    what = (
        f"{count_of(found.tensors, 'tensor')} may be off by {found.smallest:.1e} to {found.largest:.1e} of their size"
    )
    done = "there already" if found.outcome == UNCHANGED else "measured"
    print_line(console, Text(f"{found.name}: ruler for {found.setting} {done} on {found.machine}: {what}.", "bold"))
    print_line(console, f"Next: {found.next[0]}")
