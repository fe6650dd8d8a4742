"""A class graded on hosts that share nothing with the desk: no disk, no paths, only a scheduler with certificates.

Each host is a network and a mount namespace of this machine (`support/hosts.py`). `make hosts` runs this.
"""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support import hosts as made
from support.certificates import certificates
from support.check_course import checked_course, hand_in
from support.course import CourseOnDisk
from support.hosts import Host, Hosts

pytest.importorskip("distributed")
pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(600),
    pytest.mark.skipif(bool(made.why_not()), reason=f"hosts need network namespaces: {made.why_not()}"),
]
COUNT = int(os.environ.get("HOSTS_SUBMISSIONS", "100"))
CUT_S = 60.0
_TIMES = ("seconds", "started", "finished")
_NAMES = {"--tls-ca-file": "ca.pem", "--tls-cert": "own.pem", "--tls-key": "own.key"}


class Site:
    """A course at the desk, and hosts around it."""

    def __init__(self, folder: Path, network: Hosts, course: CourseOnDisk, tls: dict[str, str]) -> None:
        self.folder, self.network, self.course = folder, network, course
        self.tls = [word for pair in tls.items() for word in pair]
        self.middle = network.add("middle")
        self.address = f"tls://{self.middle.address}:8786"
        self.start_scheduler()

    def start_scheduler(self) -> None:
        where = ["--host", self.middle.address, "--port", "8786", "--no-dashboard"]
        self.middle.start("-m", "distributed.cli.dask_scheduler", *where, *self.secrets(self.middle))

    def secrets(self, host: Host) -> list[str]:
        return [word for name, file in _NAMES.items() for word in (name, f"{host.home}/tls/{file}")]

    def worker(self, name: str, **settings: Any) -> Host:
        """Add a host, and start a worker there."""
        host = self.network.hosts[name] if name in self.network.hosts else self.network.add(name, **settings)
        where = ["--host", host.address, "--nthreads", "1", "--local-directory", "/tmp", "--no-dashboard"]
        host.start("-m", "distributed.cli.dask_worker", self.address, *where, *self.secrets(host))
        return host

    def start(self, output: Path, what: Path, *more: str, **env: str) -> subprocess.Popen[str]:
        """Start grading at the desk."""
        arguments = ["grade", "hw1", str(what), "--output", str(output), "--json", *more]
        arguments += ["--scheduler", self.address, *self.tls]
        return subprocess.Popen(
            self.network.command(sys.executable, "-m", "goldsmith", *arguments),
            cwd=self.course.root,
            env=os.environ | env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    return checked_course(tmp_path_factory.mktemp("hosts") / "course")


@pytest.fixture
def site(course: CourseOnDisk, tmp_path: Path) -> Iterator[Site]:
    tls = certificates(tmp_path / "tls")
    (tmp_path / "hosts").mkdir()
    with made.network(tmp_path / "hosts", tmp_path / "tls") as network:
        yield Site(tmp_path, network, course, tls)


def class_of(course: CourseOnDisk, folder: Path, count: int) -> Path:
    """Submissions that are quick to judge: most are right, some are wrong, some do not run. No two tests have the same
    ones, of which verdicts would be known."""
    folder.mkdir()
    for index in range(count):
        change = {3: [("x * factor", "x + factor")], 7: [("x * factor", "x @ factor")]}.get(index % 10, [])
        shutil.copytree(hand_in(course, *change, name="tmp"), folder / f"s{index:03}")
        with (folder / f"s{index:03}/ops.py").open("a") as file:
            file.write(f"\n# {index} of {folder.parent.name}\n")
    return folder


def graded(output: Path) -> int:
    return len(list((output / "feedback").glob("*.md"))) if output.is_dir() else 0


def wait_for(condition: Callable[[], bool], process: subprocess.Popen[str], seconds: float = 240.0) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.1)


def files_of(output: Path) -> dict[str, Any]:
    """What a run has written, times aside; the record of a run is compared by those who merge it."""

    def without_times(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: without_times(item) for key, item in value.items() if key not in _TIMES}
        return list(map(without_times, value)) if isinstance(value, list) else value

    found: dict[str, Any] = {}
    for path in sorted(output.rglob("*")):
        if path.suffix == ".json":
            found[str(path.relative_to(output))] = without_times(json.loads(path.read_text()))
        elif path.suffix == ".csv":
            found[str(path.relative_to(output))] = [without_times(row) for row in csv.DictReader(path.open())]
        elif path.suffix == ".md":
            found[str(path.relative_to(output))] = path.read_text()
    return found


def until_registered(*hosts: Host) -> None:
    until = time.monotonic() + 60.0
    while not all("Registered to" in host.logs() for host in hosts):
        assert time.monotonic() < until, [host.logs() for host in hosts]
        time.sleep(0.2)


def leftovers(host: Host) -> list[str]:
    return [path for path in host.listed(within="/tmp") if "goldsmith-0/" in path]


def test_hosts_that_are_killed_and_cut_off_half_way_change_nobodys_grade(site: Site, tmp_path: Path) -> None:
    submissions = class_of(site.course, tmp_path / "class", COUNT)
    local, output = tmp_path / "local", tmp_path / "output"
    run = site.course.run("grade", "hw1", str(submissions), "--again", "--json", "--output", str(local), "--jobs", "2")
    assert run.code == 1, run.err
    left, right = site.worker("left"), site.worker("right")
    process = site.start(output, submissions, "--again")
    wait_for(lambda: graded(output) >= COUNT // 10, process)
    assert not [path for path in left.listed() if path.startswith(str(site.course.root.parents[1]))]
    left.kill()
    wait_for(lambda: graded(output) >= COUNT // 5, process)
    third = site.worker("third")
    wait_for(lambda: graded(output) >= COUNT // 3, process)
    site.network.pull(right)
    cut = time.monotonic()
    while time.monotonic() < cut + CUT_S and process.poll() is None:
        time.sleep(0.2)
    site.network.plug(right)
    out, err = process.communicate(timeout=400)
    assert process.returncode == 1, err
    assert files_of(output) == files_of(local)
    assert len(json.loads(out)["submissions"]) == COUNT
    assert leftovers(third) == [], "nothing of gold stays there"


def test_a_scheduler_that_dies_is_told_and_the_same_command_goes_on(site: Site, tmp_path: Path) -> None:
    submissions, output = class_of(site.course, tmp_path / "class", 40), tmp_path / "output"
    left = site.worker("left")
    process = site.start(output, submissions, DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT="8s")
    wait_for(lambda: graded(output) >= 2, process)
    site.middle.kill()
    out, err = process.communicate(timeout=120)
    assert process.returncode == 3, err
    said = json.loads(out)["error"]["message"]
    assert f"the scheduler at {site.address} was there and no longer answers" in said
    verdicts = (site.course.root / ".goldsmith/grades/hw1").iterdir()
    finished = {path: path.stat().st_mtime_ns for path in verdicts}
    assert len(finished) >= 2
    left.kill()
    site.start_scheduler()
    site.worker("right")
    process = site.start(output, submissions)
    out, err = process.communicate(timeout=240)
    assert process.returncode == 1, err
    assert all(path.stat().st_mtime_ns == then for path, then in finished.items()), "what was finished is not run again"
    assert [item["outcome"] for item in json.loads(out)["submissions"]] == [
        {3: "differs", 7: "could-not-run"}.get(index % 10, "agrees") for index in range(40)
    ]


def test_hosts_that_are_full_or_not_the_same_are_left_out_by_name(site: Site, tmp_path: Path) -> None:
    with (site.course.root / "goldsmith.toml").open("w") as settings:
        settings.write('shared = ["data"]\n')
    (site.course.root / "data").mkdir(exist_ok=True)
    (site.course.root / "data/large.bin").write_bytes(os.urandom(3 * 2**20))
    submissions, output = class_of(site.course, tmp_path / "class", 3), tmp_path / "output"
    older = tmp_path / "older"
    (older / "numpy-0.0.1.dist-info").mkdir(parents=True)
    full, old = site.worker("full", disk="2m"), site.worker("old", first=older)
    until_registered(full, old)
    process = site.start(output, submissions, "--again")
    out, err = process.communicate(timeout=120)
    assert process.returncode == 3, err
    assert "no worker of the cluster can be used" in json.loads(out)["error"]["message"]
    for host, why in ((full, "its disk is full (No space left on device)"), (old, "numpy is 0.0.1 there and")):
        assert f"Worker tls://{host.address}:" in err
        assert why in " ".join(err.split())
    assert leftovers(old) == [], "nothing was sent to it"
    assert leftovers(full) == [], "what it had got is gone"
    until_registered(site.worker("right"))
    process = site.start(output, submissions, "--again")
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert [item["outcome"] for item in json.loads(out)["submissions"]] == ["agrees"] * 3
