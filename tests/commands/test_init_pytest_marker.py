"""The marker `rigor` goes where the course's pytest looks, and nothing else in that file changes."""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest
from _pytest.config.findpaths import load_config_dict_from_file

from support.course import CourseOnDisk

PLACES = {
    "an array over several lines": (
        "pyproject.toml",
        """\
# my settings
[project]
name = "x"  # mine

[tool.pytest.ini_options]  # pytest
addopts = "-q"
markers = [
    # slow ones
    "slow: takes long",
    "gpu: needs one]",  # a bracket in a text
]
testpaths = ["."]

[tool.ruff]
line-length = 99
""",
    ),
    "an array over several lines without a last comma": (
        "pyproject.toml",
        '[tool.pytest.ini_options]\nmarkers = [\n  "slow: takes long"  # really\n]\n',
    ),
    "an array on one line": ("pyproject.toml", '[tool.pytest.ini_options]\nmarkers = ["slow: takes long"]\n'),
    "an empty array": ("pyproject.toml", "[tool.pytest.ini_options]\nmarkers = []\n"),
    "no markers yet": ("pyproject.toml", '[tool.pytest.ini_options]\naddopts = "-q"\n\n[tool.x]\nmarkers = [1]\n'),
    "nothing for pytest yet": ("pyproject.toml", '[project]\nname = "x"\nversion = "1"'),
    "a pytest.ini": ("pytest.ini", "; mine\n[pytest]\naddopts = -q\nmarkers =\n    slow: takes long\n\n# end\n"),
    "a pytest.ini with one marker on the line": ("pytest.ini", "[pytest]\nmarkers = slow: takes long\naddopts = -q\n"),
    "an empty pytest.ini": ("pytest.ini", ""),
    "a tox.ini": ("tox.ini", "[tox]\nenvlist = py311\n\n[pytest]\naddopts = -q\n"),
    "a setup.cfg": (
        "setup.cfg",
        "[metadata]\nname = x\n\n[tool:pytest]\nmarkers =\n    slow: takes long\naddopts = -q\n",
    ),
}


@pytest.mark.parametrize("name", PLACES)
def test_it_is_added_and_every_other_line_stays(tmp_path: Path, name: str) -> None:
    file, text = PLACES[name]
    course = CourseOnDisk(tmp_path)
    (tmp_path / file).write_text(text)
    assert course.run("init", "--yes", "--without", "gitignore", "--without", "scripts").code == 0
    after = (tmp_path / file).read_text()
    gone = [line for line in difflib.ndiff(text.splitlines(), after.splitlines()) if line.startswith("- ")]
    if name not in ("an array on one line", "an empty array", "an array over several lines without a last comma"):
        assert gone == []
    assert len(gone) <= 1
    assert not (tmp_path / "pytest.ini").exists() or file == "pytest.ini"
    read = str((load_config_dict_from_file(tmp_path / file) or {})["markers"])
    assert "rigor: internal tests, against the gold" in read
    assert ("slow: takes long" in read) == ("slow" in text)
    assert course.run("init", "--yes").code == 0
    assert (tmp_path / file).read_text() == after


@pytest.mark.parametrize(
    "text",
    [
        'tool.pytest.ini_options.markers = ["slow: x"]\n',
        '[tool.pytest]\nini_options = {addopts = "-q"}\n',
        "[tool.pytest.ini_options]\nmarkers = '''slow: x\nfast: y'''\n",
        "[tool.pytest.ini_options\n",
        '[tool.pytest.ini_options]\nmarkers = ["a"]\r\naddopts = "-q"\n',
    ],
)
def test_where_it_cannot_be_added_safely_the_line_to_add_is_shown(tmp_path: Path, text: str) -> None:
    (tmp_path / "pyproject.toml").write_bytes(text.encode())
    (tmp_path / "goldsmith.toml").write_text("")
    run = CourseOnDisk(tmp_path).run("init", "--yes")
    assert run.code == 0, run.err
    assert "it cannot be added safely here" in run.out
    assert "Add to pyproject.toml by hand:" in run.out
    assert 'markers = ["rigor: internal tests' in run.out
    assert (tmp_path / "pyproject.toml").read_bytes() == text.encode()


def test_a_configuration_in_pyproject_is_enough(tmp_path: Path) -> None:
    text = '[tool.goldsmith]\nassignments = "hw"\n\n[tool.pytest.ini_options]\nmarkers = ["rigor: ours"]\n'
    (tmp_path / "pyproject.toml").write_text(text)
    run = CourseOnDisk(tmp_path).run("init", "--yes")
    assert run.code == 0
    assert (tmp_path / "pyproject.toml").read_text() == text
    assert not (tmp_path / "goldsmith.toml").exists()
