"""No process is ended that goldsmith has not started, and `make` removes nothing that somebody else made."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from goldsmith.foundation.atomic_files import partial_of
from goldsmith.foundation.ownership import MARK, is_marked
from goldsmith.process.fork_client import _ForkedProcess
from goldsmith.process.process_groups import Leader, end_group
from goldsmith.process.untrusted_files import UntrustedFolder
from support.course import has_ended, state_of, wait_until
from support.foreign_files import bytes_in

REPOSITORY = Path(__file__).parents[2]


# --- processes --------------------------------------------------------------------------------------------------

SLEEPER = [sys.executable, "-c", "import time; time.sleep(60)"]


@pytest.fixture
def stranger() -> Iterator[subprocess.Popen[bytes]]:
    """A process that leads a session of its own, as children of goldsmith do."""
    process = subprocess.Popen(SLEEPER, start_new_session=True)
    yield process
    process.kill()
    process.wait()


def test_a_number_stays_taken_until_its_group_is_ended(tmp_path: Path) -> None:
    """What a child leaves running is ended although the child itself has ended long ago, and nobody else can be."""
    script = f"({' '.join(map(repr, SLEEPER))}) & echo $! > {tmp_path / 'number'}; exit 3"
    process = Leader(subprocess.Popen(["bash", "-c", script], start_new_session=True))
    assert process.wait(10) == 3
    assert state_of(process.pid) == "Z"
    left = int((tmp_path / "number").read_text())
    end_group(process)
    assert process.returncode == 3
    wait_until(lambda: has_ended(left))
    assert not Path(f"/proc/{process.pid}").exists()


def test_once_a_number_is_free_nothing_is_sent_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    process = Leader(subprocess.Popen(["true"], start_new_session=True))
    end_group(process)
    monkeypatch.setattr(os, "killpg", lambda *_: pytest.fail("whoever has the number now is a stranger"))
    process.signal_group(signal.SIGKILL)


def test_a_process_that_got_the_number_of_a_child_is_left_alone(
    stranger: subprocess.Popen[bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = subprocess.Popen(["true"])
    server.wait()
    child = _ForkedProcess(stranger.pid, UntrustedFolder(tmp_path), "ended", server)
    monkeypatch.setattr(child, "_start", "1")  # ours began at another time
    child.signal_group(signal.SIGKILL)
    time.sleep(0.1)
    assert stranger.poll() is None
    monkeypatch.undo()
    child.signal_group(signal.SIGKILL)
    assert stranger.wait(10) == -signal.SIGKILL


# --- make -------------------------------------------------------------------------------------------------------


@pytest.fixture
def checkout(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """The Makefile in a git repository with a `goldsmith` that only makes folders."""
    folder = tmp_path / "checkout"
    (folder / ".venv/bin").mkdir(parents=True)
    for name in ("Makefile", ".gitignore"):
        shutil.copy(REPOSITORY / name, folder)
    for name in ("pyproject.toml", "constraints.txt", ".venv/bin/.ready"):
        (folder / name).touch()
    tool = folder / ".venv/bin/goldsmith"
    tool.write_text('#!/bin/sh\n[ "$1" = init ] && mkdir -p "$3" && echo made > "$3/course"\nexit 0\n')
    tool.chmod(0o755)
    subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)

    def make(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["make", *arguments], cwd=folder, capture_output=True, text=True)

    return make


def test_make_demo_refuses_a_folder_that_it_did_not_make(
    checkout: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    thesis = tmp_path / "my thesis"
    thesis.mkdir()
    (thesis / "chapter.tex").write_text("years of work")
    refused = checkout("demo", f"DEMO={thesis}")
    assert refused.returncode != 0
    assert "make demo did not make it" in refused.stderr
    assert bytes_in(thesis) == {"chapter.tex": b"years of work"}
    for _ in range(2):
        assert checkout("demo").returncode == 0
        (tmp_path / "checkout/build/demo-course/mine.py").write_text("tried out in the demo")
    assert (tmp_path / "checkout/build/demo-course/mine.py").exists()


def test_make_clean_removes_only_what_git_ignores(
    checkout: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    folder = tmp_path / "checkout"
    gone = ["build/site/index.html", "dist/a.whl", "src/__pycache__/a.cpython-311.pyc", ".mypy_cache/a"]
    kept = ["notes/thesis.md", "build/my-clone/work.py", "src/a.py"]
    for name in (*gone, *kept):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")
    subprocess.run(["git", "init", "--quiet", str(folder / "build/my-clone")], check=True)
    done = checkout("clean")
    assert done.returncode == 0, done.stderr
    assert [name for name in gone if (folder / name).exists()] == []
    assert [name for name in kept if not (folder / name).exists()] == []


def test_a_mark_says_what_it_is_about(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / MARK).mkdir()
    (tmp_path / "link").symlink_to("real")
    assert not is_marked(tmp_path / "real", "anything")
    assert not is_marked(tmp_path / "link", "anything")
    assert not is_marked(tmp_path / "nowhere", "anything")
    assert partial_of(tmp_path / ("n" * 255)).name.startswith("."), "also beside a file whose name is as long as can be"
