"""Say whether a submission uses a part that no case calls by itself, and whether what it does alone is wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from goldsmith.gold.call_forms import plain_values
from goldsmith.gold.trace_tensors import Hashed, is_left_out
from goldsmith.judge.bounds import MAX_CANDIDATES
from goldsmith.judge.localisation import IsolatedRuns, judge_alone
from goldsmith.judge.trace_pairs import TracePair, output_error, plain_error
from goldsmith.judge.traces import Call
from goldsmith.judge.verdicts import AGREES, COULD_NOT_RUN, ModuleVerdict

Use = Literal["used", "unused", "unknown"]
_OWN_ERRORS = ("raised", "stub", "none", "call")
"""Kinds of failure that are the part's own. A part that is missing may have another name by now; of one whose process
ended, nobody knows what it would have returned."""


@dataclass(frozen=True, eq=False)
class Probe:
    """A function or method of an inner part in a case that agrees: gold's calls of it there, and which of them gold's
    record chooses to be made alone, if one can be. A submission that lacks that one is given no other."""

    name: str
    pair: TracePair
    calls: tuple[Call, ...]
    alone: Call | None


def is_comparable(call: Call) -> bool:
    """Return whether gold has an answer of a call that others can be compared with."""
    kept = not any(isinstance(item, Hashed) or is_left_out(item) for item in call.outputs)
    return kept and bool(call.outputs or call.after or plain_values(call.returned))


def judge_probe(look: Probe, alone: IsolatedRuns) -> ModuleVerdict | None:
    """Judge the call that was made alone; None if it was not."""
    answer = alone.runs.get((look.pair.case, look.alone.position)) if look.alone else None
    return judge_alone(look.pair, look.alone, answer) if look.alone and answer else None


def is_wrong(look: Probe, judged: ModuleVerdict, alone: IsolatedRuns) -> bool:
    """Return whether a call made alone speaks against a part that is not in use. Other answers do not if each call has
    another: then nobody's would be gold's."""
    if look.alone is None or judged.outcome == AGREES:
        return False
    answer = alone.runs[look.pair.case, look.alone.position]
    if answer.failure is not None:
        return answer.failure.kind in _OWN_ERRORS
    first, *again = answer.calls
    limit = look.pair.limit(look.alone)
    return judged.outcome == COULD_NOT_RUN or all(_error(later, first) <= limit for later in again)


def use_of(look: Probe, pair: TracePair | None, *, by_name: bool) -> Use:
    """Say whether the submission uses a part: it does where a call returned what one of gold's did, and was not given
    that. A call that returned something else may have been made for nothing, or its callers know what to do with it:
    that is unknown. A call that raised an error, or whose answer takes no work, is no use of it."""
    if pair is None or not pair.theirs:
        return "unknown"
    places = {pair.key(gold) for gold in look.calls if gold.model and not by_name}
    ended = [
        call
        for call in pair.theirs
        if not call.raised and (call.name == look.name or (call.model, call.module, call.function) in places)
    ][:MAX_CANDIDATES]
    golds = [call for call in look.calls if is_comparable(call) and not call.drew]
    if not golds:  # nothing can be compared
        return "used" if any(_does_something(call, look) for call in ended) else "unknown"
    for gold in golds:
        same = (call for call in ended if _error(call, gold) <= pair.limit(gold))
        if any(_takes_work(call) or not _takes_work(gold) for call in same):
            return "used"
    untraced = any(call.partial for call in pair.theirs)
    return "unknown" if untraced or any(map(_takes_work, ended)) else "unused"


def _takes_work(call: Call) -> bool:
    """Return whether an answer is more than what the call was given: no tensor of its arguments, and no number."""
    fresh = bool(call.outputs or call.after) or not set(plain_values(call.returned)) <= set(plain_values(call.form))
    return call.tells and fresh


def _does_something(theirs: Call, look: Probe) -> bool:
    """Return whether a call returns something, or changes what it is given, where gold's does."""
    returns = any(gold.returned != [None] for gold in look.calls)
    changes = any(gold.overwrote for gold in look.calls)
    return (theirs.returned != [None] or not returns) and (theirs.overwrote or not changes)


def _error(theirs: Call, gold: Call) -> float:
    return max(output_error(theirs, gold), plain_error(theirs, gold))
