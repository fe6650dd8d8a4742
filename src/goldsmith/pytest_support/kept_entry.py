"""What a check keeps, and its entry in a manifest; the same whether it lies in a folder or in one file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from goldsmith._version import __version__
from goldsmith.comparison.leaves import FORMS, Form
from goldsmith.gold.choices import Choice
from goldsmith.gold.facts import CaseFacts, Environment, FileFacts, WeightFacts
from goldsmith.gold.labels import as_texts
from goldsmith.gold.manifest import CaseEntry, Provenance, TensorEntry, case_entry
from goldsmith.gold.payload import to_file
from goldsmith.gold.tolerances import Tolerance

SEED = 42
TEST, CHECK, FROM_CALL, LABELS, REASON, REPLACES = "test", "check", "from_call", "labels", "reason", "replaces"
"""What the manifest says about the check besides its values: of the last two why it was changed at once with many, and
the hash of the other form that it had before."""
_OUTPUT, MODEL = "value", "model"


@dataclass(frozen=True)
class ToKeep:
    """What is recorded. `inputs` is None where a test gave values and not a function; tolerances, marks of noise and
    results in float64 (`reference`) are by path in the file."""

    value: Any
    inputs: Mapping[str, Any] | None = None
    weights: Mapping[str, Any] | None = None
    facts: WeightFacts | None = None
    tolerances: Mapping[str, Tolerance] = field(default_factory=dict)
    noisy: Mapping[str, Any] = field(default_factory=dict)
    reference: Mapping[str, Any] = field(default_factory=dict)
    choices: tuple[Choice, ...] = ()
    choice_arrays: Mapping[str, Any] = field(default_factory=dict)
    trials: tuple[str, ...] = ()
    note: str = ""
    """What the person who records it should know."""

    def payload(self) -> tuple[dict[str, Any], list[str]]:
        """Return what a gold file of it holds, and the paths of labels in its value."""
        value, labels = as_texts(self.value)
        found = {
            "input": to_file(self.inputs or {}),
            "output": value,
            "seed": SEED,
            "model_config": {},
            "state_dict": dict(self.weights or {}),
        }
        return found, labels

    def entry(self, name: str, file: FileFacts, about: Mapping[str, Any], reference: str | None) -> CaseEntry:
        """Return its entry in a manifest; `about` is what that says about the check."""
        facts = CaseFacts(
            name=name,
            kind="output",
            file=file,
            inputs=tuple(self.inputs or ()),
            outputs=(_OUTPUT,),
            models=(MODEL,) if self.weights is not None else (),
            weights={MODEL: self.facts} if self.facts is not None else {},
            config={key: item for key, item in about.items() if key in (TEST, CHECK) or item}
            | {FROM_CALL: self.inputs is not None},
        )
        return _with_defaults(case_entry(facts, self.tolerances, "", reference, choices=self.choices))


def case_name(test: str, check: str) -> str:
    """Return the name of a check's case in its manifest."""
    return f"{test}, {check}" if check else test


def _with_defaults(entry: CaseEntry) -> CaseEntry:
    """Give what was not measured the default tolerances of its dtype, those that `goldsmith.compare` uses."""
    tensors = tuple(
        item
        if item.tolerance is None or item.tolerance.kind != "customary"
        else msgspec.structs.replace(item, tolerance=_default(item))
        for item in entry.tensors
    )
    return msgspec.structs.replace(entry, tensors=tensors)


def _default(item: TensorEntry) -> Tolerance:
    name = "float64" if item.dtype == "float (Python)" else item.dtype
    form = FORMS.get(name) or Form(name, "f")  # one of few bits, compared exactly
    return Tolerance(kind="customary", rtol=form.rtol, atol=form.atol, reason=f"the default for {name}")


def provenance_of_test(environment: Environment) -> Provenance:
    """Return where a value comes from that a test has kept: from no solution, starter or recipe."""
    return Provenance(
        solution={},
        starter={},
        recipe={},
        reads={},
        written=(),
        mode="test",
        seed=SEED,
        command="pytest --gold-update",
        goldsmith=__version__,
        environment=environment,
    )
