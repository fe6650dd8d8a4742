"""A first recipe for a solution that has none: find its models, guess arguments and inputs, try them.

Runs in the child, where the solution may be imported. Only what was tried and worked is proposed.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import itertools
import textwrap
import time
from dataclasses import dataclass, is_dataclass
from pathlib import Path
from typing import Any

from goldsmith.recording.guesses import as_source, guess_inputs, guess_settings
from goldsmith.recording.protocol import Job, Proposal
from goldsmith.recording.values import first_of
from goldsmith.syntax import syntax_tree

_MOST_TRIALS = 3000
_MOST_SECONDS = 20.0


@dataclass(frozen=True)
class _Candidate:
    module: str
    name: str
    factory: Any


@dataclass(frozen=True)
class _Trial:
    """What worked. `settings` and `inputs` are source text by name; `extras` counts outputs beside the first."""

    candidate: _Candidate
    settings: dict[str, str]
    imports: tuple[str, ...]
    inputs: dict[str, str]
    output_shape: tuple[int, ...]
    extras: int


def propose(job: Job) -> Proposal:
    """The first model, outermost first, that could be built and called; with what failed before it."""
    tried: list[str] = []
    for candidate in _candidates(job):
        try:
            trial = _try(candidate, trains=job.kind != "outputs")
        except Exception as error:
            text = str(error).strip().splitlines()
            tried.append(f"{candidate.name}: {text[0] if text else type(error).__name__}")
            continue
        return Proposal(_source(trial, job.kind, Path(job.folder).name), candidate.name, tuple(tried))
    return Proposal(tried=tuple(tried))


def _candidates(job: Job) -> list[_Candidate]:
    """The solution's own nn.Module classes: those no other class uses first, later ones before earlier."""
    import torch

    found: list[_Candidate] = []
    used: set[str] = set()
    for name in job.modules:
        module = importlib.import_module(name)
        for key, value in vars(module).items():
            is_model = inspect.isclass(value) and issubclass(value, torch.nn.Module)
            if is_model and value.__module__ == module.__name__ and not key.startswith("_"):
                found.append(_Candidate(name, key, value))
        used |= _names_used_by_classes(Path(job.folder, f"{name}.py"))
    found.reverse()
    return sorted(found, key=lambda item: item.name in used)


def _names_used_by_classes(file: Path) -> set[str]:
    used = set()
    for node in syntax_tree(file.read_bytes()).body:
        if isinstance(node, ast.ClassDef):
            names = {item.id for item in ast.walk(node) if isinstance(item, ast.Name)}
            used |= names - {node.name}
    return used


def _try(candidate: _Candidate, trains: bool) -> _Trial:
    import torch

    settings = guess_settings(candidate.factory)
    model = candidate.factory(**settings)
    model.eval()
    failure: Exception | None = None
    deadline = time.monotonic() + _MOST_SECONDS
    for inputs in itertools.islice(guess_inputs(candidate.factory, model, settings), _MOST_TRIALS):
        torch.manual_seed(0)
        try:
            result = model(*(eval(source, {"torch": torch}) for source in inputs.values()))
            output = first_of(result)
            if not isinstance(output, torch.Tensor):
                raise TypeError(f"its forward returns {type(output).__name__}, not a tensor")
            if trains and not output.requires_grad:
                raise TypeError("its output has no gradient to train with")
        except Exception as error:
            failure = failure or error
            if time.monotonic() > deadline:
                break
            continue
        return _Trial(
            candidate,
            settings={name: as_source(value) for name, value in settings.items()},
            imports=tuple(type(value).__name__ for value in settings.values() if is_dataclass(value)),
            inputs=inputs,
            output_shape=tuple(output.shape),
            extras=len(result) - 1 if isinstance(result, tuple | list | dict) else 0,
        )
    raise failure or TypeError("its forward takes no input that could be guessed")


def _source(trial: _Trial, kind: str, assignment: str) -> str:
    name = trial.candidate.name
    settings = ", ".join(f"{key}={value}" for key, value in trial.settings.items())
    names = ", ".join(sorted({name, *trial.imports}))
    extras = f"  # the first of its {trial.extras + 1} outputs" if trial.extras else ""
    target = "target" if "target" not in trial.inputs else "goal"
    draws = "\n".join(f'    {key} = case.input("{key}", lambda: {source})' for key, source in trial.inputs.items())
    arguments = ", ".join(trial.inputs)
    parts = [
        f'"""Gold for {assignment}: what `goldsmith generate` records on the solution. A start; make it yours."""',
        f"import torch\n\nimport goldsmith as gs\nfrom {trial.candidate.module} import {names}",
        f"CONFIG = dict({settings})",
    ]
    if kind in ("checkpoint", "both"):
        parts[-1] += "\nTRAINING = dict(epochs=20, lr=1e-2, optimizer='SGD')"
    if kind in ("outputs", "both"):
        parts.append(_OUTPUT.format(name=name, draws=draws, arguments=arguments, extras=extras))
    if kind in ("checkpoint", "both"):
        shape = trial.output_shape
        parts.append(_CHECKPOINT.format(name=name, draws=draws, arguments=arguments, shape=shape, target=target))
    parts.append('if __name__ == "__main__":\n    gs.main()')
    head, body = parts[:3], parts[3:]
    return "\n\n".join(head) + "\n\n\n" + "\n\n\n".join(part.strip("\n") for part in body) + "\n"


_OUTPUT = textwrap.dedent(
    '''
    @gs.case
    def gold_output(case):
        """What {name} returns."""
        model = case.model({name}, **CONFIG)
    {draws}
        case.record("output", case.first(model({arguments}))){extras}
    '''
)

_CHECKPOINT = textwrap.dedent(
    '''
    @gs.checkpoint
    def gold_checkpoint(case):
        """{name} after training towards a fixed target; in eval mode, since dropout cannot be retraced."""
        model = case.model({name}, **CONFIG)
    {draws}
        {target} = case.input("{target}", lambda: torch.randn{shape})
        optimizer = torch.optim.SGD(model.parameters(), lr=TRAINING["lr"])
        losses = []
        for _ in range(TRAINING["epochs"]):
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(case.first(model({arguments})), {target})
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        case.record("losses", torch.tensor(losses, dtype=torch.float32))
        case.checkpoint(model, epoch=TRAINING["epochs"], loss=losses[-1], training_config=TRAINING)
    '''
)
