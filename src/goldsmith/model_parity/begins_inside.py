"""Where a difference begins inside a module that is wrong, of which not everything inside could be judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from goldsmith.foundation.wording import some_of
from goldsmith.judge.localisation import NEVER_CALLED
from goldsmith.judge.trace_pairs import TracePair
from goldsmith.judge.traces import Call, distance, in_order_of_return
from goldsmith.judge.verdicts import AGREES, DIFFERS, ModuleVerdict, sources
from goldsmith.model_parity.aligned_calls import as_shaped, correspond
from goldsmith.model_parity.input_forms import in_form_of, is_mask
from goldsmith.runs.implementation import Described

_LISTED = 3
_TORCH = "/torch/nn/modules/"
"""Where the classes are whose code is right."""


def begin_inside(
    pair: TracePair, verdicts: Sequence[ModuleVerdict], apart: Mapping[int, str], candidate: Described
) -> tuple[list[ModuleVerdict], set[str]]:
    """Return the verdicts, with the innermost module that the difference begins inside of as the source, where one was
    to blame "by itself" and not all of its own modules are known to be right; and the names of such sources. `apart`
    are calls that cannot be compared."""
    kinds = candidate.modules
    judged = {item.name: item for item in verdicts}
    found, inside = {item.name: item for item in verdicts}, set()
    for source in list(sources(verdicts)):
        outer = next((call for call in pair.gold if call.module == source.name and not call.function), None)
        if outer is None or source.outcome != DIFFERS:
            continue
        if source.why.endswith(NEVER_CALLED):
            holder = _holder_of_idle(pair, outer)
            if holder is not outer:
                found[source.name] = msgspec.structs.replace(source, source=False, why="")
                found[holder.module] = _source(source, pair, holder, kinds, source.why)
            continue
        giver = _holder(pair, outer) if _lacks_an_input(pair, outer, candidate) else outer
        if giver is not outer:
            found[source.name] = msgspec.structs.replace(source, source=False)
            why = f"{source.theirs} is not given all that it is in the reference"
            found[giver.module] = _source(source, pair, giver, kinds, why)
            continue
        if source.why:
            continue
        unknown = _not_judged(pair, outer, judged, apart)
        if not unknown:
            continue
        place = _first_place(pair, outer, judged) or outer
        if place is not outer:
            found[source.name] = msgspec.structs.replace(source, source=False)
            unknown = _not_judged(pair, place, judged, apart)
        inside.add(place.module)
        listed = some_of(unknown, _LISTED)
        why = "the difference begins inside it" + (f", where {listed} could not be judged" if listed else "")
        found[place.module] = _source(source, pair, place, kinds, why)
    order = {call.module: number for number, call in enumerate(in_order_of_return(pair.gold))}
    return sorted(found.values(), key=lambda item: order.get(item.name, len(order))), inside


def _source(source: ModuleVerdict, pair: TracePair, place: Call, kinds: Mapping[str, str], why: str) -> ModuleVerdict:
    """Return the verdict that a difference begins at another place than was thought."""
    theirs = pair.names[place.model][place.module]
    return ModuleVerdict(
        case=source.case,
        model=place.model,
        name=place.module,
        kind=place.kind,
        outcome=DIFFERS,
        source=True,
        inferred=True,
        theirs=theirs,
        their_kind=kinds.get(theirs, ""),
        why=why,
    )


def _holder_of_idle(pair: TracePair, outer: Call) -> Call:
    """Return the innermost module with a partner around the first that is never called."""
    idle = _holder(pair, pair.never_called(outer)[0])
    return idle if outer.encloses(idle) else outer


def _holder(pair: TracePair, inner: Call) -> Call:
    """Return the innermost module with a partner around a call; the call itself if there is none."""
    names = pair.names[inner.model]
    around = [item for item in pair.gold if item.encloses(inner) and item.module in names and not item.function]
    return around[-1] if around else inner


def _lacks_an_input(pair: TracePair, call: Call, candidate: Described) -> bool:
    """Say whether one of torch's own modules stands for a call, and is given only some of the tensors that the
    reference's module is: what it does with those is right."""
    partner = pair.partners.get(call.position)
    if partner is None or _TORCH not in candidate.places.get(partner.kind, "").replace("\\", "/"):
        return False
    given = [
        any(correspond(other, item) or in_form_of(other, item) is not None for other in partner.inputs)
        for item in call.inputs
        if item.dtype.kind in "fb"
    ]
    return any(given) and not all(given)


def _not_judged(
    pair: TracePair, outer: Call, judged: Mapping[str, ModuleVerdict], apart: Mapping[int, str]
) -> list[str]:
    """List modules inside a call of which nothing is known, but for those inside of a right one. What the candidate has
    no module for is code of the module around it, unless that holds modules without a partner itself."""
    right = [call for call in pair.gold if outer.encloses(call) and _is_right(judged.get(call.module))]
    unknown = [
        call
        for call in pair.gold
        if outer.encloses(call)
        and call.tells
        and (call.module not in judged or judged[call.module].outcome not in (AGREES, DIFFERS))
        and not any(item.encloses(call) for item in right)
    ]
    paired = {call.module for call in unknown if call.position in pair.partners or call.position in apart}
    partner = pair.partners.get(outer.position)
    strangers = partner is None or any(
        partner.encloses(call) and call.tells and call.module not in pair.names[outer.model].values()
        for call in pair.theirs
    )
    unknown = [call for call in unknown if strangers or call.module in paired]
    outermost = (call.module for call in unknown if not any(item.encloses(call) for item in unknown))
    return list(dict.fromkeys(outermost))


def _first_place(pair: TracePair, outer: Call, judged: Mapping[str, ModuleVerdict]) -> Call | None:
    """Return the module in which the first wrong tensor inside a call is made: the one that returned it, given the
    right inputs, else the innermost one around it that was."""
    for call in in_order_of_return(pair.gold):
        off = pair.output_errors.get(call.position)
        if not outer.encloses(call) or off is None or off <= pair.limit(call):
            continue
        around = [item for item in pair.gold if outer.encloses(item) and (item is call or item.encloses(call))]
        place = next((item for item in reversed(around) if _is_given_the_right_inputs(pair, item)), None)
        return None if place is None or _is_right(judged.get(place.module)) else place
    return None


def _is_given_the_right_inputs(pair: TracePair, call: Call) -> bool:
    """Say whether every floating input of a call that the candidate's has, too, is right, and there is one.

    Masks do not count: a window may be made of one here, and be in it there.
    """
    name = pair.names[call.model].get(call.module)
    theirs = next((item.inputs for item in pair.theirs if item.module == name and not item.function), ())
    if call.position in pair.partners:
        theirs = pair.partners[call.position].inputs
    found = []
    for mine in (item for item in call.inputs if item.dtype.kind in "fc" and item.size > 1 and not is_mask(item)):
        like = [as_shaped(item, mine) for item in theirs if item.dtype.kind in "fc" and correspond(item, mine)]
        found += [min(distance(item, mine) for item in like)] if like else []
    return bool(found) and max(found) <= pair.close


def _is_right(verdict: ModuleVerdict | None) -> bool:
    return verdict is not None and verdict.outcome == AGREES
