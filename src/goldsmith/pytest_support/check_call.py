"""Call a model or function as its case called the solution's: with gold's weights and inputs, for one output."""

from __future__ import annotations

import contextlib
import copy
import functools
from collections.abc import Callable, Iterator
from typing import Any

from goldsmith.comparison.results import Comparison
from goldsmith.errors.pytest import GoldMismatch, NotOneCall
from goldsmith.foundation.nested import map_tree
from goldsmith.frameworks.framework import Framework, adopted, arrays_of, framework_of, is_module, library_of
from goldsmith.frameworks.protocols import Models
from goldsmith.gold.arrays import is_array
from goldsmith.gold.load import GoldCase
from goldsmith.process.messages import KeptCase
from goldsmith.pytest_support.outputs_by_name import compare_output
from goldsmith.weights.gold_inputs import GoldInputs
from goldsmith.weights.rules import Adapter
from goldsmith.weights.transplant import CannotPlace
from goldsmith.weights.values import first_of


def check_call(target: Callable[..., Any], case: GoldCase, adapter: Adapter, *, train: bool | None) -> Comparison:
    """Compare what `target` makes of gold's inputs with gold's output, with weights in each layout the adapter
    knows."""
    _refuse_other_forms(case)
    target = adopted(target)
    entry = case.entry
    layouts = ["", *adapter.layouts] if entry.models and is_module(target) else [""]
    found: list[Comparison] = []
    misplaced: CannotPlace | None = None
    for layout in layouts:
        try:
            actual = _call(target, case, adapter, layout, train)
        except CannotPlace as problem:
            misplaced = misplaced or problem
            continue
        found.append(compare_output(_main_output(actual, case), case, entry.outputs[0]))
        if found[-1].agrees:
            return found[-1]
    if not found:
        raise GoldMismatch(f"gold's weights do not fit into {type(target).__name__}: {misplaced}")
    return found[0]


def _refuse_other_forms(case: GoldCase) -> None:
    entry = case.entry
    if entry.kind == "checkpoint":
        raise NotOneCall(case.name, "trains a checkpoint")
    if len(entry.outputs) != 1:
        raise NotOneCall(case.name, f"records {', '.join(entry.outputs) or 'nothing'}, not one output")
    if len(entry.models) > 1:
        raise NotOneCall(case.name, f"has {len(entry.models)} models")
    if entry.calls > 1:
        raise NotOneCall(case.name, f"calls its model {entry.calls} times")


def _call(target: Any, case: GoldCase, adapter: Adapter, layout: str, train: bool | None) -> Any:
    entry, library = case.entry, library_of(target)
    kept = KeptCase.of(entry, case.path)
    given = GoldInputs.from_payload(case.data, kept, adapter=adapter, layout=layout)
    for name in entry.models:
        another = functools.partial(_another, target, case.model_config)
        target = given.load_weights(name, target, case.model_config, another).model
    inputs = [copy.deepcopy(given.inputs[name]) for name in entry.inputs]
    if library is None:
        return target(*inputs)
    models = library.models
    inputs = map_tree(lambda leaf: _received(leaf, library, models.device(target)), inputs)
    mode = bool(entry.training) if train is None else train
    with _in_mode(models, target, mode) as model:
        rule = adapter.calls.get(type(model).__name__)
        return model(*inputs) if rule is None else rule(getattr(model, models.CALLED), *inputs)


def _received(leaf: Any, library: Framework, device: Any) -> Any:
    """Return an array as one of a model's library, on its device; anything else as it is."""
    if not is_array(leaf):
        return leaf
    if framework_of(leaf) is not library:
        leaf = library.arrays.received(arrays_of(leaf).to_numpy(leaf))
    return leaf if device is None else library.arrays.moved(leaf, device, "")


def _another(model: Any, settings: dict[str, Any]) -> Any:
    """Make a model of the same kind with new weights; a copy where it cannot be constructed."""
    try:
        return type(model)(**settings)
    except Exception:
        return copy.deepcopy(model)


@contextlib.contextmanager
def _in_mode(models: Models, model: Any, train: bool) -> Iterator[Any]:
    """Yield the model in training or evaluation; one that is switched in place is switched back."""
    before = [(module, models.is_training(module)) for module in models.modules(model).values()]
    try:
        yield models.set_training(model, train)
    finally:
        for module, mode in before:
            models.set_training(module, mode)


def _main_output(actual: Any, case: GoldCase) -> Any:
    """Return the first item where gold has one array: extra return values are not a mistake."""
    if is_array(case.output) and isinstance(actual, list | tuple | dict) and actual:
        return first_of(actual)
    return actual
