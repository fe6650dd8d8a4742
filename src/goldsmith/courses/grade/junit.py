"""JUnit XML: a suite for each submission, a test case for each item of the rubric and each other case; and the same of
anything that has names and outcomes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple
from xml.etree import ElementTree as Xml

from goldsmith.courses.grade.grades import Grade
from goldsmith.courses.grade.redaction import one_line
from goldsmith.courses.grade.rubric import CASE, PART, Kind
from goldsmith.courses.grade.scoring import NOT_JUDGED
from goldsmith.judge.verdicts import AGREES, COULD_NOT_RUN, ERROR, INCONCLUSIVE, PROVIDED_CHANGED

Fault = Literal["", "failure", "error", "skipped"]

_FAULTS: tuple[Fault, ...] = ("failure", "error", "skipped")
_GOOD = (AGREES, "crashed", "equivalent", "fresh", "killed", "note", "ok", "passed", "published", "unchanged")


class Test(NamedTuple):
    name: str
    outcome: str
    why: str
    fault: Fault


def junit_xml(assignment: str, grades: Sequence[Grade]) -> str:
    """Render grades as JUnit XML: "differs" is a failure, "could not run" an error; inconclusive, not judged
    and withheld are skipped."""
    suites = [(grade.name, f"{assignment}.{grade.name}", _tests(grade)) for grade in grades]
    return suites_xml(assignment, suites)


def suites_xml(title: str, suites: Iterable[tuple[str, str, Iterable[Test]]]) -> str:
    """Render suites, each with its name, the class name of its tests, and these."""
    root = Xml.Element("testsuites", name=one_line(title))
    totals: Counter[str] = Counter()
    for name, class_name, tests in suites:
        suite = Xml.SubElement(root, "testsuite", name=one_line(name))
        counts: Counter[str] = Counter()
        for item in tests:
            counts["tests"] += 1
            test = Xml.SubElement(suite, "testcase", classname=one_line(class_name), name=one_line(item.name))
            if item.fault:
                counts[item.fault] += 1
                Xml.SubElement(test, item.fault, type=item.outcome, message=one_line(item.why))
        _count(suite, counts)
        totals += counts
    _count(root, totals)
    Xml.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{Xml.tostring(root, encoding="unicode")}\n'


def test_of(name: str, outcome: str, why: str) -> Test:
    """Return the test of anything that has an outcome."""
    faults: dict[str, Fault] = {COULD_NOT_RUN: "error", ERROR: "error", "refused": "error", INCONCLUSIVE: "skipped"}
    return Test(name, outcome, why, "" if outcome in _GOOD else faults.get(outcome, "failure"))


def _tests(grade: Grade) -> Iterator[Test]:
    for item in grade.items:
        fault = _fault(item.kind, item.outcome, item.withheld)
        yield Test(f"{item.kind} {item.name}", "withheld" if item.withheld else item.outcome, item.why, fault)
    valued = {item.name for item in grade.items if item.kind == CASE}
    for case in grade.cases:
        if case.name not in valued:
            yield Test(f"{CASE} {case.name}", case.outcome, case.why, _fault(CASE, case.outcome, False))


def _fault(kind: Kind, outcome: str, withheld: bool) -> Fault:
    """Return the kind of fault, or nothing. A part that is right once provided code is restored is right; a case, as it
    was submitted, is not."""
    if withheld or outcome in (INCONCLUSIVE, NOT_JUDGED):
        return "skipped"
    if outcome in (COULD_NOT_RUN, ERROR):
        return "error"
    return "" if outcome == AGREES or (outcome == PROVIDED_CHANGED and kind == PART) else "failure"


def _count(element: Xml.Element, counts: Counter[str]) -> None:
    element.set("tests", str(counts["tests"]))
    for fault, attribute in zip(_FAULTS, ("failures", "errors", "skipped"), strict=True):
        element.set(attribute, str(counts[fault]))
