"""Facts about this machine that affect the bits of recipes or the sandboxing of untrusted code, and their meaning."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from goldsmith.foundation.platforms import IS_LINUX, RUNS_CODE, SYSTEM
from goldsmith.frameworks.framework import active, registered

if TYPE_CHECKING:
    from goldsmith.gold.facts import Environment

_RECORDED_VARIABLES = (
    "ATEN_CPU_CAPABILITY",
    "ONEDNN_MAX_CPU_ISA",
    "MKL_CBWR",
    "MKL_ENABLE_INSTRUCTIONS",
    "OPENBLAS_CORETYPE",
    "CUBLAS_WORKSPACE_CONFIG",
    "XLA_FLAGS",
)

_VARIABLES = {
    "PYTHONHASHSEED": "overridden: recipes run with 0, so that sets and dicts of strings keep one order",
    "OMP_NUM_THREADS": "overridden: recipes run with `threads` of the configuration",
    "MKL_NUM_THREADS": "overridden: recipes run with `threads` of the configuration",
    "CUBLAS_WORKSPACE_CONFIG": "overridden: recipes run with :4096:8, which cuBLAS needs to be deterministic",
    "ATEN_CPU_CAPABILITY": "passed on and recorded: torch then uses other instructions, which give other bits",
    "ONEDNN_MAX_CPU_ISA": "passed on and recorded: oneDNN then uses other instructions, which give other bits",
    "MKL_ENABLE_INSTRUCTIONS": "passed on and recorded: MKL then uses other instructions, which give other bits",
    "MKL_CBWR": "passed on and recorded: MKL then trades speed for the same bits on other processors",
    "NVIDIA_TF32_OVERRIDE": "interferes: it can force TF32 on, which costs three digits; unset it",
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE": "interferes: it forces TF32 on, which costs three digits; unset it",
    "PYTHONPATH": "passed on: modules found there can stand in for a package; the course's own code still wins",
}
_INTERFERING = ("NVIDIA_TF32_OVERRIDE", "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE")


class Fact(msgspec.Struct, frozen=True):
    """One thing about this machine; `outcome` is ok, note or warning."""

    name: str
    """What it is about."""
    outcome: str
    """`ok`, `note` or `warning`."""
    value: str
    """What it is here."""
    meaning: str
    """What follows from it."""


def examine() -> list[Fact]:
    """Return everything worth knowing before gold is compared between machines. Imports what is installed."""
    sandbox = list(_sandbox())  # which forks: to ask a library for its devices may start threads
    return [*_versions(), *_processor(), *_libraries(), *_variables(), *_disk(), *sandbox]


def _versions() -> Iterator[Fact]:
    bits = "recorded; another version may change bits, `goldsmith verify --reproduce` says by how much"
    yield Fact("python", "ok", platform.python_version(), bits)
    for package in (item.name for item in registered()):
        try:
            version = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            yield Fact(package, "note", "not installed", f"recipes that need it are refused: pip install {package}")
            continue
        yield Fact(package, "ok", version, bits)
    git = shutil.which("git")
    meaning = "commits are recorded, revisions can be compared" if git else "no commit is recorded with gold"
    yield Fact("git", "ok" if git else "warning", git or "not found", meaning)


def _processor() -> Iterator[Fact]:
    cores = str(os.cpu_count() or 1)
    yield Fact("cores", "ok", cores, "two runs go in parallel, so two cores make generating quickest")
    yield Fact("platform", "ok", f"{platform.system()} {platform.machine()}", "recorded; other processors, other bits")
    if not IS_LINUX:
        yield Fact("system", "note", SYSTEM, "goldsmith is tested on Linux only, and submissions are graded there only")


def _libraries() -> Iterator[Fact]:
    capabilities, devices = list[str](), Counter(["cpu"])
    for library in registered():
        try:
            capabilities.append(library.process.cpu_capability())
            devices |= Counter(library.process.device_names())  # a device that two libraries can use is one device
        except ImportError:
            continue
        except OSError as problem:  # a system library that it needs is missing
            yield Fact(f"{library.name}-import", "warning", f"{library.name} cannot be imported", str(problem))
    for capability in filter(None, capabilities):
        meaning = "recorded; weights drawn from one seed differ between capabilities"
        yield Fact("cpu-capability", "ok", capability, meaning)
    if any(capabilities):
        meaning = "usable with --device; record gold on the CPU unless it must be there"
        yield Fact("devices", "ok", ", ".join(devices.elements()), meaning)


def _variables() -> Iterator[Fact]:
    for name, meaning in _VARIABLES.items():
        if name in os.environ:
            yield Fact(name, "warning" if name in _INTERFERING else "note", os.environ[name], meaning)


def _disk() -> Iterator[Fact]:
    folder = tempfile.gettempdir()
    free = shutil.disk_usage(folder).free
    outcome = "ok" if free > 10**9 else "warning"
    yield Fact(
        "temporary-folder", outcome, f"{folder}, {free / 1e9:.1f} GB free", "private copies of the course go there"
    )


def _sandbox() -> Iterator[Fact]:
    """Yield how well submissions can be sandboxed here. None of it affects gold, so none is a warning."""
    from goldsmith.sandbox.bubblewrap import why_not as why_no_bubblewrap
    from goldsmith.sandbox.capabilities import probe, user_namespaces

    level = probe()
    refused = f"; submissions are not graded here{' unless --allow-unsandboxed' if RUNS_CODE else ''}"
    why = "; ".join(level.missing)
    yield Fact(
        "landlock",
        "ok" if level.landlock else "note",
        f"ABI {level.landlock}" if level.landlock else "none",
        "a submission changes no file but its own, and reads no other than Python's and what it is given"
        if level.landlock
        else why + refused,
    )
    yield Fact(
        "seccomp",
        "ok" if level.seccomp else "note",
        "works" if level.seccomp else "none",
        "a submission has no network and no way to other processes" if level.seccomp else why + refused,
    )
    reason = why_no_bubblewrap()
    yield Fact(
        "bubblewrap",
        "note" if reason else "ok",
        reason or "works",
        "an extra for grading: without it, a submission can tell that a file exists whose path it knows, and its size"
        if reason
        else "an extra for grading: gold, solutions and other submissions are not even visible by name",
    )
    possible = user_namespaces()
    yield Fact(
        "user-namespaces",
        "ok" if possible else "note",
        "allowed" if possible else "not allowed",
        "what bubblewrap needs" if possible else "bubblewrap works only where it is installed setuid",
    )
    if level.sufficient:
        yield _private_network()
        yield _cgroups()


def _private_network() -> Fact:
    """Say whether sockets can be let in, each submission's in a network of its own."""
    from goldsmith.sandbox.private_network import why_not

    reason, need = why_not(), "what `loopback = true` under [grade] needs, for recipes with sockets"
    return Fact("private-network", "note" if reason else "ok", reason or "works", need)


def _cgroups() -> Fact:
    """Say who limits the processes and the memory of a submission as a whole."""
    from goldsmith.sandbox.cgroups import controllers

    names = [controller.name for controller in controllers()]
    if names:
        meaning = "the kernel itself refuses a submission as a whole more than its share"
        return Fact("cgroups", "ok", ", ".join(names), meaning)
    meaning = "processes and memory of a submission as a whole are counted from outside, a few times in a second"
    if not os.getuid():
        meaning += "; the kernel does not limit root's processes, and a fork bomb may be quicker: grade as another user"
    return Fact("cgroups", "note", "none can be made", meaning)


def recording_environment(device: str, threads: int) -> Environment:
    """Return the facts about this process that affect the bits it produces."""
    import numpy  # noqa: F401  # it is always there, and recorded

    from goldsmith.gold.facts import Environment

    facts: dict[str, Any] = {"threads": threads, "device": device}
    versions: dict[str, str] = {}
    settings: dict[str, str] = {}
    for library in active():
        facts |= library.process.environment(device)
        versions |= facts.pop("versions", {})
        settings |= facts.pop("settings", {})
        if library.name not in Environment.__struct_fields__:
            versions[library.name] = facts.pop(library.name)
    if settings:
        facts["settings"] = settings
    if versions:
        facts["versions"] = dict(sorted(versions.items()))
    return Environment(
        python=platform.python_version(),
        platform=f"{platform.system()} {platform.machine()}",
        processor=processor_name(),
        variables={name: os.environ[name] for name in _RECORDED_VARIABLES if name in os.environ},
        **facts,
    )


def processor_name() -> str:
    """Return the model name of this machine's processor, as far as the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith(("model name", "Model", "cpu model")))
    return next(names, "") or platform.processor()


def processors() -> int:
    """Return how many processors this process, or the container it is in, may use."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        return max(1, min(count, round(int(quota) / int(period))))
    except (OSError, ValueError):
        return count
