"""A course in a temporary folder: written from a dict of files, run through the real command line, looked at."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import shutil
import stat
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock

from goldsmith.courses.layout.example import copy_example
from goldsmith.gold.load import Gold, load_gold
from goldsmith.workspace.snapshot import take_snapshot
from support import fork_cli as zygote

COMMAND = [sys.executable, "-c", "from goldsmith.cli import run; run()"]
SHELF: list[Path] = []
"""The folder in which the workers of one pytest keep courses with gold for each other; outside of pytest, none."""


@dataclass(frozen=True)
class Run:
    """What a command left behind: exit code, standard output, standard error."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        return json.loads(self.out)

    @property
    def last_line(self) -> str:
        return self.out.rstrip().splitlines()[-1]


def as_from_a_script(arguments: Sequence[str], *, yes: bool = True, calibrate: bool = False) -> list[str]:
    """Options that `generate` and `record` get: they ask nobody, and measure nothing."""
    if arguments[:1] not in (("generate",), ("record",)) or "--help" in arguments:
        return []
    return (["--yes"] if yes else []) + ([] if calibrate or "--check" in arguments else ["--no-calibrate"])


@dataclass(frozen=True)
class CourseOnDisk:
    root: Path

    def write(self, files: dict[str, str]) -> CourseOnDisk:
        for name, content in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(content), encoding="utf-8")
        return self

    def run(
        self,
        *arguments: str,
        yes: bool = True,
        calibrate: bool = False,
        prefix: Sequence[str] = (),
        python: Path | None = None,
        cwd: Path | None = None,
        new_workers: bool = False,
        **env: str,
    ) -> Run:
        """Run a command to its end. `generate` and `record` get --yes, as from a script, and measure no tolerances,
        which takes time, unless told otherwise. With `new_workers` each worker is a new
        interpreter, as on a user's machine."""
        extra = as_from_a_script(arguments, yes=yes, calibrate=calibrate)
        if not prefix and not env and python is None:
            return Run(*zygote.run([*arguments, *extra], cwd or self.root, new_workers=new_workers))
        done = subprocess.run(
            [*prefix, python or COMMAND[0], *COMMAND[1:], *arguments, *extra],
            cwd=cwd or self.root,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            env=os.environ | env,
            timeout=180,
        )
        return Run(done.returncode, done.stdout, done.stderr)

    def start(self, *arguments: str, **env: str) -> subprocess.Popen[str]:
        """Start `generate` (with --yes) and return while it runs."""
        return subprocess.Popen(
            [*COMMAND, *arguments, "--yes", "--no-calibrate"],
            cwd=self.root,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | env,
        )

    def with_gold(self, assignment: str = "hw1", *, calibrate: bool = False) -> CourseOnDisk:
        """Put the gold there that `generate` makes, or `record` of a recipe's path, for a test of what comes after: the
        first of a test run to ask for it runs the command, and every other course with the same bytes gets a copy of
        what that wrote. A test of what `generate` does runs it itself."""
        before, around = _files(self.root), _environment()
        if not SHELF or before is None:
            return self._made(assignment, calibrate)
        key = hashlib.sha256(repr((sorted(before.items()), assignment, calibrate, around)).encode()).hexdigest()
        kept = SHELF[0] / key
        with FileLock(SHELF[0] / f"{key}.lock"):
            if not kept.exists():
                self._made(assignment, calibrate)
                after = _files(self.root) or {}
                if all(after.get(name) == what for name, what in before.items()):
                    shutil.copytree(self.root, kept.with_suffix(".new"), symlinks=True)
                    kept.with_suffix(".new").rename(kept)
                return self
        for path in sorted(kept.rglob("*")):
            place = self.root / path.relative_to(kept)
            if not os.path.lexists(place):
                place.mkdir(path.stat().st_mode) if path.is_dir() else shutil.copy2(path, place, follow_symlinks=False)
        return self

    def _made(self, assignment: str, calibrate: bool) -> CourseOnDisk:
        command = "record" if assignment.endswith(".py") else "generate"
        run = self.run(command, assignment, calibrate=calibrate)
        assert run.code == 0, run.out + run.err
        return self

    def gold(self, assignment: str = "hw1") -> Path:
        return self.root / "tests/internal/fixtures" / assignment

    def snapshot(self, *parts: str) -> Any:
        """Every byte of the given folders, by default of all that people wrote."""
        return {part: take_snapshot(self.root / part) for part in parts or ("src", "private")}

    def gold_bytes(self, assignment: str = "hw1") -> dict[str, bytes]:
        folder = self.gold(assignment)
        if not folder.is_dir():
            return {}
        return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}

    def git(self, *arguments: str) -> str:
        identity = ["-c", "user.name=test", "-c", "user.email=test@localhost"]
        done = subprocess.run(["git", *identity, *arguments], cwd=self.root, capture_output=True, text=True, check=True)
        return done.stdout


def wait_until(condition: Callable[[], object], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def state_of(process: int) -> str:
    """The letter that the kernel has for the state of a process; nothing once it is gone."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def has_ended(process: int) -> bool:
    """Whether it runs no more, even if nobody has waited for it."""
    return state_of(process) in ("", "X", "Z")


def names_no_process(text: str) -> bool:
    """Whether no process has `text` in its command line."""
    return subprocess.run(["pgrep", "-f", text], capture_output=True).returncode == 1


def _files(root: Path) -> dict[str, tuple[int, str]] | None:
    """Everything in a course, by its bytes; None where not all that bears on its gold lies there."""
    found = {}
    for path in root.rglob("*"):
        mode = path.lstat().st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            return None
        content = path.read_bytes() if stat.S_ISREG(mode) else b""
        found[str(path.relative_to(root))] = (mode, hashlib.sha256(content).hexdigest())
    return found


def _environment() -> list[tuple[str, str]]:
    return sorted(item for item in os.environ.items() if not item[0].startswith("PYTEST_"))


STARTER = '''
    """Exercise: write `scale`."""

    def scale(x):
        raise NotImplementedError
'''

SOLUTION = '''
    """The answer."""

    def scale(x):
        return x * 2.0 + 1.0
'''

RECIPE = '''
    import numpy as np

    import goldsmith as gs
    from ops import scale


    @gs.case
    def gold_output(case):
        """A straight line."""
        x = case.input("x", lambda: np.random.randn(3, 5))
        case.record("y", scale(x))


    if __name__ == "__main__":
        gs.main()
'''

FILES = {
    "src/assignments/hw1/ops.py": STARTER,
    "src/assignments/hw1/generate_fixtures.py": RECIPE,
    "private/solutions/hw1/ops_solution.py": SOLUTION,
}

RECIPE_FILE = "src/assignments/hw1/generate_fixtures.py"
SOLUTION_FILE = "private/solutions/hw1/ops_solution.py"


def numpy_course(root: Path) -> CourseOnDisk:
    return CourseOnDisk(root).write(FILES)


def starter_of(solution: str, *provided: str) -> str:
    """What students begin with: the solution without the bodies of its functions, but for those `provided`."""
    tree = ast.parse(textwrap.dedent(solution))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name not in provided:
            kept = node.body[:1] if ast.get_docstring(node) else []
            node.body = [*kept, *ast.parse("raise NotImplementedError").body]
    return ast.unparse(tree)


def edited(source: str, *changes: tuple[str, str]) -> str:
    """The source with each `(old, new)` replaced."""
    source = textwrap.dedent(source)
    for old, new in changes:
        assert old in source, old
        source = source.replace(old, new)
    return source


def exercise(
    solution: str, recipe: str, *provided: str, starter: str | None = None, module: str = "ops"
) -> dict[str, str]:
    """The files of `hw1`; its starter is made from the solution unless it is given."""
    return {
        f"src/assignments/hw1/{module}.py": starter_of(solution, *provided) if starter is None else starter,
        RECIPE_FILE: recipe,
        f"private/solutions/hw1/{module}_solution.py": solution,
    }


def recipe(body: str, imports: str = "") -> str:
    """A NumPy recipe around `body`, which holds its cases."""
    head = f"import numpy as np\n{imports}\nimport goldsmith as gs\nfrom ops import scale\n\n"
    return head + textwrap.dedent(body) + '\n\nif __name__ == "__main__":\n    gs.main()\n'


def copy_of_example(root: Path) -> CourseOnDisk:
    """The bundled course as `init --example` copies it out, which takes git a second: once for a test run."""
    if not SHELF:
        copy_example(root)
        return CourseOnDisk(root)
    kept = SHELF[0] / "example"
    with FileLock(SHELF[0] / "example.lock"):
        if not kept.exists():
            copy_example(kept.with_suffix(".new"))
            kept.with_suffix(".new").rename(kept)
    shutil.copytree(kept, root, symlinks=True, copy_function=_copy)
    return CourseOnDisk(root)


def _copy(source: str, target: str) -> None:
    """Copy a file of a course; what git never changes, half of it all, is linked."""
    if "/.git/objects/" in source:
        os.link(source, target)
    else:
        shutil.copy2(source, target)


def record(course: CourseOnDisk, body: str, imports: str = "") -> Gold:
    """The gold of `hw1` made with a recipe around `body`."""
    course.write({RECIPE_FILE: recipe(body, imports)})
    run = course.run("generate", "hw1", "-v")
    assert run.code == 0, run.out + run.err
    return load_gold(course.gold())
