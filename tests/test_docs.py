"""What the documents show works as shown: their files are written, their commands run, their links lead somewhere."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import msgspec
import pytest

from goldsmith.course import Config
from goldsmith.recording import read_adapter

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "examples/vla-course/README.md"]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)


@pytest.mark.parametrize(
    "name", ["README.md", "docs/recipes.md", "docs/course-staff.md", "docs/checking.md", "docs/skills.md"]
)
def test_files_are_written_and_commands_run_as_the_page_shows(name: str, tmp_path: Path) -> None:
    """A Python block that begins with `# path` is a file, any other is run; so is bash, and sh is not."""
    where = tmp_path
    ran = 0
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    for language, text in BLOCK.findall((ROOT / name).read_text(encoding="utf-8")):
        path = re.match(r"# (\S+/\S+\.py)\n", text)
        if language == "python" and path:
            file = where / path[1]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
            continue
        if language not in ("python", "bash"):
            continue
        script = text + f'\npwd > "{tmp_path}/where"\n'
        command = [sys.executable, "-c", text] if language == "python" else ["bash", "-ec", script]
        done = subprocess.run(command, cwd=where, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, f"{text}\n{done.stdout}{done.stderr}"
        ran += 1
        if language == "bash":
            where = Path((tmp_path / "where").read_text().strip())  # a `cd` holds for the rest of the page
    assert ran


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_pictures_exist(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_the_documented_settings_are_all_settings_with_their_defaults() -> None:
    text = (ROOT / "docs/course-staff.md").read_text(encoding="utf-8")
    (block,) = [body for language, body in BLOCK.findall(text) if language == "toml"]
    documented = tomllib.loads(block)
    examples = documented.pop("assignment")
    defaults = msgspec.to_builtins(Config())
    defaults.pop("assignment")
    assert documented == json.loads(json.dumps(defaults))
    msgspec.convert({"assignment": examples}, Config)


def test_the_adapters_shown_can_be_read() -> None:
    text = (ROOT / "docs/adapters.md").read_text(encoding="utf-8")
    shown = [body for language, body in BLOCK.findall(text) if language == "python"]
    weights, calls = (read_adapter(body.encode(), "adapter.py") for body in shown)
    assert len(weights.rules) == 4
    assert list(weights.layouts) == ["q, k, v together for each head"]
    assert (list(calls.calls), list(calls.parts)) == (["CausalSelfAttention"], ["backbone.train_epoch"])


def test_the_map_names_every_room() -> None:
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    for entry in (ROOT / "src/goldsmith").iterdir():
        if entry.is_dir() and not entry.name.startswith("_"):
            assert f"  {entry.name}/" in text, entry.name
        elif entry.suffix == ".py" and entry.name not in ("_version.py", "__main__.py"):
            assert f"  {entry.name}" in text, entry.name


def test_no_file_is_more_than_one_person_can_hold_in_mind() -> None:
    for path in [*(ROOT / "src").rglob("*.py"), *(ROOT / "tests").glob("*.py")]:
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 400, path
