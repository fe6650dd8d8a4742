"""`case.initial`: how weights are drawn is judged by statistics over many seeds, whoever draws them in which order."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goldsmith.gold.load import load_gold
from goldsmith.process.fork_client import ForkClient
from goldsmith.recipe.initial_weights import Statistic, statistics_of, telling_statistics
from support.check_course import judge
from support.course import CourseOnDisk, exercise, numpy_course

SOLUTION = '''
    import numpy as np


    class Layer:
        """Kaiming-normal weight, zero bias, a constant."""

        def __init__(self, fan_in, fan_out):
            self.weight = np.random.randn(fan_out, fan_in) * np.sqrt(2 / fan_in)
            self.bias = np.zeros(fan_out)
            self.scale = np.full(fan_out, 0.5)

        def __call__(self, x):
            return (x @ self.weight.T + self.bias) * self.scale
'''
RECIPE = """
    import numpy as np

    import goldsmith as gs
    from ops import Layer


    @gs.case
    def computed(case):
        model = case.model(Layer, 24, 6)
        case.record("y", model(case.input("x", lambda: np.random.randn(5, 24))))


    @gs.case
    def drawn(case):
        case.initial(Layer, 24, 6)


    @gs.case
    def later(case):
        case.initial(Layer, 24, 6)
        case.record("after", np.random.randn(3))
"""
FILES = exercise(SOLUTION, RECIPE)
OTHER_DRAWS = "np.random.uniform(-np.sqrt(3), np.sqrt(3), (fan_in, fan_out)).T * np.sqrt(2 / fan_in)"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    course = numpy_course(tmp_path_factory.mktemp("initial") / "course").write(FILES)
    run = course.run("generate", "hw1")
    assert run.code == 0, run.out + run.err
    assert "case drawn: keeps no input" not in run.out
    assert "initialises its weights" not in run.out
    return course


@pytest.mark.parametrize(
    ("before", "after", "outcome", "reason"),
    [
        ("", "", "agrees", ""),
        ("np.random.randn(fan_out, fan_in) * np.sqrt(2 / fan_in)", OTHER_DRAWS, "agrees", ""),
        (" * np.sqrt(2 / fan_in)", "", "differs", "weight.spread"),
        ("2 / fan_in", "2 / fan_out", "differs", "weight.spread"),
        ("2 / fan_in", "1 / fan_in", "differs", "weight.spread"),
        ("np.random.randn(fan_out, fan_in)", "np.random.rand(fan_out, fan_in)", "differs", "weight"),
        ("np.random.randn(", "np.random.default_rng(0).standard_normal((", "differs", "weight.constant_at"),
        ("np.zeros(fan_out)", "np.full(fan_out, 0.01)", "differs", "bias.mean"),
        ("np.full(fan_out, 0.5)", "np.full(fan_out, 0.5001)", "differs", "scale.mean"),
    ],
)
def test_another_way_to_draw_the_same_agrees_and_another_spread_does_not(
    made: CourseOnDisk, before: str, after: str, outcome: str, reason: str, tmp_path: Path
) -> None:
    text = textwrap.dedent(SOLUTION).replace(before, after)
    (tmp_path / "ops.py").write_text(text.replace("((fan_out, fan_in)", "((fan_out, fan_in))"))
    found = made.run("check", "hw1", str(tmp_path), "--case", "drawn", "--json").json["submissions"][0]
    case = next(item for item in found["cases"] if item["name"] == "drawn")
    assert case["outcome"] == outcome, case
    assert reason in case["reason"]


def test_limits_follow_from_how_much_the_statistics_vary(made: CourseOnDisk) -> None:
    entries = {item.path: item for item in load_gold(made.gold())["drawn"].entry.tensors}
    spread = entries["output.weight.spread"].tolerance
    assert spread is not None
    assert (spread.kind, spread.reason) == ("pinned", "how much the spread varies over 48 seeds")
    assert spread.atol is not None
    assert 0.001 < spread.atol < 0.05
    constant = entries["output.scale.spread"].tolerance
    assert constant is not None
    assert constant.atol is not None
    assert constant.atol < 1e-5


def test_regenerating_changes_nothing_and_later_draws_are_what_they_were(made: CourseOnDisk) -> None:
    before = made.gold_bytes()
    assert made.run("generate", "hw1", "--force").last_line.startswith("hw1: not a byte changed")
    assert made.gold_bytes() == before
    np.random.seed(42)
    np.random.randn(6, 24)  # the model that is kept
    assert np.array_equal(load_gold(made.gold())["later"].output["after"], np.random.randn(3))


def test_rigor_advises_it_where_initial_weights_never_show(tmp_path: Path) -> None:
    alone = RECIPE[: RECIPE.index("    @gs.case\n    def drawn")]
    course = numpy_course(tmp_path / "course").write(FILES | {"src/assignments/hw1/generate_fixtures.py": alone})
    run = course.run("generate", "hw1")
    assert run.code == 0
    assert "no case shows how Layer initialises its weights" in run.out
    mutants = course.run("rigor", "hw1", "--only", "Layer.__init__", "--json").json["mutants"]
    dropped = next(item for item in mutants if item["operator"] == "factor-dropped")
    assert dropped["outcome"] == "survived"
    assert "case.initial" in dropped["advice"]


# --- gates ----------------------------------------------------------------------------------------------------------

CELL = """
    import numpy as np


    class Cell:
        \"\"\"The gates of an LSTM, below one another: the forget gate is the second.\"\"\"

        def __init__(self, size, hidden):
            self.bias = np.zeros(4 * hidden)
            self.bias[hidden : 2 * hidden] = 1.0
            self.gates = np.random.randn(4 * hidden, size) * 0.1
            self.gates[2 * hidden : 3 * hidden] *= 3
            self.table = np.random.randn(5, hidden)
            self.table[0] = 0.0

        def __call__(self, x):
            return x @ self.gates.T + self.bias + self.table.sum()
"""
CELL_RECIPE = """
    import goldsmith as gs
    from ops import Cell


    @gs.case
    def drawn(case):
        case.initial(Cell, 3, 6)
"""
LATER = "np.random.randn(4 * hidden, size)", "np.concatenate([np.random.randn(4 * hidden, 1) for _ in range(size)], 1)"


@pytest.fixture(scope="module")
def cell(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    course = numpy_course(tmp_path_factory.mktemp("cell") / "course")
    return course.write(exercise(CELL, CELL_RECIPE)).with_gold()


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        (*LATER, ""),
        ("self.bias[hidden : 2 * hidden]", "self.bias[:hidden]", "bias.constants"),
        ("self.bias[hidden : 2 * hidden]", "self.bias[2 * hidden : 3 * hidden]", "bias.constants"),
        ("self.gates[2 * hidden : 3 * hidden]", "self.gates[hidden : 2 * hidden]", "gates.rows"),
        ("self.table[0] = 0.0", "self.table[1] = 0.0", "table.constant_at"),
        ("self.table[0] = 0.0", "pass", "table.constant"),
    ],
)
def test_what_is_drawn_right_and_put_into_the_wrong_gate_differs(
    cell: CourseOnDisk, warm: ForkClient, before: str, after: str, reason: str, tmp_path: Path
) -> None:
    assert before in CELL
    (tmp_path / "ops.py").write_text(textwrap.dedent(CELL).replace(before, after))
    found = judge(cell, str(tmp_path), warm).case("drawn")
    assert found.outcome == ("differs" if reason else "agrees"), found
    assert reason in found.reason


# --- limits ---------------------------------------------------------------------------------------------------------


def _orthogonal(generator: np.random.Generator, rows: int, columns: int) -> Any:
    tall = np.linalg.qr(generator.normal(size=(max(rows, columns), min(rows, columns))))[0]
    return tall if rows >= columns else tall.T


def _truncated(generator: np.random.Generator, rows: int, columns: int) -> Any:
    drawn = generator.normal(size=20 * rows * columns)
    return drawn[abs(drawn) < 2][: rows * columns].reshape(rows, columns)


def _gates(generator: np.random.Generator, rows: int, columns: int) -> Any:
    found = [np.zeros((rows, columns)), np.ones((rows, columns)), _orthogonal(generator, rows, columns)]
    return np.concatenate([*found, generator.uniform(-1, 1, (rows, columns))])


def _padded(generator: np.random.Generator, rows: int, columns: int) -> Any:
    return np.concatenate([np.zeros((1, columns)), generator.normal(size=(rows, columns))])


def _sparse(generator: np.random.Generator, rows: int, columns: int) -> Any:
    return generator.normal(size=(4 * rows, columns)) * (generator.random((4 * rows, columns)) > 0.9)


DISTRIBUTIONS: dict[str, Callable[[np.random.Generator, int, int], Any]] = {
    "normal": lambda generator, rows, columns: generator.normal(0, 0.02, (rows, columns)),
    "uniform": lambda generator, rows, columns: generator.uniform(-0.3, 0.3, (rows, columns)),
    "truncated": _truncated,
    "orthogonal": _orthogonal,
    "constant": lambda generator, rows, columns: np.arange(rows * columns).reshape(rows, columns) / 3,
    "constant and noise": lambda generator, rows, columns: generator.normal(1, 0.01, (rows, columns)),
    "gates": _gates,
    "padded": _padded,
    "sparse": _sparse,
}


def _is_within(one: Statistic, two: Statistic) -> bool:
    if isinstance(one.value, str):
        return bool(one.value == two.value)
    return bool(np.all(np.abs(np.asarray(one.value) - two.value) <= one.limit))


@settings(deadline=None, max_examples=100)
@given(
    st.sampled_from(sorted(DISTRIBUTIONS)),
    st.integers(0, 2**31),
    st.integers(0, 2**31),
    st.integers(1, 12),
    st.integers(1, 6),
    st.floats(0.01, 100),
)
def test_two_sets_of_draws_from_one_distribution_stay_within_the_limits(
    kind: str, one: int, two: int, rows: int, columns: int, scale: float
) -> None:
    def draws(seed: int) -> Any:
        generator = np.random.default_rng(seed)
        return np.stack([DISTRIBUTIONS[kind](generator, rows, columns) * scale for _ in range(48)])

    mine, theirs = draws(one), draws(two)
    telling = telling_statistics(mine)
    expected, found = statistics_of(mine, telling), statistics_of(theirs, telling)
    assert [name for name, item in expected.items() if not _is_within(item, found[name])] == []


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 2**31), st.integers(2, 9), st.integers(2, 6), st.permutations(range(4)))
def test_blocks_that_are_drawn_alike_may_change_places_and_no_others(
    seed: int, rows: int, columns: int, order: list[int]
) -> None:
    """The first is zero, the second one, two are drawn from the same distribution."""
    generator = np.random.default_rng(seed)

    def draws(places: list[int]) -> Any:
        fixed = [np.zeros((48, rows, columns)), np.ones((48, rows, columns))]
        blocks = [*fixed, *generator.normal(size=(2, 48, rows, columns))]
        return np.concatenate([blocks[place] for place in places], axis=1)

    mine = draws([0, 1, 2, 3])
    telling = telling_statistics(mine)
    expected, found = statistics_of(mine, telling), statistics_of(draws(order), telling)
    assert all(_is_within(item, found[name]) for name, item in expected.items()) == (order[:2] == [0, 1])
