"""Where `gold.check` keeps values: a file of text if they are few, a folder otherwise, and never through a link."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import msgspec
import pytest

import goldsmith
from goldsmith.gold.manifest import Manifest, encode
from support.doc_pages import ROOT
from support.pytest_values import KeepingTests

OLD = ROOT / "tests/corpora/kept_values"
"""What version 0.2 kept of two small checks: a folder for each."""


def test_what_an_older_version_kept_is_still_compared_and_becomes_one_file_when_it_changes(
    keeping: KeepingTests,
) -> None:
    folder = keeping.root / "test_old.gold"
    shutil.copytree(OLD / "test_old.gold", folder)
    tests = keeping.root / "test_old.py"
    tests.write_text((OLD / "old_values.py.txt").read_text())
    keeping.run().assert_outcomes(passed=2)
    keeping.run("--gold-update").assert_outcomes(passed=2)
    assert sorted(path.name for path in folder.iterdir()) == ["test_function", "test_values"]
    tests.write_text(tests.read_text().replace("np.tanh", "np.sinh").replace('"n": 3', '"n": 4'))
    keeping.run().assert_outcomes(failed=2)
    keeping.run("--gold-update").assert_outcomes(passed=2)
    assert sorted(path.name for path in folder.iterdir()) == ["test_function.gold.json", "test_values.gold.json"]
    keeping.run().assert_outcomes(passed=2)


def test_a_small_check_says_its_numbers_in_one_file_and_a_large_one_those_of_its_short_arrays(
    keeping: KeepingTests,
) -> None:
    keeping.record("""
    def test_small(gold):
        gold.check({"y": np.array([0.1, 2.0], np.float32), "name": "a"})

    def test_large(gold):
        gold.check({"y": np.array([0.1, 2.0]), "many": np.arange(101)})
    """)
    assert keeping.kept() == ["test_large", "test_small.gold.json"]
    assert (keeping.folder / "test_small.gold.json").read_text().splitlines()[:6] == [
        "{",
        '  "goldsmith": 1,',
        '  "test": "test_small",',
        '  "value": {',
        '    "y": {"@float32": [0.1, 2.0]},',
        '    "name": "a"',
    ]
    tensors = json.loads((keeping.folder / "test_large/manifest.json").read_text())["cases"][0]["tensors"]
    assert {item["path"]: item.get("values") for item in tensors} == {
        "output.y": {"@float64": [0.1, 2.0]},
        "output.many": None,
    }
    for name in ("test_small", "test_small.gold.json"):
        assert goldsmith.load(keeping.folder / name)["test_small"].output["y"].tolist() == [pytest.approx(0.1), 2.0]


def test_numbers_in_a_manifest_that_are_not_those_of_its_file_are_an_error(keeping: KeepingTests) -> None:
    keeping.record('def test_it(gold):\n    gold.check({"y": np.array([0.1, 2.0]), "many": np.arange(101)})\n')
    path = keeping.folder / "test_it/manifest.json"
    path.write_bytes(path.read_bytes().replace(b"0.1,\n", b"0.2,\n"))
    changed = msgspec.json.decode(path.read_bytes(), type=Manifest)
    path.write_bytes(encode(changed))  # with a digest that fits
    result = keeping.run()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["E *manifest.json is not usable: output.y in it is not what values.npz holds; *"])


def test_a_name_that_looks_like_a_file_of_another_check_gets_a_hash(keeping: KeepingTests) -> None:
    keeping.record("""
    def test_it(gold):
        gold.check(1)
        gold.check(np.arange(101), name="gold.json")
    """)
    keeping.run().assert_outcomes(passed=1)
    assert [name for name in keeping.kept() if name.endswith(".gold.json")] == ["test_it.gold.json"]


def test_line_ends_of_windows_are_no_damage(keeping: KeepingTests) -> None:
    keeping.record('def test_it(gold):\n    gold.check({"y": 0.5, "text": "a\\r\\nb"})\n')
    path = keeping.folder / "test_it.gold.json"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    keeping.run().assert_outcomes(passed=1)


def edit(path: Path) -> None:
    path.write_text(path.read_text().replace("0.5", "0.6"))


def merge(path: Path) -> None:
    path.write_text(path.read_text().replace('  "test"', '\n<<<<<<< HEAD\n  "test"'))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-40])


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (edit, "it was changed by hand or damaged: its digest does not fit its content"),
        (merge, "it holds conflict markers of a merge"),
        (cut, "it is not gold of a test (*)"),
    ],
)
def test_a_file_that_was_edited_is_an_error_until_it_is_updated(
    keeping: KeepingTests, damage: object, words: str
) -> None:
    keeping.record("def test_it(gold):\n    gold.check(0.5)\n")
    assert callable(damage)
    damage(keeping.folder / "test_it.gold.json")
    broken = keeping.run()
    broken.assert_outcomes(errors=1)
    broken.stdout.fnmatch_lines([f"E *test_it.gold.json is not usable: {words}; restore it from version control, *"])
    keeping.run("--gold-update").stdout.fnmatch_lines(["*what was there could not be read"])
    keeping.run().assert_outcomes(passed=1)


@pytest.mark.parametrize("place", ["test_it.gold", "test_it.gold/test_it.gold.json", "test_it.gold/test_it"])
@pytest.mark.parametrize("value", ["0.5", "np.arange(101)"])
def test_gold_is_neither_read_nor_written_through_a_link(keeping: KeepingTests, place: str, value: str) -> None:
    elsewhere = keeping.root / "elsewhere"
    elsewhere.mkdir()
    link = keeping.root / place
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(elsewhere, target_is_directory=True)
    keeping.write(f"def test_it(gold):\n    gold.check({value})\n")
    for arguments in ([], ["--gold-update"]):
        result = keeping.run(*arguments)
        result.assert_outcomes(errors=1)
        result.stdout.fnmatch_lines(["E *is a symbolic link*"])
    assert not [*elsewhere.iterdir()]
    assert link.is_symlink()


@pytest.mark.parametrize("value", ["0.5", "np.arange(101)"])
def test_what_goldsmith_has_not_made_is_not_replaced(keeping: KeepingTests, value: str) -> None:
    keeping.folder.mkdir()
    (keeping.folder / "test_it.gold.json").write_text('{"mine": 1}')
    keeping.write(f"def test_it(gold):\n    gold.check({value})\n")
    result = keeping.run("--gold-update")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["E *test_it.gold.json is not gold that a test has kept, *; move it away, then run *"])
    assert (keeping.folder / "test_it.gold.json").read_text() == '{"mine": 1}'


def test_the_obtained_values_of_a_failed_check_are_kept_until_it_passes(
    keeping: KeepingTests, pytester: pytest.Pytester
) -> None:
    (keeping.root / "sub").mkdir()
    keeping.write("def test_it(gold):\n    gold.check(FACTOR)\n    gold.check(np.full(200, FACTOR), name='large')\n")
    (keeping.root / "test_it.py").rename(keeping.root / "sub/test_it.py")
    lean = ("-p", "no:hypothesispytest", "-p", "no:datadir")
    pytester.runpytest_inprocess(*lean, "--gold-update").assert_outcomes(passed=1)
    around = keeping.root / ".pytest_cache/d/gold-obtained"
    tests = keeping.root / "sub/test_it.py"
    tests.write_text(tests.read_text().replace("FACTOR = 1.0", "FACTOR = 1.5"))
    failed = pytester.runpytest_inprocess(*lean, "--gold-diff")
    failed.assert_outcomes(failed=1)
    shown = ".pytest_cache/d/gold-obtained/sub/test_it.gold"
    failed.stdout.fnmatch_lines([f"*obtained in {shown}/test_it.gold.json", f"*obtained in {shown}/test_it.large"])
    assert goldsmith.load(keeping.root / shown / "test_it")["test_it"].output == 1.5
    assert goldsmith.load(keeping.root / shown / "test_it.large")["test_it, large"].output[7] == 1.5
    tests.write_text(tests.read_text().replace("FACTOR = 1.5", "FACTOR = 1.0"))
    pytester.runpytest_inprocess(*lean).assert_outcomes(passed=1)
    assert not [*around.rglob("*")]
    tests.write_text(tests.read_text().replace("FACTOR = 1.0", "FACTOR = 1.5"))
    pytester.runpytest_inprocess(*lean, "--gold-diff").assert_outcomes(failed=1)
    assert [*around.rglob("*.json")]
    pytester.runpytest_inprocess(*lean, "--gold-update").assert_outcomes(passed=1)
    assert not [*around.rglob("*.json")]
