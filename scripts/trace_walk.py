"""Count how many functions, files and folders of goldsmith a command walks through on a course with one small array.

    python scripts/trace_walk.py [--source SRC]

Runs `goldsmith generate` and `goldsmith check` on a course with one NumPy function and one case, and counts, in the
parent process and in its children: functions called, files that they are in, and changes of folder from one function to
the next, in the order in which they are first called. Bodies of classes, which run at import, do not count.
`--source` is the `src` folder of another commit, to compare with.
"""

from __future__ import annotations

import argparse
import itertools
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
STARTER = "def scale(x):\n    raise NotImplementedError\n"
SOLUTION = "def scale(x):\n    return 2.0 * x + 1.0\n"
RECIPE = """import numpy as np

import goldsmith as gs
from ops import scale


@gs.case
def gold_output(case):
    case.record("y", scale(case.input("x", lambda: np.random.randn(3, 5))))


if __name__ == "__main__":
    gs.main()
"""
COURSE = {
    "src/assignments/hw1/ops.py": STARTER,
    "src/assignments/hw1/generate_fixtures.py": RECIPE,
    "private/solutions/hw1/ops_solution.py": SOLUTION,
    "theirs/ops.py": SOLUTION,
}
COMMANDS = {"generate": ["generate", "hw1", "--yes"], "check": ["check", "hw1", "theirs"]}

# Python imports `sitecustomize` at its start, in children too. A forked child inherits the tracer and begins its own
# count; `os._exit`, by which children end, skips `atexit`, so counts are written there as well.
TRACER = """
import atexit, os, sys, threading
ROOT, OUTPUT = os.environ["WALK_ROOT"], os.environ["WALK_OUTPUT"]
PARENT = os.environ.setdefault("WALK_PARENT", str(os.getpid()))
names = {}  # in the order of first calls

def trace(frame, event, argument):
    code = frame.f_code
    is_function = code.co_flags & 1 and not code.co_name.startswith("<")  # CO_OPTIMIZED: no body of a class or module
    if event == "call" and is_function and code.co_filename.startswith(ROOT):
        names.setdefault((code.co_filename, code.co_qualname))

def write():
    kind = "parent" if str(os.getpid()) == PARENT else "child"
    with open(os.path.join(OUTPUT, f"{kind}-{os.getpid()}"), "w") as file:
        file.writelines(f"{name}\\t{function}\\n" for name, function in names)

def begin_again():
    names.clear()
    sys.setprofile(trace)

leave = os._exit
def leave_with_counts(code):
    sys.setprofile(None)
    write()
    leave(code)

os._exit = leave_with_counts
os.register_at_fork(after_in_child=begin_again)
atexit.register(lambda: (sys.setprofile(None), write()))
threading.setprofile(trace)
sys.setprofile(trace)
"""


def main() -> None:
    """Run both commands and print one table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--source", type=Path, default=HERE / "src", help="the src folder to walk through")
    print(f"{'command':10} {'process':10} {'functions':>9} {'files':>6} {'folders':>8} {'changes of folder':>18}")
    for (command, kind), found in walks(parser.parse_args().source.resolve()).items():
        label = kind if kind == "parent" else f"{found.processes} children"
        numbers = f"{found.functions:9} {found.files:6} {found.folders:8} {found.changes:18}"
        print(f"{command:10} {label:10} {numbers}")


@dataclass(frozen=True)
class Walk:
    """How much of goldsmith the processes of a kind walk through."""

    processes: int
    functions: int
    files: int
    folders: int
    changes: int


def walks(source: Path) -> dict[tuple[str, str], Walk]:
    """Run both commands, and return the walk of the parent and of all children of each."""
    found: dict[tuple[str, str], Walk] = {}
    with tempfile.TemporaryDirectory() as base:
        course = Path(base, "course")
        for name, text in COURSE.items():
            (course / name).parent.mkdir(parents=True, exist_ok=True)
            (course / name).write_text(text, encoding="utf-8")
        for command, arguments in COMMANDS.items():
            output = Path(base, command)
            _run(source, course, arguments, output)
            found |= {(command, kind): _walk(kind, output) for kind in ("parent", "child")}
    return found


def _run(source: Path, course: Path, arguments: list[str], output: Path) -> None:
    output.mkdir()
    hook = output.parent / "hook"
    hook.mkdir(exist_ok=True)
    (hook / "sitecustomize.py").write_text(TRACER, encoding="utf-8")
    environment = os.environ | {
        "PYTHONPATH": f"{hook}{os.pathsep}{source}",
        "WALK_ROOT": str(source / "goldsmith"),
        "WALK_OUTPUT": str(output),
    }
    command = [sys.executable, "-m", "goldsmith", *arguments]
    done = subprocess.run(command, cwd=course, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(arguments)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")


def _walk(kind: str, output: Path) -> Walk:
    functions: set[str] = set()
    changes = []
    for path in output.glob(f"{kind}-*"):
        names = path.read_text(encoding="utf-8").splitlines()
        walk = [os.path.dirname(name.partition("\t")[0]) for name in names]
        changes.append(sum(before != after for before, after in itertools.pairwise(walk)))
        functions.update(names)
    files = {name.partition("\t")[0] for name in functions}
    return Walk(len(changes), len(functions), len(files), len({os.path.dirname(file) for file in files}), sum(changes))


if __name__ == "__main__":
    main()
