"""Import and build one side of `goldsmith parity`, in the process that will run it."""

from __future__ import annotations

import contextlib
import difflib
import functools
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

from goldsmith.frameworks.devices import NoSuchDevice, check_device
from goldsmith.frameworks.framework import active, adopted, is_module, models_of, registered
from goldsmith.recipe.seeding import seed_everything
from goldsmith.runs.implementation import SideJob, SideProblem
from goldsmith.runs.live.global_changes import GlobalChanges
from goldsmith.runs.live.model_facts import kind_of
from goldsmith.runs.live.run_record import failure_of
from goldsmith.runs.live.version_imports import ImportedFromElsewhere, check_version, enter_tree

_OWN_INPUTS, _OWN_OPTIMIZER = "inputs_candidate", "optimizer_candidate"
_EXTRAS = ("loss", "optimizer", "convert")
_OPTIONAL = (_OWN_INPUTS, _OWN_OPTIMIZER, *_EXTRAS)
_SETUP_FORM = "a file with functions reference(), candidate() and inputs()"
_TARGET_FORMS = "file.py:Name or package.module:Name"


class CannotBuild(Exception):
    """A side that cannot be built."""

    def __init__(self, message: str, **facts: Any) -> None:
        super().__init__(message)
        self.problem = SideProblem(message=message, **facts)


@dataclass(frozen=True)
class Built:
    """A model or function, what draws its inputs, and what else a setup file says."""

    target: Callable[..., Any]
    inputs: Any = None
    loss: Callable[[Any], Any] | None = None
    optimizer: Callable[[Any], Any] | None = None
    convert: Callable[[Any], Any] | None = None
    before: GlobalChanges | None = None
    """What libraries were like before the code of a kernel was imported."""
    notes: tuple[str, ...] = ()


def build(job: SideJob) -> Built:
    """Import and build what a job names."""
    seed_everything(job.seed, threads=job.threads, device=job.device)
    enter_tree(job)
    built = _from_setup(job) if job.setup else _from_target(job)
    try:
        built = replace(built, notes=tuple(check_version(job)))
    except ImportedFromElsewhere as problem:
        raise CannotBuild(str(problem), hint=", with nothing but that version on its path") from None
    if job.convert:
        built = replace(built, convert=_converter(job))
    for framework in active():  # an operation that has no deterministic form is no reason not to run a model
        framework.numerics.tolerate_nondeterminism()
    return built


def _from_target(job: SideJob) -> Built:
    file, _, name = job.target.rpartition(":")
    if not file or not name:
        raise CannotBuild("it names no model", kind="usage", wanted=f"{file or name or 'file.py'}:Name")
    benchmark = _import(job.benchmark, job.root, wanted=_TARGET_FORMS) if job.benchmark else None
    before = _libraries_before(file, job) if job.kernel else None
    is_benchmark = benchmark is not None and job.role == "reference"
    module = (
        benchmark if is_benchmark else _import(file, job.root, wanted=_TARGET_FORMS, is_installed=bool(job.packages))
    )
    assert module is not None
    if before is not None:
        before.found()  # what an import changes is put back by what follows
    found = adopted(_attribute(module, name))
    seed_everything(job.seed, threads=job.threads, device=job.device)
    target = _make(found, job, vars(module), benchmark)
    draw = _draw if job.role == "reference" else _draw_own
    inputs: Any = [draw(text, vars(module)) for text in job.inputs] or None
    if benchmark is not None and job.inputs_from and job.role == "reference":
        make = _guarded(_benchmark_function(benchmark, job, job.inputs_from))
        assert make is not None
        inputs = functools.partial(_as_arguments, make)
    return Built(_place(target, job), inputs, before=before)


def _libraries_before(file: str, job: SideJob) -> GlobalChanges | None:
    """Return what libraries are like before a kernel's code is imported: those that it names are, so that there is
    something to compare with. None where there is none."""
    with contextlib.suppress(OSError):
        text = Path(job.root, file).read_text(encoding="utf-8", errors="replace") if file.endswith(".py") else ""
        for item in registered():
            if item.name in text and importlib.util.find_spec(item.name) is not None:
                importlib.import_module(item.name)
    return GlobalChanges() if active() else None


def _benchmark_function(benchmark: ModuleType, job: SideJob, name: str) -> Callable[[], Any]:
    """Find a function of the file of a benchmark that says what both are built or called with."""
    try:
        found = _attribute(benchmark, name)
    except CannotBuild as problem:
        told = msgspec.structs.replace(problem.problem, subject=job.benchmark)
        raise CannotBuild(**msgspec.structs.asdict(told)) from None
    if not callable(found):
        message = f"its {name} is {kind_of(found)}, not a function"
        raise CannotBuild(message, kind="usage", subject=job.benchmark, wanted=f"a function {name}()")
    function: Callable[[], Any] = found
    return function


def _as_arguments(make: Callable[[], Any]) -> Any:
    """Return what a benchmark draws, a list of positional arguments, as one set of inputs."""
    given = make()
    return tuple(given) if isinstance(given, list) else given


def _benchmark_arguments(benchmark: ModuleType, job: SideJob) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments that a benchmark builds models with: a list of them, named ones, or a pair of both."""
    given = _guard(_benchmark_function(benchmark, job, job.init_from), f"{job.init_from}() fails")
    if isinstance(given, dict):
        return [], given
    items = list(given) if isinstance(given, list | tuple) else [given]
    if len(items) == 2 and isinstance(items[0], list | tuple) and isinstance(items[1], dict):
        return list(items[0]), items[1]
    return items, {}


def _from_setup(job: SideJob) -> Built:
    module = _import(job.setup, job.root, wanted=_SETUP_FORM, subject=f"--with {job.setup}")
    functions = {name: getattr(module, name, None) for name in (job.role, "inputs", *_OPTIONAL)}
    for name, found in functions.items():
        if not callable(found) and not (found is None and name in _OPTIONAL):
            problem = f"it defines no {name}()" if found is None else f"its {name} is {kind_of(found)}, not a function"
            raise CannotBuild(problem, kind="usage", subject=f"--with {job.setup}", wanted=_SETUP_FORM)
    make: Any = functions[job.role]
    target = _guard(make, "fails")

    inputs = _guarded(functions["inputs" if job.role == "reference" else _OWN_INPUTS])
    extras: Any = {name: functions[name] for name in _EXTRAS}
    if job.role == "candidate" and functions[_OWN_OPTIMIZER] is not None:
        extras["optimizer"] = functions[_OWN_OPTIMIZER]
    return Built(_place(target, job), inputs, **extras)


def _converter(job: SideJob) -> Callable[[Any], Any]:
    """Import the function that makes the candidate's state dict of the reference's."""
    subject, wanted = f"--convert {job.convert}", "file.py:name of a function of the reference's state dict"
    file, _, name = job.convert.rpartition(":")
    if not file or not name:
        raise CannotBuild("it names no function", kind="usage", subject=subject, wanted=wanted)
    try:
        found = _attribute(_import(file, job.root, wanted=wanted), name)
    except CannotBuild as problem:
        told = msgspec.structs.replace(problem.problem, subject=subject)
        raise CannotBuild(**msgspec.structs.asdict(told)) from None
    if not callable(found):
        raise CannotBuild(f"it is {kind_of(found)}, not a function", kind="usage", subject=subject, wanted=wanted)
    function: Callable[[Any], Any] = found
    return function


# --- imports ----------------------------------------------------------------------------------------------------------


def _import(name: str, root: str, *, wanted: str, subject: str = "", is_installed: bool = False) -> ModuleType:
    """Import a file, as part of the package that it lies in, or a module by its name: from the current folder, unless
    it is one that `is_installed`."""
    if not name.endswith(".py"):
        sys.path.insert(len(sys.path) if is_installed else 0, root)
        return _guard_import(lambda: importlib.import_module(name), name)
    path = Path(root, name).resolve()
    if not path.is_file():
        what = "it is a folder" if path.is_dir() else "there is no such file"
        raise CannotBuild(what, kind="usage", subject=subject, wanted=wanted)
    folder, parts = path.parent, [path.stem]
    while (folder / "__init__.py").is_file():
        parts.insert(0, folder.name)
        folder = folder.parent
    sys.path.insert(0, str(folder))
    sys.path.append(root)
    if len(parts) > 1:
        full = ".".join(part for part in parts if part != "__init__")
        return _guard_import(lambda: importlib.import_module(full), full)
    return _guard_import(lambda: _load(path), path.stem)


def _load(path: Path) -> ModuleType:
    """Load a file that is in no package, whatever its name: it may be that of a module that is loaded already."""
    name = path.stem if path.stem not in sys.modules else f"{path.stem}_of_parity"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _guard_import(load: Callable[[], ModuleType], name: str) -> ModuleType:
    try:
        return load()
    except ModuleNotFoundError as missing:
        if missing.name is not None and f"{name}.".startswith(f"{missing.name}."):
            raise CannotBuild(f"there is no module {missing.name}", kind="usage", wanted=_TARGET_FORMS) from None
        problem = f"cannot be imported: {missing.name} is not installed"
        hint = f", with {missing.name} installed" if missing.name else ""
        raise CannotBuild(problem, hint=hint, failure=failure_of(missing)) from None
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        failure = failure_of(error)
        raise CannotBuild(f"cannot be imported: {failure.message}", failure=failure) from None


def _attribute(module: ModuleType, name: str) -> Any:
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            there = [item for item, value in vars(found).items() if item[0] != "_" and _is_own(value, module)]
            near = difflib.get_close_matches(part, there, n=3, cutoff=0.4) or there[:5]
            wanted = f"a name that is there, such as {', '.join(near)}" if near else "a name that it defines"
            raise CannotBuild(f"there is no {part} in it", kind="usage", wanted=wanted)
        found = getattr(found, part)
    return found


def _is_own(value: Any, module: ModuleType) -> bool:
    """Say whether something is what a user would compare: a function or class of this module, or a model."""
    return callable(value) and getattr(value, "__module__", module.__name__) == module.__name__


# --- building ---------------------------------------------------------------------------------------------------------


def _make(found: Any, job: SideJob, names: Mapping[str, Any], benchmark: ModuleType | None = None) -> Any:
    """Build a class, or call a function that builds a model where `--init` gives its arguments."""
    if is_module(found) and job.init is not None:
        raise CannotBuild("it is a model that is built already", kind="usage", wanted="its class, or leave --init out")
    if not callable(found):
        raise CannotBuild(f"it is {kind_of(found)}, which cannot be called", kind="usage", wanted="a class or function")
    if not inspect.isclass(found) and job.init is None:
        return found
    if benchmark is not None and job.init_from and job.init is None:
        args, kwargs = _benchmark_arguments(benchmark, job)
        seed_everything(job.seed, threads=job.threads, device=job.device)  # both draw the same weights
        return _guard(lambda: found(*args, **kwargs), f"cannot be built with {job.init_from}()")
    text = job.init or ""
    args, kwargs = _evaluate(f"_arguments({text})", {**names, "_arguments": _arguments}, "--init", text)
    failing = "cannot be built with --init" if text else "cannot be built without --init"
    return _guard(lambda: found(*args, **kwargs), failing)


def _arguments(*args: Any, **kwargs: Any) -> Any:
    return args, kwargs


def _draw(text: str, names: Mapping[str, Any]) -> Callable[[], Any]:
    """Return a function that draws one set of inputs: several values with commas between them are arguments."""
    return lambda: _evaluate(text, names, "--input", text)


def _draw_own(text: str, names: Mapping[str, Any]) -> Callable[..., Any]:
    """Return a function that makes a set of inputs of the reference's, which the expression knows as `inputs`."""

    def make(*args: Any, **kwargs: Any) -> Any:
        given = kwargs or (args[0] if len(args) == 1 else args)
        return _evaluate(text, {**names, "inputs": given}, "--input-candidate", text)

    return make


def _evaluate(text: str, names: Mapping[str, Any], option: str, shown: str) -> Any:
    """Evaluate what an option says. Torch is imported only for an expression that names it."""
    try:
        code = compile(text.strip(), option, "eval")
    except (SyntaxError, ValueError) as error:
        reason = error.msg if isinstance(error, SyntaxError) else str(error)
        wanted = "arguments, such as dim=64, heads=4" if option == "--init" else "an expression of Python"
        raise CannotBuild(f"{shown!r} cannot be read ({reason})", kind="usage", subject=option, wanted=wanted) from None
    import numpy as np

    known: dict[str, Any] = {**names, "np": np, "numpy": np}
    for item in registered():
        if item.name in text and importlib.util.find_spec(item.name) is not None:
            known[item.name] = importlib.import_module(item.name)
    try:
        return eval(code, known)
    except Exception as error:
        known_there = "torch, np and what is in REF's file"
        if option == "--input-candidate":
            known_there = "torch, np, what is in TARGET's file, and REF's own as inputs"
        wanted = f"an expression that runs where the model is imported; it knows {known_there}"
        message = f"{shown!r} fails with {failure_of(error).message}"
        raise CannotBuild(message, kind="usage", subject=option, wanted=wanted) from None


def _guarded(make: Callable[..., Any] | None) -> Callable[..., Any] | None:
    """Return a function that says so where the user's fails, with the same parameters."""
    if make is None:
        return None

    @functools.wraps(make)
    def made(*args: Any, **kwargs: Any) -> Any:
        return _guard(lambda: make(*args, **kwargs), f"{make.__name__}() fails")

    return made


def _guard(make: Callable[[], Any], what: str) -> Any:
    try:
        return make()
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        failure = failure_of(error)
        raise CannotBuild(f"{what}: {failure.message}", failure=failure) from None


def _place(target: Any, job: SideJob) -> Any:
    """Return a model on its device."""
    target = adopted(target)
    if not callable(target) or isinstance(target, type):
        wanted = "what returns a model or a function"
        raise CannotBuild(f"what it builds is {kind_of(target)}, which cannot be called", kind="usage", wanted=wanted)
    try:
        check_device(job.device)
    except NoSuchDevice as missing:
        raise CannotBuild("there is no such device", kind="device", available=tuple(str(missing).split(", "))) from None
    models = models_of(target)
    if models is None or job.device == "cpu":
        return target
    return _guard(lambda: models.place(target, job.device), f"cannot be moved to {job.device}")
