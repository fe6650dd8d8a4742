"""Which functions and methods that students write run in each case, by gold's record, never by a submission's word."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from goldsmith.gold.safetensors_reader import open_mapped
from goldsmith.judge.traces import calls_in

if TYPE_CHECKING:
    from goldsmith.gold.manifest import CaseEntry


@dataclass(frozen=True)
class PartCoverage:
    """Which functions and methods that students write run in each case, by gold's record."""

    runs: Mapping[str, tuple[str, ...]]
    origins: Mapping[str, Mapping[str, tuple[str, ...]]]

    @classmethod
    def of(cls, entries: Mapping[str, CaseEntry], folder: Path) -> PartCoverage:
        runs = {name: entry.runs or _runs_in_trace(entry, folder) for name, entry in entries.items()}
        return cls(runs, {name: entry.origins for name, entry in entries.items()})

    def width(self, case: str) -> int:
        return len(self.runs.get(case, ()))

    def showing(self, callable_name: str) -> list[str]:
        """List the cases that run it, those that run the fewest functions first."""
        return sorted((case for case, runs in self.runs.items() if callable_name in runs), key=self.width)

    def narrowest(self, callable_name: str) -> list[str]:
        showing = self.showing(callable_name)
        return [case for case in showing if self.width(case) == self.width(showing[0])]

    def roots(self, case: str) -> tuple[str, ...]:
        """Return what the recipe itself calls in a case, as far as any record comes from it."""
        return tuple(dict.fromkeys(name for made_by in self.origins.get(case, {}).values() for name in made_by))

    @property
    def inner_parts(self) -> set[str]:
        """Return the parts that run in some case and that the recipe itself calls in none. To construct an object is
        not to call it."""
        called = {part_of(name) for case in self.runs for name in self.roots(case) if not is_constructor(name)}
        return {part for case in self.runs for part in self.parts(case)} - called

    def parts(self, case: str) -> tuple[str, ...]:
        """Return the classes and functions that run in a case."""
        return tuple(dict.fromkeys(part_of(name) for name in self.runs.get(case, ())))


def part_of(callable_name: str) -> str:
    """Return the class of a method, or the function itself."""
    return callable_name.partition(".")[0]


def is_constructor(callable_name: str) -> bool:
    return callable_name.endswith(".__init__")


def _runs_in_trace(entry: CaseEntry, folder: Path) -> tuple[str, ...]:
    """Read from the trace what a case runs, for older gold that does not record it."""
    calls = calls_in(open_mapped(folder / entry.trace)) if entry.trace else []
    return tuple(dict.fromkeys(call.name for call in calls if call.own))
