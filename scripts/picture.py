"""Draw docs/pictures: real runs of `goldsmith generate` and `goldsmith check` on a real pseudo-terminal.

What the program writes goes through a terminal emulator, and the screen it leaves is drawn as it is.
"""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pyte
from rich.color import ColorParseError
from rich.console import Console
from rich.style import Style
from rich.text import Text

from goldsmith.course import copy_example

COLUMNS, LINES = 104, 66
ROOT = Path(__file__).parent.parent
PICTURES = ROOT / "docs" / "pictures"
SUBMISSIONS = ROOT / "tests" / "submissions" / "scratch-1"


def run_on_terminal(arguments: list[str], folder: Path, expected: int = 0) -> pyte.Screen:
    """Run goldsmith on a pseudo-terminal and return the screen as it stands at the end."""
    screen = pyte.Screen(COLUMNS, LINES)
    stream = pyte.ByteStream(screen)
    ours, theirs = pty.openpty()
    environment = os.environ | {"TERM": "xterm-256color", "COLUMNS": str(COLUMNS), "LINES": str(LINES)}
    environment.pop("NO_COLOR", None)
    command = [sys.executable, "-c", "from goldsmith.cli import run; run()", *arguments]
    with subprocess.Popen(command, cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs, env=environment) as process:
        os.close(theirs)
        while True:
            try:
                data = os.read(ours, 65536)
            except OSError:
                break
            if not data:
                break
            stream.feed(data)
    os.close(ours)
    if process.returncode != expected:
        raise SystemExit(f"the command failed with exit code {process.returncode}")
    return screen


def as_text(screen: pyte.Screen) -> list[Text]:
    lines = []
    for row in range(screen.lines):
        line = Text()
        for column in range(screen.columns):
            cell = screen.buffer[row][column]
            line.append(cell.data, style=_style(cell))
        line.rstrip()
        lines.append(line)
    while lines and not lines[-1].plain:
        lines.pop()
    return lines


def _style(cell: pyte.screens.Char) -> Style:
    try:
        return Style(color=None if cell.fg == "default" else cell.fg, bold=cell.bold or None)
    except ColorParseError:
        return Style(bold=cell.bold or None)


def draw(name: str, shown: str, screen: pyte.Screen) -> None:
    """The screen under the command that led to it, as docs/pictures/<name>.svg."""
    console = Console(record=True, width=COLUMNS, file=open(os.devnull, "w"), force_terminal=True)  # noqa: SIM115
    console.print(Text(f"$ {shown}", style="bold"))
    for line in as_text(screen):
        console.print(line, no_wrap=True, crop=False)
    PICTURES.mkdir(parents=True, exist_ok=True)
    target = PICTURES / f"{name}.svg"
    console.save_svg(str(target), title="goldsmith", unique_id=f"goldsmith-{name}")
    print(f"drew {target}")


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        course = copy_example(Path(temporary, "course")).root
        shutil.copytree(SUBMISSIONS / "two-norm-eps-and-scale", course / "submissions" / "ada")
        check = ["check", "scratch-1", "submissions/ada"]
        draw("check", "goldsmith check scratch-1 submissions/ada", run_on_terminal(check, course, expected=1))
        gold = course / "tests/internal/fixtures/scratch-1"
        for file in gold.glob("*"):
            file.unlink()
        draw("generate", "goldsmith generate scratch-1", run_on_terminal(["generate", "scratch-1"], course))


if __name__ == "__main__":
    main()
