"""Rounding noise is drawn as it is needed, and is the same as if all had been drawn at once."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from goldsmith.frameworks.torch.rounding import _BUFFER, _Pool  # noqa: E402


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_noise_that_is_drawn_in_parts_is_the_noise_drawn_at_once(dtype: torch.dtype) -> None:
    key, parts, whole = (dtype, torch.device("cpu")), _Pool(3, False), _Pool(3, False)
    whole.reach(_BUFFER)
    for end in (1, 20_001, 140_001, _BUFFER):
        parts.reach(end)
        had = parts[key].offsets
        assert end <= len(had) <= _BUFFER
        assert torch.equal(had, whole[key].offsets[: len(had)])
