"""Mutants that hang, fork, eat memory, delete files or never stop printing hurt nobody but themselves."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from goldsmith.mutants.results import Finding
from support.course import COMMAND, RECIPE_FILE, CourseOnDisk, wait_until
from support.mutant_course import FILES, by_name, mutated_course, rigor_of


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


QUICK = ("hangs", "daemon", "deletes", "kills-itself", "harmless")
"""One that is stopped, one that leaves something behind, one that destroys what is around it, and one that is lost."""


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    recipe = FILES[RECIPE_FILE].replace("import centre, standardise", "import centre, standardise, unused")
    files = FILES | {RECIPE_FILE: recipe.replace("centre(case.input", "unused(case.input")}
    return mutated_course(tmp_path_factory.mktemp("hostile") / "course", HOSTILE, files, calibrate=False)


def findings(course: CourseOnDisk, *names: str, case_timeout: float) -> dict[str, Finding]:
    before = course.snapshot("src", "private", "tests")
    rigor = rigor_of(course, *names, case_timeout=case_timeout)
    assert course.snapshot("src", "private", "tests") == before
    return {name.removeprefix("unused/"): item for name, item in by_name(rigor).items()}


@pytest.fixture(scope="module")
def found(course: CourseOnDisk) -> dict[str, Finding]:
    return findings(course, *QUICK, case_timeout=0.5)


@pytest.fixture(scope="module")
def others(course: CourseOnDisk) -> dict[str, Finding]:
    return findings(course, *(name for name in HOSTILE if name not in QUICK), "harmless", case_timeout=2.0)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("hangs", "took longer than 0.5 s"),
        ("daemon", "left something running"),
        ("deletes", "all gone"),
        ("kills-itself", "SIGKILL"),
    ],
)
def test_a_hostile_mutant_crashed_and_says_how(found: dict[str, Finding], name: str, reason: str) -> None:
    assert found[name].outcome == "crashed"
    assert reason in found[name].reason


@pytest.mark.long  # the like of test_a_hostile_mutant_crashed_and_says_how
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("ignores-sigterm", "took longer than 2 s"),
        ("forks", "took longer than 2 s"),
        ("fork-bomb", ""),
        ("eats-memory", "emory"),
        ("prints", "File too large"),
        ("exits", "ended its process early"),
    ],
)
def test_so_did_others(others: dict[str, Finding], name: str, reason: str) -> None:
    assert others[name].outcome == "crashed"
    assert reason in others[name].reason
    assert others["harmless"].outcome == "killed"


def test_those_beside_them_are_judged_as_ever(found: dict[str, Finding]) -> None:
    assert (found["harmless"].outcome, found["harmless"].case) == ("killed", "centred")


def test_nothing_of_them_is_left_running(found: dict[str, Finding]) -> None:
    wait_until(lambda: not _running(MARK))


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
    wait_until(lambda: [*kept.glob("[!.]*")])
    os.kill(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted" in err
    assert len(list(kept.iterdir())) == 1
    again = course.run("rigor", "hw1", "--only", "harmless")
    assert "1 mutant known from before, " in again.err
