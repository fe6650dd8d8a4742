"""JAX in processes that are forked, and in those that a sandbox surrounds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from goldsmith.sandbox.limits import clean_environment
from support.course import CourseOnDisk, exercise

FORK = """
import os, sys
import jax
from goldsmith.frameworks.framework import framework
from goldsmith.frameworks.jax.process import is_started

threads = len(os.listdir("/proc/self/task"))
framework("jax").preload()
assert not is_started()
assert len(os.listdir("/proc/self/task")) == threads
pid = os.fork()
if not pid:
    import jax.numpy as jnp

    os._exit(int(jax.jit(jnp.sum)(jnp.arange(4.0))))
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 6
"""


def test_what_is_preloaded_starts_no_backend_so_that_children_can() -> None:
    done = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    assert not done.stderr


def test_in_what_jax_computes_is_the_same_in_a_sandbox_and_nothing_else_gets_there() -> None:
    kept = {"JAX_ENABLE_X64": "1", "XLA_FLAGS": "--xla_cpu_max_isa=SSE4_2", "JAX_DEFAULT_MATMUL_PRECISION": "highest"}
    secret = {"JAX_COORDINATOR_ADDRESS": "10.0.0.1", "TOKEN": "secret"}
    found = clean_environment("/home", environment={**kept, **secret})
    assert kept.items() <= found.items()
    assert not secret.keys() & found.keys()


def test_doctor_probes_the_sandbox_before_it_asks_for_devices() -> None:
    command = [sys.executable, "-c", "from goldsmith.cli import run; run()", "doctor"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert "jax" in done.stdout
    assert "fork" not in done.stderr


def test_a_draft_says_that_arrays_are_made_at_import_and_does_not_hang(tmp_path: Path) -> None:
    text = "import jax.numpy as jnp\n\nTABLE = jnp.arange(3.0)\n\n\ndef f(x):\n    {}\n"
    course = CourseOnDisk(tmp_path).write(
        {
            "src/assignments/hw1/ops.py": text.format("raise NotImplementedError"),
            "private/solutions/hw1/ops_solution.py": text.format("return TABLE @ x"),
        }
    )
    run = course.run("generate", "hw1", "--kind", "outputs")
    assert run.code == 3
    assert "f: arrays of jax are made when its module is imported; make them in functions" in run.out + run.err


WITHOUT_JAX = """
from importlib.machinery import PathFinder

found = PathFinder.find_spec


def find_spec(name, path=None, target=None):
    missing = name.partition(".")[0] in ("jax", "jaxlib", "flax", "equinox", "optax")
    return None if missing else found(name, path, target)


PathFinder.find_spec = find_spec
"""
RECIPE = """
    import jax.numpy as jnp

    import goldsmith as gs
    from ops import double


    @gs.case
    def doubled(case):
        case.record("y", double(case.input("x", lambda: jnp.arange(3.0))))
"""
FILES = exercise("def double(x):\n    return x * 2\n", RECIPE)


def test_where_jax_is_not_installed_that_is_said(tmp_path: Path) -> None:
    course = CourseOnDisk(tmp_path / "course").write(FILES)
    assert course.run("generate", "hw1").code == 0
    CourseOnDisk(tmp_path / "hidden").write({"sitecustomize.py": WITHOUT_JAX})
    missing = {"PYTHONPATH": str(tmp_path / "hidden")}
    run = course.run("check", "hw1", "private/solutions/hw1", **missing)
    assert run.code == 3
    assert "No module named 'jax'" in run.out + run.err
    run = course.run("generate", "hw1", "--force", **missing)
    assert run.code == 3
    assert "needs jax, which is not installed" in run.out + run.err


def test_compiled_code_is_kept_but_never_for_strangers(tmp_path: Path) -> None:
    course = CourseOnDisk(tmp_path / "course").write(FILES)
    caches = {"XDG_CACHE_HOME": str(tmp_path / "caches")}

    def kept() -> set[Path]:
        return set((tmp_path / "caches").rglob("*-cache"))

    assert course.run("generate", "hw1", **caches).code == 0
    known = kept()
    assert known
    other = {"class/ada/ops.py": "import jax.numpy as jnp\n\n\ndef double(x):\n    return jnp.cosh(x * 0) * x * 2\n"}
    CourseOnDisk(tmp_path).write(other)
    run = course.run("grade", "hw1", str(tmp_path / "class"), "--json", **caches)
    assert [item["outcome"] for item in run.json["submissions"]] == ["agrees"]
    assert kept() == known
