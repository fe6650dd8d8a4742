"""Private copies and the proof that a tree did not change."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from goldsmith.courses.layout.layout import find_course
from goldsmith.courses.layout.resolve import resolve
from goldsmith.errors.course import Unreadable
from goldsmith.workspace.copies import make_workspaces
from goldsmith.workspace.snapshot import changed_paths, take_snapshot
from support.course import CourseOnDisk

NAMES = st.text("abcdefg é", min_size=1, max_size=5).map(str.strip).filter(lambda name: name not in ("", "."))
TREES = st.dictionaries(NAMES, st.binary(max_size=40), min_size=1, max_size=5)


@pytest.fixture
def busy(course: CourseOnDisk) -> CourseOnDisk:
    course.write(
        {
            "data/table.csv": "1,2\n",
            "data/huge/blob.bin": "x" * 100,
            ".git/config": "",
            ".venv/pyvenv.cfg": "",
            "src/assignments/hw1/__pycache__/ops.pyc": "",
            "tests/internal/fixtures/hw1/old.pt": "gold",
            "private/notes.md": "secret",
            "private/solutions/hw2/other_solution.py": "",
            "private/solutions/hw1/extra/table.txt": "added",
            "goldsmith.toml": 'exclude = ["data/huge"]\n',
        }
    )
    (course.root / "data/link.csv").symlink_to("table.csv")
    (course.root / "data/absolute.csv").symlink_to(course.root / "data/table.csv")
    os.mkfifo(course.root / "data/pipe")
    (course.root / "src/assignments/hw1/run.sh").write_text("#!/bin/sh\n")
    (course.root / "src/assignments/hw1/run.sh").chmod(0o555)
    return course


def test_a_workspace_holds_the_course_with_the_solution_in_place(busy: CourseOnDisk) -> None:
    target = resolve(find_course(busy.root).assignment("hw1"))
    before = take_snapshot(busy.root)
    with make_workspaces(target, target.placed, 2) as (one, two):
        base = one.root.parent.parent
        assert base.stat().st_mode & 0o077 == 0
        files = {path.relative_to(one.root).as_posix() for path in one.root.rglob("*") if not path.is_dir()}
        assert files == {
            "data/absolute.csv",
            "data/link.csv",
            "data/table.csv",
            "goldsmith.toml",
            "private/notes.md",
            "src/assignments/hw1/extra/table.txt",
            "src/assignments/hw1/generate_fixtures.py",
            "src/assignments/hw1/ops.py",
            "src/assignments/hw1/run.sh",
        }
        assert "return x * 2.0" in (one.folder / "ops.py").read_text()
        assert (one.root / "data/absolute.csv").resolve().is_relative_to(one.root)
        assert os.access(one.folder / "run.sh", os.X_OK)
        assert one.origin(one.folder / "ops.py") == busy.root / "private/solutions/hw1/ops_solution.py"
        (one.folder / "ops.py").write_text("mine")
        assert (two.folder / "ops.py").read_text() != "mine"
        (one.root / "data").chmod(0o000)
    assert not base.exists()
    assert take_snapshot(busy.root) == before


def test_a_file_that_cannot_be_read_is_named(busy: CourseOnDisk) -> None:
    (busy.root / "data/gone.csv").symlink_to("nowhere")
    (busy.root / "private/solutions/hw1/ops_solution.py").unlink()
    (busy.root / "private/solutions/hw1/ops_solution.py").mkdir()
    target = resolve(find_course(busy.root).assignment("hw1"))
    with make_workspaces(target, target.placed, 1) as (one,):
        assert (one.root / "data/gone.csv").is_symlink()
    missing = [item.__class__(busy.root / "nothing.py", item.target) for item in target.placed]
    with pytest.raises(Unreadable, match=r"nothing\.py cannot be read"), make_workspaces(target, missing, 1):
        pass


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(tree=TREES, data=st.data())
def test_a_snapshot_sees_every_change(tmp_path: Path, tree: dict[str, bytes], data: st.DataObject) -> None:
    root = tmp_path / str(len(list(tmp_path.iterdir())))
    root.mkdir()
    for name, content in tree.items():
        (root / name).write_bytes(content)
    before = take_snapshot(root)
    assert changed_paths(before, take_snapshot(root)) == []
    name = data.draw(st.sampled_from(sorted(tree)))
    path = root / name
    match data.draw(st.sampled_from(["byte", "mode", "gone", "new", "link"])):
        case "byte":
            content = bytearray(tree[name] or b"x")
            content[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
            path.write_bytes(content)
        case "mode":
            path.chmod(path.stat().st_mode ^ 0o100)
        case "gone":
            path.unlink()
        case "new":
            name = "zzz new"
            (root / name).mkdir()
        case "link":
            path.unlink()
            path.symlink_to("somewhere")
    assert changed_paths(before, take_snapshot(root)) == [name]
