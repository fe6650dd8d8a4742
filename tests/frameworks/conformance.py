"""What every framework must do. A framework of another distribution runs these tests for its own: register it, write a
`Sample`, define fixtures `library` and `sample`, and `from frameworks.conformance import *`.
"""

from __future__ import annotations

import contextlib
import io
import math
import pickle
import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from goldsmith.frameworks import framework as seam
from goldsmith.frameworks.framework import CannotCompile, Framework, Watch, framework_of
from goldsmith.frameworks.randomness import random_state_kept, random_states
from goldsmith.gold.arrays import array_hash, as_numpy, dtype_name, is_array, leaf_facts
from goldsmith.gold.safetensors_reader import Bfloat16

NUMBERS = [0.0, -0.0, 1.0, -2.5, 1e-3, 3e4]


@dataclass(frozen=True)
class Sample:
    """A library's own arrays and, if it has models, one that has two layers and a call that gives one number."""

    dtypes: tuple[str, ...]
    array: Callable[[str, list[float]], Any]
    """Make an array of a dtype."""
    draw: Callable[[], Any]
    """Draw an array from the global random state."""
    model: Callable[[], Any] | None = None
    inputs: Callable[[], Any] | None = None
    add: Callable[[Any, Any], Any] = lambda one, two: one + two


@pytest.fixture(autouse=True)
def nothing_is_left_behind() -> Any:
    with random_state_kept():
        yield


def as_bits(library: Framework, array: Any) -> bytes:
    return bytes(library.arrays.raw_bytes(array))


def each_array(library: Framework, sample: Sample) -> dict[str, Any]:
    return {dtype: sample.array(dtype, NUMBERS) for dtype in sample.dtypes}


# --- found


def test_it_is_registered_by_the_name_of_its_library(library: Framework) -> None:
    assert library in seam.registered()
    assert seam.framework(library.name) is library


def test_its_arrays_are_its_own(library: Framework, sample: Sample) -> None:
    assert all(framework_of(array) is library and is_array(array) for array in each_array(library, sample).values())


@pytest.mark.parametrize("value", [None, 1, 1.0, True, "text", b"bytes", [1], {"a": 1}, object(), int])
def test_nothing_else_is(library: Framework, value: object) -> None:
    assert framework_of(value) is not library


def test_it_is_in_use_only_once_its_library_is_imported(library: Framework) -> None:
    program = (
        "import sys; from goldsmith.frameworks.framework import active, framework_of, registered\n"
        f"framework_of(object()); assert {library.name!r} not in sys.modules, 'imported it'\n"
        f"assert {library.name!r} not in [item.name for item in active()]\n"
        f"assert {library.name!r} in [item.name for item in registered()]"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# --- arrays


def test_dtypes_have_the_names_that_all_libraries_use(library: Framework, sample: Sample) -> None:
    assert {dtype: dtype_name(array) for dtype, array in each_array(library, sample).items()} == {
        dtype: dtype for dtype in sample.dtypes
    }


def test_arrays_of_every_dtype_come_back_from_numpy_exactly(library: Framework, sample: Sample) -> None:
    for dtype, array in each_array(library, sample).items():
        host = library.arrays.to_numpy(array)
        assert isinstance(host, np.ndarray | Bfloat16), dtype
        again = library.arrays.from_numpy(host)
        assert (dtype_name(again), as_bits(library, again)) == (dtype, as_bits(library, array))


def test_numbers_on_the_host_are_those_of_the_array(library: Framework, sample: Sample) -> None:
    for dtype in ("float32", "float64", "int32", "int64"):
        expected = np.asarray(NUMBERS).astype(dtype)
        assert as_numpy(sample.array(dtype, NUMBERS)).tolist() == expected.tolist(), dtype


def test_a_bit_more_is_another_hash(library: Framework, sample: Sample) -> None:
    one, two = (sample.array("float32", [1.0, last]) for last in (2.0, math.nextafter(2.0, 3.0) + 2e-7))
    assert array_hash(one) != array_hash(two)
    assert array_hash(one) == array_hash(library.arrays.copy(one))


def test_facts_of_a_leaf_can_be_taken(library: Framework, sample: Sample) -> None:
    facts = leaf_facts("x", sample.array("float32", [1.0, 3.0]))
    assert (facts.dtype, facts.shape, facts.min, facts.max, facts.mean) == ("float32", (2,), 1.0, 3.0, 2.0)


def test_copies_share_no_memory(library: Framework, sample: Sample) -> None:
    array = sample.array("float32", NUMBERS)
    for found in (library.arrays.copy(array), library.arrays.host_copy(array), library.arrays.moved(array, "cpu", "")):
        assert library.arrays.memory_id(found) != library.arrays.memory_id(array)
        assert array_hash(found) == array_hash(array)


def test_an_array_shares_memory_with_itself(library: Framework, sample: Sample) -> None:
    array = sample.array("float32", NUMBERS)
    assert library.arrays.memory_id(array) == library.arrays.memory_id(library.arrays.detached(array))


def test_values_of_numpy_become_like_a_template(library: Framework, sample: Sample) -> None:
    template = sample.array("float32", [0.0])
    found = library.arrays.like(np.asarray(NUMBERS, np.float32), template)
    assert framework_of(found) is library
    assert array_hash(found) == array_hash(sample.array("float32", NUMBERS))


def test_a_dtype_can_be_another(library: Framework, sample: Sample) -> None:
    wide = library.arrays.cast(sample.array("float32", NUMBERS), "float64")
    assert dtype_name(wide) == "float64"
    assert dtype_name(library.arrays.moved(wide, "cpu", "float32")) == "float32"


def test_complex_numbers_keep_their_kind(library: Framework, sample: Sample) -> None:
    found = library.arrays.cast(sample.array("complex64", NUMBERS), "float64")
    assert dtype_name(found) == "complex128"
    pairs = library.arrays.as_pairs(found)
    assert dtype_name(pairs) == "float64"
    assert tuple(pairs.shape) == (len(NUMBERS), 2)


def test_equal_is_equal(library: Framework, sample: Sample) -> None:
    one, two = sample.array("float32", [1.0, 2.0]), sample.array("float32", [1.0, 3.0])
    assert library.arrays.equal(one, library.arrays.copy(one))
    assert not library.arrays.equal(one, two)


def test_parts_are_joined(library: Framework, sample: Sample) -> None:
    one, two = sample.array("float32", [1.0, 2.0]), sample.array("float32", [3.0, 4.0])
    assert as_numpy(library.arrays.concatenate([one, two])).tolist() == [1, 2, 3, 4]
    assert as_numpy(library.arrays.stack([one, two], 1)).tolist() == [[1, 3], [2, 4]]


def test_dense_arrays_are_not_refused(library: Framework, sample: Sample) -> None:
    for array in each_array(library, sample).values():
        assert library.arrays.is_dense(array)
        assert library.arrays.refusal(array) is None


def test_what_is_not_transformed_is_itself(library: Framework, sample: Sample) -> None:
    array = sample.array("float32", NUMBERS)
    assert library.arrays.unwrapped(array) is array


def test_stress_moves_numbers_and_returns_them(library: Framework, sample: Sample) -> None:
    one, two = (sample.array("float32", [1.0] * 6) for _ in range(2))
    one, two = (library.arrays.stressed(array, "scale", 1) for array in (one, two))
    assert array_hash(one) == array_hash(two) != array_hash(sample.array("float32", [1.0] * 6))
    assert library.arrays.stressed(sample.array("int64", [1.0]), "count", 1) is None


# --- files


def test_a_payload_is_read_as_it_was_saved(library: Framework, sample: Sample, tmp_path: Path) -> None:
    if not library.suffix:
        pytest.skip("it has no files of its own")
    arrays = {name: array for name, array in each_array(library, sample).items() if name != "bfloat16"}
    payload = {"input": arrays, "seed": 42, "text": "a", "nested": {"list": [1, 2.5, None, b""]}}
    file = tmp_path / f"x{library.suffix}"
    with file.open("wb") as opened:
        library.arrays.save(payload, opened)
    found = library.arrays.load(file)
    assert {name: array_hash(found["input"][name]) for name in arrays} == {
        name: array_hash(array) for name, array in arrays.items()
    }
    assert found["nested"] == payload["nested"]
    assert found["seed"] == 42
    assert found["text"] == "a"


def test_a_payload_is_saved_as_the_same_bytes(library: Framework, sample: Sample) -> None:
    if not library.suffix:
        pytest.skip("it has no files of its own")
    once, again = io.BytesIO(), io.BytesIO()
    for file in (once, again):
        library.arrays.save({"x": sample.array("float32", NUMBERS)}, file)
    assert once.getvalue() == again.getvalue()


def test_files_are_never_unpickled(library: Framework, tmp_path: Path) -> None:
    if not library.suffix:
        pytest.skip("it has no files of its own")
    mark = tmp_path / "mark"
    file = tmp_path / f"x{library.suffix}"
    file.write_bytes(pickle.dumps(Touches(str(mark))))
    with pytest.raises(Exception):  # noqa: B017, PT011  # each library raises its own
        library.arrays.load(file)
    assert not mark.exists()


class Touches:
    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (Path(self.path),)


def test_tensors_by_name_are_kept_with_their_metadata(library: Framework, sample: Sample, tmp_path: Path) -> None:
    arrays = {name: item for name, item in each_array(library, sample).items() if library.arrays.is_storable(item)}
    arrays = {name: item for name, item in arrays.items() if not name.startswith("complex")}
    file = tmp_path / "x.safetensors"
    file.write_bytes(library.arrays.save_tensors(arrays, {"goldsmith": "[]"}))
    found = library.arrays.load_tensors(file)
    assert {name: array_hash(item) for name, item in found.items()} == {
        name: array_hash(item) for name, item in arrays.items()
    }


# --- randomness


def test_a_seed_gives_the_same_numbers(library: Framework, sample: Sample) -> None:
    with random_state_kept(7):
        one = array_hash(sample.draw())
    with random_state_kept(7):
        assert array_hash(sample.draw()) == one
    with random_state_kept(8):
        assert array_hash(sample.draw()) != one


def test_a_draw_shows_in_the_state(library: Framework, sample: Sample) -> None:
    before, has_drawn = library.numerics.random_state(), library.numerics.draw_watch()
    assert before == library.numerics.random_state()
    assert not has_drawn()
    sample.draw()
    assert before != library.numerics.random_state()
    assert has_drawn()


def test_the_random_state_is_put_back(library: Framework, sample: Sample) -> None:
    before = random_states()
    with random_state_kept(3):
        sample.draw()
        random.random()
    with contextlib.suppress(ValueError), random_state_kept():
        sample.draw()
        raise ValueError
    assert random_states() == before


def test_draws_are_told_of(library: Framework, sample: Sample) -> None:
    draws: list[int] = []
    with seam.conditions(on_draw=lambda: draws.append(1)):
        sample.draw()
    assert draws


# --- conditions


def test_a_run_without_conditions_is_pure(library: Framework, sample: Sample) -> None:
    with seam.conditions() as watch:
        sample.add(*(sample.array("float32", NUMBERS) for _ in range(2)))
    assert (watch.pure, watch.foreign, watch.rounded_to, watch.operations, watch.outputs) == (True, False, (), 0, {})


def test_conditions_end(library: Framework, sample: Sample) -> None:
    before = dtype_name(sample.draw())
    for wanted in ({"precision": "float64"}, {"precision": "float64", "lightly": True}, {"noise": 1}):
        with pytest.raises(ValueError, match="inside"), seam.conditions(**wanted):
            raise ValueError("inside")
    one, two = sample.array("float32", [1 / 3]), sample.array("float32", [1 / 7])
    assert dtype_name(sample.draw()) == before
    assert array_hash(sample.add(one, two)) == array_hash(sample.add(one, two))


@pytest.mark.parametrize("lightly", [True, False])
def test_float64_stays_float64(library: Framework, sample: Sample, lightly: bool) -> None:
    wide = library.numerics.widened(sample.array("float32", NUMBERS))
    with seam.conditions(precision="float64", lightly=lightly, watched=not lightly) as watch:
        assert dtype_name(sample.add(wide, wide)) == "float64"
    assert watch.pure


def test_what_is_written_through_an_alias_is_in_the_array(library: Framework, sample: Sample) -> None:
    array = library.arrays.copy(sample.array("float32", [1.0, 2.0]))
    try:
        library.arrays.overwrite(library.arrays.alias(array), 0 * array)
    except TypeError:  # arrays of this library cannot be written to
        return
    assert not as_numpy(library.arrays.to_numpy(array)).any()


def test_noise_moves_operations_where_it_can(library: Framework, sample: Sample) -> None:
    one, two = sample.array("float32", [1 / 3] * 64), sample.array("float32", [1 / 7] * 64)
    calm = as_numpy(sample.add(one, two))
    with seam.conditions(noise=1) as watch:
        noisy = as_numpy(sample.add(one, two))
    assert bool((noisy != calm).any()) == bool(watch.operations) == library.numerics.disturbs_operations
    assert np.allclose(noisy, calm, rtol=1e-6)


def test_noise_in_an_array_is_in_its_last_place(library: Framework, sample: Sample) -> None:
    array = sample.array("float32", [4.0, 1e20, *(number / 3 for number in range(1, 64, 3))])
    found = library.numerics.disturb(array, np.random.default_rng(1))
    assert dtype_name(found) == "float32"
    assert array_hash(found) != array_hash(array)
    assert np.allclose(as_numpy(found), as_numpy(array), rtol=2.4e-7)
    assert as_numpy(found)[0] == 4.0


def test_memory_can_be_marked(library: Framework) -> None:
    with seam.conditions(marked_memory=True):
        if library.name == "numpy":
            assert np.isnan(np.empty(3)).all()
    assert not hasattr(np.empty, "__wrapped__")


def test_a_library_holds_every_condition_or_none(library: Framework) -> None:
    for wanted in ({"note_dtypes": True}, {"keep_outputs": True}, {"note_optimisers": True}, {"marked_memory": False}):
        with library.numerics.conditions(Watch(), **wanted):
            pass


def test_no_gradients_are_recorded_where_none_are_wanted(library: Framework) -> None:
    with seam.without_gradients():
        assert not library.models.TYPES or not library.numerics.records_gradients()
    assert library.numerics.records_gradients()


# --- processes


def test_preloading_starts_no_thread(library: Framework) -> None:
    program = (
        "import os, sys; from goldsmith.frameworks.framework import framework\n"
        "count = lambda: len(os.listdir('/proc/self/task')); import numpy; before = count()\n"
        f"framework({library.name!r}).preload(); assert {library.name!r} in sys.modules\n"
        "assert count() == before, (before, count())"
    )
    if not Path("/proc/self/task").is_dir():
        pytest.skip("threads are not listed here")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_devices_that_are_listed_are_there(library: Framework) -> None:
    assert all(map(library.process.has_device, library.process.devices()))
    assert not library.process.has_device("no-such-device")
    library.process.limit_memory("cpu", 2**30)
    for device in ("cpu", *library.process.devices()):
        library.process.settle(device)


def test_the_environment_names_the_library(library: Framework) -> None:
    assert library.process.environment("cpu")[library.name] == sys.modules[library.name].__version__


def test_settings_and_functions_are_read_and_nothing_has_changed(library: Framework) -> None:
    numerics = library.numerics
    assert numerics.settings_changed(numerics.settings()) == ()
    assert all(map(callable, numerics.functions().values()))


def test_a_function_is_compiled_by_torch_and_others_say_why_not(library: Framework) -> None:
    if library.name == "torch":
        assert callable(library.numerics.compiled(abs))
        return
    with pytest.raises(CannotCompile, match=r".+"):
        library.numerics.compiled(abs)
