"""Whatever says how goldsmith is installed says so in words that work today: it is not on a package index."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from goldsmith.courses.scaffold.workflow import WORKFLOW, git_address
from support.course import CourseOnDisk
from support.doc_pages import ROOT

PLACES = ("README.md", "Makefile", ".ci", "docs", "src", "examples", "scripts", "noxfile.py")
TEXTS = ("", ".md", ".py", ".txt", ".toml", ".yml", ".yaml", ".cfg", ".sh")
OURS = re.compile(r"(?:(?<![\w./@-])goldsmith(?![\w-]))|(?:^|[\s'\"])\.\[")
"""What is asked for is goldsmith: by its name, or as the project that lies here."""
EXTRAS = r"(?:\[[a-z,]+\])?"
ALLOWED = [
    rf"'/path/to/goldsmith{EXTRAS}'",
    rf"'goldsmith{EXTRAS} @ git\+ADDRESS'",
    rf"\"(?:goldsmith{EXTRAS}|\$\{{package\}}) @ (?:\$|\$\{{dollar\}})GOLDSMITH\"",
    rf"(?:-e )?[\"']\.{EXTRAS}[\"']",
    r"\"\$\$here\"/goldsmith-\*\.whl",
]
"""A clone by its path, a git address, the variable of a workflow that holds one, the clone that somebody is in, and the
wheel in a pack."""


def installations(text: str) -> Iterator[str]:
    """What is given to each `pip install`, to the end of the command."""
    for found in re.finditer(r"pip3? install(?=\s)([^\n`]*)", text):
        yield found[1].split("  #")[0].strip()


def texts() -> list[Path]:
    found = [ROOT / name for name in PLACES if (ROOT / name).is_file()]
    for name in PLACES:
        found += [path for path in (ROOT / name).rglob("*") if path.suffix in TEXTS and path.is_file()]
    return [path for path in found if "__pycache__" not in path.parts]


def asks_for_goldsmith(arguments: str) -> bool:
    return bool(OURS.search(arguments)) or "/goldsmith" in arguments or "${package}" in arguments


def is_allowed(arguments: str) -> bool:
    return any(re.search(f"(?:^|\\s){form}(?:\\s|$)", arguments) for form in ALLOWED)


def test_every_way_to_install_goldsmith_that_is_told_works_without_an_index() -> None:
    told = [(path, line) for path in texts() for line in installations(path.read_text("utf-8", errors="replace"))]
    ours = [(path, line) for path, line in told if asks_for_goldsmith(line)]
    for path, line in ours:
        assert is_allowed(line), f"{path.relative_to(ROOT)}: pip install {line}"
    named = {path.relative_to(ROOT).as_posix() for path, _ in ours}
    assert {"README.md", "docs/index.md", "docs/tutorial.md", "docs/how-to/ci.md"} <= named


@pytest.mark.parametrize(
    ("line", "allowed"),
    [
        ("pip install goldsmith", False),
        ("pip install 'goldsmith[torch]'", False),
        ("pip install -r requirements.txt goldsmith pytest", False),
        ("pip install 'goldsmith>=0.1'", False),
        ("pip install '/path/to/goldsmith[torch]'", True),
        ("pip install 'goldsmith[torch] @ git+ADDRESS'", True),
        ('pip install -c constraints.txt --group dev -e ".[dask,torch]"', True),
    ],
)
def test_a_plain_name_would_be_noticed(line: str, allowed: bool) -> None:
    (arguments,) = installations(line)
    assert asks_for_goldsmith(arguments)
    assert is_allowed(arguments) == allowed


def test_no_requirements_file_asks_an_index_for_goldsmith() -> None:
    for path in (ROOT / "examples").rglob("requirements*.txt"):
        lines = [line.partition("#")[0].strip() for line in path.read_text().splitlines()]
        assert not [line for line in lines if re.match(r"goldsmith\b(?!.*@)", line)], path


@pytest.mark.parametrize("name", ["README.md", "docs/tutorial.md", "docs/how-to/ci.md"])
def test_pages_say_that_goldsmith_is_on_no_package_index(name: str) -> None:
    assert "is not on a package index" in " ".join((ROOT / name).read_text("utf-8").split())


# --- the workflow that `goldsmith init` writes


def pip_says(**facts: object) -> str:
    return json.dumps(facts)


@pytest.mark.parametrize(
    ("recorded", "address"),
    [
        (
            pip_says(url="https://host.test/us/goldsmith", vcs_info={"vcs": "git", "commit_id": "abc"}),
            "git+https://host.test/us/goldsmith@abc",
        ),
        (
            pip_says(url="ssh://git@host.test/us/goldsmith", vcs_info={"vcs": "git", "commit_id": "abc"}),
            "git+ssh://git@host.test/us/goldsmith@abc",
        ),
        (pip_says(url="file:///home/ada/goldsmith", dir_info={"editable": True}), ""),
        (pip_says(url="file:///home/ada/goldsmith", vcs_info={"vcs": "git", "commit_id": "abc"}), ""),
        (pip_says(url="https://host.test/goldsmith.whl", archive_info={}), ""),
        (None, ""),
        ("[]", ""),
        ("{", ""),
    ],
)
def test_ci_takes_the_git_address_that_goldsmith_was_installed_from(recorded: str | None, address: str) -> None:
    assert git_address(recorded) == address


def test_without_an_address_ci_stops_with_one_sentence_and_init_says_so(course: CourseOnDisk) -> None:
    told = course.run("init", "--yes")
    assert f"Note: {WORKFLOW} does not know where to install goldsmith from" in told.out
    workflow = yaml.safe_load((course.root / WORKFLOW).read_text())
    assert workflow["env"] == {"GOLDSMITH": ""}
    (install,) = [step["run"] for step in workflow["jobs"]["gold"]["steps"] if step.get("name") == "Install"]
    shell = [shutil.which("bash") or "bash", "-e"]
    done = subprocess.run(shell, input=install, env={"PATH": ""}, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stdout == f"::error::Set GOLDSMITH at the top of {WORKFLOW} to the git address of goldsmith.\n"
    assert "Note" not in course.run("init", "--yes").out, "the file is there, and somebody's to fill in"


@pytest.mark.long
def test_a_clone_can_be_installed_as_the_readme_says(tmp_path: Path) -> None:
    """Without its dependencies, which this environment has; what builds it is fetched."""
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    site = next(tmp_path.glob("venv/lib/python*/site-packages"))
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    clone = tmp_path / "path/to/goldsmith"
    kept = shutil.ignore_patterns(".git", ".venv", "build", "__pycache__", ".*_cache", ".hypothesis")
    shutil.copytree(ROOT, clone, ignore=kept)
    (line,) = {
        line
        for line in installations((ROOT / "README.md").read_text("utf-8"))
        if line.startswith("'/path/to/goldsmith")
    }
    command = line.replace("/path/to/", f"{tmp_path}/path/to/")
    pip = [tmp_path / "venv/bin/python", "-m", "pip", "install", "--quiet", "--no-deps", command.strip("'")]
    subprocess.run(pip, check=True, timeout=200)
    command_line = [tmp_path / "venv/bin/goldsmith", "--version"]
    done = subprocess.run(command_line, capture_output=True, text=True, cwd=tmp_path, env={"PATH": ""})
    assert (done.returncode, done.stdout.split()[:1]) == (0, ["goldsmith"]), done.stderr
