"""Steps of optimisers, as torch takes them, in whatever library a model is written."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from goldsmith.errors.recipe import RecipeMisuse
from goldsmith.recipe.training_steps import Training

OPTIMISERS = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}


def net() -> torch.nn.Module:
    torch.manual_seed(3)
    found = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2)).double()
    found[0].bias.requires_grad_(False)  # neither that nor what has no gradient moves
    found.idle = torch.nn.Parameter(torch.ones(2, dtype=torch.float64))
    found.forward = lambda x: found[2](found[1](found[0](x)))
    return found


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(sorted(OPTIMISERS)), st.sampled_from([0.0, 0.1]), st.data())
def test_steps_are_torchs(name: str, decay: float, data: st.DataObject) -> None:
    options: dict[str, Any] = {"lr": data.draw(st.floats(1e-3, 0.5)), "weight_decay": decay}
    if name == "sgd" and data.draw(st.booleans()):
        options |= {"momentum": 0.9, "nesterov": data.draw(st.booleans())}
    elif name != "sgd":
        options |= {"betas": (0.8, 0.99), "eps": data.draw(st.sampled_from([1e-8, 1e-3]))}
    mine, theirs = net(), net()
    batches = [(torch.randn(5, 3, dtype=torch.float64), torch.randn(5, 2, dtype=torch.float64)) for _ in range(3)]
    loss = lambda model, x, y: (model(x) - y).pow(2).mean()  # noqa: E731
    losses = Training().steps(mine, loss, batches, optimizer=name, **options)
    optimiser = OPTIMISERS[name](theirs.parameters(), **options)
    for found, (x, y) in zip(losses, batches, strict=True):
        optimiser.zero_grad()
        wanted = loss(theirs, x, y)
        wanted.backward()
        optimiser.step()
        torch.testing.assert_close(found, wanted)
        assert not found.requires_grad
    for one, two in zip(mine.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(one, two)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"optimizer": "lion", "lr": 1}, "no optimizer 'lion'; there are sgd, adam, adamw"),
        ({}, "sgd needs lr; its settings are lr, momentum, nesterov, weight_decay"),
        ({"lr": 1, "betas": 2}, "sgd has no setting betas"),
        ({"lr": 0.1, "loss": lambda model, x: model(x)}, r"not an array of shape \(5, 2\)"),
        ({"lr": 0.1, "loss": lambda model, x: model(x).mean().item()}, "not float"),
        ({"lr": 0.1, "model": object()}, "a library that has gradients, not object"),
    ],
)
def test_what_is_no_training_is_refused(options: dict[str, Any], says: str) -> None:
    options = {"loss": lambda model, x: model(x).mean(), "model": net(), **options}
    with pytest.raises(RecipeMisuse, match=says):
        Training().steps(options.pop("model"), options.pop("loss"), [torch.ones(5, 3, dtype=torch.float64)], **options)
