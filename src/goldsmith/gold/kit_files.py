"""The files of a students' kit: `kit.json` lists them, `kit.npz` holds what a check needs.

`kit.npz` has the given arrays, those of one dtype after another, the sums of all sketches in units of their steps, and,
as JSON, which case uses which of them. Nothing else of gold is in it: no output, no hash, no statistic of one.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from goldsmith.errors.handout import KitUnreadable
from goldsmith.foundation.nested import map_tree
from goldsmith.frameworks.framework import arrays_of, framework
from goldsmith.gold.arrays import as_numpy, dtype_name, is_array
from goldsmith.gold.safetensors_reader import Bfloat16
from goldsmith.gold.sketches.sketch import Sketch

SCHEMA = 1
LIST, DATA, CHECK, SKETCHES, README = "kit.json", "kit.npz", "check.py", "sketches.py", "README.md"
RECIPE, ADAPTER = "cases.py", "cases_adapter.py"
NAMES = (LIST, DATA, CHECK, SKETCHES, README, RECIPE, ADAPTER)
"""Every file that a kit may have."""
MAX_JSON_BYTES = 64 * 2**20
_INDEX, _SUMS = "index", "sums"
ARRAY, BYTES = "@array", "@bytes"
"""Keys of objects in the JSON that stand for an array, by its number, and for bytes."""


class KitList(msgspec.Struct, frozen=True, kw_only=True):
    """The whole of `kit.json`."""

    schema: int = SCHEMA
    """The version of this form."""
    assignment: str
    """The assignment."""
    goldsmith: str
    """The version of goldsmith that made it."""
    gold: str
    """The digest of the manifest of the gold that it was made from."""
    files: dict[str, str]
    """Hash of every other file of the kit, by name."""


@dataclass(frozen=True)
class KitData:
    """The content of `kit.npz`: `index` as JSON, arrays by number, sketches by number."""

    index: dict[str, Any]
    arrays: Sequence[Any]
    sketches: Sequence[Sketch]


def digest_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def encode_list(kit: KitList) -> bytes:
    return msgspec.json.format(msgspec.json.encode(kit), indent=2) + b"\n"


def read_list(folder: Path) -> KitList:
    """Read `kit.json` of a folder; `KitUnreadable` says what is wrong with it."""
    path = folder / LIST
    try:
        return list_from(path.read_bytes())
    except OSError as error:
        raise KitUnreadable(path, error.strerror or str(error)) from None
    except ValueError as error:
        raise KitUnreadable(path, str(error)) from None


def list_from(content: bytes) -> KitList:
    """Decode `kit.json`; raise ValueError if it is something else."""
    try:
        found = msgspec.json.decode(content, type=KitList)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"it does not list a kit ({error})") from None
    if found.schema != SCHEMA:
        raise ValueError(f"its schema is {found.schema}, this goldsmith reads {SCHEMA}")
    return found


def read_data(folder: Path) -> KitData:
    """Read `kit.npz` of a folder whose `kit.json` names its hash."""
    path = folder / DATA
    try:
        content = path.read_bytes()
        if digest_of(content) != read_list(folder).files.get(DATA):
            raise KitUnreadable(path, f"its bytes are not those that {LIST} names")
        return data_from(content)
    except OSError as error:
        raise KitUnreadable(path, error.strerror or str(error)) from None
    except ValueError as error:
        raise KitUnreadable(path, str(error)) from None


def encode_data(index: Mapping[str, Any], arrays: Sequence[Any], sketches: Sequence[Sketch]) -> bytes:
    """Encode the content of `kit.npz`. All sketches must have been rounded."""
    steps = [sketch.step for sketch in sketches]
    sums = [np.round(sketch.sums / step).astype(np.int64) for sketch, step in zip(sketches, steps, strict=True)]
    about = [
        {"shape": list(item.shape), "dtype": item.dtype, "rms": item.rms, "step": step, "count": item.count}
        for item, step in zip(sketches, steps, strict=True)
    ]
    plain = [_plain(item) for item in arrays]
    given = [
        {"dtype": dtype_name(item), "stored": stored.dtype.name, "shape": list(stored.shape)}
        for item, stored in zip(arrays, plain, strict=True)
    ]
    text = json.dumps({**index, "sketches": about, "arrays": given}, separators=(",", ":"))
    members: dict[str, Any] = {
        _INDEX: np.frombuffer(text.encode(), dtype=np.uint8),
        _SUMS: np.concatenate([np.empty(0, dtype=np.int64), *sums]),
    }
    for name in dict.fromkeys(item["stored"] for item in given):
        flat = np.concatenate([item.reshape(-1) for item in plain if item.dtype.name == name])
        # the first bytes of all numbers, then the second: alike ones next to each other take a quarter less space
        members[name] = np.ascontiguousarray(flat.view(np.uint8).reshape(flat.size, -1).T)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **members)
    return buffer.getvalue()


def data_from(content: bytes) -> KitData:
    """Decode `kit.npz`; raise ValueError if it is something else."""
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            index = json.loads(archive[_INDEX].tobytes().decode())
            sums, start, sketches = archive[_SUMS].astype(np.float64), 0, []
            for item in index["sketches"]:
                own = sums[start : start + item["count"]] * item["step"]
                sketches.append(Sketch(tuple(item["shape"]), item["dtype"], item["rms"], own, item["step"]))
                start += item["count"]
            arrays = _arrays_in(archive, index["arrays"])
            extra = set(archive.files) - {_INDEX, _SUMS, *(item["stored"] for item in index["arrays"])}
    except (OSError, KeyError, TypeError, AttributeError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"it is not the data of a kit ({error})") from None
    if extra or start != sums.size:
        raise ValueError("it holds more than its index names")
    return KitData(index, arrays, sketches)


def _arrays_in(archive: Any, given: Sequence[Mapping[str, Any]]) -> list[Any]:
    members = {name: archive[name] for name in {item["stored"] for item in given}}
    flat = {name: np.ascontiguousarray(item.T).view(np.dtype(name)).reshape(-1) for name, item in members.items()}
    places = dict.fromkeys(flat, 0)
    found = []
    for item in given:
        name, size = item["stored"], math.prod(item["shape"])
        own = flat[name][places[name] : places[name] + size].reshape(item["shape"])
        places[name] += size
        found.append(_with_dtype(own, item["dtype"]))
    if any(places[name] != item.size for name, item in flat.items()):
        raise ValueError("it has numbers that belong to no array")
    return found


def refer_to_arrays(value: Any, number_of: Any) -> Any:
    """Return nested values as JSON, with each array replaced by what `number_of` it is."""

    def plain(leaf: Any) -> Any:
        if is_array(leaf):
            return {ARRAY: number_of(leaf)}
        return {BYTES: leaf.hex()} if isinstance(leaf, bytes) else leaf

    return map_tree(plain, value)


def with_arrays(value: Any, arrays: Sequence[Any]) -> Any:
    """Return the nested values that `refer_to_arrays` made JSON of."""

    def restored(leaf: Any) -> Any:
        if isinstance(leaf, dict):
            return arrays[leaf[ARRAY]] if ARRAY in leaf else bytes.fromhex(leaf[BYTES])
        return leaf

    return map_tree(restored, value, lambda item: isinstance(item, dict) and set(item) in ({ARRAY}, {BYTES}))


def _plain(array: Any) -> Any:
    """Return an array as NumPy stores it: bfloat16 as float32, which holds the same numbers."""
    host = arrays_of(array).to_numpy(array)
    return as_numpy(host) if isinstance(host, Bfloat16) else host


def _with_dtype(array: Any, name: str) -> Any:
    return array if name != "bfloat16" else framework("torch").arrays.from_numpy(array, name)
