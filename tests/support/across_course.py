"""A torch course and a JAX course of the same assignment, and work that is handed in for both, right and wrong."""

from __future__ import annotations

from pathlib import Path

from support.course import CourseOnDisk, edited, exercise

TORCH_SOLUTION = '''
    """Attention and an MLP."""

    import torch
    from torch import nn


    def softmax(scores):
        shifted = (scores - scores.max(dim=-1, keepdim=True).values).exp()
        return shifted / shifted.sum(dim=-1, keepdim=True)


    class MLP(nn.Module):
        def __init__(self, width, hidden):
            super().__init__()
            self.norm = nn.LayerNorm(width)
            self.up, self.down = nn.Linear(width, hidden), nn.Linear(hidden, width)

        def forward(self, x):
            return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


    class Attention(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.query, self.key, self.value = (nn.Linear(width, width, bias=False) for _ in range(3))

        def forward(self, x):
            scores = self.query(x) @ self.key(x).transpose(-1, -2) / x.shape[-1] ** 0.5
            return softmax(scores) @ self.value(x)
'''
TORCH_RECIPE = """
    import torch

    import goldsmith as gs
    from net import MLP, Attention, softmax


    @gs.case
    def rows_that_sum_to_one(case):
        scores = case.input("scores", lambda: 5 * torch.randn(3, 7))
        case.record("p", softmax(scores))


    @gs.case
    def mlp(case):
        model = case.model(MLP, 6, hidden=9, weights="stress")
        x = case.input("x", lambda: torch.randn(2, 5, 6))
        case.record("y", model(x))


    @gs.case
    def mlp_gradients(case):
        model = case.model(MLP, 6, hidden=9, weights="stress")
        x = case.input("x", lambda: torch.randn(2, 5, 6).requires_grad_())
        loss = model(x).pow(2).mean()
        loss.backward()
        case.record("loss", loss)
        case.record("of_x", x.grad)
        case.record_gradients(model)


    @gs.case
    def mlp_steps(case):
        model = case.model(MLP, 6, hidden=9, weights="stress", train=True)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        for x in case.input("batches", lambda: [torch.randn(4, 6) for _ in range(3)]):
            optimizer.zero_grad()
            model(x).pow(2).mean().backward()
            optimizer.step()
        case.record_weights(model)


    @gs.case
    def mlp_trained(case):
        model = case.model(MLP, 6, hidden=9, weights="stress", train=True)
        batches = case.input("batches", lambda: [torch.randn(4, 6) for _ in range(3)])
        loss = lambda model, x: model(x).pow(2).mean()
        case.record("losses", case.steps(model, loss, batches, optimizer="sgd", lr=0.1, momentum=0.9))
        case.record_weights(model)


    @gs.case
    def attention(case):
        model = case.model(Attention, 6, weights="stress")
        x = case.input("x", lambda: torch.randn(2, 5, 6))
        y = model(x)
        y.pow(2).mean().backward()
        case.record("y", y)
        case.record_gradients(model)
"""
NNX = """
    import jax
    import jax.numpy as jnp
    from flax import nnx


    def softmax(scores):
        shifted = jnp.exp(scores - scores.max(axis=-1, keepdims=True))
        return shifted / shifted.sum(axis=-1, keepdims=True)


    class MLP(nnx.Module):
        def __init__(self, width, hidden, *, rngs):
            self.norm = nnx.LayerNorm(width, epsilon=1e-5, rngs=rngs)
            self.up = nnx.Linear(width, hidden, rngs=rngs)
            self.down = nnx.Linear(hidden, width, rngs=rngs)

        def __call__(self, x):
            return x + self.down(nnx.gelu(self.up(self.norm(x)), approximate=False))


    class Attention(nnx.Module):
        def __init__(self, width, *, rngs):
            self.query = nnx.Linear(width, width, use_bias=False, rngs=rngs)
            self.key = nnx.Linear(width, width, use_bias=False, rngs=rngs)
            self.value = nnx.Linear(width, width, use_bias=False, rngs=rngs)

        def __call__(self, x):
            scores = self.query(x) @ jnp.swapaxes(self.key(x), -1, -2) / x.shape[-1] ** 0.5
            return softmax(scores) @ self.value(x)
"""
EQUINOX = """
    import equinox as eqx
    import jax
    import jax.numpy as jnp


    def softmax(scores):
        return jax.nn.softmax(scores, axis=-1)


    def each(layer, x):
        for _ in range(x.ndim - 1):
            layer = jax.vmap(layer)
        return layer(x)


    class MLP(eqx.Module):
        norm: eqx.nn.LayerNorm
        up: eqx.nn.Linear
        down: eqx.nn.Linear

        def __init__(self, width, hidden, *, key):
            one, two = jax.random.split(key)
            self.norm = eqx.nn.LayerNorm(width)
            self.up, self.down = eqx.nn.Linear(width, hidden, key=one), eqx.nn.Linear(hidden, width, key=two)

        def __call__(self, x):
            return x + each(self.down, jax.nn.gelu(each(self.up, each(self.norm, x)), approximate=False))


    class Attention(eqx.Module):
        query: eqx.nn.Linear
        key: eqx.nn.Linear
        value: eqx.nn.Linear

        def __init__(self, width, *, key):
            made = [eqx.nn.Linear(width, width, use_bias=False, key=item) for item in jax.random.split(key, 3)]
            self.query, self.key, self.value = made

        def __call__(self, x):
            scores = each(self.query, x) @ jnp.swapaxes(each(self.key, x), -1, -2) / x.shape[-1] ** 0.5
            return softmax(scores) @ each(self.value, x)
"""
LINEN = """
    import jax.numpy as jnp
    from flax import linen as nn


    def softmax(scores):
        return nn.softmax(scores, axis=-1)


    class MLP(nn.Module):
        width: int
        hidden: int

        @nn.compact
        def __call__(self, x):
            y = nn.Dense(self.hidden, name="up")(nn.LayerNorm(epsilon=1e-5, name="norm")(x))
            return x + nn.Dense(self.width, name="down")(nn.gelu(y, approximate=False))


    class Attention(nn.Module):
        width: int

        @nn.compact
        def __call__(self, x):
            query, key, value = (
                nn.Dense(self.width, use_bias=False, name=name)(x) for name in ("query", "key", "value")
            )
            return softmax(query @ jnp.swapaxes(key, -1, -2) / x.shape[-1] ** 0.5) @ value
"""
JAX_RECIPE = """
    import jax
    from flax import nnx

    import goldsmith as gs
    from net import MLP, Attention, softmax


    @gs.case
    def rows_that_sum_to_one(case):
        scores = case.input("scores", lambda: 5 * jax.random.normal(jax.random.key(1), (3, 7)))
        case.record("p", jax.jit(softmax)(scores))


    @gs.case
    def mlp(case):
        model = case.model(MLP, 6, hidden=9, rngs=nnx.Rngs(0), weights="stress")
        x = case.input("x", lambda: jax.random.normal(jax.random.key(2), (2, 5, 6)))
        case.record("y", model(x))


    @gs.case
    def mlp_gradients(case):
        model = case.model(MLP, 6, hidden=9, rngs=nnx.Rngs(0), weights="stress")
        x = case.input("x", lambda: jax.random.normal(jax.random.key(3), (2, 5, 6)))
        loss, gradients = nnx.value_and_grad(lambda model: (model(x) ** 2).mean())(model)
        case.record("loss", loss)
        case.record("gradients", nnx.to_pure_dict(gradients))


    @gs.case
    def mlp_trained(case):
        model = case.model(MLP, 6, hidden=9, rngs=nnx.Rngs(0), weights="stress", train=True)
        batches = case.input("batches", lambda: [jax.random.normal(jax.random.key(at), (4, 6)) for at in range(3)])
        loss = lambda model, x: (model(x) ** 2).mean()
        case.record("losses", case.steps(model, loss, batches, optimizer="adamw", lr=1e-2))
        case.record_weights(model)


    @gs.case
    def attention(case):
        model = case.model(Attention, 6, rngs=nnx.Rngs(0), weights="stress")
        x = case.input("x", lambda: jax.random.normal(jax.random.key(4), (2, 5, 6)))
        case.record("y", model(x))
        case.record("of_x", jax.grad(lambda x: (model(x) ** 2).mean())(x))
"""


INSIDE = """
    import torch

    import goldsmith as gs
    from net import MLP, softmax


    @gs.case
    def as_it_is(case):
        model = case.model(MLP, 6, hidden=9)
        case.record("y", model(case.input("x", lambda: torch.randn(2, 6))))


    @gs.case
    def of_a_layer(case):
        model = case.model(MLP, 6, hidden=9)
        case.record("y", model.up(case.input("x", lambda: torch.randn(2, 6))))


    @gs.case
    def layers(case):
        model = case.model(MLP, 6, hidden=9)
        for module in model.modules():
            module.requires_grad_(False)
        case.record("y", model(case.input("x", lambda: torch.randn(2, 6))))


    @gs.case
    def changed(case):
        x = case.input("x", lambda: torch.randn(2, 6))
        case.record("y", softmax(x))
        x.mul_(2)
        case.record("x", x)
"""


def torch_course(folder: Path, recipe: str = TORCH_RECIPE, *, calibrate: bool = False) -> CourseOnDisk:
    """A course whose gold is torch's."""
    return course_of(folder, TORCH_SOLUTION, recipe, calibrate=calibrate)


def jax_course(folder: Path) -> CourseOnDisk:
    """A course whose gold is JAX's."""
    return course_of(folder, NNX, JAX_RECIPE, calibrate=True)


def course_of(folder: Path, solution: str, recipe: str, *, calibrate: bool) -> CourseOnDisk:
    course = CourseOnDisk(folder).write(exercise(solution, recipe, module="net"))
    return course.with_gold(calibrate=calibrate)


def hand_in(course: CourseOnDisk, name: str, source: str, *changes: tuple[str, str]) -> str:
    """A submission in a folder of its own: the source with each `(old, new)` replaced."""
    folder = course.root.parent / "handed in" / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "net.py").write_text(edited(source, *changes))
    return str(folder)
