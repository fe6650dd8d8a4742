"""The manifest: the machine-readable truth about a gold folder, and nothing that moves on its own.

Everything but the `stamp` follows from solution, recipe, seed and machine. The stamp (date, commit) is
taken over from the manifest before as long as nothing else has changed, so that no byte moves.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from goldsmith.errors import GoldUnreadable
from goldsmith.gold.advice import Advice
from goldsmith.gold.arrays import JUDGED_SECTIONS
from goldsmith.gold.calibration import Calibration
from goldsmith.gold.facts import CaseFacts, Environment, LeafFacts, WeightFacts
from goldsmith.gold.tolerances import Tolerance, unmeasured

SCHEMA = 3
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
    variant: str
    accepts: tuple[str, ...]
    kind: str
    title: str
    file: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    models: tuple[str, ...]
    training: tuple[str, ...]
    weights: dict[str, WeightFacts]
    trace: str | None
    reference: str | None
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
    three that the recipe used. All hashes are of what was there before the run. `written` are the parts that were the
    students' to write."""

    solution: dict[str, str]
    starter: dict[str, str]
    recipe: dict[str, str]
    reads: dict[str, str]
    written: tuple[str, ...]
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
    calibration: Calibration | None
    provenance: Provenance
    digest: str = ""


class _Head(msgspec.Struct):
    schema: int


def case_entry(case: CaseFacts, measured: Mapping[str, Tolerance], why_not: str, reference: str | None) -> CaseEntry:
    """The case with the tolerances that were measured; `why_not` says why others were not."""

    def entry(leaf: LeafFacts) -> TensorEntry:
        judged = leaf.section in JUDGED_SECTIONS
        tolerance = measured.get(leaf.path) or unmeasured(leaf, why_not, case.pinned) if judged else None
        return TensorEntry(leaf.path, leaf.dtype, leaf.shape, leaf.sha256, leaf.min, leaf.max, leaf.mean, tolerance)

    return CaseEntry(
        name=case.name,
        variant=case.variant,
        accepts=case.accepts,
        kind=case.kind,
        title=case.title,
        file=case.file.name,
        inputs=case.inputs,
        outputs=case.outputs,
        models=case.models,
        training=case.training,
        weights=case.weights,
        trace=case.trace,
        reference=reference,
        calls=case.calls,
        traced_calls=case.traced_calls,
        config=case.config,
        allowed=case.allowed,
        tensors=tuple(entry(leaf) for leaf in case.file.leaves if leaf.section in TENSOR_SECTIONS),
    )


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
        content = path.read_bytes()
        schema = msgspec.json.decode(content, type=_Head).schema
        if schema != SCHEMA:
            raise GoldUnreadable(path, f"its schema is {schema}, this goldsmith reads {SCHEMA}")
        manifest = msgspec.json.decode(content, type=Manifest)
    except FileNotFoundError:
        raise GoldUnreadable(folder, f"it has no {MANIFEST}") from None
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise GoldUnreadable(path, f"not a manifest of schema {SCHEMA} ({error})") from None
    blank = _text(msgspec.structs.replace(manifest, digest=""))
    if hashlib.sha256(blank).hexdigest() != manifest.digest:
        raise GoldUnreadable(path, "it was changed by hand or damaged: its digest does not fit its content")
    return manifest
