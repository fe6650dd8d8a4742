"""JUnit XML: a suite for each submission, a test case for each item of the rubric and each other case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from xml.etree import ElementTree as Xml

from goldsmith.courses.grade.grades import Grade
from goldsmith.courses.grade.redaction import one_line
from goldsmith.courses.grade.rubric import CASE, PART, Kind
from goldsmith.courses.grade.scoring import NOT_JUDGED
from goldsmith.judge.verdicts import AGREES, COULD_NOT_RUN, ERROR, PROVIDED_CHANGED

_FAULTS = ("failure", "error", "skipped")


def junit_xml(assignment: str, grades: Sequence[Grade]) -> str:
    """Render grades as JUnit XML: "differs" is a failure, "could not run" an error; not judged and withheld are
    skipped."""
    root = Xml.Element("testsuites", name=one_line(assignment))
    totals: Counter[str] = Counter()
    for grade in grades:
        suite = Xml.SubElement(root, "testsuite", name=one_line(grade.name))
        counts: Counter[str] = Counter()
        for kind, name, outcome, why, withheld in _tests(grade):
            counts["tests"] += 1
            test = Xml.SubElement(
                suite, "testcase", classname=one_line(f"{assignment}.{grade.name}"), name=one_line(f"{kind} {name}")
            )
            fault = _fault(kind, outcome, withheld)
            if fault:
                counts[fault] += 1
                Xml.SubElement(test, fault, type="withheld" if withheld else outcome, message=one_line(why))
        _count(suite, counts)
        totals += counts
    _count(root, totals)
    Xml.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{Xml.tostring(root, encoding="unicode")}\n'


def _tests(grade: Grade) -> Iterator[tuple[Kind, str, str, str, bool]]:
    for item in grade.items:
        yield item.kind, item.name, item.outcome, item.why, item.withheld
    valued = {item.name for item in grade.items if item.kind == CASE}
    for case in grade.cases:
        if case.name not in valued:
            yield CASE, case.name, case.outcome, case.why, False


def _fault(kind: Kind, outcome: str, withheld: bool) -> str:
    """Return the kind of fault, or nothing. A part that is right once provided code is restored is right; a case, as it
    was submitted, is not."""
    if withheld or outcome == NOT_JUDGED:
        return "skipped"
    if outcome in (COULD_NOT_RUN, ERROR):
        return "error"
    return "" if outcome == AGREES or (outcome == PROVIDED_CHANGED and kind == PART) else "failure"


def _count(element: Xml.Element, counts: Counter[str]) -> None:
    element.set("tests", str(counts["tests"]))
    for fault, attribute in zip(_FAULTS, ("failures", "errors", "skipped"), strict=True):
        element.set(attribute, str(counts[fault]))
