"""A run in float64 that is done lightly: what is told a dtype hears another, and all is as it was afterwards."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from goldsmith.frameworks.framework import conditions  # noqa: E402
from goldsmith.frameworks.torch.rounding import _DONE, _MADE  # noqa: E402

pytestmark = pytest.mark.torch


def test_what_asks_for_float32_gets_float64() -> None:
    import numpy as np

    x = torch.ones(2, 3, dtype=torch.float64)
    with conditions(precision="float64", lightly=True):
        made = [
            x.float(),
            x.to(torch.float32),
            x.to(dtype=torch.float32),
            x.type(torch.float32),
            x.type("torch.FloatTensor"),
            torch.arange(3).float(),
            torch.zeros(2, dtype=torch.float32),
            torch.arange(4, dtype=torch.float32),
            torch.tensor([1.0], dtype=torch.float32),
            torch.from_numpy(np.ones(2, dtype=np.float32)),
            torch.nn.functional.softmax(x, dim=-1, dtype=torch.float32),
            x.sum(dim=0, dtype=torch.float32),
            torch.nn.Linear(2, 2).float().weight,
        ]
        kept = [x.to(torch.int64).dtype, x.half().dtype, torch.arange(3).dtype, x.to("cpu").dtype]
    assert [item.dtype for item in made] == [torch.float64] * len(made)
    assert kept == [torch.int64, torch.float16, torch.int64, torch.float64]


def test_all_is_as_it_was_afterwards() -> None:
    def standing() -> list[object]:
        names = [*_DONE, "float", "cfloat"]
        places = [(torch, name) for name in _MADE] + [
            (torch.nn.functional, name) for name in ("softmax", "log_softmax")
        ]
        of_tensors = [(name in vars(torch.Tensor), getattr(torch.Tensor, name)) for name in names]
        return [*(getattr(place, name) for place, name in places), *of_tensors]

    before = standing()
    with pytest.raises(ValueError, match="inside"), conditions(precision="float64", lightly=True):
        raise ValueError("inside")
    assert standing() == before
    assert torch.get_default_dtype() is torch.float32
    assert torch.ones(1, dtype=torch.float64).float().dtype is torch.float32
