"""Call a model or function as its case called the solution's: with gold's weights and inputs, for one output."""

from __future__ import annotations

import contextlib
import copy
import functools
from collections.abc import Callable, Iterator
from typing import Any

from goldsmith.comparison.results import Comparison
from goldsmith.errors.pytest import GoldMismatch, NotOneCall
from goldsmith.frameworks.framework import is_module
from goldsmith.gold.arrays import is_array
from goldsmith.gold.load import GoldCase
from goldsmith.process.messages import KeptCase
from goldsmith.pytest_support.outputs_by_name import compare_output
from goldsmith.weights.gold_inputs import GoldInputs
from goldsmith.weights.rules import Adapter
from goldsmith.weights.transplant import CannotPlace
from goldsmith.weights.values import first_of, to_device


def check_call(target: Callable[..., Any], case: GoldCase, adapter: Adapter, *, train: bool | None) -> Comparison:
    """Compare what `target` makes of gold's inputs with gold's output, with weights in each layout the adapter
    knows."""
    _refuse_other_forms(case)
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


def _call(target: Callable[..., Any], case: GoldCase, adapter: Adapter, layout: str, train: bool | None) -> Any:
    entry = case.entry
    kept = KeptCase.of(entry, case.path)
    given = GoldInputs.from_payload(case.data, kept, adapter=adapter, layout=layout)
    for name in entry.models:
        given.load_weights(name, target, case.model_config, lambda: _another(target, case.model_config))
    inputs = [copy.deepcopy(given.inputs[name]) for name in entry.inputs]
    if not is_module(target):
        return target(*inputs)
    device = next((str(item.device) for item in target.parameters()), "cpu")
    mode = bool(entry.training) if train is None else train
    with _in_mode(target, mode), _called_as(target, adapter):
        return target(*(to_device(item, device) for item in inputs))


def _another(model: Any, settings: dict[str, Any]) -> Any:
    """Make a model of the same kind with new weights; a copy where it cannot be constructed."""
    try:
        return type(model)(**settings)
    except Exception:
        return copy.deepcopy(model)


@contextlib.contextmanager
def _in_mode(model: Any, train: bool) -> Iterator[None]:
    before = {module: module.training for module in model.modules()}
    model.train(train)
    try:
        yield
    finally:
        for module, mode in before.items():
            module.training = mode


@contextlib.contextmanager
def _called_as(model: Any, adapter: Adapter) -> Iterator[None]:
    """Call the model as the course's adapter says for its class."""
    rule = adapter.calls.get(type(model).__name__)
    if rule is None:
        yield
        return
    own = vars(model).get("forward")
    model.forward = functools.partial(rule, model.forward)
    try:
        yield
    finally:
        if own is None:
            del model.forward
        else:
            model.forward = own


def _main_output(actual: Any, case: GoldCase) -> Any:
    """Return the first item where gold has one array: extra return values are not a mistake."""
    if is_array(case.output) and isinstance(actual, list | tuple | dict) and actual:
        return first_of(actual)
    return actual
