"""What this machine can promise is found out by trying, said in words, and refused where it is not enough."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from corpora.attacks import Prey, prey_in
from goldsmith import doctor
from goldsmith.errors.sandbox import NoSandbox
from goldsmith.foundation import kernel
from goldsmith.frameworks.framework import registered
from goldsmith.sandbox import bubblewrap, landlock, privileges
from goldsmith.sandbox import capabilities as levels
from goldsmith.sandbox.bubblewrap import hides as bubblewrap_hides
from goldsmith.sandbox.bubblewrap import prefix as bubblewrap_prefix
from goldsmith.sandbox.capabilities import probe
from goldsmith.sandbox.confinement import Confinement, confine
from goldsmith.sandbox.packages import PACKAGE
from goldsmith.sandbox.promises import sandbox_level
from goldsmith.sandbox.readable_paths import reach
from support.course import CourseOnDisk

pytestmark = pytest.mark.skipif(not probe().sufficient, reason=f"this machine offers {probe().name}")

HERE = probe()


@pytest.fixture
def prey(tmp_path: Path) -> Iterator[Prey]:
    with prey_in(tmp_path) as prey:
        yield prey


# --- what can be promised


def test_the_probe_leaves_this_process_as_it_is() -> None:
    levels.probe.cache_clear()
    assert probe().sufficient
    assert os.listdir("/")
    assert "NoNewPrivs:\t0" in Path("/proc/self/status").read_text()
    assert re.fullmatch(r"Landlock \(ABI \d+\), seccomp, limits(, bubblewrap)?", probe().name)


def said_by_a_fork(folder: Path, before: Callable[[], None]) -> str:
    """What locking in says in a fork that has done something before."""
    child = os.fork()
    if not child:
        try:
            before()
            confine(Confinement(home=str(folder)), HERE)
        except BaseException as error:
            (folder / "said").write_text(str(error))
        os._exit(0)
    os.waitpid(child, 0)
    return (folder / "said").read_text()


def test_a_thread_that_would_stay_outside_is_refused(tmp_path: Path) -> None:
    thread = threading.Thread(target=time.sleep, args=(5,), daemon=True)
    assert said_by_a_fork(tmp_path, thread.start) == (
        "this process could not be sandboxed, so nothing is run in it: "
        "Landlock failed (it has 2 threads, and only one of them would be bound); "
        "`goldsmith doctor` says what this machine can do."
    )


def test_a_layer_that_is_promised_and_fails_is_an_error(tmp_path: Path) -> None:
    """Sixteen layers of Landlock are all that a kernel takes; then there is no room for ours."""

    def fill() -> None:
        privileges.no_new_privileges()
        for _ in range(16):
            landlock.restrict(HERE.landlock, readable=["/"], writable=["/"])

    assert "Landlock failed (Argument list too long); " in said_by_a_fork(tmp_path, fill)


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSYS, "it takes a Linux kernel of 5.13 or later"),
        (errno.EOPNOTSUPP, "add `landlock` to the `lsm=`"),
        (errno.EPERM, "allow the landlock_* system calls"),
    ],
)
def test_without_landlock_it_refuses_and_says_why(monkeypatch: pytest.MonkeyPatch, number: int, words: str) -> None:
    """Only the system call is made up: this machine's kernel has it."""

    def refuse(call: int, *arguments: object) -> int:
        if call == 444:
            raise OSError(number, os.strerror(number))
        return kernel.system_call(call, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(landlock, "system_call", refuse)
    levels.probe.cache_clear()
    try:
        level = probe()
        assert (level.landlock, level.seccomp, level.sufficient) == (0, True, False)
        with pytest.raises(NoSandbox, match=re.escape(words)) as refusal:
            level.require()
        assert "seccomp, limits" in str(refusal.value)
        assert "--allow-unsandboxed" in str(refusal.value)
    finally:
        levels.probe.cache_clear()


def test_elsewhere_there_are_limits_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(levels, "machine", lambda: "")
    levels.probe.cache_clear()
    try:
        assert (probe().name, probe().sufficient) == ("limits only", False)
    finally:
        levels.probe.cache_clear()


# --- bubblewrap


def test_behind_bubblewrap_there_is_what_was_named_only() -> None:
    before = bubblewrap_prefix(readable=["/usr", "/proc/cpuinfo"], writable=["/w"])
    assert before[1:] == [
        "--unshare-user-try", "--unshare-ipc", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try",
        "--cap-drop", "ALL", "--ro-bind", "/proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp",
        "--ro-bind-try", "/usr", "/usr", "--bind", "/w", "/w", "--chdir", "/", "--",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (None, "not installed"),
        (
            "echo 'bwrap: No permissions to create a new namespace' >&2; exit 1",
            "No permissions to create a new namespace",
        ),
        ("exit 0", ""),
    ],
)
def test_bubblewrap_is_tried_before_it_is_promised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str | None, reason: str
) -> None:
    if script is not None:
        (tmp_path / "bwrap").write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/nowhere")
    bubblewrap.why_not.cache_clear()
    bubblewrap.works.cache_clear()
    try:
        assert (bubblewrap.why_not(), bubblewrap.works()) == (reason, not reason)
    finally:
        bubblewrap.why_not.cache_clear()
        bubblewrap.works.cache_clear()


@pytest.mark.skipif(not bubblewrap.works(), reason=f"bubblewrap: {bubblewrap.why_not()}")
def test_in_bubblewrap_even_names_are_hidden(prey: Prey, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    before = bubblewrap_prefix(readable=reach().readable, writable=[str(own)])
    assert bubblewrap_hides(before, hidden=[str(prey.gold), str(prey.shared)], writable=[str(own)])
    assert not bubblewrap_hides(before, hidden=[str(own)], writable=[str(own)])
    assert not bubblewrap_hides(before, hidden=[], writable=[str(prey.gold.parent)])
    with socket.create_server(("127.0.0.1", 0)) as listening:
        code = f"import socket; socket.create_connection(('127.0.0.1', {listening.getsockname()[1]}), 2)"
        run = subprocess.run([*before, sys.executable, "-c", code], capture_output=True, text=True)
    assert "ConnectionRefusedError" in run.stderr, "it has a loopback interface of its own"
    assert not os.listdir(own)


@pytest.mark.skipif(not bubblewrap.works(), reason=f"bubblewrap: {bubblewrap.why_not()}")
def test_in_bubblewrap_a_process_locks_itself_in_as_well(tmp_path: Path) -> None:
    code = (
        "import os, sys; sys.path.append(sys.argv[2]); os.chdir(sys.argv[1]);"
        "from goldsmith.sandbox.confinement import Confinement, confine;"
        "from goldsmith.sandbox.readable_paths import reach;"
        "here = reach(); print(confine(Confinement(home=sys.argv[1], readable=here.readable)).name);"
        "open('new', 'w').write('x')"
    )
    before = bubblewrap_prefix(readable=reach().readable, writable=[str(tmp_path)])
    program = [sys.executable, "-c", code, str(tmp_path), str(PACKAGE.parent)]
    run = subprocess.run([*before, *program], capture_output=True, text=True)
    assert run.stdout.startswith("Landlock (ABI"), run.stderr
    assert (tmp_path / "new").read_text() == "x"


@pytest.mark.parametrize(
    ("walls", "level"),
    [
        (["Landlock (ABI 7), seccomp, limits, bubblewrap"], "full"),
        (["Landlock (ABI 7), seccomp, limits, bubblewrap", "Landlock (ABI 5), seccomp, limits"], "basic"),
        (["Landlock (ABI 7), seccomp, limits, bubblewrap", "none"], "none"),
        ([], "none"),
    ],
)
def test_the_weakest_walls_say_at_which_level_a_class_was_graded(walls: list[str], level: str) -> None:
    found = sandbox_level(walls)
    assert found.level == level
    assert found.sentence == f"Sandbox level {level}: {found.meaning}."


# --- the doctor


def test_the_doctor_says_how_well_submissions_can_be_locked_in(tmp_path: Path) -> None:
    run = CourseOnDisk(tmp_path).run("doctor", "--json")
    facts = {fact["name"]: fact for fact in run.json["facts"]}
    assert facts["landlock"]["value"] == f"ABI {HERE.landlock}"
    assert facts["seccomp"]["value"] == "works"
    assert facts["bubblewrap"]["value"] == (bubblewrap.why_not() or "works")
    assert "user-namespaces" in facts
    assert facts["cgroups"]["outcome"] in ("ok", "note")
    assert run.json["sandbox"]["level"] == ("full" if HERE.bubblewrap else "basic")
    assert run.code == 0


def test_a_device_that_several_libraries_can_use_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for library in registered():
        with contextlib.suppress(ModuleNotFoundError):  # not every library is installed
            monkeypatch.setattr(library.process, "device_names", lambda: ["NVIDIA H200"])
    devices = next(fact for fact in doctor._libraries() if fact.name == "devices")
    assert devices.value == "cpu, NVIDIA H200"
