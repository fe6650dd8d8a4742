"""The ten models of examples/porting/models: right ports agree, and each of eight mistakes in each is named."""

from __future__ import annotations

import pytest

pytest.importorskip(
    "transformers", reason="transformers is not installed; `make test-port` installs it and runs these tests"
)
import torch

from support.ports.models import STYLES, by_hand, pair
from support.ports.pairs import EXACTLY, NEARBY

pytestmark = [pytest.mark.torch, pytest.mark.long]
NEAR = {("mixtral", "GELU, not SiLU")}
"""Mistakes of which a direct parent is named: the reference has all experts in one module, the port each in its own."""


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


def test_there_are_ten_models_with_eight_mistakes_each() -> None:
    assert [len(pair(name).mistakes) for name in STYLES] == [8] * 10


@pytest.mark.parametrize("seed", [2, 7])
@pytest.mark.parametrize("name", STYLES)
def test_a_right_port_agrees_without_an_adapter(name: str, seed: int) -> None:
    found = pair(name).compare(seed=seed)
    assert found.outcome == "agrees", str(found)


@pytest.mark.parametrize("name", STYLES)
def test_weights_moved_by_hand_make_a_right_port_agree(name: str) -> None:
    found = pair(name)
    reference, candidate, inputs = found.drawn()
    candidate.load_state_dict(by_hand(name).convert(reference.state_dict()), strict=False)
    given = inputs if isinstance(inputs, tuple) else (inputs,)
    with torch.no_grad():
        mine, theirs = (
            model.eval()(**inputs) if isinstance(inputs, dict) else model.eval()(*given)
            for model in (reference, candidate)
        )
    theirs = next(iter(theirs.values())) if isinstance(theirs, dict) else theirs
    theirs = theirs[0] if isinstance(theirs, tuple) else theirs
    torch.testing.assert_close(theirs, next(iter(mine.values())), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("name", "mistake"), [(name, mistake) for name in STYLES for mistake in pair(name).mistakes])
def test_a_mistake_is_named_without_an_adapter(name: str, mistake: str) -> None:
    found = pair(name).compare(mistake)
    assert found.outcome == "differs", str(found)
    expected = NEARBY if (name, mistake) in NEAR else EXACTLY
    assert pair(name).nearness(mistake, found.first_divergence or "") == expected, str(found)
