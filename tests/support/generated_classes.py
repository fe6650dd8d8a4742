"""Class folders made from a seed: honest students, hostile ones, links, archives, notebooks and what systems leave.

All that an entry consists of carries its own mark, so that whose bytes came where can be seen. What honest students
write looks for marks of others wherever it can read, and fails if there are any.
"""

from __future__ import annotations

import io
import os
import random
import tarfile
import textwrap
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from support.check_course import SOLUTION
from support.notebooks import notebook

MARK = "mark of entry "
_LOOKS = """
def look():
    import os
    import re

    root = os.path.dirname(os.path.abspath(__file__))
    while os.path.isdir(os.path.join(os.path.dirname(root), "src")) or "src" in root.split(os.sep):
        root = os.path.dirname(root)
    for folder, _, files in os.walk(root):
        for name in files:
            try:
                with open(os.path.join(folder, name), "rb") as file:
                    found = set(re.findall(rb"mark of entry (\\d+)", file.read()))
            except OSError:
                continue
            assert found <= {b"NUMBER"}, (name, found)
"""
_ODD_NAMES = [
    "ops", "hw1", "src", "private", "tests", "submission", "feedback", "earlier", "gradescope", "overview.md",
    "grades.csv", ".written", ".git", ".hidden", "__MACOSX", "__pycache__", "-rf", "--one", "*", "~", "a\nb",
    "a\tb", "\x1b[31mred", " ada", "ada ", "ada.", "…", "é", "e\u0301", "\udcff\udcfe", "x" * 255, "CON", "a:b",
    "a;b", "$(id)", "ada_1_1_", "1_1_", "_LATE_1_1_ops.py", "::error::", "ops.py", "ops.ipynb", "Ops.py",
    "ops (1).py", "ops_solution.py", "OPS.PY", "hw1.zip", "generate_fixtures.py", "__init__.py", "goldsmith.py",
    "numpy.py", "conftest.py", "ops.tar.gz", "ada.zip.zip", "ops.pyc",
]  # fmt: skip


@dataclass
class MadeClass:
    """A class folder. `honest` are entries that deserve full marks; `entries` the number in the mark of each."""

    folder: Path
    entries: dict[str, int] = field(default_factory=dict)
    honest: set[str] = field(default_factory=set)


def right(number: int) -> str:
    source = textwrap.dedent(SOLUTION).replace("return x - mean_of(x)", "look()\n    return x - mean_of(x)")
    return f"# {MARK}{number}\n{_LOOKS.replace('NUMBER', str(number))}\n{source}"


def book(number: int) -> str:
    return notebook(f'"""{MARK}{number}"""', right(number))


def make_class(folder: Path, seed: int) -> MadeClass:
    """A class of two honest students and up to six others, whose files lie in `folder`."""
    draw = random.Random(seed)
    folder.mkdir(parents=True)
    made = MadeClass(folder)
    for number in range(1, draw.randrange(2, 9) + 1):
        kinds = _HONEST if number < 3 or draw.random() < 0.3 else _HOSTILE
        kind = draw.choice(kinds)
        entry = _Entry(made, number, draw)
        kind(entry)
        if kinds is _HONEST:
            made.honest |= set(entry.names)
    return made


@dataclass
class _Entry:
    made: MadeClass
    number: int
    draw: random.Random
    names: list[str] = field(default_factory=list)

    def path(self, name: str) -> Path:
        """A new entry; another name where that one is taken."""
        while os.path.lexists(self.made.folder / name):
            name = f"z{name}"[:255]
        self.names.append(name)
        self.made.entries[name] = self.number
        return self.made.folder / name

    def files(self, name: str, files: Mapping[str, str | bytes]) -> None:
        folder = self.path(name)
        for inside, content in files.items():
            (folder / inside).parent.mkdir(parents=True, exist_ok=True)
            _write(folder / inside, content)

    def file(self, name: str, content: str | bytes) -> None:
        _write(self.path(name), content)

    @property
    def student(self) -> str:
        return f"student{self.number}"

    @property
    def right(self) -> str:
        return right(self.number)

    @property
    def book(self) -> str:
        return book(self.number)

    @property
    def other(self) -> str:
        """The name of an entry that is there already."""
        there = sorted(name for name in self.made.entries if name not in self.names)
        return self.draw.choice(there) if there else "nobody"

    @property
    def odd_name(self) -> str:
        return self.draw.choice(_ODD_NAMES)


def _write(path: Path, content: str | bytes) -> None:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def zipped(files: Mapping[str, str]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return made.getvalue()


def tarred(files: Mapping[str, str], links: Mapping[str, str] = {}, kind: bytes = tarfile.SYMTYPE) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for name, content in files.items():
            item = tarfile.TarInfo(name)
            item.size = len(content.encode())
            archive.addfile(item, io.BytesIO(content.encode()))
        for name, target in links.items():
            item = tarfile.TarInfo(name)
            item.type, item.linkname = kind, target
            archive.addfile(item)
    return made.getvalue()


def _canvas(entry: _Entry, *names: str) -> None:
    late, student_id = entry.draw.choice(("", "LATE_")), entry.draw.choice((1, 1000 + entry.number))
    for place, name in enumerate(names):
        text = entry.book if name.endswith(".ipynb") else entry.right if "ops" in name else f"# {MARK}{entry.number}\n"
        entry.file(f"{entry.student}_{late}{student_id}_{entry.number * 10 + place}_{name}", text)


_HONEST: list[Callable[[_Entry], None]] = [
    lambda entry: entry.files(entry.student, {"ops.py": entry.right}),
    lambda entry: entry.files(entry.student, {"ops.py": entry.right, "old/ops.py": entry.right, "a.txt": entry.right}),
    lambda entry: entry.files(entry.student, {"hw1/ops.py": entry.right, "README.md": entry.right}),
    lambda entry: entry.files(entry.student, {"src/assignments/hw1/ops.py": entry.right, "tests/test_a.py": ""}),
    lambda entry: entry.files(entry.student, {"my homework/ops.py": entry.right}),
    lambda entry: entry.files(entry.student, {"homework.ipynb": entry.book}),
    lambda entry: entry.files(entry.student, {"ops.ipynb": entry.book, "plots.ipynb": notebook("1 + 1")}),
    lambda entry: entry.file(f"{entry.student}.ipynb", entry.book),
    lambda entry: entry.file(f"{entry.student}.zip", zipped({"ops.py": entry.right, "more/notes.txt": entry.right})),
    lambda entry: entry.file(f"{entry.student}.zip", zipped({"deep/ops.py": entry.right})),
    lambda entry: entry.file(f"{entry.student}.tgz", tarred({"homework.ipynb": entry.book})),
    lambda entry: _canvas(entry, "ops.py"),
    lambda entry: _canvas(entry, "ops-1.py"),
    lambda entry: _canvas(entry, "homework.ipynb"),
    lambda entry: _canvas(entry, "ops.py", "helpers.py"),
    lambda entry: _canvas(entry, "helpers.py", "ops-2.py", "more.py"),
]


def _one_number(entry: _Entry) -> None:
    """Files that look as if Canvas had named them, with one number for all."""
    name = entry.draw.choice(("ops.py", "ops-1.py", "Ops.py", "helpers.py", "homework.ipynb"))
    entry.file(f"{entry.student}_1_{entry.number}_{name}", entry.book if name.endswith(".ipynb") else entry.right)


def _links(entry: _Entry) -> None:
    name = entry.draw.choice((entry.student, f"{entry.student}.py", f"{entry.student}.zip", entry.odd_name))
    targets = (entry.other, f"{entry.other}/ops.py", ".", "..", "nowhere", entry.student, "/etc", "/")
    entry.path(name).symlink_to(entry.draw.choice(targets))


def _links_inside(entry: _Entry) -> None:
    inside = entry.draw.choice(("ops.py", "hw1", "src", "data", "ops.ipynb", "more.zip"))
    entry.files(entry.student, {"notes.txt": entry.right, entry.draw.choice(("a.py", "ops.py")): entry.right})
    path = entry.made.folder / entry.names[0] / inside
    path.unlink(missing_ok=True)
    path.symlink_to(entry.draw.choice((f"../{entry.other}", f"../{entry.other}/ops.py", "..", ".", "/", "ops.py")))


def _archive(entry: _Entry) -> None:
    files = {"ops.py": entry.right}
    made = entry.draw.choice(
        (
            zipped({**files, f"../{entry.other}/ops.py": entry.right}),
            zipped({**files, f"{entry.made.folder}/{entry.other}/ops.py": entry.right}),
            tarred(files, {"hw1": "..", "more": f"../{entry.other}"}),
            tarred(files, {"ops2.py": f"../{entry.other}/ops.py"}, tarfile.LNKTYPE),
            zipped(files)[: entry.draw.randrange(200)],
            bytes(byte ^ (entry.draw.random() < 0.01) for byte in zipped(files)),
            zipped({}),
            b"",
        )
    )
    entry.file(entry.draw.choice((f"{entry.student}.zip", f"{entry.student}.tar.gz", f"{entry.student}.rar")), made)


def _borrows(entry: _Entry) -> None:
    name = Path(entry.other).stem
    text = notebook(f"from {name}.ops import *\nfrom {name} import *", f'"""{MARK}{entry.number}"""')
    if entry.draw.random() < 0.5:
        entry.file(f"{entry.student}.ipynb", text)
    else:
        entry.files(entry.student, {"a.ipynb": text})


def _odd_file(entry: _Entry) -> None:
    contents = (entry.right, entry.book, "", "{", "# -*- coding: utf-7 -*-\n", b"\0\xff", zipped({"a": "b"}))
    entry.file(entry.odd_name, entry.draw.choice(contents))


def _odd_folder(entry: _Entry) -> None:
    files = entry.draw.choice(
        (
            {"ops.py": entry.right}, {"hw1/ops.py": entry.right}, {"src/assignments/hw1/ops.py": entry.right},
            {"assignments/hw1/ops.py": entry.right}, {"a/b/c/homework.ipynb": entry.book}, {"notes.txt": entry.right},
            {"ops.py/a.txt": entry.right}, {"a.zip": zipped({"ops.py": entry.right})}, {"ops.ipynb": "{"},
            {"generate_fixtures.py": entry.right, "ops.py": entry.right},
            {"a.ipynb": entry.book, "b.ipynb": entry.book},
        )
    )  # fmt: skip
    names = (entry.student, f"{entry.student}.py", f"{entry.student}.zip", entry.odd_name)
    entry.files(entry.draw.choice(names), files)


def _special(entry: _Entry) -> None:
    name = entry.draw.choice(("fifo.py", "fifo.ipynb", "fifo.zip", "fifo"))
    if entry.draw.random() < 0.5:
        os.mkfifo(entry.path(name))
        return
    folder = entry.path(entry.student)
    folder.mkdir()
    os.mkfifo(folder / entry.draw.choice(("ops.py", "a.ipynb", "data")))


_HOSTILE: list[Callable[[_Entry], None]] = [
    _one_number, _links, _links_inside, _archive, _borrows, _odd_file, _odd_file, _odd_folder, _odd_folder, _special,
    lambda entry: entry.path(entry.student).mkdir(),
    lambda entry: entry.file(f"{entry.student}.py", entry.right),
    lambda entry: entry.file("ops.py", entry.right),
    lambda entry: entry.files("hw1", {"ops.py": entry.right}),
    lambda entry: entry.files("src", {"assignments/hw1/ops.py": entry.right}),
    lambda entry: entry.file("README.txt", entry.right),
]  # fmt: skip
