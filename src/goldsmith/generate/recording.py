"""Recordings of one implementation in step 5, and their files."""

from __future__ import annotations

import hashlib
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from goldsmith.gold.facts import CaseFacts
from goldsmith.gold.manifest import FileEntry
from goldsmith.process.messages import KeptCase
from goldsmith.targets.target import Placement


@dataclass(frozen=True)
class Recording:
    """The cases that one implementation recorded, in two runs whose files are in two folders."""

    placed: Sequence[Placement]
    cases: tuple[CaseFacts, ...]
    first: Path
    second: Path
    unsteady: frozenset[str] = frozenset()
    """Cases that drew other inputs or weights in the second run."""

    def only(self, names: Container[str]) -> Recording:
        """Return this recording with only these cases."""
        return replace(self, cases=tuple(case for case in self.cases if case.name in names))

    def kept_cases(self, cases: Sequence[CaseFacts]) -> dict[str, KeptCase]:
        """Return where a replay finds the inputs and weights of these cases."""
        return {case.definition: KeptCase.of(case, self.first / case.file.name) for case in cases}


def case_files(case: CaseFacts) -> list[str]:
    """List the names of the files that a case wrote."""
    return [name for name in (case.file.name, case.trace) if name]


def content_entry(name: str, content: bytes) -> FileEntry:
    return FileEntry(name, len(content), hashlib.sha256(content).hexdigest())
