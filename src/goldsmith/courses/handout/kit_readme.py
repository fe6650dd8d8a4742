"""The README of a kit, for students."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import Template

from goldsmith.courses.handout.case_sketches import CaseKit
from goldsmith.courses.layout.layout import Assignment
from goldsmith.foundation.wording import some_of

_TEXT = Template("""\
# Check $assignment yourself

In the folder with your code:

    python3 $folder/check.py

or `python3 $folder/check.py FOLDER` for code elsewhere, and `--case NAME` for one case. It runs your code on inputs and
weights of the course, compares what comes out with sketches of what the reference solution computed, and names the
first part that is wrong. It needs NumPy and what your code needs; with goldsmith installed it also understands weights
under other names, and says more.

It ends with what was not looked at. It exits with 0 if nothing that was is wrong, 1 if something is, 2 if it was called
in the wrong way, 3 if your code could not run or is not written yet.

## What a sketch is

Up to 32 sums of a tensor's elements, with signs that look random. From them one can tell whether another tensor is the
same, and by about how much it is off, but not what it should be. `sketches.py` is all there is to it.

**This is not your grade.** Grades come from the course's own run, with more cases and all values. What is right here
may still be wrong there: single numbers (a loss), whole numbers (token ids), masks and small tensors have no sketch,
because they would give themselves away.

## What is checked

| case | what it is | compared | not compared |
|---|---|---|---|
$rows
$others""")


def kit_readme(assignment: Assignment, cases: Sequence[CaseKit], left_out: Mapping[str, str]) -> bytes:
    """Write the README of a kit with these cases."""
    rows = [
        f"| {case.name} | {case.answers.entry.title} | {len(case.answers.records)} | {_names(case)} |" for case in cases
    ]
    others = f"\nNot in this kit: {', '.join(left_out)}.\n" if left_out else ""
    text = _TEXT.substitute(
        assignment=assignment.name,
        folder="kit",
        rows="\n".join(rows),
        others=others,
    )
    return text.encode()


def _names(case: CaseKit) -> str:
    """Return the names of records without a sketch, as the recipe calls them, a few of them."""
    return some_of((case.answers.entry.label(path).partition(".")[2] for path in case.answers.left_out), 3)
