"""Values that a test keeps: a gold folder of one case, read and written with the files and the manifest of all gold."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from goldsmith._version import __version__
from goldsmith.comparison.api import compare
from goldsmith.comparison.leaves import FORMS
from goldsmith.doctor import recording_environment
from goldsmith.errors.gold import CannotWrite, GoldUnreadable, LeadsElsewhere, NewerGold
from goldsmith.errors.pytest import CannotKeep, KeptUnreadable, OtherTestsValues
from goldsmith.foundation.beneath import first_link
from goldsmith.foundation.nested import leaves_in
from goldsmith.generate.recording import file_entry
from goldsmith.gold.arrays import is_tensor
from goldsmith.gold.facts import CaseFacts, WeightFacts
from goldsmith.gold.files import NOISY_PREFIX, REFERENCE_SUFFIX, read_back, write_arrays, write_payload
from goldsmith.gold.load import GoldCase, load_gold
from goldsmith.gold.manifest import (
    MANIFEST,
    Calibration,
    CaseEntry,
    Manifest,
    Provenance,
    Stamp,
    TensorEntry,
    case_entry,
    encode,
)
from goldsmith.gold.payload import from_file, to_file
from goldsmith.gold.publish import Staging
from goldsmith.gold.tolerances import Tolerance
from goldsmith.pytest_support.kept_place import KeptPlace

SEED = 42
_STEM, _OUTPUT, _MODEL = "values", "value", "model"
_OWN_FILES = (MANIFEST, *(_STEM + suffix for suffix in (".npz", ".pt", REFERENCE_SUFFIX)))
"""All that is ever written into a folder; what else is in it is somebody's."""
_TEST, _CHECK, _FROM_CALL = "test", "check", "from_call"
"""What the manifest says about the check besides its values."""


@dataclass(frozen=True)
class ToKeep:
    """What is recorded. `inputs` is None where a test gave values and not a function; tolerances, marks of noise and
    results in float64 (`reference`) are by path in the file."""

    value: Any
    inputs: Mapping[str, Any] | None = None
    weights: Mapping[str, Any] | None = None
    facts: WeightFacts | None = None
    tolerances: Mapping[str, Tolerance] = field(default_factory=dict)
    noisy: Mapping[str, Any] = field(default_factory=dict)
    reference: Mapping[str, Any] = field(default_factory=dict)
    trials: tuple[str, ...] = ()
    note: str = ""
    """What the person who records it should know."""


class KeptCheck:
    """What a check has kept."""

    def __init__(self, case: GoldCase) -> None:
        self._case = case
        self.value = case.data["output"]
        self.inputs: dict[str, Any] = from_file(case.data["input"], case.entry.inputs)

    @property
    def is_from_call(self) -> bool:
        return bool(self._case.entry.config.get(_FROM_CALL))

    @property
    def weights(self) -> dict[str, Any] | None:
        return self._case.state_dict if self._case.entry.models else None

    @property
    def weight_facts(self) -> WeightFacts:
        return self._case.entry.weights[_MODEL]

    @property
    def tolerances(self) -> dict[str, Tolerance]:
        """Return the tolerances by path in the value."""
        from goldsmith.comparison.against_gold import tolerances_of

        return {path_in_value(path): item for path, item in tolerances_of(self._case).items()}

    @property
    def noisy(self) -> dict[str, Any]:
        return {path_in_value(path): marks for path, marks in self._case.noisy.items()}

    @property
    def reference(self) -> dict[str, Any]:
        """Return the results in float64 by path in the value, where they are known."""
        return {path_in_value(path): array for path, array in self._case.reference.items()}


def read_kept(place: KeptPlace) -> KeptCheck | None:
    """Read what was kept, None if nothing was; what is damaged, or another test's, is an error."""
    link = first_link(place.file.parent, place.folder)
    if link is not None:
        raise LeadsElsewhere(link)
    if not place.folder.exists():
        return None
    try:
        gold = load_gold(place.folder)
        entry = gold.manifest.cases[0] if len(gold.manifest.cases) == 1 else None
        if entry is None or _TEST not in entry.config:
            raise GoldUnreadable(place.folder, "it holds other gold")
        if (entry.config[_TEST], entry.config[_CHECK]) != (place.test, place.check):
            raise OtherTestsValues(place.folder, entry.name, place.case)
        return KeptCheck(gold[entry.name])
    except NewerGold:
        raise
    except GoldUnreadable as error:
        raise KeptUnreadable(error.path, error.problem) from None


def kept_test(manifest: Manifest) -> str | None:
    """Return the test that a manifest's gold was kept by, None for other gold."""
    return next((str(case.config[_TEST]) for case in manifest.cases if _TEST in case.config), None)


def write_kept(place: KeptPlace, new: ToKeep) -> None:
    """Write a check's gold next to its place, read it back, and swap it in by one rename."""
    staging = Staging(place.folder, beneath=place.file.parent)
    staging.open()
    try:
        payload = {
            "input": to_file(new.inputs or {}),
            "output": new.value,
            "seed": SEED,
            "model_config": {},
            "state_dict": dict(new.weights or {}),
        }
        suffix = ".pt" if any(is_tensor(leaf) for leaf in leaves_in(payload)) else ".npz"
        try:
            path = write_payload(payload, staging.folder / _STEM, suffix)
        except OSError as error:
            raise CannotWrite(place.folder, error.strerror or str(error)) from None
        except (TypeError, ValueError) as error:
            raise CannotKeep(f"the value does not fit into a file ({error})", "convert it to usual dtypes") from None
        files = [file_entry(path)]
        beside = {**new.reference, **{NOISY_PREFIX + name: item for name, item in new.noisy.items()}}
        if beside:
            write_arrays(beside, staging.folder / f"{_STEM}{REFERENCE_SUFFIX}")
            files.append(file_entry(staging.folder / f"{_STEM}{REFERENCE_SUFFIX}"))
        facts = CaseFacts(
            name=place.case,
            kind="output",
            file=read_back(path),
            inputs=tuple(new.inputs or ()),
            outputs=(_OUTPUT,),
            models=(_MODEL,) if new.weights is not None else (),
            weights={_MODEL: new.facts} if new.facts is not None else {},
            config={_TEST: place.test, _CHECK: place.check, _FROM_CALL: new.inputs is not None},
        )
        entry = case_entry(facts, new.tolerances, "", files[1].name if beside else None)
        manifest = Manifest(
            assignment=place.file.name,
            seed=SEED,
            stamp=Stamp(datetime.datetime.now(datetime.UTC).date().isoformat()),
            cases=(_with_defaults(entry),),
            files=tuple(files),
            checks=(),
            advice=(),
            calibration=Calibration(trials=new.trials) if new.trials else None,
            provenance=_provenance(),
        )
        staging.write(MANIFEST, encode(manifest))
        read = load_gold(staging.folder)[place.case]
        if not compare(read.output, new.value, rtol=0.0, equal_nan=True, guessing=False):
            raise CannotKeep("the value is another once it is read back", "use plain dtypes and other keys")
        staging.carry_over(_OWN_FILES)
        staging.publish()
    finally:
        staging.discard()


def _provenance() -> Provenance:
    return Provenance(
        solution={},
        starter={},
        recipe={},
        reads={},
        written=(),
        mode="test",
        seed=SEED,
        command="pytest --gold-update",
        goldsmith=__version__,
        environment=recording_environment("cpu", 1),
    )


def _with_defaults(entry: CaseEntry) -> CaseEntry:
    """Give what was not measured the default tolerances of its dtype, those that `goldsmith.compare` uses."""
    tensors = tuple(
        item
        if item.tolerance is None or item.tolerance.kind != "customary"
        else msgspec.structs.replace(item, tolerance=_default(item))
        for item in entry.tensors
    )
    return msgspec.structs.replace(entry, tensors=tensors)


def _default(item: TensorEntry) -> Tolerance:
    name = "float64" if item.dtype == "float (Python)" else item.dtype
    form = FORMS[name]
    return Tolerance(kind="customary", rtol=form.rtol, atol=form.atol, reason=f"the default for {name}")


def path_in_value(path: str) -> str:
    return path.removeprefix("output").removeprefix(".")
