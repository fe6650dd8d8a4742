"""Code that nobody trusts is locked in: real processes that lock themselves in, then try what hostile code tries.

Every attack is also run without walls, where it goes through: else a test could not fail.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from corpora.attacks import FILES, NETWORK, PROCESSES, SECRET, Attack, Prey, fork_says, prey_in, raw
from goldsmith.foundation import kernel
from goldsmith.sandbox.capabilities import Level, probe
from goldsmith.sandbox.readable_paths import reach
from support.course import has_ended, state_of, wait_until
from support.sandbox_probe import Answer, locked_in

pytestmark = pytest.mark.skipif(not probe().sufficient, reason=f"this machine offers {probe().name}")

ORDINARY = 65534 if os.getuid() == 0 else None
HERE = probe()
OLDEST = Level(landlock=1, seccomp=True)
"""As on Linux 5.13: Landlock knows of neither truncation, nor the network, nor signals."""


@pytest.fixture
def prey(tmp_path: Path) -> Iterator[Prey]:
    with prey_in(tmp_path) as prey:
        yield prey


@pytest.fixture
def equal(tmp_path: Path) -> Iterator[Prey]:
    """Prey that is as ordinary a user's as the attacker: for root, who gives up its powers, much is refused anyway."""
    with prey_in(tmp_path, ORDINARY) as prey:
        yield prey


def attacked(
    prey: Prey, kind: dict[str, Attack], name: str, level: Level = HERE, walls: bool = True, user: int | None = None
) -> Answer:
    attack = kind[name]
    return locked_in(
        prey.folder, lambda: attack(prey), level=level, walls=walls, user=user, readable=(str(prey.shared),)
    )


def unharmed(prey: Prey) -> bool:
    there = prey.gold.read_text() == SECRET and os.listdir(prey.gold.parent) == ["gold.txt"]
    return there and (prey.shared / "package.py").read_text() == "value = 1\n" and len(os.listdir(prey.shared)) == 1


def alive(process: int) -> bool:
    return state_of(process) in ("S", "R", "D")


# --- files


@pytest.mark.parametrize("level", [HERE, OLDEST], ids=["here", "oldest"])
@pytest.mark.parametrize("name", FILES)
def test_no_file_outside_is_reached(prey: Prey, name: str, level: Level) -> None:
    answer = attacked(prey, FILES, name, level)
    assert answer.refused or answer.number == errno.EXDEV, answer
    assert unharmed(prey)


@pytest.mark.parametrize("name", FILES)
def test_without_walls_files_are_reached(prey: Prey, name: str) -> None:
    answer = attacked(prey, FILES, name, walls=False)
    for folder in ("/tmp", "/dev/shm"):
        for left in Path(folder).glob("attacked-by-*"):
            with contextlib.suppress(OSError):
                left.rmdir()
    assert not answer.error, answer


@pytest.mark.parametrize("level", [HERE, OLDEST], ids=["here", "oldest"])
def test_modes_times_and_owners_outside_stay_as_they_are(prey: Prey, level: Level) -> None:
    def attack() -> None:
        os.chmod(prey.gold, 0o777)
        os.utime(prey.gold, (0, 0))
        handle = os.open(prey.shared / "package.py", os.O_RDONLY)
        os.fchmod(handle, 0o777)
        for change in (
            lambda: os.setxattr(prey.gold, "user.x", b"x"),
            lambda: os.setxattr(handle, "user.x", b"x"),
            lambda: os.chown(prey.gold, os.getuid(), os.getgid()),
        ):
            with pytest.raises(PermissionError):
                change()

    paths = (prey.gold, prey.shared / "package.py")
    before = [(path.stat().st_mode, path.stat().st_mtime_ns) for path in paths]
    answer = locked_in(prey.folder, attack, level=level, readable=(str(prey.shared),))
    assert not answer.error, answer
    assert [(path.stat().st_mode, path.stat().st_mtime_ns) for path in paths] == before


@pytest.mark.parametrize("level", [HERE, OLDEST], ids=["here", "oldest"])
def test_a_file_is_touched_at_home_and_nowhere_else(prey: Prey, level: Level) -> None:
    def touch() -> list[object]:
        Path("new").touch()
        Path("mine").write_text("mine")
        Path("mine").touch()
        with contextlib.suppress(FileExistsError):
            Path("mine").touch(exist_ok=False)
            raise AssertionError("it is there already")
        shutil.copy2("mine", "copy")
        program = subprocess.run(["touch", "by-a-program", "mine"], capture_output=True, text=True)
        for path in (prey.gold, prey.gold.with_name("new"), prey.shared / "package.py", prey.shared / "new"):
            for change in (path.touch, lambda path=path: os.utime(path)):
                with pytest.raises(PermissionError):
                    change()
        handle = os.open(prey.shared / "package.py", os.O_RDONLY)
        os.utime(handle)
        return [sorted(os.listdir()), Path("mine").read_text(), program.returncode, program.stderr]

    paths = (prey.gold, prey.gold.parent, prey.shared, prey.shared / "package.py")
    before = [path.stat().st_mtime_ns for path in paths]
    answer = locked_in(prey.folder, touch, level=level, readable=(str(prey.shared),))
    assert not answer.error, answer
    names, content, code, said = answer.value
    assert {"new", "mine", "copy", "by-a-program"} <= set(names)
    assert (content, code, said) == ("mine", 0, "")
    assert [path.stat().st_mtime_ns for path in paths] == before
    assert unharmed(prey)


def test_a_folder_that_may_be_read_may_hold_the_course_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    course = tmp_path / "prefix" / "course"
    environment = course / ".venv"
    (environment / "lib").mkdir(parents=True)
    (tmp_path / "prefix" / "lib").mkdir()
    for entry in (str(tmp_path), str(course), str(course / "src"), ""):
        monkeypatch.syspath_prepend(entry)
    monkeypatch.setattr(sys, "base_prefix", str(tmp_path / "prefix"))
    monkeypatch.setattr(sys, "prefix", str(environment))
    found = reach([str(course)]).readable
    assert [path for path in found if path.startswith(str(tmp_path))] == [
        str(tmp_path / "prefix/lib"),
        str(environment / "lib"),
    ]
    assert not {"/", "/proc", "/tmp", os.path.expanduser("~"), "/etc", "/dev", "/sys"} & set(found)


# --- network


@pytest.mark.parametrize("name", NETWORK)
def test_there_is_no_network(prey: Prey, name: str) -> None:
    assert attacked(prey, NETWORK, name).refused


@pytest.mark.parametrize("name", sorted(set(NETWORK) - {"vsock", "IPv6", "a name looked up"}))
def test_without_walls_there_is_a_network(prey: Prey, name: str) -> None:
    answer = attacked(prey, NETWORK, name, walls=False)
    if name == "io_uring" and answer.refused:
        pytest.skip("io_uring is switched off on this machine")
    assert not answer.error, answer


def test_a_socket_that_listens_by_name_is_not_reached(prey: Prey) -> None:
    def connect() -> None:
        pair = socket.socketpair()[0]
        pair.sendto(b"x", str(prey.folder / "agent"))

    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(prey.folder / "agent"))
        server.listen()
        assert locked_in(prey.folder, connect).refused


# --- other processes


@pytest.mark.parametrize("level", [HERE, OLDEST], ids=["here", "oldest"])
@pytest.mark.parametrize("name", PROCESSES)
def test_no_other_process_is_reached(equal: Prey, name: str, level: Level) -> None:
    prey = equal
    limits = Path(f"/proc/{prey.process}/limits")
    before = limits.read_text()
    assert attacked(prey, PROCESSES, name, level, user=ORDINARY).refused
    time.sleep(0.01)
    assert alive(prey.process)
    assert limits.read_text() == before
    assert os.getpriority(os.PRIO_PROCESS, prey.process) == os.getpriority(os.PRIO_PROCESS, 0)


@pytest.mark.parametrize("name", PROCESSES)
def test_without_walls_other_processes_are_reached(equal: Prey, name: str) -> None:
    answer = attacked(equal, PROCESSES, name, walls=False, user=ORDINARY)
    assert not answer.error, answer


def test_the_parent_and_a_sibling_are_not_reached(tmp_path: Path) -> None:
    """Two that are locked in alike are no closer to each other."""
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
    parent = os.getpid()
    reading, writing = os.pipe()
    other = os.fork()
    if not other:

        def stay() -> None:
            os.write(writing, str(os.getpid()).encode())
            time.sleep(20)

        locked_in(tmp_path / "one", stay, descriptors=(writing,))
        os._exit(0)
    sibling = int(os.read(reading, 20))
    try:

        def attack() -> list[int]:
            """Signal 0 asks for permission and does nothing, so that no harm is done where there is no wall."""
            refusals = []
            for process in (parent, sibling):
                try:
                    os.kill(process, 0)
                except PermissionError:
                    refusals.append(process)
            return refusals

        assert locked_in(tmp_path / "two", attack).value == [parent, sibling]
        assert locked_in(tmp_path / "two", attack, walls=False).value == []
        assert alive(sibling)
    finally:
        os.kill(sibling, signal.SIGKILL)
        os.waitpid(other, 0)


def test_nothing_leaves_the_session_or_gets_another_parent(tmp_path: Path) -> None:
    def attack() -> list[bool]:
        new_parent = fork_says(lambda: raw("clone", 0x8000 | signal.SIGCHLD, 0, 0, 0, 0) or os._exit(0))
        return [fork_says(os.setsid), fork_says(os.setpgrp), new_parent]

    assert locked_in(tmp_path, attack).value == [False, False, False]
    assert locked_in(tmp_path, attack, walls=False).value == [True, True, True]


def test_it_ends_with_its_parent(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    parent = os.fork()
    if not parent:

        def cling() -> None:
            kernel.process_control(kernel.PR_SET_PDEATHSIG, 0)  # says that it did
            os.write(writing, str(os.getpid()).encode())
            time.sleep(90)

        locked_in(tmp_path, cling, descriptors=(writing,))
        os._exit(0)
    child = int(os.read(reading, 20))
    os.kill(parent, signal.SIGKILL)
    os.waitpid(parent, 0)
    wait_until(lambda: has_ended(child))
