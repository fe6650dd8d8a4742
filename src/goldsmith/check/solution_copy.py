"""The last check of new gold: a copy of the solution, submitted like a student's, must agree with it; outside of a
course, the implementation that it was recorded from."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from goldsmith.check.check import check
from goldsmith.check.request import Opened, Request, open_adapter
from goldsmith.check.submissions import Submission, open_submission
from goldsmith.check.verdicts import Verdict
from goldsmith.course.layout import Assignment
from goldsmith.course.solutions import Placement
from goldsmith.course.subject import Subject
from goldsmith.generate.options import Options
from goldsmith.generate.state import COPY_NAMES
from goldsmith.gold.load import load_gold
from goldsmith.notebooks.convert import SUFFIX as NOTEBOOK
from goldsmith.process.fork_client import ForkServer
from goldsmith.process.launcher import Watcher
from goldsmith.workspace.temporary import private_folder


def check_copy(
    assignment: Subject,
    options: Options,
    folder: Path,
    placed: Sequence[Placement],
    *,
    fork_server: ForkServer | None,
    watcher: Watcher,
) -> Verdict | None:
    """Return the verdict on the solution's files `placed` against the gold in `folder`, which may not be published yet.
    Return None where there is nothing to replay: gold made by a script, or only cases declared not reproducible."""
    gold = load_gold(folder)
    steady = [name for name in gold if "reproducible" not in gold[name].entry.allowed.get("*", {})]
    if gold.manifest.provenance.mode != "cases" or not steady:
        return None
    with private_folder() as folder:
        copy = folder / "copy"
        for item in placed:
            target = copy / (item.target.with_suffix(NOTEBOOK) if item.source.suffix == NOTEBOOK else item.target)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(item.source, target)
        request = Request(
            options=options,
            case_timeout=assignment.project.config.case_timeout,
            opened=Opened(gold, {name: gold[name] for name in steady}, *open_adapter(assignment)),
            watcher=watcher,
            fork_server=fork_server,
        )
        if not isinstance(assignment, Assignment):
            return check(assignment, Submission(COPY_NAMES[assignment.kind], is_tree=True), request)
        with open_submission(assignment, str(copy), COPY_NAMES[assignment.kind]) as submission:
            return check(assignment, submission, request)
