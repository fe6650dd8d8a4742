"""`pytest --gold-prune`: what no test checks any more is deleted, unless there is any doubt that every test has run."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from support.pytest_values import KeepingTests

TESTS = """
    def test_stays(gold):
        gold.check(1, name="used")
        gold.check(np.arange(101), name="dropped")

    def test_renamed(gold):
        gold.check(3)
"""
GONE = [
    "test_gone.gold/test_renamed.gold.json: test_gone.py does not exist",
    "test_gone.gold/test_stays.dropped: test_gone.py does not exist",
    "test_gone.gold/test_stays.used.gold.json: test_gone.py does not exist",
    "test_it.gold/test_renamed.gold.json: test_it.py has no test_renamed",
    "test_it.gold/test_stays.dropped: test_stays did not check it",
]


_made: list[Path] = []


@pytest.fixture
def unused(keeping: KeepingTests) -> KeepingTests:
    """Five checks that nothing makes any more, of a file that is gone, a test, and a name; and two that are made."""
    if not _made:
        make_unused(keeping)
        _made.append(keeping.root.with_name(f"{keeping.root.name}-unused"))
        shutil.copytree(keeping.root, _made[0], ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(_made[0], keeping.root, dirs_exist_ok=True)
    return keeping


def make_unused(keeping: KeepingTests) -> None:
    keeping.record(TESTS)
    keeping.folder.rename(keeping.root / "test_gone.gold")
    keeping.record(TESTS)
    keeping.change('    gold.check(np.arange(101), name="dropped")\n', "")
    keeping.change("test_renamed", "test_other")
    keeping.run("--gold-update", "test_it.py::test_other").assert_outcomes(passed=1)


def all_kept(keeping: KeepingTests) -> dict[str, bytes]:
    files = (path for path in keeping.root.rglob("*.gold/**/*") if path.is_file())
    return {path.relative_to(keeping.root).as_posix(): path.read_bytes() for path in files}


@pytest.mark.parametrize("arguments", [[], ["-n", "2"], ["--gold-update"], ["."]])
def test_what_no_test_checks_any_more_is_deleted_and_listed(unused: KeepingTests, arguments: list[str]) -> None:
    result = unused.run("--gold-prune", *arguments)
    result.assert_outcomes(passed=2)
    assert [line for line in result.outlines if line.startswith("deleted")] == [f"deleted   {line}" for line in GONE]
    assert sorted(all_kept(unused)) == ["test_it.gold/test_other.gold.json", "test_it.gold/test_stays.used.gold.json"]
    assert not (unused.root / "test_gone.gold").exists()
    assert "there is nothing that no test checks" in unused.run("--gold-prune").outlines


DOUBTS = {
    "-k other": "-k was given",
    "-m no": "-m was given",
    "test_it.py::test_other": "single tests were named",
    "--deselect test_it.py::test_other": "--deselect was given",
    "--ignore sub": "--ignore was given",
    "--setup-plan": "--setup-plan was given",
    "-o python_functions=test_s*": "-o was given",
}


@pytest.mark.parametrize("arguments", DOUBTS)
def test_nothing_is_deleted_where_not_all_tests_were_to_run(unused: KeepingTests, arguments: str) -> None:
    before = all_kept(unused)
    result = unused.run("--gold-prune", *arguments.split())
    result.stdout.fnmatch_lines([f"nothing was deleted, because not every test has run: *{DOUBTS[arguments]}*"])
    assert all_kept(unused) == before


CONFTESTS = {
    "def pytest_collection_modifyitems(config, items):\n    config.hook.pytest_deselected(items=[items.pop()])\n": (
        "tests were deselected*"
    ),
    "def pytest_collection_modifyitems(items):\n    items.pop()\n": "1 test did not run, test_it.py::test_other *",
    "import pytest\n@pytest.fixture(autouse=True)\ndef stop(request):\n    request.session.shouldstop = 'now'\n": (
        "the run ended early*"
    ),
    "import pytest\n@pytest.fixture(autouse=True)\ndef stop():\n    pytest.exit('now')\n": "the run ended early*",
}


@pytest.mark.parametrize("conftest", CONFTESTS)
def test_nothing_is_deleted_where_something_kept_tests_from_running(unused: KeepingTests, conftest: str) -> None:
    before = all_kept(unused)
    (unused.root / "conftest.py").write_text(conftest)
    result = unused.run("--gold-prune")
    result.stdout.fnmatch_lines([f"nothing was deleted, because not every test has run: {CONFTESTS[conftest]}"])
    assert all_kept(unused) == before


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import nowhere\n", "test_more.py was not collected: failed"),
        ("pytest.skip('no', allow_module_level=True)\n", "*"),
    ],
)
@pytest.mark.parametrize(
    "arguments", [[], ["--continue-on-collection-errors"], pytest.param(["-n", "2"], marks=pytest.mark.long)]
)
def test_nothing_is_deleted_where_a_file_was_not_collected(
    unused: KeepingTests, text: str, words: str, arguments: list[str]
) -> None:
    before = all_kept(unused)
    (unused.root / "test_more.py").write_text(f"import pytest\n{text}")
    result = unused.run("--gold-prune", *arguments)
    result.stdout.fnmatch_lines([f"nothing was deleted, because not every test has run: {words}*"])
    assert all_kept(unused) == before


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    gold.check(1,", "    pytest.skip('no')\n    gold.check(1,"),
        ("    gold.check(1,", "    pytest.xfail('no')\n    gold.check(1,"),
        ("    gold.check(1,", "    assert FACTOR == 2\n    gold.check(1,"),
        ("def test_stays(gold):", "@pytest.mark.skipif(True, reason='no')\ndef test_stays(gold):"),
        ("def test_stays(gold):", "@pytest.mark.parametrize('x', [])\ndef test_stays(gold, x):"),
        ("def test_stays(gold):", "@pytest.fixture\ndef bad():\n    yield\n    1 / 0\n\ndef test_stays(gold, bad):"),
    ],
)
def test_what_belongs_to_a_test_that_has_not_passed_is_kept(unused: KeepingTests, old: str, new: str) -> None:
    unused.change(old, new)
    result = unused.run("--gold-prune")
    assert [line for line in result.outlines if line.startswith("deleted")] == [
        f"deleted   {line}" for line in GONE[:4]
    ]
    assert {"test_it.gold/test_stays.used.gold.json", "test_it.gold/test_stays.dropped/manifest.json"} <= set(
        all_kept(unused)
    )


def test_one_file_alone_does_not_speak_for_files_that_are_gone(unused: KeepingTests) -> None:
    result = unused.run("--gold-prune", "test_it.py")
    assert [line for line in result.outlines if line.startswith(("deleted", "kept  "))] == [
        *(f"kept      {line}, but its folder was not run as a whole" for line in GONE[:3]),
        *(f"deleted   {line}" for line in GONE[3:]),
    ]


def test_only_what_goldsmith_has_surely_made_is_deleted(unused: KeepingTests) -> None:
    gone = unused.root / "test_gone.gold"
    (gone / "test_stays.dropped" / "notes.txt").write_text("mine")
    (gone / "foreign.gold.json").write_text('{"mine": 1}')
    (gone / "test_renamed.gold.json").rename(gone / "other.gold.json")
    used = gone / "test_stays.used.gold.json"
    used.write_text(used.read_text().replace('"value": 1', '"value": 2'))
    (gone / "link.gold.json").symlink_to(unused.folder / "test_other.gold.json")
    manifest = gone / "newer/manifest.json"
    manifest.parent.mkdir()
    manifest.write_text(json.dumps({"schema": 99}))
    before = {name: content for name, content in all_kept(unused).items() if name.startswith("test_gone")}
    result = unused.run("--gold-prune")
    assert [line for line in result.outlines if line.startswith("kept  ")] == [
        "kept      test_gone.gold/other.gold.json: test_gone.py does not exist, but it is not named after its test",
        "kept      test_gone.gold/test_stays.dropped: test_gone.py does not exist, but there is something else in it",
    ]
    after = {name: content for name, content in all_kept(unused).items() if name.startswith("test_gone")}
    assert after == before


def test_gold_of_a_file_of_another_kind_is_kept(unused: KeepingTests) -> None:
    (unused.root / "test_gone.yaml").write_text("")
    result = unused.run("--gold-prune")
    assert [line for line in result.outlines if line.startswith("kept  ")] == [
        f"kept      {line}, but there is test_gone.yaml" for line in GONE[:3]
    ]


def test_on_ci_nothing_is_deleted(unused: KeepingTests, monkeypatch: pytest.MonkeyPatch) -> None:
    before = all_kept(unused)
    monkeypatch.setenv("CI", "1")
    result = unused.run("--gold-prune")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --gold-prune deletes gold, and this is CI: run it where you develop"])
    assert all_kept(unused) == before


def test_a_refused_update_deletes_nothing(unused: KeepingTests) -> None:
    unused.change("gold.check(1,", "gold.check(None and 1 or [1], rtol=0,")
    unused.change("gold.check(3)", "gold.check({'x': 3})")
    before = all_kept(unused)
    result = unused.run("--gold-update", "--gold-prune")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert all_kept(unused) == before
