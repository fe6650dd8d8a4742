"""The forms in which a solution lies in other files: archives, compressed and encoded files, those of editors and git.

Each makes the bytes of a file around a solution, and says what the file is called.
"""

from __future__ import annotations

import base64
import binascii
import bz2
import gzip
import importlib.util
import io
import json
import lzma
import marshal
import pickle
import random
import re
import sqlite3
import struct
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from html import escape
from pathlib import Path
from textwrap import indent

import numpy as np
from safetensors.numpy import save

Form = Callable[[str], bytes]
_WORDS = ["loss", "step", "train", "value", "model", "batch", "mean", "data", "point", "layer"]


def zip_of(files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return made.getvalue()


def tar_of(files: dict[str, bytes], form: int = tarfile.PAX_FORMAT) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=form) as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return made.getvalue()


def swap_file(text: str) -> bytes:
    """What Vim 9 leaves for a file that is open: pages of 4096 bytes, in each the last line first."""
    head = bytearray(4096)
    head[:9], head[12:16] = b"b0VIM 9.0", struct.pack("<I", 4096)
    pages: list[list[bytes]] = [[]]
    for line in text.encode().split(b"\n"):
        if sum(len(item) + 5 for item in [*pages[-1], line]) > 4096 - 24:
            pages.append([])
        pages[-1].append(line)
    made = bytes(head) + b"tp" + bytes(4094)
    for lines in pages:
        told = b"".join(line + b"\0" for line in reversed(lines))
        index, at = b"", 4096
        for line in lines:
            at -= len(line) + 1
            index += struct.pack("<I", at)
        page = struct.pack("<2sxxIIIQ", b"ad", 0, 4096 - len(told), 4096, len(lines)) + index
        made += page + bytes(4096 - len(page) - len(told)) + told
    return made


def database(text: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        connection = sqlite3.connect(Path(folder, "history.sqlite"))
        connection.execute("pragma page_size = 65536")  # a cell of a notebook is shorter than a page
        connection.execute("create table history (session integer, line integer, source text)")
        connection.executemany("insert into history values (1, ?, ?)", [(1, "import torch"), (2, text)])
        connection.commit()
        connection.close()
        return Path(folder, "history.sqlite").read_bytes()


def cell(**more: object) -> bytes:
    book = {"cells": [{"cell_type": "code", "source": ["x = 1"], "metadata": {}, **more}], "metadata": {}}
    return json.dumps(book | {"nbformat": 4, "nbformat_minor": 5}).encode()


def prose(megabytes: float) -> str:
    chance = random.Random(0)
    page = "".join(" ".join(chance.choices(_WORDS, k=12)) + ".\n" for _ in range(160))
    return page * int(megabytes * 100)


def coded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def document(text: str) -> bytes:
    escaped = text.replace("&", "&amp;").replace("<", "&lt;")
    rows = "".join(f'<w:p><w:r><w:t xml:space="preserve">{row}</w:t></w:r></w:p>' for row in escaped.split("\n"))
    return zip_of({"[Content_Types].xml": b"<Types/>", "word/document.xml": f"<w:body>{rows}</w:body>".encode()})


def sheet(text: str) -> str:
    return "".join(f'<si><t xml:space="preserve">{escape(row)}</t></si>' for row in text.split("\n"))


def each(text: str, form: str, end: str = "") -> bytes:
    """Every line of a text, written in a form of its own."""
    return "\n".join(form.format(row + end) for row in text.split("\n")).encode()


SLOW = ("module over 2 MiB", "bomb", "very many folders")
"""What takes seconds, and which others show in small."""

FORMS: dict[str, tuple[str, Form]] = {
    "text of a word processor": (
        "notes.rtf",
        lambda text: ("{\\rtf1\\ansi " + re.sub(r"([{}\\])", r"\\\1", text).replace("\n", "\\line\n") + "}").encode(),
    ),
    "cells of a sheet": ("plan.xlsx", lambda text: zip_of({"xl/sharedStrings.xml": sheet(text).encode()})),
    "spaces of a page": ("notes.txt", lambda text: text.replace("    ", "\u00a0" * 4).encode()),
    "wide spaces": ("notes.txt", lambda text: text.replace(" ", "\u3000").encode()),
    "a log": ("run.log", lambda text: each(text, "2026-01-01 12:00:01,123 INFO grade: {}")),
    "a log of CI": ("job.txt", lambda text: each(text, "2026-01-01T12:00:01.1234567Z {}")),
    "a log of logging": ("job.txt", lambda text: each(text, "INFO:root:{}")),
    "a string in each line": ("make.py", lambda text: b"TEXT = (\n" + each(text, "    {!r}", "\n") + b")\n"),
    "a string in each line of C": ("make.c", lambda text: each(text.replace('"', "'"), '    "{}\\n"')),
    "a record for each line": (
        "log.jsonl",
        lambda text: b"\n".join(json.dumps({"l": row}).encode() for row in text.split("\n")),
    ),
    "a row for each line": ("lines.csv", lambda text: each(text.replace('"', '""'), '"{}",1')),
    "wheel": ("dist/hw-1.0-py3-none-any.whl", lambda text: zip_of({"hw/core.py": text.encode()})),
    "zip under another name": ("data/weights.pt", lambda text: zip_of({"hw/core.py": text.encode()})),
    "zip in a zip": ("work.zip", lambda text: zip_of({"inner.zip": zip_of({"core.py": text.encode()})})),
    "zip with bzip2": ("work.zip", lambda text: zip_of({"core.py": text.encode()}, zipfile.ZIP_BZIP2)),
    "zip with lzma": ("work.zip", lambda text: zip_of({"core.py": text.encode()}, zipfile.ZIP_LZMA)),
    "zip behind a program": ("run.bin", lambda text: b"#!/bin/sh\nexit\n" + zip_of({"core.py": text.encode()})),
    "tar": ("work.tar", lambda text: tar_of({"core.py": text.encode()})),
    "tar that ends with a zip": (
        "work.tar",
        lambda text: tar_of({"core.py.gz": gzip.compress(text.encode()), "b.zip": zip_of({"b.txt": b"b"})}),
    ),
    "tar under another name": ("work.dat", lambda text: tar_of({"core.py": text.encode()}, tarfile.GNU_FORMAT)),
    "tar.gz": ("work.tar.gz", lambda text: gzip.compress(tar_of({"core.py": text.encode()}))),
    "tgz in a tar in a zip": (
        "all.zip",
        lambda text: zip_of({"a.tar": tar_of({"b.tgz": gzip.compress(tar_of({"core.py": text.encode()}))})}),
    ),
    "tbz2": ("work.tbz2", lambda text: bz2.compress(tar_of({"core.py": text.encode()}))),
    "txz": ("work.txz", lambda text: lzma.compress(tar_of({"core.py": text.encode()}))),
    "tar.xz": ("work.tar.xz", lambda text: lzma.compress(tar_of({"core.py": text.encode()}))),
    "tar.lzma": (
        "work.tar.lzma",
        lambda text: lzma.compress(tar_of({"core.py": text.encode()}), format=lzma.FORMAT_ALONE),
    ),
    "gz": ("core.py.gz", lambda text: gzip.compress(text.encode())),
    "gz of two parts": ("core.gz", lambda text: gzip.compress(b"import math\n") + gzip.compress(text.encode())),
    "bz2": ("core.py.bz2", lambda text: bz2.compress(text.encode())),
    "xz": ("core.py.xz", lambda text: lzma.compress(text.encode())),
    "xz of two parts": ("core.py.xz", lambda text: lzma.compress(b"import math\n") + lzma.compress(text.encode())),
    "json": ("data/answers.json", lambda text: json.dumps({"id": 1, "answer": text}).encode()),
    "json with a list of lines": ("a.json", lambda text: json.dumps([{"code": text.splitlines()}]).encode()),
    "jsonl": (
        "data/answers.jsonl",
        lambda text: b"".join(json.dumps({"n": n, "code": text}).encode() + b"\n" for n in range(3)),
    ),
    "text over 2 MiB": ("notes.txt", lambda text: f"{prose(3)}\n{text}\n{prose(1)}".encode()),
    "module over 2 MiB": ("big.py", lambda text: f"TABLE = '''\n{prose(2.5)}'''\n\n\n{text}\n".encode()),
    "log": ("train.log", lambda text: f"epoch 1\n{text}\n".encode()),
    "metadata of a cell": ("lab.ipynb", lambda text: cell(metadata={"answer": text})),
    "metadata of a cell, in lines": (
        "lab.ipynb",
        lambda text: cell(metadata={"nbgrader": {"solution": text.splitlines(keepends=True)}}),
    ),
    "attachment of a cell": (
        "lab.ipynb",
        lambda text: cell(cell_type="markdown", attachments={"a.py": {"text/x-python": coded(text)}}),
    ),
    "output of a cell, encoded": (
        "lab.ipynb",
        lambda text: cell(
            outputs=[{"output_type": "display_data", "data": {"text/html": f"data:;base64,{coded(text)}"}}]
        ),
    ),
    "attachment of a cell, in lines": (
        "lab.ipynb",
        lambda text: cell(
            attachments={"a": {"text/plain": base64.encodebytes(text.encode()).decode().splitlines(keepends=True)}}
        ),
    ),
    "attachment of a cell, in one text": (
        "lab.ipynb",
        lambda text: cell(attachments={"a": {"text/plain": base64.encodebytes(text.encode()).decode()}}),
    ),
    "base 64 in lines": ("mail.eml", lambda text: b"Subject: hw\n\n" + base64.encodebytes(text.encode())),
    "an encoded zip": (
        "page.html",
        lambda text: (
            b"<a href='data:application/zip;base64,"
            + base64.b64encode(zip_of({"core.py": text.encode()}))
            + b"'>get it</a>"
        ),
    ),
    "UTF-16 without a mark": ("core.py", lambda text: text.encode("utf-16-le")),
    "UTF-16 the other way round": ("core.py", lambda text: text.encode("utf-16-be")),
    "UTF-32": ("core.py", lambda text: text.encode("utf-32")),
    "UTF-32 without a mark": ("core.py", lambda text: text.encode("utf-32-le")),
    "swap file of Vim": ("src/.core.py.swp", swap_file),
    "backup of Emacs": ("src/core.py~", str.encode),
    "autosave of Emacs": ("src/#core.py#", str.encode),
    "what a merge left": ("src/core.py.orig", str.encode),
    "checkpoint of Jupyter": ("nb/.ipynb_checkpoints/lab-checkpoint.ipynb", lambda text: cell(source=[text])),
    "history of a shell": (".ipython/history.sqlite", database),
    "pickle": ("cache.pkl", lambda text: pickle.dumps({"source": text, "table": bytes(range(256)) * 40})),
    "object of git": (
        "kit/.git/objects/ab/" + "0" * 38,
        lambda text: zlib.compress(b"blob %d\0" % len(text.encode()) + text.encode()),
    ),
    "Word document": ("hints.docx", document),
    "cell of a table": ("answers.csv", lambda text: f'ada,"{text.replace(chr(34), chr(34) * 2)}",10\n'.encode()),
    "metadata of a drawing": ("plot.svg", lambda text: f"<svg><metadata>{escape(text)}</metadata></svg>".encode()),
    "data in XML": ("hw.xml", lambda text: f"<hw><![CDATA[{text}]]></hw>".encode()),
    "under the name of a lock": ("core.py.lock", lambda text: f"# kept\n{text}".encode()),
    "patch that takes it out": ("starter.patch", lambda text: f"@@ -1,9 +0,0 @@\n{indent(text, '-', bool)}".encode()),
    "quoted mail": ("mail.txt", lambda text: indent(text, "> ", bool).encode()),
    "quoted-printable mail": (
        "mail.eml",
        lambda text: b"Content-Transfer-Encoding: quoted-printable\n\n" + binascii.b2a_qp(text.encode()),
    ),
    "listing with numbers": (
        "listing.txt",
        lambda text: "\n".join(f"{at:4}  {line}" for at, line in enumerate(text.splitlines(), 1)).encode(),
    ),
    "what grep found": (
        "found.txt",
        lambda text: "\n".join(f"core.py:{at}:{line}" for at, line in enumerate(text.splitlines(), 1)).encode(),
    ),
    "text in one line of code": ("data.py", lambda text: f"SOURCE = {text!r}\n".encode()),
    "text in one line of settings": ("hw.yaml", lambda text: f"answer: {json.dumps(text)}\n".encode()),
    "json in json": ("log.json", lambda text: json.dumps({"said": json.dumps({"code": text})}).encode()),
    "metadata of weights": ("model.safetensors", lambda text: save({"w": np.zeros(3)}, metadata={"code": text})),
    "zlib": ("core.zz", lambda text: zlib.compress(text.encode())),
    "zlib in base 64": ("run.py", lambda text: f"CODE = {base64.b64encode(zlib.compress(text.encode()))!r}\n".encode()),
}


def bomb(levels: int, width: int = 16, size: int = 10 * 2**20) -> bytes:
    """A zip of zips, each level of which is `width` times as large."""
    content = zip_of({"core.py": b"0" * size})
    for _ in range(levels):
        content = zip_of({f"{number}.zip": content for number in range(width)})
    return content


def encrypted(text: str) -> bytes:
    """A zip whose entry says that it is encrypted."""
    content = bytearray(zip_of({"core.py": text.encode()}))
    content[6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    return bytes(content)


UNSEEN: dict[str, tuple[str, Form, str]] = {
    "encrypted zip": ("work.zip", encrypted, "it is encrypted"),
    "damaged gz": ("work.gz", lambda text: gzip.compress(text.encode())[:-20], "it cannot be unpacked"),
    "damaged zip": ("work.zip", lambda text: zip_of({"a.py": b"x" * 9, "b": text.encode()})[100:], "it cannot be unpa"),
    "damaged tar": ("work.tar", lambda text: tar_of({"core.py": text.encode()})[:600], "it cannot be unpacked"),
    "7z": ("work.7z", lambda text: b"7z\xbc\xaf\x27\x1c" + text.encode(), "it is a 7z archive"),
    "RAR": ("work.rar", lambda text: b"Rar!\x1a\x07\x01\0", "it is a RAR archive"),
    "zstd": ("work.tar.zst", lambda text: b"\x28\xb5\x2f\xfd" + bytes(20), "it is compressed with zstd"),
    "compress": ("work.tar.Z", lambda text: b"\x1f\x9d\x90" + bytes(20), "it is compressed with compress"),
    "git bundle": ("course.bundle", lambda text: b"# v2 git bundle\n" + bytes(20), "it is a git bundle"),
    "PDF": ("hw1_solutions.pdf", lambda text: b"%PDF-1.7\n" + bytes(20), "it is a PDF"),
    "compiled Python": (
        "work/core.pyc",
        lambda text: importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(compile(text, "core.py", "exec")),
        "it is compiled Python",
    ),
    "bomb": ("work.zip", lambda text: bomb(3), "it holds more than 256 MiB"),
    "bomb of gz": ("work.gz", lambda text: gzip.compress(bytes(60 * 2**20)), "it has more than 50 MiB"),
    "nest": ("work.zip", lambda text: bomb(12, 1, 10), "it is packed more than 6 times over"),
    "very many entries": ("work.zip", lambda text: zip_of({str(n): b"" for n in range(20_001)}), "more than 20000"),
    "very many folders": (
        "work.tar.gz",
        lambda text: gzip.compress(tar_of({"": b""})[:512] * 30_000),
        "more than 20000",
    ),
    "xz that asks for memory": (
        "work.xz",
        lambda text: b"\xfd7zXZ\0\0\x04\xe6\xd6\xb4F\x02\0!\x01\x28\0\0\0\x8e\xd6\x6c\x1e" + bytes(40),
        "it cannot be unpacked",
    ),
}
