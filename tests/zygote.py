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
_server: subprocess.Popen[str] | None = None


def run(arguments: Sequence[str], cwd: Path) -> tuple[int, str, str]:
    """What `goldsmith ARGUMENTS` leaves behind when it is run in `cwd`: exit code, standard output and error."""
    server = _running()
    assert server.stdin is not None
    assert server.stdout is not None
    with tempfile.TemporaryDirectory(prefix="zygote-") as folder:
        out, err = Path(folder, "out"), Path(folder, "err")
        request = {"arguments": list(arguments), "cwd": str(cwd), "out": str(out), "err": str(err)}
        request["environment"] = dict(os.environ)  # type: ignore[assignment]
        server.stdin.write(json.dumps(request) + "\n")
        server.stdin.flush()
        code = int(server.stdout.readline())
        return (
            code,
            out.read_text(encoding="utf-8", errors="replace"),
            err.read_text(encoding="utf-8", errors="replace"),
        )


def _running() -> subprocess.Popen[str]:
    global _server
    if _server is None or _server.poll() is not None:
        _server = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        atexit.register(_server.kill)
    return _server


def _serve() -> None:
    for name in ("rich.console", "goldsmith.cli.app", "goldsmith.generate", "goldsmith.render"):
        importlib.import_module(name)
    assert "numpy" not in sys.modules
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
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
