"""`compare`: what agrees, what differs, what is said about it."""

from __future__ import annotations

import json
import math
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pytest

from goldsmith.comparison import blocks
from goldsmith.comparison.api import compare
from goldsmith.comparison.leaves import NotComparable
from goldsmith.comparison.results import LeafComparison
from goldsmith.gold.safetensors_reader import Bfloat16, open_mapped
from goldsmith.gold.tolerances import Tolerance

torch = pytest.importorskip("torch")
DRAW = np.random.default_rng(7)


def only(actual: Any, gold: Any, **options: Any) -> LeafComparison:
    (leaf,) = compare(actual, gold, **options).leaves
    return leaf


def normal(*shape: int, dtype: Any = np.float32) -> Any:
    return DRAW.standard_normal(shape).astype(dtype)


# --- structure


def test_every_leaf_is_reported_and_missing_and_extra_ones_too() -> None:
    gold = {"a": normal(3), "b": {"c": [1, 2.5, None], "d": "text"}, "e": normal(2)}
    actual = {"a": gold["a"] + 1, "b": {"c": [1, 2.5, None], "d": "other"}, "f": 3}
    found = {leaf.path: leaf.problem for leaf in compare(actual, gold).leaves}
    assert found == {
        "a": "values", "b.c.0": "", "b.c.1": "", "b.c.2": "", "b.d": "values", "e": "missing", "f": "extra",
    }  # fmt: skip


def test_nothing_to_compare_is_never_agreement() -> None:
    assert not compare({}, {})
    assert not compare({"a": []}, {"a": []})
    assert str(compare([], [])).startswith("differs: there was nothing")


def test_a_missing_empty_container_is_missing() -> None:
    assert [leaf.problem for leaf in compare({"x": 1}, {"x": 1, "y": []}).leaves] == ["", "missing"]


def test_a_tuple_for_a_list_is_a_note_and_a_dict_for_a_list_a_difference() -> None:
    found = compare((1, 2), [1, 2])
    assert found
    assert found.leaves[0].notes == ("tuple where gold has a list",)
    assert only({"0": 1}, [1]).problem == "type"
    assert only(1, [1]).problem == "type"
    assert [leaf.problem for leaf in compare([1], [1, 2]).leaves] == ["", "missing"]


def test_dataclasses_and_named_tuples_are_walked() -> None:
    @dataclass
    class Out:
        logits: Any
        loss: float

    class Pair(NamedTuple):
        x: int
        y: int

    found = compare({"o": Out(normal(2), 1.0), "p": Pair(1, 2)}, {"o": {"logits": normal(2), "loss": 1.0}, "p": (1, 2)})
    assert [leaf.path for leaf in found.leaves] == ["o.logits", "o.loss", "p.0", "p.1"]


def test_a_lone_value_has_no_path() -> None:
    assert only(1.0, 1.0).path == ""
    assert "value: is 2.0, gold is 1.0" in str(compare(2.0, 1.0))


@pytest.mark.parametrize(
    ("actual", "gold"), [(1, None), (None, 1), ("1", 1), (normal(2), "x"), (None, "None"), ([], normal(2)), (b"a", "a")]
)
def test_other_kinds_of_leaf_differ_in_type(actual: Any, gold: Any) -> None:
    assert only(actual, gold).problem == "type"


def test_a_structure_without_end_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(NotComparable):
        compare(loop, loop)


# --- dtype and shape


@pytest.mark.parametrize(
    ("one", "two"),
    [("float32", "float64"), ("int32", "int64"), ("int64", "float64"), ("bool", "int8"), ("float16", "float32")],
)
def test_another_dtype_differs_unless_told(one: str, two: str) -> None:
    actual, gold = np.ones(3, one), np.ones(3, two)
    leaf = only(actual, gold)
    assert (leaf.agrees, leaf.problem, leaf.excess) == (False, "dtype", math.inf)
    assert only(actual, gold, check_dtype=False).agrees
    assert not only(actual * 0, gold, check_dtype=False).agrees


def test_a_python_number_matches_a_scalar_of_its_kind() -> None:
    assert only(1.5, torch.tensor(1.5)).agrees
    assert only(np.float32(1.5), 1.5).agrees
    assert only(3, torch.tensor(3, dtype=torch.int32)).agrees
    assert only(True, np.bool_(True)).agrees
    assert only(1, torch.tensor(1.0)).problem == "dtype"
    assert only(1, 1.0).problem == "dtype"
    assert only(True, 1).problem == "dtype"
    assert only(2**80, 2**80).agrees
    assert not only(2**80 + 1, 2**80).agrees


def test_shapes_are_never_broadcast() -> None:
    for actual, gold in (
        (normal(3, 1), normal(3)),
        (normal(1), normal(1, 1)),
        (normal(0), normal(0, 2)),
        (1.0, normal(1)),
    ):
        assert only(actual, gold).problem == "shape"


def test_empty_and_zero_dimensional() -> None:
    assert only(normal(0, 3), normal(0, 3)).agrees
    assert not only(normal(0, 3), normal(0, 3, dtype=np.float64)).agrees
    assert only(np.array(2.0), np.array(2.0)).identical
    leaf = only(np.array(3.0), np.array(2.0))
    assert (leaf.index, leaf.actual, leaf.gold, leaf.largest_gap) == ((), 3.0, 2.0, 1.0)


def test_byte_order_does_not_matter_to_the_numbers() -> None:
    gold = normal(5)
    assert only(gold.astype(">f4"), gold).agrees
    assert not only((gold + 1).astype(">f4"), gold).agrees
    assert only((gold + 1).astype(">f4"), gold.astype(">f4")).ulps


# --- numbers


def test_small_and_extreme_integers_do_not_wrap_around() -> None:
    assert only(np.uint8([0]), np.uint8([255])).largest_gap == 255
    low, high = np.int64([-(2**63), 5]), np.int64([2**63 - 1, 5])
    assert only(low, high).largest_gap == 2**64 - 1
    big = np.int64([2**62 + 1, 0])
    assert only(big, np.int64([2**62, 0])).mismatched == 1
    assert only(big, np.int64([2**62, 0]), atol=1).agrees
    assert not only(big + 600, np.int64([2**62, 0]), atol=500).agrees
    assert not only(np.uint64([2**63 + 1]), np.int64([2**62]), check_dtype=False).agrees
    assert only(np.array([True, False]), np.array([True, True])).largest_gap == 1


def test_a_gap_that_float32_cannot_hold_is_still_told_rightly() -> None:
    most = np.finfo(np.float32).max
    leaf = only(np.float32([most, 1, 2]), np.float32([-most, 1, 2]))
    assert leaf.largest_gap == 2 * float(most)
    assert (leaf.problem, leaf.mismatched, leaf.inf_actual) == ("values", 1, 0)
    assert math.isfinite(leaf.rms_gap)
    huge = only(np.float64([1e300, 3.0]), np.float64([2e300, 3.0]))
    assert huge.rms_gap == pytest.approx(1e300 / math.sqrt(2))
    tiny = only(np.float32([1e-45, 1.0]), np.float32([0, 1.0]), rtol=0, atol=0)
    assert (tiny.mismatched, tiny.ulps) == (1, 1)
    assert only(np.float32([1e-30] * 3), np.float32([2e-30] * 3)).rms_gap == pytest.approx(1e-30)


def test_minus_zero_agrees_but_is_not_identical() -> None:
    leaf = only(np.float32([-0.0, 1]), np.float32([0.0, 1]), rtol=0, atol=0)
    assert (leaf.agrees, leaf.identical) == (True, False)


def test_nan_and_infinity_are_counted_apart() -> None:
    gold = np.float32([1, np.nan, np.inf, -np.inf, 5])
    assert only(gold.copy(), gold).problem == "nan"
    agreeing = only(gold.copy(), gold, equal_nan=True)
    assert agreeing.agrees
    assert agreeing.identical
    assert (agreeing.nan_gold, agreeing.inf_gold) == (1, 2)
    assert compare({"x": gold}, {"x": gold.copy()}, equal_nan=["x"])
    assert not compare({"x": gold}, {"x": gold.copy()}, equal_nan=["y"])
    flipped = gold.copy()
    flipped[2] = -np.inf
    leaf = only(flipped, gold, equal_nan=True)
    assert (leaf.problem, leaf.index, leaf.excess, leaf.rtol_alone) == ("inf", (2,), math.inf, math.inf)
    new = gold.copy()
    new[4] = np.nan
    leaf = only(new, gold, equal_nan=True, atol=1e9)
    assert (leaf.problem, leaf.index, leaf.nan_actual, leaf.nan_gold) == ("nan", (4,), 2, 1)
    assert leaf.largest_gap == 0


def test_complex_numbers_by_absolute_value() -> None:
    gold = np.complex64([3 + 4j, 1j, 2])
    assert only(gold + np.complex64(0.3 + 0.4j), gold, atol=0.5001).agrees
    assert not only(gold + np.complex64(0.3 + 0.4j), gold, atol=0.4999).agrees
    assert only(np.complex64([complex(np.nan, 1)]), np.complex64([1])).problem == "nan"
    parts = Tolerance(kind="pinned", reason="", max=0.45)
    assert only(gold + np.complex64(0.3 + 0.4j), gold, tolerances={"": parts}).agrees
    assert only(np.complex128(1j), 1j).agrees


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64", "complex64", "int8", "uint16", "bool"])
def test_tensors_of_every_dtype(name: str) -> None:
    gold = (torch.arange(24).reshape(4, 6) % 5).to(getattr(torch, name))
    assert only(gold.clone(), gold).identical
    assert only(gold, gold).gold_dtype == name
    wrong = gold.clone()
    wrong[2, 3] = 1 - wrong[2, 3].to(torch.int32) if name == "bool" else 4
    leaf = only(wrong, gold)
    assert (leaf.mismatched, leaf.where, leaf.index) == (1, "only at [2, 3]", (2, 3))
    assert only(wrong.T, gold.T).index == (3, 2)


def test_tensors_that_need_gradients_or_are_conjugated() -> None:
    weight = torch.ones(3, requires_grad=True)
    assert only(weight, torch.ones(3)).identical
    number = torch.tensor([1 + 2j, 3j])
    assert only(number.conj(), torch.tensor([1 - 2j, -3j])).agrees


@pytest.mark.parametrize(
    "value",
    [
        torch.eye(3).to_sparse(),
        torch.ones(2, device="meta"),
        torch.ones(2).to(torch.float8_e4m3fn),
        np.array([object()]),
        np.array(["a", "b"]),
        np.ma.masked_array([1.0, 2.0], mask=[0, 1]),
        np.array(["2020-01-01"], dtype="datetime64[D]"),
        object(),
    ],
)
def test_what_has_no_numbers_is_refused_by_name(value: Any) -> None:
    with pytest.raises(NotComparable, match=r"^out\.x is an? .*cannot be compared; .*\.$"):
        compare({"out": {"x": value}}, {"out": {"x": value}})


@pytest.mark.filterwarnings("ignore:.*deprecated")
def test_quantised_tensors_are_refused() -> None:
    value = torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8)
    with pytest.raises(NotComparable, match="dequantize"):
        compare(value, value)


def test_anything_with_array_or_dlpack() -> None:
    class WithArray:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return np.float32([1, 2])

    class WithDlpack:
        def __dlpack__(self, **options: Any) -> Any:
            return np.float32([1, 2]).__dlpack__(**options)

        def __dlpack_device__(self) -> Any:
            return (1, 0)

    assert compare({"a": WithArray(), "d": WithDlpack()}, {"a": np.float32([1, 2]), "d": np.float32([1, 2])})


# --- what is told


def test_the_answer_comes_first_and_json_has_no_infinities() -> None:
    gold = {"x": normal(4, 4), "y": normal(3)}
    found = compare({"x": gold["x"] * np.float32(np.nan), "y": gold["y"]}, gold)
    assert str(found).splitlines()[0] == "differs: 1 of 2 leaves"
    text = json.dumps(found.plain(), allow_nan=False)
    assert json.loads(text)["leaves"][0]["excess"] == "inf"
    assert msgspec.json.encode(found.plain())
    assert str(compare(gold, gold)) == "agrees: 2 leaves, identical to the last bit"
    assert found.worst is found.leaves[0]
    assert found.differing == found.leaves[:1]


def test_a_distance_as_a_whole_can_be_too_large_where_no_element_is() -> None:
    gold = np.ones(100, np.float32)
    tolerance = Tolerance(kind="measured", reason="", l2=0.001, max=0.1)
    leaf = only(gold * np.float32(1.01), gold, tolerances={"": tolerance})
    assert (leaf.agrees, leaf.mismatched, leaf.problem) == (False, 0, "values")
    assert leaf.excess == pytest.approx(10, rel=1e-4)
    assert "as a whole" in str(leaf)


def test_ulps_and_cosine_of_what_differs() -> None:
    gold = normal(50)
    next_but_one = np.nextafter(np.nextafter(gold, np.float32(9)), np.float32(9))
    leaf = only(next_but_one, gold, rtol=0, atol=0)
    assert leaf.ulps == 2
    assert leaf.cosine == pytest.approx(1)
    assert only(-gold, gold).cosine == pytest.approx(-1)


def test_bad_tolerances_are_refused() -> None:
    for bad in (-1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="rtol"):
            compare(1.0, 1.0, rtol=bad)
    with pytest.raises(ValueError, match="noisy"):
        compare(normal(3), normal(3), noisy={"": np.ones(4, bool)})


# --- files


def bfloat16_file(path: Path) -> Path:
    from safetensors.torch import save_file

    save_file({"w": torch.arange(6.0).reshape(2, 3).bfloat16(), "n": torch.arange(3)}, path, {"made": "here"})
    return path


def test_files_stand_for_what_they_hold(tmp_path: Path) -> None:
    path = bfloat16_file(tmp_path / "a.safetensors")
    found = open_mapped(path)
    assert isinstance(found["w"], Bfloat16)
    assert found.metadata == {"made": "here"}
    expected = {"w": torch.arange(6.0).reshape(2, 3).bfloat16(), "n": torch.arange(3)}
    assert compare(path, expected)
    assert not compare(path, expected | {"n": torch.arange(3) + 1})
    array = normal(4, 3)
    np.save(tmp_path / "a.npy", array)
    np.savez(tmp_path / "a.npz", x=array)
    torch.save({"x": torch.from_numpy(array)}, tmp_path / "a.pt")
    assert compare(tmp_path / "a.npy", array)
    assert compare(tmp_path / "a.npz", tmp_path / "a.pt")
    with pytest.raises(ValueError, match="ends in none of"):
        compare(tmp_path / "a.txt", array)


def header(text: str, data: bytes = b"", length: int | None = None) -> bytes:
    return struct.pack("<Q", len(text) if length is None else length) + text.encode() + data


ENTRY = '{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}%s}'


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "only 0 bytes"),
        (b"\0" * 7, "only 7 bytes"),
        (header("{}", length=2**60), "claims"),
        (header("{}", length=99), "cut off"),
        (header("{]"), "not JSON"),
        (header("[" * 100_000), "not JSON"),
        (header("[1]"), "not an object"),
        (header('{"a":' + "9" * 5000 + "}"), "not JSON"),
        (header(ENTRY % "", b"\0" * 4), "cut off"),
        (header(ENTRY % "", b"\0" * 9), "belong to no tensor"),
        (header(ENTRY % ',"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}', b"\0" * 8), "twice"),
        (header(ENTRY % ',"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}', b"\0" * 12), "overlaps"),
        (header(ENTRY % ',"b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}', b"\0" * 8), "overlaps"),
        (header(ENTRY % ',"b":{"dtype":"F32","shape":[1],"data_offsets":[12,16]}', b"\0" * 16), "unclaimed"),
        (header('{"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}}', b"\0" * 8), "needs 12 bytes"),
        (header('{"a":{"dtype":"F32","shape":[4611686018427387903,9],"data_offsets":[0,8]}}', b"\0" * 8), "needs"),
        (header('{"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}}', b"\0" * 8), "shape"),
        (header('{"a":{"dtype":"F32","shape":[true],"data_offsets":[0,4]}}', b"\0" * 4), "shape"),
        (header('{"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}}', b"\0" * 8), "has -8"),
        (header('{"a":{"dtype":"F8_E4M3","shape":[8],"data_offsets":[0,8]}}', b"\0" * 8), "F8_E4M3"),
        (header('{"a":{"dtype":["F32"],"shape":[2],"data_offsets":[0,8]}}', b"\0" * 8), "dtype"),
        (header('{"a":3}'), "entry of 'a'"),
        (header('{"__metadata__":{"x":1}}'), "metadata"),
    ],
)
def test_damaged_and_malicious_files_are_refused_in_one_sentence(tmp_path: Path, content: bytes, fault: str) -> None:
    path = tmp_path / "x.safetensors"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"^x\.safetensors .*\.$") as raised:
        open_mapped(path)
    assert fault in str(raised.value)
    assert "\n" not in str(raised.value)


def test_pages_of_mapped_files_are_given_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    released = []
    give_back = blocks.Pages.release_before
    monkeypatch.setattr(blocks.Pages, "release_before", lambda *a, **k: released.append(a[1]) or give_back(*a, **k))
    array = np.zeros((3000, 2000), np.float32)
    np.save(tmp_path / "a.npy", array)
    assert compare(tmp_path / "a.npy", array)
    assert released[-1] == array.nbytes
    private = np.load(tmp_path / "a.npy", mmap_mode="c")
    private[0, 0] = 1
    assert not compare(private, array)
    assert private[0, 0] == 1, "what was written into a private mapping is kept"
