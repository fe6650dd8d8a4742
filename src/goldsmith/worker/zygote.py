"""The zygote: the process that children are forked from. It has imported slow packages and read what all children
share.

A child has a copy of all memory of the process that it was forked from, even of freed memory. So the zygote never
learns what any job is about: that reaches the child alone, through a pipe, after the fork. Another process, the fork
server (`fork_server.py`), knows it, supervises the children, and says when those that have ended are to be reaped.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import signal
import socket
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from goldsmith.frameworks.framework import active, registered
from goldsmith.process.priority import drop_real_time_priority
from goldsmith.process.process_groups import signal_group
from goldsmith.worker import run_job
from goldsmith.worker.payload_cache import payloads

_GC_THRESHOLD_OBJECTS = 20_000
_FORK, _IMPORT, _READ, _REAP = b"f", b"i", b"r", b"w"


class Zygote:
    """A connection to the zygote, which it starts. Children that have ended keep their process ids until `reap`.

    `child_exits` is a descriptor that becomes readable when a child has ended.
    """

    def __init__(self, preload: Sequence[str], *, optimisers: bool = True) -> None:
        self.child_exits, writer = _wake_up_pipe()
        self._link, other = socket.socketpair()
        self.pid = os.fork()
        if not self.pid:
            self._link.close()
            os.close(self.child_exits)
            _serve(other, writer, preload, optimisers)
        other.close()
        os.close(writer)
        self._answers = self._link.makefile("rb")

    def fileno(self) -> int:
        """Return a descriptor that becomes readable when the zygote has ended."""
        return self._link.fileno()

    def import_all(self, packages: Sequence[str]) -> bool:
        """Import packages; return False if that has started a thread."""
        return bool(self._request(_IMPORT, packages))

    def read_all(self, files: Sequence[str]) -> bool:
        """Read files into memory that children share; return False if one cannot be read."""
        return bool(self._request(_READ, files))

    def fork(self, request: dict[str, str]) -> int:
        """Fork a child that runs the job in `request`; return its process id."""
        return int(self._request(_FORK, request))

    def reap(self) -> list[tuple[int, int]]:
        """Return process ids and statuses of children that have ended; from now on others may have these ids."""
        return [(pid, status) for pid, status in self._request(_REAP, None)]

    def _request(self, kind: bytes, content: object) -> Any:
        """Send the kind of a request, and its content through a pipe whose other end is sent along.

        Only the child reads the content of a fork request.
        """
        reader, writer = os.pipe()
        with contextlib.suppress(BrokenPipeError), os.fdopen(writer, "wb") as pipe:  # a child may be gone already
            try:
                socket.send_fds(self._link, [kind], [reader])
            finally:
                os.close(reader)
            pipe.write(json.dumps(content).encode())
        answer = self._answers.readline()
        if not answer:
            raise OSError("the zygote has ended")
        return json.loads(answer)


class NoZygote:
    """The same without a separate process, for systems that have no sandbox anyway (macOS)."""

    def __init__(self, preload: Sequence[str], *, optimisers: bool = True) -> None:
        self.child_exits, self._writer = _wake_up_pipe()
        self._silent_reader, self._silent_writer = os.pipe()
        self.pid = os.getpid()
        _prepare(self._writer, preload, optimisers)

    def fileno(self) -> int:
        """Return a descriptor that never becomes readable: this zygote does not end before its fork server."""
        return self._silent_reader

    def import_all(self, packages: Sequence[str]) -> bool:
        return _import_all(packages)

    def read_all(self, files: Sequence[str]) -> bool:
        return _read_all(files)

    def fork(self, request: dict[str, str]) -> int:
        return _fork(lambda: request, self.child_exits, self._writer, self._silent_reader, self._silent_writer)

    def reap(self) -> list[tuple[int, int]]:
        return _reap()


def _wake_up_pipe() -> tuple[int, int]:
    """Make a pipe for `signal.set_wakeup_fd`: Python writes a byte into it for every signal, so `select` returns."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)
    return reader, writer


def _prepare(wake_up: int, preload: Sequence[str], optimisers: bool) -> None:
    signal.signal(signal.SIGCHLD, lambda *_: None)  # an ignored signal would not be written to the pipe
    signal.set_wakeup_fd(wake_up, warn_on_full_buffer=False)
    if preload:
        gc.disable()  # a tenth of the time that importing torch takes, and all that it makes stays
    known = {item.name: item for item in registered()}
    for name in preload:  # gold names what it was recorded with: the library of arrays, and those of its models
        with contextlib.suppress(ModuleNotFoundError):  # the child whose code imports it says that it is missing
            if name in known:
                known[name].preload(optimisers=optimisers)
            else:
                importlib.import_module(name)
    for item in active():
        item.preload(optimisers=optimisers)
    _freeze_gc()


def _serve(link: socket.socket, wake_up: int, preload: Sequence[str], optimisers: bool) -> None:
    """Answer requests, in the zygote, until the fork server has ended."""
    try:
        drop_real_time_priority()
        devnull = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1):  # the fork server talks to its client through them
            os.dup2(devnull, stream)
        os.close(devnull)
        _prepare(wake_up, preload, optimisers)
        while True:
            kind, descriptors, *_ = socket.recv_fds(link, 1, 1)
            if not kind:
                break
            link.sendall(json.dumps(_answer(kind, descriptors[0], link.fileno(), wake_up)).encode() + b"\n")
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)


def _answer(kind: bytes, reader: int, *own_descriptors: int) -> Any:
    """Carry out a request; the content of a fork request is read by the child alone."""
    if kind == _FORK:
        pid = _fork(lambda: _read_content(reader), *own_descriptors)
        os.close(reader)
        return pid
    content = _read_content(reader)
    if kind == _REAP:
        return _reap()
    return _import_all(content) if kind == _IMPORT else _read_all(content)


def _read_content(reader: int) -> Any:
    with os.fdopen(reader, "rb") as pipe:
        return json.loads(pipe.read())


def _fork(request: Callable[[], dict[str, str]], *own_descriptors: int) -> int:
    """Fork a child, which closes the descriptors that it must not keep."""
    pid = os.fork()
    if not pid:
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for descriptor in own_descriptors:
                os.close(descriptor)
            _run_as_child(request())
        finally:
            os._exit(1)
    return pid


def _reap() -> list[tuple[int, int]]:
    """Wait for children that have ended, and return their ids and statuses.

    First kill what is left in a child's group, while its process id is still its own.
    """
    found = []
    with contextlib.suppress(ChildProcessError):
        while True:
            which = -1
            if hasattr(os, "waitid"):
                info = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
                if info is None:
                    break
                which = info.si_pid
                signal_group(which, signal.SIGKILL)
            pid, status = os.waitpid(which, os.WNOHANG)
            if not pid:
                break
            found.append((pid, status))
    return found


def _run_as_child(request: dict[str, str]) -> None:
    """Run the job, in the fork, with its own session, streams and environment."""
    code = 1
    try:
        os.setsid()
        log = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        devnull = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((devnull, 0), (log, 1), (log, 2)):
            os.dup2(source, target)
        os.environ["TMPDIR"] = tempfile.tempdir = request["temporary"]
        os.environ["PWD"] = os.environ["OLDPWD"] = request["folder"]
        os.chdir(request["folder"])
        run_job.main(request["job"], parent=os.getppid())
        code = 0
    except SystemExit as exit_:
        code = exit_.code if isinstance(exit_.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _import_all(packages: Sequence[str]) -> bool:
    """Import packages; return False if that has started a thread, which would not survive a fork."""
    threads = _thread_count()
    for name in packages:
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    _freeze_gc()
    return _thread_count() == threads


def _read_all(files: Sequence[str]) -> bool:
    """Read files into memory that children share; return False if one cannot be read, which a child will report."""
    try:
        for file in files:
            payloads.of(Path(file))
    except Exception:
        return False
    finally:
        _freeze_gc()
    return True


def _freeze_gc() -> None:
    """Keep the garbage collector of children away from existing objects.

    A collection writes into the header of every object that it visits. A forked child shares its pages with the zygote
    until one of them writes, so its first collection would copy nearly all memory. Frozen objects are never visited;
    with a higher threshold a child collects less often.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_GC_THRESHOLD_OBJECTS)
    gc.enable()


def _thread_count() -> int:
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return threading.active_count()
