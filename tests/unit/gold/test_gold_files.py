"""Gold files by themselves: what is written comes back, what is damaged is found, what differs is named."""

from __future__ import annotations

import hashlib
import io
import random
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import goldsmith
from goldsmith.comparison.bitwise import bit_differences
from goldsmith.errors.gold import GoldUnreadable
from goldsmith.foundation.nested import walk
from goldsmith.frameworks.framework import framework
from goldsmith.gold.arrays import leaf_facts
from goldsmith.gold.checks import Evidence, verify
from goldsmith.gold.facts import CaseFacts
from goldsmith.gold.files import read_back, read_payload, write_payload
from goldsmith.gold.load import load_gold
from goldsmith.gold.manifest import FileEntry
from goldsmith.weights.values import snapshot
from support.course import CourseOnDisk

DTYPES = st.sampled_from([np.float32, np.float64, np.int64, np.uint8, np.bool_, np.complex64, np.float16])
SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
ARRAYS = DTYPES.flatmap(lambda dtype: hnp.arrays(dtype, SHAPES))
PLAIN = st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.floats() | st.text("xyz", max_size=4)
KEYS = st.text("abc_", min_size=1, max_size=3)
VALUES = st.recursive(
    ARRAYS | PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=6
)
PAYLOADS = st.dictionaries(KEYS, VALUES, min_size=1, max_size=3)


def leaves(payload: dict[str, Any]) -> list[Any]:
    return [leaf_facts(path, leaf) for path, leaf in walk(payload)]


@settings(deadline=None, max_examples=60)
@given(payload=PAYLOADS)
def test_what_is_written_is_read_back_bit_for_bit_and_writing_is_byte_stable(payload: dict[str, Any]) -> None:
    payload = {key: snapshot(value, key) for key, value in payload.items()}
    with tempfile.TemporaryDirectory() as folder:
        one, two = (write_payload(payload, Path(folder, name)) for name in ("one", "a much longer name"))
        assert one.read_bytes() == two.read_bytes()
        facts = read_back(one)
        back = read_payload(one)
    assert facts.error is None
    assert [leaf.sha256 for leaf in facts.leaves] == [leaf.sha256 for leaf in leaves(back)]
    assert not bit_differences(payload, back)


@settings(deadline=None, max_examples=100)
@given(payload=PAYLOADS)
def test_numpy_files_hold_the_same_as_torch_files(payload: dict[str, Any]) -> None:
    arrays = framework("numpy").arrays
    payload = {key: snapshot(value, key) for key, value in payload.items()}
    with tempfile.TemporaryDirectory() as folder:
        path, again = Path(folder, "x.npz"), io.BytesIO()
        with path.open("wb") as file:
            arrays.save(payload, file)
        arrays.save(payload, again)
        assert again.getvalue() == path.read_bytes()
        assert not bit_differences(payload, arrays.load(path))


@settings(deadline=None, max_examples=100)
@given(array=ARRAYS.filter(lambda array: array.size > 0), data=st.data())
def test_any_flipped_bit_is_a_difference(array: np.ndarray[Any, Any], data: st.DataObject) -> None:
    raw = bytearray(array.tobytes())
    if array.dtype == np.bool_:
        raw[data.draw(st.integers(0, len(raw) - 1))] ^= 1
    else:
        raw[data.draw(st.integers(0, len(raw) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    other = np.frombuffer(bytes(raw), array.dtype).reshape(array.shape)
    found = bit_differences({"x": array}, {"x": other})
    assert [item.path for item in found] == ["x"]
    assert bit_differences({"x": torch.from_numpy(array.copy())}, {"x": torch.from_numpy(other.copy())})


@pytest.mark.parametrize(
    ("one", "two", "words"),
    [
        ({"a": 1}, {}, "a is missing from the second"),
        ({}, {"a": 1}, "a is missing from the first"),
        ({"a": 1.0}, {"a": 2.0}, "a is 1.0 once and 2.0 the other time"),
        ({"a": np.zeros(2)}, {"a": np.zeros(3)}, "a is float64 [2] once and float64 [3] the other time"),
        ({"a": np.zeros(2, "f4")}, {"a": np.zeros(2)}, "a is float32 [2] once and float64 [2] the other time"),
        ({"a": np.array([0.0, 2.0])}, {"a": np.array([0.0, 5.0])}, "a differs in 1 of 2 elements, by at most 3"),
        ({"a": np.array([0.0, np.nan])}, {"a": np.array([0.0, 5.0])}, "a differs in 1 of 2 elements, first at"),
        ({"a": np.array([0.0])}, {"a": np.array([-0.0])}, "a differs in sign of zero or NaN payload only"),
        ({"a": np.array([2**60])}, {"a": np.array([2**60 + 1])}, "a differs in 1 of 1 elements"),
        ({"a": np.array([3], "u1")}, {"a": np.array([5], "u1")}, "by at most 2"),
    ],
)
def test_a_difference_is_said_in_words(one: dict[str, Any], two: dict[str, Any], words: str) -> None:
    (found,) = bit_differences(one, two)
    assert words in str(found)


@pytest.mark.parametrize(
    ("one", "two"),
    [(np.array([2**60, 1]), np.array([2**60 + 1, 1])), (np.array([1.0, 2.0]), np.array([1.0, np.nan]))],
)
def test_what_must_be_exact_or_became_nan_is_never_within_tolerance(one: Any, two: Any) -> None:
    from goldsmith.gold.diff import change_sizes
    from goldsmith.gold.manifest import TensorEntry
    from goldsmith.gold.tolerances import unmeasured

    facts = leaf_facts("output", one)
    entry = TensorEntry("output", facts.dtype, facts.shape, facts.sha256, tolerance=unmeasured(facts, "", {}))
    assert change_sizes(one, two, entry).get("excess") is None


@pytest.mark.filterwarnings("error")
def test_a_signalling_nan_is_counted_without_a_warning() -> None:
    array = np.array([0x7F800001, 0x3F800000], dtype=np.uint32).view(np.float32)
    facts = leaf_facts("output", array)
    assert (facts.nan, facts.min, facts.max) == (1, 1.0, 1.0)


def test_a_file_whose_bytes_changed_is_not_read(course: CourseOnDisk) -> None:
    course.with_gold()
    path = course.gold() / "gold_output.npz"
    content = path.read_bytes()
    chance = random.Random(5)
    for _ in range(20):
        damaged = bytearray(content)
        damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
        path.write_bytes(damaged)
        with pytest.raises(GoldUnreadable, match="not those its manifest names"):
            goldsmith.load(course.gold())["gold_output"]
    path.write_bytes(content[:-1])
    with pytest.raises(GoldUnreadable):
        goldsmith.load(course.gold())["gold_output"]
    path.unlink()
    with pytest.raises(GoldUnreadable, match="No such file"):
        goldsmith.load(course.gold())["gold_output"]
    with pytest.raises(KeyError, match="there are gold_output"):
        goldsmith.load(course.gold())["nothing"]
    shutil.rmtree(course.gold())
    course.gold().mkdir()
    with pytest.raises(GoldUnreadable, match=r"no manifest\.json"):
        load_gold(course.gold())


def test_a_file_that_does_not_load_is_said_to(tmp_path: Path) -> None:
    path = write_payload({"input": torch.randn(3)}, tmp_path / "x")
    path.write_bytes(path.read_bytes()[:-40])
    assert read_back(path).error
    torch.save({"f": Evidence}, tmp_path / "y.pt")
    assert "UnpicklingError" in (read_back(tmp_path / "y.pt").error or "")


def entry(path: Path, size: int | None = None) -> FileEntry:
    content = path.read_bytes()
    return FileEntry(path.name, len(content) if size is None else size, hashlib.sha256(content).hexdigest())


def evidence(payload: dict[str, Any], tmp_path: Path, **changes: Any) -> Evidence:
    path = write_payload(payload, tmp_path / "a")
    case = CaseFacts(
        name="a", kind="output", file=read_back(path), declared=tuple(leaves(payload)), outputs=("y",), inputs=("x",)
    )
    base: dict[str, Any] = {
        "mode": "cases",
        "seed": 42,
        "cases": [case],
        "files": {path.name: entry(path)},
        "disagreements": {},
    }
    return Evidence(**(base | changes))


SOUND = {
    "input": torch.arange(3.0),
    "output": torch.arange(3.0),
    "seed": 42,
    "model_config": {},
    "state_dict": {},
}


def failed(items: Evidence) -> list[str]:
    return [check.name for check in verify(items) if not check.ok]


def test_sound_evidence_passes_all_ten_checks(tmp_path: Path) -> None:
    checks = verify(evidence(SOUND, tmp_path))
    assert [check.outcome for check in checks] == ["passed"] * 10


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"seed": 7}, "seed"),
        ({"seed": None}, "seed"),
        ({"output": torch.tensor([1.0, float("nan")])}, "nan"),
        ({"input": torch.tensor([1.0, float("nan")])}, "nan"),
        ({"state_dict": {"w": torch.tensor([1.0, float("inf")])}}, "inf"),
        ({"output": torch.zeros(4)}, "constant"),
        ({"output": torch.tensor([0.0, 1e7])}, "range"),
    ],
)
def test_each_fault_fails_its_own_check_and_no_other(change: dict[str, Any], name: str, tmp_path: Path) -> None:
    assert failed(evidence(SOUND | change, tmp_path)) == [name]


def test_an_infinite_input_is_no_fault(tmp_path: Path) -> None:
    assert failed(evidence(SOUND | {"input": torch.tensor([0.0, -torch.inf])}, tmp_path)) == []


@pytest.mark.parametrize("output", [2**60 + torch.arange(7), torch.tensor([1j, -1.0])], ids=["whole", "complex"])
def test_what_varies_where_float64_or_magnitudes_do_not_is_no_constant(output: torch.Tensor, tmp_path: Path) -> None:
    assert failed(evidence(SOUND | {"output": output}, tmp_path)) == []


def test_a_missing_key_a_changed_value_and_a_lost_leaf_are_found(tmp_path: Path) -> None:
    lacking = {key: value for key, value in SOUND.items() if key != "model_config"}
    assert failed(evidence(lacking, tmp_path)) == ["keys"]
    sound = evidence(SOUND, tmp_path)
    for declared in (
        leaves(SOUND | {"output": torch.arange(3.0) + 1}),
        leaves(SOUND | {"output": torch.arange(4.0)}),
        leaves(SOUND | {"output": torch.arange(3.0).double()}),
        leaves(SOUND | {"extra": 1}),
        leaves({key: value for key, value in SOUND.items() if key != "output"}),
    ):
        (case,) = sound.cases
        changed = CaseFacts(name="a", kind="output", file=case.file, declared=tuple(declared), outputs=("y",))
        items = Evidence(mode="cases", seed=42, cases=[changed], files=sound.files, disagreements={})
        assert failed(items) == ["declared"]


def test_size_warns_above_ten_and_refuses_above_a_hundred_megabytes(tmp_path: Path) -> None:
    def size_check(size: int, **options: Any) -> Any:
        evidence(SOUND, tmp_path)
        return verify(evidence(SOUND, tmp_path, files={"a.pt": entry(tmp_path / "a.pt", size)}, **options))[-1]

    assert size_check(9_900_000).outcome == "passed"
    assert size_check(10_100_000).outcome == "warned"
    assert size_check(100_100_000).outcome == "failed"
    assert size_check(100_100_000, allow_large=True).outcome == "warned"


def large(course: CourseOnDisk) -> None:
    source = (course.root / "src/assignments/hw1/generate_fixtures.py").read_text()
    big = source.replace("np.random.randn(3, 5)", "np.random.randn(7_000_000)")
    (course.root / "src/assignments/hw1/generate_fixtures.py").write_text(big)


@pytest.mark.long  # the test above shows it on sizes, and test_values_that_are_not_gold_are_refused_by_name the command
def test_large_gold_is_refused_unless_allowed(course: CourseOnDisk) -> None:
    large(course)
    run = course.run("generate", "hw1")
    assert run.code == 3
    assert "more than 100 MB" in run.last_line
    assert not course.gold().exists()


@pytest.mark.long
def test_large_gold_that_is_allowed_is_published_with_a_warning(course: CourseOnDisk) -> None:
    large(course)
    run = course.run("generate", "hw1", "--allow-large")
    assert run.code == 0
    assert "with a warning" in run.last_line


def test_files_that_somebody_else_put_there_are_not_replaced_unasked(course: CourseOnDisk) -> None:
    course.gold().mkdir(parents=True)
    theirs = course.gold() / "README.md"
    theirs.write_text("notes on gold that was made by hand\n")
    run = course.run("generate", "hw1", yes=False)
    assert run.code == 1
    assert "edited or foreign files (README.md)" in " ".join((run.out + run.err).split())
    assert [path.name for path in course.gold().iterdir()] == ["README.md"]
    assert theirs.read_text() == "notes on gold that was made by hand\n"
    assert course.run("generate", "hw1").code == 0
    assert "notes on gold" not in theirs.read_text()


def test_what_was_edited_in_published_gold_is_not_replaced_unasked(course: CourseOnDisk) -> None:
    course.with_gold()
    readme = course.gold() / "README.md"
    readme.write_text(readme.read_text() + "a note by hand\n")
    assert course.run("generate", "hw1", yes=False).code == 1
    assert "a note by hand" in readme.read_text()
    manifest = course.gold() / "manifest.json"
    manifest.write_text("<<<<<<< HEAD\n" + manifest.read_text())
    assert course.run("generate", "hw1", yes=False).code == 1
    assert "<<<<<<< HEAD" in manifest.read_text()
    assert course.run("generate", "hw1").code == 0
    assert "a note by hand" not in readme.read_text()
