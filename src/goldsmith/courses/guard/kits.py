"""Kits for students: look into their data, which may hold inputs, weights and sketches of gold, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from goldsmith.courses.guard.leaks import Finding
from goldsmith.courses.layout.layout import Course
from goldsmith.errors.base import GoldsmithError
from goldsmith.foundation.nested import leaves_in
from goldsmith.gold.arrays import array_hash
from goldsmith.gold.call_forms import is_reference
from goldsmith.gold.kit_files import DATA, KitData, data_from
from goldsmith.gold.manifest import CaseEntry, read_manifest
from goldsmith.gold.sketches.privacy import most_sums

GIVEN = ("input", "state_dict")
_CASE_KEYS = {"given", "entry", "records", "reference", "left_out", "variants", "calls"}
_GIVEN_KEYS = {*GIVEN, "seed"}
_AGAIN = "make it again with `goldsmith handout`"


def kit_findings(course: Course, file: str, content: bytes) -> Iterator[Finding]:
    """Yield what a file called `kit.npz` holds and no kit may."""
    if PurePosixPath(file).name != DATA:
        return
    try:
        kit = data_from(content)
    except ValueError as error:
        if b"index.npy" in content and b"sums.npy" in content:
            yield Finding(kind="gold", file=file, why=f"it is not a kit as goldsmith makes them: {error}")
        return
    try:
        problem = _problem(course, kit)
    except (GoldsmithError, KeyError, TypeError, AttributeError, IndexError) as error:
        problem = f"it cannot be compared with gold ({error})"
    if problem:
        yield Finding(kind="gold", file=file, why=f"{problem}; {_AGAIN}")


def _problem(course: Course, kit: KitData) -> str:
    """Say what is in a kit that is not for students; empty if nothing is."""
    name = kit.index["assignment"]
    manifest = read_manifest(course.assignment(name).gold)
    given = {item.sha256 for case in manifest.cases for item in case.tensors if item.path.partition(".")[0] in GIVEN}
    strange = sum(array_hash(array) not in given for array in kit.arrays)
    if strange:
        return f"{strange} of its arrays are neither inputs nor weights of the gold of {name}"
    for sketch in kit.sketches:
        if sketch.count > most_sums(sketch.size * (2 if sketch.dtype.startswith("complex") else 1)):
            return f"a sketch in it has {sketch.count} sums of {sketch.size} numbers, which gives them away"
    for case in kit.index["cases"].values():
        for item in (case, *case["variants"].values()):
            if set(item) - _CASE_KEYS or _tells(item["entry"]):
                return "it tells more of a record than a sketch does"
        if set(case["given"]) - _GIVEN_KEYS:
            return "it gives more than inputs and weights"
        if any(_has_values(call.get("returned")) or "gradients" in call for call in case["calls"]):
            return "it tells what a call returned"
    return ""


def _tells(entry: Mapping[str, Any]) -> bool:
    """Return whether the entry of a case tells a value, a statistic or a hash of one."""
    if set(entry) - set(CaseEntry.__struct_fields__) or entry["config"]:
        return True
    return any(
        set(item) - {"path", "dtype", "shape", "sha256", "tolerance"} or item["sha256"] for item in entry["tensors"]
    )


def _has_values(form: Any) -> bool:
    return any(not is_reference(leaf) and leaf is not None for leaf in leaves_in(form, is_reference))
