"""Sketches: the same signs everywhere, an error estimated within a quarter, right work within its limit."""

from __future__ import annotations

import math

import numpy as np
import pytest

from goldsmith.gold.sketches.sketch import BLOCK_ELEMENTS, SUMS, Sketch, sign_bits, signs, sums_of, widened

SOURCE = np.random.default_rng(3)


def test_signs_are_those_of_splitmix64() -> None:
    """The reference's first outputs for a seed of 0: what any other program can compute, too."""
    assert [hex(item) for item in sign_bits(0, 3).tolist()] == [
        "0xe220a8397b1dcdaf",
        "0x6e789e6aa1b965f4",
        "0x6c45d188009454f",
    ]


def test_signs_do_not_depend_on_where_a_block_begins() -> None:
    assert np.array_equal(signs(5, 40), signs(0, 40)[5:])


def test_torch_draws_the_same_signs() -> None:
    torch = pytest.importorskip("torch")

    def shifted(value: object, count: int) -> object:
        """A logical shift of signed numbers."""
        return (value >> count) & ((1 << (64 - count)) - 1)  # type: ignore[operator]

    def signed(number: int) -> int:
        return number - (1 << 64) if number >= 1 << 63 else number

    bits = torch.arange(1, 1001, dtype=torch.int64) * signed(0x9E3779B97F4A7C15)
    bits = (bits ^ shifted(bits, 30)) * signed(0xBF58476D1CE4E5B9)
    bits = (bits ^ shifted(bits, 27)) * signed(0x94D049BB133111EB)
    bits = bits ^ shifted(bits, 31)
    assert np.array_equal(bits.numpy().view(np.uint64), sign_bits(0, 1000))


def test_signs_are_balanced_and_independent() -> None:
    drawn = signs(0, 20_000)
    assert np.abs(drawn.mean(axis=0)).max() < 5 / math.sqrt(20_000)
    products = drawn.T @ drawn / 20_000 - np.eye(SUMS)
    assert np.abs(products).max() < 5 / math.sqrt(20_000)


def test_blocks_make_no_difference() -> None:
    numbers = SOURCE.standard_normal(3 * BLOCK_ELEMENTS + 17)
    whole = numbers @ signs(0, numbers.size) / math.sqrt(numbers.size)
    assert np.allclose(sums_of(numbers, 1.0), whole, rtol=1e-12, atol=1e-12)


def test_an_error_is_estimated_within_a_quarter_in_most_cases() -> None:
    gold = SOURCE.standard_normal((7, 31, 24)).astype(np.float32)
    sketch = Sketch.of(gold)
    ratios = []
    for number in range(200):
        wrong = gold + 10.0 ** SOURCE.uniform(-4, 1) * np.roll(SOURCE.standard_normal(gold.shape), number)
        true = np.linalg.norm(wrong - gold) / np.linalg.norm(gold)
        ratios.append(sketch.error_of(wrong) / true)
    off = np.abs(np.array(ratios) - 1)
    assert (off < 0.25).mean() > 0.93  # two standard deviations of chance
    assert off.max() < 0.6


@pytest.mark.parametrize("count", [4, 8, 32])
def test_work_within_its_limit_is_never_called_wrong(count: int) -> None:
    gold = SOURCE.standard_normal(500)
    sketch = Sketch.of(gold, count=count)
    worst = 0.0
    for _ in range(200):
        noise = SOURCE.standard_normal(gold.size)
        right = gold + 1e-6 * noise * np.linalg.norm(gold) / np.linalg.norm(noise)
        worst = max(worst, sketch.error_of(right))
    assert 1e-6 < worst < widened(1e-6, count)


def test_a_single_wrong_element_is_seen() -> None:
    gold = SOURCE.standard_normal((5, 13, 61)).astype(np.float32)
    wrong = gold.copy()
    wrong[3, 7, 11] += 0.01
    assert Sketch.of(gold).error_of(wrong) == pytest.approx(0.01 / np.linalg.norm(gold), rel=1e-2)


def test_another_shape_a_nan_and_whole_numbers_are_infinitely_far_off() -> None:
    gold = SOURCE.standard_normal((4, 6, 5))
    sketch, spoilt = Sketch.of(gold), gold.copy()
    spoilt[0, 0, 0] = math.nan
    for other in (gold.reshape(6, 4, 5), spoilt, np.ones(gold.shape, dtype=np.int64)):
        assert sketch.error_of(other) == math.inf
    assert sketch.error_of(gold) == 0.0


def test_large_numbers_and_complex_ones_are_sketched_without_overflow() -> None:
    gold = SOURCE.standard_normal((8, 40)) * 1e300
    assert Sketch.of(gold).error_of(gold * 1.5) == pytest.approx(0.5, rel=0.6)
    waves = SOURCE.standard_normal((8, 40)) + 1j * SOURCE.standard_normal((8, 40))
    assert Sketch.of(waves).error_of(waves.conj()) == pytest.approx(math.sqrt(2), rel=0.6)


def test_rounding_a_sketch_stays_far_below_its_limit() -> None:
    gold = SOURCE.standard_normal(3_000)
    assert Sketch.of(gold).rounded(1e-6 / 16).error_of(gold) < 1e-6 / 20


@pytest.mark.parametrize("numbers", [np.zeros(100), np.full(100, math.inf)])
def test_what_has_no_size_is_refused(numbers: np.ndarray) -> None:
    with pytest.raises(ValueError, match="finite numbers"):
        Sketch.of(numbers)
