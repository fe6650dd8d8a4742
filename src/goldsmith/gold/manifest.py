"""The manifest: a machine-readable description of a gold folder that only changes when the gold does.

Everything but the `stamp` follows from solution, recipe, seed and machine. The stamp (date, commit) is copied from the
previous manifest as long as nothing else has changed, so that no byte changes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from goldsmith.errors.gold import GoldUnreadable, NewerGold
from goldsmith.gold.advice import Advice
from goldsmith.gold.choices import Choice
from goldsmith.gold.facts import JUDGED_SECTIONS, CaseFacts, Environment, LeafFacts, WeightFacts
from goldsmith.gold.payload import PayloadNames
from goldsmith.gold.rulers import Ruler
from goldsmith.gold.tolerances import Tolerance, unmeasured
from goldsmith.targets.target import Replacements

SCHEMA = 5
OLDEST_SCHEMA = 3
"""The oldest manifests that can be read; what they do not say is unknown, not wrong."""
MANIFEST = "manifest.json"
README = "README.md"
CONFLICT = b"\n<<<<<<< "
TENSOR_SECTIONS = ("input", "output", "state_dict", "model_state_dict")


class TensorEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """One array or number of a gold file."""

    path: str
    """Where it sits in the file, such as `output.logits`."""
    dtype: str
    """Its dtype, or the type of a plain value."""
    shape: tuple[int, ...]
    """Its sizes; empty for a single number."""
    sha256: str
    """Hash of its bytes."""
    min: float | None = None
    """Its smallest element."""
    max: float | None = None
    """Its largest element."""
    mean: float | None = None
    """The mean of its elements."""
    tolerance: Tolerance | None = None
    """How far a correct implementation may be off; only for what is compared."""
    values: Any = None
    """Its elements, in what a test keeps and where they are few; the file holds the same ones."""


class CaseEntry(PayloadNames, msgspec.Struct, frozen=True, kw_only=True):
    """One case as it was recorded."""

    name: str
    """The case's name, followed by the variant's where it is one's recording."""
    variant: str
    """The variant of the solution that it was recorded from, empty for the solution itself."""
    accepts: tuple[str, ...]
    """Variants whose answers are right, too."""
    kind: str
    """`output` or `checkpoint`."""
    title: str
    """The first line of the case's docstring."""
    file: str
    """The file that holds it."""
    inputs: tuple[str, ...]
    """Names of its inputs, in order."""
    outputs: tuple[str, ...]
    """Names of what was recorded, in order."""
    models: tuple[str, ...]
    """Names of its models, in order."""
    training: tuple[str, ...]
    """Those of its models that were in train mode."""
    weights: dict[str, WeightFacts]
    """What is known about the weights of each model."""
    trace: str | None
    """The file with its submodules' inputs and outputs, if any."""
    reference: str | None
    """The file with its outputs in float64, if any."""
    calls: int
    """How often its models were called."""
    traced_calls: int
    """How many of those calls the trace has."""
    config: dict[str, Any]
    """What the file has besides arrays: `model_config`; of a checkpoint `training_config`, `epoch` and `loss`. Of
    values that a test keeps, the `test`, the name of its `check`, whether they came `from_call`, the paths of `labels`,
    the `reason` of their last change, and the hash of the file that the folder `replaces`."""
    allowed: dict[str, dict[str, str]]
    """What the recipe allows although a check would refuse it: the reason, by check, by place."""
    tensors: tuple[TensorEntry, ...]
    """Every array and number in its file."""
    runs: tuple[str, ...] = ()
    """The functions and methods that students write and that ran in it on the solution, in the order of their first
    call: what the case shows to be right when it agrees."""
    origins: dict[str, tuple[str, ...]] = {}
    """By record, which of them the recipe called to make it."""
    overwrites: tuple[str, ...] = ()
    """Inputs, or values in them, that the solution itself overwrites: no submission is held to leave those alone."""
    code: str = ""
    """Hash of the code in the recipe that it depends on. While that stays, its inputs and weights are used again when
    the gold is regenerated; empty where it is not known."""
    environment: Environment | None = None
    """The machine that it was recorded on, where that is not the one of `provenance`."""
    call_noise: dict[str, float] = {}
    """How far rounding alone moves what each submodule returns, relative to its size, by model and name, and each
    function or method that students write, by its name with `()`. Calls in a trace are judged by it. Empty where it was
    not measured."""
    choices: tuple[Choice, ...] | msgspec.UnsetType = msgspec.UNSET
    """What was chosen by scores, where anything was: a tie is judged by those."""
    unordered: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    """Records whose rows may come in any order, where there are any."""


class FileEntry(msgspec.Struct, frozen=True):
    """One file of a gold folder."""

    name: str
    """The file's name in the gold folder."""
    size: int
    """Its size in bytes."""
    sha256: str
    """Hash of its content."""

    @classmethod
    def of(cls, path: Path) -> FileEntry:
        """Describe a file; a missing one counts as empty."""
        if not path.is_file():
            return cls(path.name, 0, hashlib.sha256().hexdigest())
        with path.open("rb") as file:
            return cls(path.name, path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest())


class CheckEntry(msgspec.Struct, frozen=True):
    """One check that was made before the gold was published."""

    name: str
    """The name of the check, such as `reproducible`."""
    outcome: str
    """`passed`, `warned` or `failed`."""
    detail: str
    """What was found, in one line."""


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """How the tolerances of a gold folder were measured. Those of a case stand as long as its values do."""

    method: int = 4
    """The version of the method that the newest of them were measured by."""
    trials: tuple[str, ...]
    """The trials that ran."""
    failed: tuple[str, ...] = ()
    """Trials that did not, with the reason."""
    advice: tuple[Advice, ...] = ()
    """What the trials brought to light."""


class Provenance(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which sources made the gold, how, and on what. All hashes are of what was there before the run."""

    solution: dict[str, str]
    """Hash of each file of the solution, by its path; of a recipe by itself, of each file that it imported."""
    starter: dict[str, str]
    """Hash of each file of the starter, its prose apart; of a recipe by itself, none."""
    recipe: dict[str, str]
    """Hash of the recipe."""
    reads: dict[str, str]
    """Hash of every other file of the course, or of the project, that the recipe imported or opened."""
    written: tuple[str, ...]
    """Parts that were the students' to write; of a recipe by itself, those that its cases called."""
    mode: str
    """`cases` for a recipe with cases, `script` for any other, `test` for what a test keeps."""
    seed: int
    """The seed that it ran with."""
    command: str
    """The exact command that made it."""
    goldsmith: str
    """The version of goldsmith."""
    environment: Environment
    """The machine that the cases were recorded on, as far as it bears on bits."""
    packages: dict[str, str] = {}
    """Of a recipe by itself: installed packages that it imports, with their versions."""
    replaced: Replacements = ()
    """Of a recipe by itself: what `--with` put in the place of which module."""


class Stamp(msgspec.Struct, frozen=True):
    """When, and from which commit, the content last changed."""

    generated: str
    """When, as a date and time in UTC."""
    commit: str | None = None
    """The commit that stood there, where the course is a git repository."""
    dirty: bool | None = None
    """Whether there were changes that were not committed."""


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """The whole of `manifest.json`."""

    schema: int = SCHEMA
    """The version of this form."""
    assignment: str
    """The assignment; of a recipe by itself, or a test that keeps values, its file name."""
    seed: int
    """The seed of every case."""
    stamp: Stamp
    """When the content last changed."""
    cases: tuple[CaseEntry, ...]
    """Every case, in the order of the recipe."""
    files: tuple[FileEntry, ...]
    """Every file of the folder but the manifest."""
    checks: tuple[CheckEntry, ...]
    """What was checked before it was published."""
    advice: tuple[Advice, ...]
    """Where a case is blind by construction."""
    calibration: Calibration | None
    """How tolerances were measured; null when they were not."""
    provenance: Provenance
    """What it was made from."""
    rulers: tuple[Ruler, ...] = ()
    """How far correct work may be off in other settings than the one it was made in; left out where none was
    measured."""
    digest: str = ""
    """Hash of the manifest itself, with this field left empty."""

    @property
    def is_of_a_course(self) -> bool:
        """Say whether this is the gold of an assignment, not of a recipe by itself."""
        return not self.assignment.endswith(".py")


class _Head(msgspec.Struct):
    schema: int


def case_entry(
    case: CaseFacts,
    measured: Mapping[str, Tolerance],
    why_not: str,
    reference: str | None,
    code: str = "",
    choices: Sequence[Choice] = (),
) -> CaseEntry:
    """Make the entry of a case with its measured tolerances; `why_not` says why others were not measured."""

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
        runs=case.runs,
        origins=case.origins,
        overwrites=case.overwrites,
        code=code,
        choices=tuple(choices) or case.choices or msgspec.UNSET,
        unordered=case.unordered or msgspec.UNSET,
    )


def with_metadata(entry: CaseEntry, case: CaseFacts, code: str) -> CaseEntry:
    """Return the entry of a case whose values still hold, with what its recipe says about it now."""
    return msgspec.structs.replace(
        entry,
        accepts=case.accepts,
        title=case.title,
        training=case.training,
        weights=case.weights,
        trace=case.trace,
        calls=case.calls,
        traced_calls=case.traced_calls,
        allowed=case.allowed,
        runs=case.runs,
        origins=case.origins,
        overwrites=case.overwrites,
        code=code,
    )


def keep_stamp(new: Manifest, old: Manifest | None) -> Manifest:
    """Return `new` with the stamp of `old` if nothing but stamp and documentation could differ."""
    if old is None or _content(new) != _content(old):
        return new
    return msgspec.structs.replace(new, stamp=old.stamp)


def says_the_same(new: Manifest, old: Manifest) -> bool:
    """Say whether `new` differs from `old` only in what depends on machine or version, such as the wording of checks:
    their outcomes are compared, not their details."""
    return _lasting(new) == _lasting(old)


def _lasting(manifest: Manifest) -> Manifest:
    made = manifest.provenance
    return msgspec.structs.replace(
        _content(manifest),
        schema=SCHEMA,
        checks=tuple(CheckEntry(item.name, item.outcome, "") for item in manifest.checks),
        provenance=msgspec.structs.replace(made, goldsmith="", command=""),
        cases=tuple(msgspec.structs.replace(case, code="") for case in manifest.cases),
    )


def _content(manifest: Manifest) -> Manifest:
    files = tuple(item for item in manifest.files if item.name != README)
    return msgspec.structs.replace(manifest, stamp=Stamp(""), files=files, digest="")


def encode(manifest: Manifest) -> bytes:
    """Encode the manifest as it is written, with the digest of the same text with an empty digest."""
    blank = _text(msgspec.structs.replace(manifest, digest=""))
    return _text(msgspec.structs.replace(manifest, digest=hashlib.sha256(blank).hexdigest()))


def _text(manifest: Manifest) -> bytes:
    if not manifest.rulers:  # gold without any stays byte for byte what it was before there were rulers
        manifest = msgspec.structs.replace(manifest, rulers=msgspec.UNSET)
    return msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n"


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest in `folder`; `GoldUnreadable` says what is wrong with it."""
    path = folder / MANIFEST
    try:
        content = path.read_bytes()
        schema = msgspec.json.decode(content, type=_Head).schema
        if schema > SCHEMA:
            raise NewerGold(path, f"a newer goldsmith wrote it (schema {schema}, this one reads up to {SCHEMA})")
        if schema < OLDEST_SCHEMA:
            raise GoldUnreadable(path, f"its schema is {schema}, this goldsmith reads {OLDEST_SCHEMA} to {SCHEMA}")
        manifest = msgspec.json.decode(content, type=Manifest)
    except FileNotFoundError:
        raise GoldUnreadable(folder, f"it has no {MANIFEST}") from None
    except OSError as error:
        raise GoldUnreadable(path, error.strerror or str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        if CONFLICT in content:
            raise GoldUnreadable(path, "it holds conflict markers of a merge") from None
        raise GoldUnreadable(path, f"not a manifest of schema {SCHEMA} ({error})") from None
    if not manifest.digest or digest_of(content, manifest.digest) != manifest.digest:
        raise GoldUnreadable(path, "it was changed by hand or damaged: its digest does not fit its content")
    return manifest


def digest_of(content: bytes, digest: str) -> str:
    """Hash the text as it is, with the digest left empty: an older version's manifest has other fields."""
    quoted = f'"{digest}"'.encode()
    start, view = content.rfind(quoted), memoryview(content)  # a manifest may have megabytes: nothing of it is copied
    if start < 0:
        return hashlib.sha256(content).hexdigest()
    found = hashlib.sha256(view[:start])
    found.update(b'""')
    found.update(view[start + len(quoted) :])
    return found.hexdigest()
