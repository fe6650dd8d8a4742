"""Find gold's outputs by the names that their recipe gave them, and compare a test's values with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from goldsmith.comparison.results import Comparison
from goldsmith.errors.pytest import GoldMismatch, NoSuchOutput
from goldsmith.errors.recipe import RecipeMisuse
from goldsmith.gold.arrays import judged_part, leaves_of
from goldsmith.gold.load import GoldCase
from goldsmith.gold.row_sets import in_order_of
from goldsmith.gold.rulers import Ruler
from goldsmith.judge.choices import judge_and_spare
from goldsmith.judge.criteria import Criteria
from goldsmith.judge.decision import unjudged_reason
from goldsmith.weights.values import snapshot

_TRAINED = "model_state_dict"


class Place(NamedTuple):
    """A value in a gold file, and its path there."""

    path: str
    value: Any


def known_names(case: GoldCase) -> list[str]:
    return [*case.entry.outputs, *([_TRAINED] if _TRAINED in case.data else [])]


def find(case: GoldCase, name: str) -> Place | None:
    """Find an output such as `logits`, or something inside one: `gradients.lm_head.weight`."""
    for output, value in case.outputs.items():
        found = _inside(Place(case.entry.path_of("output", output), value), name, output)
        if found:
            return found
    return _inside(Place(_TRAINED, case.data[_TRAINED]), name, _TRAINED) if _TRAINED in case.data else None


def _inside(place: Place, name: str, own: str) -> Place | None:
    if name == own:
        return place
    if not name.startswith(f"{own}."):
        return None
    rest = name[len(own) + 1 :]
    value = place.value
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list | tuple) else ()
    below = (_inside(Place(f"{place.path}.{key}", item), rest, str(key)) for key, item in items)
    return next((item for item in below if item), None)


def compare_output(actual: Any, case: GoldCase, name: str, ruler: Ruler | None = None) -> Comparison:
    """Compare `actual` with gold's `name`, within tolerance or by the ruler of its setting; with the nearest of the
    answers that the case accepts."""
    own = find(case, name)
    if own is None:
        raise NoSuchOutput(name, known_names(case))
    if actual is None and own.value is not None:
        raise GoldMismatch(f"{name} is None; is a `return` missing?")
    try:
        leaves = leaves_of({name: snapshot(actual, name)})
    except RecipeMisuse as problem:
        raise GoldMismatch(str(problem).partition(";")[0]) from None
    found = [_beside(leaves, accepted, name, ruler) for accepted in (case, *case.variants.values())]
    return min((item for item in found if item is not None), key=_distance)


def _beside(leaves: Mapping[str, Any], case: GoldCase, name: str, ruler: Ruler | None) -> Comparison | None:
    place = find(case, name)
    if place is None:
        return None
    actual = {place.path + path.removeprefix(name): leaf for path, leaf in leaves.items()}
    gold, expected = leaves_of({place.path: place.value}), judged_part(case.data)
    actual = in_order_of(gold, actual, case.entry.unordered or ())
    criteria = Criteria(case, lambda name, value: False, ruler=ruler)
    unknown = criteria.why_unjudged(gold)
    if unknown:
        raise GoldMismatch(f"inconclusive: {unknown}")
    sides = (actual, expected, case.entry.choices or (), case.choice_arrays, criteria.rounded_to)

    def compared(found: Mapping[str, Any]) -> Comparison:
        return criteria.compare_plain(found, gold, True, ())

    spared = judge_and_spare(compared(actual), sides, compared, rowless=criteria.weight_like)
    found, doubt = spared.comparison, unjudged_reason(spared.chosen) or spared.doubt(None)
    if found.agrees and doubt:
        raise GoldMismatch(doubt)
    named = [msgspec.structs.replace(leaf, path=name + leaf.path.removeprefix(place.path)) for leaf in found.leaves]
    return msgspec.structs.replace(found, leaves=tuple(named))


def _distance(comparison: Comparison) -> tuple[bool, float]:
    return not comparison.agrees, max((leaf.excess for leaf in comparison.leaves), default=0.0)
