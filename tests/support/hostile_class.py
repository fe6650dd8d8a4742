"""A class full of hostile submissions, graded in one run beside honest ones, and what was there to be stolen or harmed.

The submissions are in `hostile/`: those in `numpy` and `torch` are modules `attack` that the exercise's own file calls,
those in `parcels` make what is handed in. All of them know where everything lies, and none of them any secret.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import importlib.util
import json
import os
import secrets
import shutil
import socket
import subprocess
import sysconfig
import tempfile
import textwrap
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from goldsmith.check import grading_sandbox
from goldsmith.courses.grade.collection import collect
from goldsmith.courses.grade.grade_class import GradingOptions, grade_all
from goldsmith.courses.grade.grader import Grader, rubric_for
from goldsmith.courses.grade.grades import Grade
from goldsmith.courses.grade.submissions import SubmissionRef
from goldsmith.courses.layout.example import example_folder
from goldsmith.courses.layout.layout import find_course
from goldsmith.engines.engine import Local
from goldsmith.generate.options import Options
from goldsmith.gold.load import load_gold
from goldsmith.sandbox.capabilities import probe
from goldsmith.sandbox.cgroups import controllers
from goldsmith.workspace import temporary
from support import check_course as checking
from support.course import RECIPE_FILE, SOLUTION_FILE, CourseOnDisk, numpy_course
from support.hostile_messages import write_right_results

HOSTILE = Path(__file__).parents[1] / "corpora" / "hostile"
SOLUTION_OF_THE_EXAMPLE = "private/solutions/scratch-1/backbone_solution.py"
_NORM, _MIX = 'return answer("Norm", self, x)', 'return answer("Mix", self, x)'
MARK = f"evil-{secrets.token_hex(4)}"
"""What hostile processes are called, and what files are called that they leave."""
TOKEN = secrets.token_hex(16)
IN_MEMORY = secrets.token_hex(32)
OF_ANOTHER = secrets.token_hex(16)
OF_THE_SOLUTION = secrets.token_hex(16)
OF_STAFF = secrets.token_hex(16)
_memory = ctypes.create_string_buffer(IN_MEMORY.encode())

NUMPY = {
    "src/assignments/hw1/ops.py": checking.STARTER,
    SOLUTION_FILE: f"{textwrap.dedent(checking.SOLUTION)}\n# {OF_THE_SOLUTION}\n",
    RECIPE_FILE: checking.RECIPE,
    **dict.fromkeys(
        (
            ".env",
            "docs/grading.md",
            "private/notes.md",
            "src/assignments/hw1/.env",
            "src/assignments/hw1/deploy.pem",
            "src/assignments/hw1/id_rsa",
            "src/assignments/hw1/notes.key",
        ),
        f"MARK = '{OF_STAFF}'\n",
    ),
    **dict.fromkeys(
        (
            "src/assignments/hw1/staff/answers.py",
            "src/assignments/hw2/other.py",
            "tests/internal/test_hw1.py",
            "private/solutions/hw2/other_solution.py",
        ),
        f"MARK = '{OF_STAFF}'\n",
    ),
    "goldsmith.toml": f"""
        # {OF_STAFF}
        [assignment.hw1.rubric]
        cases = {{centred = 1, scaled = 1, counted = 1}}
        parts = {{centre = 1, scale = 1, Counter = 1}}
    """,
}
_NET = (HOSTILE / "frame/net.py").read_text().replace("from attack import answer\n", "")
_STUB = "raise NotImplementedError"
TORCH = {
    "src/assignments/hw1/ops.py": "",
    "src/assignments/hw1/net.py": _NET.replace(_NORM, _STUB).replace(_MIX, _STUB),
    SOLUTION_FILE: "",
    "private/solutions/hw1/net_solution.py": _NET.replace(
        _NORM, "return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight"
    ).replace(_MIX, f"return self.line(self.norm(x)) + x  # {OF_THE_SOLUTION}"),
    RECIPE_FILE: """
        import torch

        import goldsmith as gs
        from net import Mix


        @gs.case
        def mixed(case):
            model = case.model(Mix, 8, weights="stress")
            case.record("y", model(case.input("x", lambda: torch.randn(2, 3, 8))))


        if __name__ == "__main__":
            gs.main()
    """,
    "goldsmith.toml": """
        [assignment.hw1.rubric]
        cases = {mixed = 1}
        parts = {Norm = 1, Mix = 1}
    """,
}
FULL = 6.0
HONEST = {
    "right": ("return x * factor", "return x * factor", 6.0),
    "wrong": ("return x * factor", "return x * factor + 1e-3", 4.0),
    "stub": ("return x - mean_of(x)", "raise NotImplementedError", 4.0),
}


@dataclass
class Result:
    """What became of a run: grades and notes by attack, and how long it took."""

    grades: dict[str, Grade]
    loot: dict[str, list[dict[str, Any]]]
    seconds: float
    written: Path
    workspaces: list[Path]

    def told(self, name: str) -> list[dict[str, Any]]:
        return self.loot.get(name, [])


@dataclass
class Scene:
    """A course with gold, things outside that nobody may touch, and somebody who listens."""

    folder: Path
    course: CourseOnDisk
    listeners: Listeners
    handed_in: Path = field(init=False)
    sentinel: Path = field(init=False)
    home: Path = field(init=False)
    temporary: Path = field(init=False)

    def __post_init__(self) -> None:
        self.handed_in, self.sentinel, self.home = (self.folder / name for name in ("handed in", "outside", "home"))
        self.temporary = Path(tempfile.mkdtemp(prefix="outside-"))
        for folder in (self.handed_in, self.sentinel, self.home, self.folder / "results"):
            folder.mkdir()
        for folder in (self.sentinel, self.home, self.temporary):
            folder.chmod(0o755)
            (folder / "precious").write_text("somebody's work\n")

    @property
    def target(self) -> dict[str, Any]:
        """All that an attacker could know about where it is run."""
        return {
            "MARK": MARK,
            "COURSE": str(self.course.root),
            "GOLD": str(self.course.gold()),
            "SOLUTION": str(self.course.root / SOLUTION_FILE),
            "OTHER": str(self.handed_in / "beside-right-0"),
            "NEIGHBOUR": str(self.folder / "neighbour" / "out"),
            "RESULTS": str(self.folder / "results"),
            "SENTINEL": str(self.sentinel),
            "TMP": str(self.temporary),
            "STAFF": str(Path(__file__).parents[1]),
            "EXAMPLES": [str(folder / SOLUTION_OF_THE_EXAMPLE) for folder in _examples()],
            "PARENT": os.getpid(),
            "PARENT_FOLDER": os.getcwd(),
            "ADDRESS": ctypes.addressof(_memory),
            "FILES": 6,
            "NAMES": 400_000,
            **self.listeners.addresses,
        }

    def files_of(self, name: str, kind: str = "numpy") -> dict[str, str]:
        """What an attack consists of, by name."""
        source = (HOSTILE / kind / f"{name}.py").read_text()
        target = "".join(f"{key} = {value!r}\n" for key, value in {**self.target, "NAME": name}.items())
        frame = "net.py" if kind == "torch" else "ops.py"
        found = {"attack.py": source, "target.py": target, "kit.py": (HOSTILE / "frame/kit.py").read_text()}
        return {frame: (HOSTILE / "frame" / frame).read_text(), **found}

    def hand_in(self, name: str, kind: str = "numpy") -> SubmissionRef:
        folder = self.handed_in / name
        folder.mkdir()
        for file, content in self.files_of(name, kind).items():
            (folder / file).write_text(content)
        return SubmissionRef(name, str(folder))

    def parcel(self, name: str) -> SubmissionRef:
        """An archive, a folder or a revision. Beside what is bad, the right answer is in it."""
        spec = importlib.util.spec_from_file_location(f"parcel_{name}", HOSTILE / "parcels" / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        maker = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(maker)
        folder = self.folder / "parcels" / name
        folder.mkdir(parents=True)
        files = {"ops.py": textwrap.dedent(checking.SOLUTION)}
        made = maker.make(folder, files, self.target)
        if isinstance(made, str) or made.name.startswith("parcel"):
            return SubmissionRef(name, str(made), revision=isinstance(made, str))
        (item,) = collect(find_course(self.course.root).assignment("hw1"), [str(made)], []).items
        return item

    def honest(self, kind: str, number: int = 0) -> SubmissionRef:
        old, new, _ = HONEST[kind]
        source = textwrap.dedent(checking.SOLUTION).replace(old, new)
        folder = self.handed_in / f"beside-{kind}-{number}"
        folder.mkdir()
        (folder / "ops.py").write_text(f"{source}\n# {OF_ANOTHER}\n")
        return SubmissionRef(folder.name, str(folder))

    def snapshot(self) -> dict[str, tuple[int, int, str]]:
        """Every file and folder that a run has no business with: its mode, its time, its content."""
        found = {}
        for folder in (self.course.root, self.sentinel, self.home, self.temporary, self.handed_in):
            for path in (folder, *sorted(folder.rglob("*"))):
                if ".goldsmith" in path.parts or ".git" in path.parts:
                    continue
                state = path.lstat()
                content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
                time = 0 if path == self.course.root else state.st_mtime_ns
                found[str(path)] = (state.st_mode, time, hashlib.sha256(content).hexdigest())
        return found

    def grade(self, items: Mapping[str, SubmissionRef], results: str, *, jobs: int = 2, **options: Any) -> Result:
        """All of them, in one run, with what they left in their workspaces."""
        assignment = find_course(self.course.root).assignment("hw1")
        rubric = rubric_for(assignment, allow_stale=False)
        settings = {"case_timeout": 3.0, "memory": 0.5, "keep": False, **options}
        grader = Grader(assignment, rubric, Options(seed=42, threads=1, timeout=8), **settings)
        loot: dict[str, list[dict[str, Any]]] = {}
        workspaces: list[Path] = []
        written = self.folder / "results" / results
        started = time.monotonic()
        with _gathered(loot, workspaces):
            made = grade_all(GradingOptions(grader, list(items.values()), written, Local(jobs)))
        return Result(dict(zip(items, made.grades, strict=True)), loot, time.monotonic() - started, written, workspaces)

    def close(self) -> None:
        self.listeners.close()
        shutil.rmtree(self.temporary, ignore_errors=True)


@contextlib.contextmanager
def _gathered(loot: dict[str, list[dict[str, Any]]], workspaces: list[Path]) -> Iterator[None]:
    """Notes are taken out of each workspace just before it is removed."""
    remove = temporary.remove_made

    def gather(base: Path) -> None:
        workspaces.append(base)
        for file in sorted(base.glob("run-*/scratch/[0-9]*-????????/loot.jsonl")):
            for line in file.read_text(errors="replace").splitlines():
                with contextlib.suppress(ValueError):
                    entry = json.loads(line)
                    loot.setdefault(entry.pop("attack"), []).append(entry)
        remove(base)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(temporary, "remove_made", gather)
        patch.setattr(grading_sandbox, "_DISK_BYTES", 128 * 2**20)  # so that it does not take long to have too much
        patch.setattr(grading_sandbox, "_MAX_FILES", 5000)
        yield


class Listeners:
    """Sockets of every kind that somebody outside listens at, and what came in."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        self.tcp = socket.create_server(("", 0))
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("", 0))
        self.unix, self.abstract = (socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in range(2))
        short = Path(tempfile.mkdtemp(prefix="s-"))  # such a path must be short
        self._folder = short
        self.unix.bind(str(short / "socket"))
        name = f"{MARK}-{secrets.token_hex(4)}"
        self.abstract.bind(f"\0{name}")
        self.addresses = {
            "TCP": self.tcp.getsockname()[1],
            "UDP": self.udp.getsockname()[1],
            "UNIX": str(short / "socket"),
            "ABSTRACT": name,
            "OWN": _own_address(),
        }
        for action in (self._accept, *(lambda end=end: self.heard.append(end.recv(99)) for end in self._datagrams)):
            threading.Thread(target=self._listen, args=(action,), daemon=True).start()

    @property
    def _datagrams(self) -> tuple[socket.socket, ...]:
        return self.udp, self.unix, self.abstract

    def _accept(self) -> None:
        link, _ = self.tcp.accept()
        with link:
            self.heard.append(link.recv(99) or b"a connection")

    def _listen(self, action: Any) -> None:
        with contextlib.suppress(OSError):
            while True:
                action()

    def close(self) -> None:
        for end in (self.tcp, *self._datagrams):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
        shutil.rmtree(self._folder, ignore_errors=True)


def _own_address() -> str:
    """This machine's address to the outside; where it has none, another of the loopback's."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        try:
            link.connect(("192.0.2.1", 9))
        except OSError:
            return "127.0.0.2"
        return str(link.getsockname()[0])


def _examples() -> list[Path]:
    """The bundled example as it lies in the checkout, and as an installation has it."""
    installed = Path(sysconfig.get_path("purelib"), "goldsmith/_example")
    return [folder for folder in (example_folder(), installed) if (folder / SOLUTION_OF_THE_EXAMPLE).is_file()]


def make_scene(folder: Path, kind: str = "numpy", *, loopback: bool = False) -> Scene:
    """A course with a rubric for cases and parts, and a mark in its solution; with `loopback` it lets sockets in."""
    course = numpy_course(folder / "course")
    course.write(NUMPY if kind == "numpy" else TORCH)
    if loopback:
        with (course.root / "goldsmith.toml").open("a") as settings:
            settings.write("\n[grade]\nloopback = true\n")
    course.with_gold()
    subprocess.run(["git", "init", "-q", str(course.root)], check=True)
    if kind == "numpy":
        write_right_results(folder / "neighbour" / "out", course.gold())
    return Scene(folder, course, Listeners())


def secrets_of(course: CourseOnDisk) -> list[str]:
    """Whatever of these appears anywhere, was stolen: marks, and numbers of gold's outputs as bytes and as text."""
    found = [TOKEN, IN_MEMORY, OF_ANOTHER, OF_THE_SOLUTION, OF_STAFF]
    gold = load_gold(course.gold())
    for name in gold:
        output = np.asarray(gold[name].output)
        found += [repr(number)[:12] for number in output.flatten().tolist()]
        found.append(output.tobytes()[:16].decode("latin-1"))
    return found


def running(mark: str = MARK) -> list[str]:
    """Processes that are called so, or were started so."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark[:15] == (entry / "comm").read_text().strip() or mark.encode() in (entry / "cmdline").read_bytes():
                found.append(entry.name)
    return found


QUICK_BOMBS = ("bombs_from_orphans", "bombs_with_clones", "bombs_with_copies_of_itself", "bombs_with_shells")
"""They start thousands of processes between two counts."""


MARKS_FILES = ("marks_files_as_read",)


def is_safe_here() -> bool:
    """Whether this machine has the walls that such code is run behind; nothing here is ever run without."""
    return probe().sufficient


def attacks(kind: str) -> list[str]:
    """Return the attacks of a kind. Root has no limit on processes but that of a cgroup: without, no bombs are run. An
    ordinary user cannot keep the kernel from noting when files are read, but for bubblewrap."""
    left_out = [*QUICK_BOMBS] if not os.getuid() and not controllers() else []
    if os.getuid() and not probe().bubblewrap:
        left_out += MARKS_FILES
    return sorted(path.stem for path in (HOSTILE / kind).glob("*.py") if path.stem not in left_out)
