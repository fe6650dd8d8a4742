"""The words of several references: how they compare with each other, and what that says of a candidate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from goldsmith.judge.decision import shown_path
from goldsmith.judge.leaf_words import size_words
from goldsmith.judge.verdicts import AGREES, DIFFERS
from goldsmith.judge.words import OUTCOMES, joined
from goldsmith.model_parity.result import ParityReport, ReferencePair, Spread

IN_DOUBT = "references differ"
_MOST = 12
_VERBS: dict[str, str] = {AGREES: "agree", DIFFERS: "differ"}


@dataclass(frozen=True)
class Table:
    """What is shown of several references in rows; `left_out` says how many more there are."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left_out: str = ""


def outcome_words(outcome: str) -> str:
    """Return an outcome as it is shown."""
    return next((words for known, words in OUTCOMES.items() if known == outcome), IN_DOUBT)


def reference_tables(report: ParityReport, most: int = _MOST) -> list[Table]:
    """Return what is shown before what was compared: every two references, then how far they are from each other and
    the candidate from them, module by module."""
    several = report.references
    if several is None:
        return []
    pairs = tuple(map(_pair_row, several.pairs[:most]))
    tables = [Table(("references", "", "apart", "of the tolerance", "first in"), pairs, _more(several.pairs, most))]
    rows = _widest(several.spread, most)
    if rows:
        shown = tuple((row.label, _size(row.relative), _size(row.candidate)) for row in rows)
        headings = ("where", "references apart", f"{report.name} from the nearest")
        tables.append(Table(headings, shown, _more(several.spread, most)))
    return tables


def singled_out_words(report: ParityReport) -> str:
    """Name the references that are far from all others; empty if none is."""
    names = report.references.singled_out if report.references is not None else []
    if not names:
        return ""
    return f"{joined(names)} {'is' if len(names) == 1 else 'are'} singled out, far from all other references"


def moved_words(report: ParityReport) -> str:
    """Say which version moved; empty where the references are no versions of one, or nothing did."""
    several = report.references
    if several is None or several.moved in ("", "nothing"):
        return ""
    if several.moved == "candidate":
        return f"the reference did not move, and {report.name} differs from each version"
    number = {item.name: place for place, item in enumerate(several.references)}
    moved = (item for item in several.pairs if item.outcome == DIFFERS)
    pair = min(moved, key=lambda item: number[item.other] - number[item.one])
    return f"the reference moved from {pair.one} to {pair.other}: {_how_far(pair)}"


def agreed_words(report: ParityReport) -> str:
    """Say which versions of a reference the candidate agrees with, where they differ; empty where they are none."""
    several = report.references
    if several is None or not several.moved:
        return ""
    agreed = [item.name for item in several.references if item.outcome == AGREES]
    return f"agrees with {joined(agreed)}" if agreed else f"agrees with neither {' nor '.join(_names(report))}"


def _names(report: ParityReport) -> list[str]:
    return [item.name for item in report.references.references] if report.references is not None else []


def difference_words(pair: ReferencePair) -> str:
    """Say how two references differ."""
    return f"{pair.one} and {pair.other} differ: {_how_far(pair)}"


def _how_far(pair: ReferencePair) -> str:
    """Say how far two references are apart, of what tolerance, and in which module that begins."""
    first = f", first in {pair.first}" if pair.first else ""
    if pair.relative is None or pair.excess is None:
        return f"{pair.reason}{first}"
    return f"{shown_path(pair.what)} by {size_words(pair.relative)}, {pair.excess:.3g} x its tolerance{first}"


def _pair_row(pair: ReferencePair) -> tuple[str, ...]:
    excess = "" if pair.excess is None else f"{pair.excess:.2g} x"
    how = _VERBS.get(pair.outcome) or outcome_words(pair.outcome)
    return f"{pair.one}, {pair.other}", how, _size(pair.relative), excess, pair.first


def _widest(rows: Sequence[Spread], most: int) -> list[Spread]:
    """Return the rows in which something is farthest off, in their order."""
    widest = sorted(rows, key=lambda row: max(row.relative or 0.0, row.candidate or 0.0), reverse=True)[:most]
    return [row for row in rows if any(row is item for item in widest)]


def _more(items: Sequence[object], most: int) -> str:
    return f"and {len(items) - most} more" if len(items) > most else ""


def _size(relative: float | None) -> str:
    return "" if relative is None else f"{relative:.1e}" if relative else "0"
