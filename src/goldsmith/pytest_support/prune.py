"""`--gold-prune`: delete gold that no test checks any more, where that is certain. Any doubt keeps it."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from goldsmith.foundation.atomic_files import write_durably
from goldsmith.foundation.wording import count_of
from goldsmith.pytest_support.kept_gold import remove_kept
from goldsmith.pytest_support.kept_report import Unused
from goldsmith.targets.target import GOLD_SUFFIX

_SUFFIX = ".doubt"
_PARTIAL_RUNS = {
    "keyword": "-k",
    "markexpr": "-m",
    "deselect": "--deselect",
    "ignore": "--ignore",
    "ignore_glob": "--ignore-glob",
    "lf": "--last-failed",
    "stepwise": "--stepwise",
    "setuponly": "--setup-only",
    "setupplan": "--setup-plan",
    "override_ini": "-o",
    "inifilename": "-c",
    "noconftest": "--noconftest",
}
"""Options with which not all tests run, or others than usual."""
Outcomes = Mapping[str, Collection[str]]


def note_doubt(shared: Path, why: str) -> None:
    """Take down, for all processes, why it is not certain which tests there are."""
    shared.mkdir(parents=True, exist_ok=True)
    write_durably(shared / f"{hashlib.sha256(why.encode()).hexdigest()}{_SUFFIX}", why.encode())


def doubts(
    shared: Path, session: pytest.Session, exitstatus: int, collected: Collection[str], outcomes: Outcomes
) -> list[str]:
    """Say why it is not certain that every test there is has run. `outcomes` are what became of tests, by node id."""
    option = session.config.option
    found = [f"{flag} was given" for name, flag in _PARTIAL_RUNS.items() if getattr(option, name, None)]
    if any("::" in str(argument) for argument in session.config.args):
        found.append("single tests were named")
    found += sorted(path.read_text() for path in shared.glob(f"*{_SUFFIX}"))
    if exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED) or session.shouldstop or session.shouldfail:
        found.append("the run ended early")
    missing = [node for node in collected if node not in outcomes]
    if missing:
        found.append(f"{count_of(len(missing), 'test')} did not run, {missing[0]} for one")
    return found


def pruned(
    unused: Sequence[Unused], session: pytest.Session, files: Mapping[Path, Collection[str]], passed: Collection[object]
) -> Iterator[str]:
    """Delete what is unused, and say what was deleted and why something was not."""
    for item in unused:
        shown = item.place.shown_as(item.path.name)
        doubt = _doubt_about(item, session, files, passed)
        if not doubt:
            doubt = remove_kept(item.place, item.path)
        yield f"kept      {shown}: {item.why}, but {doubt}" if doubt else f"deleted   {shown}: {item.why}"


def _doubt_about(
    item: Unused, session: pytest.Session, files: Mapping[Path, Collection[str]], passed: Collection[object]
) -> str:
    file = item.place.file
    if file not in files:
        if not _is_in_a_folder_that_ran(file, session):
            return "its folder was not run as a whole"
        other = [path.name for path in file.parent.glob(f"{file.stem}.*") if path.suffix != GOLD_SUFFIX]
        return f"there is {other[0]}" if other else ""
    base = item.place.test.partition("[")[0]
    relatives = [test for test in files[file] if test.partition("[")[0] == base]
    unsure = next((test for test in relatives if (file, test) not in passed), None)
    return f"{unsure} has not passed" if unsure else ""


def _is_in_a_folder_that_ran(file: Path, session: pytest.Session) -> bool:
    start = session.config.invocation_params.dir
    folders = [(start / str(argument)).resolve() for argument in session.config.args]
    return any(folder.is_dir() and file.parent.resolve().is_relative_to(folder) for folder in folders)
