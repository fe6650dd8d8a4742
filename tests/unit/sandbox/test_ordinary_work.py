"""Ordinary work goes on in a process that has locked itself in: numbers, files, workers, other programs."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from goldsmith.sandbox.capabilities import probe
from support import sandbox_probe as confining

pytestmark = [
    pytest.mark.long,
    pytest.mark.torch,
    pytest.mark.skipif(not probe().sufficient, reason=f"this machine offers {probe().name}"),
]
LIMITS = {"memory": 2**35, "file_size": 2**26, "processes": 256, "open_files": 256, "cpu_seconds": 60}
TESTS = Path(confining.__file__).parents[1]
Ask = Callable[..., Any]


@pytest.fixture(scope="module")
def warm() -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", confining.__name__]
    with subprocess.Popen(command, cwd=TESTS, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


@pytest.fixture
def ask(warm: subprocess.Popen[str], tmp_path: Path) -> Ask:
    """What a job of `working.py` returns in a fork of the warm process that has locked itself in."""

    def ask(job: str, **limits: int) -> Any:
        assert warm.stdin is not None
        assert warm.stdout is not None
        request = {"job": job, "folder": str(tmp_path), "limits": LIMITS | limits}
        warm.stdin.write(json.dumps(request) + "\n")
        warm.stdin.flush()
        answer = json.loads(warm.stdout.readline())
        print(f"{job}: {answer['seconds'] * 1000:.0f} ms")
        assert not answer["error"], answer["message"]
        return answer["value"]

    return ask


def test_models_train_with_threads(ask: Ask) -> None:
    assert ask("training") < 0.1


def test_linear_algebra_attention_and_convolution_run(ask: Ask) -> None:
    largest, squared, elements = ask("linear_algebra")
    assert largest == pytest.approx(squared)
    assert elements == 2 * 4 * 16 * 8 + 4 * 14 * 14


def test_loaders_with_workers_deliver(ask: Ask) -> None:
    assert ask("loader_with_workers") == 2 * 3 * sum(number**2 for number in range(40))


def test_files_are_saved_and_loaded_at_home(ask: Ask) -> None:
    assert ask("saving_and_loading") == [6.0, 6.0, 6.0]
    assert ask("temporary_files") == []


def test_other_programs_run_and_can_be_stopped(ask: Ask) -> None:
    assert ask("another_python") == "3.141592653589793"
    assert ask("a_shell") == "42"
    assert ask("stopping_ones_own_child") == -9


def test_pools_queues_locks_and_threads_work(ask: Ask) -> None:
    assert ask("a_pool") == [*range(0, 20, 2), 0, 2, 4, 150, 150]
    assert ask("threads") == 90


def test_facts_of_the_machine_are_there(ask: Ask) -> None:
    assert ask("facts_of_this_machine") == [True, True, True]
