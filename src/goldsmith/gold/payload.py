"""How a gold file stores what a recipe named: the only item of a section bare, several as a dict by name.

Nothing else knows this. In memory inputs, outputs and models are by name; paths are those of the file, because
manifests refer to them: `output.logits`, or `output` where logits is all that was recorded.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any


def to_file(items: Mapping[str, Any]) -> Any:
    """Return the items of a section as a file stores them."""
    return next(iter(items.values())) if len(items) == 1 else items


def from_file(stored: Any, names: Collection[str]) -> dict[str, Any]:
    """Return what a section of a file stores, by name."""
    if len(names) == 1:
        return {next(iter(names)): stored}
    return dict(stored) if isinstance(stored, dict) else {}


def item_name(path: str, names: Collection[str]) -> str:
    """Return the name of the item that a leaf belongs to."""
    return next(iter(names)) if len(names) == 1 else path.partition(".")[2].partition(".")[0]


class PayloadNames:
    """Where the items of a case lie in its file. Mixed into structs that have their names."""

    __slots__ = ()
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    models: tuple[str, ...]

    def path_of(self, section: str, name: str) -> str:
        """Return the path of an item, or of what is inside one: `output` for `y` if only y was recorded."""
        item, _, inside = name.partition(".")
        return ".".join(filter(None, (section, "" if self._is_bare(section) else item, inside)))

    def item_path(self, path: str) -> str:
        """Return the path of the item that a leaf belongs to, such as `output.gradients`."""
        parts = path.split(".")
        return ".".join(parts[: 2 if parts[0] in _SECTIONS and not self._is_bare(parts[0]) else 1])

    def path_in_item(self, path: str) -> str:
        """Return where in its item a leaf lies: a weight's name in its model."""
        return path.removeprefix(self.item_path(path)).removeprefix(".")

    def label(self, path: str) -> str:
        """Return the path under the name that the author knows: `output.y` for `output` if only y was recorded."""
        section, dot, inside = path.partition(".")
        names = self._names(section) if section in ("input", "output") else ()
        return f"{section}.{names[0]}{dot}{inside}" if len(names) == 1 else path

    def _is_bare(self, section: str) -> bool:
        return len(self._names(section)) == 1

    def _names(self, section: str) -> tuple[str, ...]:
        names: tuple[str, ...] = getattr(self, _SECTIONS[section]) if section in _SECTIONS else ()
        return names


@dataclass(frozen=True)
class CaseNames(PayloadNames):
    """The names that a recipe gave to the inputs, outputs and models of a case."""

    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    models: tuple[str, ...] = ()


_SECTIONS = {"input": "inputs", "output": "outputs", "state_dict": "models"}
