"""The words of a recorded value that differs: its name, how far it is off, and where. Gold's values appear only with
`reveal`; without it, how far is told in a few steps."""

from __future__ import annotations

import math

from goldsmith.comparison.results import SKETCHED, TEXTS, LeafComparison, shown_numbers
from goldsmith.judge.decision import shown_path
from goldsmith.judge.policy import STEP_LIMITS
from goldsmith.judge.verdicts import CaseVerdict

_DIGITS = 6
STEP_WORDS = ("right", "slightly off", "clearly off", "far off")


def step_of(excess: float) -> int:
    """Return the number of the step that an error is in; what is not a number is in the last."""
    return next((number for number, limit in enumerate(STEP_LIMITS) if excess <= limit), len(STEP_LIMITS) - 1)


def leaf_name(case: CaseVerdict, leaf: LeafComparison) -> str:
    """Return a recorded value's name as the submission's author knows it: a weight by its name there."""
    path = shown_path(leaf.path)
    for gold, theirs in case.their_names.items():
        if path.endswith(f".{gold}"):
            return f"{path.removesuffix(gold)}{theirs}"
    return path


def how_far(leaf: LeafComparison) -> str:
    """Say what is wrong with a value in a few words."""
    match leaf.problem:
        case "shape":
            return f"has shape {list(leaf.actual_shape)}, not {list(leaf.gold_shape)}"
        case "dtype":
            return f"is {leaf.actual_dtype}, not {leaf.gold_dtype}"
        case "missing":
            return "is missing"
        case "extra":
            return "is not in the gold"
        case "type" if leaf.actual_dtype == "None" and ".gradients." in f".{leaf.path}":
            return "is None: no gradient reaches it"
        case "type":
            return f"is {leaf.actual_dtype}, not {leaf.gold_dtype}"
        case "nan" | "inf" if not (leaf.nan_actual or leaf.inf_actual):
            return "is finite where it should be NaN or infinite"
        case "nan" | "inf":
            return f"holds {leaf.nan_actual} NaN and {leaf.inf_actual} infinite values"
    if leaf.gold_dtype in TEXTS and leaf.where:
        return f"first differs at {leaf.where}, where it has {leaf.actual}"
    if leaf.elements <= 1 or not math.isfinite(leaf.relative):
        return "has a different value"
    if _is_exact(leaf):
        return f"differs in {leaf.mismatched} of {leaf.elements} elements"
    return f"is off by {size_words(leaf.relative)}"


def _is_exact(leaf: LeafComparison) -> bool:
    """Return whether a value has whole numbers, of which `how_far` says all that there is to say."""
    return leaf.gold_dtype.startswith(("int", "uint", "bool"))


def choice_lines(case: CaseVerdict, leaf: LeafComparison, *, reveal: bool) -> list[str]:
    """Say what is wrong with a choice by gold's scores, in a line."""
    found = next((item for item in case.chosen if item.path == leaf.path and item.wrong), None)
    if found is None:
        return []
    where = f"at {list(found.index)} " if found.index else ""
    return [f"{where}{found.why}" if reveal and found.why else f"{where}it is wrong by the scores, and not a tie"]


def size_words(relative: float) -> str:
    """Say how far off, with few digits: more of them would reveal the size of gold where the error is very large."""
    if relative > 10:
        return "more than 10 times its size"
    return f"{relative:.0%} of its size" if relative >= 0.01 else f"{relative:.1e} of its size"


def leaf_lines(leaf: LeafComparison, *, reveal: bool, gold: str = "gold") -> list[str]:
    """Describe a leaf that differs, in several lines. `gold` is what to call the side that is right."""
    if leaf.gold_dtype in TEXTS and leaf.problem == "values" and leaf.where:
        return [f"{gold} has {leaf.gold} there"] if reveal else []
    lines = []
    if leaf.problem == "values" and leaf.elements > 1 and not _is_exact(leaf):
        step = STEP_WORDS[step_of(leaf.excess)]
        if leaf.tolerance == SKETCHED:
            far = f"about {leaf.excess:.2g} times as far off as allowed" if reveal else step
            lines.append(f"{far}, by a sketch of what it should be")
        elif leaf.mismatched:
            far = f", the farthest {leaf.excess:.3g} times as far as allowed" if math.isfinite(leaf.excess) else ""
            far = far if reveal else f", {'' if leaf.mismatched == 1 else 'the worst of them '}{step}"
            verb = "is" if leaf.mismatched == 1 else "are"
            lines.append(f"{leaf.mismatched} of {leaf.elements} elements {verb} out of tolerance{far}")
        else:
            far = f"{leaf.excess:.3g} times as far off as allowed" if reveal else step
            lines.append(f"no element alone, but the whole is {far}")
    if leaf.where:
        lines.append(f"where: {leaf.where}")
    if leaf.guess:
        found = leaf.guess if reveal else leaf.guess.replace("actual is gold", "yours is the right result", 1)
        found = found.replace("actual is gold", f"it is {gold}", 1) if gold != "gold" else found
        lines.append(f"it looks like this: {found} (checked)")
    if leaf.index and leaf.actual is not None:
        actual, right = shown_numbers(leaf.actual, leaf.gold if reveal else None, _DIGITS)
        lines.append(f"worst at {list(leaf.index)}: {actual}{f', {gold} {right}' if reveal else ''}")
    elif leaf.actual is not None and leaf.problem == "values":
        actual, right = shown_numbers(leaf.actual, leaf.gold if reveal else None, _DIGITS)
        lines.append(f"it is {actual}" + (f", {gold} is {right}" if reveal else ""))
    if _is_exact(leaf):
        return lines
    said = [f"cosine {leaf.cosine:.4f}"] if leaf.cosine is not None and leaf.elements > 1 else []
    alone = (("atol", leaf.atol_alone), ("rtol", leaf.rtol_alone))
    enough = [f"{name} {value:.3g}" for name, value in alone if value and math.isfinite(value)]
    said += [f"would pass with {' or '.join(enough)} alone"] if enough else []
    if said and reveal:
        lines.append("; ".join(said))
    return lines
