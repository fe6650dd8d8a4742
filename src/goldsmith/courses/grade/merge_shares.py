"""Merge what machines have found that graded a share of a class each: only if it is what one machine would have."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import asdict, replace

from goldsmith.courses.grade.grader import METHOD
from goldsmith.courses.grade.ingredients import version_words
from goldsmith.courses.grade.redaction import one_line
from goldsmith.courses.grade.run_record import RunRecord, read_record
from goldsmith.errors.shares import PartUnreadable
from goldsmith.foundation.ignored_names import RUN_RECORD
from goldsmith.foundation.shares import Part, read_part, require_whole

_WORDS = {
    "goldsmith": "another goldsmith",
    "recipe": "another recipe",
    "solution": "another solution",
    "starter": "another starter",
    "adapter": "another adapter",
    "settings": "other settings",
    "values": "another gold",
    "tolerances": "other tolerances",
    "gold": "another manifest of gold",
    "sandbox": "another sandbox",
}
"""What it is called if an ingredient is another; causes come before what follows from them."""


def merged(folders: Sequence[Path]) -> RunRecord:
    """Return the record that a run over the whole class would have written. Raise unless the folders hold all shares
    of one class, each once, and judged alike."""
    records = {str(folder): read_part(folder, RUN_RECORD, read_record) for folder in folders}
    parts = require_whole([_part(str(folder), records[str(folder)]) for folder in folders])
    in_order = [records[part.place] for part in parts]
    first = in_order[0]
    version = version_words(METHOD)
    if first.ingredients.goldsmith != version:
        made = f"it was made by goldsmith {first.ingredients.goldsmith}, and this is {version}"
        raise PartUnreadable(parts[0].place, f"{made}, which may say something else")
    statements = {part: some for record in in_order for part, some in record.statements.items()}
    return replace(
        first,
        entries=tuple(
            in_order[entry.share - 1].entries[place].in_share(0, "") for place, entry in enumerate(first.entries)
        ),
        statements=dict(sorted(statements.items())),
        share=None,
    )


def _part(place: str, record: RunRecord) -> Part:
    """Return what all parts must have in common, causes before what follows from them."""
    if record.share is None:
        raise PartUnreadable(place, "it holds grades of a whole class, and no share of one")
    ingredients, entries = asdict(record.ingredients), record.entries
    if any(entry.moved is not None for entry in entries):
        raise PartUnreadable(place, "it says that points moved since an earlier run, which no share looks at")
    packages, options = ingredients["packages"], ingredients["options"]
    files: dict[str, list[str]] = {}
    for entry in entries:
        files.setdefault(one_line(entry.name), []).append(entry.digest or entry.seen)
    facts: dict[str, Any] = {
        "another assignment": record.assignment,
        "another number of shares": record.share.of,
        "another list of submissions": record.names,
        **{f"other files of {name}": digests for name, digests in files.items()},
        "other left-out entries": [(item.name, item.why) for item in record.left_out],
        **{words: ingredients[name] for name, words in _WORDS.items()},
        "other packages": ", ".join(packages),
        **{f"another value of {name}": value for name, value in options.items()},
        "another rubric": [record.rubric, record.forbidden_costs],
        "other private code": [record.private_files, record.private_lines],
        "other times of an earlier run, by which shares are made even": [entry.share for entry in entries],
    }
    done = [entry.is_judged for entry in entries]
    return Part(place, record.share, facts, [entry.share for entry in entries], done)
