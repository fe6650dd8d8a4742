"""Conditions of a run: in what it differs from the case as its recipe says it, and what is noted beside the results."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, get_args

import msgspec

Perturbation = Literal[
    "stress", "gradients", "small", "longer", "mode", "moved", "rows", "numbers", "draws", "large", "repeated",
    "single", "ties", "overflow", "tiny", "huge", "empty", "initial",
]  # fmt: skip
PERTURBATIONS: tuple[Perturbation, ...] = get_args(Perturbation)
"""What `rigor` runs a mutant under that no case sees, in the order in which they are advised. What each changes is in
`worker/perturbations.py`, what is advised in `mutants/equivalence.py`."""
Observation = Literal["dtypes", "op_outputs", "coverage"]
Before = Literal["", "same buffer", "ten calls"]
OWN, WIDE = "own", "float64"
"""Precisions: the dtype that a case has by itself, and the one in which right and wrong are farthest apart."""


class Conditions(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The conditions of one run. `name` is the word for them in verdicts, logs and files.

    Precision: floating inputs and weights are in `precision`, and so is what is computed of them; `halves` says that
    half-precision inputs are widened, too. In float64, `strict` runs watch every operation for rounding, which takes
    time; `lightly` widens only what usually asks for a dtype by name, which is faster.

    Noise: `noise` seeds disturbed rounding; with `narrowed`, float64 values are disturbed as if they were float32. By
    `unit`, inputs and weights are moved by that share of their size, for code that rounds away what is smaller;
    `constants` are disturbed, too, in the last place of float32: buffers and what else a model computes once.

    What must not matter: `reseeded` runs draw other random numbers; `columns` passes NumPy arrays in column order;
    `threads` is another number of them. A `perturbation` is a condition that the recipe does not have. `layout` is the
    arrangement of weights, by the adapter's name for it. `memory` that is not initialised is `marked` with NaN, or
    `unmarked`; else as torch has it.

    How: with `tf32`, products of float32 may be rounded to it; models and functions may be `compiled`.

    Models that are asked directly: in `train` mode; with `gradients` of the values `outputs`, in this order; after
    `steps` of an optimiser; `inputs_as` is a dtype for floating inputs alone; `before` the call that counts they were
    called on other contents of the same buffer, or ten times.

    `traced` runs keep inputs and outputs of every module; `observe` is what is noted in place of that: the floating
    `dtypes` that results are rounded to, every tensor that comes out of an operation, or every place that runs.
    """

    name: str = "plain"
    precision: str = OWN
    halves: bool = False
    lightly: bool = False
    strict: bool = True
    noise: int | None = None
    narrowed: bool = False
    unit: float = 0.0
    constants: bool = False
    reseeded: bool = False
    columns: bool = False
    threads: int | None = None
    perturbation: Perturbation | None = None
    layout: str = ""
    memory: Literal["", "marked", "unmarked"] = ""
    tf32: bool = False
    compiled: bool = False
    train: bool = False
    gradients: bool = False
    outputs: tuple[str, ...] = ()
    steps: int = 0
    inputs_as: str = ""
    before: Before = ""
    traced: bool = False
    observe: Observation | None = None

    def but(self, **changes: Any) -> Conditions:
        """Return the same conditions, but for these."""
        return msgspec.structs.replace(self, **changes)


PLAIN = Conditions(memory="marked")
REPEAT = Conditions(name="repeat", memory="unmarked")
TRACED = Conditions(name="traced", memory="marked", traced=True)
FLOAT64 = Conditions(name="float64", precision=WIDE, halves=True, strict=False, lightly=True)
STRICT = Conditions(name="float64_strict", precision=WIDE, halves=True)
DTYPES = Conditions(name="dtypes", memory="unmarked", observe="dtypes")
OP_OUTPUTS = Conditions(name="op_outputs", observe="op_outputs")
COVERAGE = Conditions(name="coverage", memory="unmarked", observe="coverage")
_PERTURBED = {
    name: Conditions(name=name, perturbation=name, precision=WIDE, strict=False, reseeded=name == "draws")
    for name in PERTURBATIONS
}
_PERTURBED["overflow"] = Conditions(name="overflow", perturbation="overflow", memory="unmarked")
PERTURBED: Mapping[Perturbation, Conditions] = MappingProxyType(_PERTURBED)
"""All are in float64, so that a difference is not rounding, but for one: what overflows in float32 does not there."""
