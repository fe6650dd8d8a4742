"""A course whose starter, solution and recipe are in JAX: functions, Flax NNX, Equinox and linen, from `generate` to
`grade`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from goldsmith.gold.files import read_arrays
from goldsmith.sandbox.capabilities import probe
from support.course import CourseOnDisk, exercise

pytestmark = pytest.mark.timeout(900)


SOLUTION = '''
    """Exercise: a softmax, a block, and a layer."""

    import equinox as eqx
    import jax
    import jax.numpy as jnp
    from flax import linen, nnx


    def attend(q, k, v):
        """The mean of v, weighted by the softmax of q @ k.T over the root of the width."""
        scores = q @ k.T / jnp.sqrt(q.shape[-1])
        return jax.nn.softmax(scores, axis=-1) @ v


    class Block(nnx.Module):
        """x + down(gelu(up(norm(x)))), with the exact gelu."""

        def __init__(self, width, *, rngs):
            self.norm = nnx.LayerNorm(width, rngs=rngs)
            self.up = nnx.Linear(width, 2 * width, rngs=rngs)
            self.down = nnx.Linear(2 * width, width, rngs=rngs)

        def __call__(self, x):
            return x + self.down(nnx.gelu(self.up(self.norm(x)), approximate=False))


    class Gate(eqx.Module):
        """value(x) * sigmoid(gate(x)), of one example."""

        value: eqx.nn.Linear
        gate: eqx.nn.Linear

        def __init__(self, width, *, key):
            one, two = jax.random.split(key)
            self.value, self.gate = eqx.nn.Linear(width, width, key=one), eqx.nn.Linear(width, width, key=two)

        def __call__(self, x):
            return self.value(x) * jax.nn.sigmoid(self.gate(x))


    class Head(linen.Module):
        """tanh(Dense(x)), of half the width."""

        width: int

        @linen.compact
        def __call__(self, x):
            return jnp.tanh(linen.Dense(self.width // 2)(x))
'''

RECIPE = '''
    """Gold for hw1."""

    import jax
    import jax.numpy as jnp
    from flax import nnx

    import goldsmith as gs
    from ops import Block, Gate, Head, attend


    def normal(number, *shape):
        return jax.random.normal(jax.random.key(number), shape)


    def head(key):
        module = Head(6)
        return module, module.init(key, jnp.zeros((1, 6)))


    @gs.case
    def attention(case):
        """What attend returns, and what it passes back to q."""
        q, k, v = (case.input(name, lambda at=at: normal(at, 5, 4)) for at, name in enumerate("qkv"))
        case.record("y", attend(q, k, v), shape=(5, 4))
        case.record("passed_back", jax.grad(lambda q: (attend(q, k, v) ** 2).sum())(q))


    @gs.case
    def block(case):
        """The block in NNX."""
        model = case.model(Block, 6, rngs=nnx.Rngs(0), weights="stress")
        case.record("y", model(case.input("x", lambda: normal(3, 4, 6))))


    @gs.case
    def gate(case):
        """The gate in Equinox, over a batch."""
        model = case.model(Gate, 5, key=jax.random.key(1))
        case.record("y", jax.vmap(model)(case.input("x", lambda: normal(4, 3, 5))))


    @gs.case
    def dense(case):
        """The head in linen."""
        model = case.model(head, jax.random.key(2))
        case.record("y", model(case.input("x", lambda: normal(5, 3, 6))))


    if __name__ == "__main__":
        gs.main()
'''

RECIPE_FILE = "src/assignments/hw1/generate_fixtures.py"
FILES = exercise(SOLUTION, RECIPE)
REWRITTEN = {
    "scores = q @ k.T / jnp.sqrt(q.shape[-1])": "scores = jnp.einsum('id,jd->ij', q, k) * q.shape[-1] ** -0.5",
    "x + self.down(": "jax.jit(lambda x: x)(x) + self.down(",
    "self.value(x) * jax.nn.sigmoid(self.gate(x))": "self.value(x) / (1 + jnp.exp(-self.gate(x)))",
    "jnp.tanh(linen": "jnp.tanh(1 * linen",
}
MISTAKES = {
    "attend": {"jax.nn.softmax(scores, axis=-1)": "jax.nn.softmax(scores, axis=0)"},
    "Block": {", approximate=False": ""},
    "Gate": {"jax.nn.sigmoid(": "jax.nn.tanh("},
    "Head": {"jnp.tanh(": "jax.nn.relu("},
}
STARTED = {"import jax.numpy as jnp\n": "import jax.numpy as jnp\n    TABLE = jax.jit(jnp.sin)(jnp.arange(7.0))\n"}
"""Starts JAX's backend, with its threads, when the submission is imported."""
CASE_OF = {"attend": "attention", "Block": "block", "Gate": "gate", "Head": "dense"}


def changed(edits: dict[str, str]) -> str:
    text = SOLUTION
    for old, new in edits.items():
        assert old in text
        text = text.replace(old, new)
    return text


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    """A course with gold, whose tolerances are measured."""
    found = CourseOnDisk(tmp_path_factory.mktemp("in jax") / "course").write(FILES)
    made = found.run("generate", "hw1", calibrate=True)
    assert made.code == 0, made.out + made.err
    return found


def manifest(course: CourseOnDisk) -> Any:
    return json.loads((course.gold() / "manifest.json").read_text())


def test_gold_is_read_without_jax_and_its_noise_is_measured(course: CourseOnDisk) -> None:
    made = manifest(course)
    environment = made["provenance"]["environment"]
    assert {"jax", "flax", "equinox"} <= set(environment["versions"])
    assert environment["settings"]["jax_enable_x64"] == "False"
    assert {case["file"] for case in made["cases"]} == {f"{case['name']}.npz" for case in made["cases"]}
    for case in made["cases"]:
        judged = [item["tolerance"] for item in case["tensors"] if "tolerance" in item]
        assert judged
        for limit in judged:
            assert limit["kind"] == "measured"
            assert 0 < limit["noise"]["l2"] < limit["l2"] < 1e-4
    code = (
        "import sys, goldsmith; gold = goldsmith.load('hw1'); "
        "shape = gold['block'].state_dict['up.kernel'].shape; "
        "assert shape == (6, 12), shape; assert 'jax' not in sys.modules and 'torch' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=course.root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with np.load(course.gold() / "gate.npz") as archive:
        assert archive["state_dict/value.weight"].shape == (5, 5)
    assert read_arrays(course.gold() / "block.reference.safetensors")["output"].dtype == np.float64


def test_a_second_generate_changes_no_byte(course: CourseOnDisk) -> None:
    before = course.gold_bytes()
    assert "nothing to do" in course.run("generate", "hw1", calibrate=True).last_line
    run = course.run("verify", "hw1", "--reproduce")
    assert "reproduced bit for bit" in run.last_line, run.out + run.err
    assert course.gold_bytes() == before
    assert course.run("status").code == 0


def test_right_work_agrees_however_it_is_written(course: CourseOnDisk) -> None:
    course.write({"subs/right/ops.py": changed(REWRITTEN | STARTED)})
    run = course.run("check", "hw1", "subs/right")
    assert run.code == 0, run.out + run.err
    assert "subs/right: agrees with the gold of hw1 in all 4 cases." in run.out


def test_what_is_not_written_could_not_run(course: CourseOnDisk) -> None:
    (verdict,) = course.run("check", "hw1", "--json").json["submissions"]
    assert verdict["outcome"] == "could-not-run"
    assert {item["outcome"] for item in verdict["parts"]} == {"could-not-run"}


def test_a_class_is_graded_in_the_sandbox_and_each_mistake_named(course: CourseOnDisk, tmp_path: Path) -> None:
    files = {f"class/{part}/ops.py": changed(edits) for part, edits in MISTAKES.items()}
    CourseOnDisk(tmp_path).write({**files, "class/right/ops.py": changed(REWRITTEN)})
    run = course.run("grade", "hw1", str(tmp_path / "class"), "--output", str(tmp_path / "grades"), "--json")
    assert run.code == 0, run.out + run.err
    found = {item["name"]: item for item in run.json["submissions"]}
    assert all(item["sandbox"].startswith(probe().name) for item in found.values())
    assert {name: item["score"] for name, item in found.items()} == {"right": 4.0, **dict.fromkeys(MISTAKES, 3.0)}
    for part in MISTAKES:
        assert [case["name"] for case in found[part]["cases"] if case["outcome"] != "agrees"] == [CASE_OF[part]]
        assert found[part]["first_part"].partition(".")[0] == part


INITIAL = """@gs.case
    def initial(case):
        case.initial({})


    if __name__"""


def test_initial_weights_are_drawn_anew_from_the_keys_that_a_model_is_built_with(tmp_path: Path) -> None:
    hidden = RECIPE.replace("if __name__", INITIAL.format("lambda: head(jax.random.key(3))"))
    course = CourseOnDisk(tmp_path).write({**FILES, RECIPE_FILE: hidden})
    run = course.run("generate", "hw1")
    assert run.code == 3
    assert "comes out the same from every seed; hand over the key" in run.out + run.err
    course.write({RECIPE_FILE: RECIPE.replace("if __name__", INITIAL.format("head, jax.random.key(3)"))})
    assert course.run("generate", "hw1").code == 0
    (found,) = [case for case in manifest(course)["cases"] if case["name"] == "initial"]
    spread = next(item for item in found["tensors"] if item["path"].endswith("kernel.spread"))
    assert 0 < spread["tolerance"]["atol"] < 0.1
