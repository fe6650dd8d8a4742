"""The zygote: the process that children are forked from, which has imported what takes long and read what every child
is given.

A child has a copy of all memory of the process it was forked from, also of what was thrown away there. So the zygote is
never told what any child is about: that comes to the child alone, through a pipe, after the fork. Another process knows
it, watches over all of them, and says when those that have ended are to be asked how (`forking.py`).
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

from goldsmith.process.process_groups import signal_group
from goldsmith.worker import run_job as child
from goldsmith.worker.payload_cache import payloads

_MANY_OBJECTS = 20_000
_FORK, _IMPORT, _READ, _REAP = b"f", b"i", b"r", b"w"


class Zygote:
    """The zygote, as the process sees it that began it. Until it is told to reap them, children that have ended keep
    their numbers."""

    def __init__(self, *, torch: bool) -> None:
        self.ended, told = _wake_up_pipe()
        """What can be read from as soon as a child has ended."""
        self._link, other = socket.socketpair()
        self.number = os.fork()
        if not self.number:
            self._link.close()
            os.close(self.ended)
            _serve(other, told, torch=torch)
        other.close()
        os.close(told)
        self._answers = self._link.makefile("rb")

    def fileno(self) -> int:
        """What can be read from as soon as the zygote has ended."""
        return self._link.fileno()

    def import_all(self, packages: Sequence[str]) -> bool:
        return bool(self._ask(_IMPORT, packages))

    def read_all(self, files: Sequence[str]) -> bool:
        return bool(self._ask(_READ, files))

    def fork(self, request: dict[str, str]) -> int:
        """Return the number of a new child, which does what `request` says."""
        return int(self._ask(_FORK, request))

    def reap(self) -> list[tuple[int, int]]:
        """Return the numbers of children that have ended, with how; from now on others may have these numbers."""
        return [(number, status) for number, status in self._ask(_REAP, None)]

    def _ask(self, word: bytes, content: object) -> Any:
        """Send one word, and the content through a pipe whose other end goes with it."""
        reader, writer = os.pipe()
        with contextlib.suppress(BrokenPipeError), os.fdopen(writer, "wb") as pipe:  # a child may be gone already
            try:
                socket.send_fds(self._link, [word], [reader])
            finally:
                os.close(reader)
            pipe.write(json.dumps(content).encode())
        answer = self._answers.readline()
        if not answer:
            raise OSError("the zygote has ended")
        return json.loads(answer)


class NoZygote:
    """The same without a process of its own, for systems where nothing is locked in anyway (macOS)."""

    def __init__(self, *, torch: bool) -> None:
        self.ended, self._told = _wake_up_pipe()
        self._never, self._open = os.pipe()
        self.number = os.getpid()
        _prepare(self._told, torch=torch)

    def fileno(self) -> int:
        return self._never

    def import_all(self, packages: Sequence[str]) -> bool:
        return _import_all(packages)

    def read_all(self, files: Sequence[str]) -> bool:
        return _read_all(files)

    def fork(self, request: dict[str, str]) -> int:
        return _fork(lambda: request, self.ended, self._told, self._never, self._open)

    def reap(self) -> list[tuple[int, int]]:
        return _reap()


def _wake_up_pipe() -> tuple[int, int]:
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)
    return reader, writer


def _prepare(told: int, *, torch: bool) -> None:
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(told, warn_on_full_buffer=False)
    if torch:
        _import_torch()
    _freeze_gc()


def _serve(link: socket.socket, told: int, *, torch: bool) -> None:
    """In the zygote: until nobody is there to ask any more."""
    try:
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1):  # what comes there is for the other process
            os.dup2(nothing, stream)
        os.close(nothing)
        _prepare(told, torch=torch)
        while True:
            word, descriptors, *_ = socket.recv_fds(link, 1, 1)
            if not word:
                break
            link.sendall(json.dumps(_do(word, descriptors[0], link.fileno(), told)).encode() + b"\n")
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)


def _do(word: bytes, reader: int, *own: int) -> Any:
    """What one word asks for; only the child reads what comes with a fork."""
    if word == _FORK:
        number = _fork(lambda: _received(reader), *own)
        os.close(reader)
        return number
    content = _received(reader)
    if word == _REAP:
        return _reap()
    return _import_all(content) if word == _IMPORT else _read_all(content)


def _received(reader: int) -> Any:
    with os.fdopen(reader, "rb") as pipe:
        return json.loads(pipe.read())


def _fork(request: Callable[[], dict[str, str]], *closed: int) -> int:
    """Fork a child, which closes what it must not keep."""
    number = os.fork()
    if not number:
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for descriptor in closed:
                os.close(descriptor)
            _run_as_child(request())
        finally:
            os._exit(1)
    return number


def _reap() -> list[tuple[int, int]]:
    """Ask how children have ended; what one has left running in its group ends first, while its number is its own."""
    found = []
    with contextlib.suppress(ChildProcessError):
        while True:
            whose = -1
            if hasattr(os, "waitid"):
                ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
                if ended is None:
                    break
                whose = ended.si_pid
                signal_group(whose, signal.SIGKILL)
            number, status = os.waitpid(whose, os.WNOHANG)
            if not number:
                break
            found.append((number, status))
    return found


def _run_as_child(request: dict[str, str]) -> None:
    """In the fork: a session, streams and an environment of its own, then the job as any child does it."""
    code = 1
    try:
        os.setsid()
        log = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((nothing, 0), (log, 1), (log, 2)):
            os.dup2(source, target)
        os.environ["TMPDIR"] = tempfile.tempdir = request["temporary"]
        os.environ["PWD"] = os.environ["OLDPWD"] = request["folder"]
        os.chdir(request["folder"])
        child.main(request["job"], parent=os.getppid())
        code = 0
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _import_torch() -> None:
    """With what it imports late: its first optimiser takes as long as itself. Nothing is differentiated here, for that
    must not happen before a fork."""
    import safetensors.torch  # noqa: F401
    import torch

    torch.set_num_threads(1)
    torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.0)


def _import_all(packages: Sequence[str]) -> bool:
    """Whether that was possible without a thread being started, which would not survive a fork."""
    threads = _threads()
    for name in packages:
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    _freeze_gc()
    return _threads() == threads


def _read_all(files: Sequence[str]) -> bool:
    """Whether all of it can be read. What cannot, a child will complain of."""
    try:
        for file in files:
            payloads.of(Path(file))
    except Exception:
        return False
    finally:
        _freeze_gc()
    return True


def _freeze_gc() -> None:
    """What is there stays: a child that looked through all of it for garbage would have to copy every page. And it need
    not look as often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_MANY_OBJECTS)


def _threads() -> int:
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return threading.active_count()
