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
from goldsmith.foundation.atomic_files import write_durably
from goldsmith.foundation.nested import walk
from goldsmith.frameworks.framework import storing, writer_of
from goldsmith.gold.arrays import leaf_facts
from goldsmith.gold.choices import OF_CHOICES
from goldsmith.gold.facts import FileFacts

OUTPUT_KEYS = ("input", "output", "seed", "model_config", "state_dict")
CHECKPOINT_KEYS = ("model_state_dict", "epoch", "loss", "seed", "training_config")
SUFFIXES = (".pt", ".npz")
TRACE_SUFFIX = ".trace.safetensors"
REFERENCE_SUFFIX = ".reference.safetensors"
NOISY_PREFIX = "noisy:"


def write_payload(payload: Mapping[str, Any], stem: Path, suffix: str = "") -> Path:
    """Write one case's payload next to `stem`: as the library in use writes it, unless `suffix` says which."""
    library = writer_of(suffix) if suffix else storing()
    path = stem.with_name(stem.name + library.suffix)
    write_durably(path, library.arrays.save(payload))
    return path


def trace_as_bytes(tensors: Mapping[str, Any], index: object) -> bytes:
    """Encode a trace as a safetensors file; its one metadata key holds the order in which modules and functions ran."""
    return storing().arrays.save_tensors(tensors, {"goldsmith": json.dumps(index, separators=(",", ":"))})


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


def read_reference(path: Path) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Read the float64 reference of a case by path, which elements of which tensors are noise, and what choices were
    made from."""
    kept = read_arrays(path)
    marks = {name.removeprefix(NOISY_PREFIX): mask for name, mask in kept.items() if name.startswith(NOISY_PREFIX)}
    choices = {name: array for name, array in kept.items() if name.startswith(OF_CHOICES)}
    values = {name: kept[name] for name in kept if name not in choices and not name.startswith(NOISY_PREFIX)}
    return values, marks, choices


def read_payload(path: Path) -> dict[str, Any]:
    """Read the payload of a gold file. Raises whatever the reader raises for a damaged file."""
    library = writer_of(path.suffix if path.suffix == ".npz" else ".pt")
    try:
        payload = library.arrays.load(path)
    except ModuleNotFoundError as missing:
        if missing.name != library.name:
            raise
        raise MissingPackage(library.name, path.name) from None
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
