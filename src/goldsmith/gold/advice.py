"""Advice on recorded cases: where a case is blind by construction, and the one change that would cure it.

Advice never refuses gold. Each piece has a name, so that a course can silence it with a reason.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence

import msgspec

from goldsmith.gold.facts import JUDGED_SECTIONS, CaseFacts, LeafFacts, withheld_paths


class Advice(msgspec.Struct, frozen=True):
    """Something that would make a case sharper."""

    name: str
    """`<kind>`, or `<kind>:<case>` for one case; `silence` in the configuration names it like this."""
    text: str
    """What is blind, and what would cure it."""


def advise(cases: Sequence[CaseFacts]) -> list[Advice]:
    """List what would make these cases sharper."""
    return [*(advice for case in cases for advice in _about_case(case)), *_given_away(cases), *_about_all(cases)]


def drop_silenced(advice: Sequence[Advice], silenced: Mapping[str, str]) -> list[Advice]:
    """Return all advice that the course has not silenced by name."""
    return [item for item in advice if item.name not in silenced]


def _about_case(case: CaseFacts) -> Iterator[Advice]:
    """Yield at most one piece of advice of each kind, about the first tensor it is true of."""
    leaves = [leaf for leaf in case.file.leaves if leaf.is_array or leaf.is_text]
    inputs = [leaf for leaf in leaves if leaf.section == "input"]
    outputs = [leaf for leaf in leaves if leaf.section == "output"]
    for kind, texts in (
        ("coinciding-sizes", _coinciding(case, inputs)),
        ("uniform-input", _uniform(case, inputs)),
        ("output-equals-input", _untouched(case, inputs, outputs)),
        ("single-parameter", _single(case)),
        ("unstored-weights", _unstored(case)),
    ):
        text = next(texts, None)
        if text is not None:
            yield Advice(f"{kind}:{case.name}", f"case {case.name}: {text}")


def _given_away(cases: Sequence[CaseFacts]) -> Iterator[Advice]:
    """Yield advice on answers of one case that submissions are given in another, for all that a submission is given is
    within its reach in every case."""
    given = {content: (case, path) for case in reversed(cases) for content, path in _given(case).items()}
    for case in cases:
        own = _given(case)
        answers = {content: path for content, path in _contents(case, JUDGED_SECTIONS).items() if content not in own}
        content = next((content for content in answers if content in given), None)
        if content is not None:
            other, path = given[content]
            text = (
                f"its {case.label(answers[content])} is {other.label(path)} of case {other.name}, from which a "
                f"submission could take it: draw what {other.name} is given, or have it computed there"
            )
            yield Advice(f"given-away:{case.name}", f"case {case.name}: {text}")


def _given(case: CaseFacts) -> dict[Hashable, str]:
    """Return the paths of a case's inputs and weights that submissions are given, by content."""
    withheld = withheld_paths(case, case.weights)
    return {what: path for what, path in _contents(case, ("input", "state_dict")).items() if path not in withheld}


def _contents(case: CaseFacts, sections: Sequence[str]) -> dict[Hashable, str]:
    """Return paths by content: of arrays that vary, and of texts and lists of numbers or texts as a whole."""
    found: dict[Hashable, str] = {}
    items: dict[str, list[LeafFacts]] = {}
    for leaf in (leaf for leaf in case.file.leaves if leaf.section in sections):
        if leaf.is_array and leaf.elements > 1 and not leaf.constant:
            found.setdefault(leaf.sha256, leaf.path)
        elif not leaf.is_array:
            items.setdefault(case.item_path(leaf.path), []).append(leaf)
    for path, leaves in items.items():
        if len({leaf.sha256 for leaf in leaves}) > 1 or leaves[0].is_text:
            found.setdefault(tuple((case.path_in_item(leaf.path), leaf.sha256) for leaf in leaves), path)
    return found


def _coinciding(case: CaseFacts, inputs: Sequence[LeafFacts]) -> Iterator[str]:
    for leaf in inputs:
        square = len(leaf.shape) == 4 and leaf.shape[2] == leaf.shape[3]  # images may be square
        sizes = [size for size in (leaf.shape[:3] if square else leaf.shape) if size > 1]
        same = "two of these are the same" if len(set(sizes)) < len(sizes) else _as_many_heads(case, leaf)
        if same:
            size = " x ".join(str(size) for size in leaf.shape)
            yield f"{case.label(leaf.path)} is {size}, and {same}; that can hide a wrong axis: make them differ"


def _as_many_heads(case: CaseFacts, leaf: LeafFacts) -> str | None:
    settings = case.config.get("model_config", {})
    for key, value in settings.items() if isinstance(settings, dict) else ():
        if "head" in key and type(value) is int and value > 1 and leaf.shape[:1] == (value,):
            return f"{key} is {value} too"
    return None


def _uniform(case: CaseFacts, inputs: Sequence[LeafFacts]) -> Iterator[str]:
    for leaf in inputs:
        if leaf.constant:
            yield f"every element of {case.label(leaf.path)} is {leaf.min:g}: draw it, so that it varies"


def _untouched(case: CaseFacts, inputs: Sequence[LeafFacts], outputs: Sequence[LeafFacts]) -> Iterator[str]:
    whole = {leaf.path for leaf in (*inputs, *outputs) if leaf.path == case.item_path(leaf.path)}
    known = {leaf.sha256: leaf for leaf in inputs if leaf.elements > 1 or (leaf.is_text and leaf.path in whole)}
    records: dict[str, list[LeafFacts]] = {}
    for leaf in outputs:
        records.setdefault(case.item_path(leaf.path), []).append(leaf)
    for path, leaves in records.items():
        leaf = leaves[0]
        if leaf.is_text and path not in whole:
            continue  # a list of words may contain an input word
        if all(item.sha256 in known for item in leaves):  # a layer may return what it was given beside its output
            same = case.label(known[leaf.sha256].path)
            yield f"{case.label(leaf.path)} equals {same}, so doing nothing passes: choose inputs that are changed"


def _single(case: CaseFacts) -> Iterator[str]:
    for optimiser in case.optimisers:
        if optimiser.parameters == 1 or optimiser.groups == 1:
            what = "parameter" if optimiser.parameters == 1 else "group of parameters"
            yield (
                f"{optimiser.name} takes its steps on a single {what}, where state that is shared by mistake does not "
                f"show: give it several {'parameters' if optimiser.parameters == 1 else 'groups'}"
            )


def _unstored(case: CaseFacts) -> Iterator[str]:
    for name, facts in case.weights.items():
        if facts.unstored:
            which = "weights" if facts.unstored == ("*",) else f"weights {', '.join(facts.unstored[:3])}"
            yield (
                f"the {which} of {name} cannot be put into another model, so that others run with their own and "
                "nothing can be said against their numbers: say how they are kept with case.weights(get, set)"
            )


def _about_all(cases: Sequence[CaseFacts]) -> Iterator[Advice]:
    """Yield advice on what one sharp case is enough for: non-identity weights, gradients, initialisation."""
    with_weights = [case for case in cases if _weights(case)]
    if not with_weights:
        return
    still = [_at_identity(case) for case in with_weights]
    if all(still):
        text = (
            f"no case has all weights off their identity ({still[0]} is all 0 or all 1), where a missing scale or bias"
        )
        yield Advice("identity-weights", f'{text} is invisible: build one model with weights="stress"')
    knows_gradients = not all(case.file.name.endswith(".npz") for case in cases)
    if knows_gradients and not any(_records_by_parameter(case) or case.kind == "checkpoint" for case in cases):
        text = "no case records gradients or weights after training, where many bugs show alone"
        yield Advice("no-gradients", f"{text}: call backward() and case.record_gradients(model)")
    shown = {run for case in cases if any(pin.draws for pin in case.pinned.values()) for run in case.runs}
    hidden = [run for case in with_weights if _draws_weights(case) for run in _constructors_of_models(case)]
    unseen = next((run for run in hidden if run not in shown), None)
    if unseen is not None:
        model = unseen.rpartition(".")[0]
        text = f"no case shows how {model} initialises its weights, because the gold's are put in their place"
        yield Advice("initial-weights", f"{text}: add a case with case.initial({model}, …)")


def _constructors_of_models(case: CaseFacts) -> list[str]:
    """Return constructors that ran in a case, without those of optimisers, which draw no weights."""
    others = {f"{optimiser.name}.__init__" for optimiser in case.optimisers}
    return [run for run in case.runs if run.endswith(".__init__") and run not in others]


def _draws_weights(case: CaseFacts) -> bool:
    """Say whether a model has a varying weight of its own, not of one of its layers and not computed."""
    computed = {name for facts in case.weights.values() for name in facts.buffers}
    own = (leaf for leaf in _weights(case) if "." not in case.path_in_item(leaf.path))
    return any(not leaf.constant and leaf.path.rpartition(".")[2] not in computed for leaf in own)


def _weights(case: CaseFacts) -> list[LeafFacts]:
    return [leaf for leaf in case.file.leaves if leaf.section == "state_dict" and leaf.is_inexact and leaf.elements > 1]


def _at_identity(case: CaseFacts) -> str | None:
    """Return the first weight that is all 0 or all 1."""
    found = (leaf.path for leaf in _weights(case) if leaf.constant and leaf.min in (0.0, 1.0))
    return next((path.partition(".")[2] for path in found), None)


def _records_by_parameter(case: CaseFacts) -> bool:
    """Say whether something was recorded under the names of the weights: gradients, or weights after steps."""
    names = tuple(leaf.path.partition(".")[2] for leaf in _weights(case))
    return (
        any(leaf.path.endswith(tuple(names)) for leaf in case.file.leaves if leaf.section == "output")
        if names
        else False
    )
