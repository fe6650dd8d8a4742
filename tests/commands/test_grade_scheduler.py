"""Grading on a Dask cluster: a real scheduler, real workers on the loopback interface, one of them killed half-way."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from goldsmith.courses.grade.collection import collect
from goldsmith.courses.grade.grade_class import GradingOptions, grade_all
from goldsmith.courses.grade.grader import Grader, rubric_for
from goldsmith.courses.grade.grades import Grade
from goldsmith.courses.layout.layout import Assignment, find_course
from goldsmith.engines.dask_cluster import Dask
from goldsmith.engines.portable import Parcel
from goldsmith.errors.engines import DaskMissing, WorkersLost
from goldsmith.generate.options import Options
from goldsmith.sandbox.capabilities import probe
from support.certificates import certificates
from support.check_course import checked_course, hand_in
from support.course import CourseOnDisk

pytest.importorskip("distributed")
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

    def __init__(self, folder: Path, workers: int, security: Sequence[str] = (), **environment: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"{'tls' if security else 'tcp'}://127.0.0.1:{free.getsockname()[1]}"
        self.folder, self.security, self.environment = folder, security, os.environ | environment
        scheduler = ["scheduler", "--host", "127.0.0.1", "--port", self.address.rpartition(":")[2], "--no-dashboard"]
        self.scheduler = self._start(*scheduler)
        self.workers = [self.worker() for _ in range(workers)]

    def worker(self) -> subprocess.Popen[bytes]:
        options = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1"]
        return self._start("worker", self.address, *options, "--local-directory", str(self.folder))

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "distributed.cli.dask_" + arguments[0], *arguments[1:], *self.security],
            cwd=self.folder,
            env=self.environment,
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


def grader_of(assignment: Assignment, *, keep: bool = False) -> Grader:
    return Grader(
        assignment=assignment,
        rubric=rubric_for(assignment, allow_stale=False),
        options=Options(seed=42, threads=1, timeout=60),
        case_timeout=10.0,
        memory=4.0,
        keep=keep,
    )


def killer_of(process: subprocess.Popen[bytes]) -> Callable[..., None]:
    """Kills it once the first submission is graded."""

    def kill(*_: object) -> None:
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()

    return kill


@pytest.mark.long
def test_a_worker_that_is_killed_half_way_costs_nobody_a_grade(
    course: CourseOnDisk, handed_in: Path, cluster: Cluster, tmp_path: Path
) -> None:
    assignment = find_course(course.root).assignment("hw1")
    victim = cluster.workers[0]
    items = collect(assignment, [str(handed_in)], []).items
    wanted = GradingOptions(grader_of(assignment), items, tmp_path / "out", Dask(cluster.address), killer_of(victim))
    result = grade_all(wanted)
    assert victim.returncode == -signal.SIGKILL
    assert {item.name: item.outcome for item in result.grades} == {
        f"s{index}": "differs" if index % 2 else "agrees" for index in range(COUNT)
    }
    assert all("seccomp" in item.sandbox for item in result.grades), "the sandbox is on the worker"


@pytest.mark.long
def test_a_submission_that_loses_its_worker_too_often_is_named_and_a_second_run_goes_on(
    course: CourseOnDisk, handed_in: Path, tmp_path: Path
) -> None:
    assignment = find_course(course.root).assignment("hw1")
    slow = shutil.copytree(handed_in, tmp_path / "slow")
    for folder in sorted(slow.iterdir())[6:]:
        shutil.rmtree(folder)
    for file in slow.glob("*/ops.py"):
        file.write_text(file.read_text() + "\nimport time\ntime.sleep(0.5)\n")
    items = collect(assignment, [str(slow)], []).items
    graded: list[str] = []
    cluster = Cluster(tmp_path, workers=1)

    def replace_worker() -> None:
        killer_of(cluster.workers[0])()
        cluster.workers.append(cluster.worker())

    def on_grade(grade: Grade, kept: bool) -> None:
        if not graded:
            threading.Timer(0.2, replace_worker).start()  # by then it has the next one
        graded.append(grade.name)

    first = GradingOptions(
        grader_of(assignment, keep=True), items, tmp_path / "out", Dask(cluster.address, retries=0), on_grade
    )
    try:
        with pytest.raises(WorkersLost) as lost:
            grade_all(first)
        again = dataclasses.replace(first, grader=grader_of(assignment, keep=True), engine=Dask(cluster.address))
        kept = len(graded)
        result = grade_all(again)
    finally:
        cluster.close()
    (name,) = lost.value.names
    assert name not in graded[:kept]
    assert f"while they worked on {name}, so the run is not finished" in str(lost.value)
    assert [item.outcome for item in result.grades] == ["agrees", "differs"] * 3
    assert result.kept == kept > 0, "what was finished is not run again"


# --- TLS --------------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_a_cluster_that_asks_for_certificates_gets_them_and_nobody_else_gets_in(
    course: CourseOnDisk, handed_in: Path, tmp_path: Path
) -> None:
    ours, others = certificates(tmp_path / "ours"), certificates(tmp_path / "others")
    cluster = Cluster(tmp_path, workers=1, security=[word for pair in ours.items() for word in pair])
    both = ["grade", "hw1", str(handed_in / "s0"), str(handed_in / "s1"), "--again", "--json"]
    arguments = [*both, "--output", str(tmp_path / "out"), "--scheduler", cluster.address]
    soon = {"DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "3s"}
    try:
        run = course.run(*arguments, *(word for pair in ours.items() for word in pair))
        assert run.code == 0, run.err
        assert [item["outcome"] for item in run.json["submissions"]] == ["agrees", "differs"]
        assert all("seccomp" in item["sandbox"] for item in run.json["submissions"])
        for known in ({}, others):
            run = course.run(*arguments, *(word for pair in known.items() for word in pair), **soon)
            assert run.code == 3
            assert f"no Dask scheduler answers at {cluster.address} (" in run.json["error"]["message"]
    finally:
        cluster.close()


def test_certificates_without_a_scheduler_that_asks_for_them_are_bad_usage(
    course: CourseOnDisk, tmp_path: Path
) -> None:
    file = tmp_path / "file.pem"
    file.touch()
    both = ["--tls-ca-file", str(file), "--tls-cert", str(file)]
    for arguments, words in (
        (["--tls-ca-file", str(tmp_path / "none")], "does not exist"),
        (["--tls-key", str(file), "--scheduler", "tls://127.0.0.1:9"], "belong together"),
        (both, "give --scheduler tls://HOST:PORT, or --engine dask"),
        ([*both, "--scheduler", "tcp://127.0.0.1:9"], "give --scheduler tls://HOST:PORT"),
    ):
        run = course.run("grade", "hw1", ".", *arguments)
        said = " ".join(run.err.replace("│", " ").split())
        assert (run.code, words in said) == (2, True), run.err


@pytest.mark.long
def test_a_worker_that_was_told_to_do_without_walls_puts_them_up_for_the_next_run(
    course: CourseOnDisk, handed_in: Path, tmp_path: Path
) -> None:
    cluster = Cluster(tmp_path, workers=1)
    arguments = ["grade", "hw1", str(handed_in / "s0"), "--again", "--json", "--output", str(tmp_path / "out")]
    arguments += ["--scheduler", cluster.address]
    try:
        runs = [course.run(*arguments, *more) for more in (["--allow-unsandboxed"], [])]
    finally:
        cluster.close()
    assert [run.json["submissions"][0]["outcome"] for run in runs] == ["agrees", "agrees"]
    assert [run.json["submissions"][0]["sandbox"] for run in runs] == ["none", probe().name]


def test_a_cluster_of_its_own_does_the_same_as_this_machine(course: CourseOnDisk, handed_in: Path) -> None:
    arguments = ["grade", "hw1", str(handed_in / "s0"), str(handed_in / "s1"), "--again", "--json"]
    run = course.run(*arguments, "--engine", "dask", "--jobs", "2", "--output", str(handed_in.parent / "dask-out"))
    assert run.code == 0, run.err
    assert [item["outcome"] for item in run.json["submissions"]] == ["agrees", "differs"]


_ATTACK = """
import asyncio, json, os, sys, urllib.request
import concurrent.futures, distributed.comm.tcp
from distributed import Security
from distributed.comm import connect

own = Security.temporary().get_connection_args("client")
if os.getuid() == 0:
    os.setgid(65534), os.setuid(65534)

async def asked(address, how):
    comm = await connect(address, timeout=1, **how)
    await comm.write({"op": "identity"})
    return address, str(await asyncio.wait_for(comm.read(), 2))

async def page(port, name):
    url = f"http://127.0.0.1:{port}/{name}"
    answer = await asyncio.to_thread(urllib.request.urlopen, url, timeout=2)
    return url, answer.read(100).decode(errors="replace")

async def main():
    tries = []
    for port in sys.argv[1:]:
        tries += [asked(f"tcp://127.0.0.1:{port}", {}), asked(f"tls://127.0.0.1:{port}", own)]
        tries += [page(port, name) for name in ("info/main/workers.html", "json/identity.json", "metrics", "health")]
    done, _ = await asyncio.wait([asyncio.ensure_future(item) for item in tries], timeout=2)
    print(json.dumps([item.result() for item in done if item.exception() is None]), flush=True)
    os._exit(0)  # Dask keeps trying for as long as anything runs

asyncio.run(main())
"""
"""Ask every node what it is, as Dask does before it sends work, and for the pages of its HTTP server."""


def _listening() -> set[int]:
    rows = [row.split() for row in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return {int(row[1].rpartition(":")[2], 16) for row in rows if row[3] == "0A"}


def test_another_user_of_the_machine_gets_nothing_from_a_cluster_that_was_started_here() -> None:
    pytest.importorskip("cryptography")
    before = _listening()
    running: Any = Dask(jobs=1).run(_Peek(), ["ada"])
    try:
        _, folders = next(running)
        ports = sorted(_listening() - before)
        attack = [sys.executable, "-c", _ATTACK, *map(str, ports)]
        told = subprocess.run(attack, cwd="/tmp", env={"HOME": "/tmp"}, capture_output=True, text=True, timeout=60)
        modes = [path.stat().st_mode & 0o077 for path in folders]
    finally:
        running.close()
    assert json.loads(told.stdout) == [], told.stderr
    assert len(ports) >= 3, "scheduler, nanny and worker"
    assert modes[0] == 0, "nobody else can enter the folder in which workers keep what they write"
    assert modes[2] == 0, "nor the one that gold is in"
    assert not folders[0].exists()
    assert not folders[2].exists()


class _Peek:
    """Work that tells where a worker keeps its files."""

    def __call__(self, item: str) -> list[Path]:
        raise AssertionError

    def parcel(self) -> Parcel:
        return Parcel(run="peek", files={}, versions=(), open=_PeekThere)

    @contextlib.contextmanager
    def sending(self, item: str) -> Iterator[Any]:
        yield SimpleNamespace(order=item, size=0, received=lambda content: list(map(Path, content.decode().split("|"))))


class _PeekThere:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def perform(self, order: str, folder: Path) -> bytes:
        """Return the folders that a worker writes to, those of Dask outermost first, then that of a run."""
        from distributed import get_worker

        inner = Path(get_worker().local_directory)
        outer = next((path for path in inner.parents if path.parent.name.startswith("goldsmith-")), inner)
        return "|".join(map(str, (outer, inner, self.folder.parent))).encode()

    def stop(self) -> None: ...
    def close(self) -> None: ...


def test_a_scheduler_without_certificates_is_told_to_be_open_to_others(course: CourseOnDisk, tmp_path: Path) -> None:
    soon = {"DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "200ms"}
    (tmp_path / "ops.py").write_text("")
    for scheme, is_told in (("tcp", True), ("tls", False)):
        address = f"{scheme}://127.0.0.1:9"
        run = course.run("grade", "hw1", str(tmp_path / "ops.py"), "--scheduler", address, **soon)
        assert run.code == 3
        assert (f"Note: {address} asks nobody for a certificate" in " ".join(run.err.split())) == is_told


def test_what_a_cluster_of_its_own_lacks_is_named_with_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "cryptography" else found(name))
    with pytest.raises(DaskMissing) as lacking:
        next(Dask().run(_Peek(), []))
    assert str(lacking.value) == "--engine dask needs cryptography; install with `pip install cryptography`."


@pytest.mark.long
def test_certificates_that_are_given_count_for_a_cluster_that_is_started_here(
    course: CourseOnDisk, handed_in: Path, tmp_path: Path
) -> None:
    ours = [word for pair in certificates(tmp_path / "ours").items() for word in pair]
    run = course.run(
        "grade",
        "hw1",
        str(handed_in / "s0"),
        "--again",
        "--json",
        "--engine",
        "dask",
        "--output",
        str(tmp_path / "o"),
        *ours,
    )
    assert run.code == 0, run.err
    assert [item["outcome"] for item in run.json["submissions"]] == ["agrees"]
    (tmp_path / "ours/own.pem").write_text("not a certificate")
    run = course.run("grade", "hw1", str(handed_in / "s0"), "--again", "--engine", "dask", *ours)
    assert run.code == 3
    assert "no Dask cluster could be started here (" in run.err
