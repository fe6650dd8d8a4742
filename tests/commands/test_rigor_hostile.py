"""Mutants that hang, fork, eat memory, delete files or never stop printing hurt nobody but themselves."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from goldsmith.mutants.results import Finding
from support.course import COMMAND, CourseOnDisk
from support.mutant_course import by_name, mutated_course, rigor_of


def statements(*lines: str) -> str:
    """Several statements as one expression, in one line."""
    return f"exec({chr(10).join(lines)!r})"


MARK = "goldsmith-hostile-mutant"
DAEMON = statements(
    "import os, sys",
    "if os.fork() == 0:",
    "    os.setsid()",
    "    if os.fork() == 0:",
    f"        os.execv(sys.executable, [sys.executable, '-c', 'import time; time.sleep(600)', '{MARK}'])",
    "    os._exit(0)",
    "raise ValueError('left something running')",
)
HOSTILE = {
    "hangs": ("2.0", statements("while True: pass")),
    "ignores-sigterm": (
        "2.0",
        statements("import signal, time", "signal.signal(15, 1)", "time.sleep(600)"),
    ),
    "forks": ("2.0", statements("import os", "for _ in range(4): os.fork()", "import time", "time.sleep(600)")),
    "fork-bomb": ("2.0", statements("import os", "while True: os.fork()")),
    "daemon": ("2.0", DAEMON),
    "eats-memory": ("2.0", statements("import numpy", "kept = []", "while True: kept.append(numpy.zeros(10**8))")),
    "deletes": ("2.0", statements("import os, shutil", "shutil.rmtree(os.getcwd())", "raise OSError('all gone')")),
    "prints": ("2.0", statements("while True: print('x' * 10**6)")),
    "kills-itself": ("2.0", statements("import os", "os.kill(os.getpid(), 9)")),
    "exits": ("2.0", statements("import os", "os._exit(0)")),
    "harmless": ("2.0", "3.0"),
}


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    made = mutated_course(tmp_path_factory.mktemp("hostile") / "course", HOSTILE)
    recipe = made.root / "src/assignments/hw1/generate_fixtures.py"
    text = recipe.read_text().replace("import centre, standardise", "import centre, standardise, unused")
    recipe.write_text(text.replace("centre(case.input", "unused(case.input"))
    assert made.run("generate", "hw1", calibrate=True).code == 0
    return made


@pytest.fixture(scope="module")
def found(course: CourseOnDisk) -> dict[str, Finding]:
    before = course.snapshot("src", "private", "tests")
    rigor = rigor_of(course, *HOSTILE, case_timeout=2.0)
    assert course.snapshot("src", "private", "tests") == before
    return {name.removeprefix("unused/"): item for name, item in by_name(rigor).items()}


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("hangs", "took longer than 2 s"),
        ("ignores-sigterm", "took longer than 2 s"),
        ("forks", "took longer than 2 s"),
        ("fork-bomb", ""),
        ("daemon", "left something running"),
        ("eats-memory", "emory"),
        ("deletes", "all gone"),
        ("prints", "File too large"),
        ("kills-itself", "SIGKILL"),
        ("exits", "ended its process early"),
    ],
)
def test_a_hostile_mutant_crashed_and_says_how(found: dict[str, Finding], name: str, reason: str) -> None:
    assert found[name].outcome == "crashed"
    assert reason in found[name].reason


def test_those_beside_them_are_judged_as_ever(found: dict[str, Finding]) -> None:
    assert (found["harmless"].outcome, found["harmless"].case) == ("killed", "centred")


def test_nothing_of_them_is_left_running(found: dict[str, Finding]) -> None:
    deadline = time.monotonic() + 5
    while _running(MARK) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert _running(MARK) == []


def _running(mark: str) -> list[str]:
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = entry.read_bytes().split(b"\0")
        except OSError:
            continue
        if mark.encode() in command:
            found.append(entry.parent.name)
    return found


def test_an_interrupted_run_keeps_what_is_done_and_leaves_nothing_behind(course: CourseOnDisk) -> None:
    names = [item for name in ("harmless", "hangs") for item in ("--only", name)]
    kept = course.root / ".goldsmith/rigor/hw1"
    shutil.rmtree(kept, ignore_errors=True)
    process = subprocess.Popen(
        [*COMMAND, "rigor", "hw1", *names, "--jobs", "2"],
        cwd=course.root,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 30
    while not (kept.is_dir() and any(kept.iterdir())) and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "interrupted" in err
    assert len(list(kept.iterdir())) == 1
    again = course.run("rigor", "hw1", "--only", "harmless")
    assert "1 mutant known from before, " in again.err
