"""The gold that exists when it is regenerated: which draws are reused, and which cases a new run confirms.

Only cases that moved beyond noise are rewritten. The others keep their bytes, so that another machine, or a change to
one function, does not rewrite files needlessly.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from goldsmith.errors.gold import GoldUnreadable, NewerGold, OtherGold
from goldsmith.generate.freshness import changed_sources, file_hashes
from goldsmith.generate.options import Options
from goldsmith.generate.recording import Recording
from goldsmith.generate.sources import Sources
from goldsmith.gold.calibration import pins_stand
from goldsmith.gold.drift import Movement, find_movement
from goldsmith.gold.facts import CaseFacts, Environment, environment_differences
from goldsmith.gold.manifest import CaseEntry, FileEntry, Manifest, read_manifest
from goldsmith.process.messages import Draws, KeptCase
from goldsmith.source_code.case_code import CaseCode
from goldsmith.targets.target import Target
from goldsmith.workspace.snapshot import file_hash


class MachineNoise(msgspec.Struct, frozen=True, kw_only=True):
    """Tensors that came out in other bits than the gold's, and no further off than noise."""

    tensors: int
    """How many."""
    of: int
    """Of how many."""
    largest: float
    """The largest share of its tolerance that one of them used up."""
    median: float
    """The median of those shares."""

    def sentence(self) -> str:
        what = (
            f"{self.tensors} of {self.of} tensors came out in other bits" if self.tensors else "files have other bytes"
        )
        far = f", by at most {self.largest:.2g} of their tolerance (median {self.median:.2g})" if self.tensors else ""
        return f"{what}{far}"


@dataclass(frozen=True)
class PreviousGold:
    """Published gold by its manifest; without a manifest there is none."""

    folder: Path
    manifest: Manifest | None
    changed: tuple[str, ...] = ()
    """What it was made from that is different now, in words."""
    other_reads: bool = False
    """Whether files that its recipe read, besides solution and starter, are different now."""
    _entries: Mapping[str, CaseEntry] = field(default_factory=dict)
    _files: Mapping[str, FileEntry] = field(default_factory=dict)

    @classmethod
    def read(cls, target: Target) -> PreviousGold:
        """Read the gold of an assignment; damaged gold counts as none. That of a newer goldsmith is an error, and so is
        a link to another assignment's."""
        try:
            manifest = read_manifest(target.gold)
        except NewerGold:
            raise
        except GoldUnreadable:
            return cls(target.gold, None)
        if target.gold.is_symlink() and manifest.assignment != target.recorded_name:
            raise OtherGold(target.gold, manifest.assignment)
        return cls(
            target.gold,
            manifest,
            tuple(changed_sources(target, manifest.provenance)),
            file_hashes(target, manifest.provenance.reads) != manifest.provenance.reads,
            {case.name: case for case in manifest.cases},
            {item.name: item for item in manifest.files},
        )

    def is_fresh(self, options: Options) -> bool:
        """Return whether it is undamaged, and was made with these options from the sources as they are now."""
        manifest = self.manifest
        if manifest is None or self.changed or not all(self.is_sound(item.name) for item in manifest.files):
            return False
        device = manifest.provenance.environment.device.partition(" ")[0]
        is_measured = options.calibrate != "off" and manifest.provenance.mode == "cases"
        wanted = (options.seed, options.device, is_measured)
        return wanted == (manifest.seed, device, manifest.calibration is not None)

    def entry(self, case: str) -> CaseEntry | None:
        """Return a case of this gold, None unless its files are as they were published."""
        entry = self._entries.get(case)
        names = (entry.file, entry.trace, entry.reference) if entry else ()
        return entry if all(self.is_sound(name) for name in names if name) else None

    def is_sound(self, name: str) -> bool:
        """Return whether a file is what was published."""
        entry, path = self._files.get(name), self.folder / name
        return entry is not None and path.is_file() and file_hash(path) == entry.sha256

    def environment_of(self, entry: CaseEntry) -> Environment:
        assert self.manifest is not None
        return entry.environment or self.manifest.provenance.environment

    def same_sources(self, sources: Sources, reads: Mapping[str, str]) -> bool:
        """Return whether the gold was made from what a run has just used."""
        if self.manifest is None:
            return False
        made = self.manifest.provenance
        now = (sources.solution, sources.starter, sources.recipe, dict(reads))
        return (made.solution, made.starter, made.recipe, made.reads) == now

    def draws(
        self, options: Options, code: CaseCode, recipe: Mapping[str, str]
    ) -> tuple[dict[str, Draws], dict[str, str]]:
        """Return the recorded inputs and weights that cases reuse, and for the other cases, why they do not.

        A case's draws are reused as long as its own code in the recipe has not changed.
        """
        found: dict[str, Draws] = {}
        why: dict[str, str] = {}
        if self.manifest is None or self.manifest.provenance.mode != "cases":
            return found, why
        same_recipe = dict(recipe) == self.manifest.provenance.recipe
        for case in self.manifest.cases:
            if case.variant:
                continue
            reason = self._why_redrawn(case, options, code, same_recipe)
            if reason:
                why[case.name] = reason
            else:
                found[case.name] = Draws(
                    kept=KeptCase.of(case, self.folder / case.file),
                    same_sources=not self.changed,
                    other_reads=self.other_reads,
                    environment=self.environment_of(case),
                )
        return found, why

    def _why_redrawn(self, case: CaseEntry, options: Options, code: CaseCode, same_recipe: bool) -> str:
        assert self.manifest is not None
        if options.redraw:
            return "--redraw was given"
        if self.manifest.seed != options.seed:
            return f"the seed was {self.manifest.seed} and is {options.seed} now"
        if not same_recipe and not case.code:
            return "the recipe changed, and the gold is too old to say which code drew what"
        if not same_recipe and case.code != code.of(case.name):
            return "its own code in the recipe changed"
        return "" if self.is_sound(case.file) else f"{case.file} is not what was published"

    def movements(self, recordings: Sequence[Recording], *, same_sources: bool) -> dict[str, Movement]:
        """Return how far each recorded case is from this gold; those that it lacks, or has damaged, are left out."""
        found = {}
        for recording in recordings:
            for case in recording.cases:
                entry = self.entry(case.name)
                if entry is not None and not case.file.error:
                    found[case.name] = find_movement(
                        entry, self.folder, case, recording.first, same_sources=same_sources
                    )
        return found

    @property
    def is_unmeasured(self) -> bool:
        """Return whether there is gold of cases whose tolerances were not measured."""
        return self.manifest is not None and self.manifest.provenance.mode == "cases" and not self.manifest.calibration

    def tolerances_stand(self, case: CaseFacts, *, measured: bool) -> bool:
        """Return whether a case has the kind of tolerances that it would get, measured or not, with the same pins."""
        entry = self._entries[case.name]
        if (self.manifest is not None and self.manifest.calibration is not None) != measured:
            return False
        if tuple(item.declared for item in entry.choices or () if not item.found) != case.choices:
            return False
        if (entry.unordered or ()) != case.unordered:
            return False
        return pins_stand(case, {item.path: item.tolerance for item in entry.tensors if item.tolerance is not None})

    def noise(self, movements: Mapping[str, Movement]) -> MachineNoise | None:
        """Return how far cases moved that differ in bits, None if no case does."""
        noisy = [item for item in movements.values() if item.outcome == "noise"]
        if not noisy or self.manifest is None:
            return None
        shares = sorted(change.excess or 0.0 for item in noisy for change in item.changes)
        return MachineNoise(
            tensors=len(shares),
            of=sum(len(case.tensors) for case in self.manifest.cases),
            largest=shares[-1] if shares else 0.0,
            median=shares[len(shares) // 2] if shares else 0.0,
        )

    def environment_differences(self, here: Environment | None) -> tuple[str, ...]:
        """Return how this machine differs from those that recorded the gold, as far as it is known."""
        if self.manifest is None or here is None:
            return ()
        own = [case.environment for case in self.manifest.cases if case.environment]
        machines = [self.manifest.provenance.environment, *own]
        return tuple(dict.fromkeys(fact for made in machines for fact in environment_differences(made, here)))


def redrawn_cases(why: Mapping[str, str], cases: Sequence[CaseFacts]) -> dict[str, str]:
    """Return the cases that drew inputs or weights again, with the reason: known before the run, or found in it."""
    found = {case.name: why[case.name] for case in cases if case.name in why}
    for case in cases:
        for what, reason in case.draws_redrawn.items():
            found.setdefault(case.name, f"{what}: {reason}")
    return found


def redraw_notes(redrawn: Mapping[str, str]) -> Iterator[str]:
    """Yield one sentence for each reason."""
    for reason in dict.fromkeys(redrawn.values()):
        names = [name for name, why in redrawn.items() if why == reason]
        cases = f"case {names[0]}" if len(names) == 1 else f"{len(names)} cases ({', '.join(names)})"
        yield f"{cases} drew inputs and weights again: {reason}"
