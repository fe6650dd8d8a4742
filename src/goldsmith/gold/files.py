"""Read and write gold files: byte-stable, and never unpickled beyond plain tensors.

A recipe that uses torch gets `.pt` files that plain `torch.load` reads with its safe default. One that never imports
torch gets `.npz` files with the same keys, so that NumPy alone is enough.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from goldsmith.errors.recipe import MissingPackage
from goldsmith.foundation.atomic_files import durable_file
from goldsmith.foundation.nested import walk
from goldsmith.frameworks.framework import storing, writer_of
from goldsmith.gold.arrays import leaf_facts
from goldsmith.gold.choices import OF_CHOICES
from goldsmith.gold.facts import FileFacts
from goldsmith.gold.safetensors_reader import open_mapped, parse_bytes
from goldsmith.gold.safetensors_writer import encoded

OUTPUT_KEYS = ("input", "output", "seed", "model_config", "state_dict")
CHECKPOINT_KEYS = ("model_state_dict", "epoch", "loss", "seed", "training_config")
SUFFIXES = (".pt", ".npz")
TRACE_SUFFIX = ".trace.safetensors"
REFERENCE_SUFFIX = ".reference.safetensors"
NOISY_PREFIX = "noisy:"
_PIECE_BYTES = 2**20
MAPPED_BYTES = 4 * 2**20
"""Smaller files are read at once: that takes less than to map them, and they can be written to while they are used."""


def write_payload(payload: Mapping[str, Any], stem: Path, suffix: str = "") -> Path:
    """Write one case's payload next to `stem`: as the library in use writes it, unless `suffix` says which."""
    library = writer_of(suffix) if suffix else storing()
    path = stem.with_name(stem.name + library.suffix)
    with durable_file(path) as file:
        library.arrays.save(payload, file)
    return path


def trace_as_bytes(tensors: Mapping[str, Any], index: object) -> bytes:
    """Encode a trace as a safetensors file; its one metadata key holds the order in which modules and functions ran."""
    return storing().arrays.save_tensors(tensors, {"goldsmith": json.dumps(index, separators=(",", ":"))})


def write_trace(tensors: Mapping[str, Any], index: object, path: Path) -> None:
    path.write_bytes(trace_as_bytes(tensors, index))


def write_arrays(arrays: Mapping[str, Any], path: Path) -> None:
    """Write NumPy arrays by name as one safetensors file; torch is not needed. Each is asked for twice."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        encoded(arrays).write_to(file)


def read_arrays(path: Path) -> dict[str, Any]:
    """Read the arrays of a file of ours, or map them where it is large; they cannot be written to."""
    if path.stat().st_size > MAPPED_BYTES:
        return dict(open_mapped(path))
    return dict(parse_bytes(memoryview(path.read_bytes()), path))


def read_reference(path: Path) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Read the float64 reference of a case by path, which elements of which tensors are noise, and what choices were
    made from."""
    kept = read_arrays(path)
    marks = {name.removeprefix(NOISY_PREFIX): mask for name, mask in kept.items() if name.startswith(NOISY_PREFIX)}
    choices = {name: array for name, array in kept.items() if name.startswith(OF_CHOICES)}
    values = {name: kept[name] for name in kept if name not in choices and not name.startswith(NOISY_PREFIX)}
    return values, marks, choices


def read_payload(path: Path, *, mapped: bool = False) -> dict[str, Any]:
    """Read the payload of a gold file. Raises whatever the reader raises for a damaged file.

    A large file whose bytes have been checked, or that this process has written, can be `mapped`: then its numbers are
    read when they are used, and writing to them changes a copy.
    """
    library = writer_of(path.suffix if path.suffix == ".npz" else ".pt")
    try:
        payload = library.arrays.load(path, mapped=mapped and path.stat().st_size > MAPPED_BYTES)
    except ModuleNotFoundError as missing:
        if missing.name != library.name:
            raise
        raise MissingPackage(library.name, path.name) from None
    if not isinstance(payload, dict):
        return {"output": payload}
    return payload


def file_digest(path: Path) -> str:
    """Return the hash of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def same_bytes(one: Path, two: Path) -> bool:
    """Say whether two files have the same content, which is read piece by piece."""
    if one.stat().st_size != two.stat().st_size:
        return False
    with one.open("rb") as first, two.open("rb") as second:
        while piece := first.read(_PIECE_BYTES):
            if piece != second.read(_PIECE_BYTES):
                return False
        return not second.read(1)


def read_back(path: Path) -> FileFacts:
    """Load a file from disk with the safe loader and return facts about its content."""
    digest = ""
    try:
        digest = file_digest(path)
        payload = read_payload(path, mapped=True)
        leaves = [leaf_facts(name, leaf) for name, leaf in walk(payload)]
    except MissingPackage:
        raise
    except Exception as error:
        text = str(error).strip().splitlines()
        return FileFacts(path.name, digest, error=f"{type(error).__name__}: {text[0] if text else ''}")
    return FileFacts(path.name, digest, tuple(str(key) for key in payload), tuple(leaves))
