"""Step 6: the results of the two runs, compared for verification."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from goldsmith.comparison.bitwise import bit_differences
from goldsmith.foundation.wording import and_more
from goldsmith.generate.options import Options
from goldsmith.generate.recording import Recording, case_files
from goldsmith.gold.checks import Evidence
from goldsmith.gold.files import read_payload
from goldsmith.gold.manifest import FileEntry


def gather(mode: str, recordings: Sequence[Recording], options: Options) -> Evidence:
    """Collect each recording's files from its first folder, and where the second run's differ."""
    files: dict[str, FileEntry] = {}
    disagreements: dict[str, str] = {}
    for item in recordings:
        own = {name: FileEntry.of(item.first / name) for case in item.cases for name in case_files(case)}
        disagreements |= _disagreements(item, own)
        files |= own
    return Evidence(
        mode=mode,
        seed=options.seed,
        cases=[case for item in recordings for case in item.cases],
        files=files,
        disagreements=disagreements,
        allow_large=options.allow_large,
    )


def _disagreements(recording: Recording, files: Mapping[str, FileEntry]) -> dict[str, str]:
    """Return, for each case whose two runs differ, one sentence that names the first leaf."""
    first, second = recording.first, recording.second
    found: dict[str, str] = {}
    for case in recording.cases:
        for name in case_files(case):
            if not (second / name).is_file():
                found[case.name] = f"case {case.name}: the second run did not write {name}"
            elif files[name] != FileEntry.of(second / name):
                found.setdefault(case.name, f"case {case.name}: {_first_difference(first / name, second / name)}")
    for name in recording.unsteady:
        found[name] = f"case {name}: it draws other inputs or weights in a second run; is a random source unseeded?"
    extra = {path.name for path in second.iterdir()} - {path.name for path in first.iterdir()}
    if extra:
        found["*"] = f"the second run also wrote {', '.join(sorted(extra))}"
    return found


def _first_difference(first: Path, second: Path) -> str:
    where = f"{first.name} differs between two runs with the same seed"
    if first.name.endswith(".safetensors"):
        return f"{where} (only inside its modules)"
    try:
        found = bit_differences(read_payload(first), read_payload(second))
    except Exception:  # another check reports unreadable files
        return where
    if not found:
        return f"{where}, in bytes that hold no value"
    more = and_more(found)
    return f"{where}: {found[0]}{more}; is a random source unseeded?"
