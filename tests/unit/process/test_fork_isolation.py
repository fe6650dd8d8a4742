"""A child knows nothing of the others: neither from the memory that it was forked with, nor from what it can reach."""

from __future__ import annotations

import json
import os
import secrets
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import pytest

from goldsmith.process.fork_client import ForkClient, fork_server
from goldsmith.process.launcher import deterministic_environment
from goldsmith.process.messages import RecordJob
from goldsmith.process.process_groups import Process, end_group
from goldsmith.sandbox.capabilities import probe
from goldsmith.sandbox.confinement import Confinement
from goldsmith.sandbox.readable_paths import reach
from support.course import has_ended, wait_until

ENVIRONMENT = deterministic_environment(1)

WAITS = "import time\nfrom pathlib import Path\nPath('begun').touch()\ntime.sleep(60)\n"

LEAVES = """
import os, time
from pathlib import Path

if not os.fork():
    Path("partial").write_text(str(os.getpid()))
    os.rename("partial", "left")
    time.sleep(60)
while not os.path.exists("left"):
    time.sleep(0.01)
os._exit(7)
"""

LOOKS = """
import ctypes, gc, json, os, re, sys
from pathlib import Path

pattern = re.compile(rb"neighbour-[0-9a-f]+")


def memory():
    for line in Path("/proc/self/maps").read_text().splitlines():
        where, rights, *rest = line.split()
        if rights.startswith("r") and not (rest[3:] and ("/" in rest[3] or rest[3].startswith("[v"))):
            begin, end = (int(item, 16) for item in where.split("-"))
            yield ctypes.string_at(begin, end - begin)


def objects():
    frame = sys._getframe()
    while frame is not None:
        yield repr(frame.f_locals).encode()
        frame = frame.f_back
    for item in gc.get_objects():
        if isinstance(item, (dict, list, tuple, set)):
            yield repr([part for part in item if isinstance(part, (str, bytes, Path))]).encode()
        if isinstance(item, dict):
            yield repr([part for part in item.values() if isinstance(part, (str, bytes, Path))]).encode()
    yield repr([dict(os.environ), sys.argv, sys.path]).encode()


found = {match.group().decode() for text in (*objects(), *memory()) for match in pattern.finditer(text)}
descriptors = sorted(os.readlink(f"/proc/self/fd/{n}") for n in range(3, 256) if os.path.exists(f"/proc/self/fd/{n}"))
Path("seen.json").write_text(json.dumps({"names": sorted(found), "descriptors": descriptors}))
"""

REACHES = """
import json, os
from pathlib import Path


def tried(action):
    try:
        return repr(action())
    except OSError as error:
        return type(error).__name__


around = Path.cwd().parent.parent
found = {
    "list around": tried(lambda: os.listdir(around)),
    "list": tried(lambda: os.listdir(around / OTHER)),
    "read": tried(lambda: (around / OTHER / "scratch/job.json").read_text()),
    "write": tried(lambda: (around / OTHER / "scratch/planted").write_text("x")),
    "link": tried(lambda: os.link(around / OTHER / "scratch/job.json", "linked")),
    "own": tried(lambda: sorted(os.listdir("."))[:0]),
}
Path("seen.json").write_text(json.dumps(found))
"""


@dataclass
class Nursery:
    """Children of one warm process, each with a folder of its own in a common one."""

    warm: ForkClient
    folder: Path
    started: list[Process] = field(default_factory=list)

    def start(self, name: str, recipe: str, *, confined: bool = False) -> Path:
        scratch = self.folder / name / "scratch"
        scratch.mkdir(parents=True)
        (scratch / "recipe.py").write_text(recipe)
        here = str(scratch)
        walls = {}
        if confined:
            found = reach()
            walls = {
                "confinement": Confinement(
                    home=f"{here}/home", readable=found.readable, listable=found.listable, writable=(here,)
                )
            }
        job = RecordJob(
            root=here,
            folder=here,
            recipe=f"{here}/recipe.py",
            output=f"{here}/out",
            scratch=here,
            seed=1,
            threads=1,
            device="cpu",
            parent=0,
            **walls,  # type: ignore[arg-type]
        )
        (scratch / "job.json").write_bytes(msgspec.json.encode(job))
        environment = ENVIRONMENT | {"TMPDIR": here}
        self.started.append(self.warm.start(scratch / "job.json", scratch / "log", here, environment))
        return scratch


@pytest.fixture
def nursery(tmp_path: Path) -> Iterator[Nursery]:
    clean = {name: value for name, value in ENVIRONMENT.items() if name not in ("PWD", "OLDPWD", "TMPDIR")}
    with fork_server(environment=clean) as warm:
        made = Nursery(warm, tmp_path)
        yield made
        for process in made.started:
            end_group(process)


def neighbour(nursery: Nursery) -> str:
    name = f"neighbour-{secrets.token_hex(8)}"
    wait_until((nursery.start(name, WAITS) / "begun").exists)
    return name


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="there is no /proc to look at memory through")
def test_nothing_of_a_neighbour_is_in_the_memory_of_a_child(nursery: Nursery) -> None:
    before = [neighbour(nursery) for _ in range(2)]
    end_group(nursery.started[0])
    seen = nursery.start("looks", LOOKS)
    assert nursery.started[-1].wait(60) == 0, (seen / "log").read_text()
    found = json.loads((seen / "seen.json").read_text())
    assert before
    assert found["names"] == []
    assert [path for path in found["descriptors"] if "socket" in path or "pipe" in path] == []


@pytest.mark.skipif(not probe().sufficient, reason="nothing is locked in here")
def test_a_child_that_is_locked_in_reaches_no_neighbour_whose_name_it_knows(nursery: Nursery) -> None:
    name = neighbour(nursery)
    seen = nursery.start("reaches", f"OTHER = {name!r}\n{REACHES}", confined=True)
    assert nursery.started[-1].wait(60) == 0, (seen / "log").read_text()
    found = json.loads((seen / "seen.json").read_text())
    assert found.pop("own") == "[]"
    assert found["link"] in ("PermissionError", "OSError")
    assert {value for label, value in found.items() if label != "link"} == {"PermissionError"}
    assert not (nursery.folder / name / "scratch/planted").exists()


def test_how_a_child_ended_is_known_and_what_it_left_running_ends_with_it(nursery: Nursery) -> None:
    scratch = nursery.start("leaves", LEAVES)
    assert nursery.started[-1].wait(60) == 7
    left = int((scratch / "left").read_text())
    wait_until(lambda: has_ended(left))


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="there is no zygote here")
def test_without_its_zygote_the_warm_process_ends_and_is_replaced(nursery: Nursery) -> None:
    neighbour(nursery)
    server = nursery.warm._server
    assert server is not None
    (zygote,) = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
    os.kill(int(zygote), signal.SIGKILL)
    assert server.wait(30) is not None
    assert nursery.started[0].wait(30) != 0
    scratch = nursery.start("next", "print('here I am')\n")
    assert nursery.started[-1].wait(60) == 0
    assert "here I am" in (scratch / "log").read_text()
