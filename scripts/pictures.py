"""Draw docs/pictures, real runs of goldsmith on a real pseudo-terminal, and write docs/live, real pages to open.

What the program writes goes through a terminal emulator; the screen that it leaves is drawn as it is.

PYTHONPATH=tests python scripts/pictures.py [NAME...]
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pyte
from rich.console import Console
from rich.style import Style
from rich.text import Text

from corpora.known_submissions import SOLUTIONS, known
from goldsmith.courses.layout.example import copy_example
from support.browser import open_browser
from support.course import numpy_course
from support.doc_pages import blocks_of
from support.terminal import Terminal

COLUMNS, LINES = 104, 76
MENU_LINES = 30
PAGE_SIZE, SHORT_PAGE_SIZE = (980, 1500), (980, 1000)
GOLDSMITH = str(Path(sys.executable).with_name("goldsmith"))
TIMEOUT_S = 600.0
ROOT = Path(__file__).parent.parent
PICTURES = ROOT / "docs" / "pictures"
LIVE = ROOT / "docs" / "live"
GOLD = "tests/internal/fixtures"


def run_on_terminal(arguments: list[str], folder: Path, expected: int = 0) -> pyte.Screen:
    """Run goldsmith on a pseudo-terminal and return the screen as it is at the end."""
    terminal = Terminal(arguments, folder, COLUMNS, LINES)
    code = terminal.end(TIMEOUT_S)
    if code != expected:
        raise SystemExit(f"the command failed with exit code {code}")
    screen: pyte.Screen = terminal.emulator
    return screen


def draw_menu(name: str, arguments: list[str], folder: Path) -> None:
    """Draw the menu that goldsmith opens, then cancel it."""
    terminal = Terminal(arguments, folder, COLUMNS, MENU_LINES)
    terminal.wait_for("Esc cancels", TIMEOUT_S)
    draw(name, f"goldsmith {' '.join(arguments)}", terminal.emulator)
    terminal.keys("\x1b")
    terminal.end()


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
    """What pyte calls brown is yellow everywhere else; of 256 colours it knows the numbers only."""
    colour = cell.fg.replace("brown", "yellow").replace("bright", "bright_")
    if re.fullmatch(r"[0-9a-f]{6}", colour):
        colour = f"#{colour}"
    return Style(color=None if colour == "default" else colour, bold=cell.bold or None, reverse=cell.reverse or None)


def draw(name: str, shown: str, screen: pyte.Screen) -> None:
    """Draw the screen below the command that led to it, as docs/pictures/<name>.svg."""
    console = Console(record=True, width=COLUMNS, file=open(os.devnull, "w"), force_terminal=True)  # noqa: SIM115
    console.print(Text(f"$ {shown}", style="bold"))
    for line in as_text(screen):
        console.print(line, no_wrap=True, crop=False)
    PICTURES.mkdir(parents=True, exist_ok=True)
    target = PICTURES / f"{name}.svg"
    drawn = console.export_svg(title="goldsmith", unique_id=f"goldsmith-{name}")
    own = re.sub(r"@font-face \{.*?\}\s*", "", drawn, flags=re.S)  # a picture fetches nothing, not even a font
    target.write_text(own.replace("Fira Code, monospace", "monospace"), encoding="utf-8")
    print(f"drew {target}")


def generate(course: Path) -> None:
    for file in (course / GOLD / "scratch-1").glob("*"):
        file.unlink()
    draw("generate", "goldsmith generate scratch-1", run_on_terminal(["generate", "scratch-1"], course))


def check(course: Path) -> None:
    (wrong,) = (item for item in known("scratch-1") if item.name == "two-norm-eps-and-scale")
    wrong.written(course / "submissions", SOLUTIONS).rename(course / "submissions" / "ada")
    arguments = ["check", "scratch-1", "submissions/ada"]
    draw("check", f"goldsmith {' '.join(arguments)}", run_on_terminal(arguments, course, expected=1))


def grade(course: Path) -> None:
    arguments = ["grade", "scratch-2", "private/submissions/scratch-2"]
    draw("grade", f"goldsmith {' '.join(arguments)}", run_on_terminal(arguments, course, expected=1))


def rigor(course: Path) -> None:
    arguments = ["rigor", "scratch-2", "--only", "PatchEncoder", "--only", "EncoderBlock"]
    draw("rigor", f"goldsmith {' '.join(arguments)}", run_on_terminal(arguments, course))


def menu(course: Path) -> None:
    solution = course / "private/solutions/scratch-1/backbone_solution.py"
    solution.write_text(solution.read_text() + "# reworded\n")
    shutil.rmtree(course / GOLD / "scratch-2")
    draw_menu("menu", ["generate"], course)


def menu_kind(course: Path) -> None:
    shutil.rmtree(course / GOLD / "scratch-2")
    (course / "src/assignments/scratch-2/generate_fixtures.py").unlink()
    draw_menu("menu-kind", ["generate", "scratch-2"], course)


def menu_replace(course: Path) -> None:
    solution = course / "private/solutions/scratch-1/backbone_solution.py"
    before = solution.read_text()
    after = before.replace("x * torch.rsqrt(mean_square + self.eps)", "x / torch.sqrt(mean_square + 2 * self.eps)")
    if after == before:
        raise SystemExit("the bundled solution no longer has the line to change")
    solution.write_text(after)
    draw_menu("menu-replace", ["generate", "scratch-1", "--no-calibrate"], course)


def front_page(course: Path) -> None:
    """Draw what the front page of the site shows, in both themes, of the pages in docs/live."""
    for name, page, height in (("curve", "ben.html", 1000), ("class", "class.html", 600), ("port", "port.html", 900)):
        for theme, number in (("light", 1), ("dark", 0)):
            target = PICTURES / f"front-{name}-{theme}.png"
            scheme = f"--blink-settings=preferredColorScheme={number}"
            headless = [
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--hide-scrollbars",
                f"--window-size=900,{height}",
            ]
            with tempfile.TemporaryDirectory() as profile:
                options = [*headless, scheme, f"--user-data-dir={profile}", f"--screenshot={target}"]
                subprocess.run(["chromium", *options, (LIVE / page).as_uri()], check=True, capture_output=True)
            print(f"drew {target}")


def pages(course: Path) -> None:
    """Draw the top of the page of each practice submission, in a real browser."""
    for submission in sorted((course / "private/submissions/scratch-2").iterdir()):
        page = course / f"{submission.name}.html"
        goldsmith(course, "check", "scratch-2", str(submission.relative_to(course)), "--html", str(page))
        keep(page, below=course)
        draw_page(submission.name, page)


def port_page(course: Path) -> None:
    """Draw the top of the page of the port that docs/porting.md shows."""
    folder = course.parent / "port"
    folder.mkdir()
    for block in blocks_of(ROOT / "docs" / "porting.md"):
        if block.file in ("old_block.py", "new_block.py"):
            (folder / block.file).write_text(block.text, encoding="utf-8")
    asked = ["--init", "width=16", "--input", "torch.randn(2, 11, 16)", "--html", "port.html"]
    goldsmith(folder, "parity", "old_block.py:Block", "new_block.py:Block", *asked)
    keep(folder / "port.html", below=folder)
    draw_page("port", folder / "port.html", SHORT_PAGE_SIZE)


def class_pages(course: Path) -> None:
    """Draw the top of the class's page, and of a student's; keep all of them to open."""
    grades = course.parent / "grades"
    goldsmith(course, "grade", "scratch-2", "private/submissions/scratch-2", "--html", "--output", str(grades))
    keep(*sorted(grades.rglob("*.html")), below=grades)
    draw_page("class", grades / "class.html", SHORT_PAGE_SIZE)
    draw_page("student", grades / "feedback/ben.html", SHORT_PAGE_SIZE)


def rigor_page(course: Path) -> None:
    """Draw the top of a page with survivors."""
    small = numpy_course(course.parent / "small").root
    goldsmith(small, "generate", "hw1", "--yes")
    goldsmith(small, "rigor", "hw1", "--html", "rigor.html")
    draw_page("rigor", small / "rigor.html", SHORT_PAGE_SIZE)


def diff_page(course: Path) -> None:
    """Draw the top of a page of gold that would change."""
    solution = course / "private/solutions/scratch-3/policy_solution.py"
    solution.write_text(solution.read_text().replace("step / steps, dtype", "(step + 1) / steps, dtype"))
    goldsmith(course, "diff", "scratch-3", "--html", "diff.html")
    draw_page("diff", course / "diff.html", SHORT_PAGE_SIZE)


def keep(*pages: Path, below: Path) -> None:
    """Copy pages into docs/live, so that the site can open them."""
    for page in pages:
        target = LIVE / page.relative_to(below)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(page, target)
        print(f"wrote {target}")


def goldsmith(folder: Path, *arguments: str) -> None:
    """Run a command, whose exit code may be a verdict against."""
    subprocess.run([GOLDSMITH, *arguments], cwd=folder, capture_output=True, check=False)


def draw_page(name: str, page: Path, size: tuple[int, int] = PAGE_SIZE) -> None:
    """Draw the top of a page, in a real browser."""
    target = PICTURES / f"page-{name}.png"
    with tempfile.TemporaryDirectory() as folder, open_browser(Path(folder)) as browser:
        browser.resize(*size)
        browser.open(page)
        browser.picture(target)
    print(f"drew {target}")


PICTURE: dict[str, Callable[[Path], None]] = {
    "generate": generate,
    "check": check,
    "rigor": rigor,
    "grade": grade,
    "menu": menu,
    "menu-kind": menu_kind,
    "menu-replace": menu_replace,
    "pages": pages,
    "class-pages": class_pages,
    "port-page": port_page,
    "front-page": front_page,
    "rigor-page": rigor_page,
    "diff-page": diff_page,
}


def main() -> None:
    """Draw all pictures, or those that are named."""
    for name in sys.argv[1:] or PICTURE:
        with tempfile.TemporaryDirectory() as temporary:
            PICTURE[name](copy_example(Path(temporary, "course")).root)


if __name__ == "__main__":
    main()
