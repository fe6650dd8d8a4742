"""Archives that are broken or built to harm: each is its submission's reason, whatever is wrong with it."""

from __future__ import annotations

import bz2
import errno
import gzip
import io
import itertools
import lzma
import random
import struct
import tarfile
import time
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from goldsmith.courses.grade.archives import unpack
from goldsmith.courses.guard.public_files import public_in
from goldsmith.errors.gold import CannotWrite
from goldsmith.errors.grade import BadArchive

FILES = {
    "ops.py": b"def centre(x):\n    return x - x.mean()\n" * 40,
    "a folder/notes é.txt": b"some notes\n" * 9,
    "a folder/" + "deep/" * 12 + "a long name that needs a header of its own in every format of tar.py": b"x = 1\n",
    "weights.bin": bytes(range(256)) * 30,
}


def zipped(method: int, files: dict[str, bytes] = FILES) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return made.getvalue()


def tarred(format_: int = tarfile.PAX_FORMAT) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=format_) as archive:
        for name, content in FILES.items():
            item = tarfile.TarInfo(name)
            item.size = len(content)
            archive.addfile(item, io.BytesIO(content))
    return made.getvalue()


ARCHIVES = {
    "stored.zip": zipped(zipfile.ZIP_STORED),
    "deflated.zip": zipped(zipfile.ZIP_DEFLATED),
    "bzip2.zip": zipped(zipfile.ZIP_BZIP2),
    "plain.tar": tarred(),
    "gnu.tar": tarred(tarfile.GNU_FORMAT),
    "ustar.tar.gz": gzip.compress(tarred()),
    "bzip2.tar.bz2": bz2.compress(tarred()),
    "xz.txz": lzma.compress(tarred(tarfile.GNU_FORMAT)),
    "named wrongly.tar": zipped(zipfile.ZIP_DEFLATED),
    "named wrongly.zip": tarred(),
}
_NUMBERS = (0, 1, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF)
_TEXTS = (
    b"",
    b"\0",
    b"/",
    b"..",
    b"/etc/passwd",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"C:",
    b"PK\x05\x06",
    b"0000000",
    b"ustar",
)


def mutated(draw: random.Random) -> tuple[str, bytes]:
    """An archive with some of its bytes changed, cut, repeated or moved."""
    name, content = draw.choice(sorted(ARCHIVES.items()))
    made = bytearray(content)
    for _ in range(draw.choice((1, 1, 1, 2, 3, 8))):
        at = draw.randrange(len(made) + 1) if draw.random() < 0.6 else max(0, len(made) - draw.randrange(400))
        span = draw.choice((1, 2, 4, 22, 46, 512))
        match draw.randrange(7):
            case 0:
                made[at : at + 1] = bytes([draw.randrange(256)])
            case 1:
                number = struct.pack("<Q", draw.choice(_NUMBERS))[: draw.choice((1, 2, 4, 8))]
                made[at : at + len(number)] = number
            case 2:
                text = draw.choice(_TEXTS)
                made[at : at + len(text)] = text
            case 3:
                del made[at : at + span]
            case 4:
                made[at:at] = made[at : at + span] * draw.choice((1, 3, 50))
            case 5:
                del made[at:]
            case _:
                other = draw.choice(list(ARCHIVES.values()))
                begin = draw.randrange(len(other))
                made[at : at + span] = other[begin : begin + span]
    return name, bytes(made)


@pytest.mark.parametrize("count", [pytest.param(400, id="400"), pytest.param(6000, id="6000", marks=pytest.mark.long)])
def test_a_broken_archive_is_never_a_failure_of_ours_and_stays_in_its_folder(tmp_path: Path, count: int) -> None:
    draw = random.Random(20)
    refused = 0
    for number in range(count):
        name, content = mutated(draw)
        place = tmp_path / str(number)
        (place / "there").mkdir(parents=True)
        (place / name).write_bytes(content)
        began = time.thread_time()
        try:
            unpack(place / name, place / "there")
        except BadArchive:
            refused += 1
        assert time.thread_time() - began < 5, (number, name)
        assert sorted(item.name for item in place.iterdir()) == sorted([name, "there"]), (number, name)
    assert count / 3 < refused < count, "some are broken, and some are not"
    assert len(list(tmp_path.iterdir())) == count


def test_the_guard_does_not_fail_on_one_either(tmp_path: Path) -> None:
    draw = random.Random(21)
    for _ in range(200):
        name, content = mutated(draw)
        (tmp_path / name).write_bytes(content)
        assert next(public_in(tmp_path / name)).content == content
        assert len(list(public_in(tmp_path / name))) >= 1


def bad(tmp_path: Path, name: str, content: bytes) -> str:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BadArchive) as found:
        unpack(tmp_path / name, tmp_path / "there")
    return found.value.problem


def renamed(old: bytes, new: bytes) -> bytes:
    content = zipped(zipfile.ZIP_STORED, {old.decode(): b"x = 1\n"})
    return content.replace(old, new)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (zipped(zipfile.ZIP_DEFLATED, {"ops.py": b"x = 1\n" * 99}).replace(b"ops.py", b"ops.py\xff\xff\xff", 1), ""),
        (zipped(zipfile.ZIP_STORED, {".": b"x"}), "a file without a name"),
        (renamed(b"abc", b"\0bc"), "a file without a name"),
        (renamed(b"abc", b"///"), ""),
        (renamed(b"abc", b"/bc"), "outside of it"),
        (zipped(zipfile.ZIP_STORED, {"a": b"x", "a/b": b"x"}), "cannot be unpacked"),
        (zipped(zipfile.ZIP_STORED, {"a": b"x", "./a": b"x"}), "twice"),
        (b"PK\x05\x06", "cannot be read"),
        (b"", "cannot be read"),
    ],
    ids=["deflate", "dot", "nothing", "slashes", "absolute", "file and folder", "twice", "cut off", "empty"],
)
def test_an_archive_says_what_is_wrong_with_it(tmp_path: Path, content: bytes, says: str) -> None:
    assert says in bad(tmp_path, "made.zip", content)


def folders(count: int) -> Iterator[bytes]:
    item = tarfile.TarInfo("the same folder")
    item.type = tarfile.DIRTYPE
    yield from itertools.repeat(item.tobuf(), count)


def test_a_folder_that_is_listed_again_and_again_counts_each_time(tmp_path: Path) -> None:
    began = time.thread_time()
    assert "lists more than 10000" in bad(tmp_path, "made.tar.gz", gzip.compress(b"".join(folders(200_000)), 1))
    index = io.BytesIO()
    with zipfile.ZipFile(index, "w") as archive, warnings.catch_warnings(action="ignore"):
        for _ in range(10_001):
            archive.mkdir("d")
    assert "lists more than 10000" in bad(tmp_path, "made.zip", index.getvalue())
    assert time.thread_time() - began < 10


def test_what_takes_very_long_to_unpack_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("goldsmith.courses.grade.archives.UNPACKING_TIMEOUT_S", 0.05)
    empty = {"a.tar.gz": gzip.compress(b""), "a.tar.bz2": bz2.compress(b""), "a.tar.xz": lzma.compress(b"")}
    for name, stream in empty.items():
        assert "takes longer than" in bad(tmp_path, name, stream * 200_000), name


def test_a_full_disk_is_not_the_submissions_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    (tmp_path / "made.zip").write_bytes(ARCHIVES["stored.zip"])
    with monkeypatch.context() as patch:
        patch.setattr(Path, "mkdir", full)
        with pytest.raises(CannotWrite, match="No space left"):
            unpack(tmp_path / "made.zip", tmp_path / "there")
