"""Call a model or function as its case called the solution's: with gold's weights and inputs, for one output."""

from __future__ import annotations

import contextlib
import copy
import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from goldsmith.comparison.results import Comparison
from goldsmith.errors.pytest import GoldMismatch, NotOneCall
from goldsmith.foundation.nested import map_tree
from goldsmith.frameworks.framework import Framework, adopted, arrays_of, framework_of, is_module, library_of
from goldsmith.frameworks.protocols import Models
from goldsmith.gold.arrays import dtype_name, is_array
from goldsmith.gold.load import GoldCase
from goldsmith.gold.precision import last_place
from goldsmith.gold.rulers import Ruler
from goldsmith.process.messages import KeptCase
from goldsmith.pytest_support.outputs_by_name import compare_output
from goldsmith.runs.conditions import OWN
from goldsmith.runs.setting import PLAIN_SETTING, Setting, setting_of
from goldsmith.weights.gold_inputs import GoldInputs
from goldsmith.weights.rules import Adapter
from goldsmith.weights.transplant import CannotPlace
from goldsmith.weights.values import first_of

_TF32 = "TF32 in matrix products"
"""As an environment calls it where it is allowed."""


def check_call(
    target: Callable[..., Any],
    case: GoldCase,
    adapter: Adapter,
    *,
    train: bool | None,
    ruler_in: Callable[[Setting], Ruler | None] = lambda setting: None,
) -> Comparison:
    """Compare what `target` makes of gold's inputs with gold's output, with weights in each layout the adapter knows,
    by the ruler of the setting that a model is in."""
    _refuse_other_forms(case)
    target = adopted(target)
    setting = _setting_of(target, case)
    ruler = ruler_in(setting)
    entry = case.entry
    layouts = ["", *adapter.layouts] if entry.models and is_module(target) else [""]
    found: list[Comparison] = []
    misplaced: CannotPlace | None = None
    for layout in layouts:
        try:
            actual = _call(target, case, adapter, layout, train, setting.dtype)
        except CannotPlace as problem:
            misplaced = misplaced or problem
            continue
        found.append(compare_output(_main_output(actual, case), case, entry.outputs[0], ruler))
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


def _setting_of(target: Any, case: GoldCase) -> Setting:
    """Return where a model computes, and in what: its weights' dtype where that is coarser than gold's."""
    library = library_of(target)
    if library is None or not case.entry.models:
        return PLAIN_SETTING
    device = str(getattr(library.models.device(target), "type", PLAIN_SETTING.device))
    eps, own = _coarsest(library.models.parameters(target).values())
    golds, _ = _coarsest(item for weights in case.initial_weights.values() for item in weights.values())
    settings = {} if device == PLAIN_SETTING.device else library.process.environment(device).get("settings", {})
    return setting_of(device, dtype=own if eps > golds > 0 else OWN, tf32=_TF32 in settings)


def _coarsest(arrays: Iterable[Any]) -> tuple[float, str]:
    """Return the unit in the last place of the coarsest floating dtype among arrays, and its name; 0 of none."""
    names = {dtype_name(item) for item in arrays if is_array(item)}
    return max(((last_place(name) or 0.0, name) for name in names), default=(0.0, ""))


def _call(target: Any, case: GoldCase, adapter: Adapter, layout: str, train: bool | None, dtype: str) -> Any:
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
    inputs = map_tree(lambda leaf: _received(leaf, library, models.device(target), dtype), inputs)
    mode = bool(entry.training) if train is None else train
    with _in_mode(models, target, mode) as model:
        rule = adapter.calls.get(type(model).__name__)
        return model(*inputs) if rule is None else rule(getattr(model, models.CALLED), *inputs)


def _received(leaf: Any, library: Framework, device: Any, dtype: str) -> Any:
    """Return an array as one of a model's library, on its device and in its dtype; anything else as it is."""
    if not is_array(leaf):
        return leaf
    if framework_of(leaf) is not library:
        leaf = library.arrays.received(arrays_of(leaf).to_numpy(leaf))
    return leaf if device is None else library.arrays.moved(leaf, device, "" if dtype == OWN else dtype)


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
