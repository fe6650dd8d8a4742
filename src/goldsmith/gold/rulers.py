"""Rulers: how far the solution itself is off in another setting than gold's, measured there.

A ruler limits each tensor as a tolerance does, and is used where a case runs in its setting. How one is computed is in
`gold/calibration.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import msgspec

from goldsmith.gold.facts import Environment
from goldsmith.gold.tolerances import Tolerance
from goldsmith.runs.setting import Setting


class Ruler(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How far correct work may be off in one setting, by case and by path in its file."""

    setting: Setting
    """Where it was measured, and where it is used."""
    environment: Environment
    """The machine that it was measured on."""
    trials: tuple[str, ...]
    """The runs of the solution that it comes from."""
    cases: dict[str, dict[str, Tolerance]]
    """The limits of each tensor: of its distance from the float64 reference, or from gold where there is none."""
    unjudged: dict[str, dict[str, str]] = {}
    """By case and path, why nothing can be judged by a tensor in this setting."""
    failed: tuple[str, ...] = ()
    """Runs that did not come to an end, with the reason."""


def ruler_for(rulers: Sequence[Ruler], setting: Setting) -> Ruler | None:
    """Return the ruler of a setting; None if none was measured."""
    return next((item for item in rulers if item.setting == setting), None)


def kept_rulers(rulers: Sequence[Ruler], cases: Collection[str]) -> tuple[Ruler, ...]:
    """Return rulers as far as they are about `cases`, which stay as they were."""
    found = []
    for item in rulers:
        limits = {name: limits for name, limits in item.cases.items() if name in cases}
        unjudged = {name: reasons for name, reasons in item.unjudged.items() if name in cases}
        found += [msgspec.structs.replace(item, cases=limits, unjudged=unjudged)] if limits else []
    return tuple(found)


def lost_rulers(before: Sequence[Ruler], kept: Sequence[Ruler]) -> Iterator[str]:
    """Say which rulers have to be measured again, since cases that they are about were recorded again."""
    now = {item.setting: item.cases.keys() for item in kept}
    for item in before:
        gone = sorted(item.cases.keys() - now.get(item.setting, set()))
        if gone:
            names = ", ".join(gone)
            yield f"the ruler for {item.setting.name} no longer holds for {names}: run goldsmith calibrate again"
