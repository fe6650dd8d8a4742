"""Draw the menus in docs/pictures: each opened on a real pseudo-terminal, drawn as it stands there, and left by Esc."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import shutil
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Sequence
from pathlib import Path

import pyte
from picture import draw

from goldsmith.course.example import copy_example

COLUMNS, LINES = 104, 30
GOLD = "tests/internal/fixtures"
PATIENCE = 120.0
ESCAPE = b"\x1b"


def open_menu(arguments: Sequence[str], folder: Path) -> pyte.Screen:
    """What stands on the terminal while goldsmith waits for an answer; then nothing is chosen."""
    screen = pyte.Screen(COLUMNS, LINES)
    stream = pyte.ByteStream(screen)
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(ours, (LINES, COLUMNS))
    hidden = ("NO_COLOR", "COLUMNS", "LINES")
    environment = {key: value for key, value in os.environ.items() if key not in hidden} | {"TERM": "xterm-256color"}
    command = [sys.executable, "-c", "from goldsmith.cli import run; run()", *arguments]
    with subprocess.Popen(command, cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs, env=environment) as process:
        os.close(theirs)
        deadline = time.monotonic() + PATIENCE
        while not any("Esc leaves" in line for line in screen.display):
            if time.monotonic() > deadline or process.poll() is not None:
                raise SystemExit(f"goldsmith {' '.join(arguments)} opened no menu")
            if select.select([ours], [], [], 0.1)[0]:
                with contextlib.suppress(OSError):
                    stream.feed(os.read(ours, 65536))
        os.write(ours, ESCAPE)
        process.wait(PATIENCE)
    os.close(ours)
    return screen


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        course = copy_example(Path(temporary, "course")).root
        solution = course / "private/solutions/scratch-1/backbone_solution.py"
        kept = solution.read_text()
        solution.write_text(kept + "# reworded\n")
        shutil.rmtree(course / GOLD / "scratch-2")
        draw("menu", "goldsmith generate", open_menu(["generate"], course))
        solution.write_text(kept)
        (course / "src/assignments/scratch-2/generate_fixtures.py").unlink()
        draw("menu-kind", "goldsmith generate scratch-2", open_menu(["generate", "scratch-2"], course))
        changed = kept.replace("x * torch.rsqrt(mean_square + self.eps)", "x / torch.sqrt(mean_square + 2 * self.eps)")
        if changed == kept:
            raise SystemExit("the bundled solution has no such line to change any more")
        solution.write_text(changed)
        arguments = ["generate", "scratch-1", "--no-calibrate"]
        draw("menu-replace", "goldsmith generate scratch-1 --no-calibrate", open_menu(arguments, course))


if __name__ == "__main__":
    main()
