"""Whatever submissions are called, hold and say is text on a page: the attack corpus rendered, in a real browser, too.

None of it is run here: its files are read and shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest

from goldsmith.courses.grade.grades import Grade, grade
from goldsmith.courses.grade.overview import overview_of
from goldsmith.courses.grade.result_files import file_names
from goldsmith.generate.gold_difference import GoldDifference
from goldsmith.gold.diff import TensorChange
from goldsmith.html_report.class_page import ClassPages
from goldsmith.html_report.diff_page import diff_page
from goldsmith.html_report.page import render_report
from goldsmith.html_report.rigor_page import rigor_page
from goldsmith.html_report.verdict_page import verdict_report
from goldsmith.judge.verdicts import COULD_NOT_RUN, CaseVerdict, Verdict
from goldsmith.mutants.results import Rigor
from goldsmith.runs.run import Failure, Frame
from support.browser import CHROMIUM, DRIVER, HOW_TO_GET_ONE, Browser
from support.made_pages import HOSTILE, a_rigor, a_verdict, an_environment, author_page, evidence_of
from support.made_verdicts import rubric, wrong_at

pytestmark = pytest.mark.xdist_group("browser")
CORPUS = Path(__file__).parents[2] / "corpora/hostile"
CODE = {path.stem: path.read_text(encoding="utf-8", errors="replace") for path in sorted(CORPUS.rglob("*.py"))}
RUN = "document.title='ran';window.ran=1;alert(1)"
NAMES = (
    HOSTILE,
    f"<script>{RUN}</script>",
    f"</script><script>{RUN}</script>",
    f"<svg/onload={RUN}>",
    f'" onmouseover="{RUN}" autofocus onfocus="{RUN}',
    f"' onfocus='{RUN}' tabindex='0",
    f"javascript:{RUN}",
    "<iframe srcdoc='<script>parent.ran=1</script>'>",
    "<link rel=stylesheet href=//evil.invalid/a.css>",
    "<meta http-equiv=refresh content='0;url=//evil.invalid'>",
    "<base href=//evil.invalid/>",
    "--><!-- <![CDATA[ ]]>",
    "{{ 7 * 7 }} {% raw %} {# #}",
    "&lt;script&gt; &amp;quot; &#x3c;b&#x3e;",
    "</textarea></style></title><plaintext>",
    "\u2028\u2029\u202egnp.\u0000\ufffe \x1b[31m",
    "../../../etc/passwd",
    "@import 'http://evil.invalid'; background:url(//evil.invalid/x)",
)


class Skeleton(HTMLParser):
    """The elements of a page and the names of their attributes, without any text."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, tuple[str, ...]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, tuple(name for name, _ in attrs)))


def skeleton(page: str) -> list[tuple[str, tuple[str, ...]]]:
    reader = Skeleton()
    reader.feed(page)
    return reader.found


def harmless(text: str) -> str:
    """The same lines, of letters and digits; lines that differ still do."""
    return re.sub(r"[^\s\w]", lambda found: f"q{ord(found[0]):x}", text)


def failing(name: str, *codes: str) -> Verdict:
    """A submission of this name with a case for each piece of code, whose every line is in its traceback and notes."""
    cases = [
        CaseVerdict(
            name=f"{name}-{number}",
            title=code[:80],
            outcome=COULD_NOT_RUN,
            kind="raised",
            reason=f"{number} {code[:300]}",
            failure=Failure(kind="raised", message=code[:300], frames=tuple(frames_of(name, code))),
            notes=tuple(code.splitlines()),
        )
        for number, code in enumerate(codes)
    ]
    return Verdict(
        name=name,
        assignment=name,
        outcome=COULD_NOT_RUN,
        first_divergence=name,
        first_part=name,
        first_name=name,
        first_place="model.py:1",
        first_case=cases[0].name,
        cases=tuple(cases),
        provided=(name,),
        notes=codes,
    )


def frames_of(name: str, code: str) -> Iterator[Frame]:
    for number, text in enumerate(code.splitlines(), start=1):
        yield Frame(file=f"{name}.py", line=number, function=name, text=text)


def staff_page(name: str, *codes: str) -> str:
    verdict = failing(name, *codes)
    evidence = evidence_of(verdict)
    evidence.files = {"model.py": codes[0].encode("utf-8", "replace")}
    return render_report(verdict_report(verdict, evidence, an_environment()))


def hostile_class(names: list[str]) -> list[Grade]:
    return [grade(wrong_at(name, name, name=name), rubric(), name=name) for name in names]


def class_page(grades: list[Grade]) -> str:
    return ClassPages().of_class(grades, file_names([item.name for item in grades]), overview_of(HOSTILE, grades))


def test_code_of_the_attack_corpus_adds_no_element_to_a_page() -> None:
    codes, plain = list(CODE.values()), [harmless(code) for code in CODE.values()]
    assert skeleton(staff_page("x", *codes)) == skeleton(staff_page("x", *plain))
    assert skeleton(author_page(failing("x", *codes))) == skeleton(author_page(failing("x", *plain)))


@pytest.mark.parametrize("name", NAMES)
def test_a_name_adds_no_element_to_a_page(name: str) -> None:
    plain = harmless(name)
    assert skeleton(staff_page(name, name)) == skeleton(staff_page(plain, plain))
    assert skeleton(author_page(failing(name, name))) == skeleton(author_page(failing(plain, plain)))
    assert skeleton(author_page(a_verdict(name))) == skeleton(author_page(a_verdict(plain)))


@pytest.mark.skipif(not (CHROMIUM and DRIVER), reason=HOW_TO_GET_ONE)
def test_in_a_browser_nothing_of_it_runs_and_nothing_is_asked_for(tmp_path: Path, chromium: Browser) -> None:
    everything = ("\n".join(NAMES), *CODE.values())
    changes = tuple(TensorChange(case=name, path=name, change="shape", before=name, after=name) for name in NAMES)
    facts = a_rigor().findings[1]
    findings = tuple(
        msgspec.structs.replace(facts, name=name, before=name, after=name, reason=name, advice=name, part=name)
        for name in NAMES
    )
    pages = {
        "staff": staff_page(HOSTILE, *everything),
        "author": author_page(failing(HOSTILE, *everything)),
        "class": class_page(hostile_class([*NAMES, *CODE])),
        "rigor": rigor_page([Rigor(assignment=HOSTILE, made=len(findings), findings=findings)]),
        "diff": diff_page(GoldDifference(name=HOSTILE, outcome="stale", changes=changes, notes=NAMES)),
    }
    chromium.emulate()
    for name, page in pages.items():
        file = tmp_path / f"{name}.html"
        file.write_text(page, encoding="utf-8", errors="replace")
        chromium.open(file)
        chromium.run("for (const item of document.querySelectorAll('details')) item.open = true")
        chromium.run(
            "for (const item of [...document.querySelectorAll('a, button, input, [tabindex]')].slice(0, 200))"
            "{ item.focus(); item.dispatchEvent(new MouseEvent('mouseover', { bubbles: true })); }"
        )
        assert chromium.run("return [typeof window.ran, document.title === 'ran']") == ["undefined", False], name
        assert chromium.run("return performance.getEntriesByType('resource').map(item => item.name)") == [], name
        assert chromium.run("return document.querySelectorAll('img, iframe, link, base').length") == 0, name
        assert chromium.run("return document.scripts.length") == 1, name
        assert chromium.run("return location.pathname").endswith(f"{name}.html"), name
        schemes = chromium.run("return [...new Set([...document.links].map(item => item.protocol))]")
        assert set(schemes) <= {"file:"}, name
        assert chromium.complaints() == [], name
