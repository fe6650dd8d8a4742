"""What a submission takes of an accelerator's memory is asked of its driver: here one that is made for the test, in C,
and reads its answers from a file."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from goldsmith.process import device_memory as module
from goldsmith.process.clocks import processes
from goldsmith.process.descendants import Quota, excess
from goldsmith.process.device_memory import DeviceMemory, device_memory, used_on_device
from goldsmith.sandbox.limits import Limits

GIB = 2**30
NOBODY = 2**30
"""A process id that no process has."""
DRIVER = r"""
#include <stdio.h>
typedef struct { unsigned pid; unsigned long long used; unsigned instance, compute; } Process;
typedef struct { unsigned long long total, free, used; } Memory;
static FILE *answers(void) { return fopen(ANSWERS, "r"); }
int nvmlInit_v2(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = 1; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned number, void **card) { *card = (void *)1; return 0; }
int nvmlDeviceGetMemoryInfo(void *card, Memory *memory) {
    FILE *file = answers(); fscanf(file, "%llu %llu", &memory->total, &memory->used); fclose(file); return 0; }
int nvmlDeviceGetComputeRunningProcesses_v3(void *card, unsigned *count, Process *items) {
    unsigned long long skipped; unsigned room = *count, found = 0; Process next; FILE *file = answers();
    fscanf(file, "%llu %llu", &skipped, &skipped);
    while (fscanf(file, "%u %llu", &next.pid, &next.used) == 2) { if (found < room) items[found] = next; found++; }
    fclose(file); *count = found; return found > room ? 7 : 0; }
int nvmlDeviceGetGraphicsRunningProcesses_v3(void *card, unsigned *count, Process *items) { *count = 0; return 0; }
"""


class Driver:
    def __init__(self, folder: Path) -> None:
        self.answers = folder / "answers"

    def says(self, total: float, used: float, taken: dict[int, float] | None = None) -> None:
        """Answer from now on, in GiB."""
        rows = [(total, used), *((pid, item) for pid, item in (taken or {}).items())]
        lines = [
            f"{int(first * GIB) if not place else first} {int(item * GIB)}" for place, (first, item) in enumerate(rows)
        ]
        self.answers.write_text("\n".join(lines))


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("driver")
    (folder / "driver.c").write_text(DRIVER)
    name = f'-DANSWERS="{folder / "answers"}"'
    subprocess.run(["cc", "-shared", "-fPIC", "-w", name, "-o", folder / "nvml.so", folder / "driver.c"], check=True)
    return folder / "nvml.so"


@pytest.fixture
def driver(library: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Driver]:
    monkeypatch.setattr(module, "LIBRARY", str(library))
    device_memory.cache_clear()
    found = Driver(library.parent)
    found.says(80, 1)
    yield found
    device_memory.cache_clear()


def test_a_process_has_what_the_driver_says(driver: Driver) -> None:
    memory = DeviceMemory()
    driver.says(80, 12, {os.getpid(): 3, os.getppid(): 8})
    assert (memory.total, memory.used) == (80 * GIB, 12 * GIB)
    assert memory.of([os.getpid()]) == 3 * GIB
    assert memory.of([os.getpid(), os.getppid()]) == 11 * GIB
    assert memory.of([NOBODY]) == 0
    driver.says(80, 12, dict.fromkeys(range(10000000, 10000300), 0.001) | {os.getpid(): 2})
    assert memory.of([os.getpid()]) == 2 * GIB, "more processes than there is room for at first"


def test_where_processes_have_other_numbers_all_growth_counts(driver: Driver) -> None:
    memory = DeviceMemory()
    driver.says(80, 6, {NOBODY: 5})
    assert memory.of([os.getpid()]) == 5 * GIB


def test_who_takes_too_much_is_told_so(driver: Driver, tmp_path: Path) -> None:
    me = [item for item in processes() if item.pid == os.getpid()]
    allowed = Quota(tmp_path, Limits(device_memory=4 * GIB))
    driver.says(80, 5, {os.getpid(): 3.9})
    assert excess(me, allowed) == ""
    driver.says(80, 5, {os.getpid(): 4.1})
    assert excess(me, allowed) == "its processes took more than 4096 MiB of the device's memory together"


def test_a_driver_that_does_not_tell_is_an_error_and_ends_what_is_limited(
    driver: Driver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver.says(80, 5, {os.getpid(): (2**64 - 1) / GIB})
    me = [item for item in processes() if item.pid == os.getpid()]
    with pytest.raises(OSError, match="does not tell"):
        excess(me, Quota(tmp_path, Limits(device_memory=4 * GIB)))
    assert excess(me, Quota(tmp_path, Limits())) == ""
    monkeypatch.setattr(module, "LIBRARY", "libno-such-driver.so")
    device_memory.cache_clear()
    assert used_on_device() == 0
    with pytest.raises(OSError, match="no-such-driver"):
        device_memory()
