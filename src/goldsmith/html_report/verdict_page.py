"""The page about one implementation that was checked against gold."""

from __future__ import annotations

import ast
import importlib.metadata
import platform
from collections.abc import Mapping, Sequence
from typing import Any

from goldsmith.doctor import processor_name
from goldsmith.foundation.syntax import syntax_tree
from goldsmith.gold.facts import Environment, environment_differences
from goldsmith.html_report.call_lane import CallRoles, shown_first
from goldsmith.html_report.case_view import leaf_lane, leaf_lines, tensor_view, within_budget
from goldsmith.html_report.module_tree import GRAVITY, tree_of
from goldsmith.html_report.training_lane import training_lane
from goldsmith.html_report.view import Case, Node, Report, Role, Source
from goldsmith.judge import words
from goldsmith.judge.causes import telling_case
from goldsmith.judge.evidence import CallEvidence, Evidence
from goldsmith.judge.verdicts import AGREES, CaseVerdict, Verdict
from goldsmith.process.launcher import deterministic_environment

_MAX_SOURCE_LINES = 60


def verdict_report(verdict: Verdict, evidence: Evidence, recorded: Environment, options: str = "") -> Report:
    """Return the page of a verdict: for staff, with gold's values in it. `options` are those of the command."""
    cases = tuple(_case(case, why, evidence) for case, why in words.rows(verdict.cases))
    telling = telling_case(verdict)
    order = sorted(cases, key=lambda case: (case.name != (telling.name if telling else ""), case.outcome == AGREES))
    facts = [("assignment", verdict.assignment), ("cases", str(len(verdict.cases)))]
    if telling is not None:
        facts += [("decided in", telling.judged_in or "no dtype: it did not run"), ("shown by", telling.name)]
    if verdict.first_divergence:
        facts.append(("first wrong", words.first_wrong(verdict)))
    return Report(
        title=f"{verdict.name} against {verdict.assignment}",
        outcome=verdict.outcome,
        outcome_words=words.OUTCOMES[verdict.outcome],
        headline=words.ended(f"{verdict.name}: {words.headline(verdict)}"),
        facts=tuple(facts),
        differences=tuple(environment_differences(recorded, environment_here(recorded))),
        cases=within_budget(order),
        source=source_of(verdict.first_place, evidence.files),
        notes=tuple(words.notes_of(verdict)),
        next_step=words.next_step(verdict, options) or "",
        gold="gold",
    )


def environment_here(recorded: Environment) -> Environment:
    """Return what is known of this machine without running anything; what is not known is not compared."""
    given = deterministic_environment(recorded.threads)
    found = {library: _version(library) or "" for library in recorded.libraries}
    others = recorded.versions or {}
    own: dict[str, Any] = {library: version for library, version in found.items() if library not in others}
    return Environment(
        python=platform.python_version(),
        numpy=_version("numpy") or "",
        **own,
        platform=f"{platform.system()} {platform.machine()}" if recorded.platform else "",
        processor=processor_name(),
        threads=recorded.threads,
        device=recorded.device,
        variables={name: given[name] for name in recorded.variables if name in given},
        versions={library: found[library] for library in others},
    )


def source_of(place: str, files: Mapping[str, bytes]) -> Source | None:
    """Return the definition at a place such as `policy.py:63`; None where it is not known."""
    file, _, number = place.rpartition(":")
    if file not in files or not number.isdecimal():
        return None
    text = files[file].decode("utf-8", "replace")
    lines, marked = text.splitlines(), int(number)
    try:
        found = [node for node in ast.walk(syntax_tree(text)) if getattr(node, "lineno", 0) == marked]
    except (SyntaxError, ValueError):
        found = []
    end = max((getattr(node, "end_lineno", marked) or marked for node in found), default=marked)
    end = min(end, marked + _MAX_SOURCE_LINES)
    return Source(file, marked, tuple(lines[marked - 1 : end]))


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _case(case: CaseVerdict, why: str, evidence: Evidence) -> Case:
    calls = evidence.calls.get(case.name, ())
    known = CallRoles(case, calls)
    roles = known.roles
    lines = [] if case.outcome == AGREES else [*words.module_lines(case, ""), *leaf_lines(case)]
    lines = [line for line in lines if not why.startswith(line)]
    if case.failure is not None:
        lines += [f"{item.place} in {item.function}: {item.text}" for item in case.failure.frames[-4:]]
    noise = evidence.noise.get(case.name, {})
    trained = evidence.trained.get(case.name, ())
    whole = [
        (call, role)
        for call, role in zip(calls, roles, strict=True)
        if call.model in trained and not (call.module or call.function)
    ]
    lanes = [known.lane(), leaf_lane(case, noise)]
    lanes.append(training_lane(case, evidence.losses.get(case.name, ()), whole, noise))
    return Case(
        name=case.name,
        title=case.title,
        outcome=case.outcome,
        judged_in=case.judged_in,
        why=why,
        lines=tuple(lines),
        lanes=shown_first(lanes),
        ours=_ours(calls, roles),
        theirs=_theirs(calls, roles),
        tensors=tuple(tensor_view(case, item) for item in evidence.tensors.get(case.name, ())),
    )


def _ours(calls: Sequence[CallEvidence], roles: Sequence[Role]) -> tuple[Node, ...]:
    return tree_of(
        {
            _path(call.model, call.module): Node(call.module or call.kind, call.kind, role)
            for call, role in _gravest_last(calls, roles)
        }
    )


def _theirs(calls: Sequence[CallEvidence], roles: Sequence[Role]) -> tuple[Node, ...]:
    return tree_of(
        {
            _path(call.model, call.theirs): Node(call.theirs or call.their_kind, call.their_kind or call.kind, role)
            for call, role in _gravest_last(calls, roles)
            if call.theirs is not None
        }
    )


def _gravest_last(calls: Sequence[CallEvidence], roles: Sequence[Role]) -> list[tuple[CallEvidence, Role]]:
    """Return the calls of modules, of which each is drawn once, by the gravest of its roles; a method that is not
    `forward` counts where the difference begins in it."""
    pairs = [pair for pair in zip(calls, roles, strict=True) if pair[0].model]
    found = [(call, role) for call, role in pairs if not call.function or role in ("source", "hidden")]
    return sorted(found, key=lambda pair: -GRAVITY.index(pair[1]))


def _path(model: str, module: str) -> str:
    return f"{model}.{module}" if module else model
