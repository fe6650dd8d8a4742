"""Options of a run of the nine steps."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from goldsmith.targets.target import Target


class Options(msgspec.Struct, frozen=True, kw_only=True):
    seed: int
    threads: int
    timeout: float
    device: str = "cpu"
    kind: str | None = None
    allow_large: bool = False
    force: bool = False
    exact: bool = False
    """Whether other bits are a change even where they are noise."""
    redraw: bool = False
    """Whether inputs and weights are drawn again instead of being taken from the gold that stands there."""
    calibrate: Literal["measure", "always", "off"] = "measure"
    """Tolerances: measured where something changed, measured always, or left out."""

    @property
    def must_run(self) -> bool:
        """Return whether the recipe runs even if gold is fresh."""
        return self.force or self.exact or self.redraw or self.calibrate == "always"


def options_of(target: Target, **more: Any) -> Options:
    """Return options with the settings that a target has, and `more`."""
    return Options(**{"seed": target.seed, "threads": target.threads, "timeout": target.timeout, **more})
