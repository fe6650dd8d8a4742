"""Limits on what a process may use (memory, files, processes, time) and on what it inherits from its parent."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

import msgspec

if sys.platform != "win32":
    import resource

_STANDARD_STREAMS = 3
_PRIVATE_UMASK = 0o077
_CPU_GRACE_S = 1
"""Seconds between SIGXCPU, which announces that time is up, and SIGKILL, which cannot be caught."""
_MAX_PENDING_SIGNALS = 4096
"""Queued signals and timers; the kernel's own limit is tens of thousands for each user."""
_USER = "submission"
CONTEXT_BYTES = 2 * 2**30
"""Of an accelerator's memory, what a process may take besides its arrays: its context, kernels and workspaces."""

KEPT_VARIABLES = (
    "PATH", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "CONDA_PREFIX",
    "PYTHONHASHSEED", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "PYTHONIOENCODING", "PYTHONUTF8",
    "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "KMP_DUPLICATE_LIB_OK", "MKL_CBWR",
    "ATEN_CPU_CAPABILITY", "ONEDNN_MAX_CPU_ISA", "CUBLAS_WORKSPACE_CONFIG", "CUDA_VISIBLE_DEVICES",
    "NVIDIA_TF32_OVERRIDE", "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "TORCHDYNAMO_DISABLE",
)  # fmt: skip
"""Variables that affect numerical results or how programs are found. All others may be secrets."""
_KEPT_ENDINGS = ("XLA_FLAGS", "_ENABLE_X64", "_DEFAULT_MATMUL_PRECISION", "_NUMPY_DTYPE_PROMOTION")
"""How more of them end, which say in what a library computes."""

_FOLDERS = {
    "HOME": "", "TMPDIR": "tmp", "XDG_CACHE_HOME": ".cache", "XDG_CONFIG_HOME": ".config",
    "XDG_DATA_HOME": ".local/share", "XDG_STATE_HOME": ".local/state", "XDG_RUNTIME_DIR": ".run",
    "TORCH_HOME": ".cache/torch", "HF_HOME": ".cache/huggingface", "MPLCONFIGDIR": ".config/matplotlib",
    "TORCHINDUCTOR_CACHE_DIR": ".cache/inductor", "TRITON_CACHE_DIR": ".cache/triton",
}  # fmt: skip


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of a child; `None` means no limit.

    memory:       bytes of address space for each process; of memory, for all processes of a sandboxed child together
    file_size:    bytes, for each file
    processes:    how many, threads included. The kernel counts by user and user namespace, and does not limit root;
                  where a child has no namespace of its own, in addition to those the user has at that moment
    open_files:   for each process
    cpu_seconds:  for each process
    disk:         bytes, for everything they write together; enforced from outside (`process/descendants.py`)
    files:        the number of names in the workspace; enforced from outside, too
    device_memory: bytes of an accelerator's memory, for all processes together; enforced from outside, too
    """

    memory: int | None = None
    file_size: int | None = None
    processes: int | None = None
    open_files: int | None = None
    cpu_seconds: int | None = None
    disk: int | None = None
    files: int | None = None
    device_memory: int | None = None


def clean_environment(
    home: str, keep: Collection[str] = (), environment: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return what is kept of an environment (default: this process's own): nothing private, every folder in `home`."""
    before = os.environ if environment is None else environment
    wanted = {*KEPT_VARIABLES, *keep, *(name for name in before if name.endswith(_KEPT_ENDINGS))}
    kept = {name: value for name, value in before.items() if name in wanted}
    folders = {name: str(Path(home, below)) for name, below in _FOLDERS.items()}
    return {**kept, **folders, "USER": _USER, "LOGNAME": _USER}


def settle_in(home: str, keep: Collection[str] = ()) -> None:
    """Make `home` this process's home: environment and temporary folder. Programs create other folders as needed."""
    environment = clean_environment(home, keep)
    for name in ("HOME", "TMPDIR"):
        Path(environment[name]).mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in set(os.environ) - set(environment):
        del os.environ[name]
    os.environ.update(environment)
    tempfile.tempdir = environment["TMPDIR"]
    os.umask(_PRIVATE_UMASK)


def close_descriptors(keep: Collection[int] = ()) -> None:
    """Close every inherited descriptor except the standard streams and those to keep."""
    for descriptor in _open_descriptors():
        if descriptor >= _STANDARD_STREAMS and descriptor not in keep:
            with contextlib.suppress(OSError):
                os.close(descriptor)


def _open_descriptors() -> Iterable[int]:
    try:
        return [int(name) for name in os.listdir("/proc/self/fd" if sys.platform == "linux" else "/dev/fd")]
    except OSError:
        return range(_STANDARD_STREAMS, os.sysconf("SC_OPEN_MAX"))


def forbid_extras() -> None:
    """Forbid core files, locked memory and higher priority for this process and each that it starts."""
    for name in ("CORE", "MEMLOCK", "MSGQUEUE", "NICE", "RTPRIO"):
        _set_limit(name, 0)
    _set_limit("SIGPENDING", _MAX_PENDING_SIGNALS)


def limit(limits: Limits, *, counts_alone: bool = False) -> None:
    """Limit this process and each that it starts, irrevocably. Address space comes last: macOS refuses to limit it.

    It `counts_alone` in a new user namespace, where the kernel counts no process but this one and those it starts.
    """
    processes = limits.processes
    others = 1 if counts_alone else _processes_of_this_user()
    _set_limit("FSIZE", limits.file_size)
    _set_limit("NOFILE", limits.open_files)
    _set_limit("CPU", limits.cpu_seconds, _CPU_GRACE_S)
    _set_limit("NPROC", None if processes is None else processes + others)
    _set_limit("AS", limits.memory)


def _set_limit(name: str, limit: int | None, grace: int = 0) -> None:
    """Set a soft limit, and a hard one `grace` above it, neither above the present hard limit."""
    kind = getattr(resource, f"RLIMIT_{name}", None)  # not every system has all of them
    if kind is None or limit is None:
        return
    _, ceiling = resource.getrlimit(kind)
    hard = limit + grace if ceiling == resource.RLIM_INFINITY else min(limit + grace, ceiling)
    resource.setrlimit(kind, (min(limit, hard), hard))


def _processes_of_this_user() -> int:
    """Count the processes and threads that the kernel counts against this user's limit."""
    user = os.getuid()
    if not user:
        return 0
    count = 0
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc"):
            if name.isdecimal():
                with contextlib.suppress(OSError, ValueError, IndexError):
                    if os.stat(f"/proc/{name}").st_uid == user:
                        count += int(_read(f"/proc/{name}/stat").rpartition(b")")[2].split()[17])
    return count


def _read(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return os.read(descriptor, 4096)
    finally:
        os.close(descriptor)
