"""The manifest: the machine-readable truth about a gold folder, and nothing that moves on its own.

Everything but the `stamp` follows from solution, recipe, seed and machine. The stamp (date, commit) is
taken over from the manifest before as long as nothing else has changed, so that no byte moves.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import msgspec

from goldsmith.errors import GoldUnreadable
from goldsmith.gold.advice import Advice
from goldsmith.gold.facts import CaseFacts, Environment, LeafFacts
from goldsmith.gold.tolerances import Tolerance, customary

SCHEMA = 1
MANIFEST = "manifest.json"
README = "README.md"
TENSOR_SECTIONS = ("input", "output", "state_dict", "model_state_dict")


class TensorEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    path: str
    dtype: str
    shape: tuple[int, ...]
    sha256: str
    min: float | None = None
    max: float | None = None
    mean: float | None = None
    tolerance: Tolerance | None = None


class CaseEntry(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    kind: str
    title: str
    file: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    models: tuple[str, ...]
    training: tuple[str, ...]
    trace: str | None
    calls: int
    traced_calls: int
    config: dict[str, Any]
    allowed: dict[str, dict[str, str]]
    tensors: tuple[TensorEntry, ...]


class FileEntry(msgspec.Struct, frozen=True):
    name: str
    size: int
    sha256: str


class CheckEntry(msgspec.Struct, frozen=True):
    name: str
    outcome: str
    detail: str


class Provenance(msgspec.Struct, frozen=True, kw_only=True):
    """Which sources made the gold, how, and on what. `reads` are modules and data of the course outside the other
    three that the recipe used. All hashes are of what was there before the run."""

    solution: dict[str, str]
    starter: dict[str, str]
    recipe: dict[str, str]
    reads: dict[str, str]
    mode: str
    seed: int
    command: str
    goldsmith: str
    environment: Environment


class Stamp(msgspec.Struct, frozen=True):
    """When, and from which commit, the content last changed."""

    generated: str
    commit: str | None = None
    dirty: bool | None = None


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    schema: int = SCHEMA
    assignment: str
    seed: int
    stamp: Stamp
    cases: tuple[CaseEntry, ...]
    files: tuple[FileEntry, ...]
    checks: tuple[CheckEntry, ...]
    advice: tuple[Advice, ...]
    provenance: Provenance
    digest: str = ""


def case_entry(case: CaseFacts) -> CaseEntry:
    return CaseEntry(
        name=case.name,
        kind=case.kind,
        title=case.title,
        file=case.file.name,
        inputs=case.inputs,
        outputs=case.outputs,
        models=case.models,
        training=case.training,
        trace=case.trace,
        calls=case.calls,
        traced_calls=case.traced_calls,
        config=case.config,
        allowed=case.allowed,
        tensors=tuple(_tensor_entry(leaf) for leaf in case.file.leaves if leaf.section in TENSOR_SECTIONS),
    )


def _tensor_entry(leaf: LeafFacts) -> TensorEntry:
    tolerance = customary(leaf) if leaf.section in ("output", "model_state_dict") else None
    return TensorEntry(leaf.path, leaf.dtype, leaf.shape, leaf.sha256, leaf.min, leaf.max, leaf.mean, tolerance)


def keep_stamp(new: Manifest, old: Manifest | None) -> Manifest:
    """`new` with the stamp of `old` when nothing but stamp and documentation could differ."""
    if old is None or _content(new) != _content(old):
        return new
    return msgspec.structs.replace(new, stamp=old.stamp)


def _content(manifest: Manifest) -> Manifest:
    files = tuple(item for item in manifest.files if item.name != README)
    return msgspec.structs.replace(manifest, stamp=Stamp(""), files=files, digest="")


def encode(manifest: Manifest) -> bytes:
    """The manifest as it is written, its digest included: of the same text with the digest left empty."""
    blank = _text(msgspec.structs.replace(manifest, digest=""))
    return _text(msgspec.structs.replace(manifest, digest=hashlib.sha256(blank).hexdigest()))


def _text(manifest: Manifest) -> bytes:
    return msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n"


def read_manifest(folder: Path) -> Manifest:
    """The manifest in `folder`; `GoldUnreadable` says what is wrong with it."""
    path = folder / MANIFEST
    try:
        manifest = msgspec.json.decode(path.read_bytes(), type=Manifest)
    except FileNotFoundError:
        raise GoldUnreadable(folder, f"it has no {MANIFEST}") from None
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise GoldUnreadable(path, f"not a manifest of schema {SCHEMA} ({error})") from None
    if manifest.schema != SCHEMA:
        raise GoldUnreadable(path, f"its schema is {manifest.schema}, this goldsmith reads {SCHEMA}")
    blank = _text(msgspec.structs.replace(manifest, digest=""))
    if hashlib.sha256(blank).hexdigest() != manifest.digest:
        raise GoldUnreadable(path, "it was changed by hand or damaged: its digest does not fit its content")
    return manifest
