"""Gradients in cases for JAX, which differentiates functions: of a result with respect to arrays, and to what a model
learns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from goldsmith.drafts.recipe_text import Block
from goldsmith.drafts.specs import Array, Spec
from goldsmith.drafts.specs_of_values import library_of
from goldsmith.gold.arrays import is_floating

_LIBRARY = "jax"


def gradient_blocks(
    expression: str, result: Any, names: Mapping[str, str], arguments: Mapping[str, Spec], models: Sequence[str]
) -> Iterator[Block]:
    """Yield blocks for the gradients of what an expression gives, which stand after the block `output`; `names` are
    those of the arguments there."""
    if library_of(result) != _LIBRARY or not is_floating(result):
        return
    sizes = ", ".join(map(str, result.shape))
    before = [f'direction = case.input("direction", lambda: jnp.asarray(np.random.randn({sizes})))'] if sizes else []
    total = f"({expression} * direction).sum()" if sizes else expression
    records: list[tuple[str, ...]] = [
        (f'case.record("gradient_of_{key}", jax.grad(lambda {names[key]}: {total})({names[key]}))',)
        for key, spec in arguments.items()
        if isinstance(spec, Array) and spec.library == _LIBRARY and spec.is_free and spec.is_floating
        if names[key].isidentifier()
    ]
    for model in models[:1]:
        step = f'case.steps({model}, lambda {model}: {total}, [()], optimizer="sgd", lr=0.1)'
        records.append((step, f"case.record_gradients({model})"))
    for number, lines in enumerate(records):
        label = f"gradients {number + 1}" if number else "gradients"
        yield Block(label, (*(before if not number else ()), *lines), needs="gradients" if number else "output")
