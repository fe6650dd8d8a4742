"""Git in a repository that was submitted: its commit is read, and nothing that its configuration names is run."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from goldsmith.courses.layout.layout import find_course
from goldsmith.courses.packs.run_pack import main
from goldsmith.foundation.git import commit_time, run_git, uncommitted
from goldsmith.sandbox.packages import PACKAGE
from support.course import CourseOnDisk

WHEN = 1_700_000_000
SIGNED = """tree {tree}
author Eve <eve@example.org> {when} +0000
committer Eve <eve@example.org> {when} +0100
gpgsig -----BEGIN PGP SIGNATURE-----
 iQEzBAABCAAdFiEE
 -----END PGP SIGNATURE-----

committer Mallory <m@example.org> 1 +0000
"""
PROGRAMS = """
[core]
    fsmonitor = {program}
    hooksPath = {hooks}
    sshCommand = {program}
    pager = {program}
    gitProxy = {program}
    editor = {program}
    alternateRefsCommand = {program}
    worktree = {hooks}
[log]
    showSignature = true
[gpg]
    program = {program}
[gpg "ssh"]
    program = {program}
[credential]
    helper = !{program}
[alias]
    cat-file = !{program}
    init = !{program}
    show = !{program}
[diff]
    external = {program}
[filter "f"]
    smudge = {program}
    clean = {program}
    process = {program}
    required = true
[diff "t"]
    textconv = {program}
[extensions]
    partialClone = origin
[remote "origin"]
    url = ext::{program}
    promisor = true
    uploadpack = {program}
[protocol "ext"]
    allow = always
[include]
    path = {hooks}/more
"""


class Submitted:
    """A student's checkout, with a commit that is signed, and a program that leaves a mark if anybody runs it."""

    def __init__(self, folder: Path, *init: str) -> None:
        self.root, self.mark, self.hooks = folder / "work", folder / "mark", folder / "hooks"
        self.root.mkdir(parents=True)
        self.hooks.mkdir()
        self.program = self.hooks / "program"
        self.program.write_text(f'#!/bin/sh\necho "$@" >> {self.mark}\ncat\n')
        self.program.chmod(0o755)
        for name in ("post-index-change", "reference-transaction", "pre-auto-gc"):
            (self.hooks / name).symlink_to(self.program)
        self.git("init", "--quiet", "--initial-branch=main", *init)
        (self.root / "ops.py").write_text("x = 1\n")
        (self.root / ".gitattributes").write_text("* filter=f diff=t\n")
        self.git("add", "ops.py")
        self.commit = self.committed(WHEN)
        (self.hooks / "more").write_text(f"[gpg]\n    program = {self.program}\n")

    def git(self, *arguments: str, said: bytes = b"") -> str:
        run = subprocess.run(["git", "-C", self.root, *arguments], input=said, capture_output=True, check=True)
        return run.stdout.decode().strip()

    def committed(self, when: int | str) -> str:
        text = SIGNED.format(tree=self.git("write-tree"), when=when).encode()
        command = ("hash-object", "-t", "commit", "-w", "--stdin", "--literally")
        commit = self.git(*command, said=text)
        self.git("update-ref", "refs/heads/main", commit)
        return commit

    def set_programs(self) -> None:
        with (self.root / ".git/config").open("a") as file:
            file.write(PROGRAMS.format(program=self.program, hooks=self.hooks))

    def time(self, room: Path) -> int | None:
        room.mkdir()
        return commit_time(self.root, room)


@pytest.fixture
def submitted(tmp_path: Path) -> Submitted:
    return Submitted(tmp_path / "eve")


def test_no_program_that_a_submitted_repository_names_is_run(submitted: Submitted, tmp_path: Path) -> None:
    submitted.set_programs()
    assert submitted.time(tmp_path / "room") == WHEN
    assert not submitted.mark.exists()
    subprocess.run(["git", "-c", "safe.directory=*", "show", "-s"], cwd=submitted.root, capture_output=True)
    assert submitted.mark.exists(), "the program would have been run"


def test_what_the_environment_says_to_git_is_not_said_in_a_submitted_repository(
    submitted: Submitted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(submitted.hooks / "config"))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "none"))
    monkeypatch.setenv("GIT_TRACE2", str(tmp_path / "traced"))
    assert submitted.time(tmp_path / "room") == WHEN
    assert not (tmp_path / "traced").exists()


@pytest.mark.parametrize("form", ["sha1", "sha256"])
@pytest.mark.parametrize("how", ["loose", "packed", "detached", 'a:b "c" d'])
def test_the_time_of_a_commit_is_found_wherever_git_keeps_it(tmp_path: Path, how: str, form: str) -> None:
    made = Submitted(tmp_path / how, f"--object-format={form}")
    if how == "packed":
        made.git("pack-refs", "--all")
        made.git("gc", "--quiet")
        assert not (made.root / ".git/refs/heads/main").exists()
    elif how == "detached":
        (made.root / ".git/HEAD").write_text(made.commit + "\n")
    assert made.time(tmp_path / "room") == WHEN


def test_a_repository_that_leads_elsewhere_or_makes_no_sense_has_no_time(tmp_path: Path) -> None:
    other = Submitted(tmp_path / "private")
    for number, spoil in enumerate(SPOILT):
        made = Submitted(tmp_path / f"eve{number}")
        spoil(made, other)
        assert made.time(tmp_path / f"room{number}") is None, number
        assert not made.mark.exists()


def _lead(made: Submitted, other: Submitted, *, by_link: bool) -> None:
    (made.root / ".git").rename(made.root / "old")
    if by_link:
        (made.root / ".git").symlink_to(other.root / ".git")
    else:
        (made.root / ".git").write_text(f"gitdir: {other.root / '.git'}\n")


def _write(made: Submitted, name: str, text: str | Path) -> None:
    path = made.root / ".git" / name
    path.unlink(missing_ok=True)
    path.write_text(text) if isinstance(text, str) else path.symlink_to(text)


def _pipe(made: Submitted) -> None:
    (made.root / ".git/HEAD").unlink()
    os.mkfifo(made.root / ".git/HEAD")


SPOILT = (
    lambda made, other: _lead(made, other, by_link=True),
    lambda made, other: _lead(made, other, by_link=False),
    lambda made, other: _write(made, "HEAD", other.root / ".git/refs/heads/main"),
    lambda made, other: _write(made, "refs/heads/main", other.root / ".git/refs/heads/main"),
    lambda made, other: _write(made, "HEAD", "ref: refs/../../../private/work/.git/refs/heads/main"),
    lambda made, other: _write(made, "HEAD", "--upload-pack=touch"),
    lambda made, other: _write(made, "HEAD", "ref: refs/heads/none"),
    lambda made, other: _write(made, "HEAD", "0" * 40),
    lambda made, other: _pipe(made),
    lambda made, other: made.committed("99999999999999999999"),
    lambda made, other: _write(made, "HEAD", made.git("write-tree")),
)


def test_a_folder_that_came_with_a_commit_is_not_taken_for_a_repository(course: CourseOnDisk, tmp_path: Path) -> None:
    """A course in a folder of a repository; somebody's commit puts the files of a bare repository into it."""
    other = Submitted(tmp_path / "eve")
    mark, program = other.mark, other.program
    run_git(course.root.parent, "init", "--quiet")
    for name in ("HEAD", "objects", "refs", "index"):
        (other.root / ".git" / name).rename(course.root / name)
    settings = f"repositoryformatversion = 0\n bare = false\n worktree = .\n fsmonitor = {program}\n"
    (course.root / "config").write_text(f"[core]\n {settings}")
    subprocess.run(["git", "-C", course.root, "status", "--porcelain"], capture_output=True)
    assert mark.exists(), "git itself would have run the program"
    mark.unlink()
    uncommitted(find_course(course.root).root, ".")
    assert not mark.exists()


def test_a_repository_that_was_added_to_the_course_s_is_not_looked_into(course: CourseOnDisk, tmp_path: Path) -> None:
    """`git add submissions` takes a folder with a `.git` of its own for a submodule, in which git asks its programs."""
    run_git(course.root, "init", "--quiet")
    other = Submitted(tmp_path / "eve")
    other.root.rename(course.root / "submissions")
    other.root = course.root / "submissions"
    run_git(course.root, "add", ".")
    other.set_programs()
    (other.root / "ops.py").write_text("x = 2\n")
    subprocess.run(["git", "-C", course.root, "status", "--porcelain"], capture_output=True)
    assert other.mark.exists(), "git itself would have run the program"
    other.mark.unlink()
    assert "submissions" in uncommitted(course.root, ".")
    assert course.run("generate", "hw1", "--check").code in (0, 1)
    assert course.run("inject", "hw1").code == 0
    assert not other.mark.exists()


def test_git_is_started_in_one_module() -> None:
    modules = [path for path in PACKAGE.rglob("*.py") if '["git"' in path.read_text(encoding="utf-8")]
    assert [path.relative_to(PACKAGE).as_posix() for path in modules] == ["foundation/git.py"]


def test_what_is_uncommitted_is_asked_in_one_place() -> None:
    """Else somebody forgets that repositories in the course's are not to be looked into."""
    modules = [path for path in PACKAGE.rglob("*.py") if '"status", "--porcelain"' in path.read_text(encoding="utf-8")]
    assert [path.relative_to(PACKAGE).as_posix() for path in modules] == ["foundation/git.py"]


def test_a_pack_that_lies_in_a_submitted_repository_does_not_take_it_for_the_course_s(
    submitted: Submitted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", "")
    course = submitted.root / "pack/course"
    course.mkdir(parents=True)
    assert run_git(course, "rev-parse", "HEAD").returncode == 0
    given = ("--pack", course.parent, "--submission", submitted.root, "--results", submitted.root)
    umask = os.umask(0o077)
    try:
        assert main(["gradescope", *map(str, given)]) == 3, "there is nothing in the pack"
    finally:
        os.umask(umask)
    assert run_git(course, "rev-parse", "HEAD").returncode != 0
