"""A course in a temporary folder: written from a dict of files, run through the real command line, looked at."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import zygote
from goldsmith.course.example import copy_example
from goldsmith.gold.load import Gold, load_gold
from goldsmith.workspace.snapshot import take_snapshot

COMMAND = [sys.executable, "-c", "from goldsmith.cli import run; run()"]


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
        **env: str,
    ) -> Run:
        """Run a command to its end. `generate` gets --yes, as from a script, and measures no tolerances, which takes
        time, unless told otherwise."""
        extra = []
        if arguments[:1] == ("generate",) and "--help" not in arguments:
            extra += ["--yes"] if yes else []
            extra += [] if calibrate or "--check" in arguments else ["--no-calibrate"]
        if not prefix and not env and python is None:
            return Run(*zygote.run([*arguments, *extra], cwd or self.root))
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


def recipe(body: str, imports: str = "") -> str:
    """A NumPy recipe around `body`, which holds its cases."""
    head = f"import numpy as np\n{imports}\nimport goldsmith as gs\nfrom ops import scale\n\n"
    return head + textwrap.dedent(body) + '\n\nif __name__ == "__main__":\n    gs.main()\n'


def copy_of_example(root: Path) -> CourseOnDisk:
    copy_example(root)
    return CourseOnDisk(root)


def record(course: CourseOnDisk, body: str, imports: str = "") -> Gold:
    """The gold of `hw1` made with a recipe around `body`."""
    course.write({RECIPE_FILE: recipe(body, imports)})
    run = course.run("generate", "hw1", "-v")
    assert run.code == 0, run.out + run.err
    return load_gold(course.gold())
