"""What a kit may hold of one case: its inputs and weights, and sketches of what the solution made of them."""

from __future__ import annotations

import functools
import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from goldsmith.comparison.against_gold import tolerances_of
from goldsmith.comparison.sketched import relative_limit
from goldsmith.foundation.nested import map_tree, walk
from goldsmith.gold.arrays import array_hash, as_numpy, is_array, judged_part
from goldsmith.gold.call_forms import is_reference
from goldsmith.gold.facts import WeightFacts
from goldsmith.gold.kit_files import ARRAY
from goldsmith.gold.load import GoldCase
from goldsmith.gold.manifest import CaseEntry, TensorEntry
from goldsmith.gold.payload import from_file, to_file
from goldsmith.gold.safetensors_reader import Mapped, open_mapped
from goldsmith.gold.sketches.privacy import sums_allowed
from goldsmith.gold.sketches.sketch import Sketch, root_mean_square
from goldsmith.gold.tolerances import Tolerance, is_blind
from goldsmith.gold.trace_tensors import LEFT_OUT
from goldsmith.judge.decision import sharper
from goldsmith.judge.policy import CLOSE
from goldsmith.judge.traces import INDEX, call_ends

DIGITS = 16
"""Sums are rounded to their limit over this."""
TRACE_SUMS = 8
"""How many sums a tensor of a trace has: fewer than a record, for there it only matters which call goes wrong first."""
NOT_TOLD = {"left out": None}
"""What stands in a call's form for a number or text: it may be an answer."""
_KEPT_OF_A_CALL = (
    "call", "model", "module", "class", "function", "depth", "own", "training", "raised", "drew", "no_grad",
    "inference", "transformed", "partial", "learns", "overwrote",
)  # fmt: skip
_DRAWN_BUFFERS = ("running_mean", "running_var")


class Sketcher:
    """Makes every sketch once, by the content of its tensor."""

    def __init__(self) -> None:
        self._allowed: dict[str, tuple[int, str]] = {}
        self._made: dict[str, Sketch] = {}

    def of_record(self, value: Any, tolerance: Tolerance, dtype: str) -> Sketch | str:
        """Sketch a record or its reference; else say why it is left out."""
        if not is_array(value):
            return "a single value would be told whole"
        if tolerance.kind == "exact":
            return "it must be met exactly, which no sketch can tell"
        if tolerance.noisy:
            return "on some of its numbers no two right answers agree"
        content, numbers = array_hash(value), as_numpy(value)
        if is_blind(tolerance, numbers.size):
            return "rounding alone moves it as far as a mistake would"
        count, why = self._count(content, numbers)
        if not count:
            return why
        limit = relative_limit(tolerance, root_mean_square(numbers))
        if not limit:
            return "its tolerance is zero, which no sketch can tell"
        self._made[content] = Sketch.of(numbers, dtype, count).rounded(limit / DIGITS)
        return self._made[content]

    def of_call(self, tensor: Any) -> Sketch | None:
        """Sketch a tensor of a trace; None if it is left out. One that is a record, too, has that one's sketch."""
        content, numbers = array_hash(_bits(tensor)), as_numpy(tensor)
        if content not in self._made:
            count, _ = self._count(content, numbers)
            if not count:
                return None
            dtype = str(numbers.dtype)
            self._made[content] = Sketch.of(numbers, dtype, min(count, TRACE_SUMS)).rounded(CLOSE / DIGITS)
        return self._made[content]

    def _count(self, content: str, numbers: Any) -> tuple[int, str]:
        if content not in self._allowed:
            self._allowed[content] = sums_allowed(numbers)
        return self._allowed[content]


def _bits(tensor: Any) -> Any:
    return getattr(tensor, "bits", tensor)


@dataclass(frozen=True)
class Answers:
    """Sketches of what one recording of a case has recorded, with its entry in the manifest, of which nothing is left
    that tells a value."""

    entry: CaseEntry
    records: Mapping[str, Sketch]
    reference: Mapping[str, Sketch]
    left_out: Mapping[str, str]


@dataclass(frozen=True)
class CaseKit:
    """One case of a kit. `calls` are those of its trace, in which each tensor is a `Sketch`, one of the given arrays,
    or None."""

    name: str
    given: dict[str, Any]
    answers: Answers
    variants: Mapping[str, Answers]
    calls: list[dict[str, Any]] = field(default_factory=list)

    @property
    def sketches(self) -> Iterator[Sketch]:
        for answers in (self.answers, *self.variants.values()):
            yield from answers.records.values()
            yield from answers.reference.values()
        for call in self.calls:
            yield from (item for item in _tensors_of(call) if isinstance(item, Sketch))

    @functools.cached_property
    def arrays(self) -> dict[str, Any]:
        """Return the given arrays by their hash."""
        return {array_hash(leaf): leaf for _, leaf in walk(self.given) if is_array(leaf)}


def make_case(case: GoldCase, folder: Path, sketcher: Sketcher, public: Collection[str]) -> CaseKit:
    """Take from gold what a kit may hold of a case. Functions and classes whose names are not `public` are the
    solution's own, and are not named."""
    answers = _answers(case, sketcher, public)
    variants = {name: _answers(item, sketcher, public) for name, item in case.variants.items()}
    given = _given(case)
    calls = _calls(folder / case.entry.trace, sketcher, given, public) if case.entry.trace else []
    return CaseKit(case.name, given, answers, variants, calls)


def problem_with(case: GoldCase, made: CaseKit) -> str:
    """Say why a case cannot be handed out; empty if it can."""
    if any(facts.unstored for facts in case.entry.weights.values()):
        return "its weights cannot be put into another model"
    if not made.answers.records:
        return f"none of its records can be sketched: {next(iter(made.answers.left_out.values()), 'it has none')}"
    return ""


def answers_in(case: GoldCase, folder: Path) -> set[str]:
    """Return hashes of what the solution computed in a case: records that it was not given, and what calls returned
    that was not among their inputs."""
    given = {array_hash(leaf) for _, leaf in walk([case.input, case.data["state_dict"]]) if is_array(leaf)}
    found = {array_hash(leaf) for leaf in judged_part(case.data).values() if _may_tell(leaf)} - given
    content = open_mapped(folder / case.entry.trace) if case.entry.trace else Mapped({}, {INDEX: "[]"})
    for entry in json.loads(content.metadata[INDEX]):
        names = set(entry.get("outputs", ())) - set(entry["inputs"])
        found |= {array_hash(_bits(content[name])) for name in names if name in content and _may_tell(content[name])}
    return found


def _may_tell(value: Any) -> bool:
    """Return whether an array is worth anything to someone who is given it: not one number again and again."""
    if not is_array(value):
        return False
    numbers = as_numpy(value)
    return numbers.size > 1 and not bool((numbers == numbers.flat[0]).all())


def _given(case: GoldCase) -> dict[str, Any]:
    """Return inputs and initial weights, as gold's file has them; what the solution computes is left out."""
    weights = {
        model: {name: value for name, value in items.items() if not _is_computed(case.entry, model, name, value)}
        for model, items in from_file(case.data["state_dict"], case.entry.models).items()
    }
    return {"input": case.input, "state_dict": to_file(weights), "seed": case.seed}


def _is_computed(entry: CaseEntry, model: str, name: str, value: Any) -> bool:
    facts = entry.weights.get(model, WeightFacts())
    is_buffer = name in facts.buffers and not name.endswith(_DRAWN_BUFFERS)
    return name in facts.withheld or (is_buffer and _may_tell(value))


def _answers(case: GoldCase, sketcher: Sketcher, public: Collection[str]) -> Answers:
    records, reference, left_out = {}, {}, {}
    tolerances, dtypes = tolerances_of(case), {item.path: item.dtype for item in case.entry.tensors}
    unkept = _unkept(case.entry)
    for path, value in judged_part(case.data).items():
        tolerance = tolerances.get(path)
        if unkept.get(case.entry.item_path(path)):
            left_out[path] = unkept[case.entry.item_path(path)]
            continue
        if tolerance is None:
            left_out[path] = "only numbers can be sketched"
            continue
        made = sketcher.of_record(value, tolerance, dtypes[path])
        if isinstance(made, str):
            left_out[path] = made
            continue
        records[path] = made
        if path in case.reference:
            wide = sketcher.of_record(case.reference[path], sharper(tolerance, dtypes[path]), "float64")
            if isinstance(wide, Sketch):
                reference[path] = wide
    return Answers(_entry(case.entry, records, tolerances, public), records, reference, left_out)


def _unkept(entry: CaseEntry) -> dict[str, str]:
    """Return which records a sketch cannot judge, and why: several answers to them are right."""
    why = "where its choices tie is judged by gold's scores"
    found = dict.fromkeys(entry.unordered or (), "its rows may come in any order")
    for choice in (item for item in entry.choices or () if item.close):
        found[choice.path] = why
        if choice.scores and choice.steps is not None:
            found[choice.scores] = why
    return found


def _entry(
    entry: CaseEntry, records: Mapping[str, Sketch], tolerances: Mapping[str, Tolerance], public: Collection[str]
) -> CaseEntry:
    """Return the entry of a case without anything that tells a value: statistics, hashes, what training came to."""
    tensors = [
        TensorEntry(path, sketch.dtype, sketch.shape, "", tolerance=_limits(tolerances[path], sketch))
        for path, sketch in records.items()
    ]
    runs = tuple(name for name in entry.runs if _is_public(name, public))
    origins = {
        record: tuple(name for name in names if _is_public(name, public)) for record, names in entry.origins.items()
    }
    return msgspec.structs.replace(
        entry,
        tensors=tuple(tensors),
        config={},
        reference=None,
        code="",
        environment=None,
        call_noise={},
        runs=runs,
        origins=origins,
        choices=msgspec.UNSET,
        unordered=msgspec.UNSET,
    )


def _limits(tolerance: Tolerance, sketch: Sketch) -> Tolerance:
    return Tolerance(
        kind=tolerance.kind,
        reason="of a kit",
        l2=tolerance.l2,
        max=tolerance.max,
        scale=sketch.rms,
        rtol=tolerance.rtol,
        atol=tolerance.atol,
    )


def _is_public(name: str, public: Collection[str]) -> bool:
    return all(part in public for part in name.split(".") if part)


def _calls(file: Path, sketcher: Sketcher, given: Mapping[str, Any], public: Collection[str]) -> list[dict[str, Any]]:
    """Return the calls of a trace: what was called in which order, and sketches of what went in and came out. What the
    case was given is no secret there, either."""
    content = open_mapped(file)
    known = {array_hash(leaf): leaf for _, leaf in walk(dict(given)) if is_array(leaf)}

    def sketched(name: str) -> Any:
        if name not in content:
            return None
        own = known.get(array_hash(_bits(content[name])))
        return sketcher.of_call(content[name]) if own is None else own

    found = []
    index = json.loads(content.metadata[INDEX])
    index = [it for it in index if not it["own"] or _is_public(f"{it['class']}.{it['function']}", public)]
    for entry, end in zip(index, call_ends(index), strict=True):
        call = {key: entry[key] for key in _KEPT_OF_A_CALL if key in entry} | {"end": end}
        call["inputs"] = [sketched(name) for name in entry["inputs"]]
        if "outputs" in entry:
            call["outputs"] = [sketched(name) for name in entry["outputs"]]
            call["returned"] = _without_values(entry.get("returned"))
        for key in ("state", "after"):
            if entry.get(key) is not None:
                call[key] = {name: sketched(item) for name, item in entry[key].items()}
            elif key in entry:
                call[key] = None
        by_the_recipe = entry["depth"] == 0 and entry["function"]
        call["form"] = entry.get("form") if by_the_recipe else _without_values(entry.get("form"))
        found.append(call)
    return found


def _without_values(form: Any) -> Any:
    """Return the form of a call without values; where tensors are, and how many values, remains."""
    return map_tree(lambda leaf: leaf if is_reference(leaf) or leaf is None else NOT_TOLD, form, is_reference)


def _tensors_of(call: Mapping[str, Any]) -> Iterator[Any]:
    yield from call["inputs"]
    yield from call.get("outputs", ())
    for key in ("state", "after"):
        yield from (call.get(key) or {}).values()


def refer_to(call: Mapping[str, Any], sketch_number: Any, array_number: Any) -> dict[str, Any]:
    """Return a call as JSON, with each sketch replaced by its number, and each array by its own."""

    def reference(tensor: Any) -> Any:
        if tensor is None:
            return LEFT_OUT
        return sketch_number(tensor) if isinstance(tensor, Sketch) else {ARRAY: array_number(tensor)}

    found = dict(call)
    for key in ("inputs", "outputs"):
        if key in call:
            found[key] = list(map(reference, call[key]))
    for key in ("state", "after"):
        if call.get(key) is not None:
            found[key] = {name: reference(item) for name, item in call[key].items()}
    return found
