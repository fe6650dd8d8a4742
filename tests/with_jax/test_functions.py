"""Functions of JAX, kept by `gold.check` and recorded by recipes: judged by their own noise and in float64."""

from __future__ import annotations

import pytest

from goldsmith.frameworks.framework import framework
from goldsmith.gold.manifest import read_manifest
from support.course import CourseOnDisk
from support.pytest_values import KeepingTests

framework("jax").preload()  # before there is a pytester, which forgets what is imported after it

CHECK = """
    import jax, jax.numpy as jnp

    W = jax.random.normal(jax.random.key(1), (32, 32))

    @jax.jit
    def f(x):
        h = jnp.tanh(x @ W)
        return {"sum": h.sum(0), "soft": jax.nn.softmax(h, -1)}

    def test_it(gold):
        gold.check(f, jax.random.normal(jax.random.key(0), (16, 32)))
"""
SAME = ("h.sum(0)", "h[::-1].sum(0)"), ("jax.nn.softmax(h, -1)", "jnp.exp(h) / jnp.exp(h).sum(-1, keepdims=True)")


def test_a_function_in_another_order_of_operations_agrees(keeping: KeepingTests) -> None:
    keeping.record(CHECK)
    keeping.run().assert_outcomes(passed=1)
    for old, new in SAME:
        keeping.change(old, new)
    keeping.change("    @jax.jit\n".lstrip(), "")
    keeping.run().assert_outcomes(passed=1)
    assert {"values.npz", "values.reference.safetensors"} <= {
        path.name for path in (keeping.folder / "test_it").iterdir()
    }


@pytest.mark.parametrize("wrong", ["softmax(h * (1 + 3e-6), -1)", "softmax(h.astype(jnp.bfloat16), -1)"])
def test_a_small_mistake_is_seen(keeping: KeepingTests, wrong: str) -> None:
    keeping.record(CHECK)
    keeping.change("softmax(h, -1)", wrong)
    result = keeping.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*soft:*out of tolerance*"])


VALUES = """
    import jax, jax.numpy as jnp

    def test_it(gold):
        x = jnp.linspace(0, 3, 8)
        gold.check({"half": x.astype(jnp.bfloat16), "quarter": x.astype(jnp.float8_e4m3fn), "n": x.astype(jnp.int4)})
        gold.check(lambda key, x: x + jax.random.normal(key, (8,)), (jax.random.key(0), x), name="drawn")
        gold.check(jax.value_and_grad(lambda y: jnp.sum(jnp.tanh(y) ** 2)), x, name="gradient")
        gold.check(jax.jit(lambda y: y * 3.3, donate_argnums=0), jnp.ones(8), name="donated")
"""


def test_values_of_every_dtype_and_functions_of_every_kind_are_kept(keeping: KeepingTests) -> None:
    keeping.record(VALUES)
    keeping.run().assert_outcomes(passed=1)
    keeping.change("astype(jnp.float8_e4m3fn)", "astype(jnp.float8_e4m3fn) * jnp.float8_e4m3fn(1.25)")
    result = keeping.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*quarter: * of 8 elements out of tolerance*"])


def test_a_random_key_is_not_kept(keeping: KeepingTests) -> None:
    result = keeping.run("--gold-update", tests="import jax\ndef test_it(gold): gold.check(jax.random.key(0))\n")
    result.stdout.fnmatch_lines(["*value is a random key*jax.random.key_data(key)*"])


def test_torch_is_not_imported_for_it(keeping: KeepingTests) -> None:
    keeping.write(CHECK + "    " * 2 + "import sys; assert 'TORCH'.lower() not in sys.modules\n")
    keeping.pytester.runpytest_subprocess("--gold-update", "-p", "no:cacheprovider").assert_outcomes(passed=1)


FILES = {
    "attention.py": """
        import jax
        import jax.numpy as jnp

        def attend(q, k, v):
            scores = q @ k.T / jnp.sqrt(q.shape[-1])
            return jax.nn.softmax(scores, axis=-1) @ v
    """,
    "right.py": """
        import jax
        import jax.numpy as jnp

        @jax.jit
        def attend(q, k, v):
            scores = jnp.einsum("id,jd->ij", q, k) * q.shape[-1] ** -0.5
            shares = jnp.exp(scores - scores.max(-1, keepdims=True))
            return jnp.einsum("ij,jd->id", shares, v) / shares.sum(-1, keepdims=True)
    """,
    "wrong.py": """
        import jax

        def attend(q, k, v):
            return jax.nn.softmax(q @ k.T / (q.shape[-1] ** 0.5 + 1e-5), axis=-1) @ v
    """,
    "cases.py": """
        import jax
        import goldsmith
        from attention import attend

        def drawn(number):
            return jax.random.normal(jax.random.key(number), (16, 32))

        @goldsmith.case
        def attention(case):
            given = [case.input(name, lambda: drawn(number)) for number, name in enumerate("qkv")]
            case.record("output", attend(*given))
    """,
}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    found = CourseOnDisk(tmp_path_factory.mktemp("functions")).write(FILES)
    run = found.run("record", "cases.py", calibrate=True, new_workers=True)
    assert run.code == 0, run.err
    return found


def test_the_noise_of_a_recipe_is_measured_in_its_operations(recorded: CourseOnDisk) -> None:
    manifest = read_manifest(recorded.root / "cases.gold")
    (output,) = (item for item in manifest.cases[0].tensors if item.path == "output")
    tolerance = output.tolerance
    assert tolerance is not None
    assert tolerance.noise is not None
    assert tolerance.kind == "measured"
    assert 2.0**-26 < tolerance.noise.l2 < 1e-5
    assert tolerance.noise.float64 is not None
    environment = manifest.provenance.environment
    assert environment.versions
    assert environment.versions["jax"]
    assert environment.settings
    assert environment.settings["jax_enable_x64"] == "False"
    assert environment.torch is None
    assert manifest.cases[0].file == "attention.npz"


@pytest.mark.parametrize(("module", "code", "word"), [("right", 0, "agrees"), ("wrong", 1, "differs")])
def test_a_recipe_judges_a_function_of_jax(recorded: CourseOnDisk, module: str, code: int, word: str) -> None:
    run = recorded.run("check", "cases.py", "--with", f"attention={module}.py", new_workers=True)
    assert (run.code, f"{module}.py: {word}" in run.out) == (code, True), run.out
