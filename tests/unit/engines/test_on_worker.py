"""What a worker does with what it is sent, and what is made of its answers: real files, in this process."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import os
import stat
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldsmith.engines import on_worker, portable
from goldsmith.engines.environment import differences, environment_facts
from goldsmith.engines.portable import Answer, Parcel, Survey
from goldsmith.foundation.ownership import new_token


class Echo:
    """Work on a worker: says what is in its folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.ended, self.closed = folder, threading.Event(), False

    def perform(self, order: Any, folder: Path) -> bytes:
        if isinstance(order, Exception):
            raise order
        if order == "wait":
            self.ended.wait(10.0)
        (folder / "mine").write_text("private")
        return "|".join(sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob("*"))).encode()

    def stop(self) -> None:
        self.ended.set()

    def close(self) -> None:
        self.closed = True


def answer(content: bytes) -> Answer:
    return msgspec.msgpack.decode(content, type=Answer)


PROCESS = msgspec.msgpack.decode(on_worker.survey(()), type=Survey).process


@pytest.fixture
def run() -> Iterator[str]:
    token = new_token()
    yield token
    asyncio.run(on_worker.leave(token))


def parcel(folder: Path, **files: bytes) -> Parcel:
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return Parcel(run="x", files={f"in/{name}": folder / name for name in files}, versions=(), open=Echo)


def send(run: str, sent: Parcel) -> None:
    for pieces in sent.pieces():
        assert answer(on_worker.receive(run, PROCESS, pieces)) == Answer()
    assert answer(on_worker.open_run(run, PROCESS, sent.layout, sent.open)) == Answer()


def folder_of(run: str) -> Path:
    return on_worker._runs[run].folder


def test_what_is_sent_lies_in_a_folder_that_nobody_else_can_enter_and_goes_with_the_run(
    run: str, tmp_path: Path
) -> None:
    send(run, parcel(tmp_path, gold=b"1" * 100, again=b"1" * 100, empty=b""))
    folder = folder_of(run)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert answer(on_worker.perform(run, PROCESS, "")).content == b"in|in/again|in/empty|in/gold"
    assert not list(folder.rglob("mine")), "an item's own files go with it"
    place = on_worker._runs[run].place
    asyncio.run(on_worker.leave(run))
    assert isinstance(place, Echo)
    assert place.closed
    assert not folder.exists()
    assert answer(on_worker.receive(run, PROCESS, [])).trouble == "forgotten"


def test_what_is_running_is_stopped_and_removed_afterwards(run: str, tmp_path: Path) -> None:
    send(run, parcel(tmp_path, gold=b"1"))
    folder = folder_of(run)
    working = threading.Thread(target=partial(on_worker.perform, run, PROCESS, "wait"))
    working.start()
    while not on_worker._runs[run].users:
        time.sleep(0.01)
    asyncio.run(on_worker.leave(run))
    working.join(5.0)
    assert not working.is_alive()
    assert not folder.exists()


def test_a_run_of_which_nothing_is_heard_is_removed(run: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_worker, "_IDLE_S", 0.2)
    send(run, parcel(tmp_path, gold=b"1"))
    folder, until = folder_of(run), time.monotonic() + 10.0
    while folder.exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert not folder.exists()
    assert answer(on_worker.perform(run, PROCESS, "")).trouble == "forgotten"


def test_another_process_and_damage_are_told(run: str, tmp_path: Path) -> None:
    sent = parcel(tmp_path, gold=b"right")
    name = hashlib.sha256(b"right").hexdigest()
    assert answer(on_worker.receive(run, "another", [(name, 0, b"right")])).trouble == "forgotten"
    assert answer(on_worker.receive(run, PROCESS, [(name, 0, b"wrong")])) == Answer()
    damaged = answer(on_worker.open_run(run, PROCESS, sent.layout, sent.open))
    assert damaged.trouble == "machine"
    out = {"../out": (name, 0o600)}
    assert answer(on_worker.receive(run, PROCESS, [(name, 0, b"right")])) == Answer()
    assert answer(on_worker.open_run(run, PROCESS, out, sent.open)).trouble == "failed"


@pytest.mark.parametrize(
    ("error", "trouble"),
    [
        (OSError(28, os.strerror(28)), "full"),
        (OSError(5, os.strerror(5)), "machine"),
        (ValueError("a bug"), "failed"),
    ],
)
def test_what_goes_wrong_there_is_told_as_what_it_is(run: str, tmp_path: Path, error: Exception, trouble: str) -> None:
    send(run, parcel(tmp_path, gold=b"1"))
    assert answer(on_worker.perform(run, PROCESS, error)).trouble == trouble


@given(st.lists(st.binary(max_size=40), min_size=1, max_size=6), st.integers(1, 16))
def test_files_of_any_size_come_together_again(contents: list[bytes], size: int) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(portable, "PIECE_BYTES", size)
        sent = parcel(Path(folder), **{f"f{number}": content for number, content in enumerate(contents)})
        put: dict[str, bytearray] = {}
        for name, offset, content in itertools.chain.from_iterable(sent.pieces()):
            own = put.setdefault(name, bytearray())
            assert len(own) == offset
            own += content
        assert all(hashlib.sha256(own).hexdigest() == name for name, own in put.items())
        assert {name for name, _ in sent.layout.values()} == set(put)


def test_what_differs_is_named_in_words() -> None:
    here = environment_facts(["numpy"])
    assert list(differences(here, here)) == []
    there = here | {"numpy": "0.1", "goldsmith": "other"}
    assert list(differences(there, here)) == [
        f"numpy is 0.1 there and {here['numpy']} here",
        "its goldsmith is not made of the same source",
    ]
    assert list(differences({}, {"Python": "3.12"})) == ["Python is not installed there and 3.12 here"]
