"""The process that `fork_cli.py` forks commands from: `python -m support.fork_cli_server DESCRIPTOR [torch]`, where the
descriptor is of a socket that listens. It ends when its standard input does."""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from support.warm_workers import Lender

_COURSES = ("grade", "scaffold", "guard", "skills", "injection")
_FOLDERS = ("cli", "render", "mutants", "check", "generate", "workspace", *(f"courses.{name}" for name in _COURSES))
_LATE = ("rich._emoji_codes", "encodings.cp437", "goldsmith.courses.status", "goldsmith.model_parity.process_side")
"""What most commands import while they run."""


def serve(listener: socket.socket, *, torch: bool) -> None:
    for name in ("rich.console", "goldsmith.generate", "goldsmith.render"):
        importlib.import_module(name)
    dict(importlib.import_module("goldsmith.cli.app").commands())
    if hasattr(sys.modules.get("sitecustomize"), "FACTS"):  # another system, by `other_systems.py`
        fork, lender = sys.modules["sitecustomize"].fork, None
    else:
        fork, lender = os.fork, _import_what_commands_use(torch=torch)
    gc.freeze()  # a collection in a child would copy every page that it shares with this process
    gc.set_threshold(20_000)
    while sys.stdin not in select.select([sys.stdin, listener], [], [])[0]:
        link, _ = listener.accept()
        with link:
            _answer(link, fork, lender)


def _import_what_commands_use(*, torch: bool) -> Lender:
    """Import everything that a command may import, and torch only if asked to."""
    for name in _FOLDERS:
        folder = importlib.import_module(f"goldsmith.{name}")
        for module in pkgutil.walk_packages(folder.__path__, f"{folder.__name__}."):
            importlib.import_module(module.name)
    for name in _LATE:
        importlib.import_module(name)
    assert "torch" not in sys.modules
    from goldsmith.frameworks.framework import framework, registered
    from goldsmith.sandbox.readable_paths import reach
    from support.warm_workers import Lender

    lender = Lender()  # before torch is there: it forks
    registered()  # looks through the metadata of all that is installed
    _ = framework("numpy").arrays
    reach()  # keeps which packages there are, which it reads from some hundred files
    for name in ("pytest", "hypothesis"):  # of which a pytest that finds it imports most
        importlib.import_module(name)
    if torch:
        importlib.import_module("torch")
    return lender


def _answer(link: socket.socket, fork: Callable[[], int], lender: Lender | None) -> None:
    """Run a command to its end; one on a terminal beside others, watched by a process of its own."""
    _, streams, _, _ = socket.recv_fds(link, 1, 3)
    with link.makefile() as sent:
        request = json.loads(sent.read())
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    if lender is not None:
        lender.renew()
    watcher = fork() if request["terminal"] else 0
    if not watcher:
        child = fork()
        if not child:
            _become(request, streams, lender)
        link.sendall(f"{child}\n".encode())
    for stream in streams:
        os.close(stream)
    if not watcher:
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        with contextlib.suppress(BrokenPipeError):
            link.sendall(f"{code}\n".encode())
        if request["terminal"]:
            os._exit(0)


def _become(request: dict[str, Any], streams: list[int], lender: Lender | None) -> None:
    """Run the command in this process, and end it."""
    from goldsmith.cli import run as run_goldsmith

    code = 70
    try:
        if request["terminal"]:
            import fcntl  # neither exists on the Windows of `other_systems.py`
            import termios

            signal.signal(signal.SIGHUP, signal.SIG_DFL)  # as in a shell, even if these tests run under nohup
            os.setsid()
            fcntl.ioctl(streams[0], termios.TIOCSCTTY, 0)
        if lender is not None and not request["new_workers"]:
            lender.lend()
        _take(streams)
        os.environ.clear()
        os.environ.update(request["environment"])
        os.chdir(request["cwd"])
        sys.argv = ["goldsmith", *request["arguments"]]
        run_goldsmith()
        code = 0
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _take(streams: list[int]) -> None:
    """Make these the standard streams, as a new interpreter would."""
    for target, stream in enumerate(streams):
        os.dup2(stream, target)
        os.close(stream)
    how: dict[str, Any] = {"encoding": sys.stdout.encoding, "closefd": False}
    sys.stdin = open(0, **how)  # noqa: SIM115
    sys.stdout = open(1, "w", **how)  # noqa: SIM115
    sys.stderr = open(2, "w", errors="backslashreplace", buffering=1, **how)  # noqa: SIM115


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as inherited:
        serve(inherited, torch="torch" in sys.argv)
