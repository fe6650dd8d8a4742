"""Gold that is missing, stale or damaged under pytest: always an error, and made or overwritten only when told to."""

from __future__ import annotations

import shutil

import pytest

from support.course import SOLUTION_FILE
from support.pytest_course import EACH_CASE, NEEDS_GOLD, RIGHT, STUB, PluggedCourse, arrays


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ("missing", "there is no gold for hw1; make it with `goldsmith generate hw1`"),
        ("stale", f"the gold of hw1 is stale: {SOLUTION_FILE} changed since the gold was made"),
        ("damaged", "its digest does not fit its content"),
    ],
)
def test_gold_that_cannot_be_used_is_an_error(plugged: PluggedCourse, how: str, sentence: str) -> None:
    manifest = plugged.gold() / "manifest.json"
    if how == "missing":
        shutil.rmtree(plugged.gold())
    elif how == "stale":
        plugged.write({SOLUTION_FILE: RIGHT + "# mended\n"})
    else:
        manifest.write_text(manifest.read_text().replace('"seed": 42', '"seed": 43', 1))
    result = plugged.pytest(NEEDS_GOLD)
    result.assert_outcomes(errors=3)
    assert result.ret == 1
    assert result.stdout.str().count(sentence) >= 3
    if how == "stale":
        plugged.write({STUB: RIGHT})
        plugged.pytest(NEEDS_GOLD, "--gold-allow-stale").assert_outcomes(passed=4, xpassed=1)


def test_recording_makes_gold_that_is_missing_and_leaves_fresh_gold_alone(plugged: PluggedCourse) -> None:
    before = plugged.gold_bytes()
    shutil.rmtree(plugged.gold())
    plugged.write({STUB: RIGHT})
    plugged.pytest(EACH_CASE, "--gold-record", "--collect-only").stdout.fnmatch_lines("*test_case?no-gold?*")
    assert not plugged.gold().exists()
    result = plugged.pytest(NEEDS_GOLD, "-n", "2", "--gold-record")
    result.assert_outcomes(passed=4, xpassed=1)
    result.stdout.fnmatch_lines(["*gold recorded*", "hw1: made, in tests/internal/fixtures/hw1"])
    made = plugged.gold_bytes()
    assert arrays(made) == arrays(before)
    result = plugged.pytest(EACH_CASE, "--gold-record")
    result.stdout.fnmatch_lines("hw1: left alone, it is fresh")
    assert plugged.gold_bytes() == made


def test_recording_never_overwrites_unless_told_to(plugged: PluggedCourse) -> None:
    before = plugged.gold_bytes()
    plugged.write({SOLUTION_FILE: RIGHT.replace("2.0", "3.0"), STUB: RIGHT.replace("2.0", "3.0")})
    result = plugged.pytest(NEEDS_GOLD, "--gold-record")
    result.assert_outcomes(errors=3)
    assert "would change 4 of its tensors: look with `goldsmith diff hw1`" in result.stdout.str()
    assert plugged.gold_bytes() == before
    result = plugged.pytest(NEEDS_GOLD, "--gold-record=overwrite")
    result.assert_outcomes(passed=4, xpassed=1)
    result.stdout.fnmatch_lines("hw1: regenerated, 4 tensors changed")
    after = plugged.gold_bytes()
    plugged.write({SOLUTION_FILE: RIGHT.replace("2.0", "3.0") + "# mended\n"})
    result = plugged.pytest(EACH_CASE, "--gold-record")
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines("hw1: regenerated, no tensor changed")
    assert arrays(plugged.gold_bytes()) == arrays(after)


def test_recording_that_fails_is_an_error(plugged: PluggedCourse) -> None:
    shutil.rmtree(plugged.gold())
    plugged.write({SOLUTION_FILE: "def scale(x):\n    raise RuntimeError('no')\n"})
    result = plugged.pytest(NEEDS_GOLD, "--gold-record", "tests")
    result.assert_outcomes(errors=3)
    assert "--gold-record made no gold for hw1: " in result.stdout.str()
