"""The process that runs a recipe in its workspace: `python -P -m goldsmith.worker.run_job JOB`.

It writes `result.json` only when it finishes by itself, so that a missing result is never mistaken for a finished run.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

from goldsmith.errors.recipe import BadPoints, RecipeMisuse
from goldsmith.errors.sandbox import CannotConfine
from goldsmith.foundation.platforms import IS_LINUX
from goldsmith.foundation.wording import in_words
from goldsmith.frameworks.devices import NoSuchDevice, check_device, limit_memory
from goldsmith.frameworks.framework import registered
from goldsmith.gold.facts import CaseFacts
from goldsmith.gold.files import SUFFIXES, read_back
from goldsmith.instruments.file_access import Reads
from goldsmith.instruments.forbidden_calls import Sightings
from goldsmith.instruments.own_calls import OwnCode
from goldsmith.instruments.own_files import NotRead, OwnFiles
from goldsmith.process.messages import (
    EVENTS,
    NO_RESULT,
    NOT_CONFINED,
    RESULT,
    AnyJob,
    BuildJob,
    Event,
    Job,
    ProposeJob,
    RecordJob,
    ReplayJob,
    Result,
    TestsJob,
)
from goldsmith.process.parent_watch import end_with_parent
from goldsmith.process.worker_channel import announce_answer
from goldsmith.recipe import decorators as registry
from goldsmith.recipe import imports
from goldsmith.recipe.in_place_imports import install_in_place
from goldsmith.recipe.seeding import seed_process
from goldsmith.runs.run import Failure, FailureKind
from goldsmith.sandbox.cgroups import wait_until_in
from goldsmith.sandbox.confinement import confine
from goldsmith.sandbox.limits import CONTEXT_BYTES, Limits, limit
from goldsmith.source_code.points import recipe_points
from goldsmith.worker import corrected_imports
from goldsmith.worker import run_directly as entry
from goldsmith.worker import stub_packages as stand_ins
from goldsmith.worker.build_models import BuildSession
from goldsmith.worker.failure_reasons import frames_of
from goldsmith.worker.imported_code import implementation_of
from goldsmith.worker.record_session import Session
from goldsmith.worker.replay_session import ReplaySession

_PARENT_GONE = 70
"""The exit code of a child whose parent has ended: EX_SOFTWARE. Nothing reads it."""


def run(job: Job) -> Result:
    """Run a job; return its result with the files of the course that were read for it."""
    reads = Reads(Path(job.root), NotRead(job)) if job.search_path else Reads(Path(job.root))
    reads.listen()
    sightings = Sightings(job.forbidden if isinstance(job, ReplayJob) else (), job.folder, job.recipe)
    sightings.watch()
    own_code = _own_code(job)
    result = _run(job, own_code)
    found = implementation_of(job, reads, own_code) if job.search_path else None
    return msgspec.structs.replace(result, reads=reads.paths(), forbidden=sightings.found(), implementation=found)


def _own_code(job: Job) -> OwnCode:
    """Return the functions whose calls are traced: what students write, or, where nothing says what that is, all that a
    first recording calls."""
    written = frozenset(name.partition(".")[2] for name in job.written)
    every = job.search_path and isinstance(job, RecordJob) and not job.kept
    return OwnCode(OwnFiles.of(job), None if every else written)


def _install_imports(job: Job) -> None:
    if job.search_path:
        install_in_place(job)
        return
    root, folder = Path(job.root), Path(job.folder)
    imports.install(root, folder, tolerant=Path(job.recipe) if isinstance(job, ReplayJob) and not job.trials else None)
    imports.announce_distribution(folder, Path(job.scratch))
    imports.prepare_spawned_processes(imports.install, root, folder)


def _run(job: Job, own_code: OwnCode) -> Result:
    _install_imports(job)
    stand_ins.install(job.stand_ins)
    if isinstance(job, ReplayJob):
        corrected_imports.install(job.corrections, Path(job.folder), Path(job.recipe))
    os.chdir(job.folder)
    # on other devices, compiling is a choice between kernels, which a second recording is to make by itself
    keeps_compiled = job.confinement is None and job.device == "cpu"
    seed_process(job.seed, threads=job.threads, device=job.device, keeps_compiled=keeps_compiled)
    session = _session(job, own_code)
    entry.activate(session)
    try:
        if isinstance(job, ProposeJob):
            # Drafts stand above the worker, whose sessions they use, so a worker knows the way to them by name only.
            return Result(mode="proposal", proposal=import_module("goldsmith.drafts.draft").propose(job))
        check_device(job.device)
        if job.confinement is not None and job.confinement.limits.device_memory is not None:
            limit_memory(job.device, job.confinement.limits.device_memory - CONTEXT_BYTES)
        _announce(job, Event("", 0, 0))
        return _record(job, session)
    except NoSuchDevice as missing:
        return Result(failure=Failure(kind="device", message=str(missing)))
    except RecipeMisuse as misuse:
        return Result(failure=_failure(job, "misuse", misuse, session))
    except ModuleNotFoundError as missing:
        if any(missing.name == item.name for item in registered()):
            return Result(failure=Failure(kind="package", message=str(missing), package=str(missing.name)))
        return Result(failure=_failure(job, "raised", missing, session))
    except MemoryError as full:
        return Result(failure=_failure(job, "memory", full, session))
    except Exception as error:
        out_of_memory = any(text in str(error) for text in ("can't allocate memory", "out of memory"))
        return Result(failure=_failure(job, "memory" if out_of_memory else "raised", error, session))


def _session(job: Job, own_code: OwnCode) -> Session:
    options: dict[str, Any] = {
        "seed": job.seed,
        "device": job.device,
        "threads": job.threads,
        "on_case": lambda name, number, of: _announce(job, Event(name, number, of)),
        "own_code": own_code,
    }
    if isinstance(job, ReplayJob):
        return ReplaySession(job, **options)
    if isinstance(job, BuildJob):
        return BuildSession(Path(job.output), job.root, **options)
    if isinstance(job, RecordJob):
        options |= {"variant": job.variant, "kept": job.kept, "draws": job.draws, "sketch_above": job.sketch_above}
    return Session(Path(job.output), **options)


def _record(job: Job, session: Session) -> Result:
    """Run the recipe as a script would run; if it only defined its cases, run those.

    `sys.exit(0)` is a regular end of a script, and of a recipe whose cases have run; before that it is too early.
    """
    try:
        _run_as_main(Path(job.recipe), Path(job.output))
        if registry.registered and session.ran is None:
            session.run(registry.registered)
    except SystemExit as leaving:
        finished = not registry.registered or session.ran is not None
        if leaving.code not in (None, 0) or not finished:
            return Result(failure=Failure(kind="exit", message=f"sys.exit({leaving.code!r})", case=session.current))
    if not registry.registered:
        return _script_result(job, session)
    if isinstance(job, RecordJob):
        _check_points(Path(job.recipe))
    return _cases_result(session)


def _check_points(recipe: Path) -> None:
    """Refuse points that differ from those in the recipe's text, which is what grading reads."""
    try:
        written = recipe_points(recipe, recipe)
    except BadPoints as problem:
        raise RecipeMisuse(
            f"{problem.setting} in line {problem.line} must be a number that stands there: "
            "points are read without running the recipe"
        ) from None
    for item in registry.registered:
        if item.points != written.get(item.name):
            raise RecipeMisuse(
                f"the points of {item.name} stand nowhere as a number; write them into its decorator, "
                "as in `@gs.case(points=2)`, once"
            )


def _cases_result(session: Session) -> Result:
    never = [item.name for item in registry.registered[session.ran :]]
    if never:
        raise RecipeMisuse(f"case {never[0]} stands below gs.main() and never ran; move gs.main() to the end")
    return Result(
        mode="cases",
        cases=tuple(session.facts),
        environment=session.environment(),
        built=session.built if isinstance(session, BuildSession) else {},
        failed_trials=tuple(session.failed_trials) if isinstance(session, ReplaySession) else (),
    )


def _script_result(job: Job, session: Session) -> Result:
    """Read back the files of a recipe that is any script, like a case's."""
    output = Path(job.output)
    files = sorted(path for path in output.iterdir() if path.suffix in SUFFIXES) if output.is_dir() else []
    if not files:
        raise RecipeMisuse(
            "wrote nothing: it has no @gs.case, and no .pt or .npz file appeared in the folder given by --output"
        )
    cases = [
        CaseFacts(
            name=path.stem,
            kind="checkpoint" if path.stem == "gold_checkpoint" else "output",
            file=read_back(path),
        )
        for path in files
    ]
    others = sorted(path.name for path in output.iterdir() if path not in files)
    return Result(mode="script", cases=tuple(cases), environment=session.environment(), left_out=tuple(others))


def _run_as_main(recipe: Path, output: Path) -> None:
    module = ModuleType("__main__")
    module.__file__ = str(recipe)
    sys.modules["__main__"] = module
    sys.argv = [str(recipe), "--output", str(output)]
    output.mkdir(parents=True, exist_ok=True)
    exec(compile(recipe.read_bytes(), str(recipe), "exec", dont_inherit=True), module.__dict__)


def _failure(job: Job, kind: FailureKind, error: BaseException, session: Session) -> Failure:
    message = str(error) if kind == "misuse" else in_words(error)
    readable = message.encode("utf-8", "replace").decode()
    return Failure(kind=kind, message=readable, case=session.current, frames=frames_of(error, job))


def _announce(job: Job, event: Event) -> None:
    with Path(job.scratch, EVENTS).open("ab") as file:
        file.write(msgspec.json.encode(event) + b"\n")
    if not event.case and event.number:
        announce_answer(Path(job.scratch))


def _lock_in(job: Job) -> None:
    """Sandbox this process. Must come first: threads that exist already would not be restricted."""
    if job.confinement is None:
        return
    try:
        _enter_cgroup(job.cgroup, job.cgroup_hierarchies)
        confine(job.confinement, job.level)
    except CannotConfine as problem:
        print(problem, file=sys.stderr, flush=True)
        os._exit(NOT_CONFINED)


def _enter_cgroup(name: str, hierarchies: int) -> None:
    """Wait until the parent has moved this process into its cgroup, if it has one."""
    if name:
        try:
            wait_until_in(name, hierarchies)
        except OSError as error:
            raise CannotConfine("its cgroup", error.strerror or str(error)) from error


def _run_tests(job: TestsJob) -> int:
    """Run pytest in this process, as `python -m pytest` would in a new one."""
    import pytest

    os.chdir(job.root)
    sys.path.insert(0, job.root)
    return int(pytest.main(list(job.arguments)))


def _newest(count: int) -> set[str]:
    """Return the modules that were imported last. Going through all of them would copy every page that one is in."""
    return set(itertools.islice(reversed(sys.modules), count))


def _packages(modules: set[str], root: str) -> tuple[str, ...]:
    """Return the top-level names of `modules` that are installed packages, not the course's own."""
    names = sorted({name.partition(".")[0] for name in modules} - {"__main__", "goldsmith"})
    files = {name: str(getattr(sys.modules.get(name), "__file__", None) or "") for name in names}
    return tuple(name for name, file in files.items() if file and not file.startswith(root))


def _limit(limits: Limits) -> None:
    """Limit this process. macOS refuses some limits with an error; a mutant then runs without them."""
    with contextlib.nullcontext() if IS_LINUX else contextlib.suppress(OSError, ValueError):
        limit(limits)


def _peak() -> int:
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmPeak:")), 0)


def main(job_file: str, parent: int | None = None) -> None:
    """Run the job and write its result. This process ends when `parent` ends, by default the job's own."""
    job = msgspec.json.decode(Path(job_file).read_bytes(), type=AnyJob)
    os.environ.update(job.environment)  # a forked child has the environment of the process that it was forked from
    _lock_in(job)
    # A recipe must not run on after `kill -9` of the command that started it.
    end_with_parent(job.parent if parent is None else parent, lambda: os._exit(_PARENT_GONE))
    _limit(job.limits)
    if isinstance(job, TestsJob):
        raise SystemExit(_run_tests(job))
    known = len(sys.modules)
    result = run(job)
    packages = _packages(_newest(max(0, len(sys.modules) - known)), job.root)
    result = msgspec.structs.replace(
        result, process=os.getpid(), peak=_peak(), packages=packages, stand_ins=tuple(stand_ins.used)
    )
    partial = Path(job.scratch, RESULT + ".partial")
    try:
        partial.write_bytes(msgspec.json.encode(result))
        partial.replace(Path(job.scratch, RESULT))
    except OSError:
        raise SystemExit(NO_RESULT) from None


if __name__ == "__main__":
    # The module stays reachable under its real name: `__main__` will be the recipe.
    from goldsmith.worker import run_job

    run_job.main(sys.argv[1])
