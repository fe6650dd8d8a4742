"""A small check in one file of text: `test_block.gold/test_values.gold.json`. Its text is what is kept, so no number in
it can disagree with another file. It says what does not follow from the values, and nothing else."""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from goldsmith.errors.gold import GoldUnreadable, NewerGold
from goldsmith.foundation.nested import leaves_in, walk
from goldsmith.gold.arrays import leaf_facts
from goldsmith.gold.choices import Choice
from goldsmith.gold.facts import Environment, FileFacts, WeightFacts
from goldsmith.gold.load import Gold, GoldCase
from goldsmith.gold.manifest import CONFLICT, CaseEntry, FileEntry, Manifest, Stamp, digest_of
from goldsmith.gold.tolerances import Tolerance
from goldsmith.gold.value_text import NotText, is_short, text_of, value_as_json, value_from_json
from goldsmith.pytest_support.kept_entry import (
    CHECK,
    LABELS,
    REASON,
    REPLACES,
    SEED,
    TEST,
    ToKeep,
    case_name,
    provenance_of_test,
)

SUFFIX = ".gold.json"
FORM = 1
"""The version of this form."""
_LARGEST = 100_000
"""Bytes of text; more is nothing to review."""
_MOST_LEAVES = 10_000
"""Values that are tried: so many have more text than that."""
_FORM, _DIGEST, _VALUE, _CALL = "goldsmith", "digest", "value", "call"
_ABOUT = (TEST, CHECK, REASON, REPLACES)


def one_file_of(folder: Path) -> Path:
    """Return the file that a check lies in if not in this folder."""
    return folder.with_name(folder.name + SUFFIX)


def encode_small(new: ToKeep, about: Mapping[str, Any]) -> bytes | None:
    """Return the text of a check; None if it is too large for text, or text would change it."""
    parts = (new.value, new.inputs or {}, new.weights or {}, new.noisy, new.reference, new.choice_arrays)
    if not all(is_short(part) for part in parts) or sum(1 for _ in leaves_in(list(parts))) > _MOST_LEAVES:
        return None
    try:
        found: dict[str, Any] = {_FORM: FORM, **{name: about[name] for name in _ABOUT if about.get(name)}}
        found[_VALUE] = value_as_json(new.value)
        if new.inputs is not None:
            found[_CALL] = _call_as_json(new)
    except (NotText, ValueError, OverflowError, RecursionError):
        return None
    blank = _text(found, "")
    return _text(found, hashlib.sha256(blank).hexdigest()) if len(blank) <= _LARGEST else None


def _text(found: Mapping[str, Any], digest: str) -> bytes:
    return text_of({**found, _DIGEST: digest}).encode() + b"\n"


def _call_as_json(new: ToKeep) -> dict[str, Any]:
    """Return what is kept of a function or model besides its result; what is empty is left out."""
    found: dict[str, Any] = {"inputs": value_as_json(dict(new.inputs or {}))}
    if new.weights is not None:
        found["weights"] = value_as_json(dict(new.weights))
    if new.facts is not None:
        found["facts"] = msgspec.to_builtins(new.facts)
    measured = {
        "tolerances": {path: msgspec.to_builtins(item) for path, item in new.tolerances.items()},
        "noisy": value_as_json(dict(new.noisy)),
        "reference": value_as_json(dict(new.reference)),
        "choices": [msgspec.to_builtins(item) for item in new.choices],
        "choice_arrays": value_as_json(dict(new.choice_arrays)),
        "trials": list(new.trials),
    }
    return {**found, **{name: item for name, item in measured.items() if item}}


class OneFile:
    """A check that was read from its file: what the text says about it, and its gold."""

    def __init__(self, path: Path, content: bytes) -> None:
        """Read `content`, which is that of `path`; GoldUnreadable says what is wrong with it."""
        content = content.replace(b"\r\n", b"\n")  # as git writes text on Windows; in JSON itself a CR is escaped
        given = _checked(path, content)
        try:
            self.about = {name: str(given.get(name, "")) for name in _ABOUT}
            self.kept = _to_keep(given)
            payload, labels = self.kept.payload()
            leaves = tuple(leaf_facts(name, leaf) for name, leaf in walk(payload))
            facts = FileFacts(path.name, hashlib.sha256(content).hexdigest(), tuple(payload), leaves)
            name = case_name(self.about[TEST], self.about[CHECK])
            entry = self.kept.entry(name, facts, {**self.about, LABELS: labels}, None)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise GoldUnreadable(path, f"it is not gold of a test ({error})") from None
        file = FileEntry(path.name, len(content), facts.sha256)
        self.gold = _TextGold(path.parent, _manifest(entry, file), _TextCase(entry, path).filled(payload, self.kept))


class _TextCase(GoldCase):
    """A case whose values are known already."""

    def filled(self, payload: dict[str, Any], kept: ToKeep) -> _TextCase:
        self.__dict__["data"] = payload  # as `cached_property` keeps it
        self.__dict__["_kept"] = (dict(kept.reference), dict(kept.noisy), dict(kept.choice_arrays))
        return self


class _TextGold(Gold):
    def __init__(self, folder: Path, manifest: Manifest, case: GoldCase) -> None:
        super().__init__(folder, manifest)
        self._case = case

    def __getitem__(self, name: str) -> GoldCase:
        return self._case if name == self._case.name else super().__getitem__(name)


def open_one_file(path: Path) -> OneFile:
    try:
        return OneFile(path, path.read_bytes())
    except OSError as error:
        raise GoldUnreadable(path, error.strerror or str(error)) from None


def _checked(path: Path, content: bytes) -> dict[str, Any]:
    try:
        given = json.loads(content)
        form, digest = given[_FORM], given[_DIGEST]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        if CONFLICT in content:
            raise GoldUnreadable(path, "it holds conflict markers of a merge") from None
        raise GoldUnreadable(path, f"it is not gold of a test ({error})") from None
    if isinstance(form, int) and form > FORM:
        raise NewerGold(path, f"a newer goldsmith wrote it (form {form}, this one reads up to {FORM})")
    if not digest or digest_of(content, str(digest)) != digest:
        raise GoldUnreadable(path, "it was changed by hand or damaged: its digest does not fit its content")
    found: dict[str, Any] = given
    return found


def _to_keep(given: Mapping[str, Any]) -> ToKeep:
    value, call = value_from_json(given[_VALUE]), given.get(_CALL)
    if call is None:
        return ToKeep(value)
    tolerances = {path: msgspec.convert(item, Tolerance) for path, item in call.get("tolerances", {}).items()}
    return ToKeep(
        value=value,
        inputs=value_from_json(call["inputs"]),
        weights=value_from_json(call["weights"]) if "weights" in call else None,
        facts=msgspec.convert(call["facts"], WeightFacts) if "facts" in call else None,
        tolerances=tolerances,
        noisy=value_from_json(call.get("noisy", {})),
        reference=value_from_json(call.get("reference", {})),
        choices=tuple(msgspec.convert(item, Choice) for item in call.get("choices", ())),
        choice_arrays=value_from_json(call.get("choice_arrays", {})),
        trials=tuple(call.get("trials", ())),
    )


def _manifest(entry: CaseEntry, file: FileEntry) -> Manifest:
    """Return a manifest for those who read gold of every kind: what is not known of this one is empty."""
    return Manifest(
        assignment="",
        seed=SEED,
        stamp=Stamp(datetime.date.min.isoformat()),
        cases=(entry,),
        files=(file,),
        checks=(),
        advice=(),
        calibration=None,
        provenance=provenance_of_test(Environment(python="", numpy="")),
    )
