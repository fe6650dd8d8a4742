"""The zygote: the process that children are forked from, which has imported what takes long and read what every child
is given.

A child has a copy of all memory of the process it was forked from, also of what was thrown away there. So the zygote is
never told anything about any child: what one is to do comes to that child alone, through a pipe, after the fork. And it
is no child's parent: each is forked twice, and falls to the process that watches over all of them.
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

from goldsmith.recording import child
from goldsmith.recording.payloads import payloads

_MANY_OBJECTS = 20_000
_FORK, _IMPORT, _READ = b"f", b"i", b"r"
_NO, _YES = b"\0", b"\1"


class Zygote:
    """The zygote, as the process sees it that began it, and that must have adopted orphans by then."""

    def __init__(self, *, torch: bool) -> None:
        self._link, other = socket.socketpair()
        self.number = os.fork()
        if not self.number:
            self._link.close()
            _serve(other, torch=torch)
        other.close()

    def fileno(self) -> int:
        """What can be read from as soon as the zygote has ended."""
        return self._link.fileno()

    def import_all(self, packages: Sequence[str]) -> bool:
        return self._ask(_IMPORT, packages)

    def read_all(self, files: Sequence[str]) -> bool:
        return self._ask(_READ, files)

    def fork(self, request: dict[str, str]) -> int:
        """Return the number of a new child of this process, which does what `request` says."""
        told, telling = os.pipe()
        try:
            try:
                self._ask(_FORK, request, telling)
            finally:
                os.close(telling)
            return int(os.read(told, 32))
        except ValueError:
            raise OSError("the zygote could not fork") from None
        finally:
            os.close(told)

    def _ask(self, word: bytes, content: object, *descriptors: int) -> bool:
        """Send one word, and the content through a pipe whose other end goes with it."""
        reader, writer = os.pipe()
        with contextlib.suppress(BrokenPipeError), os.fdopen(writer, "wb") as pipe:  # a child that is gone is noticed
            try:
                socket.send_fds(self._link, [word], [reader, *descriptors])
            finally:
                os.close(reader)
            if word == _FORK:
                self._answer()  # from now on, the child is this process's
            pipe.write(json.dumps(content).encode())
        return word == _FORK or self._answer() == _YES

    def _answer(self) -> bytes:
        answer = self._link.recv(1)
        if not answer:
            raise OSError("the zygote has ended")
        return answer


class NoZygote:
    """The same where orphans fall to nobody in particular (macOS): this process is forked itself."""

    def __init__(self, *, torch: bool) -> None:
        self.number = os.getpid()
        self._never, self._kept = os.pipe()
        if torch:
            _import_torch()
        settle()

    def fileno(self) -> int:
        return self._never

    def import_all(self, packages: Sequence[str]) -> bool:
        return import_all(packages)

    def read_all(self, files: Sequence[str]) -> bool:
        return read_all(files)

    def fork(self, request: dict[str, str]) -> int:
        number = os.fork()
        if not number:
            become(request)
        return number


def _serve(link: socket.socket, *, torch: bool) -> None:
    """In the zygote: until nobody is there to ask any more."""
    try:
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1):  # what comes there is for the other process
            os.dup2(nothing, stream)
        os.close(nothing)
        if torch:
            _import_torch()
        settle()
        while True:
            word, descriptors, *_ = socket.recv_fds(link, 1, 2)
            if not word:
                break
            link.send(_do(link, word, *descriptors))
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)


def _do(link: socket.socket, word: bytes, reader: int, *telling: int) -> bytes:
    if word == _FORK:
        _fork(link, reader, *telling)
        return _YES
    action: Callable[[Sequence[str]], bool] = import_all if word == _IMPORT else read_all
    return _YES if action(_received(reader)) else _NO


def _fork(link: socket.socket, reader: int, telling: int) -> None:
    """Fork twice; the process between ends at once, so that its child falls to whoever adopts orphans here."""
    between = os.fork()
    if not between:
        number = 0
        try:
            number = os.fork()
            if number:
                os.write(telling, str(number).encode())
            else:
                link.close()
                os.close(telling)
                become(_received(reader))
        finally:
            os._exit(0 if number else 1)
    os.close(reader)
    os.close(telling)
    os.waitpid(between, 0)


def _received(reader: int) -> Any:
    with os.fdopen(reader, "rb") as pipe:
        return json.loads(pipe.read())


def become(request: dict[str, str]) -> None:
    """In the fork: a session, streams and an environment of its own, then the job as any child does it."""
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
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


def import_all(packages: Sequence[str]) -> bool:
    """Whether that was possible without a thread being started, which would not survive a fork."""
    threads = _threads()
    for name in packages:
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    settle()
    return _threads() == threads


def read_all(files: Sequence[str]) -> bool:
    """Whether all of it can be read. What cannot, a child will complain of."""
    try:
        for file in files:
            payloads.of(Path(file))
    except Exception:
        return False
    finally:
        settle()
    return True


def settle() -> None:
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
