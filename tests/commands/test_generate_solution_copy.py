"""Before gold is published, a copy of the solution is submitted like a student's, and must agree with it."""

from __future__ import annotations

import pytest

from goldsmith.sandbox import private_network
from goldsmith.sandbox.capabilities import probe
from support.course import RECIPE_FILE, CourseOnDisk

HEAD = """
    import itertools
    from pathlib import Path

    import numpy as np

    import goldsmith as gs
    from ops import scale

    numbers = itertools.count()
"""
TAIL = """

    if __name__ == "__main__":
        gs.main()
"""
FINE = """
    @gs.case
    def fine(case):
        case.record("y", scale(case.input("x", lambda: np.random.randn(3, 5))))
"""
NOT_REPLAYED = {
    "count": """
    @gs.case
    def odd(case):
        case.record("y", scale(case.input("x", lambda: np.random.randn(3, 5))) + next(numbers))
""",
    "private": """
    @gs.case
    def odd(case):
        x = case.input("x", lambda: np.random.randn(3, 5))
        case.record("y", scale(x) + len((Path(__file__).parents[3] / "tests/internal/secret.txt").read_text()))
""",
}


@pytest.mark.parametrize("kind", NOT_REPLAYED)
def test_gold_that_nobody_could_meet_is_refused_with_the_report_of_check(course: CourseOnDisk, kind: str) -> None:
    course.write({RECIPE_FILE: HEAD + FINE + NOT_REPLAYED[kind] + TAIL, "tests/internal/secret.txt": "secret"})
    shown = course.run("generate", "hw1")
    assert shown.code == 3
    assert course.gold_bytes() == {}
    assert "a copy of the solution: " in shown.out
    assert "Next: goldsmith check" not in shown.out
    assert shown.last_line.startswith("hw1: gold refused: a copy of the solution, submitted like a student's, does not")
    (outcome,) = course.run("generate", "hw1", "--json").json["assignments"]
    assert (outcome["outcome"], outcome["error"]["kind"]) == ("refused", "copy-disagrees")
    assert " in odd (" in outcome["error"]["message"]
    assert outcome["error"]["report"] in shown.out


def test_gold_before_stays_when_new_gold_is_refused(course: CourseOnDisk) -> None:
    course.write({RECIPE_FILE: HEAD + FINE + TAIL})
    assert course.run("generate", "hw1").code == 0
    before = course.gold_bytes()
    course.write({RECIPE_FILE: HEAD + FINE + NOT_REPLAYED["count"] + TAIL})
    assert course.run("generate", "hw1").code == 3
    assert course.gold_bytes() == before


def test_what_a_recipe_declares_to_come_out_differently_is_not_asked_to_agree(course: CourseOnDisk) -> None:
    declared = NOT_REPLAYED["count"].replace("@gs.case", '@gs.case(allow={"reproducible": "it counts"})')
    course.write({RECIPE_FILE: HEAD + FINE + declared + TAIL})
    assert course.run("generate", "hw1").code == 0


# --- in the sandbox that submissions are graded in ------------------------------------------------------------------

needs_sandbox = pytest.mark.skipif(not probe().sufficient, reason=f"this machine offers {probe().name}")
IN_A_CASE = """
    @gs.case
    def odd(case):
        x = case.input("x", lambda: np.random.randn(3, 5))
        {line}
        case.record("y", scale(x))
"""
DENIED = {
    "a server": ("socket.create_server(('127.0.0.1', 0)).close()", "sockets are denied there; to let them in"),
    "shared memory": ("shared_memory.SharedMemory(create=True, size=100).unlink()", "shared memory is denied there"),
    "a file in memory": ("os.close(os.memfd_create('x'))", "shared memory is denied there"),
    "datagrams": ("socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)", "Unix sockets are denied there"),
    "a file of the machine's": ("open('/etc/hostname').close()", "copy what lies elsewhere into the course"),
    "a process that gives up": (
        "subprocess.run([sys.executable, '-c', 'import os; os.setsid()'], check=True)",
        "it has no network, no shared memory",
    ),
    "a hang": (
        "os.environ.get('LOGNAME') == 'submission' and time.sleep(60)",
        "what it waits for or needs may be denied there",
    ),
}
LET_IN = {
    "a pair of sockets": "one, two = socket.socketpair(); one.send(b'x'); two.recv(1)",
    "a fork": "multiprocessing.get_context('fork').Pool(1).map(abs, [1])",
    "a temporary file": "tempfile.TemporaryFile().close()",
    "facts of the processor": "open('/proc/cpuinfo').close()",
    "another program": "subprocess.run([sys.executable, '-c', ''], check=True)",
    "threads": "[thread.start() for thread in [threading.Thread(target=int) for _ in range(20)]]",
}
MODULES = """
    import multiprocessing, os, socket, subprocess, sys, tempfile, threading, time
    from multiprocessing import shared_memory
"""


def _recipe(line: str, decorator: str = "@gs.case") -> dict[str, str]:
    case = IN_A_CASE.format(line=line).replace("@gs.case", decorator)
    return {RECIPE_FILE: MODULES + HEAD + FINE + case + TAIL, "goldsmith.toml": "case-timeout = 2\n"}


@needs_sandbox
@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=() if kind == "a server" else pytest.mark.long) for kind in DENIED]
)
def test_gold_is_refused_if_the_solution_cannot_be_graded_by_it(course: CourseOnDisk, kind: str) -> None:
    line, words = DENIED[kind]
    course.write(_recipe(line))
    (outcome,) = course.run("generate", "hw1", "--json").json["assignments"]
    assert (outcome["outcome"], outcome["error"]["kind"]) == ("refused", "copy-fails-in-sandbox")
    assert course.gold_bytes() == {}
    said = outcome["error"]["message"]
    assert "the solution agrees with it, but not in the sandbox" in said
    assert "where it cannot run odd" in said
    assert words in said
    if kind != "a hang":
        where = (course.root / RECIPE_FILE).read_text().splitlines().index(f"    {line}") + 1
        assert f"line {where} of generate_fixtures.py" in said


@needs_sandbox
@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=() if kind == "threads" else pytest.mark.long) for kind in LET_IN]
)
def test_ordinary_work_of_a_recipe_runs_in_the_sandbox(course: CourseOnDisk, kind: str) -> None:
    shown = course.write(_recipe(LET_IN[kind])).run("generate", "hw1")
    assert shown.code == 0, shown.last_line
    assert "not tried" not in shown.out


@needs_sandbox
def test_a_case_can_declare_that_it_is_not_tried_in_the_sandbox(course: CourseOnDisk) -> None:
    course.write(_recipe(DENIED["a server"][0], '@gs.case(allow={"sandbox": "it is graded elsewhere"})'))
    made = course.run("generate", "hw1")
    assert made.code == 0, made.last_line


@pytest.mark.skipif(bool(private_network.why_not()), reason="no private network can be made here")
@needs_sandbox
def test_sockets_that_the_settings_let_in_are_let_in_there(course: CourseOnDisk) -> None:
    course.write(_recipe(DENIED["a server"][0])).write({"goldsmith.toml": "[grade]\nloopback = true\n"})
    made = course.run("generate", "hw1")
    assert made.code == 0, made.last_line
    assert "not tried" not in made.out


def test_a_script_without_cases_has_nothing_to_replay(course: CourseOnDisk) -> None:
    course.write({RECIPE_FILE: SCRIPT})
    made = course.run("generate", "hw1")
    assert made.code == 0, made.out


SCRIPT = """
    import argparse
    from pathlib import Path

    import numpy as np

    from ops import scale

    parser = argparse.ArgumentParser()
    parser.add_argument("--output", type=Path)
    np.random.seed(1)
    x = np.random.randn(3, 5)
    np.savez(parser.parse_args().output / "made.npz", input=x, output=scale(x), seed=1)
"""
