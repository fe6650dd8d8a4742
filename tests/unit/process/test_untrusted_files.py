"""What a child leaves is read where it was left, or not at all: no link, no second name, no pipe, no other folder."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goldsmith.foundation import beneath
from goldsmith.foundation.ownership import remove_tree
from goldsmith.process.untrusted_files import UntrustedFolder

WAYS = ["in one step", "step by step"]


@pytest.fixture(params=WAYS)
def folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> UntrustedFolder:
    """With `openat2`, and as on a kernel that has none."""
    if request.param == "step by step":
        monkeypatch.setattr(beneath, "resolves_in_kernel", lambda: False)
    elif not beneath.resolves_in_kernel():
        pytest.skip("this kernel has no openat2")
    place = tmp_path / "left"
    (place / "out").mkdir(parents=True)
    (place / "out/1").write_text("mine")
    (tmp_path / "other/out").mkdir(parents=True)
    (tmp_path / "other/out/1").write_text("another's")
    return UntrustedFolder(place)


def refused(folder: UntrustedFolder, name: str = "out/1") -> bool:
    try:
        folder.read(name)
    except OSError:
        return True
    return False


def test_a_plain_file_is_read(folder: UntrustedFolder) -> None:
    assert folder.read("out/1") == b"mine"
    assert folder.tail("out/1", 2) == b"ne"


@pytest.mark.parametrize("target", ["../other/out", "{other}", "/proc/self/root{other}", "elsewhere"])
def test_no_link_is_followed_in_the_middle_of_a_path(folder: UntrustedFolder, target: str) -> None:
    other = folder.path.parent / "other/out"
    (folder.path / "out").rename(folder.path / "elsewhere")
    (folder.path / "out").symlink_to(target.format(other=other))
    assert refused(folder)
    assert folder.read("elsewhere/1") == b"mine"


def test_no_link_is_followed_at_the_end_of_a_path(folder: UntrustedFolder) -> None:
    (folder.path / "out/2").symlink_to(folder.path.parent / "other/out/1")
    (folder.path / "out/3").symlink_to("1")
    assert refused(folder, "out/2")
    assert refused(folder, "out/3")


@pytest.mark.parametrize("name", ["../other/out/1", "out/../../other/out/1", "{other}/1", "", "."])
def test_no_name_leads_out_of_the_folder(folder: UntrustedFolder, name: str) -> None:
    assert refused(folder, name.format(other=folder.path.parent / "other/out"))


def test_a_second_name_for_somebody_elses_file_is_refused(folder: UntrustedFolder) -> None:
    (folder.path / "out/2").hardlink_to(folder.path.parent / "other/out/1")
    assert refused(folder, "out/2")


def test_what_is_no_file_is_refused_and_not_waited_for(folder: UntrustedFolder) -> None:
    os.mkfifo(folder.path / "pipe")
    (folder.path / "folder").mkdir()
    with socket.socket(socket.AF_UNIX) as end:
        here = os.getcwd()
        os.chdir(folder.path)  # the path of a socket must be short
        end.bind("socket")
        os.chdir(here)
        assert [refused(folder, name) for name in ("pipe", "folder", "socket", "out/1/2")] == [True] * 4


@pytest.mark.skipif(os.getuid() != 0, reason="devices and mounts take root")
def test_neither_devices_nor_other_file_systems_are_entered(folder: UntrustedFolder) -> None:
    os.mknod(folder.path / "device", 0o020666, os.makedev(1, 5))
    assert refused(folder, "device")
    (folder.path / "mounted").mkdir()
    command = ["mount", "-t", "tmpfs", "none", str(folder.path / "mounted")]
    if subprocess.run(command, capture_output=True).returncode:
        pytest.skip("nothing can be mounted here")
    try:
        (folder.path / "mounted/1").write_text("on another file system")
        assert refused(folder, "mounted/1")
    finally:
        subprocess.run(["umount", str(folder.path / "mounted")], check=True)


def test_a_folder_stays_the_one_that_was_opened(folder: UntrustedFolder) -> None:
    folder.path.rename(folder.path.with_name("aside"))
    folder.path.symlink_to(folder.path.parent / "other")
    assert folder.read("out/1") == b"mine"
    with pytest.raises(OSError, match=r"left|directory|links"):
        UntrustedFolder(folder.path)


def test_no_more_is_read_than_was_asked_for(folder: UntrustedFolder) -> None:
    with (folder.path / "large").open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(OSError, match="larger than 1 MiB"):
        folder.read("large", 2**20)


def test_a_folder_that_is_exchanged_all_the_time_never_leads_elsewhere(folder: UntrustedFolder) -> None:
    stop = threading.Event()

    def exchange() -> None:
        out, aside = folder.path / "out", folder.path / "aside"
        while not stop.is_set():
            out.rename(aside)
            out.symlink_to("../other/out")
            out.unlink()
            aside.rename(out)

    thread = threading.Thread(target=exchange)
    thread.start()
    try:
        found = set()
        for _ in range(3000):
            try:
                found.add(folder.read("out/1"))
            except OSError:
                continue
    finally:
        stop.set()
        thread.join()
    assert found <= {b"mine"}


@settings(max_examples=150, deadline=None)
@given(
    links=st.lists(
        st.tuples(
            st.sampled_from(["a", "b", "a/x", "b/y", "a/x/z"]),
            st.sampled_from(["..", "../..", "../secret", "a", "b", "/", "/proc/self/cwd", ".", "x", "{top}/secret"]),
        ),
        max_size=6,
    ),
    name=st.lists(st.sampled_from(["a", "b", "x", "y", "z", "..", ".", "secret"]), min_size=1, max_size=6),
)
def test_whatever_links_there_are_a_secret_is_never_read(
    tmp_path_factory: pytest.TempPathFactory, links: list[tuple[str, str]], name: list[str]
) -> None:
    top = tmp_path_factory.mktemp("tree")
    (top / "secret").write_text("secret")
    (top / "left/a/x").mkdir(parents=True)
    (top / "left/b").mkdir()
    for place, target in links:
        path = top / "left" / place
        if path.parent.resolve().is_relative_to(top / "left") and not os.path.lexists(path):
            path.symlink_to(target.format(top=top))
    folder = UntrustedFolder(top / "left")
    with pytest.MonkeyPatch.context() as patch:
        for in_kernel in {False, beneath.resolves_in_kernel()}:
            patch.setattr(beneath, "resolves_in_kernel", lambda in_kernel=in_kernel: in_kernel)
            assert refused(folder, "/".join(name)), "nothing but links and folders is there"


def test_removal_gives_no_rights_to_what_a_link_leads_to(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "inner").mkdir(parents=True)
    outside.chmod(0o500)
    (outside / "inner").chmod(0o500)
    room = tmp_path / "room"
    (room / "closed/deeper").mkdir(parents=True)
    (room / "closed/link").symlink_to(outside)
    (room / "closed/deeper").chmod(0)
    (room / "closed").chmod(0o500)
    remove_tree(room)
    assert not room.exists()
    assert [oct(path.stat().st_mode & 0o777) for path in (outside, outside / "inner")] == ["0o500", "0o500"]
    outside.chmod(0o700)
