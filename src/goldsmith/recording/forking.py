"""The warm process: `python -P -m goldsmith.recording.forking [torch]`.

It has imported what takes long, knows nothing of any gold, and forks a child for each job that it is told of on its
standard input.
"""

from __future__ import annotations

import json
import os
import select
import sys
import tempfile
import traceback
from pathlib import Path

from goldsmith.recording import child
from goldsmith.recording.protocol import ENDED

_POLL = 0.01


def serve() -> None:
    """Read a job file's path and a log's, fork, answer with the child's number; until standard input ends."""
    parent = os.getppid()
    children: dict[int, Path] = {}
    while os.getppid() == parent:
        _reap(children)
        if not select.select([sys.stdin], [], [], _POLL)[0]:
            continue
        line = sys.stdin.readline()
        if not line:
            break
        request = json.loads(line)
        number = os.fork()
        if not number:
            _become(request)
        children[number] = Path(request["scratch"], ENDED)
        print(number, flush=True)


def _reap(children: dict[int, Path]) -> None:
    while children:
        number, status = os.waitpid(-1, os.WNOHANG)
        if not number:
            return
        ended = children.pop(number, None)
        if ended is not None:
            partial = ended.with_suffix(".partial")
            try:
                partial.write_text(str(os.waitstatus_to_exitcode(status)))
                partial.replace(ended)
            except OSError:
                continue  # the workspace is gone: nobody waits for this any more


def _become(request: dict[str, str]) -> None:
    """In the fork: a session, streams and an environment of its own, then the job as any child does it."""
    code = 1
    try:
        os.setsid()
        log = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
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


if __name__ == "__main__":
    if "torch" in sys.argv:
        _import_torch()
    serve()
