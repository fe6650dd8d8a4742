"""The fork server: `python -P -m goldsmith.worker.fork_server [torch]`; its client is `process/fork_client.py`.

It supervises: it has a child forked for each job that it reads from standard input, enforces quotas, kills what
children leave running, and writes down how each has ended. The forking itself is done by another process, the zygote
(`zygote.py`), which knows nothing of the jobs.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import sys
import time
from collections.abc import Collection
from pathlib import Path
from typing import Any

from goldsmith.foundation.platforms import IS_LINUX
from goldsmith.process.descendants import Quota, adopt_orphans, enforce_quotas, kill_orphans, quota_for
from goldsmith.process.process_groups import signal_group
from goldsmith.process.untrusted_files import exit_status_file
from goldsmith.worker.zygote import NoZygote, Zygote

_POLL_INTERVAL_S, _MAX_POLL_INTERVAL_S = 0.2, 1.0
_POLL_DUTY = 5
"""Quotas are enforced again after this many times as long as it took, within the two intervals."""
_WAKE_UP_BYTES = 2**16


class ForkServer:
    """The supervisor of all children."""

    def __init__(self, zygote: Zygote | NoZygote) -> None:
        self._zygote = zygote
        self._status_files: dict[int, Path] = {}
        self._quotas: dict[int, Quota] = {}
        self._kill_reasons: dict[int, str] = {}
        self._last_look = self._next_look_at_quotas = 0.0

    def serve(self) -> None:
        """Answer requests until standard input, the zygote or the parent ends; then kill all children."""
        parent = os.getppid()
        zygote = self._zygote
        while os.getppid() == parent:
            self._supervise()
            ready = select.select([sys.stdin, zygote.child_exits, zygote], [], [], _POLL_INTERVAL_S)[0]
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
        for pid in self._status_files:  # not reaped yet, so their process ids are still theirs
            signal_group(pid, signal.SIGKILL)
        kill_orphans(())

    def _answer(self, request: dict[str, Any]) -> int:
        """Carry out a request; return a new child's process id, or whether something could be preloaded."""
        if "import" in request:
            return int(self._zygote.import_all(request["import"]))
        if "read" in request:
            return int(self._zygote.read_all(request["read"]))
        quota = quota_for(Path(request["job"]))
        pid = self._zygote.fork(request)
        self._status_files[pid] = exit_status_file(Path(request["scratch"]))
        if quota is not None:
            self._quotas[pid] = quota
        return pid

    def _supervise(self) -> None:
        """Kill orphans and children over their quota, each at its own interval."""
        if time.monotonic() - self._last_look > _POLL_INTERVAL_S:
            self._kill_reasons |= kill_orphans([*self._status_files, self._zygote.pid])
            if IS_LINUX:
                _reap_orphans(self._status_files)
            self._last_look = time.monotonic()
        if time.monotonic() > self._next_look_at_quotas:
            self._quotas = {pid: quota for pid, quota in self._quotas.items() if pid in self._status_files}
            start = time.monotonic()
            self._kill_reasons |= enforce_quotas(self._quotas)
            now = time.monotonic()
            interval = max(_POLL_INTERVAL_S, _POLL_DUTY * (now - start))
            self._next_look_at_quotas = now + min(_MAX_POLL_INTERVAL_S, interval)

    def _reap(self) -> None:
        """Write down how children ended, and the reason if they were killed here."""
        for pid, status in self._zygote.reap():
            reason = self._kill_reasons.pop(pid, "")
            file = self._status_files.pop(pid, None)
            if file is None:
                continue
            partial = file.with_suffix(".partial")
            with contextlib.suppress(OSError):  # the workspace is gone: nothing waits for this any more
                partial.write_text(f"{os.waitstatus_to_exitcode(status)} {reason}")
                partial.replace(file)


def _reap_orphans(children: Collection[int]) -> None:
    """Wait for ended processes that children left running and this process has adopted."""
    with contextlib.suppress(ChildProcessError):
        while (status := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is not None:
            if status.si_pid in children:
                return
            os.waitpid(status.si_pid, 0)


if __name__ == "__main__":
    adopt_orphans()
    with_torch = "torch" in sys.argv
    ForkServer(Zygote(torch=with_torch) if IS_LINUX else NoZygote(torch=with_torch)).serve()
