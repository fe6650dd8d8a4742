"""Say in words what the grading sandbox denied to code that runs outside of it, and which setting would let it in."""

from __future__ import annotations

import re

from goldsmith.check.grading_sandbox import MEMORY_GIB, OPEN_FILES
from goldsmith.process.descendants import MAX_PROCESSES, MAX_THREADS
from goldsmith.runs.run import Failure

_SETTING = "write `loopback = true` under `[grade]` in goldsmith.toml"
_SOCKETS = re.compile(
    r"socket|DistNetworkError|DistStoreError|gloo|ProcessGroup|Connection\w*Error|gaierror|"
    r"name resolution|address family",
    re.I,
)
_SOCKET_LINES = re.compile(r"socket|\bdist(ributed)?\.|process_group|all_reduce|all_gather|broadcast\(|barrier\(", re.I)
_UNIX_SOCKETS = re.compile(r"AF_UNIX|socketpair|Manager\(|Listener\(", re.I)
_THREADS = re.compile(
    r"can't start new thread|Resource temporarily unavailable|BlockingIOError|Too many open files", re.I
)
_SPAWNED = re.compile(r"spawn|forkserver", re.I)
_SHARED_MEMORY = re.compile(r"/dev/shm|shm_open|shared_memory|/psm_|/torch_\d|memfd", re.I)
_REFUSED = re.compile(
    r"PermissionError|not permitted|permission denied|EPERM|EACCES|No locks available|\bENOSYS\b", re.I
)


def is_denial(failure: Failure) -> bool:
    """Return whether a failure looks as if the sandbox had refused something."""
    text = failure.message
    return any(pattern.search(text) for pattern in (_REFUSED, _THREADS, _SHARED_MEMORY)) or "DistNetworkError" in text


def denied_words(failure: Failure, *, loopback: bool) -> str:
    """Say what the sandbox most likely denied, and what to write to let it in, or to do without it."""
    text, line = failure.message, failure.frames[-1].text if failure.frames else ""
    if _UNIX_SOCKETS.search(line):
        return "Unix sockets are denied there, but for pairs of streams; use queues or pipes instead"
    if not loopback and (_SOCKETS.search(text) or _SOCKET_LINES.search(line)):
        return f"sockets are denied there; to let them in, on a private loopback, {_SETTING}"
    if _SPAWNED.search(text) or _SPAWNED.search(line):
        return "only processes that are forked start there, not those of `spawn` and `forkserver`"
    if _SHARED_MEMORY.search(text) or _SHARED_MEMORY.search(line):
        return "shared memory is denied there; pass arrays through queues or pipes instead"
    if _THREADS.search(text):
        return (
            f"a submission may have {MAX_PROCESSES} processes, {MAX_THREADS} threads and {OPEN_FILES} open files there"
        )
    if failure.kind == "memory":
        return f"a submission has {MEMORY_GIB:g} GiB there; `goldsmith grade --memory` gives more"
    if failure.kind in ("timeout", "killed", "exit"):
        return "what it waits for or needs may be denied there: sockets, shared memory, other processes, files"
    if _REFUSED.search(text):
        return "submissions may read and write their own files there; copy what lies elsewhere into the course"
    return "it has no network, no shared memory, no files but its own and those in `shared`, and no device there"


def place_of(failure: Failure) -> str:
    """Name the last line of the course's own that a failure came through."""
    return f"line {failure.frames[-1].line} of {failure.frames[-1].file}" if failure.frames else "no line is known"
