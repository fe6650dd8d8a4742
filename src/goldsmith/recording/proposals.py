"""A first recipe for a solution that has none: find its models, guess arguments and inputs, try them.

Runs in the child, where the solution may be imported. Only what was tried and worked is proposed.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import itertools
import re
import textwrap
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goldsmith.recording.protocol import Job, Proposal
from goldsmith.recording.values import first_of

_BATCH, _LENGTH = 3, 11  # sizes that coincide with no other: a coincidence can hide a bug
_MOST_TRIALS = 3000
_MOST_SECONDS = 20.0

_GUESSES: tuple[tuple[str, Any], ...] = (
    (r"drop", 0.0),
    (r"vocab", 256),
    (r"heads?$|^n_?heads?", 4),
    (r"layers?$|depth|blocks?$", 2),
    (r"max.*len|seq.*len|context|block_size|max_pos", 32),
    (r"(ff|feed|hidden|mlp|inner|inter).*(dim|size|width|features)?$", 128),
    (r"channels?$|^in_ch|chans?$", 3),
    (r"(image|img)_?size|resolution", 32),
    (r"patch", 8),
    (r"classes", 10),
    (r"chunk|horizon", 8),
    (r"action|act_", 5),
    (r"eps", 1e-5),
    (r"dim|width|model|embed|size|features", 64),
)


@dataclass(frozen=True)
class _Candidate:
    module: str
    name: str
    factory: Any


@dataclass(frozen=True)
class _Trial:
    candidate: _Candidate
    settings: dict[str, Any]
    inputs: dict[str, str]
    output_shape: tuple[int, ...]


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
    for node in ast.parse(file.read_bytes()).body:
        if isinstance(node, ast.ClassDef):
            names = {item.id for item in ast.walk(node) if isinstance(item, ast.Name)}
            used |= names - {node.name}
    return used


def _try(candidate: _Candidate, trains: bool) -> _Trial:
    import torch

    settings = _settings(candidate.factory)
    model = candidate.factory(**settings)
    model.eval()
    failure: Exception | None = None
    deadline = time.monotonic() + _MOST_SECONDS
    for inputs in itertools.islice(_inputs(candidate.factory, settings), _MOST_TRIALS):
        torch.manual_seed(0)
        try:
            values = [eval(source, {"torch": torch}) for source in inputs.values()]
            output = first_of(model(*values))
            if not isinstance(output, torch.Tensor):
                raise TypeError(f"its forward returns {type(output).__name__}, not a tensor")
            if trains and not output.requires_grad:
                raise TypeError("its output has no gradient to train with")
            return _Trial(candidate, settings, inputs, tuple(output.shape))
        except Exception as error:
            failure = failure or error
            if time.monotonic() > deadline:
                break
    raise failure or TypeError("its forward takes no input that could be guessed")


def _settings(factory: Any) -> dict[str, Any]:
    """A value for every constructor argument that needs one, and no dropout."""
    settings: dict[str, Any] = {}
    for name, parameter in inspect.signature(factory).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if parameter.default is parameter.empty:
            settings[name] = _guess(name, str(parameter.annotation))
        elif "drop" in name and parameter.default:
            settings[name] = 0.0
    return settings


def _guess(name: str, annotation: str) -> Any:
    if "bool" in annotation:
        return False
    for pattern, value in _GUESSES:
        if re.search(pattern, name.lower()):
            return value
    return 0.1 if "float" in annotation else 16


def _inputs(factory: Any, settings: dict[str, Any]) -> Iterator[dict[str, str]]:
    """Sets of inputs for `forward`, as source text, the likeliest first."""
    parameters = list(inspect.signature(factory.forward).parameters.items())[1:]
    required = [
        name
        for name, parameter in parameters
        if parameter.default is parameter.empty
        and parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    if not required:
        return
    for choice in itertools.product(*(_input_sources(name, settings) for name in required)):
        yield dict(zip(required, choice, strict=True))


def _input_sources(name: str, settings: dict[str, Any]) -> list[str]:
    sizes = _by_likelihood(settings)
    vocabulary = next((value for key, value in settings.items() if "vocab" in key), 16)
    tokens = f"torch.randint(0, {vocabulary}, ({_BATCH}, {_LENGTH}))"
    side = next((value for key, value in settings.items() if re.search("(image|img)_?size|resolution", key)), 32)
    channels = next((value for key, value in settings.items() if "chan" in key), 3)
    images = f"torch.randn({_BATCH}, {channels}, {side}, {side})"
    sequences = [f"torch.randn({_BATCH}, {_LENGTH}, {size})" for size in sizes]
    vectors = [f"torch.randn({_BATCH}, {size})" for size in sizes]
    grids = [f"torch.randn({_BATCH}, {one}, {two})" for one, two in itertools.permutations(sizes, 2)]
    own = [f"torch.randn({_BATCH}, {size})" for key, size in settings.items() if name.startswith(key.partition("_")[0])]
    if re.search(r"token|ids?$|^idx|indices|target|label", name):
        return [tokens]
    if re.search(r"image|img|pixel|frame", name):
        return [images, *sequences]
    if re.fullmatch(r"t|time|timesteps?|tau", name):
        return [f"torch.rand({_BATCH})", f"torch.rand({_BATCH}, 1)"]
    return list(dict.fromkeys([*own, *sequences, *vectors, tokens, images, *grids]))


def _by_likelihood(settings: dict[str, Any]) -> list[int]:
    """Widths an input may have, those that are called so first."""
    sizes = {key: value for key, value in settings.items() if type(value) is int}
    named = [value for key, value in sizes.items() if re.search(r"^in_|dim|width|d_model|embed|features", key)]
    return list(dict.fromkeys([*named, *sizes.values(), 64]))


def _source(trial: _Trial, kind: str, assignment: str) -> str:
    name = trial.candidate.name
    settings = ", ".join(f"{key}={value!r}" for key, value in trial.settings.items())
    draws = "\n".join(f'    {key} = case.input("{key}", lambda: {source})' for key, source in trial.inputs.items())
    arguments = ", ".join(trial.inputs)
    parts = [
        f'"""Gold for {assignment}: what `goldsmith generate` records on the solution. A start; make it yours."""',
        f"import torch\n\nimport goldsmith as gs\nfrom {trial.candidate.module} import {name}",
        f"CONFIG = dict({settings})",
    ]
    if kind in ("checkpoint", "both"):
        parts[-1] += "\nTRAINING = dict(epochs=20, lr=1e-2, optimizer='SGD')"
    if kind in ("outputs", "both"):
        parts.append(_OUTPUT.format(name=name, draws=draws, arguments=arguments))
    if kind in ("checkpoint", "both"):
        parts.append(_CHECKPOINT.format(name=name, draws=draws, arguments=arguments, shape=trial.output_shape))
    parts.append('if __name__ == "__main__":\n    gs.main()')
    head, body = parts[:3], parts[3:]
    return "\n\n".join(head) + "\n\n\n" + "\n\n\n".join(part.strip("\n") for part in body) + "\n"


_OUTPUT = textwrap.dedent(
    '''
    @gs.case
    def gold_output(case):
        """Reference output of {name} for fidelity comparison."""
        model = case.model({name}, **CONFIG)
    {draws}
        case.record("output", case.first(model({arguments})))
    '''
)

_CHECKPOINT = textwrap.dedent(
    '''
    @gs.checkpoint
    def gold_checkpoint(case):
        """{name} after training towards a fixed target."""
        model = case.model({name}, train=True, **CONFIG)
    {draws}
        target = case.input("target", lambda: torch.randn{shape})
        optimizer = torch.optim.SGD(model.parameters(), lr=TRAINING["lr"])
        losses = []
        for _ in range(TRAINING["epochs"]):
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(case.first(model({arguments})), target)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        case.record("losses", torch.tensor(losses))
        case.checkpoint(model, epoch=TRAINING["epochs"], loss=losses[-1], training_config=TRAINING)
    '''
)
