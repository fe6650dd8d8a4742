"""`gold.check` with what cannot be kept, must not be written, or cannot be read: never a pass, always a next step."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from goldsmith.foundation.ownership import make_marked
from support.foreign_files import bytes_in
from support.pytest_course import failures
from support.pytest_values import KeepingTests

REFUSED = {
    "gold.check({})": "gold.check was given an empty dict, in which there is nothing to compare; *",
    "gold.check({'a': [], 'b': [np.zeros(0)]})": "gold.check was given a dict, in which there is nothing to compare; *",
    "gold.check(None)": "gold.check was given None, in which there is nothing to compare; *",
    "gold.check({'a': {'b': torch.nn.Linear(1, 1)}})": "a.b is a Linear, not an array or plain value, so it cannot *",
    "gold.check([1, {2, 3}])": "1 is a set, not an array or plain value, so it cannot be kept; *",
    "gold.check(np.array([{1}, 2]))": "value[[]0] is of type set, which has no plain form, so *",
    "gold.check({(1, 2): 3})": "value has the key (1, 2), so it cannot be kept; *",
    "gold.check({'a': {'b': 1}, 'a.b': 2})": "there are two values at a.b, so it cannot be kept; change it: rename *",
    "gold.check({'a': {'b': np.ones(101)}, 'a/b': np.zeros(1)})": "the value is another once it is read back, *",
    "gold.check({1: 2, '1': 3})": "there are two values at 1, so it cannot be kept; *",
    "gold.check(np.ones(2, np.longdouble))": "value is an array of float*, which cannot be compared, so *: convert *",
    "gold.check(torch.ones(2).to_sparse())": "value is a sparse or quantised tensor, so it cannot be kept; *",
    "gold.check(endless())": "the value is nested without end, so it cannot be kept; *",
    "gold.check({'y': np.array([1, np.nan, np.nan])})": "y has NaN at [[]1] (2 of 3 elements), *equal_nan=True).",
    "gold.check(float('nan'))": "value has NaN, and NaN never agrees with anything; *",
    "gold.check(1), gold.check(2)": "* calls gold.check a second time, *",
    "gold.check(1, name='a'), gold.check(2, name='a')": "* calls gold.check with the name 'a' a second time, *",
    "gold.check(1, name=' ')": "the name of a check is ' '; give a text that is not empty.",
    "gold.check(1, rtol=-1)": "rtol is -1; give a number from 0 up.",
    "gold.check(1, 2)": "gold.check was given inputs for int, which cannot be called; *",
    "gold.check(dict, 2)": "gold.check was given inputs for the class dict, which cannot be called; *",
    "gold.check(dict)": "value is a type, not an array or plain value, so it cannot be kept; *",
    "gold.check(torch.nn.Linear(1, 1))": "gold.check was given the model Linear without inputs; *",
    "gold.check(len, [[1], [2]])": "inputs is a list, which stands for several sets of inputs; *",
    "gold.check(lambda x: torch.nn.Linear(1, 1), 1)": "value is a Linear, not an array or plain value, so *",
    "gold.check(lambda x: x.fill(0), np.ones(1))": "*lambda* returns nothing and writes its result over its input 0; *",
    "gold.check(lambda: next(COUNT))": "*lambda* returned something else when *(value: is 1, gold is 0)*",
    "gold.check(lambda: np.ones(next(COUNT)))": "*lambda* returned something else *has shape*",
}
BODIES = "\n".join(f"def test_{number}(gold):\n    {line}\n" for number, line in enumerate(REFUSED))


def test_what_cannot_be_kept_is_refused_by_name(keeping: KeepingTests) -> None:
    given = "import itertools\nCOUNT = itertools.count()\ndef endless():\n    x = []\n    x.append(x)\n    return x\n"
    result = keeping.run(tests=given + BODIES)
    result.assert_outcomes(errors=len(REFUSED))
    said = failures(result)
    result.stdout.fnmatch_lines_random([f"E *{words}" for words in REFUSED.values()])
    assert len([line for line in said if line.startswith("goldsmith.errors.")]) == len(REFUSED)
    # what was right up to its second check has been written, and nothing else
    assert {name.partition(".")[0] for name in keeping.kept()} == {"test_15", "test_16"}
    keeping.run("--gold-update").assert_outcomes(errors=len(REFUSED))


def test_inputs_that_a_function_writes_over_are_the_same_in_every_run(keeping: KeepingTests) -> None:
    tests = """
    X = torch.arange(4.0)

    def double(x):
        return x.mul_(2)

    def test_it(gold):
        gold.check(double, X)
        assert torch.equal(X, torch.arange(4.0))
    """
    keeping.record(tests)
    keeping.run().assert_outcomes(passed=1)


def test_what_was_written_in_this_run_never_passes_in_it(keeping: KeepingTests) -> None:
    """As where a plugin runs a test again that has failed."""
    (keeping.root / "conftest.py").write_text(
        "def pytest_runtest_protocol(item, nextitem):\n"
        "    from _pytest.runner import runtestprotocol\n"
        "    for _ in range(2):\n"
        "        for report in runtestprotocol(item, nextitem=nextitem, log=False):\n"
        "            item.ihook.pytest_runtest_logreport(report=report)\n"
        "    return True\n"
    )
    tests = "def test_it(gold):\n    gold.check(1)\n"
    keeping.run(tests=tests).assert_outcomes(failed=2)
    keeping.run().assert_outcomes(passed=2)


def test_checks_outside_of_the_test_itself_do_not_get_lost(keeping: KeepingTests) -> None:
    tests = """
    @pytest.fixture
    def early(gold):
        gold.check(1, name="early")

    @pytest.fixture
    def late(gold):
        yield
        gold.check(1, name="late")

    def test_early(early):
        pass

    def test_late(late):
        pass

    def test_skipped(gold):
        gold.check(1)
        pytest.skip()
    """
    keeping.run(tests=tests).assert_outcomes(failed=1, passed=1, skipped=1, errors=2)
    keeping.run().assert_outcomes(passed=2, skipped=1)


def test_on_ci_nothing_is_written(keeping: KeepingTests, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    result = keeping.run(tests="def test_it(gold):\n    gold.check(1)\n")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E *nothing is kept for it yet, and nothing is recorded on CI; run *"])
    refused = keeping.run("--gold-update")
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    refused.stderr.fnmatch_lines(["ERROR: --gold-update keeps values that nobody has looked at, and this is CI: *"])
    assert not keeping.folder.exists()


def test_what_git_would_not_commit_is_told(keeping: KeepingTests) -> None:
    subprocess.run(["git", "init", "-q"], cwd=keeping.root, check=True)
    (keeping.root / ".gitignore").write_text("*.npz\n")
    tests = "def test_it(gold):\n    gold.check(np.ones(101))\n"
    told = "git ignores test_it.gold/test_it/values.npz, so it would not be committed: add !**/*.gold/** to .gitignore"
    assert f"    note: {told}" in keeping.run(tests=tests).outlines
    shutil.rmtree(keeping.folder)
    assert f"    {told}" in keeping.run("--gold-update").outlines
    shutil.rmtree(keeping.folder)
    (keeping.root / ".gitignore").write_text("*.npz\n!**/*.gold/**\n")
    assert told not in keeping.run("--gold-update").stdout.str()


def damage_hash(folder: Path) -> None:
    (folder / "values.npz").write_bytes(b"PK")


def damage_manifest(folder: Path) -> None:
    path = folder / "manifest.json"
    path.write_text(path.read_text().replace('"seed": 42', '"seed": 43', 1))


def leave_conflict(folder: Path) -> None:
    path = folder / "manifest.json"
    path.write_text(path.read_text().replace('  "seed"', '\n<<<<<<< HEAD\n  "seed"', 1))


def remove_values(folder: Path) -> None:
    (folder / "values.npz").unlink()


def empty(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (damage_hash, "*values.npz is not usable: its bytes are not those its manifest names; restore it *"),
        (damage_manifest, "*manifest.json is not usable: it was changed by hand or damaged*"),
        (
            leave_conflict,
            "*manifest.json is not usable: it holds conflict markers of a merge; *",
        ),
        (remove_values, "*values.npz is not usable: No such file or directory; *"),
        (empty, "*test_it is not usable: it has no manifest.json; *"),
    ],
)
def test_what_is_damaged_is_an_error_until_it_is_updated(keeping: KeepingTests, damage: object, words: str) -> None:
    keeping.record("def test_it(gold):\n    gold.check(np.ones(101))\n")
    assert callable(damage)
    damage(keeping.folder / "test_it")
    broken = keeping.run()
    broken.assert_outcomes(errors=1)
    broken.stdout.fnmatch_lines([f"E {words}"])
    keeping.run("--gold-update").stdout.fnmatch_lines(
        ["updated   test_it.gold/test_it", "*what was there could not be read"]
    )
    keeping.run().assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("value", "name", "form"),
    [("1", "test_it.gold.json", "goldsmith"), ("np.ones(101)", "test_it/manifest.json", "schema")],
)
def test_what_a_newer_goldsmith_wrote_is_never_replaced(
    keeping: KeepingTests, value: str, name: str, form: str
) -> None:
    keeping.record(f"def test_it(gold):\n    gold.check({value})\n")
    path = keeping.folder / name
    path.write_text(json.dumps(json.loads(path.read_text()) | {form: 99}))
    before = keeping.bytes_kept()
    for arguments in ([], ["--gold-update"]):
        result = keeping.run(*arguments)
        result.assert_outcomes(errors=1)
        result.stdout.fnmatch_lines(["E *a newer goldsmith wrote it (* 99, *upgrade goldsmith, then run again."])
    assert keeping.bytes_kept() == before


def test_what_another_test_kept_is_never_taken_for_its_own(keeping: KeepingTests) -> None:
    keeping.record("def test_it(gold):\n    gold.check(1)\n")
    (keeping.folder / "test_it.gold.json").rename(keeping.folder / "test_that.gold.json")
    for arguments in ([], ["--gold-update"]):
        result = keeping.run(*arguments, tests="def test_that(gold):\n    gold.check(1)\n")
        result.assert_outcomes(errors=1)
        result.stdout.fnmatch_lines(["E *test_that.gold.json holds what test_it has kept, not test_that; rename *"])


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="permissions of POSIX")
def test_a_folder_that_cannot_be_written_is_an_error(keeping: KeepingTests) -> None:
    keeping.folder.write_text("a file in its place")
    result = keeping.run("--gold-update", tests="def test_it(gold):\n    gold.check(1)\n")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["E *cannot be written (*); free some space or make it writable, then run again."])


@pytest.mark.parametrize("link", ["test_it.gold", "test_it.gold/test_it"])
@pytest.mark.parametrize("holds", ["notes", "nothing", "values", "no folder"])
def test_a_link_where_values_are_kept_is_followed_neither_to_write_nor_to_read(
    keeping: KeepingTests, tmp_path: Path, link: str, holds: str
) -> None:
    """As a pull request may bring it: what is behind the link is not the tests'."""
    keeping.record("def test_it(gold):\n    gold.check(np.arange(101))\n")
    elsewhere = tmp_path / "elsewhere"
    if holds == "values":
        shutil.copytree(keeping.root / link, elsewhere)
    elif holds != "no folder":
        elsewhere.mkdir()
    for folder in (elsewhere, elsewhere / "test_it") if holds == "notes" else ():
        folder.mkdir(exist_ok=True)
        (folder / "thesis.tex").write_text("of three years")
        (folder / "values.npz").write_text("measured")
    shutil.rmtree(keeping.root / link)
    (keeping.root / link).symlink_to(elsewhere)
    before = bytes_in(elsewhere)
    for arguments in ([], ["--gold-update"]):
        result = keeping.run(*arguments, tests="def test_it(gold):\n    gold.check(np.arange(102))\n")
        assert "passed" not in result.parseoutcomes()
        result.stdout.fnmatch_lines([f"E *{link} is a symbolic link, and what goldsmith keeps there is neither read *"])
        assert bytes_in(elsewhere) == before
    assert (keeping.root / link).is_symlink()


@pytest.mark.parametrize(
    "link",
    [".pytest_cache", ".pytest_cache/d", ".pytest_cache/d/gold-obtained", ".pytest_cache/d/gold-obtained/test_it.gold"],
)
def test_a_link_in_the_cache_is_not_followed_to_what_failed_checks_were_given(
    keeping: KeepingTests, tmp_path: Path, link: str
) -> None:
    tests = "def test_it(gold):\n    gold.check(np.arange(101))\n"
    keeping.record(tests)
    way = ".pytest_cache/d/gold-obtained/test_it.gold/test_it"
    elsewhere = tmp_path / "elsewhere"
    thesis = elsewhere / way.removeprefix(link).lstrip("/") / "thesis.tex"
    thesis.parent.mkdir(parents=True)
    thesis.write_text("of three years")
    shutil.rmtree(keeping.root / ".pytest_cache", ignore_errors=True)
    (keeping.root / link).parent.mkdir(parents=True, exist_ok=True)
    (keeping.root / link).symlink_to(elsewhere)
    for given in (tests, tests.replace("101", "102")):
        keeping.run("-p", "cacheprovider", tests=given)
        assert bytes_in(thesis.parent) == {"thesis.tex": b"of three years"}


def test_a_folder_without_a_manifest_is_not_replaced_and_other_files_next_to_values_stay(keeping: KeepingTests) -> None:
    tests = "def test_it(gold):\n    gold.check(np.arange(101))\n"
    (keeping.folder / "test_it").mkdir(parents=True)
    thesis = keeping.folder / "test_it/thesis.tex"
    thesis.write_text("of three years")
    for arguments in ([], ["--gold-update"]):
        keeping.run(*arguments, tests=tests).assert_outcomes(errors=1)
    assert bytes_in(keeping.folder) == {"test_it": "folder", "test_it/thesis.tex": b"of three years"}
    thesis.unlink()
    keeping.record(tests)
    thesis.write_text("of three years")
    (keeping.folder / "test_it/figures").mkdir()
    (keeping.folder / "test_it/link").symlink_to("/etc")
    keeping.record(tests.replace("101", "102"))
    assert thesis.read_text() == "of three years"
    assert (keeping.folder / "test_it/figures").is_dir()
    assert (keeping.folder / "test_it/link").is_symlink()
    keeping.run().assert_outcomes(passed=1)


def test_a_folder_of_an_unfinished_run_that_somebody_else_made_leads_nowhere(
    keeping: KeepingTests, tmp_path: Path
) -> None:
    """Its mark and name are right; the gold that it claims to have put aside is a link."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/thesis.tex").write_text("of three years")
    name = f".test_it.{'a' * 26}.staging"
    keeping.folder.mkdir()
    make_marked(keeping.folder / name, f"{name}, gold that is not published yet")
    (keeping.folder / name / "old").symlink_to(tmp_path / "elsewhere")
    (keeping.folder / name / "new").symlink_to(tmp_path / "elsewhere")
    keeping.record("def test_it(gold):\n    gold.check(np.arange(101))\n")
    assert keeping.kept() == ["test_it"]
    assert not (keeping.folder / "test_it").is_symlink()
    assert bytes_in(tmp_path / "elsewhere") == {"thesis.tex": b"of three years"}


def test_names_that_change_with_each_run_are_refused(keeping: KeepingTests) -> None:
    tests = '@pytest.mark.parametrize("x", [object()], ids=repr)\ndef test_it(gold, x):\n    gold.check(1)\n'
    result = keeping.run(tests=tests)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["E *holds an address in memory, *give its parameters ids, *"])


def test_a_marker_for_a_course_and_values_of_its_own_are_not_confused(keeping: KeepingTests) -> None:
    tests = '@pytest.mark.gold("hw1")\ndef test_it(gold):\n    pass\n\ndef test_other(gold):\n    gold("hw1")\n'
    keeping.run(tests=tests).assert_outcomes(errors=2)  # there is no course
    result = keeping.run(tests='@pytest.mark.gold()\ndef test_it(gold):\n    gold.check(1, name="x")\n')
    result.assert_outcomes(failed=1)
