"""Pages of the documentation: their blocks, and a page acted out as a reader would, file by file and line by line.

`python tests/support/doc_pages.py docs/tutorial.md` does so for everybody to see, in an empty folder.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from support import fork_cli

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted(path for path in (ROOT / "examples").rglob("README.md") if "fixtures" not in path.parts),
]
_BLOCK = re.compile(r"(?:^<!-- ([\w, ]+) -->\n)?^```(\w*)\n(.*?)^```$", re.M | re.S)
_FILE = re.compile(r"# (\S+\.(?:py|toml|yml|yaml))\n")


@dataclass(frozen=True)
class Block:
    """A fenced block. `mark` is the comment right above it, such as `exits with 1`."""

    language: str
    text: str
    mark: str = ""

    @property
    def file(self) -> str | None:
        """The path in its first line, if the block is a whole file."""
        found = _FILE.match(self.text)
        return found[1] if found else None

    @property
    def code(self) -> int:
        found = re.search(r"exits with (\d)", self.mark)
        return int(found[1]) if found else 0


def blocks_of(page: Path) -> list[Block]:
    return [Block(language, text, mark) for mark, language, text in _BLOCK.findall(page.read_text(encoding="utf-8"))]


def act_out(page: Path, folder: Path, *, patience: bool = True, aloud: bool = False, **env: str) -> list[str]:
    """Write the files that a page shows and run its commands, in order, and hold what is printed against the `text`
    right after a command: each line is there, in that order, where `…` stands for anything. Without `patience`, what is
    marked as taking long is left out, and goldsmith is forked; `aloud`, what is printed is shown. Returns the commands
    that ran."""
    ran: list[str] = []
    programs = Path(sys.executable).parent
    if not patience:
        programs = folder.with_name(f"{folder.name}-programs")
        programs.mkdir()
        python_path = env.get("PYTHONPATH", "")
        torch = not python_path and bool(re.search(r"import torch|init --example", page.read_text(encoding="utf-8")))
        fork_cli.write_command(programs, python_path, torch=torch)
    reader = _Reader(folder, folder, env, programs)
    skipped = False
    for block in blocks_of(page):
        if block.file and block.language in ("python", "toml", "yaml"):
            path = reader.where / block.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
        elif block.language in ("bash", "python"):
            skipped = "takes long" in block.mark and not patience
            if not skipped:
                reader.run(block)
                if aloud:
                    print(f"$ {block.text.strip()}\n{reader.printed}", flush=True)
                ran.append(block.text)
        elif block.language == "text" and ran and not skipped:
            assert_printed(block.text, reader.printed, ran[-1])
            skipped = True  # only what follows a command right away is what it prints
        else:
            skipped = True
    return ran


@dataclass
class _Reader:
    """Somebody at a shell: where they are, whose programs come first, and what the last command printed."""

    home: Path
    where: Path
    env: dict[str, str]
    programs: Path
    printed: str = ""

    def run(self, block: Block) -> None:
        path = os.pathsep.join([str(self.programs), str(Path(sys.executable).parent), os.environ["PATH"]])
        place = self.home / ".where"
        script = f"trap 'pwd > \"{place}\"' EXIT\n{block.text}"
        command = [sys.executable, "-c", block.text] if block.language == "python" else ["bash", "-ec", script]
        done = subprocess.run(
            command,
            cwd=self.where,
            env=os.environ | {"PATH": path} | self.env,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
        )
        self.printed = done.stdout
        assert done.returncode == block.code, f"{block.text}\n{done.stdout}{done.stderr}"
        if block.language == "bash":
            self.where = Path(place.read_text().strip())  # a `cd` holds for the rest of the page


def assert_printed(promised: str, printed: str, command: str) -> None:
    lines = iter(_plain(line) for line in printed.splitlines())
    for wanted in filter(None, (_plain(line) for line in promised.splitlines())):
        pattern = ".*".join(map(re.escape, (part.strip() for part in wanted.split("…"))))
        assert any(re.fullmatch(pattern, line) for line in lines), f"{wanted!r} is not printed by {command}\n{printed}"


def _plain(line: str) -> str:
    return " ".join(line.split())


def links_of(page: Path) -> Iterator[str]:
    """Targets of links and pictures, outside of code."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    text = re.sub(r"`[^`]*`", "", text)
    yield from re.findall(r"\]\(([^)]+)\)", text)


def anchors_of(page: Path) -> set[str]:
    """What headings of a page are called in links to them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    found: set[str] = set()
    for heading in re.findall(r"^#+ (.+)$", text, re.M):
        plain = re.sub(r"[^\w\s-]", "", heading.replace("`", "")).strip().lower()
        found.add(re.sub(r"[-\s]+", "-", plain))
    return found


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as empty:
        for shown in sys.argv[1:]:
            act_out(Path(shown), Path(empty), aloud=True)
