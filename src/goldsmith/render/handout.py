"""Show a kit that was written: what it has, what it leaves out and why, the next step last."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from goldsmith.foundation.wording import count_of
from goldsmith.gold.sketches.privacy import FEWEST_NUMBERS
from goldsmith.render.console import print_line

if TYPE_CHECKING:
    from goldsmith.courses.handout.make_kit import HandedOut, KitPlan

_MAX_REASONS = 5


def show_kit(console: Console, kit: HandedOut) -> None:
    """Print what the kit of an assignment has."""
    print_line(
        console, f"{kit.name}: {count_of(len(kit.cases), 'case')} in {kit.folder}, {kit.size / 1000:.0f} kB", keep=True
    )
    calls, records = count_of(kit.calls, "call"), count_of(kit.records, "record")
    print_line(console, f"  sketches of {records} and of what {calls} were given and returned", keep=True)
    if kit.not_sketched:
        reasons = Counter(kit.not_sketched.values())
        print_line(console, f"  {count_of(len(kit.not_sketched), 'record')} without a sketch:", keep=True)
        for reason, count in reasons.most_common(_MAX_REASONS):
            print_line(console, f"    {count:4}  {reason}", keep=True)
        rest = sum(count for _, count in reasons.most_common()[_MAX_REASONS:])
        if rest:
            print_line(console, f"    {rest:4}  for other reasons, which --json lists", keep=True)
    for name, why in kit.left_out.items():
        print_line(console, f"  not in it: {name} ({why})", keep=True)
    print_line(console)
    done = "Written" if kit.outcome == "written" else "Already there, byte for byte"
    step = f"{done}. Students run `python3 {kit.folder}/check.py`; `goldsmith guard {kit.folder}` looks through it."
    print_line(console, Text(step, "bold green"), keep=True)


def poor_lines(plan: KitPlan) -> list[str]:
    """Say of a kit that will hold few of the cases why that is so, and what helps."""
    of = len(plan.cases) + len(plan.left_out)
    lines = [f"{plan.assignment}: a kit can hold only {len(plan.cases)} of {of} cases."]
    reasons = Counter(plan.left_out.values())
    lines += [f"  {count:4}  {reason}" for reason, count in reasons.most_common(_MAX_REASONS)]
    if plan.too_small:
        name, size = max(plan.too_small.items(), key=lambda item: item[1])
        times = -(-FEWEST_NUMBERS // size)
        lines += [
            "What helps: larger inputs, in a case for the kit alone. "
            f"{name} records {count_of(size, 'number')} at most, and",
            f"a sketch takes {FEWEST_NUMBERS} or more: {times} times as many, drawn as {name} draws them:",
            "",
            "    @gs.case(points=0)",
            f"    def {name}_for_kit(case):",
            f"        ...  # as in {name}, with sizes {times} times as large in all",
            "",
        ]
    return lines
