"""`gold.check(…, tolerances=…, ignore=…)`: keys with limits of their own, and keys of which only the type counts."""

from __future__ import annotations

import pytest

from support.pytest_values import KeepingTests

LIMITS = """
    def values():
        return {"u": FACTOR * np.ones(3), "deep": {"u": [FACTOR, 2.0], "v": 7}, "w": 1.0, "text": "a"}

    def test_values(gold):
        gold.check(values(), tolerances={"u": {"rtol": 0.1}, "deep.**": {"atol": 0.1}})

    def test_function(gold):
        gold.check(lambda x: {"u": FACTOR * x, "w": x}, np.ones(3), tolerances={"u": {"rtol": 0.1}})

    def test_tensors(gold):
        gold.check(lambda x: {"u": FACTOR * x, "w": x + 1}, torch.ones(3), tolerances={"*": {"atol": 0.1}})
"""


def test_a_key_has_a_tolerance_of_its_own(keeping: KeepingTests) -> None:
    keeping.record(LIMITS)
    keeping.change("FACTOR = 1.0", "FACTOR = 1.05")
    keeping.run().assert_outcomes(passed=3)
    keeping.change('"w": 1.0', '"w": 1.00001')
    keeping.change('"w": x}', '"w": x * 1.00001}')
    keeping.change('"w": x + 1}', '"w": x + 1.05}')
    result = keeping.run()
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(["E *w: is 1.00001, gold is 1.0*"])
    assert "u: " not in "".join(line for line in result.outlines if line.startswith("E "))
    keeping.change("FACTOR = 1.05", "FACTOR = 1.15")
    result = keeping.run()
    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines(
        ["E *differs: 3 of 6 leaves", "E *u: 3 of 3 elements out of tolerance, by up to 1.5 x*"]
    )


def test_of_two_patterns_for_a_key_the_last_one_counts(keeping: KeepingTests) -> None:
    tests = """
    def test_it(gold):
        gold.check({"u": FACTOR, "v": FACTOR}, tolerances={"*": {"rtol": 0.1}, "v": {"rtol": 0.001}})
    """
    keeping.record(tests)
    keeping.change("FACTOR = 1.0", "FACTOR = 1.05")
    result = keeping.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E *differs: 1 of 2 leaves", "E *v: is 1.05, *"])


REFUSED = {
    'tolerances={"x": {"rtol": 1}}': "tolerances has 'x', which matches no number of this check; there are u, v.l.0.",
    'tolerances={"text": {"rtol": 1}}': "tolerances has 'text', which matches no number of this check; *",
    'tolerances={"u": {"rtl": 1}}': "tolerances[[]'u'] is {'rtl': 1}; give numbers by pattern, *",
    'tolerances={"u": {}}': "tolerances[[]'u'] is {}; give numbers by pattern, *",
    'tolerances={"u": 0.1}': "tolerances[[]'u'] is 0.1; give numbers by pattern, *",
    "tolerances=[1]": "tolerances is [[]1]; give numbers by pattern, *",
    'tolerances={1: {"rtol": 1}}': "tolerances has 1; give patterns *",
    'tolerances={"u": {"rtol": -1}}': "tolerances[[]'u'], rtol, is -1; give a number from 0 up.",
    'tolerances={"u": {"rtol": float("nan")}}': "tolerances[[]'u'], rtol, is nan; give a number from 0 up.",
    'tolerances={"u": {"atol": float("inf")}}': "tolerances[[]'u'], atol, is inf; give a number from 0 up.",
    'tolerances={"u": {"atol": "1"}}': "tolerances[[]'u'], atol, is 1; give a number from 0 up.",
    'tolerances={"u": {"atol": True}}': "tolerances[[]'u'], atol, is True; give a number from 0 up.",
    'ignore=["tim"]': "ignore has 'tim', which matches no value of this check; there are text, u, v.l.0.",
    "ignore=3": "ignore has 3; give patterns for paths as text, *",
    'ignore=[""]': "ignore has [[]'']; give patterns *",
    'ignore=["**"]': "gold.check was given a dict, in which there is nothing to compare; *",
    'ignore=["u", "text", "v"]': "gold.check was given a dict, in which there is nothing to compare; *",
}


def test_patterns_and_limits_that_mean_nothing_are_refused(keeping: KeepingTests) -> None:
    value = '{"u": 1.0, "text": "a", "v": {"l": [2]}}'
    body = "".join(
        f"def test_{number}(gold):\n    gold.check({value}, {given})\n" for number, given in enumerate(REFUSED)
    )
    result = keeping.run(tests=body)
    result.assert_outcomes(errors=len(REFUSED))
    result.stdout.fnmatch_lines_random([f"E *{words}" for words in REFUSED.values()])
    assert keeping.kept() == []
    # and once there is gold, too
    keeping.record(f"def test_it(gold):\n    gold.check({value})\n")
    for given in ('tolerances={"x": {"rtol": 1}}', 'ignore=["tim"]'):
        keeping.write(f"def test_it(gold):\n    gold.check({value}, {given})\n")
        for arguments in ([], ["--gold-update"]):
            keeping.run(*arguments).assert_outcomes(errors=1)


IGNORED = """
    import itertools
    COUNT = itertools.count(STEP := int(FACTOR))

    class Session:
        pass

    def values():
        return {
            "time": next(COUNT) / 7, "y": 1.0, "steps": [{"path": f"/tmp/{next(COUNT)}", "loss": 0.5}],
            "session": Session(), "meta": {"id": next(COUNT), "host": "here"},
        }

    def test_values(gold):
        gold.check(values(), ignore=["time", "**.path", "session", "meta"])

    def test_function(gold):
        gold.check(values, ignore=["time", "**.path", "session", "meta"])
"""


def test_of_an_ignored_key_only_the_type_is_kept_and_compared(keeping: KeepingTests) -> None:
    keeping.record(IGNORED)
    for name in keeping.kept():
        text = (keeping.folder / name).read_text()
        assert '"time": {"@ignored": "float"}' in text
        assert '"session": {"@ignored": "Session"}' in text
        assert '"meta": {"@ignored": "dict"}' in text
        assert "/tmp/" not in text
        assert "here" not in text
    keeping.change("FACTOR = 1.0", "FACTOR = 5.0")
    keeping.run().assert_outcomes(passed=2)
    for old, new, words in (
        ('"time": next(COUNT) / 7,', '"time": None,', "time: is ignored NoneType, gold is ignored float"),
        ('"time": None,', "", "time: is missing; gold has ignored float"),
    ):
        keeping.change(old, new)
        result = keeping.run()
        result.assert_outcomes(failed=2)
        result.stdout.fnmatch_lines([f"E *{words}"])
    keeping.change(', "meta"])', "])")
    result = keeping.run()
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["E *note: it was ignored when it was recorded, and is compared now: record it again"])


def test_a_key_may_be_called_like_a_value_without_a_name(keeping: KeepingTests) -> None:
    keeping.record("""
    def test_it(gold):
        gold.check({"value": FACTOR, "b": 2}, ignore=["value"])
        gold.check(np.full(3, FACTOR), name="alone", tolerances={"value": {"rtol": 0.5}})
    """)
    keeping.change("FACTOR = 1.0", "FACTOR = 1.25")
    keeping.run().assert_outcomes(passed=1)


def test_what_is_ignored_from_now_on_needs_no_update_and_is_forgotten_by_the_next(keeping: KeepingTests) -> None:
    keeping.record('def test_it(gold):\n    gold.check({"secret": "abc" * int(FACTOR), "y": 1})\n')
    keeping.change('"y": 1}', '"y": 1}, ignore=["secret"]')
    keeping.change("FACTOR = 1.0", "FACTOR = 2.0")
    keeping.run().assert_outcomes(passed=1)
    refused = keeping.run("--gold-update")
    assert refused.ret == pytest.ExitCode.TESTS_FAILED
    refused.stdout.fnmatch_lines(["    what is ignored now is not kept any more", "    secret: str → ignored str"])
    assert keeping.run("--gold-update", "--gold-reason", "a secret").ret == 0
    assert "abc" not in (keeping.folder / "test_it.gold.json").read_text()
    keeping.run().assert_outcomes(passed=1)
