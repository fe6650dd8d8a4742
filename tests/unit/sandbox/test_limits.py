"""What a process that is locked in is left with: system calls, privileges, inherited things, limits."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import re
import resource
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from corpora.attacks import SECRET, Prey, prey_in, raw
from goldsmith.foundation import kernel
from goldsmith.sandbox.capabilities import Level, probe, user_namespaces
from goldsmith.sandbox.syscall_numbers import NUMBERS
from goldsmith.sandbox.syscall_policy import _FORBIDDEN
from support.sandbox_probe import locked_in

pytestmark = pytest.mark.skipif(not probe().sufficient, reason=f"this machine offers {probe().name}")

NOBODY = 65534
NO_ONE_ELSE = 64999
"""A user of whom no other test has processes: the kernel counts all of a user's."""
AS_ROOT = os.getuid() == 0
HERE = probe()


@pytest.fixture
def prey(tmp_path: Path) -> Iterator[Prey]:
    with prey_in(tmp_path) as prey:
        yield prey


# --- the kernel


def test_forbidden_calls_are_refused(tmp_path: Path) -> None:
    """With arguments that do no harm where a call goes through all the same."""

    def attack() -> dict[str, int]:
        answers = {}
        for call in _FORBIDDEN:
            bad = 0x7FFFFFFF if call in ("personality", "vhangup") else -1
            try:
                answers[call] = call in NUMBERS[kernel.machine()] and raw(call, bad, bad, bad, bad, bad, bad)
            except OSError as error:
                answers[call] = error.errno or 0
        return answers

    answers = locked_in(tmp_path, attack).value
    assert len(answers) > 90
    assert {call: number for call, number in answers.items() if number not in (errno.EPERM, False)} == {}


@pytest.mark.parametrize(
    ("call", "arguments", "number"),
    [
        ("flock", (-1, 2), 0),
        ("fchmodat", (-1, -1, -1), 0),
        ("fchmodat2", (-1, -1, -1, -1), 0),
        ("utime", (-1, -1), 0),
        ("utimes", (-1, -1), 0),
        ("futimesat", (-1, -1, -1), 0),
        ("utimensat", (-1, -1, 1 << 32, 0), 0),
        ("utimensat", (-1, 0, 0, 0), 0),
        ("utimensat", (-1, -1, 0, 0), errno.EPERM),
        ("utimensat", (-1, 1 << 32, 0, 0), errno.EPERM),
        ("utime", (-1, 0), errno.EPERM),
        ("utimes", (-1, 0), errno.EPERM),
        ("futimesat", (-1, -1, 0), errno.EPERM),
        ("sched_setaffinity", (1, 8, -1), errno.EPERM),
        ("sched_setattr", (1, 0, 0), errno.EPERM),
        ("sched_setparam", (1, 0), errno.EPERM),
        ("sched_setscheduler", (1, 0, 0), errno.EPERM),
        ("tkill", (1, 0), errno.EPERM),
        ("rt_sigqueueinfo", (1, 0, -1), errno.EPERM),
        ("rt_tgsigqueueinfo", (1, 1, 0, -1), errno.EPERM),
        ("pidfd_send_signal", (-1, 0, 0, 0), errno.EPERM),
        ("open", (-1, os.O_TRUNC), errno.EPERM),
        ("open", (-1, os.O_TRUNC | 3), errno.EPERM),
        ("openat", (-1, -1, os.O_TRUNC | 3), errno.EPERM),
        ("openat2", (-1, -1, -1, 0), errno.ENOSYS),
    ],
)
def test_calls_that_python_has_no_function_for(
    tmp_path: Path, call: str, arguments: tuple[int, ...], number: int
) -> None:
    """As beside the oldest Landlock. Without walls, all of them meet an error of another kind."""
    if call not in NUMBERS[kernel.machine()]:
        pytest.skip("this processor has no such call")
    answer = locked_in(tmp_path, lambda: raw(call, *arguments), level=Level(landlock=1, seccomp=True))
    assert answer.number == number, answer


def test_namespaces_are_refused_however_they_are_asked_for(tmp_path: Path) -> None:
    def attack() -> list[int]:
        numbers = []
        for flag in (0x10000000, 0x20000000, 0x40000000, 0x00020000, 0x04000000, 0x08000000, 0x02000000):
            for call, arguments in (("clone", (flag | signal.SIGCHLD, 0, 0, 0, 0)), ("unshare", (flag,))):
                try:
                    raw(call, *arguments)
                except OSError as error:
                    numbers.append(error.errno or 0)
        try:
            raw("clone3", ctypes.create_string_buffer(88), 88)
        except OSError as error:
            numbers.append(error.errno or 0)
        return numbers

    assert locked_in(tmp_path, attack).value == [errno.EPERM] * 14 + [errno.ENOSYS]


def test_terminals_file_flags_and_tracers_are_refused(prey: Prey) -> None:
    def attack() -> list[int]:
        numbers = []
        handle = os.open(prey.shared / "package.py", os.O_RDONLY)
        flags = ctypes.create_string_buffer(8)
        tries = [("ioctl", handle, code, flags) for code in (0x5412, 0x541C, 0x40086602, 0x1_0000_5412, 0x8901)]
        for call, *arguments in [*tries, ("prctl", 0x59616D61, -1, 0, 0, 0), ("prctl", 36, 1, 0, 0, 0)]:
            try:
                raw(call, *arguments)
                numbers.append(0)
            except OSError as error:
                numbers.append(error.errno or 0)
        return numbers

    assert locked_in(prey.folder, attack, readable=(str(prey.shared),)).value == [errno.EPERM] * 7


def test_calls_that_came_later_than_this_list_look_as_if_there_were_none(tmp_path: Path) -> None:
    assert locked_in(tmp_path, lambda: kernel.system_call(463, -1, 0, 0, 0, 0, 0)).number == errno.ENOSYS


@pytest.mark.skipif(platform.machine() != "x86_64", reason="other processors have one numbering only")
def test_calls_in_another_numbering_end_the_process(tmp_path: Path) -> None:
    assert locked_in(tmp_path, lambda: kernel.system_call(0x40000000 + 39)).signal == "SIGSYS"
    assert locked_in(tmp_path, _getpid_of_32_bits).signal == "SIGSYS"
    assert not locked_in(tmp_path, _getpid_of_32_bits, walls=False).signal


def _getpid_of_32_bits() -> None:
    import mmap

    code = mmap.mmap(
        -1,
        mmap.PAGESIZE,
        flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS,
        prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC,
    )
    code.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")  # mov eax, 20; int 0x80; ret
    ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()


def test_the_numbers_of_calls_are_the_kernels() -> None:
    header = next(iter(sorted(Path("/usr/include").glob("*/asm/unistd_64.h"))), None)
    generic = Path("/usr/include/asm-generic/unistd.h")
    if header is None or not generic.exists():
        pytest.skip("no kernel headers here")
    for name, file in (("x86_64", header), ("aarch64", generic)):
        found = re.findall(r"#define __NR(?:3264)?_(\w+) (\d+)", file.read_text())
        known = {call: int(number) for call, number in found if call in NUMBERS[name]}
        assert known == {call: NUMBERS[name][call] for call in known}
        assert len(known) > len(NUMBERS[name]) - 8


# --- privileges and what is inherited


def test_nothing_is_left_of_roots_powers(tmp_path: Path) -> None:
    def status() -> str:
        text = subprocess.run(["cat", "/proc/self/status"], capture_output=True, text=True).stdout
        return text or Path("/proc/self/status").read_text()

    found = dict(line.split(":\t", 1) for line in locked_in(tmp_path, status).value.splitlines() if ":\t" in line)
    assert {found[name] for name in ("CapEff", "CapPrm", "CapInh", "CapAmb")} == {"0" * 16}
    assert (found["NoNewPrivs"], found["Seccomp"]) == ("1", "2")


@pytest.mark.skipif(not AS_ROOT, reason="only root can make a setuid program")
def test_a_setuid_program_gives_nothing(tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir(mode=0o755)
    program = Path(shutil.copy(shutil.which("id") or "", tools / "id"))
    program.chmod(0o4755)

    def attack() -> str:
        return subprocess.run([str(program), "-u"], capture_output=True, text=True).stdout.strip()

    assert locked_in(tmp_path, attack, user=NOBODY, readable=(str(tools),)).value == str(NOBODY)
    assert locked_in(tmp_path, attack, user=NOBODY, walls=False).value == "0"


def test_descriptors_of_the_parent_are_closed(prey: Prey) -> None:
    with prey.gold.open() as file, (prey.folder / "kept").open("w") as kept:
        number, other = file.fileno(), kept.fileno()
        os.set_inheritable(number, True)
        assert locked_in(prey.folder, lambda: os.pread(number, 100, 0)).number == errno.EBADF
        assert not locked_in(prey.folder, lambda: os.write(other, b"x"), descriptors=(other,)).error
        assert locked_in(prey.folder, lambda: os.pread(number, 100, 0), walls=False).value == SECRET.encode()


def test_the_environment_holds_nothing_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", SECRET)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.setenv("COURSE_SEED", "7")

    def look() -> dict[str, str]:
        printed = subprocess.run(["env"], capture_output=True, text=True).stdout
        return dict(line.split("=", 1) for line in printed.splitlines())

    found = locked_in(tmp_path, look, variables=("COURSE_SEED",)).value
    assert SECRET not in found.values()
    assert (found["OMP_NUM_THREADS"], found["COURSE_SEED"]) == ("3", "7")
    home = str(tmp_path / "home")
    assert found["HOME"] == home
    assert all(found[name].startswith(home) for name in ("TMPDIR", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "TORCH_HOME"))


# --- limits


def test_memory_ends(tmp_path: Path) -> None:
    assert locked_in(tmp_path, lambda: len(bytearray(2**32)), memory=2**31).error == "MemoryError"


def test_files_end(tmp_path: Path) -> None:
    def fill() -> None:
        with open("big", "wb") as file:
            while True:
                file.write(b"x" * 2**16)

    assert locked_in(tmp_path, fill, file_size=2**20).number == errno.EFBIG
    assert (tmp_path / "home" / "big").stat().st_size == 2**20
    assert stat.S_IMODE((tmp_path / "home" / "big").stat().st_mode) == 0o600


def test_time_ends_even_if_the_warning_is_ignored(tmp_path: Path) -> None:
    def spin() -> None:
        signal.signal(signal.SIGXCPU, signal.SIG_IGN)
        while True:
            pass

    assert locked_in(tmp_path, spin, cpu_seconds=1).signal == "SIGKILL"


def test_descriptors_end(tmp_path: Path) -> None:
    assert locked_in(tmp_path, lambda: [os.dup(0) for _ in range(100)], open_files=64).number == errno.EMFILE


def test_limits_cannot_be_raised_again(tmp_path: Path) -> None:
    answer = locked_in(tmp_path, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2**30, 2**30)), file_size=2**20)
    assert answer.error in ("ValueError", "PermissionError")


@pytest.mark.skipif(not AS_ROOT, reason="only root can become another user")
def test_a_fork_bomb_ends_for_whoever_is_not_root(tmp_path: Path) -> None:
    def bomb() -> int:
        children = []
        try:
            for _ in range(200):
                child = os.fork()
                if not child:
                    time.sleep(30)
                    os._exit(0)
                children.append(child)
        except BlockingIOError:
            return len(children)
        finally:
            for child in children:
                os.kill(child, signal.SIGKILL)
        return -1

    count = locked_in(tmp_path, bomb, user=NO_ONE_ELSE, processes=20).value
    assert 0 < count <= 20


_MANY_THREADS = """
import os, sys, threading, time
os.setgid({user}); os.setuid({user})
sys.stdin.read(1)
for _ in range(80):
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
print("started", flush=True)
time.sleep(60)
"""


@pytest.mark.skipif(not AS_ROOT, reason="only root can become another user")
@pytest.mark.skipif(not user_namespaces(), reason="user namespaces are off")
def test_a_neighbours_threads_are_not_held_against_honest_work(tmp_path: Path) -> None:
    """They are started after the limit was set, by the same user."""
    program = [sys.executable, "-c", _MANY_THREADS.format(user=NO_ONE_ELSE)]
    asked, asking = os.pipe()

    def work() -> list[str]:
        os.write(asking, b"x")
        os.read(said, 1)
        threads = [threading.Thread(target=time.sleep, args=(0.2,)) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return ["done"]

    with subprocess.Popen(program, stdin=asked, stdout=subprocess.PIPE) as neighbour:
        assert neighbour.stdout is not None
        said = neighbour.stdout.fileno()
        answer = locked_in(tmp_path, work, user=NO_ONE_ELSE, processes=40, descriptors=(asking, said))
        neighbour.kill()
    assert answer.value == ["done"], answer


@pytest.mark.skipif(not AS_ROOT, reason="only root can become another user")
def test_it_takes_no_root(prey: Prey) -> None:
    prey.gold.chmod(0o644)
    prey.gold.parent.chmod(0o755)
    answer = locked_in(prey.folder, prey.gold.read_text, user=NOBODY)
    assert answer.refused
    assert answer.level["name"] == Level(landlock=HERE.landlock, seccomp=True).name
    assert locked_in(prey.folder, prey.gold.read_text, user=NOBODY, walls=False).value == SECRET
