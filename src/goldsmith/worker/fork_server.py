"""The fork server: `python -P -m goldsmith.worker.fork_server [LIBRARY…] [strangers] [no-optimisers]`; its client is
`process/fork_client.py`.

It has a child forked for each job that it reads from standard input, supervises it (`supervisor.py`), kills what it
leaves running, and writes down how it has ended. The forking itself is done by another process, the zygote
(`zygote.py`), which knows nothing of the jobs.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import sys
from pathlib import Path
from typing import Any

from goldsmith.foundation.platforms import IS_LINUX
from goldsmith.process.descendants import adopt_orphans, quota_for
from goldsmith.process.fork_client import NO_OPTIMISERS, STRANGERS
from goldsmith.process.untrusted_files import exit_status_file
from goldsmith.sandbox import access_times
from goldsmith.worker.supervisor import POLL_INTERVAL_S, Supervisor
from goldsmith.worker.zygote import NoZygote, Zygote

_WAKE_UP_BYTES = 2**16


class ForkServer:
    """Carries out requests, one after another."""

    def __init__(self, zygote: Zygote | NoZygote) -> None:
        self._zygote = zygote
        self._supervisor = Supervisor(zygote.pid)
        self._status_files: dict[int, Path] = {}

    def serve(self) -> None:
        """Answer requests until standard input, the zygote or the parent ends; then kill all children."""
        parent = os.getppid()
        zygote = self._zygote
        while os.getppid() == parent:
            self._supervisor.look()
            ready = select.select([sys.stdin, zygote.child_exits, zygote], [], [], POLL_INTERVAL_S)[0]
            if zygote in ready:
                break  # it has ended, and without it there are no more children
            if zygote.child_exits in ready:
                with contextlib.suppress(BlockingIOError):
                    os.read(zygote.child_exits, _WAKE_UP_BYTES)
                self._reap()
            if sys.stdin not in ready:
                continue
            line = sys.stdin.readline()
            if not line:
                break
            print(self._answer(json.loads(line)), flush=True)
        self._supervisor.kill_all()

    def _answer(self, request: dict[str, Any]) -> int:
        """Carry out a request; return a new child's process id, or whether something could be preloaded."""
        if "import" in request:
            return int(self._zygote.import_all(request["import"]))
        if "read" in request:
            return int(self._zygote.read_all(request["read"]))
        quota = quota_for(Path(request["job"]))
        pid = self._zygote.fork(request)
        self._status_files[pid] = exit_status_file(Path(request["scratch"]))
        self._supervisor.add(pid, quota)
        return pid

    def _reap(self) -> None:
        """Write down how children ended, and the reason if they were killed here."""
        for pid, status, reason in self._supervisor.reap(self._zygote.reap):
            file = self._status_files.pop(pid, None)
            if file is None:
                continue
            partial = file.with_suffix(".partial")
            with contextlib.suppress(OSError):  # the workspace is gone: nothing waits for this any more
                partial.write_text(f"{os.waitstatus_to_exitcode(status)} {reason}")
                partial.replace(file)


if __name__ == "__main__":
    adopt_orphans()
    if STRANGERS in sys.argv:
        access_times.stop_noting()
    libraries = [item for item in sys.argv[1:] if item not in (STRANGERS, NO_OPTIMISERS)]
    kind = Zygote if IS_LINUX else NoZygote
    ForkServer(kind(libraries, optimisers=NO_OPTIMISERS not in sys.argv)).serve()
