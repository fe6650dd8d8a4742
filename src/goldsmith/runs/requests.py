"""Requests for runs, as one process sends them to another."""

from __future__ import annotations

from typing import Any

import msgspec

from goldsmith.foundation.struct_types import prepare_types
from goldsmith.runs.conditions import PLAIN, Conditions

ALONE = "alone"
"""The name, among the runs of a case, of a call of one of its modules in isolation."""


class IsolatedCall(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A module, method or function to run alone, on the arguments and in the mode that it was called with elsewhere.

    `file` has the tensors, with `bfloat16` ones widened, `form` the call, `state` what has changed in the model since
    it was built. With `gradients`, the gradients that it passes back are requested, too.
    """

    model: str
    module: str
    form: Any
    function: str = ""
    state: tuple[str, ...] = ()
    bfloat16: tuple[str, ...] = ()
    gradients: bool = False
    file: str = ""
    training: bool = False


class RunRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A request for one run of one case under conditions; or of one module of it, by a `call` in isolation."""

    case: str
    conditions: Conditions = PLAIN
    call: IsolatedCall | None = None

    @property
    def name(self) -> str:
        """Return the name that the result has among the runs of the case."""
        return self.conditions.name if self.call is None else ALONE

    def under(self, **changes: Any) -> RunRequest:
        """Return a request for the same run under other conditions."""
        return msgspec.structs.replace(self, conditions=self.conditions.but(**changes))


prepare_types(tuple[RunRequest, ...])
