"""Types that threads decode at the same time are known to msgspec before: else the process may die."""

from __future__ import annotations

import subprocess
import sys

# In every child, three threads decode each type for the first time. Unprepared, four in a hundred children die.
PROGRAM = """
import os, sys, threading
import msgspec
from goldsmith.judge.verdicts import Verdict
from goldsmith.process.result_log import RecordedRun

sys.setswitchinterval(1e-6)


def decode():
    together.wait()
    msgspec.json.decode(b'{"seconds": 1.0}', type=RecordedRun)
    msgspec.json.decode(b'{"name": "a", "assignment": "b", "outcome": "agrees"}', type=Verdict)


died = 0
for _ in range(250):
    child = os.fork()
    if not child:
        together = threading.Barrier(3)
        threads = [threading.Thread(target=decode) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        os._exit(0)
    died += os.waitpid(child, 0)[1] != 0
print(died)
"""


def test_threads_that_decode_the_same_type_at_once_all_do() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0"]
