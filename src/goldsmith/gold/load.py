"""Load gold for tests and tools: every file's hash is checked before its content is trusted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from goldsmith.errors.gold import GoldUnreadable
from goldsmith.gold.facts import is_allowed
from goldsmith.gold.files import file_digest, read_payload, read_reference
from goldsmith.gold.manifest import CaseEntry, Manifest, read_manifest
from goldsmith.gold.payload import from_file


@dataclass(frozen=True)
class GoldCase:
    """One case's gold. Attributes are the keys of its file; `gold["gold_output"].output` is a tensor."""

    entry: CaseEntry
    path: Path
    variants: Mapping[str, GoldCase] = field(default_factory=dict)
    """What the case accepts besides, by the name of the solution's variant that recorded it."""

    @property
    def reference(self) -> dict[str, Any]:
        """Return the float64 reference of outputs and trained weights by path, as NumPy; empty if there is none."""
        return self._kept[0]

    @property
    def noisy(self) -> dict[str, Any]:
        """Return which elements are noise in every correct implementation, by path, where any are."""
        return self._kept[1]

    @property
    def choice_arrays(self) -> dict[str, Any]:
        """Return what is kept of choices: scores, how wide ties are, what follows them."""
        return self._kept[2]

    @cached_property
    def _kept(self) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        return read_reference(self.path.with_name(self.entry.reference)) if self.entry.reference else ({}, {}, {})

    @cached_property
    def data(self) -> dict[str, Any]:
        return read_payload(self.path, mapped=True)  # whoever made this has checked its bytes

    @property
    def outputs(self) -> dict[str, Any]:
        """Return what was recorded, by name."""
        return from_file(self.data.get("output", {}), self.entry.outputs)

    @property
    def initial_weights(self) -> dict[str, dict[str, Any]]:
        """Return the weights before anything ran, by model."""
        return from_file(self.data.get("state_dict", {}), self.entry.models)

    def allows_nan(self, path: str) -> bool:
        """Say whether the recipe accepts NaN at `path`, with a reason."""
        return is_allowed(self.entry.allowed, path, "nan")

    @property
    def name(self) -> str:
        return self.entry.name

    @property
    def input(self) -> Any:
        return self.data["input"]

    @property
    def output(self) -> Any:
        return self.data["output"]

    @property
    def state_dict(self) -> dict[str, Any]:
        """Return the initial weights; a checkpoint has the trained ones in `model_state_dict`."""
        weights: dict[str, Any] = self.data["state_dict"]
        return weights

    @property
    def model_state_dict(self) -> dict[str, Any]:
        weights: dict[str, Any] = self.data["model_state_dict"]
        return weights

    @property
    def model_config(self) -> dict[str, Any]:
        settings: dict[str, Any] = self.data["model_config"]
        return settings

    @property
    def seed(self) -> int:
        return int(self.data["seed"])


class Gold:
    """The gold of one assignment: a mapping from case names to `GoldCase`."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder = folder
        self.manifest = manifest
        self._cases = {entry.name: entry for entry in manifest.cases}

    def __iter__(self) -> Iterator[str]:
        return iter(name for name, entry in self._cases.items() if not entry.variant)

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __getitem__(self, name: str) -> GoldCase:
        if name not in self._cases:
            raise KeyError(f"no case {name!r} in {self.folder}; there are {', '.join(self._cases)}")
        entry = self._cases[name]
        for file in filter(None, (entry.file, entry.reference, entry.trace)):
            self._check_hash(self.folder / file)
        variants = {variant: self[f"{name}.{variant}"] for variant in entry.accepts}
        return GoldCase(entry, self.folder / entry.file, variants)

    def _check_hash(self, path: Path) -> None:
        expected = {item.name: item.sha256 for item in self.manifest.files}.get(path.name)
        try:
            actual = file_digest(path)
        except OSError as error:
            raise GoldUnreadable(path, error.strerror or str(error)) from None
        if actual != expected:
            raise GoldUnreadable(path, "its bytes are not those its manifest names")


def load_gold(folder: Path) -> Gold:
    return Gold(folder, read_manifest(folder))
