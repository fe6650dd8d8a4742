"""Trials of kernels in this process: what is left behind is told and put back; inputs with structure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import goldsmith
from goldsmith.errors.parity import CannotCombine
from goldsmith.frameworks.framework import framework
from goldsmith.runs.live.returned_values import InputSet
from goldsmith.runs.live.structured_inputs import other_contents, structured

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch
X = np.linspace(-2, 3, 42).astype(np.float32).reshape(6, 7)
DRAWN = arrays.arrays(
    np.float32,
    arrays.array_shapes(min_dims=1, max_dims=3, min_side=2, max_side=6),
    elements=st.floats(-8, 8, width=32),
)


def read() -> dict[str, Any]:
    """Return torch's settings; no precision and that of IEEE are one, by two interfaces."""
    found = framework("torch").numerics.settings()
    return {name: "ieee" if value == "none" else value for name, value in found.items()}


def judged(candidate: Callable[..., Any], inputs: Any = None, **options: Any) -> goldsmith.Parity:
    drawn = torch.from_numpy(X) if inputs is None else inputs
    return goldsmith.parity(lambda x: 2 * x, candidate, drawn, kernel=True, **options)


def reasons(found: goldsmith.Parity) -> dict[str, str]:
    return {case.name: case.reason for case in found.report.cases if case.outcome == "differs"}


@pytest.fixture(autouse=True)
def _torch_as_it_was() -> Iterator[None]:
    before = read()
    yield
    assert read() == before, "what a kernel changes is put back"


def test_what_is_right_passes_every_trial_also_where_it_is_numpy() -> None:
    assert judged(lambda x: x + x), "of torch"
    assert judged(lambda x: np.add(x, x), X), "of NumPy"


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda: torch.set_default_dtype(torch.float64), "default dtype from float32 to float64"),
        (lambda: torch.set_grad_enabled(True), "recording of gradients from False to True"),
        pytest.param(
            lambda: torch.set_float32_matmul_precision("medium"),
            "float32 matmul precision from highest to medium",
            marks=pytest.mark.long,
        ),
        pytest.param(
            lambda: torch.set_autocast_enabled("cpu", True),
            "autocast on the CPU from off to bfloat16",
            marks=pytest.mark.long,
        ),
    ],
    ids=["dtype", "gradients", "precision", "autocast"],
)
def test_a_changed_setting_is_told_and_put_back(change: Callable[[], None], named: str) -> None:
    def bends(x: Any) -> Any:
        change()
        return x + x

    assert named in reasons(judged(bends))["libraries as they were"]
    plain = goldsmith.parity(lambda x: 2 * x, bends, torch.from_numpy(X))
    assert plain, "values are right, and nobody asked for more"


@pytest.mark.long  # as above, and nothing is told
def test_settings_that_only_choose_an_algorithm_are_put_back_without_a_word() -> None:
    def tunes(x: Any) -> Any:
        torch.backends.cudnn.benchmark = not torch.backends.cudnn.benchmark
        return x + x

    assert judged(tunes)


def test_an_exchanged_function_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def exchanges(x: Any) -> Any:
        monkeypatch.setattr(torch.nn.functional, "relu", abs)
        return x + x

    assert "torch.nn.functional.relu" in reasons(judged(exchanges))["libraries as they were"]


def test_an_address_that_is_remembered_and_a_buffer_that_is_returned_twice_are_found() -> None:
    kept: dict[Any, Any] = {}

    def remembers(x: Any) -> Any:
        address = x.ctypes.data if isinstance(x, np.ndarray) else x.data_ptr()
        key = address, str(x.dtype), float(x.reshape(-1)[0])
        if key not in kept:
            kept.clear()
            kept[key] = x + x
        return kept[key] + 0

    assert "same buffer, new contents" in reasons(judged(remembers))
    assert "same buffer, new contents" in reasons(judged(remembers, X))
    buffers: dict[Any, Any] = {}

    def recycles(x: Any) -> Any:
        return buffers.setdefault(x.dtype, torch.empty_like(x)).copy_(x + x)

    assert "previous output" in reasons(judged(recycles))


def test_memory_that_is_never_written_is_found_without_deterministic_algorithms() -> None:
    def forgets(x: Any) -> Any:
        found = torch.empty_like(x)
        found[:-1] = x[:-1] + x[:-1]
        if bool(found[-1].isnan().any()):
            return found
        found[-1] = x[-1] + x[-1]  # what the memory happens to hold is right
        return found

    was = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(False)
    try:
        assert "uninitialised memory" in reasons(judged(forgets))
    finally:
        torch.use_deterministic_algorithms(was)


def test_what_the_reference_does_not_stand_is_not_tried() -> None:
    def picky(x: Any) -> Any:
        if float(abs(x).max()) > 100:
            raise ValueError("too large")
        return 2 * x

    found = goldsmith.parity(picky, picky, torch.from_numpy(X), kernel=True)
    assert found, str(found)
    notes = [note for note in found.report.notes if note.startswith("not tried: ")]
    assert any("one huge value" in note for note in notes)


@pytest.mark.parametrize("options", [{"steps": 2}, {"in_step": True}, {"inputs_candidate": (1,)}], ids=str)
def test_what_makes_no_sense_for_kernels_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(CannotCombine):
        judged(lambda x: x + x, **options)


@given(DRAWN)
@settings(max_examples=40, deadline=None)
def test_inputs_with_structure_keep_shape_and_dtype_and_other_contents_are_others(values: Any) -> None:
    for array in (values, torch.from_numpy(values).to(torch.bfloat16)):
        made = structured(InputSet((array, 3)), seed=1)
        assert list(made) == ["ragged rows", "clustered values", "tame head and wild tail", "one huge value"]
        for name, found in made.items():
            other, untouched = found.args
            assert (tuple(other.shape), other.dtype, untouched) == (tuple(array.shape), array.dtype, 3), name
        ragged, own = (np.asarray(item.tolist()) for item in (made["ragged rows"].args[0], array))
        assert len(set(ragged[ragged != own])) <= 1, "what is padded is padded with one number"
    for number in range(2):
        other = other_contents(values, number)
        assert (other.shape, other.dtype) == (values.shape, values.dtype)
        assert not np.array_equal(other, values) or not values.any()


def test_unusual_settings_are_recorded_and_usual_ones_are_not() -> None:
    process = framework("torch").process
    assert "default dtype" not in process.environment("cpu").get("settings", {})
    torch.set_default_dtype(torch.float64)
    torch.set_float32_matmul_precision("high")
    try:
        recorded = process.environment("cpu")["settings"]
    finally:
        torch.set_default_dtype(torch.float32)
        torch.set_float32_matmul_precision("highest")
    assert recorded["default dtype"] == "float64"
    assert recorded["float32 matmul precision"] == "high"
