"""The warm process is a convenience: whoever ends it costs nobody else anything."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import msgspec

from goldsmith.recording import Job, settled_environment, warm_process

ENVIRONMENT = settled_environment(1)


def test_one_that_dies_while_it_is_asked_is_replaced(tmp_path: Path) -> None:
    recipe, job_file, log = (tmp_path / name for name in ("recipe.py", "job.json", "log"))
    recipe.write_text("print('here I am')\n")
    here = str(tmp_path)
    job = Job(
        root=here, folder=here, recipe=str(recipe), output=here, scratch=here, seed=1, threads=1, device="cpu", parent=0
    )
    job_file.write_bytes(msgspec.json.encode(job))
    with warm_process(torch=False) as warm:
        warm.begin(ENVIRONMENT)
        assert warm._server is not None
        first = warm._server.pid
        os.kill(first, signal.SIGSTOP)
        threading.Timer(0.3, os.kill, (first, signal.SIGKILL)).start()
        child = warm.start(job_file, log, here, ENVIRONMENT | {"TMPDIR": here})
        child.wait(60)
        assert warm._server.pid != first
    assert "here I am" in log.read_text()
