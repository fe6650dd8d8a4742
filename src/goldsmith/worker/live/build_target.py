"""Import and build one side of `goldsmith parity`, in the process that will run it."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from goldsmith.process.messages import Failure
from goldsmith.process.sides import SideJob
from goldsmith.recipe.seeding import seed_everything
from goldsmith.weights.models import is_module
from goldsmith.worker.live.run_record import failure_of

CANDIDATE, REFERENCE = "candidate", "reference"


class CannotBuild(Exception):
    """A side that cannot be built. `usage` says that what was asked for makes no sense, `wanted` what would."""

    def __init__(
        self, problem: str, *, usage: bool = False, wanted: str = "", hint: str = "", failure: Failure | None = None
    ) -> None:
        super().__init__(problem)
        self.usage, self.wanted, self.hint, self.failure = usage, wanted, hint, failure


@dataclass(frozen=True)
class Built:
    """A model or function, what draws its inputs, and what else a setup file says."""

    target: Callable[..., Any]
    inputs: Any = None
    loss: Callable[[Any], Any] | None = None
    optimizer: Callable[[Any], Any] | None = None


def build(job: SideJob) -> Built:
    """Import and build what a job names."""
    seed_everything(job.seed, threads=job.threads)
    if job.setup:
        return _from_setup(job)
    file, _, name = job.target.rpartition(":")
    if not file or not name:
        raise CannotBuild("it names no model", usage=True, wanted=f"{job.target or 'file.py'}:Name")
    module = _imported(job, file)
    found = _attribute(module, name, job.target)
    target = _made(found, job, vars(module))
    inputs = [_drawn(text, vars(module)) for text in job.inputs]
    return Built(_placed(target, job), inputs)


def _from_setup(job: SideJob) -> Built:
    module = _imported(job, job.setup)
    functions = {name: getattr(module, name, None) for name in (job.role, "inputs", "loss", "optimizer")}
    for name in (job.role, "inputs"):
        if not callable(functions[name]):
            raise CannotBuild(f"it defines no {name}()", usage=True, wanted=f"it a function {name}()")
    make: Any = functions[job.role]
    target = _guarded(make, f"{job.role}() fails")
    return Built(_placed(target, job), functions["inputs"], functions["loss"], functions["optimizer"])


def _imported(job: SideJob, name: str) -> ModuleType:
    """Import a file, as part of the package that it lies in, or a module by its name from the current folder."""
    if not name.endswith(".py"):
        sys.path.insert(0, job.root)
        return _import(name, job)
    path = Path(job.root, name).resolve()
    if not path.is_file():
        raise CannotBuild("there is no such file", usage=True)
    folder, parts = path.parent, [path.stem]
    while (folder / "__init__.py").is_file():
        parts.insert(0, folder.name)
        folder = folder.parent
    sys.path.insert(0, str(folder))
    return _import(".".join(part for part in parts if part != "__init__"), job)


def _import(name: str, job: SideJob) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as missing:
        if missing.name is not None and name.startswith(missing.name):
            raise CannotBuild(f"there is no module {missing.name}", usage=True) from None
        hint = f", with {missing.name} installed" if missing.name else ""
        problem = f"cannot be imported: {missing.name} is not installed"
        raise CannotBuild(problem, hint=hint, failure=failure_of(missing)) from None
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        failure = failure_of(error)
        raise CannotBuild(f"cannot be imported: {failure.message}", failure=failure) from None


def _attribute(module: ModuleType, name: str, target: str) -> Any:
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            near = difflib.get_close_matches(part, [item for item in dir(found) if item[0] != "_"], n=3, cutoff=0.4)
            known = f"one that is there, such as {', '.join(near)}" if near else "a name that it defines"
            raise CannotBuild(f"there is no {part} in it", usage=True, wanted=known)
        found = getattr(found, part)
    return found


def _made(found: Any, job: SideJob, names: dict[str, Any]) -> Any:
    """Build a class, or call a function that builds a model where `--init` gives its arguments."""
    if not (inspect.isclass(found) or job.init):
        if not callable(found):
            raise CannotBuild(f"it is {type(found).__name__}, which cannot be called", usage=True)
        return found
    args, kwargs = _evaluated(f"_arguments({job.init})", names | {"_arguments": _arguments}, "--init", job.init)
    return _guarded(lambda: found(*args, **kwargs), "cannot be built")


def _arguments(*args: Any, **kwargs: Any) -> Any:
    return args, kwargs


def _drawn(text: str, names: dict[str, Any]) -> Callable[[], Any]:
    """Return a function that draws one set of inputs: several values with commas between them are arguments."""
    return lambda: _evaluated(text, names, "--input", text)


def _evaluated(text: str, names: dict[str, Any], option: str, shown: str) -> Any:
    import numpy as np

    known: dict[str, Any] = {"np": np, "numpy": np}
    if importlib.util.find_spec("torch") is not None:
        import torch

        known["torch"] = torch
    try:
        code = compile(text.strip(), option, "eval")
    except SyntaxError as error:
        raise CannotBuild(f"{option} {shown!r} is not an expression ({error.msg})", usage=True, wanted="one") from None
    return _guarded(lambda: eval(code, {**names, **known}), f"{option} {shown!r} fails")


def _guarded(make: Callable[[], Any], what: str) -> Any:
    try:
        return make()
    except CannotBuild:
        raise
    except Exception as error:
        failure = failure_of(error)
        raise CannotBuild(f"{what}: {failure.message}", failure=failure) from None


def _placed(target: Any, job: SideJob) -> Any:
    """Move a model to its device."""
    if not callable(target) or isinstance(target, type):
        raise CannotBuild(
            f"what is built is {type(target).__name__}, which cannot be called", usage=True, wanted="a model"
        )
    if not is_module(target) or job.device == "cpu":
        return target
    return _guarded(lambda: target.to(job.device), f"cannot be moved to {job.device}")
