"""What the documents show works as shown: their files are written, their commands run, their links lead somewhere."""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import docs_words
import msgspec
import numpy as np
import pytest
import yaml

import goldsmith
from goldsmith.cli.app import commands
from goldsmith.courses.layout.config import Config
from goldsmith.judge.leaf_words import how_far, leaf_lines
from goldsmith.weights.rules import read_adapter
from support.doc_pages import PAGES, ROOT, Block, act_out, anchors_of, blocks_of, links_of

ACTED_OUT = [
    "README.md",
    "docs/recipes.md",
    "docs/course-staff.md",
    "docs/checking.md",
    "docs/skills.md",
    "docs/how-to/solution-changed.md",
    "docs/how-to/ci.md",
    "docs/how-to/without-a-course.md",
    "docs/how-to/kernels.md",
    "docs/how-to/reports.md",
    "docs/how-to/look-at-it.md",
    "docs/how-to/handout.md",
    "docs/how-to/notebooks.md",
    "docs/how-to/canvas.md",
    "docs/how-to/gradescope.md",
    "docs/porting.md",
    "docs/contributing/operator.md",
    "docs/contributing/engine.md",
]
ELSEWHERE = {
    "docs/tutorial.md": "test_tutorials.py",
    "docs/other-layouts.md": "test_tutorials.py",
    "docs/adapters.md": "read below",
    "docs/grading.md": "clusters, which are not here",
    "docs/testing.md": "test_pytest_plugin.py",
    "docs/how-to/pytest-without-a-course.md": "test_pytest_values.py, away from CI",
    "docs/how-to/jax.md": "with_jax/test_pitfalls.py, where JAX is installed",
    "docs/rigor.md": "test_operators.py has the like",
    "docs/tolerances.md": "one line of a recipe",
    "examples/vla-course/README.md": "pytest and goldsmith in a course",
    "examples/vla-course/src/assignments/scratch-1/README.md": "pytest in a course",
    "examples/vla-course/src/assignments/scratch-2/README.md": "pytest in a course",
    "examples/vla-course/src/assignments/scratch-3/README.md": "pytest in a course",
}
"""Pages with Python or shell that are not acted out here, and what becomes of it."""


LONG = {
    "docs/course-staff.md": "the tutorials have its commands, too",
    "docs/how-to/gradescope.md": "test_pack.py has its commands, too",
    "docs/how-to/notebooks.md": "test_notebook_courses.py and test_notebooks.py have its commands, too",
    "docs/how-to/solution-changed.md": "test_generate_real_changes.py and test_verify.py have its commands, too",
    "docs/how-to/handout.md": "test_handout.py and test_handout_numpy.py have its commands, too",
    "docs/porting.md": "test_parity_command.py has the like, and unit/model_parity what is done in Python",
}
"""Pages that only `make test-long` acts out, and what is quicker."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long if name in LONG else ()) for name in ACTED_OUT]
)
def test_files_are_written_and_commands_run_as_the_page_shows(name: str, tmp_path: Path) -> None:
    assert act_out(ROOT / name, tmp_path, patience=False)


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "commands"),
    [
        ("docs/contributing/engine.md", 2),
        ("docs/how-to/reports.md", 2),
        ("docs/how-to/look-at-it.md", 2),
        ("docs/how-to/canvas.md", 3),
    ],
)
def test_so_do_those_that_take_long(name: str, commands: int, tmp_path: Path) -> None:
    assert len(act_out(ROOT / name, tmp_path)) == commands


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_is_run_or_parsed_or_output(page: Path) -> None:
    name = str(page.relative_to(ROOT))
    text = page.read_text(encoding="utf-8")
    blocks = blocks_of(page)
    assert len(re.findall(r"^ *```", text, re.M)) == 2 * len(blocks), "a fence that is not closed, or is indented"
    for block in blocks:
        READ[block.language](block)
    if any(block.language in ("bash", "python") for block in blocks):
        assert (name in ACTED_OUT) != (name in ELSEWHERE), f"{name} is neither acted out nor excused"


def _settings(block: Block) -> None:
    table = tomllib.loads(block.text)
    if "pytest" not in table.get("tool", {}) and "project" not in table:
        msgspec.convert(table, Config)


def _typed(block: Block) -> None:
    """Shell: it parses, and every goldsmith command in it has these options and arguments."""
    subprocess.run(["bash", "-n"], input=block.text, text=True, check=True)
    for line in block.text.splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] == ["goldsmith"]:
            _command(words[1:])


def _command(words: list[str]) -> None:
    known = dict(commands())
    length = 1 if words[0] in known else 2
    command, words = known[" ".join(words[:length])], words[length:]
    stop = next((number for number, word in enumerate(words) if word in ("|", "||", ">", "&&")), len(words))
    try:
        command.make_context("goldsmith", words[:stop])
    except click.BadParameter as problem:
        if "does not exist" not in problem.message:  # it may speak of a file that its reader has
            raise


READ = {
    "python": lambda block: ast.parse(block.text),
    "toml": _settings,
    "ini": _settings,  # a part of such a file
    "yaml": lambda block: yaml.safe_load(block.text),
    "json": lambda block: json.loads(block.text),
    "bash": _typed,
    "sh": _typed,
    "text": lambda block: None,
}
"""What is done with a block of each language. `bash` is run, `sh` is not; `text` is output, or a picture of folders."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_anchors_and_pictures_exist(page: Path) -> None:
    for target in links_of(page):
        if target.startswith("https://"):
            continue  # a page of somebody else's
        path, _, anchor = target.partition("#")
        found = page if not path else page.parent / path
        assert found.exists(), target
        themes = {"only-light", "only-dark"}  # a picture of the site's, for one of its themes
        assert not anchor or anchor in (anchors_of(found) if found.suffix == ".md" else themes), target


def test_a_broken_link_would_be_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# One `two` three\n\n[a](#one-two-three) [b](#four) [c](none.md) `[d](code.md)`\n")
    assert list(links_of(page)) == ["#one-two-three", "#four", "none.md"]
    assert anchors_of(page) == {"one-two-three"}


def test_the_site_builds_and_asks_nobody(tmp_path: Path) -> None:
    """Strictly: a page that is not in the menu, a link or an anchor that leads nowhere is an error."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=os.environ | {"NO_COLOR": "1"})
    assert done.returncode == 0, done.stderr
    for page in (tmp_path / "site").rglob("*.html"):
        fetched = re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="?(https?:[^"\s>]+)', page.read_text("utf-8"))
        assert not fetched, f"{page.name} fetches {fetched}"


def test_reports_say_what_students_are_told_they_say() -> None:
    told = re.findall(r"^\| `([^`…]+)` \|", (ROOT / "docs/students.md").read_text(encoding="utf-8"), re.M)
    gold = np.arange(1.0, 29.0).reshape(4, 7)
    square = np.arange(25.0).reshape(5, 5) ** 1.5
    part = np.ones((7, 4))
    part[3:6] = 1.5
    holes = gold.copy()
    holes[0, :2] = np.nan
    pairs = [
        (gold * 1.5, gold),
        (gold * 1.007, gold),
        (part, np.ones((7, 4))),
        (gold, gold[..., None]),
        (holes, gold),
        (square.T.copy(), square),
        ("a line\nand more?", "a line\nand more!"),
    ]
    leaves = [leaf for actual, wanted in pairs for leaf in goldsmith.compare(actual, wanted).leaves]
    leaves += goldsmith.compare({"gradients": {"w": None}}, {"gradients": {"w": gold}}).leaves
    said = "\n".join(line for leaf in leaves for line in (how_far(leaf), *leaf_lines(leaf, reveal=False)))
    seen = {"computed in float16 inside", "final_norm is never called"}  # test_coarser_dtypes.py, test_attribution.py
    seen |= {"the worst of them slightly off", "item 24 of long"}  # test_grade_feedback.py
    assert len(told) == 14
    told = [phrase for phrase in told if phrase not in seen]
    for phrase in told:
        assert phrase in said, phrase


def test_the_documented_settings_are_all_settings_with_their_defaults() -> None:
    (block,) = [item for item in blocks_of(ROOT / "docs/course-staff.md") if item.language == "toml"]
    documented = tomllib.loads(block.text)
    examples = documented.pop("assignment")
    defaults = msgspec.to_builtins(Config())
    defaults.pop("assignment")
    assert documented == json.loads(json.dumps(defaults))
    msgspec.convert({"assignment": examples}, Config)


def test_the_adapters_shown_can_be_read() -> None:
    shown = [item.text for item in blocks_of(ROOT / "docs/adapters.md") if item.language == "python"]
    weights, calls = (read_adapter(body.encode(), "adapter.py") for body in shown)
    assert len(weights.rules) == 10
    assert list(weights.layouts)[-1] == "q, k, v together for each head"
    assert (list(calls.calls), list(calls.parts)) == (["CausalSelfAttention"], ["backbone.train_epoch"])


def test_the_map_names_every_room() -> None:
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    for entry in (ROOT / "src/goldsmith").iterdir():
        if entry.is_dir() and not entry.name.startswith("_"):
            assert f"  {entry.name}/" in text, entry.name
        elif entry.suffix == ".py" and entry.name not in ("_version.py", "__main__.py"):
            assert f"  {entry.name}" in text, entry.name


def test_the_map_is_short() -> None:
    """How each command walks is told in its folder's `__init__.py`."""
    assert len((ROOT / "docs/architecture.md").read_text(encoding="utf-8").split()) <= 1200


WALKS = [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "src/goldsmith").rglob("__init__.py"))]


@pytest.mark.parametrize(
    "page", ["docs/architecture.md", "docs/contributing/ownership.md", "docs/contributing/promises.md", *WALKS]
)
def test_the_files_that_a_page_names_exist(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    folders = "|".join(entry.name for entry in (ROOT / "src/goldsmith").iterdir() if entry.is_dir())
    named = set(re.findall(rf"`((?:{folders})/[\w/.]*)", text))
    assert {name for name in named if not (ROOT / "src/goldsmith" / name).exists()} == set()
    tests = set(re.findall(r"`(?:tests/)?((?:\w+/)*test_\w+\.py)`", text))
    assert {name for name in tests if not (ROOT / "tests" / name).exists()} == set()


def test_no_two_files_of_tests_have_one_name() -> None:
    """pytest imports them by it: the second cannot be collected, also where the first is left out."""
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    assert sorted(set(names)) == sorted(names)


def test_no_file_is_more_than_one_person_can_hold_in_mind() -> None:
    for path in [*(ROOT / "src").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]:
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 400, path


def test_users_have_no_more_to_read_than_the_limit() -> None:
    """`python scripts/docs_words.py` lists the pages; tables about ourselves belong to contributing/measurements."""
    assert docs_words.words()["users"] <= docs_words.LIMIT


def test_every_measurement_is_listed_with_the_command_that_makes_it() -> None:
    folder = ROOT / "docs/contributing/measurements"
    rows = re.findall(r"^\| \[[\w ]+\]\((\S+)\) \| .+ \| `.+` \|$", (folder / "index.md").read_text("utf-8"), re.M)
    assert sorted(rows) == sorted(page.name for page in folder.glob("*.md") if page.name != "index.md")


def test_every_page_that_a_script_writes_into_is_there() -> None:
    for path in [*(ROOT / "scripts").glob("*.py"), *(ROOT / "tests/support").glob("*.py")]:
        for page in re.findall(r"docs/contributing/measurements/[\w-]+\.md", path.read_text(encoding="utf-8")):
            assert (ROOT / page).is_file(), f"{path.name}: {page}"
