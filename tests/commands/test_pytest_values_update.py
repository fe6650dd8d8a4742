"""`pytest --gold-update`: what it says, what it refuses without a reason, and that a refusal leaves gold as it was."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from support.pytest_course import LEAN
from support.pytest_values import KeepingTests

MANY = """
    LIMIT = 99

    @pytest.mark.parametrize("x", range(14))
    def test_many(gold, x):
        gold.check({"y": FACTOR * x + 1 if x < LIMIT else 0.5, "big": np.full(120 if x == 3 else 1, FACTOR)})
"""
REASON = "--gold-reason=a factor was wrong"


def section(result: pytest.RunResult) -> list[str]:
    lines = result.outlines
    start = next(place for place, line in enumerate(lines) if "gold kept by tests" in line)
    end = next((place for place, line in enumerate(lines) if place > start and line.startswith("====")), len(lines))
    return lines[start + 1 : end]


def test_each_key_is_listed_with_what_it_was_what_it_is_and_how_far_that_is(keeping: KeepingTests) -> None:
    keeping.record("""
    def test_it(gold):
        gold.check({"u": FACTOR, "v": FACTOR * np.arange(4.0), "name": "abc", "n": 1, "same": 5.0})
    """)
    keeping.change("FACTOR = 1.0", "FACTOR = 1.5")
    keeping.change('"abc"', '"abd"')
    keeping.change('"n": 1', '"n": 1.0, "new": np.ones(2)')
    result = keeping.run("--gold-update")
    result.assert_outcomes(passed=1)
    assert section(result) == [
        "updated   test_it.gold/test_it.gold.json",
        "    u: 1 → 1.5, off by 0.5 (0.5 of its size)",
        "    v: 3 of 4 elements, at [3] 3 → 4.5, off by 1.5 (0.5 of its size)",
        "    name: at character 3: 'c' → 'd'",
        "    n: int (Python) → float (Python)",
        "    new: new, float64 [2]",
    ]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"u": 1.0, ', "", "u is not compared any more"),
        ("np.ones(4)", "np.ones(3)", "v has 3 of 4 elements left"),
        ("np.ones(4)", "None", "v is not compared any more"),
        ("name=None", "name=None, ignore=['u']", "u is not compared any more"),
    ],
)
def test_values_do_not_disappear_without_a_reason(keeping: KeepingTests, old: str, new: str, words: str) -> None:
    keeping.record('def test_it(gold):\n    gold.check({"u": 1.0, "v": np.ones(4)}, name=None)\n')
    before = keeping.bytes_kept()
    keeping.change(old, new)
    refused = keeping.run("--gold-update")
    assert refused.ret == pytest.ExitCode.TESTS_FAILED
    shown = "test_it.gold/test_it.gold.json"
    assert section(refused)[0] == f"not updated: {shown}"
    assert f"    {shown}: {words}" in section(refused)
    assert "--gold-reason TEXT" in section(refused)[-1]
    assert keeping.bytes_kept() == before
    keeping.run("--gold-update", REASON).assert_outcomes(passed=1)
    assert json.loads((keeping.folder / "test_it.gold.json").read_text())["reason"] == "a factor was wrong"
    keeping.run().assert_outcomes(passed=1)


def test_most_of_many_checks_do_not_change_without_a_reason(keeping: KeepingTests) -> None:
    keeping.record(MANY)
    before = keeping.bytes_kept()
    assert "test_many[3]/manifest.json" in before
    keeping.change("FACTOR = 1.0", "FACTOR = 2.0")
    for arguments in ([], ["-n", "2"]):
        refused = keeping.run("--gold-update", *arguments)
        assert refused.ret == pytest.ExitCode.TESTS_FAILED
        assert "    14 of 14 checks change at once" in section(refused)
        assert keeping.bytes_kept() == before
    accepted = keeping.run("--gold-update", REASON)
    assert accepted.ret == 0
    assert sum(line.startswith("updated   ") for line in section(accepted)) == 14
    after = keeping.bytes_kept()
    assert all(after[name] != content for name, content in before.items())
    assert all(b"a factor was wrong" in after[name] for name in after if name.endswith(".json"))
    keeping.run().assert_outcomes(passed=14)


def test_a_few_of_many_change_without_a_reason_and_lose_an_old_one(keeping: KeepingTests) -> None:
    keeping.record(MANY)
    keeping.change("LIMIT = 99", "LIMIT = 12")
    keeping.run("--gold-update", REASON)
    assert b"a factor was wrong" in keeping.bytes_kept()["test_many[13].gold.json"]
    keeping.change("LIMIT = 12", "LIMIT = 99")
    result = keeping.run("--gold-update")
    assert result.ret == 0
    assert section(result)[-1] == "unchanged 12 checks"
    assert not [name for name, content in keeping.bytes_kept().items() if b"a factor was wrong" in content]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--gold-reason", "why"], "ERROR: --gold-reason says why --gold-update changes gold: give both"),
        (["--gold-update", "--gold-reason", " "], "ERROR: --gold-reason is empty: *"),
    ],
)
def test_a_reason_is_for_an_update_and_says_something(keeping: KeepingTests, arguments: list[str], words: str) -> None:
    result = keeping.run(*arguments, tests="def test_it(gold):\n    gold.check(1)\n")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([words])
    assert not keeping.folder.exists()


def test_an_interrupted_update_leaves_gold_as_it_was(keeping: KeepingTests) -> None:
    tests = """
    def test_one(gold):
        gold.check(FACTOR)

    def test_two(gold):
        gold.check(np.full(200, FACTOR))
        if FACTOR == 2.0:
            pytest.exit("enough")
    """
    keeping.record(tests)
    before = keeping.bytes_kept()
    keeping.change("FACTOR = 1.0", "FACTOR = 2.0")
    result = keeping.run("--gold-update")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert "nothing was written: the run did not come to its end" in result.outlines
    assert keeping.bytes_kept() == before


def test_a_test_that_fails_later_has_its_values_updated_all_the_same(keeping: KeepingTests) -> None:
    keeping.record("def test_it(gold):\n    gold.check(FACTOR)\n    assert FACTOR < 2\n")
    keeping.change("FACTOR = 1.0", "FACTOR = 2.0")
    result = keeping.run("--gold-update")
    result.assert_outcomes(failed=1)
    assert "updated   test_it.gold/test_it.gold.json" in result.outlines


def test_what_cannot_be_written_in_the_end_fails_the_run_and_leaves_the_rest_to_be_written(
    keeping: KeepingTests,
) -> None:
    keeping.record("def test_one(gold):\n    gold.check(FACTOR)\n\ndef test_two(gold):\n    gold.check(FACTOR)\n")
    keeping.change("FACTOR = 1.0", "FACTOR = 2.0")
    foreign = "pathlib.Path('test_it.gold/test_one.gold.json').write_text('mine')"
    (keeping.root / "conftest.py").write_text(
        f"import pathlib, pytest\n@pytest.hookimpl(tryfirst=True)\ndef pytest_sessionfinish():\n    {foreign}\n"
    )
    result = keeping.run("--gold-update")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    shown = section(result)
    assert shown[0] == "updated   test_it.gold/test_two.gold.json"
    assert shown[-1].startswith("failed    test_it.gold/test_one.gold.json: ")
    assert "is not gold that a test has kept" in shown[-1]
    assert (keeping.folder / "test_one.gold.json").read_text() == "mine"


def test_a_check_that_changes_its_form_leaves_nothing_of_the_old_one(keeping: KeepingTests) -> None:
    keeping.record("def test_it(gold):\n    gold.check(np.ones(FACTOR == 1 and 3 or 300))\n")
    assert keeping.kept() == ["test_it.gold.json"]
    keeping.change("FACTOR = 1.0", "FACTOR = 2.0")
    keeping.run("--gold-update").assert_outcomes(passed=1)
    assert keeping.kept() == ["test_it"]
    keeping.run().assert_outcomes(passed=1)
    keeping.change("FACTOR = 2.0", "FACTOR = 1.0")
    keeping.run("--gold-update", REASON).assert_outcomes(passed=1)
    assert keeping.kept() == ["test_it.gold.json"]
    keeping.run().assert_outcomes(passed=1)


BEFORE = "goldsmith.pytest_support.updates.publish_kept = die"
AFTER_FILE = "goldsmith.pytest_support.kept_gold.remove_replaced_folder = die"
AFTER_FOLDER = "publish = Staging.publish; Staging.publish = lambda staging: (publish(staging), die())"
KILLING = """
import os, signal, pytest
@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish():
    import goldsmith.pytest_support.updates
    from goldsmith.gold.publish import Staging
    die = lambda *given: os.kill(os.getpid(), signal.SIGKILL)
    {}
"""


@pytest.mark.parametrize(
    ("old", "new", "moment"),
    [
        ("1.0", "2.0", AFTER_FOLDER),
        ("2.0", "1.0", AFTER_FILE),
        pytest.param("1.0", "2.0", BEFORE, marks=pytest.mark.long),
        pytest.param("2.0", "1.0", BEFORE, marks=pytest.mark.long),
    ],
)
def test_an_update_that_is_killed_while_it_changes_the_form_leaves_the_old_value_or_the_new_one(
    keeping: KeepingTests, old: str, new: str, moment: str
) -> None:
    keeping.write("def test_it(gold):\n    gold.check(np.full(3 if FACTOR == 1 else 300, FACTOR))\n")
    keeping.change("FACTOR = 1.0", f"FACTOR = {old}")
    keeping.run("--gold-update")
    before = keeping.kept()
    keeping.change(f"FACTOR = {old}", f"FACTOR = {new}")
    conftest = keeping.root / "conftest.py"
    conftest.write_text(KILLING.format(moment))
    environment = {name: value for name, value in os.environ.items() if name not in ("CI", "BUILD_NUMBER")}
    command = [sys.executable, "-m", "pytest", "-q", *LEAN, "--gold-update", REASON]
    ran = subprocess.run(command, cwd=keeping.root, env=environment, check=False, capture_output=True)
    assert ran.returncode == -signal.SIGKILL, ran.stdout
    conftest.unlink()
    if moment == BEFORE:
        assert keeping.kept() == before
        keeping.run().assert_outcomes(failed=1)
        keeping.run("--gold-update", REASON).assert_outcomes(passed=1)
    else:
        assert {"test_it", "test_it.gold.json"} <= set(keeping.kept())
        keeping.run().assert_outcomes(passed=1)
        keeping.run("--gold-update").assert_outcomes(passed=1)
    assert keeping.kept() == ["test_it" if new == "2.0" else "test_it.gold.json"]
    keeping.run().assert_outcomes(passed=1)


def test_two_forms_that_a_merge_has_brought_together_are_an_error(keeping: KeepingTests) -> None:
    keeping.record("def test_it(gold):\n    gold.check(np.ones(3))\n")
    small = (keeping.folder / "test_it.gold.json").read_bytes()
    keeping.change("np.ones(3)", "np.ones(300)")
    keeping.run("--gold-update").assert_outcomes(passed=1)
    keeping.change("np.ones(300)", "np.ones(300) * 2")
    keeping.run("--gold-update").assert_outcomes(passed=1)
    (keeping.folder / "test_it.gold.json").write_bytes(small)
    result = keeping.run()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["E *test_it.gold.json is not usable: test_it/ beside it keeps the same check, *"])
    keeping.run("--gold-update").assert_outcomes(passed=1)
    assert keeping.kept() == ["test_it"]
