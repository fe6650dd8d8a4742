"""`gold.check` in a repository without a course: values that tests keep next to themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

import goldsmith
from support.doc_pages import ROOT, act_out
from support.pytest_course import LEAN
from support.pytest_values import KeepingTests, recorded_once

NESTED = """
    @dataclasses.dataclass
    class Pair:
        first: object
        second: object

    class Foreign:
        def __array__(self, dtype=None, copy=None):
            return np.arange(3, dtype=np.float32)

    def values():
        return {
            "foreign": Foreign(),
            "y": FACTOR * np.linspace(0, 1, 6).reshape(2, 3),
            "half": torch.tensor([1.5, 2.5]).to(torch.bfloat16),
            "pair": Pair(3, [1.5, True, "text", None, 1 + 2j, b"bytes", 2**70]),
            "scalar": np.float32(2),
            "tuple": (torch.tensor(1), np.array([], dtype=np.int8)),
            7: {"infinite": float("inf"), "mask": torch.tensor([0.0, -torch.inf])},
        }

    def test_values(gold):
        gold.check(values())
"""


def test_what_is_missing_is_written_and_fails_once(keeping: KeepingTests) -> None:
    first = keeping.run(tests=NESTED)
    first.assert_outcomes(failed=1)
    first.stdout.fnmatch_lines(["test_it.py:27: test_values: nothing was kept for it yet, *"])
    before = keeping.bytes_kept()
    assert set(before) == {"test_values.gold.json"}
    keeping.run().assert_outcomes(passed=1)
    keeping.run("--gold-update").stdout.fnmatch_lines(["unchanged 1 check"])
    assert before == keeping.bytes_kept()
    assert goldsmith.load(keeping.folder / "test_values")["test_values"].output["scalar"] == 2


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("arange(3, dtype", "arange(1, 4, dtype", "foreign: 3 of 3 elements out of tolerance*"),
        ("FACTOR = 1.0", "FACTOR = 1.001", "y: * elements out of tolerance*"),
        ("FACTOR = 1.0", "FACTOR = np.array([1.0, np.nan, 1.0])", "y: NaN where gold has none*"),
        ("reshape(2, 3)", "reshape(3, 2)", "y: has shape ?3, 2?, gold has ?2, 3?"),
        ("1, 6).reshape(2, 3)", "1, 6).reshape(2, 3).astype(np.float32)", "y: is float32, gold is float64*"),
        ("np.float32(2)", "np.float64(2)", "scalar: is float64, gold is float32*"),
        ("torch.bfloat16", "torch.float16", "half: is float16, gold is bfloat16*"),
        ("dtype=np.int8", "dtype=np.int16", "tuple.1: is int16, gold is int8*"),
        ('"scalar": np.float32(2),', "", "scalar: is missing; gold has float32"),
        ('"scalar"', '"new": 1, "scalar"', "new: is not in gold; *"),
        ('"text"', '"test"', "pair.second.2: *"),
        ("2**70", "2**71", "pair.second.6: *"),
        ("1 + 2j", "1 - 2j", "pair.second.4: *"),
        ('float("inf")', "1.0", "7.infinite: *"),
        (
            "(torch.tensor(1), np.array([], dtype=np.int8))",
            '{"0": torch.tensor(1)}',
            "tuple: is a dict of 1, gold is a list of 2",
        ),
        ("Pair(3, ", "Pair(3.0, ", "pair.first: *"),
    ],
)
def test_any_change_is_told_by_its_path(keeping: KeepingTests, old: str, new: str, words: str) -> None:
    recorded_once(keeping, NESTED)
    keeping.change(old, new)
    result = keeping.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [f"E  *{words}", "E  *kept in test_it.gold/test_values.gold.json; *`pytest --gold-update`*"]
    )


FUNCTIONS = """
    def soften(x, power=2):
        return {"y": torch.softmax(FACTOR * x, -1) ** power, "parts": [x.sum()]}

    def test_drawn(gold):
        gold.check(soften, lambda: torch.randn(3, 5))

    def test_given(gold):
        gold.check(soften, {"x": torch.linspace(-1, 1, 8), "power": 3})

    def test_numpy(gold):
        gold.check(lambda x: np.tanh(FACTOR * x), np.linspace(-1, 1, 9, dtype=np.float32))

    def test_without_inputs(gold):
        gold.check(lambda: FACTOR * 2.0)

    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.up, self.down = torch.nn.Linear(4, 8), torch.nn.Linear(8, 2)
            self.drop = torch.nn.Dropout(0.5)

        def forward(self, x):
            return self.down(self.drop(torch.nn.functional.gelu(FACTOR * self.up(x))))

    def test_model(gold):
        block = Block()
        before = block.up.weight.detach().clone()
        assert gold.check(block, torch.ones(2, 4))
        assert torch.equal(before, block.up.weight) and block.training and block.up.weight.grad is None
"""


def test_a_function_is_kept_with_its_inputs_weights_and_measured_tolerance(keeping: KeepingTests) -> None:
    recorded_once(keeping, FUNCTIONS)
    keeping.run().assert_outcomes(passed=5)  # with other weights than before
    kept = [name.removesuffix(".gold.json") for name in keeping.kept()]
    found = {name: goldsmith.load(keeping.folder / name)[name].entry for name in kept}
    tolerances = {
        name: next(item.tolerance for item in entry.tensors if item.path.startswith("output"))
        for name, entry in found.items()
    }
    kinds = {name: tolerance.kind for name, tolerance in tolerances.items() if tolerance is not None}
    assert kinds.pop("test_without_inputs") == "customary"  # no noise reaches it
    assert len(kinds) == 4
    assert set(kinds.values()) == {"measured"}
    drawn = tolerances["test_drawn"]
    assert drawn is not None
    assert drawn.max is not None
    assert 1e-7 < drawn.max < 1e-4
    assert found["test_model"].models == ("model",)


@pytest.mark.parametrize(
    ("old", "new", "outcomes", "words"),
    [
        ("FACTOR = 1.0", "FACTOR = 1.0001", {"failed": 5}, "*out of tolerance*"),
        ("torch.randn(3, 5)", "torch.randn(3, 6)", {"failed": 1}, "*the inputs of soften are not those that were kept"),
        ("torch.randn(3, 5)", "torch.rand(3, 5)", {}, ""),  # what was drawn first is kept
        ("torch.linspace(-1, 1, 8)", "torch.linspace(-1, 2, 8)", {"failed": 1}, "*the inputs of soften are not *"),
        ('"power": 3', '"power": 4', {"failed": 1}, "*power: is 4, gold is 3*"),
        (
            "Linear(4, 8), torch.nn.Linear(8,",
            "Linear(4, 9), torch.nn.Linear(9,",
            {"failed": 1},
            "*do not fit into Block*",
        ),
        ("self.drop", "self.leave_out", {}, ""),
        ("soften, lambda: torch.randn(3, 5)", "soften(torch.ones(3))", {"errors": 1}, "*recorded from a function*"),
        (
            "return self.down(",
            "raise KeyError('gone')\n        return self.down(",
            {"failed": 1},
            "E  *KeyError: 'gone'",
        ),
    ],
)
def test_a_changed_function_is_told(
    keeping: KeepingTests, old: str, new: str, outcomes: dict[str, int], words: str
) -> None:
    recorded_once(keeping, FUNCTIONS)
    keeping.change(old, new)
    result = keeping.run()
    assert {name: count for name, count in result.parseoutcomes().items() if name != "passed"} == outcomes
    if words:
        result.stdout.fnmatch_lines([words])


def test_a_function_that_is_the_same_but_for_rounding_agrees(keeping: KeepingTests) -> None:
    recorded_once(keeping, FUNCTIONS)
    keeping.change("torch.softmax(FACTOR * x, -1)", "(x.exp() / x.exp().sum(-1, keepdim=True))")
    keeping.run("-k", "drawn or given").assert_outcomes(passed=2, deselected=3)


def test_a_function_that_rounds_outside_of_torch_is_measured_where_it_computes(keeping: KeepingTests) -> None:
    tests = """
    def soften(x):
        x = np.asarray(x, np.float32)
        return torch.from_numpy(np.exp(x) / np.exp(x).sum(-1, keepdims=True))

    def test_tensor(gold):
        gold.check(soften, torch.linspace(-1, 1, 64).reshape(8, 8))

    def test_array(gold):
        gold.check(soften, np.linspace(-1, 1, 64).reshape(8, 8))
    """
    keeping.record(tests)
    keeping.change(
        "np.exp(x) / np.exp(x).sum(-1, keepdims=True)", "np.exp(x - np.log(np.exp(x).sum(-1, keepdims=True)))"
    )
    keeping.run().assert_outcomes(passed=2)
    keeping.change("np.exp(x - ", "FACTOR * np.exp(x - ")
    keeping.change("FACTOR = 1.0", "FACTOR = 1.0001")
    result = keeping.run()
    result.assert_outcomes(failed=2)
    result.stdout.no_fnmatch_line("*in float64*")


def test_a_function_is_judged_in_float64_too(keeping: KeepingTests) -> None:
    tests = """
    def quiet(x):
        return torch.tanh(x)

    def noisy(x):
        return (x + 100.0 - x.mean() - 100.0) * FACTOR

    def test_quiet(gold):
        gold.check(quiet, torch.linspace(-1, 1, 64))

    def test_noisy(gold):
        gold.check(noisy, torch.linspace(-1, 1, 64))
    """
    keeping.record(tests)
    keeping.run().assert_outcomes(passed=2)
    keeping.change("return torch.tanh(x)", "return torch.tanh(x) + 50.0 - 50.0")  # right, and rounds more
    keeping.change("FACTOR = 1.0", "FACTOR = 1.00001")  # wrong by less than it rounds
    result = keeping.run()
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        ["E  *test_noisy: in float64, it differs: 1 of 1 leaf", "E  *value: *out of tolerance*"]
    )
    keeping.change("50.0", "50000.0")  # rounds so much that nothing is left
    keeping.run().assert_outcomes(failed=2)


def test_models_of_all_kinds_can_be_kept(keeping: KeepingTests) -> None:
    tests = """
    def test_buffers(gold):
        model = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.BatchNorm1d(6))
        torch.nn.init.normal_(model[1].running_mean)
        gold.check(model, torch.arange(12.0).reshape(3, 4))

    def test_train_mode(gold):
        model = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.BatchNorm1d(6))
        gold.check(model, torch.arange(12.0).reshape(3, 4), train=True)

    def test_without_weights(gold):
        gold.check(torch.nn.GELU(), torch.linspace(-1, 1, 5))

    def test_own_weights(gold):
        torch.manual_seed(0)
        gold.check(torch.nn.Linear(2, 2), torch.ones(1, 2), weights=False)

    def test_tuple(gold):
        gold.check(torch.nn.LSTM(3, 4), torch.ones(2, 1, 3))
    """
    keeping.record(tests)
    keeping.run("-W", "error").assert_outcomes(passed=5)
    keeping.change("torch.manual_seed(0)", "torch.manual_seed(1)")
    keeping.change(", train=True", "")
    result = keeping.run()
    result.assert_outcomes(passed=3, failed=2)


def test_values_that_are_mostly_rounding_are_told_when_they_are_recorded(keeping: KeepingTests) -> None:
    tests = """
    def test_it(gold):
        gold.check(lambda x: {"y": x + 12345.6 - 12345.6, "z": 2 * x}, torch.linspace(0, 1, 9))
    """
    told = "y varies so much with rounding alone that little can be judged by it"
    keeping.run("--gold-update", tests=tests).stdout.fnmatch_lines([f"    {told}"])


def test_what_rounding_decides_is_inconclusive_unless_it_is_the_same(keeping: KeepingTests) -> None:
    tests = """
    def choose(x):
        return torch.where((x / 3) * 3 > x, x + 40, x - 40) * FACTOR

    def test_it(gold):
        gold.check(choose, torch.linspace(1, 9, 64))
    """
    keeping.record(tests)
    keeping.run().assert_outcomes(passed=1)
    for factor in ("1.000001", "1.4"):
        keeping.change("FACTOR = 1.0", f"FACTOR = {factor} #")
        result = keeping.run()
        result.assert_outcomes(failed=1)
        result.stdout.fnmatch_lines(["E  *inconclusive: rounding alone moves value by more than 10% of its size*"])
        keeping.change(f"FACTOR = {factor} #", "FACTOR = 1.0")


def test_given_tolerances_are_used(keeping: KeepingTests) -> None:
    tests = """
    def test_values(gold):
        gold.check({"y": FACTOR * np.ones(3)}, rtol=0.1)

    def test_function(gold):
        gold.check(lambda x: FACTOR * x, np.ones(3), atol=0.1)

    def test_nan(gold):
        gold.check([FACTOR, float("nan")], rtol=0.1, equal_nan=True)
    """
    keeping.record(tests)
    keeping.change("FACTOR = 1.0", "FACTOR = 1.05")
    keeping.run().assert_outcomes(passed=3)
    keeping.change("FACTOR = 1.05", "FACTOR = 1.15")
    keeping.run().assert_outcomes(failed=3)


def test_update_records_what_changed_and_says_what(keeping: KeepingTests) -> None:
    assert "recorded  test_it.gold/test_values.gold.json" in keeping.run("--gold-update", tests=NESTED).outlines
    keeping.change("FACTOR = 1.0", "FACTOR = 2.0")
    result = keeping.run("--gold-update")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        [
            "updated   test_it.gold/test_values.gold.json",
            "    y: 5 of 6 elements, at [[]1, 2] 1 → 2, off by 1 (1 of its size)",
        ]
    )
    assert "recorded" not in result.stdout.str()
    keeping.run().assert_outcomes(passed=1)


def test_diff_shows_every_check_and_every_element(keeping: KeepingTests) -> None:
    tests = """
    def test_two(gold):
        gold.check(FACTOR * np.arange(3.0), name="one")
        gold.check({"a": FACTOR * np.arange(200.0), "b": FACTOR}, name="two")
    """
    keeping.record(tests)
    keeping.change("FACTOR = 1.0", "FACTOR = 2.0")
    brief, full = keeping.run().stdout.str(), keeping.run("--gold-diff")
    full.assert_outcomes(failed=1)
    assert "test_two, one" in brief
    assert "test_two, two" not in brief
    full.stdout.fnmatch_lines(
        [
            "test_it.py:6: test_two, one: differs: 1 of 1 leaf",
            "*[[]2]: 4, gold 2, off by 2",
            "*[[]1]: 2, gold 1, off by 1",
            "test_it.py:7: test_two, two: differs: 2 of 2 leaves",
            "*[[]199]: 398, gold 199, off by 199",
            "*and 99 nearer ones",
            "*b: is 2.0, gold is 1.0*",
        ]
    )


def test_the_page_is_as_it_says(tmp_path: Path) -> None:
    page = ROOT / "docs/how-to/pytest-without-a-course.md"
    assert len(act_out(page, tmp_path, CI="", BUILD_NUMBER="", PYTEST_ADDOPTS=" ".join(LEAN))) == 4


def test_two_workers_keep_the_same_as_one(keeping: KeepingTests) -> None:
    tests = """
    @pytest.mark.parametrize("x", [0.1, 1e-30, "a/b", "a b", "é" * 300, object(), np.float64(2), *range(6)])
    class TestMany:
        def test_it(self, gold, x):
            gold.check({"y": len(str(type(x)))})
    """
    result = keeping.run("--gold-update", "-n", "2", tests=tests)
    result.assert_outcomes(passed=13)
    assert sum(line.startswith("recorded  test_it.gold/TestMany.test_it") for line in result.outlines) == 13
    before = keeping.bytes_kept()
    assert len(before) == 13
    assert all(len(name) < 130 for name in before)
    assert not [*keeping.folder.glob(".*")]
    keeping.run().assert_outcomes(passed=13)
    assert keeping.bytes_kept() == before


def test_what_no_test_checks_any_more_is_told_and_left_alone(keeping: KeepingTests) -> None:
    tests = """
    def test_stays(gold):
        gold.check(1, name="used")
        gold.check(2, name="dropped")

    def test_renamed(gold):
        gold.check(3)
    """
    keeping.record(tests)
    (keeping.root / "test_it.gold").rename(keeping.root / "test_gone.gold")
    keeping.record(tests)
    keeping.change('    gold.check(2, name="dropped")\n', "")
    keeping.change("test_renamed", "test_other")
    before = keeping.bytes_kept()
    told = [line for line in keeping.run("--gold-update").outlines if line.startswith("unused")]
    assert told == [
        f"unused    {place}; `pytest --gold-prune` deletes it"
        for place in (
            "test_gone.gold/test_renamed.gold.json: test_gone.py does not exist",
            "test_gone.gold/test_stays.dropped.gold.json: test_gone.py does not exist",
            "test_gone.gold/test_stays.used.gold.json: test_gone.py does not exist",
            "test_it.gold/test_renamed.gold.json: test_it.py has no test_renamed",
            "test_it.gold/test_stays.dropped.gold.json: test_stays did not check it",
        )
    ]
    assert keeping.bytes_kept().items() >= before.items()
    some = keeping.run("--gold-update", "test_it.py::test_other", "-k", "other").stdout.str()
    assert "has no" not in some
    assert "did not check it" not in some
