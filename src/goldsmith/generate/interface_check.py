"""The check that starter and solution agree on what students are given: in the sources before anything runs, then in
the models that both build."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from goldsmith.foundation.wording import count_of
from goldsmith.generate.starter_diff import Drift, find_drift, is_provided
from goldsmith.gold.checks import Check
from goldsmith.gold.facts import CaseFacts
from goldsmith.gold.manifest import Manifest
from goldsmith.process.messages import Built
from goldsmith.targets.target import Placement, Starter, Target

INTERFACE = "interface"
_TITLE = "Starter and solution agree"
_ALLOWED = "allowed"


def check_interface(target: Target, implementations: Mapping[str, Sequence[Placement]]) -> list[Check]:
    """Fail on every difference in the sources, including variants', that the configuration does not allow by name.
    Without a starter there is nothing to check."""
    starter = target.starter
    if starter is None:
        return []
    found = [drift for placed in implementations.values() for drift in find_drift(starter, target.recipe, placed)]
    return [_check(target, list(dict.fromkeys(found)), "in provided code, signatures")]


def check_models(
    target: Target, check: Check, cases: Sequence[CaseFacts], built: Mapping[str, Mapping[str, Built]]
) -> Check:
    """Repeat the check with built models: fail if the starter's parameters are not the solution's."""
    starter = target.starter
    assert starter is not None
    models = [(case, name, model) for case in cases for name, model in built.get(case.name, {}).items()]
    found = [drift for case, name, model in models for drift in _model_drift(starter, case, name, model)]
    count = len({model.classes[""] for _, _, model in models if model.shapes})
    seen = f", parameters of {count_of(count, 'model')}" if count else ""
    later = _check(target, list(dict.fromkeys(found)), check.detail + seen)
    return check if later.ok and _ALLOWED in check.detail else later


def known_from(check: Check, previous: Manifest | None) -> Check | None:
    """Return what building the models would add to `check`, if fresh gold has it, as no source has changed."""
    entries = [entry for entry in previous.checks if entry.name == INTERFACE] if previous else []
    if not entries or _ALLOWED in entries[0].detail or not entries[0].detail.startswith(check.detail):
        return None
    return Check(INTERFACE, _TITLE, entries[0].outcome, entries[0].detail)


def _check(target: Target, found: Sequence[Drift], detail: str) -> Check:
    allowed = target.allow_drift
    unallowed = [item for item in found if item.part not in allowed]
    if unallowed:
        parts = tuple(dict.fromkeys(item.part for item in unallowed))
        return Check(INTERFACE, _TITLE, "failed", str(unallowed[0]), tuple(map(str, unallowed)), accepted_by=parts)
    met = sorted({item.part for item in found})
    return Check(INTERFACE, _TITLE, "passed", f"{len(met)} {_ALLOWED}: {', '.join(met)}" if met else detail)


def _model_drift(provided: Starter, case: CaseFacts, name: str, starter: Built) -> Iterator[Drift]:
    """Yield parameters that only the starter has, and those missing or of another shape in code that it provides."""
    solution = _shapes(case, name)
    root = starter.classes[""]
    for path, shape in starter.shapes.items():
        if path not in solution:
            yield Drift(_maker(starter, path), f"gives {root} a parameter {path} that the solution lacks", "", "")
        elif solution[path] != shape and is_provided(provided, _maker(starter, path)):
            problem = f"gives {root} a parameter {path} of another shape"
            yield Drift(_maker(starter, path), problem, str(list(shape)), str(list(solution[path])))
    for path in sorted(solution.keys() - starter.shapes.keys()):
        maker = _maker(starter, path)
        if is_provided(provided, maker):
            yield Drift(maker, f"gives {root} no parameter {path}, but the solution has one", "", "")


def _shapes(case: CaseFacts, name: str) -> dict[str, tuple[int, ...]]:
    prefix = case.path_of("state_dict", name) + "."
    return {
        leaf.path.removeprefix(prefix): leaf.shape
        for leaf in case.file.leaves
        if leaf.path.startswith(prefix) and leaf.is_array
    }


def _maker(starter: Built, path: str) -> str:
    """Return the constructor that a parameter comes from: that of the nearest module with a class of the course."""
    while path:
        path = path.rpartition(".")[0]
        if path in starter.classes:
            return f"{starter.classes[path]}.__init__"
    return f"{starter.classes['']}.__init__"
