"""One thread for every parity: several compete for the cores where tests run side by side."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

import pytest


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Small models run faster in one thread, above all where other tests run beside them."""
    if find_spec("torch") is None:
        yield
        return
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
