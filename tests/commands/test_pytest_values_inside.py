"""What a function returns that rounds inside, where torch does not see it, is judged in its own dtype."""

from __future__ import annotations

import pytest

from support.pytest_values import KeepingTests

pytestmark = pytest.mark.torch
TESTS = """
    def rounded(x):
        bits = x.detach().double().numpy().astype(np.float32).view(np.uint32)
        numbers = ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)
        return torch.from_numpy(numbers.astype(np.float64)).to(x.dtype)


    def same(x):
        return x


    def mix(x, r, off):
        q, k, v = r(x)
        return r(torch.softmax(r(q * (0.35 + off)) @ k.transpose(-1, -2), -1)) @ v


    def test_mix(gold):
        x = torch.randn(3, 2, 16, 8, generator=torch.Generator().manual_seed(0)).bfloat16()
        gold.check(lambda x: mix(x, ROUNDING, OFF), (x,))
"""


def test_rounding_inside_passes_and_a_mistake_of_that_size_does_not(keeping: KeepingTests) -> None:
    keeping.record(TESTS.replace("ROUNDING", "same").replace("OFF", "0.0"))
    keeping.run(tests=TESTS.replace("ROUNDING", "rounded").replace("OFF", "0.0")).assert_outcomes(passed=1)
    keeping.run(tests=TESTS.replace("ROUNDING", "same").replace("OFF", "0.002")).assert_outcomes(failed=1)
    keeping.run(tests=TESTS.replace("ROUNDING", "rounded").replace("OFF", "0.1")).assert_outcomes(failed=1)
