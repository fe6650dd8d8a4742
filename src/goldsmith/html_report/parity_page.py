"""The page about two models that were compared."""

from __future__ import annotations

from goldsmith.html_report.call_lane import shown_first
from goldsmith.html_report.case_view import leaf_lane, leaf_lines, tensor_view, within_budget
from goldsmith.html_report.module_tree import tree_of
from goldsmith.html_report.training_lane import training_lane
from goldsmith.html_report.view import Case, Lane, Node, Point, Report, Role
from goldsmith.judge import words as verdict_words
from goldsmith.judge.evidence import CallEvidence, Evidence
from goldsmith.judge.verdicts import AGREES, DIFFERS
from goldsmith.model_parity import words
from goldsmith.model_parity.reference_words import outcome_words, reference_tables
from goldsmith.model_parity.result import ParityReport
from goldsmith.model_parity.result import Role as ParityRole
from goldsmith.weights.rule_lines import adapter_text

_ROWS = 100
_BAND = "the noise of the reference, measured for each"


def parity_report(report: ParityReport, evidence: Evidence) -> Report:
    """Return the page of a parity."""
    cases = []
    for case, why in verdict_words.rows(report.cases):
        calls = evidence.calls.get(case.name, ())
        lines = verdict_words.source_lines(case, gold=words.REFERENCE) if case.outcome != AGREES else []
        lines += leaf_lines(case, gold=words.REFERENCE)
        noise = evidence.noise.get(case.name, {})
        lanes = [_modules(report, {call.module: call for call in calls}) if calls else None, leaf_lane(case, noise)]
        lanes.append(training_lane(case, (), (), noise))
        cases.append(
            Case(
                name=case.name,
                title="",
                outcome=case.outcome,
                judged_in=case.judged_in,
                why=why,
                lines=tuple(line for line in lines if not why.startswith(line)),
                lanes=shown_first(lanes),
                ours=_tree(report, theirs=False) if calls else (),
                theirs=_tree(report, theirs=True) if calls else (),
                tensors=tuple(tensor_view(case, item) for item in evidence.tensors.get(case.name, ())),
            )
        )
    first = next((case for case in report.cases if case.outcome == DIFFERS), None)
    facts = [("reference", report.reference), ("candidate", report.name)]
    facts += [("built with", line) for line in words.built_with_lines(report)]
    if first is not None:
        facts.append(("decided in", first.judged_in))
    if report.first_divergence:
        facts += [("first wrong", f"{report.first_name} ({report.first_kind})"), ("of", report.first_divergence)]
    return Report(
        title=f"{report.name} and {report.reference}",
        outcome=report.outcome,
        outcome_words=outcome_words(report.outcome),
        headline=verdict_words.ended(f"{report.name}: {words.headline(report)}"),
        facts=tuple(facts),
        differences=(),
        cases=within_budget(cases),
        adapter_lines=tuple(adapter_text(report.adapter_lines).splitlines()) if words.adapter_advice(report) else (),
        notes=report.notes,
        tables=tuple(reference_tables(report, most=_ROWS)),
        next_step=words.next_step(report) or "",
        gold=words.REFERENCE,
        for_staff=False,
    )


def _modules(report: ParityReport, calls: dict[str, CallEvidence]) -> Lane:
    points = []
    for item in report.modules:
        call = calls.get(item.name)
        noise, limit = (call.noise, call.limit) if call else (None, None)
        name, role, why = item.name or item.kind, _role(item.role), call.not_comparable if call else ""
        error = item.relative
        if role == "source" and error is not None and limit is not None and error <= limit:
            role, error, why = "hidden", None, "what it returns is right"
        points.append(Point(name, item.kind, role, error, noise, item.why, limit, why))
    return Lane("Modules", "in the order in which they ended", _BAND, tuple(points), "what counts as the same")


def _tree(report: ParityReport, *, theirs: bool) -> tuple[Node, ...]:
    model = "model"
    named = {}
    for item in report.modules:
        name, kind = (item.theirs, item.their_kind) if theirs else (item.name, item.kind)
        if theirs and item.role == "unpaired":
            continue
        named[f"{model}.{name}" if name else model] = Node(name or kind, kind, _role(item.role))
    return tree_of(named)


def _role(role: ParityRole) -> Role:
    known: tuple[Role, ...] = ("source", "victim", "holds", "unpaired", "unknown")
    return next((item for item in known if item == role), "right")
