"""Drafted recipes for parts whose arguments are sizes without an annotation, and for how weights begin."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import goldsmith
from goldsmith.drafts.argument_use import usages_of
from goldsmith.drafts.guess_arguments import Known, guess
from goldsmith.drafts.initialisation import draft_initial
from goldsmith.drafts.specs import Built, Literal
from goldsmith.drafts.targets import Target
from goldsmith.drafts.variations import distinct_settings
from support.course import RECIPE_FILE, CourseOnDisk

STARTER = """
    class Box:
        def __init__(self, data):
            self.data = data

    class Dense:
        def __init__(self, rows, columns):
            raise NotImplementedError
        def __call__(self, x):
            raise NotImplementedError

    class Stacked:
        def __init__(self, widths):
            raise NotImplementedError
        def run(self, x):
            raise NotImplementedError

    class Seeded:
        def __init__(self, d):
            raise NotImplementedError
        def run(self, x):
            raise NotImplementedError

    def split(x, groups):
        raise NotImplementedError

    def one_hot(labels, kinds):
        raise NotImplementedError
"""
SOLUTION = """
    import numpy as np

    class Box:
        def __init__(self, data):
            self.data = data

    class Dense:
        def __init__(self, rows, columns):
            self.weight = Box(np.random.randn(rows, columns) * np.sqrt(2 / rows))
            self.bias = Box(np.zeros(columns))
        def __call__(self, x):
            return x @ self.weight.data + self.bias.data

    class Stacked:
        def __init__(self, widths):
            self.layers = [Dense(*pair) for pair in zip(widths[:-1], widths[1:])]
        def run(self, x):
            for layer in self.layers:
                x = np.tanh(layer(x))
            return x

    class Seeded:
        def __init__(self, d):
            self.w = np.random.default_rng(3).normal(size=(d, 2 * d))
        def run(self, x):
            return x @ self.w

    def split(x, groups):
        a, b, d = x.shape
        return x.reshape(a, b, groups, d // groups).transpose(0, 2, 1, 3)

    def one_hot(labels, kinds):
        return np.eye(kinds)[labels]
"""
FILES = {"src/assignments/hw1/ops.py": STARTER, "private/solutions/hw1/ops_solution.py": SOLUTION}


@pytest.fixture(scope="module")
def sizes(tmp_path_factory: pytest.TempPathFactory) -> tuple[CourseOnDisk, str, str]:
    """A course whose classes and functions take sizes without annotations, its drafted recipe, what `generate` said."""
    course = CourseOnDisk(tmp_path_factory.mktemp("sizes")).write(FILES)
    run = course.run("generate", "hw1", "--kind", "outputs", "--no-calibrate")
    assert run.code == 0, run.out + run.err
    return course, (course.root / RECIPE_FILE).read_text(), run.out


def test_arguments_of_constructors_are_sizes_that_differ(sizes: tuple[CourseOnDisk, str, str]) -> None:
    _, recipe, out = sizes
    assert "case.model(Dense, rows=11, columns=7)" in recipe
    assert "case.model(Stacked, widths=[13, 11, 7, 5])" in recipe
    assert "TODO" not in recipe
    assert "initialises" not in out.replace("how Seeded initialises", "")


def test_counts_that_functions_take_are_whole_numbers(sizes: tuple[CourseOnDisk, str, str]) -> None:
    gold = goldsmith.load(sizes[0].gold())
    assert gold["split"].data["output"].shape[1] == 4
    assert gold["one_hot"].data["input"].dtype.kind == "i"


def test_a_class_that_draws_weights_has_a_case_for_that(sizes: tuple[CourseOnDisk, str, str]) -> None:
    _, recipe, _ = sizes
    assert "case.initial(Dense, rows=11, columns=7)" in recipe
    assert "case.initial(Stacked" not in recipe, "its weights are those of Dense"
    assert "case.initial(Seeded" not in recipe, "whoever draws in another order would be called wrong"
    assert "case.initial(Box" not in recipe, "students do not write it"


@pytest.mark.long
def test_a_missing_scale_differs_from_the_drafted_gold(sizes: tuple[CourseOnDisk, str, str]) -> None:
    course = sizes[0].write({"handed-in/ops.py": SOLUTION.replace(" * np.sqrt(2 / rows)", "")})
    run = course.run("check", "hw1", "handed-in", "--json")
    (found,) = run.json["submissions"]
    assert [item["name"] for item in found["cases"] if item["outcome"] == "differs"] == ["dense_initial"]


@pytest.mark.long
def test_advice_does_not_ask_a_drafted_recipe_for_initial_weights(course: CourseOnDisk) -> None:
    (course.root / RECIPE_FILE).unlink()
    solution = """
        import torch
        from torch import nn

        class Scale(nn.Module):
            def __init__(self, d):
                super().__init__()
                self.gamma = nn.Parameter(torch.ones(d))
            def forward(self, x):
                return x * self.gamma

        class Linear(nn.Module):
            def __init__(self, fan_in, fan_out):
                super().__init__()
                self.weight = nn.Parameter(torch.randn(fan_out, fan_in) / fan_in**0.5)
                self.scale = Scale(fan_out)
            def forward(self, x):
                return self.scale(torch.tanh(x @ self.weight.T))

        class Sign(torch.optim.Optimizer):
            def __init__(self, params, lr=0.1):
                super().__init__(params, dict(lr=lr))
            @torch.no_grad()
            def step(self):
                for group in self.param_groups:
                    for item in group["params"]:
                        item -= group["lr"] * item.grad.sign()

        def step(model: Linear, x: torch.Tensor):
            optimizer = Sign(model.parameters())
            loss = model(x).pow(2).mean()
            loss.backward()
            optimizer.step()
            return loss
        """
    starter = """
        import torch
        from torch import nn

        class Scale(nn.Module):
            def __init__(self, d):
                raise NotImplementedError
            def forward(self, x):
                raise NotImplementedError

        class Linear(nn.Module):
            def __init__(self, fan_in, fan_out):
                raise NotImplementedError
            def forward(self, x):
                raise NotImplementedError

        class Sign(torch.optim.Optimizer):
            def __init__(self, params, lr=0.1):
                raise NotImplementedError
            def step(self):
                raise NotImplementedError

        def step(model: Linear, x: torch.Tensor):
            raise NotImplementedError
        """
    course.write({"private/solutions/hw1/ops_solution.py": solution, "src/assignments/hw1/ops.py": starter})
    for kind in ("both", "checkpoint"):
        run = course.run("generate", "hw1", "--kind", kind)
        assert run.code == 0, run.out + run.err
        assert "initial-weights" not in run.out
        recipe = (course.root / RECIPE_FILE).read_text()
        assert "case.initial(Linear, fan_in=11, fan_out=7)" in recipe
        (course.root / RECIPE_FILE).unlink()


# --- what was written is no change of the starter --------------------------------------------------------------------


def test_a_recipe_that_runs_nothing_is_no_change_of_the_starter(course: CourseOnDisk) -> None:
    (course.root / RECIPE_FILE).unlink()
    solution = 'def scale(x):\n    raise ValueError("cannot take that, but one of:\\n * this\\n * that")\n'
    starter = "def scale(x):\n    raise NotImplementedError\n"
    course.write({"private/solutions/hw1/ops_solution.py": solution, "src/assignments/hw1/ops.py": starter})
    run = course.run("generate", "hw1", "--kind", "both")
    assert run.code == 3
    assert "Reset to starter: ok" in run.out
    assert "CHANGED" not in run.out
    assert "(scale: ValueError: cannot take that, but one of); write the first case there" in run.last_line
    assert f"wrote {RECIPE_FILE}" in run.last_line
    assert "`goldsmith generate hw1` again" in run.last_line


def test_a_recipe_whose_gold_is_refused_is_no_change_of_the_starter(tmp_path: Path) -> None:
    provided = "\n\ndef provided(x):\n    return x + {}\n"
    starter = "def double(x: float):\n    raise NotImplementedError\n" + provided.format(1)
    solution = "def double(x: float):\n    return provided(x) * 2\n" + provided.format(2)
    files = {"src/assignments/hw1/ops.py": starter, "private/solutions/hw1/ops_solution.py": solution}
    course = CourseOnDisk(tmp_path).write(files)
    run = course.run("generate", "hw1", "--kind", "outputs")
    assert run.code == 3, run.out + run.err
    assert "gold refused" in run.last_line
    assert "Reset to starter: ok" in run.out
    assert f"wrote {RECIPE_FILE}" in run.out


def test_a_starter_that_changes_while_its_recipe_is_drafted_is_noticed(tmp_path: Path) -> None:
    starter = "def double(x: float):\n    raise NotImplementedError\n"
    course = CourseOnDisk(tmp_path).write({"src/assignments/hw1/ops.py": starter})
    notes = course.root / "src/assignments/hw1/notes.txt"
    solution = f"open({str(notes)!r}, 'a').write('again')\n\ndef double(x: float):\n    return x * 2\n"
    course.write({"private/solutions/hw1/ops_solution.py": solution})
    run = course.run("generate", "hw1", "--kind", "outputs")
    assert run.code != 0
    assert "CHANGED during the run" in run.out
    assert "notes.txt" in run.last_line
    assert RECIPE_FILE not in run.last_line


# --- how it is found out ---------------------------------------------------------------------------------------------


def test_where_an_argument_stands_says_that_it_is_a_size() -> None:
    def example(a, b, c, d, e, f, g, x, y, z):  # type: ignore[no-untyped-def]
        weight = np.random.randn(a, 2 * b) + np.random.normal(0, z, size=(c, 1))
        rows = [x[at : at + d] for at in range(e)]
        if f <= 1:
            return rows
        return weight.reshape(-1, g), y.reshape(3, 4), x @ weight

    found = usages_of(example)
    assert {name for name, usage in found.items() if usage.is_size} == set("abcdefg")


class Attention:
    def __init__(self, wide, split, mode):  # type: ignore[no-untyped-def]
        if wide % split or wide == split or mode not in ("one", "two"):
            raise ValueError("no")
        self.depth = wide // split


def test_sizes_that_have_to_divide_each_other_are_found_by_trial() -> None:
    for arguments in itertools.islice(guess(Attention, Known(library="torch")), 60):
        values = {name: spec.value for name, spec in arguments.items() if isinstance(spec, Literal)}
        if len(values) == 3:
            try:
                assert Attention(**values).depth > 1
                return
            except (ValueError, TypeError, ZeroDivisionError):
                continue
    raise AssertionError("never found")


@given(st.lists(st.integers(3, 40), min_size=2, max_size=6))
def test_settings_are_made_to_differ_and_go_on_dividing(values: list[int]) -> None:
    arguments = {f"size_{at}": Literal(value) for at, value in enumerate(values)}
    found = distinct_settings(arguments)
    assert (found is None) == (len(set(values)) == len(values))
    made = [spec.value for spec in (found or arguments).values() if isinstance(spec, Literal)]
    assert len(set(made)) == len(made)
    for old, new in zip(values, made, strict=True):
        assert new == old or math.gcd(new, old) > 1 or old % 2 or old <= 4


class Square:
    """A torch-free layer whose two sizes are the same by default."""

    def __init__(self, rows=6, columns=6, count=2):  # type: ignore[no-untyped-def]
        self.weight = np.random.randn(count, rows, columns)


def test_sizes_that_are_the_same_by_default_are_made_to_differ() -> None:
    target = Target(__name__, "Square", ("__init__",), is_class=True, object=Square)
    (draft,) = draft_initial(target, Built(__name__, "Square", ()), 42, lambda value: False)
    assert draft.blocks[0].lines == ("case.initial(Square, columns=9)",)
    assert draft.blocks[1].lines == ("case.initial(Square)",), "where the other does not work"


def test_a_constructor_that_students_do_not_write_has_no_case() -> None:
    target = Target(__name__, "Square", ("forward",), is_class=True, object=Square)
    assert not list(draft_initial(target, Built(__name__, "Square", ()), 42, lambda value: False))
