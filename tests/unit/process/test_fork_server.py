"""The warm process is a convenience: whoever ends it costs nobody else anything."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import msgspec
import numpy as np

from goldsmith.gold.files import write_payload
from goldsmith.process.fork_client import ForkClient, fork_server
from goldsmith.process.launcher import deterministic_environment
from goldsmith.process.messages import RecordJob

ENVIRONMENT = deterministic_environment(1)


def said_by_a_child(warm: ForkClient, folder: Path, recipe: str) -> str:
    folder.mkdir()
    file, job_file, log = (folder / name for name in ("recipe.py", "job.json", "log"))
    file.write_text(recipe)
    here = str(folder)
    job = RecordJob(
        root=here, folder=here, recipe=str(file), output=here, scratch=here, seed=1, threads=1, device="cpu", parent=0
    )
    job_file.write_bytes(msgspec.json.encode(job))
    warm.start(job_file, log, here, ENVIRONMENT | {"TMPDIR": here}).wait(60)
    return log.read_text()


def kill_while_asked(warm: ForkClient) -> None:
    """It is killed a moment from now, and says nothing any more until then."""
    assert warm._server is not None
    os.kill(warm._server.pid, signal.SIGSTOP)
    threading.Timer(0.3, os.kill, (warm._server.pid, signal.SIGKILL)).start()


def test_one_that_dies_while_it_is_asked_is_replaced(tmp_path: Path) -> None:
    with fork_server() as warm:
        warm.prestart(ENVIRONMENT)
        kill_while_asked(warm)
        assert "here I am" in said_by_a_child(warm, tmp_path / "child", "print('here I am')\n")


def test_what_all_are_given_is_read_once_by_the_next_one_too(tmp_path: Path) -> None:
    file = write_payload({"input": np.arange(3.0)}, tmp_path / "given", ".npz")
    recipe = f"""
from pathlib import Path
from goldsmith.worker.payload_cache import payloads
print(payloads.of(Path({str(file)!r}))["input"].sum())
"""
    with fork_server() as warm:
        warm.prestart(ENVIRONMENT)
        warm.preload_files([file])
        file.unlink()
        assert "3.0" in said_by_a_child(warm, tmp_path / "one", recipe)
        file = write_payload({"input": np.arange(4.0)}, tmp_path / "given", ".npz")
        kill_while_asked(warm)
        assert "6.0" in said_by_a_child(warm, tmp_path / "two", recipe)


def test_only_the_supervisor_has_priority_over_a_fork_bomb(tmp_path: Path) -> None:
    with fork_server() as server:
        said = said_by_a_child(server, tmp_path / "child", "import os\nprint('policy', os.sched_getscheduler(0))\n")
        assert f"policy {os.SCHED_OTHER}" in said
        assert server._server is not None
        if os.getuid() == 0:
            assert os.sched_getscheduler(server._server.pid) == os.SCHED_RR
    assert os.sched_getscheduler(0) == os.SCHED_OTHER
