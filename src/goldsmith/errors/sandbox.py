"""What can keep code that nobody trusts from being run safely."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from goldsmith.errors.base import GoldsmithError


@dataclass(eq=False)
class CannotConfine(GoldsmithError):
    """A layer that this machine has did not take hold: nothing untrusted may run in this process."""

    layer: str
    problem: str

    def sentence(self) -> str:
        return (
            f"this process could not be locked down, so nothing is run in it: {self.layer} failed ({self.problem}); "
            "`goldsmith doctor` says what this machine can do."
        )


@dataclass(eq=False)
class NoSandbox(GoldsmithError):
    """This machine cannot keep a submission from what it must not see; `here` is what it can do, in words."""

    here: str
    missing: Sequence[str]

    def sentence(self) -> str:
        return (
            f"submissions cannot be locked in on this machine, which offers {self.here}: {'; '.join(self.missing)}. "
            "A submission could read gold and other people's work, use the network and stop the grader. "
            "Grade on a Linux of 5.13 or later (`goldsmith doctor` shows what it can do), or, where you trust "
            "everything handed in, use --allow-unsandboxed."
        )
