"""The command line without the second that an interpreter takes to start: forked from a process that has imported it.

Still a process of its own, with exit code, signals and streams. Nothing but imports is shared, and numpy and torch
are not among them.
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

_TIMEOUT = 180
_servers: dict[str, subprocess.Popen[str]] = {}


def run(arguments: Sequence[str], cwd: Path, python_path: str = "", **env: str) -> tuple[int, str, str]:
    """What `goldsmith ARGUMENTS` leaves behind when it is run in `cwd`: exit code, standard output and error. With a
    `python_path` it is forked from an interpreter that was started with that one."""
    server = _running(python_path)
    assert server.stdin is not None
    assert server.stdout is not None
    with tempfile.TemporaryDirectory(prefix="zygote-") as folder:
        out, err = Path(folder, "out"), Path(folder, "err")
        request = {"arguments": list(arguments), "cwd": str(cwd), "out": str(out), "err": str(err)}
        own = {"PYTHONPATH": python_path} if python_path else {}
        request["environment"] = os.environ | env | own  # type: ignore[assignment]
        server.stdin.write(json.dumps(request) + "\n")
        server.stdin.flush()
        code = int(server.stdout.readline())
        return (
            code,
            out.read_text(encoding="utf-8", errors="replace"),
            err.read_text(encoding="utf-8", errors="replace"),
        )


def _running(python_path: str) -> subprocess.Popen[str]:
    server = _servers.get(python_path)
    if server is None or server.poll() is not None:
        server = _servers[python_path] = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env=os.environ | ({"PYTHONPATH": python_path} if python_path else {}),
        )
        atexit.register(server.kill)
    return server


def _serve() -> None:
    for name in ("rich.console", "goldsmith.generate", "goldsmith.render"):
        importlib.import_module(name)
    dict(importlib.import_module("goldsmith.cli.app").commands())
    played = hasattr(sys.modules.get("sitecustomize"), "FACTS")  # another system, by `systems.py`, which has numpy
    assert played or "numpy" not in sys.modules
    fork = sys.modules["sitecustomize"].fork if played else os.fork
    for line in sys.stdin:
        request = json.loads(line)
        child = fork()
        if not child:
            _become(request)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def _become(request: dict[str, object]) -> None:
    from goldsmith.cli import run as run_goldsmith

    code = 70
    try:
        for name, target in (("out", 1), ("err", 2)):
            os.dup2(os.open(str(request[name]), os.O_WRONLY | os.O_CREAT, 0o600), target)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.environ.clear()
        os.environ.update(request["environment"])  # type: ignore[arg-type]
        os.chdir(str(request["cwd"]))
        sys.argv = ["goldsmith", *request["arguments"]]  # type: ignore[misc]
        run_goldsmith()
        code = 0
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    _serve()
