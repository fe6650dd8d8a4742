"""Models of JAX in a test: `gold(…).check(model)` puts gold's weights into them, in a course of either library."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from support.across_nested import EQUINOX_NET, NNX_NET, TORCH_NET, jax_net_course, torch_net_course
from support.course import CourseOnDisk

TEST = """
    import eqx_net
    import jax
    import nnx_net
    import pytest
    import torch_net
    from flax import linen, nnx

    MODELS = {
        "nnx": lambda: nnx_net.Net(6, 9, 2, rngs=nnx.Rngs(1)),
        "equinox": lambda: eqx_net.Net(6, 9, 2, key=jax.random.key(1)),
        "torch": lambda: torch_net.Net(6, 9, 2).train(),
    }

    @pytest.mark.parametrize("kind", MODELS)
    def test_right(gold, kind):
        model = MODELS[kind]()
        assert gold("hw1")["called"].check(model)
        assert kind != "torch" or model.training

    def test_wrong(gold, monkeypatch):
        monkeypatch.setattr(nnx_net, "softmax", lambda scores: jax.nn.softmax(scores, axis=-2))
        with pytest.raises(AssertionError, match="differs"):
            gold("hw1")["called"].check(MODELS["nnx"]())

    def test_other_sizes(gold):
        with pytest.raises(AssertionError, match="do not fit into Net"):
            gold("hw1")["called"].check(eqx_net.Net(6, 8, 2, key=jax.random.key(1)))

    def test_a_pair(gold):
        layer = linen.Dense(3)
        with pytest.raises(AssertionError, match="do not fit into LinenModel"):
            gold("hw1")["called"].check((layer, layer.init(jax.random.key(0), jax.numpy.ones((1, 6)))))
"""


@pytest.mark.timeout(600)
@pytest.mark.parametrize("make", [torch_net_course, jax_net_course])
def test_a_model_is_checked_in_a_test(tmp_path: Path, make: Callable[[Path], CourseOnDisk]) -> None:
    course = make(tmp_path / "course")
    folder = course.root / "tests/public"
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (("nnx", NNX_NET), ("eqx", EQUINOX_NET), ("torch", TORCH_NET)):
        (folder / f"{name}_net.py").write_text(text)
    (folder / "test_models.py").write_text(textwrap.dedent(TEST))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)]
    done = subprocess.run(command, cwd=course.root, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
