"""Large files of numbers: written array by array, mapped when they are read, and no less checked for that."""

from __future__ import annotations

import gc
import io
import os
import weakref
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors.numpy import save
from safetensors.torch import save as save_torch

from goldsmith.gold import files, sizes
from goldsmith.gold.arrays import Computed, array_hash, leaf_facts, numbers_of
from goldsmith.gold.calibration import FLOAT64, _comparable, _measure
from goldsmith.gold.files import read_arrays, read_back, read_payload, same_bytes, write_arrays, write_payload
from goldsmith.gold.safetensors_reader import open_mapped, parse_bytes
from goldsmith.gold.safetensors_writer import encoded, encoded_at_once
from goldsmith.gold.sizes import projections, root_mean_square
from goldsmith.gold.tolerances import ATOL, RTOL, digits, sizes_of
from goldsmith.worker import tolerance_trials
from goldsmith.worker.record_session import collect_garbage

CODES = ["?", "u1", "i1", "i2", "u2", "f2", "i4", "u4", "f4", "f8", "i8", "u8"]
SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
ARRAYS = st.sampled_from(CODES).flatmap(lambda code: hnp.arrays(np.dtype(code), SHAPES))
NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=4).filter(lambda name: name != "__metadata__")
FILES = st.dictionaries(NAMES, ARRAYS, max_size=5)


def written(arrays: Any, encode: Any = encoded) -> bytes:
    file = io.BytesIO()
    found = encode(arrays)
    found.write_to(file)
    assert len(file.getvalue()) == found.size
    return file.getvalue()


@settings(deadline=None, max_examples=150)
@given(arrays=FILES)
def test_a_file_written_array_by_array_has_the_bytes_of_one_written_at_once(arrays: dict[str, Any]) -> None:
    assert written(arrays) == save(arrays)
    assert written(arrays, encoded_at_once) == save(arrays)


def test_tensors_that_lie_in_another_order_are_written_in_theirs() -> None:
    whole = torch.arange(24.0).reshape(2, 3, 4)
    tensors = {
        "turned": whole.permute(2, 0, 1),
        "some": whole[:, 1:, ::2],
        "half": whole.bfloat16(),
        "one": whole[0, 0, 0],
    }
    assert written(tensors) == save_torch({name: item.contiguous() for name, item in tensors.items()})


def test_what_the_format_lacks_is_refused_in_the_librarys_words() -> None:
    with pytest.raises(Exception, match="memory format"):
        encoded_at_once({"x": torch.eye(3).to_sparse()})


def test_numbers_in_the_order_of_another_machine_are_written_by_the_library(tmp_path: Path) -> None:
    write_arrays({"x": np.arange(3, dtype=">f4"), "y": np.ones(2)}, tmp_path / "x.safetensors")
    assert read_arrays(tmp_path / "x.safetensors")["x"].tolist() == [0, 1, 2]


def test_arrays_are_made_one_at_a_time(tmp_path: Path) -> None:
    alive: list[int] = []
    most = 0

    class Counted(np.ndarray):
        def __del__(self) -> None:
            alive.pop()

    def make(name: str) -> Any:
        nonlocal most
        alive.append(1)
        most = max(most, len(alive))
        return np.full(1000, float(name)).view(Counted)

    write_arrays(Computed([str(number) for number in range(9)], make), tmp_path / "x.safetensors")
    assert most <= 2
    assert {name: array[0] for name, array in read_arrays(tmp_path / "x.safetensors").items()} == {
        str(number): number for number in range(9)
    }


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A payload that counts as large."""
    monkeypatch.setattr(files, "MAPPED_BYTES", 0)
    torch.manual_seed(1)
    return write_payload({"output": {"y": torch.randn(50, 7)}, "seed": 42}, tmp_path / "large", ".pt")


def test_a_mapped_payload_is_the_same_and_can_be_written_to_without_changing_its_file(large: Path) -> None:
    before = large.read_bytes()
    at_once, mapped = read_payload(large), read_payload(large, mapped=True)
    assert leaf_facts("y", at_once["output"]["y"]) == leaf_facts("y", mapped["output"]["y"])
    mapped["output"]["y"].zero_()
    assert large.read_bytes() == before
    assert not read_payload(large, mapped=True)["output"]["y"].eq(0).any()
    assert torch.load(large, weights_only=True)["seed"] == 42


@pytest.mark.parametrize("size", [0, 10, 600, -1])
def test_a_large_file_that_is_cut_off_is_refused_as_a_small_one_is(
    large: Path, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    large.write_bytes(large.read_bytes()[:size])
    mapped = read_back(large)
    monkeypatch.setattr(files, "MAPPED_BYTES", 2**40)
    assert mapped.error
    assert mapped == read_back(large)


def test_files_are_open_only_while_they_are_mapped(
    large: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def count_open() -> int:
        gc.collect()
        return len(os.listdir("/proc/self/fd"))

    arrays = tmp_path / "x.safetensors"
    write_arrays({"x": np.ones(5)}, arrays)
    before = count_open()
    held: list[Any] = [read_payload(large, mapped=True), read_arrays(arrays), read_back(large)]
    assert array_hash(held[1]["x"]) == array_hash(np.ones(5))
    held.clear()
    assert count_open() == before
    monkeypatch.setattr(files, "MAPPED_BYTES", 2**20)
    held += [read_payload(large, mapped=True), read_arrays(arrays)]
    assert count_open() == before, "small files are read, not mapped"
    assert array_hash(held[1]["x"]) == array_hash(np.ones(5))


@pytest.mark.parametrize("change", [b"", b"x", b"y" * 3_000_000])
def test_files_are_compared_to_their_last_byte(tmp_path: Path, change: bytes) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_bytes(b"y" * 2_500_000)
    two.write_bytes(b"y" * 2_500_000 + change)
    assert same_bytes(one, two) == (not change)
    two.write_bytes(b"y" * 2_499_999 + b"z")
    assert not same_bytes(one, two)


def test_a_tensor_that_tells_another_size_than_it_has_is_written_as_it_is() -> None:
    class Liar(torch.Tensor):
        def cpu(self, *args: Any, **kwargs: Any) -> Any:
            return torch.zeros(1)

    told = torch.ones(3).as_subclass(Liar)
    found = parse_bytes(memoryview(written({"x": told}, encoded_at_once)), Path("x"))
    assert found["x"].shape == (1,)


@pytest.mark.parametrize("size", [1000, files.MAPPED_BYTES + 1])
def test_what_a_case_leaves_in_cycles_is_freed_before_the_next_if_it_is_large(tmp_path: Path, size: int) -> None:
    class Model:
        def __init__(self) -> None:
            self.hooks = [self]

    file = tmp_path / "case.pt"
    with file.open("wb") as opened:
        opened.truncate(size)
    gc.collect()
    gc.disable()
    try:
        left = weakref.ref(Model())
        collect_garbage(file)
        assert (left() is None) == (size > files.MAPPED_BYTES)
    finally:
        gc.enable()
    collect_garbage(tmp_path / "none.pt")


@settings(deadline=None, max_examples=60)
@given(gradient=hnp.arrays(np.float64, st.integers(0, 40), elements=st.floats(-10, 10)), piece=st.integers(1, 50))
def test_a_gradient_is_projected_piece_by_piece_as_it_is_whole(gradient: Any, piece: int) -> None:
    steps = np.arange(1, gradient.size + 1)
    whole = [float(gradient @ np.cos(steps * (1.3 + number))) for number in range(3)]
    assert projections(gradient)[1:] == whole, "small ones have the bits that gold has"
    with mock.patch.object(sizes, "_PIECE", piece):
        assert projections(gradient)[1:] == pytest.approx(whole, abs=1e-11)


# --- noise, trial by trial


NUMBERS = st.floats(-1e3, 1e3, width=32) | st.sampled_from([np.inf, np.nan, 0.0])


@st.composite
def trials(draw: st.DrawFn) -> tuple[Any, dict[str, Any]]:
    shape = draw(hnp.array_shapes(min_dims=0, max_dims=2, max_side=4))
    gold = draw(hnp.arrays(np.float64, shape, elements=NUMBERS))
    sizes = st.sampled_from([0.0, 1e-9, 1e-6, 1e-3, 1.0])
    gaps = {f"noise-{number}": draw(hnp.arrays(np.float64, shape, elements=sizes | NUMBERS)) for number in range(3)}
    return gold, {**gaps, FLOAT64: draw(hnp.arrays(np.float64, shape, elements=sizes))}


@settings(deadline=None, max_examples=150)
@given(found=trials(), scale=st.sampled_from([1e-6, 1.0, 40.0]))
def test_noise_measured_trial_by_trial_is_that_of_all_trials_at_once(found: Any, scale: float) -> None:
    gold, differences = found
    measured = _measure(_comparable(differences, 2.0**-23), gold, scale, (2.0**-23, 2.0**-149))
    gaps = {name: np.abs(item) for name, item in differences.items()}
    with np.errstate(all="ignore"):
        spread = np.max(np.stack(list(gaps.values())), axis=0)
        sizes = sizes_of(gold, scale)
        quiet = {name: (gap / sizes)[~measured.noisy] for name, gap in gaps.items()}
        finite = np.isfinite(gold) & np.isfinite(spread)
        limits = ATOL + RTOL * np.abs(gold[finite])
        customary = max(float(np.max(gap[finite] / limits, initial=0)) for gap in gaps.values())
    noise = measured.tolerance.noise
    assert noise is not None
    farthest = {name: float(np.max(gap, initial=0.0)) for name, gap in quiet.items()}
    assert noise.l2 == digits(max(root_mean_square(gap) for gap in quiet.values()))
    assert noise.max == digits(max(farthest.values()))
    assert farthest[noise.worst] == max(farthest.values())
    assert noise.customary == digits(customary)
    assert noise.float64 == digits(farthest[FLOAT64])
    assert measured.tolerance.noisy == int((~(spread / sizes <= 1e-3)).sum())


@settings(deadline=None, max_examples=100)
@given(numbers=hnp.arrays(np.float64, st.integers(0, 5), elements=NUMBERS | st.floats()))
def test_differences_in_few_bytes_are_the_same_numbers(numbers: Any) -> None:
    with mock.patch.object(tolerance_trials, "MAPPED_BYTES", -1):
        narrow = tolerance_trials.in_few_bytes(numbers)
    assert np.array_equal(narrow.astype(np.float64), numbers, equal_nan=True)
    with np.errstate(over="ignore"):
        assert (narrow.dtype == np.float32) == np.array_equal(numbers.astype(np.float32), numbers, equal_nan=True)
    assert tolerance_trials.in_few_bytes(numbers) is numbers, "small ones stay as they are"


def test_trials_are_read_back_as_they_were_written(tmp_path: Path) -> None:
    leaves = {"y": torch.randn(4, 3), "z": torch.randn(3, dtype=torch.complex64), "n": 3}
    write_arrays(Computed(leaves, lambda path: numbers_of(leaves[path])), tmp_path / "noise-1.safetensors")
    again = open_mapped(tmp_path / "noise-1.safetensors")
    assert {path: array_hash(item) for path, item in again.items()} == {
        path: array_hash(numbers_of(leaf)) for path, leaf in leaves.items()
    }
