"""Right variants of a source: they do what it does, whatever goes in, and there are enough of them."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from goldsmith.source_code.rewriting.right_variants import REWRITES, right_variants, whole_variants

SOURCE = textwrap.dedent('''
    """Layers."""
    import math
    from pathlib import Path

    import numpy as np
    import torch
    import torch.nn.functional as F
    from torch import nn


    def scaled(x, factor, shift=0.0):
        return x * factor + shift


    def softmax_loss(x, y):
        """Return loss and gradient."""
        shifted = x - x.max(axis=1, keepdims=True)
        total = np.exp(shifted).sum(axis=1, keepdims=True)
        logs = shifted - np.log(total)
        loss = -logs[np.arange(len(y)), y].mean()
        grad = np.exp(logs)
        grad[np.arange(len(y)), y] -= 1
        return loss, grad / len(y)


    def sgd(w, dw, config=None):
        if config is None:
            config = {}
        rate = config.setdefault("lr", 1e-2)
        w -= rate * dw
        return w, config


    def attend(q, k, v, mask):
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        scores = scores.masked_fill(mask, float("-inf"))
        weights = F.softmax(scores, dim=-1)
        first = torch.where(mask, weights, -weights)
        return torch.exp(weights @ v), F.log_softmax(first, dim=-1), torch.sqrt((v ** 2).mean(dim=-1))


    def total_loss(logits, labels):
        loss = 0.0
        for _ in range(2):
            loss += F.cross_entropy(logits, labels)
        smooth = scaled(loss, 0.5, 0.1)
        return smooth if smooth > 0 else -smooth


    def pairs(words, folder):
        found = [word + "!" for word in words] + ["end"]
        place = Path(folder) / "x"
        if len(found) > 2:
            kept = found * 2
        else:
            kept = found
        if not words:
            return [], str(place), 0
        return kept, str(place), len(kept) / 2


    def rebuilt(x):
        u, s, vt = np.linalg.svd(x, full_matrices=False)
        values, vectors = torch.linalg.eigh(torch.tensor(x @ x.T))
        q, r = np.linalg.qr(x)
        return (u * s) @ vt, vectors * values @ vectors.T, q @ r


    def counted(n):
        for at in range(n):
            yield at - 1


    class Norm(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.scale = nn.Parameter(torch.ones(dim))

        def forward(self, x):
            mean = x.mean(-1, keepdim=True)
            power = (x - mean).pow(2).sum(-1, keepdim=True)
            high = np.maximum(1, 2)
            return (x - mean) / torch.sqrt(power) * self.scale * high
''').encode()

CALLS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "softmax_loss": lambda m: m["softmax_loss"](np.random.randn(5, 7), np.random.randint(0, 7, 5)),
    "of whole numbers": lambda m: m["scaled"](np.arange(5), 3, 2),
    "of a list": lambda m: m["scaled"]([1, 2], 2, [3]),
    "sgd": lambda m: m["sgd"](np.random.randn(3), np.random.randn(3)),
    "attend": lambda m: m["attend"](
        torch.randn(2, 5, 8), torch.randn(2, 5, 8), torch.randn(2, 5, 5), torch.ones(5, 5).triu(1).bool()
    ),
    "total_loss": lambda m: m["total_loss"](torch.randn(5, 7), torch.randint(0, 7, (5,))),
    "pairs": lambda m: (m["pairs"](["a", "b"], "/x"), m["pairs"]([], "/x")),
    "rebuilt": lambda m: m["rebuilt"](np.random.randn(5, 4)),
    "counted": lambda m: list(m["counted"](3)),
    "Norm": lambda m: m["Norm"](7)(torch.randn(3, 7)),
}


def results(content: bytes) -> dict[str, Any]:
    module: dict[str, Any] = {"__name__": "variant"}
    exec(compile(content, "variant", "exec"), module)
    found = {}
    for name, call in CALLS.items():
        np.random.seed(1)
        torch.manual_seed(1)
        found[name] = call(module)
    return found


def are_close(one: Any, two: Any) -> bool:
    if isinstance(one, tuple | list):
        return type(one) is type(two) and len(one) == len(two) and all(map(are_close, one, two))
    if isinstance(one, torch.Tensor):
        return one.dtype == two.dtype and torch.allclose(one, two, rtol=1e-5, atol=1e-6)
    if isinstance(one, np.ndarray | float):
        return bool(np.allclose(one, two))
    return bool(one == two)


def test_every_variant_does_what_the_source_does() -> None:
    expected = results(SOURCE)
    variants = whole_variants(SOURCE, most=len(REWRITES) + 8)  # every rewrite at every place, then mixtures
    assert len(variants) == len(REWRITES) + 8
    for variant in variants:
        found = results(variant.content)
        for name, value in expected.items():
            assert are_close(value, found[name]), f"{name} in {variant.name}:\n{variant.content.decode()}"


def test_every_rewrite_has_a_place_in_a_file_that_has_everything() -> None:
    used = {item.rewrite for item in right_variants(SOURCE)}
    assert used == {item.name for item in REWRITES}


def test_rounding_differs_where_sums_are_taken_in_another_order() -> None:
    (variant,) = [item for item in right_variants(SOURCE, ["attend"]) if item.name == "attend/product-in-halves"]
    torch.manual_seed(0)
    q, mask = torch.randn(3, 64, 64), torch.zeros(64, 64, dtype=torch.bool)
    one, two = {}, {}
    exec(SOURCE, one)
    exec(variant.content, two)
    assert not torch.equal(one["attend"](q, q, q, mask)[0], two["attend"](q, q, q, mask)[0])


def test_a_variant_names_its_part_and_line() -> None:
    (variant,) = [item for item in right_variants(SOURCE, ["Norm.forward"]) if item.rewrite == "mean-by-sum"]
    assert variant.part == "Norm.forward"
    assert SOURCE.decode().split("\n")[variant.line - 1].strip() == "mean = x.mean(-1, keepdim=True)"
    assert {item.part for item in right_variants(SOURCE, ["Norm"])} == {"Norm.__init__", "Norm.forward"}


def test_a_short_function_has_twenty_variants() -> None:
    source = b"def f(x, y):\n    z = x - y\n    return z * 2 + 1\n"
    found = whole_variants(source, most=24)
    assert len({item.content for item in found}) >= 20
    assert [item.content for item in whole_variants(source, most=24)] == [item.content for item in found]


def test_what_is_changed_in_place_by_contract_stays_so() -> None:
    source = b'def step(w, g):\n    """Change w in place."""\n    w -= g\n    return w\n'
    assert not [item for item in right_variants(source) if item.rewrite == "not-in-place"]


@pytest.mark.parametrize(
    "source",
    [
        b"def f(:\n",
        b"x = 1\n",
        b"",
        b"@torch.jit.script\ndef f(x):\n    return x + 1\n",
        b"async def f(x):\n    pass\n",
    ],
)
def test_what_cannot_be_rewritten_has_no_variants(source: bytes) -> None:
    assert not list(right_variants(source))
    assert not whole_variants(source)


def test_tabs_and_other_encodings_survive() -> None:
    text = "# -*- coding: latin-1 -*-\nclass A:\n\tdef f(self, x):\n\t\tname = 'é'\n\t\treturn name * x\n"
    source = f"{text}\tdef g(self):\n\t\treturn 1\n".encode("latin-1")
    found = list(right_variants(source))
    assert found
    for variant in found:
        space: dict[str, Any] = {}
        exec(compile(variant.content, "variant", "exec"), space)
        assert space["A"]().f(2) == "éé"


def test_a_variant_has_the_other_sign_where_a_decomposition_leaves_it_open() -> None:
    source = b"import numpy as np\n\n\ndef axes(x):\n    return np.linalg.svd(x)[2]\n"
    (variant,) = [item for item in right_variants(source) if item.rewrite == "factors-negated"]
    found = []
    for content in (source, variant.content):
        module: dict[str, Any] = {}
        exec(compile(content, "variant", "exec"), module)
        found.append(module["axes"](np.arange(12.0).reshape(4, 3) ** 2))
    assert np.allclose(found[0], -found[1])
