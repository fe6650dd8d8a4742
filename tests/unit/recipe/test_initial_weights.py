"""`case.initial`: how weights are drawn is judged by statistics over many seeds, whoever draws them in which order."""

from __future__ import annotations

import textwrap
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goldsmith.gold.load import load_gold
from goldsmith.recipe.initial_weights import statistics_of
from support.course import CourseOnDisk, numpy_course

STARTER = '''
    class Layer:
        """Kaiming-normal weight, zero bias, a constant."""

        def __init__(self, fan_in, fan_out):
            raise NotImplementedError

        def __call__(self, x):
            raise NotImplementedError
'''
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


    if __name__ == "__main__":
        gs.main()
"""
FILES = {
    "src/assignments/hw1/ops.py": STARTER,
    "private/solutions/hw1/ops_solution.py": SOLUTION,
    "src/assignments/hw1/generate_fixtures.py": RECIPE,
}
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
        ("np.zeros(fan_out)", "np.full(fan_out, 0.01)", "differs", "bias.mean"),
        ("np.full(fan_out, 0.5)", "np.full(fan_out, 0.5001)", "differs", "scale.mean"),
    ],
)
def test_another_way_to_draw_the_same_agrees_and_another_spread_does_not(
    made: CourseOnDisk, before: str, after: str, outcome: str, reason: str, tmp_path: Path
) -> None:
    (tmp_path / "ops.py").write_text(textwrap.dedent(SOLUTION).replace(before, after))
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
    alone = RECIPE[: RECIPE.index("    @gs.case\n    def drawn")] + RECIPE[RECIPE.index("    if __name__") :]
    course = numpy_course(tmp_path / "course").write(FILES | {"src/assignments/hw1/generate_fixtures.py": alone})
    run = course.run("generate", "hw1")
    assert run.code == 0
    assert "no case shows how Layer initialises its weights" in run.out
    mutants = course.run("rigor", "hw1", "--only", "Layer.__init__", "--json").json["mutants"]
    dropped = next(item for item in mutants if item["operator"] == "factor-dropped")
    assert dropped["outcome"] == "survived"
    assert "case.initial" in dropped["advice"]


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**31), st.integers(0, 2**31), st.integers(1, 40), st.floats(0.01, 100))
def test_two_sets_of_draws_from_one_distribution_stay_within_the_limits(
    one: int, two: int, size: int, scale: float
) -> None:
    def statistics(seed: int) -> dict[str, dict[str, tuple[float, float]]]:
        generator = np.random.default_rng(seed)
        return statistics_of([{"w": generator.normal(0.3, scale, size)} for _ in range(48)])  # type: ignore[return-value]

    mine, theirs = statistics(one)["w"], statistics(two)["w"]
    for kind, (value, limit) in mine.items():
        assert abs(theirs[kind][0] - value) <= limit
