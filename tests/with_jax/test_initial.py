"""How a port to another library initialises its weights: its layers' own way is told as such, and is no mistake."""

from __future__ import annotations

from typing import Any

import pytest

from support.course import CourseOnDisk, exercise

SOLUTION = """
    import torch
    from torch import nn


    class Net(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.up, self.down = nn.Linear(width, 48), nn.Linear(48, width)

        def forward(self, x):
            return self.down(torch.relu(self.up(x)))
"""
RECIPE = """
    import torch

    import goldsmith as gs
    from net import Net


    @gs.case
    def output(case):
        model = case.model(Net, 32)
        case.record("y", model(case.input("x", lambda: torch.randn(3, 32))))


    @gs.case
    def initial(case):
        case.initial(Net, 32)
"""
FLAX = """
    import jax
    from flax import nnx


    class Net(nnx.Module):
        def __init__(self, width, *, rngs):
            self.up = nnx.Linear(width, 48, OPTION rngs=rngs)
            self.down = nnx.Linear(48, width, OPTION rngs=rngs)

        def __call__(self, x):
            return self.down(jax.nn.relu(self.up(x)))
"""
EQUINOX = """
    import equinox as eqx
    import jax


    class Net(eqx.Module):
        up: eqx.nn.Linear
        down: eqx.nn.Linear

        def __init__(self, width, *, key):
            one, two = jax.random.split(key)
            self.up, self.down = eqx.nn.Linear(width, 48, key=one), eqx.nn.Linear(48, width, key=two)

        def __call__(self, x):
            return jax.vmap(lambda x: self.down(jax.nn.relu(self.up(x))))(x)
"""


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    found = CourseOnDisk(tmp_path_factory.mktemp("initial") / "course").write(exercise(SOLUTION, RECIPE, module="net"))
    assert found.run("generate", "hw1").code == 0
    return found


def cases_of(course: CourseOnDisk, name: str, text: str) -> dict[str, Any]:
    course.write({f"subs/{name}/net.py": text})
    (verdict,) = course.run("check", "hw1", f"subs/{name}", "--json").json["submissions"]
    found = {case["name"]: case for case in verdict["cases"]}
    assert found["output"]["outcome"] == "agrees"
    return found["initial"]


def test_what_layers_of_flax_do_by_default_is_told_and_not_judged(course: CourseOnDisk) -> None:
    case = cases_of(course, "flax", FLAX.replace("OPTION ", ""))
    assert case["outcome"] == "could-not-run"
    assert case["kind"] == "form"
    assert "up.kernel is initialised as Linear of flax does by default, which is not what layers of torch do" in str(
        case
    )


def test_layers_of_equinox_do_as_those_of_torch(course: CourseOnDisk) -> None:
    assert cases_of(course, "equinox", EQUINOX)["outcome"] == "agrees"


def test_what_was_chosen_is_judged(course: CourseOnDisk) -> None:
    chosen = FLAX.replace("OPTION", "kernel_init=nnx.initializers.normal(0.5),")
    assert cases_of(course, "chosen", chosen)["outcome"] == "differs"
