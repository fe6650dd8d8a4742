"""The end of a run that updates or prunes what tests keep: in the process that has all reports, once all tests ran."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pytest

from goldsmith.pytest_support.kept_place import shown_path
from goldsmith.pytest_support.kept_report import collected_tests, notes_in, unused_gold
from goldsmith.pytest_support.prune import doubts, pruned
from goldsmith.pytest_support.updates import change_report, objections, publish_all, refusal

if TYPE_CHECKING:
    from goldsmith.pytest_support.session import GoldSession

_UNFINISHED = (pytest.ExitCode.INTERRUPTED, pytest.ExitCode.INTERNAL_ERROR, pytest.ExitCode.USAGE_ERROR)
_PASSED = {"passed", ""}
"""Outcomes of the phases of a test that has passed."""


def finish_run(gold: GoldSession, session: pytest.Session, exitstatus: int) -> tuple[list[str], bool]:
    """Do what is left to do, and return what to say about it and whether it could be done."""
    notes = notes_in(gold.folder)
    lines: list[str] = []
    problems: list[str] = []
    if gold.update:
        found = [] if gold.reason else objections(notes)
        stopped = exitstatus in _UNFINISHED
        if stopped or found:
            lines += change_report(notes, written=False)
            if found and not stopped:
                problems = list(refusal(found))
            elif notes:
                problems = ["nothing was written: the run did not come to its end"]
            return lines + problems, not problems
        failed = publish_all(notes, gold.invoked, gold.obtained)
        problems = [f"failed    {shown}: {why}" for shown, why in failed.items()]
        lines += change_report([item for item in notes if item.shown not in failed], written=True)
        lines += problems
    outcomes = _outcomes(session.config)
    files = collected_tests(gold.folder)
    nodes = {(file, test): node for file, tests in files.items() for test, node in tests.items()}
    passed = {key for key, node in nodes.items() if "passed" in outcomes.get(node, ()) and outcomes[node] <= _PASSED}
    partly = any("::" in str(argument) for argument in session.config.args)
    visited = {item.place(gold.invoked).folder for item in notes}
    unused = list(unused_gold(files, visited, passed, partly=partly, shown_from=gold.invoked))
    if not gold.prune:
        step = "`pytest --gold-prune` deletes it"
        lines += [f"unused    {shown_path(item.path, gold.invoked)}: {item.why}; {step}" for item in unused]
        return lines, not problems
    why = doubts(gold.folder, session, exitstatus, list(nodes.values()), outcomes)
    if why:
        lines += [f"unused    {shown_path(item.path, gold.invoked)}: {item.why}" for item in unused]
        return [*lines, f"nothing was deleted, because not every test has run: {'; '.join(why)}"], not problems
    lines += pruned(unused, session, files, passed) if unused else ["there is nothing that no test checks"]
    return lines, not problems


def _outcomes(config: pytest.Config) -> Mapping[str, set[str]]:
    """Return what became of each test in all of its phases, by node id; nothing where nobody reports it."""
    reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
    found: dict[str, set[str]] = {}
    for category, reports in (reporter.stats if reporter is not None else {}).items():
        for report in reports:
            if getattr(report, "when", None) is not None:
                found.setdefault(report.nodeid, set()).add(category)
    return found
