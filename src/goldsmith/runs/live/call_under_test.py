"""A function or model that a test has checked: called on one set of inputs, the test's or those that were kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from goldsmith.errors.pytest import NotOneSetOfInputs
from goldsmith.errors.recipe import RecipeMisuse
from goldsmith.frameworks.framework import arrays_of
from goldsmith.gold.arrays import is_array
from goldsmith.runs.live.live_side import LiveSide
from goldsmith.runs.live.returned_values import InputSet
from goldsmith.weights.values import snapshot


class CallUnderTest(LiveSide):
    """The side of a parity that has no other side. `returned` is what the last call returned, `error` what it raised.

    `draws_inputs` says that the inputs come from a function, and not from the test itself.
    """

    def __init__(self, target: Callable[..., Any], inputs: Any, *, seed: int) -> None:
        if isinstance(inputs, list):
            raise NotOneSetOfInputs()
        super().__init__(target, inputs, seed=seed)
        self.draws_inputs = callable(inputs) and not is_array(inputs)
        self.returned: Any = None
        self.error: BaseException | None = None
        if len(self.draw_inputs()) != 1:
            raise NotOneSetOfInputs()

    def _received(self, returned: Any) -> None:
        self.returned = returned

    def _raised(self, error: BaseException) -> None:
        self.error = error

    def named_inputs(self) -> dict[str, Any]:
        """Return copies of the arguments by position or name, but for objects that are neither arrays nor plain."""
        found: dict[str, Any] = {}
        for name, value in self._inputs[0].named().items():
            try:
                found[name] = snapshot(value, name)
            except RecipeMisuse:
                continue
        return found

    def put_inputs(self, kept: Mapping[str, Any]) -> None:
        """Put kept arrays in the place of those that the test gave; everything else stays as the test gave it."""
        given = self._inputs[0]
        args = tuple(_put(item, kept.get(str(number))) for number, item in enumerate(given.args))
        self._inputs = [InputSet(args, {name: _put(item, kept.get(name)) for name, item in given.kwargs.items()})]


def _put(given: Any, kept: Any) -> Any:
    """Return `given` with the arrays of `kept`, which has the same form, in its own library and on its own device."""
    if is_array(given):
        return arrays_of(given).like(kept, given) if is_array(kept) else given
    if type(given) is dict and isinstance(kept, dict):
        return {key: _put(item, kept.get(key, kept.get(str(key)))) for key, item in given.items()}
    if type(given) in (list, tuple) and isinstance(kept, list | tuple) and len(given) == len(kept):
        return type(given)(_put(item, other) for item, other in zip(given, kept, strict=True))
    return given
