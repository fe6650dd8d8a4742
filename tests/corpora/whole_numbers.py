"""Functions whose results depend on whole numbers that are kept in floating point: rounded, counted, chosen, bucketed.

Rounding decides nothing in any of them but those in `ON_AN_EDGE`: there a number lies where two choices meet, and
another order of the same operations takes the other one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional

Function = Callable[[Any], Any]
ROWS, WIDTH, KINDS = 24, 8, 5
_draw = torch.Generator().manual_seed(11)
TABLE = torch.randn(64, WIDTH, generator=_draw)
EXPERTS = torch.randn(KINDS, WIDTH, WIDTH, generator=_draw) / 3
ROUTER = torch.randn(WIDTH, KINDS, generator=_draw)


def inputs() -> Any:
    return torch.randn(ROWS, WIDTH, generator=torch.Generator().manual_seed(5)) * 3


def rows(numbers: Any) -> Any:
    """Look up a table by whole numbers that are not integers yet."""
    return TABLE[numbers.long().clamp(0, len(TABLE) - 1)]


def chosen(x: Any) -> Any:
    return (x @ ROUTER).argmax(-1)


def one_hot(x: Any) -> Any:
    return functional.one_hot(chosen(x), KINDS).to(x.dtype)


def positions(x: Any) -> Any:
    """Positions among the rows of the same kind, as mixtures of experts count them."""
    return (one_hot(x).cumsum(0) * one_hot(x)).sum(-1) - 1


def experts(x: Any) -> Any:
    found = torch.zeros_like(x)
    for number in range(KINDS):
        here = (one_hot(x)[:, number] > 0.5).nonzero()[:, 0]
        found[here] = x[here] @ EXPERTS[number].to(x.dtype)
    return found


def counted_in_place(x: Any) -> Any:
    count = torch.zeros(len(x), dtype=x.dtype)
    for column in x.T:
        count += (column > 0).to(x.dtype)
    return rows(count)


def steps_of_an_optimiser(x: Any) -> Any:
    step, found = torch.zeros((), dtype=x.dtype), []
    for _ in range(7):
        step += 1.0
        found.append(rows(step.reshape(1))[0] / (1 - 0.9**step))
    return torch.stack(found)


def run_lengths(x: Any) -> Any:
    length, found = torch.zeros(WIDTH, dtype=x.dtype), []
    for row in x:
        length = (length + 1) * (row > 0)
        found.append(length)
    return rows(torch.stack(found).sum(-1))


def quantised(x: Any) -> Any:
    scale = x.abs().amax() / 7.3
    return (x / scale).round().clamp(-7, 7) * scale


def straight_through(x: Any) -> Any:
    return x + (x.round() - x).detach()


def sinusoids(x: Any) -> Any:
    at = torch.arange(ROWS, dtype=x.dtype)[:, None]
    return x + torch.sin(at / 100 ** (torch.arange(WIDTH, dtype=x.dtype) / WIDTH))


FUNCTIONS: dict[str, Function] = {
    "round": lambda x: rows(x.round() + 20),
    "floor": lambda x: rows((x + 20).floor()),
    "ceil": lambda x: rows((x + 20).ceil()),
    "trunc": lambda x: rows((x + 20).trunc()),
    "fix of a negative": lambda x: rows(-torch.fix(-x.abs())),
    "div with a rounding mode": lambda x: rows(torch.div(x + 20, 2.3, rounding_mode="floor")),
    "div of whole numbers": lambda x: rows((x.round() + 20) * 6 / 3),
    "floor_divide": lambda x: rows((x + 20) // 1.7),
    "remainder of whole numbers": lambda x: rows((x.round() + 40) % 7),
    "fmod": lambda x: rows(torch.fmod(x.round() + 40, 7)),
    "histc": lambda x: rows(torch.histc(x.reshape(-1), bins=9, min=-9.1, max=9.3)),
    "bincount": lambda x: rows(torch.bincount(chosen(x), minlength=KINDS).to(x.dtype)),
    "weighted bincount": lambda x: rows(torch.bincount(chosen(x), weights=torch.ones(ROWS)).to(x.dtype)),
    "one-hot product": lambda x: rows(one_hot(x) @ torch.arange(1.0, KINDS + 1).to(x.dtype)),
    "one-hot einsum": lambda x: rows(torch.einsum("nk,k->n", one_hot(x), torch.arange(KINDS).to(x.dtype))),
    "counts by product": lambda x: rows((one_hot(x).T @ one_hot(x)).diagonal()),
    "sum of a mask": lambda x: rows((x > 0).to(x.dtype).sum(-1)),
    "mean of a mask, times how many": lambda x: rows(((x > 0).to(x.dtype).mean(-1) * WIDTH).round()),
    "cumsum of a mask": lambda x: rows((x > 0).to(x.dtype).cumsum(0).sum(-1) % 64),
    "norm of order zero": lambda x: rows(torch.linalg.vector_norm(x.relu(), ord=0, dim=-1)),
    "positions in a mixture": lambda x: rows(positions(x)),
    "mixture of experts": experts,
    "capacity of experts": lambda x: experts(x) * (positions(x) < 4)[:, None],
    "load balance": lambda x: (one_hot(x).mean(0) * (x @ ROUTER).softmax(-1).mean(0)).sum() * KINDS,
    "counted in place": counted_in_place,
    "steps of an optimiser": steps_of_an_optimiser,
    "run lengths": run_lengths,
    "quantised": quantised,
    "straight through": straight_through,
    "bits of a number": lambda x: rows(((x.round() + 32) / 2 ** torch.arange(3.0)[:, None, None]).floor().sum(0) % 64),
    "bucketize": lambda x: TABLE[torch.bucketize(x, torch.linspace(-9.1, 9.3, 20).to(x.dtype))],
    "searchsorted": lambda x: TABLE[torch.searchsorted(torch.linspace(-9.1, 9.3, 20).to(x.dtype), x)],
    "threshold": lambda x: torch.where(x > 0.1, x * 2, x - 5),
    "heaviside": lambda x: torch.heaviside(x, torch.zeros((), dtype=x.dtype)) * (x + 4),
    "sign": lambda x: rows(torch.sign(x) + 5),
    "top k": lambda x: x.topk(3).values.sum(-1),
    "rank": lambda x: rows(x.argsort(-1).argsort(-1).to(x.dtype) * 3),
    "argmax": lambda x: TABLE[chosen(x)],
    "greedy steps": lambda x: torch.stack([TABLE[int(chosen(x[: n + 1])[-1]) + n] for n in range(9)]),
    "pooled by an index": lambda x: torch.zeros(KINDS, WIDTH, dtype=x.dtype).index_add_(0, chosen(x), x),
    "scatter of counts": lambda x: rows(
        torch.zeros(KINDS, dtype=x.dtype).scatter_add_(0, chosen(x), torch.ones(ROWS, dtype=x.dtype))
    ),
    "positions in sines": sinusoids,
    "power of two": lambda x: rows(torch.pow(2.0, (x.abs() / 3).floor().clamp(max=5))),
    "square root of a square": lambda x: rows(torch.sqrt((x.round() + 20) ** 2)),
    "outer product of indices": lambda x: rows(torch.outer(x[:, 0].round() + 10, torch.arange(1.0, 3.0)) % 64),
    "convolution of a mask": lambda x: rows(
        functional.conv1d((x > 0).to(x.dtype)[None], torch.ones(ROWS, ROWS, 3, dtype=x.dtype))[0]
    ),
    "pooled mask": lambda x: rows(functional.max_pool1d((x > 0).to(x.dtype)[None], 4)[0] * 4),
    "interpolated index": lambda x: rows(functional.interpolate(x.round()[None] + 20, scale_factor=2)[0]),
    "complex whole numbers": lambda x: rows(torch.complex(x.round() + 20, x.round()).mul(1).real),
}
"""By name; `inputs` is what they are given."""


ON_AN_EDGE: dict[str, Function] = {
    "floor of tenths": lambda x: rows((torch.linspace(0, 6.3, 64).to(x.dtype) * 10).floor()),
    "equal scores": lambda x: TABLE[(x @ ROUTER[:, [0, 0, 0]] * torch.tensor([1.0, 1.0, 1.0])).argmax(-1)],
    "at the threshold": lambda x: torch.where((x / 3) * 3 > x, x + 40, x - 40),
    "ceil of a ratio": lambda x: rows((x.abs() * 7 / x.abs() * 3).ceil()),
}
