"""Build what an index gets, look at it, and try the wheel where this repository is not.

PYTHONPATH=tests python scripts/release.py [--tag TAG] [--no-trial]

What is built is the last commit. TAG is that of the release, which must be v and the version. REPOSITORY is the
address of the repository, for links in the README. The bytes follow from the commit alone: everything is built twice,
and the wheel once more from the sdist. The trial installs the wheel into an empty environment, which takes minutes.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import textwrap
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from support.doc_pages import assert_printed, blocks_of

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
VERSION = re.findall(r'"(.+)"$', (ROOT / "src/goldsmith/_version.py").read_text(encoding="utf-8"), re.M)[-1]
MAX_BYTES = 60_000_000
"""Of sdist and wheel together; most of it is the gold of the example. An index takes 100 MB a file unless asked."""
PLACES = {
    "sdist": r"src/|docs/|examples/vla-course/|(CHANGELOG|README|SECURITY)\.md$|LICENSE$|PKG-INFO$|pyproject\.toml$"
    r"|hatch_build\.py$|CITATION\.cff$|\.gitignore$",
    "wheel": rf"goldsmith/|goldsmith-{re.escape(VERSION)}\.dist-info/",
}
"""Where the files of each lie. The repository's own tests and their corpora are in neither."""
NEEDED = (
    "goldsmith/__init__.py",
    "goldsmith/py.typed",
    "goldsmith/_topics/tutorial.md",
    "goldsmith/_example/goldsmith.toml",
    "goldsmith/courses/skills/texts/grade/SKILL.md",
)
PORT = {
    "old.py": """
        import torch

        class Old(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.norm = torch.nn.LayerNorm(8)
                self.up = torch.nn.Linear(8, 16)

            def forward(self, x):
                return self.up(self.norm(x))
    """,
    "new.py": """
        import torch

        class New(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.pre = torch.nn.LayerNorm(8, eps=1e-2)
                self.fc = torch.nn.Linear(8, 16)

            def forward(self, x):
                return self.fc(self.pre(x))
    """,
    "test_kept.py": "def test_kept(gold):\n    gold.check({'y': [0.1 + 0.2, 3]})\n",
}
"""Two models and a test, for what the wheel is tried on."""


class NotFit(Exception):
    """Something about what was built is not as it must be."""


def run(command: Sequence[object], folder: Path, code: int = 0, **env: str) -> str:
    """Run a command without this repository on its path and return what it printed."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "GOLDSMITH"))}
    done = subprocess.run(
        list(map(str, command)),
        cwd=folder,
        env=kept | {"CI": "", "PYTHONDONTWRITEBYTECODE": "1"} | env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    if done.returncode != code:
        raise NotFit(f"{' '.join(map(str, command))} exits with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def require_tag(tag: str) -> None:
    if tag != f"v{VERSION}":
        raise NotFit(f"the tag {tag} is not v{VERSION}, the version in src/goldsmith/_version.py")
    if f"## [{VERSION}]" not in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"):
        raise NotFit(f"CHANGELOG.md has no section [{VERSION}]")


def build(folder: Path) -> dict[str, Path]:
    """Build sdist and wheel of the last commit in a folder of their own."""
    source, out = folder / "source", folder / "out"
    source.mkdir(parents=True)
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as tree:
        tree.extractall(source, filter="data")
    epoch = run(["git", "log", "-1", "--format=%ct"], ROOT).strip()
    run([sys.executable, "-m", "build", "--outdir", out, source], folder, SOURCE_DATE_EPOCH=epoch)  # wheel of the sdist
    run(
        [sys.executable, "-m", "build", "--wheel", "--outdir", folder / "direct", source],
        folder,
        SOURCE_DATE_EPOCH=epoch,
    )
    (sdist,), (wheel,), (direct,) = out.glob("*.tar.gz"), out.glob("*.whl"), (folder / "direct").glob("*.whl")
    if wheel.read_bytes() != direct.read_bytes():
        raise NotFit("the wheel of the sdist is not that of the repository")
    return {"sdist": sdist, "wheel": wheel}


def contents(built: Mapping[str, Path]) -> dict[str, set[str]]:
    with tarfile.open(built["sdist"]) as sdist, zipfile.ZipFile(built["wheel"]) as wheel:
        inside = {item.name.partition("/")[2] for item in sdist.getmembers() if item.isfile()}
        return {"sdist": inside, "wheel": set(wheel.namelist())}


def require_contents(built: Mapping[str, Path]) -> None:
    """Refuse files that are in the wrong place, missing or many."""
    found = contents(built)
    for kind, names in found.items():
        if other := sorted(name for name in names if not re.match(PLACES[kind], name)):
            raise NotFit(f"the {kind} has {', '.join(other[:5])}")
        if left := sorted(
            name for name in names if re.search(r"__pycache__|\.goldsmith/|\.venv/|/tests?/corpora/", name)
        ):
            raise NotFit(f"the {kind} has {', '.join(left[:5])}")
    if missing := [name for name in NEEDED if name not in found["wheel"]]:
        raise NotFit(f"the wheel lacks {', '.join(missing)}")
    size = sum(path.stat().st_size for path in built.values())
    if size > MAX_BYTES:
        raise NotFit(f"sdist and wheel have {size:,} bytes, of at most {MAX_BYTES:,}")


def try_wheel(wheel: Path, folder: Path) -> None:
    """Install the wheel where this repository is not, and use it as a newcomer would."""
    run([sys.executable, "-m", "venv", folder / "env"], folder)
    bin_ = folder / "env/bin"
    run([bin_ / "python", "-m", "pip", "install", "--quiet", f"{wheel}[torch]", "pytest"], folder)
    place = folder / "place"
    place.mkdir()
    for name, text in PORT.items():
        (place / name).write_text(textwrap.dedent(text), encoding="utf-8")
    goldsmith, path = bin_ / "goldsmith", f"{bin_}{os.pathsep}{os.environ['PATH']}"
    code, promised = blocks_of(ROOT / "README.md")[:2]
    assert_printed(promised.text, run([bin_ / "python", "-c", code.text], place), "the README's first block")
    run([goldsmith, "init", "--example", "course"], place)
    said = run([goldsmith, "generate", "scratch-2", "--force", "--yes"], place / "course", PATH=path)
    assert_printed("scratch-2: not a byte changed, all 12 checks passed, …", said, "goldsmith generate")
    run([goldsmith, "check", "scratch-2", "private/submissions/scratch-2/ada"], place / "course")
    run([goldsmith, "check", "scratch-2", "private/submissions/scratch-2/ben"], place / "course", code=1)
    run([goldsmith, "help", "tutorial"], place)
    said = run([goldsmith, "parity", "old.py:Old", "new.py:New", "--input", "torch.randn(2, 8)"], place, code=1)
    if "norm" not in said:
        raise NotFit(f"goldsmith parity does not name the norm\n{said}")
    run([bin_ / "python", "-m", "pytest", "-q", "test_kept.py"], place, code=1)  # nothing was kept yet
    run([bin_ / "python", "-m", "pytest", "-q", "test_kept.py"], place)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tag")
    parser.add_argument("--no-trial", action="store_true")
    asked = parser.parse_args()
    try:
        if asked.tag:
            require_tag(asked.tag)
        with tempfile.TemporaryDirectory() as name:
            first, again = build(Path(name, "first")), build(Path(name, "again"))
            for kind in first:
                if first[kind].read_bytes() != again[kind].read_bytes():
                    raise NotFit(f"the {kind} is not the same when it is built again")
            require_contents(first)
            run([sys.executable, "-m", "twine", "check", "--strict", *first.values()], ROOT)
            if not asked.no_trial:
                Path(name, "trial").mkdir()
                try_wheel(first["wheel"], Path(name, "trial"))
            shutil.rmtree(DIST, ignore_errors=True)
            DIST.mkdir()
            for path in first.values():
                made = Path(shutil.copy(path, DIST))
                print(f"{hashlib.sha256(made.read_bytes()).hexdigest()}  {made.name}  {made.stat().st_size:,} bytes")
    except NotFit as problem:
        print(f"scripts/release.py: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
