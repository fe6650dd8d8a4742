"""Cgroups: the kernel refuses what is too many, nothing is left behind, and only what is goldsmith's is removed."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from goldsmith.sandbox import cgroups
from goldsmith.sandbox.cgroups import Cgroup, controllers, make_cgroup, wait_until_in
from support.check_course import checked_course, hand_in
from support.course import has_ended, wait_until

pytestmark = pytest.mark.skipif(not controllers(), reason="cgroups cannot be made here")
TASKS = 40
FORKS = """
    import os, sys, time
    sys.stdin.readline()
    count = 1
    while True:
        try:
            if not os.fork():
                time.sleep(60)
        except BlockingIOError:
            break
        count += 1
    print(count, flush=True)
    time.sleep(60)
"""
TAKES_MEMORY = """
    import sys
    sys.stdin.readline()
    sys.stdout.write(str(len(b"x" * 2**28)))
"""
MAKES_ONE = """
    import os, subprocess, sys, time
    from goldsmith.sandbox.cgroups import make_cgroup
    cgroup = make_cgroup(9, None)
    child = subprocess.Popen(["sleep", "60"], start_new_session=True)
    cgroup.add(child.pid)
    print(cgroup.name, child.pid, flush=True)
    time.sleep(60)
"""


@pytest.fixture
def cgroup() -> Iterator[Cgroup]:
    yield from removed_again(make_cgroup(TASKS, None))


@pytest.fixture
def small_cgroup() -> Iterator[Cgroup]:
    yield from removed_again(make_cgroup(TASKS, 2**26))


def removed_again(made: Cgroup | None) -> Iterator[Cgroup]:
    assert made is not None
    yield made
    made.remove()


def python(code: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-S", "-c", textwrap.dedent(code)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def folders(name: str) -> list[Path]:
    return [item.parent / name for item in controllers() if (item.parent / name).exists()]


def has(controller: str) -> pytest.MarkDecorator:
    found = any(item.name == controller for item in controllers())
    return pytest.mark.skipif(not found, reason=f"there is no {controller} controller here")


@has("pids")
def test_too_many_processes_are_refused_and_all_are_killed_with_it(cgroup: Cgroup) -> None:
    with python(FORKS) as process:
        assert process.stdin
        assert process.stdout
        cgroup.add(process.pid)
        process.stdin.write("\n")
        process.stdin.flush()
        assert int(process.stdout.readline()) == TASKS
        cgroup.remove()
        assert process.wait(10) == -signal.SIGKILL
    assert folders(cgroup.name) == []


@has("memory")
def test_too_much_memory_is_refused_and_named(small_cgroup: Cgroup) -> None:
    with python(TAKES_MEMORY) as process:
        small_cgroup.add(process.pid)
        assert not small_cgroup.excess()
        assert process.communicate("\n")[0] == ""
        assert process.returncode == -signal.SIGKILL
    assert small_cgroup.excess() == "its processes took more than 64 MiB of memory together"


def test_a_process_waits_until_it_is_in_its_cgroup(cgroup: Cgroup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroups, "_ENTRY_TIMEOUT_S", 0.05)
    with pytest.raises(OSError, match="it was not moved into goldsmith-"):
        wait_until_in(cgroup.name, cgroup.hierarchies)
    arguments = f"{cgroup.name!r}, {cgroup.hierarchies}"
    code = f"from goldsmith.sandbox.cgroups import wait_until_in; wait_until_in({arguments}); print('in')"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        cgroup.add(process.pid)
        assert process.communicate()[0] == "in\n"


def test_what_a_killed_command_left_is_removed_with_what_runs_in_it() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(MAKES_ONE)], stdout=subprocess.PIPE, text=True
    ) as maker:
        assert maker.stdout
        name, pid = maker.stdout.readline().split()
        sweep()
        assert folders(name), "its maker lives"
        maker.kill()
        maker.wait()
        sweep()
    assert folders(name) == []
    wait_until(lambda: has_ended(int(pid)))


def test_a_cgroup_that_others_made_stays() -> None:
    parent = controllers()[0].parent
    others = parent / f"goldsmith-{'a' * 26}"
    others.mkdir()
    try:
        with subprocess.Popen(["sleep", "60"]) as sleeper:
            (others / "cgroup.procs").write_text(str(sleeper.pid))
            sweep()
            assert others.exists()
            assert sleeper.poll() is None
            sleeper.kill()
        sweep()
        assert others.exists(), "it may just have been made"
    finally:
        others.rmdir()


def test_version_2_is_used_where_an_outer_cgroup_delegates_the_controller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = tmp_path / "mount/user/shell"
    inner.mkdir(parents=True)
    (inner / "cgroup.subtree_control").write_text("\n")
    (inner.parent / "cgroup.subtree_control").write_text("memory pids\n")
    (tmp_path / "cgroup").write_text("0::/outside/user/shell\n")
    (tmp_path / "mountinfo").write_text(
        f"30 23 0:26 /outside {tmp_path}/mount rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
    )
    monkeypatch.setattr(cgroups, "_PROC", tmp_path)
    assert list(cgroups._candidates("pids")) == [cgroups.Controller("pids", 2, inner.parent)]
    assert not list(cgroups._candidates("cpu"))


def test_an_outer_cgroup_serves_where_ones_own_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = cgroups.Controller("pids", 1, Path("/proc"))
    usable = next(item for item in controllers())
    monkeypatch.setattr(cgroups, "_candidates", lambda name: iter([refused, usable] if name == usable.name else []))
    controllers.cache_clear()
    try:
        assert controllers() == (usable,)
    finally:
        controllers.cache_clear()


def test_a_graded_submission_runs_in_a_cgroup(tmp_path: Path) -> None:
    course = checked_course(tmp_path / "course")
    tells = ("return x * factor", "raise ValueError(open('/proc/self/cgroup').read())")
    folder = Path(hand_in(course, tells, name="ada")).parent
    graded = course.run("grade", "hw1", str(folder), "--json")
    assert cgroups._NAME.search(graded.out), graded.out


def sweep() -> None:
    """Do what the first sandboxed child of the next command has done."""
    controllers.cache_clear()
    controllers()
