"""Work in processes of its own: what one does to its process is nobody else's trouble."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from goldsmith.drafts.alone import Budget, Send, Task, do_alone
from goldsmith.drafts.draft import _Drafting
from goldsmith.drafts.observed_calls import Sightings, run_public_tests
from goldsmith.drafts.random_draws import watch_draws
from goldsmith.drafts.recipe_text import Block, DraftCase
from goldsmith.drafts.targets import Target
from goldsmith.drafts.working_calls import Finder


def counts(send: Send) -> None:
    for number in range(3):
        send(number)


def raises(send: Send) -> None:
    send("before")
    raise ValueError("no such thing")


def leaves(send: Send) -> None:
    send("before")
    os._exit(3)


def crashes(send: Send) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def exits(send: Send) -> None:
    raise SystemExit(1)


def hangs(send: Send) -> None:
    send("before")
    time.sleep(60)


def opens_numbers(send: Send) -> None:
    for number in range(3, 100):  # as `load(4)` does, where a path is guessed to be a number
        with contextlib.suppress(OSError), open(number) as file:
            send(file.read())
    send("after")


def test_each_task_has_its_own_fate_and_what_it_sent_is_kept() -> None:
    tasks = [Task(work, 20.0) for work in (counts, raises, leaves, crashes, exits, counts)]
    found = list(do_alone(tasks, budget=Budget(100.0)))
    assert [item.messages for item in found] == [[0, 1, 2], ["before"], ["before"], [], [], [0, 1, 2]]
    troubles = [item.trouble for item in found]
    assert troubles[0] == troubles[5] == ""
    assert troubles[1] == "ValueError: no such thing"
    assert troubles[2] == "it ends its process, with exit code 3"
    assert troubles[3] == "it crashes its process (SIGKILL)"
    assert "SystemExit" in troubles[4]


def test_numbers_that_are_opened_are_nobodys_files(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("of the process that drafts")
    with (tmp_path / "file").open():
        found = list(do_alone([Task(work, 20.0) for work in (counts, opens_numbers, counts)], budget=Budget(100.0)))
    assert [(item.messages, item.trouble) for item in found] == [([0, 1, 2], ""), (["after"], ""), ([0, 1, 2], "")]


def test_what_hangs_is_ended_and_what_it_sent_is_kept() -> None:
    begun = time.monotonic()
    (found,) = do_alone([Task(hangs, 1.0)], budget=Budget(100.0))
    assert found.messages == ["before"]
    assert found.trouble == "it did not come to an end within 1 seconds"
    assert time.monotonic() - begun < 30


def test_nothing_begins_once_the_time_is_up() -> None:
    (found,) = do_alone([Task(counts, 1.0)], budget=Budget(5.0), reserve=5.0)
    assert not found.messages
    assert "no time left" in found.trouble


def draws_in(folder: Path, source: str) -> bool:
    course = folder / "course.py"
    space: dict[str, object] = {"np": np}
    exec(compile(source, str(course), "exec"), space)
    with watch_draws(folder) as draws:
        exec(compile("np.random.rand(2)\nresult = f()", "<draft>", "exec"), space)
    return draws.found


def test_numbers_that_the_course_draws_are_noticed_and_those_of_a_case_are_not(tmp_path: Path) -> None:
    assert draws_in(tmp_path, "def f():\n    return np.random.randint(3)\n")
    assert draws_in(tmp_path, "import random\ndef f():\n    return random.random()\n")
    assert draws_in(tmp_path, "def f():\n    return np.random.default_rng(0).random()\n")
    assert not draws_in(tmp_path, "def f():\n    return np.ones(3)\n")
    assert not draws_in(tmp_path, "class A:\n    def __init__(self):\n        self.w = np.random.rand(3)\nf = A\n")


def test_numbers_that_torch_draws_are_noticed(tmp_path: Path) -> None:
    sampled = "import torch\ndef f():\n    return torch.distributions.Categorical(torch.ones(3)).sample()\n"
    assert draws_in(tmp_path, sampled)
    attention = "torch.nn.functional.scaled_dot_product_attention(x, x, x)"
    assert not draws_in(tmp_path, f"import torch\nx = torch.ones(1, 1, 3, 4)\ndef f():\n    return {attention}\n")
    evaluated = "import torch\ndef f():\n    return torch.dropout(torch.ones(3), 0.5, False)\n"
    assert not draws_in(tmp_path, evaluated)


def test_waiting_for_a_processor_costs_no_time() -> None:
    processor = {min(os.sched_getaffinity(0))}

    def works(send: Send) -> None:
        os.sched_setaffinity(0, processor)
        until = time.process_time() + 0.2
        while time.process_time() < until:
            pass

    busy = f"import os; os.sched_setaffinity(0, {processor})\nwhile True: pass"
    others = [subprocess.Popen([sys.executable, "-c", busy]) for _ in range(4)]
    try:
        budget, started = Budget(100.0), time.monotonic()
        (found,) = do_alone([Task(works, 30.0)], budget=budget)
        passed = time.monotonic() - started
    finally:
        for other in others:
            other.kill()
            other.wait()
    assert not found.trouble
    assert 0.1 < 100.0 - budget.left < passed / 2


def watched(root: Path, seconds: float) -> str:
    """What is said of watching the tests of a folder for so long."""
    sightings = Sightings([], str(root), str(root))
    task = Task(lambda send: run_public_tests(sightings, str(root), ["test_own.py"], seconds), 30.0)
    (outcome,) = do_alone([task], budget=Budget(100.0))
    return outcome.trouble


def test_tests_are_watched_for_processor_time_and_what_was_not_is_told(tmp_path: Path) -> None:
    (tmp_path / "test_own.py").write_text("import time\n\n\ndef test_waits():\n    time.sleep(1.5)\n")
    assert watched(tmp_path, 1.4) == ""  # as where others have the machine
    (tmp_path / "test_own.py").write_text("def test_computes():\n    while True:\n        pass\n")
    assert "they took more than 1.4 seconds" in watched(tmp_path, 1.4)


def test_blocks_that_work_are_kept_of_a_part_that_takes_too_long() -> None:
    first, second = Block("output", ("case.record('y', f(x))",)), Block("others", ("case.record('z', f(-x))",))
    case = DraftCase("f", "What f returns.", Block("setup", ()), (first, second), part="f")

    def refuted(send: Send) -> None:
        send(("so far", case, frozenset()))
        send(("trouble", "a solution with sums gets something else", frozenset()))
        time.sleep(60)

    def late(send: Send) -> None:
        send(("so far", case.with_blocks([first]), frozenset()))
        time.sleep(60)

    targets = [Target("m", name, (), False, len, "", set()) for name in ("g", "f")]
    drafting = _Drafting(Finder(targets, Sightings(targets, "/", "/"), 1), None, {}, None, 1, Budget(100.0))  # type: ignore[arg-type]
    (found,) = drafting._do(targets, [refuted, late], 1.5)
    assert [block.label for block in found.blocks] == ["output"]
    assert found.remarks == ("There would be more, but it did not come to an end within 2 seconds.",)
    assert drafting.left_out(targets, [found]) == {"m:g": "a solution with sums gets something else"}
