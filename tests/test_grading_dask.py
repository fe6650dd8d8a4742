"""Grading on a Dask cluster: a real scheduler, real workers on the loopback interface, one of them killed half-way."""

from __future__ import annotations

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

from checking import checked_course, hand_in
from courses import CourseOnDisk
from goldsmith.course import find_course
from goldsmith.generation import Options
from goldsmith.grading import Dask, Grader, Wanted, collect, grade_all, rubric_for

pytest.importorskip("distributed")
pytestmark = pytest.mark.xdist_group("dask")
COUNT = 10


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    return checked_course(tmp_path_factory.mktemp("dask") / "course")


@pytest.fixture(scope="module")
def handed_in(course: CourseOnDisk, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("class")
    for index in range(COUNT):
        change = [("x * factor", "x + factor")] if index % 2 else []
        shutil.copytree(hand_in(course, *change, name="tmp"), folder / f"s{index}")
        with (folder / f"s{index}/ops.py").open("a") as file:
            file.write(f"\n# {index}\n")
    return folder


class Cluster:
    """A scheduler and workers, started as people start them: each a command of its own."""

    def __init__(self, folder: Path, workers: int) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
        self.folder = folder
        scheduler = ["scheduler", "--host", "127.0.0.1", "--port", self.address.rpartition(":")[2], "--no-dashboard"]
        self.scheduler = self._start(*scheduler)
        self.workers = [self.worker() for _ in range(workers)]

    def worker(self) -> subprocess.Popen[bytes]:
        options = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1"]
        return self._start("worker", self.address, *options, "--local-directory", str(self.folder))

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "distributed.cli.dask_" + arguments[0], *arguments[1:]],
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def close(self) -> None:
        for process in (*self.workers, self.scheduler):
            process.terminate()
        for process in (*self.workers, self.scheduler):
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    made = Cluster(tmp_path, workers=2)
    yield made
    made.close()


def test_a_worker_that_is_killed_half_way_costs_nobody_a_grade(
    course: CourseOnDisk, handed_in: Path, cluster: Cluster, tmp_path: Path
) -> None:
    assignment = find_course(course.root).assignment("hw1")
    grader = Grader(
        assignment=assignment,
        rubric=rubric_for(assignment, allow_stale=False),
        options=Options(seed=42, threads=1, timeout=60),
        each=10.0,
        memory=4.0,
        keep=False,
    )
    killed: list[int] = []

    def kill_one(*_: object) -> None:
        if not killed:
            victim = cluster.workers[0]
            os.kill(victim.pid, signal.SIGKILL)
            killed.append(victim.pid)

    items = collect(assignment, [str(handed_in)], [])
    result = grade_all(Wanted(grader, items, tmp_path / "out", Dask(cluster.address), kill_one))
    assert killed
    assert {item.name: item.outcome for item in result.grades} == {
        f"s{index}": "differs" if index % 2 else "agrees" for index in range(COUNT)
    }
    assert all("seccomp" in item.sandbox for item in result.grades), "the sandbox is on the worker"


def test_a_cluster_of_its_own_does_the_same_as_this_machine(course: CourseOnDisk, handed_in: Path) -> None:
    arguments = ["grade", "hw1", str(handed_in / "s0"), str(handed_in / "s1"), "--again", "--json"]
    run = course.run(*arguments, "--engine", "dask", "--jobs", "2", "--output", str(handed_in.parent / "dask-out"))
    assert run.code == 0, run.err
    assert [item["outcome"] for item in run.json["submissions"]] == ["agrees", "differs"]
    deadline = time.monotonic() + 10
    while _warm_processes() and time.monotonic() < deadline:
        time.sleep(0.1)


def _warm_processes() -> list[str]:
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(entry.read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            continue
        if parent == 1 and b"goldsmith.recording.forking" in (entry.parent / "cmdline").read_bytes():
            found.append(entry.parent.name)
    return found
