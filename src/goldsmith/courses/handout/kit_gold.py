"""Gold made of a kit: the same as any other for whoever judges by it, with sketches in the place of values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from goldsmith.frameworks.framework import framework
from goldsmith.gold.arrays import as_numpy
from goldsmith.gold.facts import Environment
from goldsmith.gold.files import TRACE_SUFFIX
from goldsmith.gold.kit_files import ARRAY, KitData, with_arrays
from goldsmith.gold.load import Gold, GoldCase
from goldsmith.gold.manifest import CaseEntry, Manifest, Provenance, Stamp
from goldsmith.gold.trace_tensors import LEFT_OUT, NOT_KEPT, sketch_reference, stored_sketch
from goldsmith.judge.traces import INDEX


@dataclass(frozen=True)
class KitCase(GoldCase):
    """One case of a kit: inputs and weights as they are, sketches of everything else."""

    values: dict[str, Any] = field(default_factory=dict)
    wide: dict[str, Any] = field(default_factory=dict)

    @property
    def data(self) -> dict[str, Any]:
        return self.values

    @property
    def reference(self) -> dict[str, Any]:
        return self.wide

    @property
    def noisy(self) -> dict[str, Any]:
        return {}


class KitGold(Gold):
    """The cases of a kit. Their traces are written into `folder`, which is private and temporary."""

    def __init__(self, folder: Path, kit: KitData, assignment: str) -> None:
        self._kit = kit
        cases = [msgspec.convert(item["entry"], CaseEntry) for item in kit.index["cases"].values()]
        super().__init__(folder, _manifest(kit, assignment, cases))
        for name, item in kit.index["cases"].items():
            if item["calls"]:
                _write_trace(folder / f"{name}{TRACE_SUFFIX}", item["calls"], kit)

    def __getitem__(self, name: str) -> KitCase:
        item = self._kit.index["cases"][name]
        given = with_arrays(item["given"], self._tensors)
        variants = {key: self._case(other, given, {}) for key, other in item["variants"].items()}
        return self._case(item, given, variants)

    def _case(self, item: Mapping[str, Any], given: dict[str, Any], variants: Mapping[str, GoldCase]) -> KitCase:
        entry = msgspec.convert(item["entry"], CaseEntry)
        sketches = self._kit.sketches
        recorded = {path: sketches[number] for path, number in item["records"].items()}
        recorded |= dict.fromkeys(item["left_out"], NOT_KEPT)
        wide = {path: sketches[number] for path, number in item["reference"].items()}
        values = {**given, "model_config": {}, **_by_section(recorded)}
        return KitCase(entry, self.folder / entry.file, variants, values, wide)

    @property
    def _tensors(self) -> list[Any]:
        """Return the given arrays as the recipe has them: as tensors where it uses torch."""
        if not self._kit.index["torch"]:
            return list(self._kit.arrays)
        return [framework("torch").arrays.from_numpy(item) for item in self._kit.arrays]


def _by_section(recorded: Mapping[str, Any]) -> dict[str, Any]:
    """Return leaves by path as nested sections. Names with dots in them, as weights have, come out nested, too: what is
    compared are paths."""
    found: dict[str, Any] = {}
    for path, leaf in recorded.items():
        *above, last = path.split(".")
        inside = found
        for name in above:
            inside = inside.setdefault(name, {})
        inside[last] = leaf
    return found


def _manifest(kit: KitData, assignment: str, cases: list[CaseEntry]) -> Manifest:
    """Return a manifest that says of the gold's making what a check asks."""
    libraries: dict[str, Any] = {"torch": "unknown"} if kit.index["torch"] else {}
    made = Provenance(
        solution={},
        starter={},
        recipe={},
        reads={},
        written=tuple(kit.index["written"]),
        mode="cases",
        seed=kit.index["seed"],
        command="",
        goldsmith="",
        environment=Environment(python="", numpy="", **libraries),
    )
    return Manifest(
        assignment=assignment,
        seed=kit.index["seed"],
        stamp=Stamp(""),
        cases=tuple(msgspec.structs.replace(case, variant="") for case in cases),
        files=(),
        checks=(),
        advice=(),
        calibration=None,
        provenance=made,
    )


def _write_trace(path: Path, calls: list[dict[str, Any]], kit: KitData) -> None:
    """Write the calls of a case as the trace of a gold that keeps sketches."""
    from safetensors.numpy import save

    stored: dict[str, Any] = {}

    def reference(number: Any) -> str:
        if number == LEFT_OUT:
            return LEFT_OUT
        if isinstance(number, dict):
            name = f"array.{number[ARRAY]}"
            stored[name] = as_numpy(kit.arrays[number[ARRAY]])
            return name
        sketch = kit.sketches[number]
        name = sketch_reference(str(number), sketch)
        stored[name] = stored_sketch(sketch)
        return name

    index: list[dict[str, Any]] = []
    for call in calls:
        entry = {**call, "key": f"{len(index):04d}"}
        for key in ("inputs", "outputs"):
            if key in call:
                entry[key] = list(map(reference, call[key]))
        for key in ("state", "after"):
            if call.get(key) is not None:
                entry[key] = {name: reference(item) for name, item in call[key].items()}
        index.append(entry)
    path.write_bytes(save(stored, metadata={INDEX: json.dumps(index)}))
