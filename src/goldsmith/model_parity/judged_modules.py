"""What judging modules came to: each module's row, and where differences begin."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from goldsmith.judge.policy import ORGANISED_DIFFERENTLY
from goldsmith.judge.verdicts import DIFFERS, CaseVerdict, ModuleVerdict, sources
from goldsmith.model_parity.result import HOLDS, INFERRED, INSIDE, SEEN, SOURCE, FirstWrong, How, ModuleParity

SMALL = "module"
"""The kind of verdict on a module that differs by less than the output shows."""


@dataclass
class JudgedModules:
    """What is known of every module; `sources` are those where a difference begins, in the order in which they ran."""

    modules: tuple[ModuleParity, ...] = ()
    verdicts: tuple[ModuleVerdict, ...] = ()
    lines: tuple[str, ...] = ()
    first: FirstWrong | None = None
    inside: set[str] = field(default_factory=set)
    """Sources of which only that is known that the difference begins inside them."""

    @property
    def sources(self) -> list[ModuleVerdict]:
        return list(sources(self.verdicts))

    def how(self, source: ModuleVerdict) -> How:
        """Say how it is known that a module is to blame."""
        return INSIDE if source.name in self.inside else INFERRED if source.inferred else SEEN

    def added_to(self, case: CaseVerdict) -> CaseVerdict:
        """Return a case with what was found about its modules."""
        first = next(iter(self.sources), None)
        names = {"first_divergence": first.label, "first_part": first.kind} if first else {}
        return msgspec.structs.replace(case, modules=self.verdicts, **names)

    def with_small_differences(
        self, case: CaseVerdict, far: float, tolerance_given: bool
    ) -> tuple[CaseVerdict, list[str]]:
        """Judge modules that differ where the whole agrees, up to `far`: too little to be seen at the end, or no
        difference at all, because the two are organised differently. Return the case, and notes."""
        seen = [item for item in self.sources if not item.inferred]
        if not seen:
            return case, []
        names = ", ".join(item.label for item in seen[:3])
        if tolerance_given:
            return case, [f"there are differences inside ({names}), and the whole is within the tolerance given"]
        if far <= ORGANISED_DIFFERENTLY:
            self.clear_sources()
            return case, [f"there are differences inside ({names}), and the whole agrees to {far:.0e}"]
        reason = f"{seen[0].label} differs by itself, by less than can be told from the output"
        return self.added_to(msgspec.structs.replace(case, outcome=DIFFERS, kind=SMALL, reason=reason)), []

    def clear_sources(self) -> None:
        """Forget who is to blame: the two are only organised differently."""
        self.verdicts, self.first = (), None
        self.modules = tuple(
            msgspec.structs.replace(row, role="") if row.role in (SOURCE, HOLDS) else row for row in self.modules
        )
