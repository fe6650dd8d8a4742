"""An attacker who has a sketch, knows how it was made and the tensor's mean, and wants the tensor."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np

from goldsmith.gold.sketches.sketch import Sketch, signs

Array = Any


def equations(sketch: Sketch) -> tuple[Array, Array]:
    """The matrix and the right side of what is known: matrix @ tensor = right."""
    matrix = signs(0, sketch.size, sketch.count).T / np.sqrt(sketch.size)
    return matrix, sketch.sums * sketch.rms


def least_squares(sketch: Sketch, prior: Array) -> Array:
    """The nearest tensor to `prior` that the sketch fits: optimal where nothing else is known."""
    matrix, right = equations(sketch)
    moved = np.linalg.lstsq(matrix, right - matrix @ prior.reshape(-1), rcond=None)[0]
    return prior + moved.reshape(prior.shape)


def cosine_basis(size: int) -> Array:
    steps = np.arange(size)
    basis = np.cos(np.pi * (steps[:, None] + 0.5) * steps / size) * np.sqrt(2 / size)
    basis[:, 0] /= np.sqrt(2)
    return basis


def bases(shape: tuple[int, ...]) -> Iterator[Array]:
    """Matrices whose columns are what the tensor may be made of few of: single elements, and waves along some axes."""
    yield np.eye(int(np.prod(shape)))
    for axes in [(axis,) for axis in range(len(shape))] + [tuple(range(len(shape)))]:
        found = np.eye(1)
        for axis, size in enumerate(shape):
            found = np.kron(found, cosine_basis(size) if axis in axes else np.eye(size))
        yield found


def pursue(sketch: Sketch, prior: Array, basis: Array) -> Array:
    """Orthogonal matching pursuit: the coefficient that explains most, then the next, as long as that is determined.
    Of all these guesses the attacker is given the best."""
    matrix, right = equations(sketch)
    rest = right - matrix @ prior.reshape(-1)
    columns, chosen, found = matrix @ basis, [], [prior]
    sizes = np.linalg.norm(columns, axis=0) + 1e-12
    left = rest
    for _ in range(max(sketch.count // 2, 1)):
        chosen.append(int(np.argmax(np.abs(left @ columns) / sizes)))
        values = np.linalg.lstsq(columns[:, chosen], rest, rcond=None)[0]
        left = rest - columns[:, chosen] @ values
        found.append(prior + (basis[:, chosen] @ values).reshape(prior.shape))
    return found


def leading_waves(sketch: Sketch, prior: Array) -> list[Array]:
    """Solve for the lowest frequencies of all axes: what a smooth tensor is made of."""
    matrix, right = equations(sketch)
    rest = right - matrix @ prior.reshape(-1)
    found = []
    for share in (0.3, 0.6, 1.0):
        kept = [max(1, round(size * share)) for size in prior.shape]
        while np.prod(kept) > sketch.count * 0.8 and max(kept) > 1:
            kept[int(np.argmax(kept))] -= 1
        basis = np.eye(1)
        for size, count in zip(prior.shape, kept, strict=True):
            basis = np.kron(basis, cosine_basis(size)[:, :count])
        values = np.linalg.lstsq(matrix @ basis, rest, rcond=None)[0]
        found.append(prior + (basis @ values).reshape(prior.shape))
    return found


def repeated(sketch: Sketch, prior: Array) -> list[Array]:
    """Solve for a tensor that is the same all along some axes."""
    matrix, right = equations(sketch)
    rest = right - matrix @ prior.reshape(-1)
    found = []
    for constant in product([False, True], repeat=prior.ndim):
        if any(constant):
            basis = np.eye(1)
            for size, same in zip(prior.shape, constant, strict=True):
                basis = np.kron(basis, np.ones((size, 1)) if same else np.eye(size))
            values = np.linalg.lstsq(matrix @ basis, rest, rcond=None)[0]
            found.append(prior + (basis @ values).reshape(prior.shape))
    return found


def low_rank(sketch: Sketch, prior: Array, rank: int = 1) -> list[Array]:
    """Solve for the two factors of a matrix in turn, for every matrix that the tensor unfolds to."""
    matrix, right = equations(sketch)
    rest = right - matrix @ prior.reshape(-1)
    source, found = np.random.default_rng(0), []
    for split in range(1, prior.ndim):
        rows = int(np.prod(prior.shape[:split]))
        left = source.standard_normal((rows, rank))
        for _ in range(30):
            moved = matrix.reshape(sketch.count, rows, -1)
            right_factor = np.linalg.lstsq(
                np.einsum("kab,ar->kbr", moved, left).reshape(sketch.count, -1), rest, rcond=1e-6
            )[0].reshape(-1, rank)
            left = np.linalg.lstsq(
                np.einsum("kab,br->kar", moved, right_factor).reshape(sketch.count, -1), rest, rcond=1e-6
            )[0].reshape(rows, rank)
        found.append(prior + (left @ right_factor.T).reshape(prior.shape))
    return found


def of_an_alphabet(sketch: Sketch, values: tuple[float, ...], most: int = 4096) -> list[Array]:
    """Try all values of as many elements as there are too few equations, and solve for the others."""
    matrix, right = equations(sketch)
    free = max(sketch.size - sketch.count, 0)
    if len(values) ** free > most:
        return []
    found = []
    for chosen in product(values, repeat=free):
        rest = right - matrix[:, :free] @ np.array(chosen) if free else right
        solved = np.linalg.lstsq(matrix[:, free:], rest, rcond=None)[0]
        nearest = np.array(values)[np.abs(solved[:, None] - np.array(values)).argmin(axis=1)]
        guess = np.concatenate([chosen, nearest])
        if np.allclose(matrix @ guess, right, atol=1e-4):
            found.append(guess.reshape(sketch.shape))
    return found


def best_attack(sketch: Sketch, tensor: Array, prior: Array | None = None) -> float:
    """The smallest error of all attacks over the prior's, which is the tensor's mean unless the attacker has better."""
    prior = np.full(tensor.shape, tensor.mean()) if prior is None else prior
    attacks: list[Callable[[], list[Array]]] = [
        lambda: [least_squares(sketch, prior)],
        lambda: leading_waves(sketch, prior),
        lambda: repeated(sketch, prior),
        lambda: [*low_rank(sketch, prior), *low_rank(sketch, prior, 2)],
        lambda: of_an_alphabet(sketch, (0.0, 1.0)),
        *((lambda basis=basis: pursue(sketch, prior, basis)) for basis in bases(tensor.shape)),
    ]
    size = np.linalg.norm(tensor - prior)
    return min(float(np.linalg.norm(guess - tensor) / size) for attack in attacks for guess in attack())
