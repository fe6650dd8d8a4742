"""A solution that no longer fits its starter is caught before gold is made from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldsmith.courses.layout.layout import find_course
from goldsmith.courses.layout.resolve import resolve
from goldsmith.generate.starter_diff import find_drift
from support.course import CourseOnDisk, numpy_course

STARTER = '''
    """The starter."""
    import torch
    from torch import nn

    EPS = 1e-6

    class Attention(nn.Module):
        """Provided constructor, forward to be written."""

        def __init__(self, dim, heads=3):
            super().__init__()
            self.qkv_proj = nn.Linear(dim, 3 * dim, bias=False)
            self.heads = heads

        def forward(self, x, mask=None):
            # TODO: attend
            raise NotImplementedError

    class FeedForward(nn.Module):
        """Provided."""

        def __init__(self, dim):
            super().__init__()
            self.up = nn.Linear(dim, dim)

        def forward(self, x):
            """Gate."""
            return nn.functional.silu(self.up(x))  # keep this

    def loss(logits, targets, ignore_index=-100):
        raise NotImplementedError
'''

SOLUTION = STARTER.replace(
    "# TODO: attend\n            raise NotImplementedError",
    "q, k, v = self.qkv_proj(x).chunk(3, dim=-1)\n            return (q @ k.mT).softmax(-1) @ v",
).replace("raise NotImplementedError\n", "return nn.functional.cross_entropy(logits, targets)\n")

RECIPE = """
    import torch
    import goldsmith as gs
    from model import Attention, FeedForward

    @gs.case
    def gold_output(case):
        layer = case.model(Attention, 6)
        case.record("y", layer(case.input("x", lambda: torch.randn(2, 5, 6))))
"""

SPLIT = (
    "self.qkv_proj = nn.Linear(dim, 3 * dim, bias=False)",
    "self.q, self.k, self.v = (nn.Linear(dim, dim, bias=False) for _ in range(3))",
)
GELU = ("nn.functional.silu", "nn.functional.gelu")
SPLIT_BIAS = ("nn.Linear(dim, dim, bias=False)", "nn.Linear(dim, dim, bias=True)")
BIAS = ("3 * dim, bias=False", "3 * dim, bias=True")


@pytest.fixture
def course(tmp_path: Path) -> CourseOnDisk:
    return numpy_course(tmp_path / "course").write(
        {
            "src/assignments/lab/model.py": STARTER,
            "src/assignments/lab/generate_fixtures.py": RECIPE,
            "private/solutions/lab/model_solution.py": SOLUTION,
        }
    )


def drift(course: CourseOnDisk, *changes: tuple[str, str]) -> list[str]:
    text = SOLUTION
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    course.write({"private/solutions/lab/model_solution.py": text})
    target = resolve(find_course(course.root).assignment("lab"))
    assert target.starter is not None
    return [str(item) for item in find_drift(target.starter, target.recipe, target.placed)]


@pytest.mark.long
def test_a_solution_that_fits_has_no_drift_and_makes_gold(course: CourseOnDisk) -> None:
    assert drift(course) == []
    run = course.run("generate", "lab")
    assert run.code == 0, run.out + run.err
    assert "Starter and solution agree" in run.out


def test_comments_docstrings_annotations_and_formatting_do_not_matter(course: CourseOnDisk) -> None:
    assert (
        drift(
            course,
            ('"""Gate."""\n', '"""Another docstring."""\n\n'),
            ("  # keep this", "  # said otherwise"),
            ("def __init__(self, dim, heads=3)", "def __init__(self, dim: int, heads: int = 3) -> None"),
            ("silu(self.up(x))", "silu(\n                self.up(x)\n            )"),
        )
        == []
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ([SPLIT], ["model.Attention.__init__ is provided by the starter, but other code", "self.q, self.k, self.v"]),
        ([GELU], ["model.FeedForward.forward is provided by the starter", "silu", "gelu"]),
        ([BIAS], ["model.Attention.__init__ is provided by the starter", "bias=False", "bias=True"]),
        ([SPLIT, SPLIT_BIAS, GELU], ["self.q, self.k, self.v", "bias=True", "gelu"]),
    ],
)
def test_real_drift_is_caught_and_shown_side_by_side(
    course: CourseOnDisk, changes: list[tuple[str, str]], words: list[str]
) -> None:
    text = "\n".join(drift(course, *changes))
    for word in words:
        assert word in text
    run = course.run("generate", "lab")
    assert run.code == 3
    assert "Gold refused: Lab" in run.out
    assert "allow-drift" in run.last_line
    assert not course.gold("lab").exists()


BUILT = """
    import numpy as np

    def _layer(dim):
        return {"w": np.eye(dim)}

    class Net:
        def __init__(self, dim):
            self.up = _layer(dim)

        def __call__(self, x):
            raise NotImplementedError
"""
NET_RECIPE = """
    import numpy as np
    import goldsmith as gs
    from model import Net

    @gs.case
    def gold_output(case):
        case.record("y", case.model(Net, 6)(case.input("x", lambda: np.random.randn(2, 6))))
"""


@pytest.mark.parametrize(
    ("layer", "words"),
    [
        ('{"w": np.eye(dim), "b": np.ones(dim)}', "gives model.Net no parameter up.b, but the solution has one"),
        ('{"w": np.eye(dim, 2 * dim)}', "of another shape (starter: [6, 6]; solution: [6, 12])"),
        ('{"w": {"w": np.eye(dim)}}', "a parameter up.w that the solution lacks"),
        ('{"w": np.eye(dim)}', None),
    ],
)
def test_parameters_of_models_that_can_be_built_must_be_the_same(
    course: CourseOnDisk, layer: str, words: str | None
) -> None:
    """What the comparison of sources does not see: here, a private helper that is not the starter's any more."""
    solution = BUILT.replace("raise NotImplementedError", "return np.tanh(x)")
    course.write(
        {
            "src/assignments/lab/model.py": BUILT,
            "private/solutions/lab/model_solution.py": solution.replace('{"w": np.eye(dim)}', layer),
            "src/assignments/lab/generate_fixtures.py": NET_RECIPE,
        }
    )
    run = course.run("generate", "lab")
    if words is None:
        assert run.code == 0, run.out + run.err
        assert ", parameters of 1 model" in run.out
        return
    assert run.code == 3, run.out + run.err
    assert words in run.out
    course.write({"goldsmith.toml": '[assignment.lab.allow-drift]\n"model.Net.__init__" = "told in class"\n'})
    assert "1 allowed: model.Net.__init__" in course.run("generate", "lab").out


def test_parameters_are_compared_with_a_private_recipe_too(course: CourseOnDisk) -> None:
    solution = BUILT.replace("raise NotImplementedError", "return np.tanh(x)").replace("np.eye(dim)", "np.eye(2 * dim)")
    course.write(
        {
            "src/assignments/lab/model.py": BUILT,
            "private/solutions/lab/model_solution.py": solution,
            "private/solutions/lab/generate_fixtures.py": NET_RECIPE,
        }
    )
    (course.root / "src/assignments/lab/generate_fixtures.py").unlink()
    run = course.run("generate", "lab")
    assert run.code == 3
    assert "of another shape" in run.out


def test_parameters_that_students_have_to_make_are_no_drift(course: CourseOnDisk) -> None:
    starter = STARTER.replace("self.heads = heads", "self.heads = heads  # TODO: and a scale of ones")
    solution = SOLUTION.replace("self.heads = heads", "self.scale = nn.Parameter(torch.ones(dim))").replace(
        ".softmax(-1) @ v", ".softmax(-1) @ v * self.scale"
    )
    course.write({"src/assignments/lab/model.py": starter, "private/solutions/lab/model_solution.py": solution})
    run = course.run("generate", "lab")
    assert run.code == 0, run.out + run.err
    assert ", parameters of 1 model" in run.out


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("def forward(self, x, mask=None)", "def forward(self, x)"), "model.Attention.forward has another signature"),
        (("ignore_index=-100", "ignore_index=0"), "model.loss has another signature"),
        (("def loss(logits, targets", "def loss(targets, logits"), "model.loss has another signature"),
        (("def loss(", "def criterion("), "model.loss is missing from the solution"),
        (("EPS = 1e-6", "EPS = 1e-5"), "model.EPS has another value"),
        (("class FeedForward(nn.Module)", "class FeedForward(nn.Sequential)"), "has other base classes"),
    ],
)
def test_signatures_names_and_constants_must_fit(course: CourseOnDisk, change: tuple[str, str], words: str) -> None:
    assert words in "\n".join(drift(course, change))


def test_a_solution_may_take_more_as_long_as_it_is_optional(course: CourseOnDisk) -> None:
    assert drift(course, ("x, mask=None)", "x, mask=None, cache=None)")) == []


def test_what_the_recipe_uses_must_be_in_the_starter(course: CourseOnDisk) -> None:
    course.write({"src/assignments/lab/generate_fixtures.py": RECIPE.replace("FeedForward", "Secret")})
    assert drift(course, ("class FeedForward", "class Secret(nn.Module): ...\n\n    class FeedForward")) == [
        "model.Secret is used by the recipe but not in the starter"
    ]


def test_drift_is_allowed_by_name_with_a_reason(course: CourseOnDisk) -> None:
    drift(course, BIAS)
    toml = '[assignment.lab.allow-drift]\n"model.Attention.__init__" = "the bias is explained in class"\n'
    course.write({"goldsmith.toml": toml})
    run = course.run("generate", "lab")
    assert run.code == 0, run.out + run.err
    assert "1 allowed: model.Attention.__init__" in run.out
    course.write({"goldsmith.toml": toml.replace("the bias is explained in class", "")})
    assert "needs its reason" in course.run("generate", "lab").err
