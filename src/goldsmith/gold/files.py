"""Read and write gold files: byte-stable, and never unpickled beyond plain tensors.

A recipe that uses torch gets `.pt` files that plain `torch.load` reads with its safe default. One that never imports
torch gets `.npz` files with the same keys, so that NumPy alone is enough.
"""

from __future__ import annotations

import codecs
import hashlib
import io
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from goldsmith.errors.recipe import MissingPackage
from goldsmith.foundation.atomic_files import write_durably
from goldsmith.foundation.nested import map_paths, map_tree, walk
from goldsmith.foundation.syntax import parsing
from goldsmith.gold.arrays import is_array, is_tensor, leaf_facts
from goldsmith.gold.facts import FileFacts

OUTPUT_KEYS = ("input", "output", "seed", "model_config", "state_dict")
CHECKPOINT_KEYS = ("model_state_dict", "epoch", "loss", "seed", "training_config")
SUFFIXES = (".pt", ".npz")
TRACE_SUFFIX = ".trace.safetensors"
REFERENCE_SUFFIX = ".reference.safetensors"
NOISY_PREFIX = "noisy:"
_STRUCTURE = "structure"
_REFERENCE, _BYTES, _TEXT = "@array:", "@bytes:", "@text:"
"""Prefixes of strings in the structure that stand for something else; a string that itself begins like one is marked as
text."""


def write_payload(payload: Mapping[str, Any], stem: Path, suffix: str | None = None) -> Path:
    """Write one case's payload next to `stem`: as `.pt` if torch is in use, else as `.npz`, unless `suffix` says
    which."""
    if suffix == ".pt" or (suffix is None and "torch" in sys.modules):
        path = stem.with_name(stem.name + ".pt")
        write_durably(path, _torch_bytes(payload))
    else:
        path = stem.with_name(stem.name + ".npz")
        write_durably(path, _numpy_bytes(payload))
    return path


def trace_as_bytes(tensors: Mapping[str, Any], index: object) -> bytes:
    """Encode a trace as a safetensors file; its one metadata key holds the order in which modules and functions ran."""
    metadata = {"goldsmith": json.dumps(index, separators=(",", ":"))}
    torch = sys.modules.get("torch")
    if torch is None:
        from safetensors.numpy import save as save_arrays

        return save_arrays(dict(tensors), metadata=metadata)
    from safetensors.torch import save

    return save({name: item if is_tensor(item) else torch.from_numpy(item) for name, item in tensors.items()}, metadata)


def write_trace(tensors: Mapping[str, Any], index: object, path: Path) -> None:
    path.write_bytes(trace_as_bytes(tensors, index))


def write_arrays(arrays: Mapping[str, Any], path: Path) -> None:
    """Write NumPy arrays by name as one safetensors file; torch is not needed."""
    from safetensors.numpy import save

    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(save(dict(arrays)))


def read_arrays(path: Path) -> dict[str, Any]:
    from safetensors.numpy import load_file

    return load_file(path)


def read_reference(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read the float64 reference of a case by path, and which elements of which tensors are noise."""
    kept = read_arrays(path)
    marks = {name.removeprefix(NOISY_PREFIX): mask for name, mask in kept.items() if name.startswith(NOISY_PREFIX)}
    return {name: array for name, array in kept.items() if not name.startswith(NOISY_PREFIX)}, marks


def read_payload(path: Path) -> dict[str, Any]:
    """Read the payload of a gold file. Raises whatever the reader raises for a damaged file."""
    if path.suffix == ".npz":
        return _read_numpy(path)
    try:
        import torch
    except ModuleNotFoundError:
        raise MissingPackage("torch", path.name) from None
    payload = torch.load(path, weights_only=True, map_location="cpu")
    if not isinstance(payload, dict):
        return {"output": payload}
    return payload


def read_back(path: Path) -> FileFacts:
    """Load a file from disk with the safe loader and return facts about its content."""
    digest = ""
    try:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        payload = read_payload(path)
        leaves = [leaf_facts(name, leaf) for name, leaf in walk(payload)]
    except MissingPackage:
        raise
    except Exception as error:
        text = str(error).strip().splitlines()
        return FileFacts(path.name, digest, error=f"{type(error).__name__}: {text[0] if text else ''}")
    return FileFacts(path.name, digest, tuple(str(key) for key in payload), tuple(leaves))


def _torch_bytes(payload: Mapping[str, Any]) -> bytes:
    import torch

    def storable(leaf: Any) -> Any:
        if is_array(leaf) and not is_tensor(leaf):
            return torch.from_numpy(leaf)
        return _EmptyBytes() if type(leaf) is bytes and not leaf else leaf

    buffer = io.BytesIO()  # torch would write a path's name into the archive
    torch.save(map_tree(storable, dict(payload)), buffer)
    return buffer.getvalue()


def _numpy_bytes(payload: Mapping[str, Any]) -> bytes:
    """Encode a payload: arrays under their slash-separated path, nesting and plain values as JSON under `structure`."""
    import numpy as np

    arrays: dict[str, Any] = {}

    def reference(path: str, value: Any) -> Any:
        if is_array(value):
            arrays[path] = value
            return _REFERENCE + path
        if isinstance(value, bytes):
            arrays[path] = np.frombuffer(value, dtype=np.uint8)
            return _BYTES + path
        if isinstance(value, str) and value.startswith((_REFERENCE, _BYTES, _TEXT)):
            return _TEXT + value
        return value

    structure = map_paths(reference, dict(payload), separator="/")
    for key, value in structure.items():
        if key not in arrays and isinstance(value, int | float):
            arrays[key] = np.asarray(value)
    arrays[_STRUCTURE] = np.asarray(json.dumps(structure))
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def _read_numpy(path: Path) -> dict[str, Any]:
    import numpy as np

    with parsing, np.load(path, allow_pickle=False) as archive:  # NumPy parses headers as Python
        if _STRUCTURE not in archive.files:
            return {name: archive[name] for name in archive.files}
        structure = json.loads(str(archive[_STRUCTURE]))

        def restore(value: Any) -> Any:
            if isinstance(value, str) and value.startswith(_REFERENCE):
                return archive[value.removeprefix(_REFERENCE)]
            if isinstance(value, str) and value.startswith(_BYTES):
                return archive[value.removeprefix(_BYTES)].tobytes()
            if isinstance(value, str):
                return value.removeprefix(_TEXT)
            return value

        payload: dict[str, Any] = map_tree(restore, structure)
        return payload


class _EmptyBytes(bytes):
    """Empty bytes, pickled like any others: torch's safe loader refuses what pickle calls for empty ones."""

    def __reduce__(self) -> Any:
        return codecs.encode, ("", "latin1")
