"""The command line without the second that an interpreter takes to start: forked from a process that has imported it.

Still a process of its own, with exit code, signals and streams. Nothing but imports is shared, and torch is among them
only for a recipe that imports it. Its workers are forked, too, unless a test asks for new interpreters
(`warm_workers.py`).
"""

from __future__ import annotations

import atexit
import os
import shlex
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from support import fork_cli_client
from support.fork_cli_client import ForkedCommand

Variables = tuple[tuple[str, str], ...]

_servers: dict[tuple[str, bool, Variables], _Server] = {}


class _Server:
    """A process that commands are forked from. It listens at `address`, and ends with this process."""

    def __init__(self, python_path: str, torch: bool, started_with: Variables) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="fork-cli-")
        self.address = str(Path(self._folder.name, "socket"))
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(self.address)
            listener.listen()
            self.process = subprocess.Popen(
                [sys.executable, "-m", "support.fork_cli_server", str(listener.fileno()), *["torch"] * torch],
                cwd=Path(__file__).parents[1],
                stdin=subprocess.PIPE,
                pass_fds=[listener.fileno()],
                start_new_session=True,
                env=os.environ | dict(started_with) | ({"PYTHONPATH": python_path} if python_path else {}),
            )
        atexit.register(self.process.kill)


def run(
    arguments: Sequence[str],
    cwd: Path,
    python_path: str = "",
    *,
    started_with: Variables = (),
    new_workers: bool = False,
    **env: str,
) -> tuple[int, str, str]:
    """What `goldsmith ARGUMENTS` leaves behind when it is run in `cwd`: exit code, standard output and error. With a
    `python_path`, or variables that libraries read when they are loaded (`started_with`), it is forked from an
    interpreter that was started with those; with `new_workers` its workers are new interpreters."""
    environment = os.environ | dict(started_with) | env | ({"PYTHONPATH": python_path} if python_path else {})
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as out,
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as err,
        open(os.devnull) as nothing,
    ):
        streams = [stream.fileno() for stream in (nothing, out, err)]
        torch = not python_path and _uses_torch(cwd, arguments)
        address = _running(python_path, torch=torch, started_with=started_with).address
        code = ForkedCommand(address, list(arguments), str(cwd), environment, streams, new_workers).wait()
        out.seek(0)
        err.seek(0)
        return code, out.read(), err.read()


def start_on_terminal(arguments: Sequence[str], cwd: Path, environment: dict[str, str], terminal: int) -> ForkedCommand:
    """Start `goldsmith ARGUMENTS` as a person at `terminal` would."""
    address = _running("", torch=_uses_torch(cwd, arguments)).address
    return ForkedCommand(address, list(arguments), str(cwd), environment, [terminal] * 3)


def write_command(folder: Path, python_path: str = "", *, torch: bool = False) -> None:
    """Write a `goldsmith` into `folder` that runs in the same way, with the streams of whoever calls it."""
    client = [sys.executable, "-SE", fork_cli_client.__file__, _running(python_path, torch=torch).address]
    command = folder / "goldsmith"
    command.write_text(f'#!/bin/sh\nexec {shlex.join(client)} "$@"\n', encoding="utf-8")
    command.chmod(0o755)


def _running(python_path: str, *, torch: bool, started_with: Variables = ()) -> _Server:
    key = (python_path, torch, started_with)
    server = _servers.get(key)
    if server is None or server.process.poll() is not None:
        server = _servers[key] = _Server(*key)
    return server


def _uses_torch(cwd: Path, arguments: Sequence[str]) -> bool:
    """Say whether a recipe there imports torch, which goldsmith then does, too, to read its gold; or what is compared,
    as in `parity old.py:Model new.py:Model`."""
    named = (cwd / name.partition(":")[0] for name in arguments if ".py" in name)
    recipes = [*cwd.glob("src/assignments/*/*.py"), *(path for path in named if path.suffix == ".py")]
    return any(b"import torch" in recipe.read_bytes() for recipe in recipes if recipe.is_file())
