"""Run a recipe of the networks course by the plainest means, in float64 and from any seed: no gold and no judge.

This is how the truth about a submission is checked without what is judged by it: right ones give what the solution
gives on inputs that gold has never seen, wrong ones do not.
"""

from __future__ import annotations

import importlib.util
import sys
import types
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch

Records = dict[str, Any]
Weights = dict[str, torch.Tensor]


class PlainCase:
    """Stands in for a recipe's `case`: draws each input from a seed of its own, and gives each model the weights that
    the solution's had."""

    def __init__(self, seed: int, weights: list[Weights], first: bool) -> None:
        self.seed, self.weights, self.first = seed, weights, first
        self.built = 0
        self.records: Records = {}

    def input(self, name: str, make: Any) -> Any:
        if not callable(make):
            return make
        self._begin(name)
        return make()

    def model(
        self, factory: Callable[..., Any], *args: Any, weights: str = "", train: bool = False, **more: Any
    ) -> Any:
        self._begin(f"model {self.built}")
        model = factory(*args, **more)
        held = _held(model)
        if self.first:
            with torch.no_grad():
                for value in held.values():
                    value.add_(torch.randn_like(value) * 0.3 if value.is_floating_point() and weights else 0)
            self.weights.append({name: value.clone() for name, value in held.items()})
        else:
            _place(held, self.weights[self.built])
        self.built += 1
        return model.train(train) if isinstance(model, torch.nn.Module) else model

    def initial(self, factory: Callable[..., Any], *args: Any) -> None:
        """Record what is the same from two seeds: the rest is drawn."""
        drawn = []
        for at in (1, 2):
            torch.manual_seed(at)
            drawn.append(_held(factory(*args)))
        self.records |= {name: value for name, value in drawn[0].items() if torch.equal(value, drawn[1][name])}

    def record(self, name: str, value: Any, shape: Any = None) -> None:
        self.records |= _flat(name, value)

    def record_gradients(self, model: Any) -> None:
        found = [parameter.grad for parameter in model.parameters()]
        self.records["gradients"] = _by_size([torch.zeros(0) if grad is None else grad for grad in found])

    def record_weights(self, model: Any, name: str = "weights") -> None:
        self.records[name] = _by_size(list(_held(model).values()))

    def _begin(self, name: str) -> None:
        seed = zlib.crc32(f"{self.seed} {name}".encode())
        torch.manual_seed(seed)
        np.random.seed(seed)


def replay(
    assignment: Path, submission: Path, seed: int, weights: dict[str, list[Weights]]
) -> dict[str, Records | str]:
    """Return what each case of `assignment`'s recipe records on the code in `submission`, or what it raises; `weights`
    are filled in by the first call, and taken from there by others."""
    first = not weights
    found: dict[str, Records | str] = {}
    cases: dict[str, Callable[[PlainCase], None]] = {}

    def keep(function: Callable[[PlainCase], None]) -> Callable[[PlainCase], None]:
        cases[function.__name__] = function
        return function

    with _modules(submission, keep):
        _load("recipe_of_corpus", assignment / "generate_fixtures.py")
        with_gradients = torch.is_grad_enabled()  # unless it is switched off where the submission is imported
        for name, function in cases.items():
            torch.set_grad_enabled(with_gradients)
            case = PlainCase(seed, weights.setdefault(name, []), first)
            try:
                function(case)
            except Exception as error:  # whatever a submission raises
                found[name] = f"{type(error).__name__}: {error}"
            else:
                found[name] = case.records
    return found


def same(one: Records | str, two: Records | str) -> bool:
    """Whether two runs of a case gave the same, to the rounding of float64 (float32 where a recipe asks for it)."""
    if isinstance(one, str) or isinstance(two, str) or one.keys() != two.keys():
        return False
    return all(_close(one[name], two[name]) for name in one)


def _close(one: torch.Tensor, two: torch.Tensor) -> bool:
    if one.shape != two.shape:
        return False
    coarse = torch.float32 in (one.dtype, two.dtype)
    return torch.allclose(one.double(), two.double(), rtol=1e-5 if coarse else 1e-8, atol=1e-6 if coarse else 1e-9)


@contextmanager
def _modules(submission: Path, keep: Callable[..., Any]) -> Iterator[None]:
    """Let recipes import the submission, and a `goldsmith` that only collects cases, in float64. What the submission
    changes for everybody is put back."""
    recipes = types.ModuleType("goldsmith")
    recipes.case = keep  # type: ignore[attr-defined]
    before, dtype, threads = dict(sys.modules), torch.get_default_dtype(), torch.get_num_threads()
    everybodys = {module: dict(vars(module)) for module in (torch, torch.nn, torch.nn.functional, np)}
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)  # with two workers, more take ten times as long on arrays of this size
    sys.modules["goldsmith"] = recipes
    try:
        for file in submission.glob("*.py"):
            _load(file.stem, file)
        yield
    finally:
        for module, content in everybodys.items():
            vars(module).update(content)
        torch.set_grad_enabled(True)
        torch.set_default_dtype(dtype)
        torch.set_num_threads(threads)
        for name in sys.modules.keys() - before.keys():
            if not name.startswith(("torch", "numpy")):
                del sys.modules[name]
        sys.modules["goldsmith"] = before["goldsmith"]


def _load(name: str, file: Path) -> None:
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules[name])


def _held(model: Any) -> Weights:
    """Every array of a model, as tensors that share its memory."""
    if isinstance(model, torch.nn.Module):
        return {name: value.detach() for name, value in model.state_dict().items()}
    if hasattr(model, "layers"):
        return {f"{at}.{name}": it for at, layer in enumerate(model.layers) for name, it in _held(layer).items()}
    return {name: torch.from_numpy(value) for name, value in vars(model).items() if isinstance(value, np.ndarray)}


def _place(held: Weights, wanted: Weights) -> None:
    """Copy weights by name, else by the end of the name and the shape, else by the shape, in order."""
    left = dict(held)
    for name, value in wanted.items():
        same_shape = [it for it in left if left[it].shape == value.shape]
        end = name.rpartition(".")[2]
        likely = [it for it in same_shape if it == name] or [it for it in same_shape if it.endswith(end)]
        chosen = (likely or same_shape)[0]
        left.pop(chosen).copy_(value)


def _flat(name: str, value: Any) -> Records:
    if isinstance(value, dict):
        return {key: it for at, item in value.items() for key, it in _flat(f"{name}.{at}", item).items()}
    if isinstance(value, list | tuple):
        return {key: it for at, item in enumerate(value) for key, it in _flat(f"{name}.{at}", item).items()}
    return {name: torch.as_tensor(value).detach().clone()}


def _by_size(tensors: list[torch.Tensor]) -> torch.Tensor:
    """Put tensors in a row, in an order that does not depend on their names: by their number of elements and sum."""
    ordered = sorted(tensors, key=lambda it: (it.numel(), round(float(it.double().sum()), 6)))
    return torch.cat([item.detach().double().flatten() for item in ordered])
