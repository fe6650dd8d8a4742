"""The last check of new gold: a copy of the solution, submitted like a student's, must agree with it, in the sandbox
that submissions are graded in; outside of a course, the implementation that it was recorded from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from goldsmith.check.check import check
from goldsmith.check.grading_sandbox import GradingSandbox, require_private_network
from goldsmith.check.replay_workspace import SandboxPolicy
from goldsmith.check.request import OpenGold, Request, open_adapter
from goldsmith.errors.sandbox import NoPrivateNetwork
from goldsmith.generate.options import Options
from goldsmith.gold.load import load_gold
from goldsmith.judge.verdicts import AGREES, Verdict
from goldsmith.process.fork_client import ForkClient
from goldsmith.process.launcher import Watcher
from goldsmith.runs.run import Failure
from goldsmith.sandbox.capabilities import probe
from goldsmith.targets.target import Submission, Target

SANDBOX = "sandbox"
"""What a case declares in `allow`, with a reason, if it is not to be tried in the sandbox."""


@dataclass(frozen=True)
class CopyCheck:
    """The verdict on the copy. Where that agrees, and only outside of the sandbox, `sandboxed` is the one in it;
    `not_tried` says why it was not tried there at all."""

    verdict: Verdict
    sandboxed: Verdict | None = None
    not_tried: str = ""


def check_copy(
    target: Target,
    options: Options,
    folder: Path,
    submission: Submission,
    *,
    fork_server: ForkClient | None,
    watcher: Watcher,
) -> CopyCheck | None:
    """Check a copy of the solution against the gold in `folder`, which may not be published yet: in the sandbox, and
    outside of it only where that does not agree, or cannot be tried here. Return None where there is nothing to replay:
    gold made by a script, or only cases declared not reproducible."""
    gold = load_gold(folder)
    allowed = {name: gold[name].entry.allowed.get("*", {}) for name in gold}
    steady = [name for name in gold if "reproducible" not in allowed[name]]
    if gold.manifest.provenance.mode != "cases" or not steady:
        return None
    policy, not_tried = _policy(target, options, folder)
    target = replace(target, threads=options.threads, timeout=options.timeout, device=options.device)

    def checked(cases: Sequence[str], confined: SandboxPolicy | None) -> Verdict:
        opened = OpenGold(gold, {name: gold[name] for name in cases}, *open_adapter(target))
        request = Request(
            opened=opened,
            watcher=watcher,
            fork_server=fork_server,
            confined=confined,
        )
        return check(target, submission, request)

    inside = [name for name in steady if SANDBOX not in allowed[name]]
    if policy is None or not inside:
        return CopyCheck(checked(steady, None), not_tried=not_tried)
    sandboxed = checked(inside, policy)
    if _never_began(sandboxed):
        return CopyCheck(checked(steady, None), not_tried="nothing can be run in it here")
    outside = [name for name in steady if name not in inside]
    if sandboxed.outcome == AGREES:
        return CopyCheck(checked(outside, None) if outside else sandboxed)
    verdict = checked(steady, None)
    return CopyCheck(verdict, sandboxed if verdict.outcome == AGREES else None)


def _never_began(verdict: Verdict) -> bool:
    """Return whether not even the recipe was reached: what goldsmith itself needs is out of reach, as where packages
    are links to somewhere else. Nobody can be graded here, and the recipe is not to blame."""
    return all(_left_at_once(case.failure) for case in verdict.cases)


def _left_at_once(failure: Failure | None) -> bool:
    if failure is None or failure.kind != "exit":
        return False
    return failure.case is None and not failure.message.startswith("sys.exit")


def _policy(target: Target, options: Options, gold: Path) -> tuple[SandboxPolicy | None, str]:
    """Return the sandbox of `goldsmith grade`, or say why the copy cannot be tried in it here. bubblewrap is left out:
    it hides the names of files that nobody can read anyway, and needs a process of its own to fork from."""
    if target.starter is None:
        return None, ""  # nobody is graded by it
    level = probe()
    if not level.sufficient:
        return None, "; ".join(level.missing)
    if options.device != "cpu":
        return None, f"the copy is checked on the CPU, and this gold is made on {options.device}"
    sandbox = GradingSandbox(target, gold)
    if sandbox.loopback:
        try:
            require_private_network()
        except NoPrivateNetwork as problem:
            return None, f"a submission cannot have a private network here ({problem.problem})"
    return sandbox.policy(msgspec.structs.replace(level, bubblewrap=False)), ""
