"""Pages in a real browser: nothing is fetched, nothing complains, sliders and filters work, everybody can use them."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest

from goldsmith.courses.grade.grades import grade
from goldsmith.courses.grade.overview import overview_of
from goldsmith.courses.grade.result_files import file_names
from goldsmith.html_report.class_page import ClassPages
from goldsmith.html_report.diff_page import diff_page
from goldsmith.html_report.page import render_report
from goldsmith.html_report.rigor_page import rigor_page
from goldsmith.html_report.verdict_page import verdict_report
from support.browser import CHROMIUM, DRIVER, HOW_TO_GET_ONE, Browser
from support.made_pages import HOSTILE, a_difference, a_rigor, a_verdict, an_environment, author_page, evidence_of
from support.made_verdicts import rubric, wrong_at

pytestmark = [
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason=HOW_TO_GET_ONE),
    pytest.mark.xdist_group("browser"),
]
PHONE, DESKTOP = 390, (1200, 900)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    verdict = a_verdict(HOSTILE, wrong=2)
    file = tmp_path_factory.mktemp("page") / "a page.html"
    file.write_text(render_report(verdict_report(verdict, evidence_of(verdict), an_environment())))
    return file


@pytest.fixture(scope="module", params=["light", "dark"])
def browser(request: pytest.FixtureRequest, chromium: Browser, page: Path) -> Browser:
    chromium.emulate(dark=request.param == "dark")
    chromium.resize(*DESKTOP)
    chromium.open(page)
    assert chromium.run("return matchMedia('(prefers-color-scheme: dark)').matches") == (request.param == "dark")
    return chromium


@pytest.fixture
def plain_browser(chromium: Browser, page: Path) -> Iterator[Browser]:
    chromium.emulate(scripts=False)
    chromium.open(page)
    yield chromium
    chromium.emulate()


def axe() -> str:
    spec = importlib.util.find_spec("axe_core_python")
    assert spec is not None
    assert spec.origin
    return Path(spec.origin).with_name("axe.min.js").read_text()


def faults(browser: Browser) -> list[str]:
    """Return what axe-core finds that keeps people from using a page."""
    browser.run(axe())
    found = browser.run_async("axe.run().then(arguments[arguments.length - 1])")
    grave = [item for item in found["violations"] if item["impact"] in ("serious", "critical")]
    return [f"{item['id']}: {node['html'][:200]}" for item in grave for node in item["nodes"]]


def test_nothing_is_fetched_nothing_complains_and_hostile_names_are_text(browser: Browser) -> None:
    assert browser.complaints() == []
    assert browser.run("return performance.getEntriesByType('resource').map(item => item.name)") == []
    assert browser.run("return document.title").startswith("</title></style><script>")
    assert browser.run("return document.querySelectorAll('img, iframe').length") == 0


def test_everybody_can_use_it(browser: Browser) -> None:
    assert faults(browser) == []


def test_it_fits_a_phone(browser: Browser) -> None:
    browser.resize(PHONE, 800)
    assert browser.run("return document.documentElement.scrollWidth") <= browser.run("return innerWidth")
    assert faults(browser) == []


def test_the_slider_shows_another_slice(browser: Browser) -> None:
    def shown() -> list[str]:
        return [
            browser.run("return document.querySelector('.slice output').textContent"),
            browser.run("return document.querySelector('.window').style.backgroundPosition"),
        ]

    before = shown()
    browser.run(
        "const slider = document.querySelector('.slice input'); slider.value = slider.value == 2 ? 0 : 2;"
        "slider.dispatchEvent(new Event('input'))"
    )
    assert all(one != two for one, two in zip(before, shown(), strict=True))


def test_the_filter_leaves_cases_that_contain_the_word(browser: Browser) -> None:
    def search(word: str) -> list[str]:
        browser.run(
            "const filter = document.getElementById('filter'); filter.value = arguments[0];"
            "filter.dispatchEvent(new Event('input'))",
            word,
        )
        return browser.run(
            "return [...document.querySelectorAll('.case')].filter(s => !s.hidden).map(s => s.dataset.name)"
        )

    assert search("RIGHT") == ["right"]
    assert search("g_1") == ["wrong_1"]
    assert search("") == ["wrong", "wrong_1", "right"]


def test_a_mark_says_what_it_is_when_it_has_the_focus(browser: Browser) -> None:
    browser.run("document.querySelector('.curve .mark.source').dispatchEvent(new Event('focus'))")
    assert "the difference begins here" in browser.run("return document.querySelector('.tip').textContent")


def test_the_class_can_be_sorted_and_filtered_and_everybody_can_use_all_other_pages(
    browser: Browser, page: Path
) -> None:
    grades = [grade(wrong_at("norm", "RMSNorm", name=name), rubric(), name=name) for name in ("ben", "ada", HOSTILE)]
    stems = file_names([item.name for item in grades])
    file = page.with_name("class.html")
    file.write_text(ClassPages().of_class(grades, stems, overview_of("hw1", grades)))
    other = page.with_name("other.html")
    names = (
        "return [...document.querySelectorAll('.heat tbody tr')].filter(row => !row.hidden)"
        ".map(row => row.dataset.name)"
    )
    try:
        browser.open(file)
        browser.run("document.querySelector('.sortable th button').click()")
        assert browser.run(names)[-2:] == ["ada", "ben"]
        browser.run(
            "const filter = document.getElementById('filter'); filter.value = 'AD';"
            "filter.dispatchEvent(new Event('input'))"
        )
        assert browser.run(names) == ["ada"]
        assert faults(browser) == []
        for text in (author_page(a_verdict(HOSTILE)), rigor_page([a_rigor()]), diff_page(a_difference())):
            other.write_text(text)
            browser.open(other)
            browser.resize(PHONE, 800)
            assert browser.run("return document.documentElement.scrollWidth") <= browser.run("return innerWidth")
            assert faults(browser) == []
        assert browser.complaints() == []
    finally:
        browser.open(page)


def test_without_scripts_everything_can_be_read_and_nothing_is_offered_that_does_nothing(
    plain_browser: Browser,
) -> None:
    visible = "return [...document.querySelectorAll(arguments[0])].filter(item => item.checkVisibility()).length"
    assert plain_browser.run(visible, ".needs-script") == 0
    assert plain_browser.run(visible, ".window") == 3
    assert plain_browser.run(visible, ".curve") >= 1
    assert plain_browser.run("return document.querySelectorAll('.tip').length") == 0
