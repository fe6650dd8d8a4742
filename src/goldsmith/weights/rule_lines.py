"""Rules as the lines of an adapter file that declare them, and why one of them places nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from goldsmith.weights.axes import Shape
from goldsmith.weights.placement import size_words
from goldsmith.weights.rules import BLOCKS, INDEX, Matrix, Rule, fill, match
from goldsmith.weights.transplant import fits_any

_FUNCTIONS = ("fused", "layout", "no_counterpart", "rename", "rows")


def adapter_text(lines: Sequence[str]) -> str:
    """Return an adapter file that has these lines."""
    used = [name for name in _FUNCTIONS if any(f"{name}(" in line for line in lines)]
    return "\n".join([f"from goldsmith.adapter import {', '.join(used)}", "", *lines, ""]) if used else ""


def line_of(rule: Rule) -> str:
    """Return the line of an adapter that declares a rule."""
    if rule.parts == 1 and not rule.counted:
        more = ", transpose=True" if rule.transpose else ""
        more += _axes(rule)
        return f"rename({_quoted(rule.gold[0].name)}, {_quoted(rule.theirs[0].name)}{more})"
    lone = {"gold": rule.gold, "theirs": rule.theirs}
    options = [f', {side}_order="{items[0].order}"' for side, items in lone.items() if _ordered(items)]
    heads = next((items[0].heads for items in lone.values() if _ordered(items)), None)
    options += [f", heads={_quoted(heads) if isinstance(heads, str) else heads}"] if heads is not None else []
    options += [f", parts={rule.parts}"] if rule.counted or len(rule.gold) == len(rule.theirs) == 1 else []
    options += [", transpose=True"] if rule.transpose else []
    options += [_axes(rule)]
    return f"rows({_side(rule.gold)}, {_side(rule.theirs)}{''.join(options)})"


def no_counterpart_line(*, gold: str = "", theirs: str = "", reason: str) -> str:
    """Return the line that says that weights are on one side only."""
    side = f"gold={_quoted(gold)}" if gold else f"theirs={_quoted(theirs)}"
    return f"no_counterpart({side}, reason={_quoted(reason)})"


def why_idle(rule: Rule, gold: Mapping[str, Shape], theirs: Mapping[str, Shape], placed: Mapping[str, str]) -> str:
    """Say why a rule places nothing; `placed` are gold's weights that have a place, with their names there."""
    pattern = rule.gold[0].name.replace(INDEX, "0")
    names = [(name, stars) for name in gold if (stars := match(pattern, name)) is not None]
    if not names:
        return f"the reference has no weight {rule.gold[0].name}"
    name, stars = names[0]
    mine, other = ([fill(item.name.replace(INDEX, "0"), stars) for item in side] for side in (rule.gold, rule.theirs))
    for wanted, there, side in ((mine, gold, "reference"), (other, theirs, "candidate")):
        missing = next((item for item in wanted if item not in there), None)
        if missing is not None:
            return f"the {side} has no weight {missing}"
    if fits_any(rule, gold, theirs):
        return f"{name} has its place already, {placed.get(name, 'another')}"
    one, two = (
        ", ".join(f"{item} ({size_words(there[item])})" for item in wanted)
        for wanted, there in ((mine, gold), (other, theirs))
    )
    return f"by their sizes {one} cannot be {two}"


def _axes(rule: Rule) -> str:
    if not rule.axes:
        return ""
    return f", axes={_quoted(rule.axes) if isinstance(rule.axes, str) else rule.axes}"


def _side(items: Sequence[Matrix]) -> str:
    if len(items) == 1:
        return _quoted(items[0].name)
    return f"[{', '.join(_matrix(item) for item in items)}]"


def _matrix(item: Matrix) -> str:
    if item.parts == 1:
        return _quoted(item.name)
    heads = _quoted(item.heads) if isinstance(item.heads, str) else item.heads
    order = f', "{item.order}", heads={heads}' if item.order != BLOCKS else ""
    return f"fused({_quoted(item.name)}, {item.parts}{order})"


def _ordered(items: Sequence[Matrix]) -> bool:
    return len(items) == 1 and items[0].order != BLOCKS


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
