"""Values that a test keeps: in one file of text if they are few, else in a gold folder of one case with a manifest."""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from goldsmith.doctor import recording_environment
from goldsmith.errors.gold import CannotWrite, GoldUnreadable, LeadsElsewhere, NewerGold, NotOursToReplace
from goldsmith.errors.pytest import CannotKeep, KeptUnreadable, NotKeptGold, OtherTestsValues
from goldsmith.foundation.atomic_files import write_durably
from goldsmith.foundation.beneath import first_link
from goldsmith.foundation.nested import leaves_in, walk
from goldsmith.foundation.ownership import remove_tree
from goldsmith.frameworks.framework import framework_of
from goldsmith.gold.arrays import is_array
from goldsmith.gold.choices import Choice
from goldsmith.gold.facts import WeightFacts
from goldsmith.gold.files import NOISY_PREFIX, REFERENCE_SUFFIX, read_back, write_arrays, write_payload
from goldsmith.gold.labels import from_texts
from goldsmith.gold.load import Gold, GoldCase, load_gold
from goldsmith.gold.manifest import MANIFEST, Calibration, FileEntry, Manifest, Stamp, TensorEntry, encode
from goldsmith.gold.payload import from_file
from goldsmith.gold.publish import Staging
from goldsmith.gold.tolerances import Tolerance
from goldsmith.gold.value_text import NotText, is_short, value_as_json
from goldsmith.pytest_support.compared_values import compare_values
from goldsmith.pytest_support.kept_entry import (
    CHECK,
    FROM_CALL,
    LABELS,
    MODEL,
    REASON,
    REPLACES,
    SEED,
    TEST,
    ToKeep,
    provenance_of_test,
)
from goldsmith.pytest_support.kept_place import KeptPlace
from goldsmith.pytest_support.one_file import encode_small, open_one_file

_STEM = "values"
_OWN_FILES = (f"{_STEM}.pt", f"{_STEM}.npz", f"{_STEM}{REFERENCE_SUFFIX}", MANIFEST)
"""All that a check's folder ever holds."""
_OF_A_TEST, _IN_ONE_FILE = re.compile(rb'"mode": "test"'), re.compile(rb'\A\{\s*"goldsmith": ')
"""What a manifest, and a file of text, has only if goldsmith has written it for a test, damaged since or not."""


class KeptCheck:
    """What a check has kept."""

    def __init__(self, case: GoldCase) -> None:
        self._case = case
        self.value = from_texts(case.data["output"], case.entry.config.get(LABELS, ()))
        self.inputs: dict[str, Any] = from_file(case.data["input"], case.entry.inputs)

    @property
    def is_from_call(self) -> bool:
        return bool(self._case.entry.config.get(FROM_CALL))

    @property
    def weights(self) -> dict[str, Any] | None:
        return self._case.state_dict if self._case.entry.models else None

    @property
    def weight_facts(self) -> WeightFacts:
        return self._case.entry.weights[MODEL]

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

    @property
    def choices(self) -> tuple[Choice, ...]:
        """Return what was chosen by scores, by path in the value."""
        return tuple(
            msgspec.structs.replace(
                item, path=path_in_value(item.path), scores=path_in_value(item.scores) if item.scores else ""
            )
            for item in self._case.entry.choices or ()
        )

    @property
    def choice_arrays(self) -> dict[str, Any]:
        found = {}
        for name, array in self._case.choice_arrays.items():
            kind, _, path = name.partition(":")
            found[f"{kind}:{path_in_value(path)}"] = array
        return found


# --- reading


def read_kept(place: KeptPlace) -> KeptCheck | None:
    """Read what was kept, None if nothing was; what is damaged, or another test's, is an error."""
    try:
        found = standing_form(place)
        if found is None:
            return None
        gold = open_one_file(found).gold if found == place.one_file else load_gold(found)
        entry = gold.manifest.cases[0] if len(gold.manifest.cases) == 1 else None
        if entry is None or TEST not in entry.config:
            raise GoldUnreadable(found, "it holds other gold")
        if (entry.config[TEST], entry.config[CHECK]) != (place.test, place.check):
            raise OtherTestsValues(found, entry.name, place.case)
        case = gold[entry.name]
        _refuse_disagreement(gold, case)
        return KeptCheck(case)
    except NewerGold:
        raise
    except GoldUnreadable as error:
        raise KeptUnreadable(error.path, error.problem) from None
    except (ValueError, TypeError, StopIteration) as error:
        raise KeptUnreadable(place.folder, f"a value in it is not what its manifest says ({error})") from None


def standing_form(place: KeptPlace) -> Path | None:
    """Return the file or folder in which a check is kept, None if nothing is.

    Both stand for a moment while one replaces the other. Then the new one names the old one by its hash; two that know
    nothing of each other, as a merge leaves them, are an error.
    """
    file, folder = place.one_file, place.folder
    _refuse_links(place)
    if not file.exists():
        return folder if folder.exists() else None
    if not (folder / MANIFEST).is_file():
        return file
    with contextlib.suppress(OSError, GoldUnreadable):
        if open_one_file(file).about[REPLACES] == _hash_of(folder / MANIFEST):
            return file
    with contextlib.suppress(OSError, GoldUnreadable):
        if load_gold(folder).manifest.cases[0].config.get(REPLACES) == _hash_of(file):
            return folder
    raise GoldUnreadable(file, f"{folder.name}/ beside it keeps the same check, and one of them is out of date")


def _refuse_links(place: KeptPlace) -> None:
    for path in (place.one_file, place.folder):
        link = first_link(place.file.parent, path)
        if link is not None:
            raise LeadsElsewhere(link)


def _hash_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def _refuse_disagreement(gold: Gold, case: GoldCase) -> None:
    """Refuse a folder in whose manifest a reviewer reads other numbers than its files hold."""
    leaves = dict(walk(case.data))
    for item in case.entry.tensors:
        if item.values is not None and (item.path not in leaves or value_as_json(leaves[item.path]) != item.values):
            raise GoldUnreadable(gold.folder / MANIFEST, f"{item.path} in it is not what {case.entry.file} holds")


# --- writing


def stage_kept(place: KeptPlace, new: ToKeep, into: Path, reason: str = "") -> Path:
    """Write a check's value into a folder of this run, in one file if that does, and read it back. Return where it is;
    `publish_kept` puts it in its place."""
    about = {TEST: place.test, CHECK: place.check, REASON: reason, REPLACES: ""}
    content = encode_small(new, about)
    if content is not None and (place.folder / MANIFEST).is_file():
        content = encode_small(new, {**about, REPLACES: _hash_of(place.folder / MANIFEST)})
    into.mkdir(parents=True, exist_ok=True)
    if content is not None:
        staged = into / place.one_file.name
        write_durably(staged, content)
        _refuse_another(KeptCheck(open_one_file(staged).gold[place.case]), new)
        return staged
    if place.one_file.is_file():
        about[REPLACES] = _hash_of(place.one_file)
    staging = Staging(place.folder, into / place.folder.name)
    remove_tree(staging.folder)  # of the same test, run again
    staging.open()
    _fill(staging, place, new, about)
    _refuse_another(KeptCheck(load_gold(staging.folder)[place.case]), new)
    return staging.folder


def publish_kept(place: KeptPlace, staged: Path) -> None:
    """Put what was staged in its place, by one rename, and then remove the other form if that is what was there. A run
    that is killed leaves the old value or the new one."""
    refuse_place(place)
    try:
        if staged.is_dir():
            _publish_folder(place, staged)
            place.one_file.unlink(missing_ok=True)
        else:
            place.one_file.parent.mkdir(parents=True, exist_ok=True)
            write_durably(place.one_file, staged.read_bytes())
            remove_replaced_folder(place)
    except OSError as error:
        raise CannotWrite(place.one_file.parent, error.strerror or str(error)) from None


def _publish_folder(place: KeptPlace, staged: Path) -> None:
    staging = Staging(place.folder, beneath=place.file.parent)
    staging.open()
    try:
        for path in sorted(staged.iterdir()):
            staging.take(path)
        staging.carry_over(_OWN_FILES)
        staging.publish()
    finally:
        staging.discard()


def remove_replaced_form(place: KeptPlace) -> None:
    """Remove what a killed run has left of the form that a check had before."""
    standing = standing_form(place)
    if standing == place.one_file:
        remove_replaced_folder(place)
    elif standing == place.folder:
        place.one_file.unlink(missing_ok=True)


def remove_replaced_folder(place: KeptPlace) -> None:
    """Remove the folder of a check that lies in one file now: its own files, and nothing that others put there. The
    manifest is the proof that they are its own, and goes last, so that a run that is killed can be completed."""
    if place.folder.is_symlink() or not place.folder.is_dir():
        return
    if _is_ours(place.folder / MANIFEST, _OF_A_TEST):
        for name in _OWN_FILES:
            (place.folder / name).unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        place.folder.rmdir()


def remove_kept(place: KeptPlace, path: Path) -> str:
    """Delete a check's file or folder, which has been read; return why it was not, if so."""
    if path not in (place.one_file, place.folder):
        return "it is not named after its test"
    try:
        if path == place.one_file:
            path.unlink()
        elif any(entry.name not in _OWN_FILES or not entry.is_file() or entry.is_symlink() for entry in path.iterdir()):
            return "there is something else in it"
        else:
            remove_replaced_folder(place)
            if path.exists():
                return "it cannot be removed"
        with contextlib.suppress(OSError):
            path.parent.rmdir()
    except OSError as error:
        return error.strerror or str(error)
    return ""


def _is_ours(path: Path, proof: re.Pattern[bytes]) -> bool:
    """Say whether a file is gold of a test, damaged or not."""
    try:
        return not path.is_symlink() and path.is_file() and bool(proof.search(path.read_bytes()))
    except OSError:
        return False


def refuse_place(place: KeptPlace) -> None:
    """Refuse before anything is computed what could not be written in the end, and links, which are never followed."""
    around = place.folder.parent
    _refuse_links(place)
    if around.exists() and not around.is_dir():
        raise CannotWrite(around, "a file stands in the place of the gold folder")
    if place.one_file.exists() and not place.one_file.is_file():
        raise NotKeptGold(place.one_file, "is a folder, where the gold of a check would be a file")
    if place.folder.exists() and not place.folder.is_dir():
        raise CannotWrite(place.folder, "a file stands in the place of the gold folder")
    for path, proof in ((place.one_file, _IN_ONE_FILE), (place.folder / MANIFEST, _OF_A_TEST)):
        if path.exists() and not _is_ours(path, proof):
            raise NotKeptGold(path, "is not gold that a test has kept, and stands in its place")
    is_free = place.one_file.exists() or (place.folder / MANIFEST).exists() or not place.folder.exists()
    if not is_free and any(place.folder.iterdir()):
        raise NotOursToReplace(place.folder, MANIFEST)
    writable = around if around.exists() else around.parent
    if not os.access(writable, os.W_OK):
        raise CannotWrite(writable, "permission denied")


def _fill(staging: Staging, place: KeptPlace, new: ToKeep, about: Mapping[str, str]) -> None:
    """Write the files of a check's folder."""
    payload, labels = new.payload()
    libraries = {library.suffix for leaf in leaves_in(payload) if (library := framework_of(leaf)) is not None}
    suffix = ".pt" if ".pt" in libraries else ".npz"
    try:
        path = write_payload(payload, staging.folder / _STEM, suffix)
    except OSError as error:
        raise CannotWrite(place.folder, error.strerror or str(error)) from None
    except (TypeError, ValueError) as error:
        raise CannotKeep(f"the value does not fit into a file ({error})", "convert it to usual dtypes") from None
    files = [FileEntry.of(path)]
    noisy = {NOISY_PREFIX + name: item for name, item in new.noisy.items()}
    beside = {**new.reference, **noisy, **new.choice_arrays}
    if beside:
        write_arrays(beside, staging.folder / f"{_STEM}{REFERENCE_SUFFIX}")
        files.append(FileEntry.of(staging.folder / f"{_STEM}{REFERENCE_SUFFIX}"))
    entry = new.entry(place.case, read_back(path), {**about, LABELS: labels}, files[1].name if beside else None)
    leaves = dict(walk(payload))
    tensors = tuple(_with_numbers(item, leaves.get(item.path)) for item in entry.tensors)
    manifest = Manifest(
        assignment=place.file.name,
        seed=SEED,
        stamp=Stamp(datetime.datetime.now(datetime.UTC).date().isoformat()),
        cases=(msgspec.structs.replace(entry, tensors=tensors),),
        files=tuple(files),
        checks=(),
        advice=(),
        calibration=Calibration(trials=new.trials) if new.trials else None,
        provenance=provenance_of_test(recording_environment("cpu", 1)),
    )
    staging.write(MANIFEST, encode(manifest))


def _with_numbers(item: TensorEntry, leaf: Any) -> TensorEntry:
    """Add the elements of a short array, for those who review the manifest."""
    if not is_array(leaf) or not is_short(leaf):
        return item
    try:
        return msgspec.structs.replace(item, values=value_as_json(leaf))
    except NotText:
        return item


def _refuse_another(read: KeptCheck, new: ToKeep) -> None:
    if not compare_values(read.value, new.value, rtol=0.0, equal_nan=True, guessing=False):
        raise CannotKeep("the value is another once it is read back", "use plain dtypes and other keys")


def path_in_value(path: str) -> str:
    return path.removeprefix("output").removeprefix(".")
