"""Submissions take turns on a device, and a device is only computed on by children."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

import goldsmith
from goldsmith.check.grading_sandbox import GradingSandbox
from goldsmith.courses.grade import turns
from goldsmith.errors.sandbox import NoDeviceInside
from goldsmith.process.device_probe import DeviceTrial, require_device
from goldsmith.sandbox import private_network
from goldsmith.sandbox.capabilities import probe
from goldsmith.sandbox.confinement import Confinement
from goldsmith.targets.target import Target
from support.course import wait_until

sandboxed = pytest.mark.skipif(not probe().sufficient, reason="this machine has no sandbox")


@pytest.mark.parametrize(("count", "together"), [(1, 1), (2, 2), (0, 3)])
def test_as_many_are_on_the_device_at_once_as_there_are_turns(tmp_path: Path, count: int, together: int) -> None:
    inside: list[int] = []
    most, leave = [0], threading.Event()

    def come() -> None:
        with turns.on_device(tmp_path / "turns", count, lambda: None):
            inside.append(1)
            most[0] = max(most[0], len(inside))
            leave.wait(10)
            inside.pop()

    threads = [threading.Thread(target=come) for _ in range(3)]
    for thread in threads:
        thread.start()
    wait_until(lambda: most[0] == together)
    time.sleep(0.15)  # another would have come in by now
    leave.set()
    for thread in threads:
        thread.join(10)
    assert most[0] == together


def test_a_turn_is_passed_on_once_the_memory_is_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    used = iter([5, 9, 9, 5])
    waited: list[int] = []
    monkeypatch.setattr(turns, "used_on_device", lambda: next(used))
    with turns.on_device(tmp_path / "turns", 1, lambda: waited.append(1)):
        assert not waited
    assert len(waited) == 2


@sandboxed
def test_one_that_is_only_missing_inside_the_sandbox_is_told_as_that(tmp_path: Path) -> None:
    ours = str(Path(goldsmith.__file__).parent)  # and not torch, so that nothing in there knows the device
    readable = ("/usr", "/lib", "/lib64", sysconfig.get_path("stdlib"), ours)
    own = Confinement(home=str(tmp_path / "home"), readable=readable)
    with pytest.raises(NoDeviceInside, match="meta cannot be used from within the sandbox here"):
        require_device(DeviceTrial("meta", ("torch",), own, probe()), {"PATH": "/usr/bin:/bin", "HOME": "/"})


@pytest.mark.torch
def test_the_process_that_children_are_forked_from_starts_no_driver() -> None:
    program = """
import torch

def refused(*_):
    raise SystemExit("CUDA was asked for")

torch.cuda.is_available = torch.cuda.device_count = torch.cuda._lazy_init = refused
for name in ("_cuda_getDeviceCount", "_cuda_init"):
    if hasattr(torch._C, name):
        setattr(torch._C, name, refused)
from goldsmith.frameworks.framework import framework
framework("torch").preload()
print("fine")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == "fine\n", done.stderr


@pytest.mark.parametrize(("why_not", "together"), [("", 4), ("not allowed here", 1)])
def test_several_are_there_at_once_only_where_each_has_a_network_of_its_own(
    monkeypatch: pytest.MonkeyPatch, why_not: str, together: int
) -> None:
    monkeypatch.setattr(private_network, "why_not", lambda: why_not)
    monkeypatch.setattr(GradingSandbox, "_room", 4)
    sandbox = GradingSandbox(cast("Target", SimpleNamespace(device="cuda")), Path("gold"))
    assert sandbox.device_turns == together
    assert sandbox.own_names == (together > 1)
