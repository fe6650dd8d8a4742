"""Pages of a class: everybody in one table, nothing of gold's for students, small for five hundred."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser

import pytest

from goldsmith.grade.grades import Grade, grade
from goldsmith.grade.overview import overview_of
from goldsmith.grade.result_files import file_names, submission_json
from goldsmith.html_report.class_page import ClassPages
from support.made_pages import HOSTILE
from support.made_verdicts import case, leaf, rubric, verdict, wrong_at

CLASS_LIMIT_BYTES = 3_000_000


def grades_of(count: int) -> list[Grade]:
    made = [
        verdict(case("whole"), case("norm"), name=HOSTILE),
        wrong_at("blocks.0.norm", "RMSNorm", name="ben"),
        wrong_at("blocks.0.norm", "RMSNorm", name="chi <b>"),
    ]
    return [
        grade(made[number % len(made)], rubric(), name=f"{made[number % 3].name}-{number}") for number in range(count)
    ]


def class_page(grades: list[Grade]) -> str:
    return ClassPages().of_class(grades, file_names([item.name for item in grades]), overview_of("hw1", grades))


class Words(HTMLParser):
    """The text of a page, without its style and script."""

    def __init__(self) -> None:
        super().__init__()
        self.text = ""
        self._inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside = tag
        self.text += " ".join(f" {value}" for name, value in attrs if name in ("title", "aria-label", "data-value"))

    def handle_data(self, data: str) -> None:
        if self._inside not in ("style", "script", "title"):
            self.text += f" {data}"


def test_everybody_is_in_the_table_with_a_link_and_a_symbol_for_each_part() -> None:
    grades = grades_of(3)
    page = class_page(grades)
    assert page.count("<tr data-name=") == 3
    assert page.count('href="feedback/') == 3
    assert page.count('class="cell ') == 3 * len(grades[0].parts)
    assert "3 submissions" in page
    assert "<b>" not in page.partition("<main")[2].replace("</b>", "")


def test_the_page_of_five_hundred_stays_small() -> None:
    assert len(class_page(grades_of(500)).encode()) < CLASS_LIMIT_BYTES


def test_an_author_s_page_holds_no_number_that_the_author_s_json_does_not() -> None:
    secret = leaf(path="output", largest_gap=0.123456, actual=7.7777, gold=8.8888, relative=0.25, excess=1234.5)
    made = verdict(case("whole", "differs", leaves=(secret,), natural=(secret,), kind="values"), name="ben")
    graded = grade(made, rubric(), name="ben")
    reader = Words()
    reader.feed(ClassPages().of_submission(graded))
    told = set(re.findall(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?", submission_json(graded).decode()))
    shown = set(re.findall(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?", html.unescape(reader.text).replace("0.2.0", "")))
    assert shown <= told | {str(int(float(item))) for item in told}
    for number in ("8.8888", "7.7777", "0.123456", "1234"):
        assert number not in reader.text


def test_the_next_step_has_code_where_markdown_has_it_and_no_marks() -> None:
    page = ClassPages().of_submission(grade(wrong_at("blocks_0.norm", "RMSNorm <i>"), rubric(), name="ben"))
    step = page.partition('<p class="next">')[2].partition("</p>")[0]
    assert "Look at <code>blocks_0.norm</code> (<code>RMSNorm &lt;i&gt;</code>) first: " in step
    assert "`" not in step
    assert "\\" not in step


@pytest.mark.parametrize("count", [0, 1])
def test_classes_of_nobody_and_of_one_have_a_page(count: int) -> None:
    assert f"{count} submissions" in class_page(grades_of(count))
