"""Words by which a starter says that something is left to write, such as TODO or "your code here"."""

from __future__ import annotations

import re

_GAP = r"[\s-]+"
_MARKS = re.compile(
    rf"\btodo\b|\byour{_GAP}(?:own{_GAP})?code\b"
    rf"|\byour{_GAP}(?:own{_GAP})?(?:solution|implementation|answer|work){_GAP}(?:here|goes)\b"
    rf"|\b(?:start|begin|end){_GAP}(?:code|solution)\b"
    rf"|\b(?:finish|complete|implement|write|fill)(?:{_GAP}in)?{_GAP}(?:me|here)\b|\bfill{_GAP}me\b"
    rf"|\b(?:finish|complete|implement|write){_GAP}(?:this|it)(?:{_GAP}(?:function|method|class|part|line|code))?\s*[.!:]*\s*$"
    r"|^\W*(?:implement|finish|complete)\W*$|^\W*implement\s*:",
    re.I | re.M,
)
"""What starters say where something is left to write. Bare verbs say so only by themselves: "implement" is also what
code does."""
_LOUD = re.compile(rf"\b(?:IMPLEMENT|YOUR{_GAP}(?:SOLUTION|IMPLEMENTATION|ANSWER|WORK))\b")


def is_marked(text: str) -> bool:
    """Say whether a comment or docstring says that something is left to write."""
    words = text.replace("_", " ")
    return bool(_MARKS.search(words) or _LOUD.search(words))
