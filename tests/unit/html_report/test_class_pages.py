"""Pages of a class: everybody in one table, nothing of gold's for students, small for five hundred."""

from __future__ import annotations

import re

import pytest

from goldsmith.courses.grade.grades import Grade, grade
from goldsmith.courses.grade.overview import overview_of
from goldsmith.courses.grade.result_files import file_names
from goldsmith.html_report.class_page import ClassPages
from support.made_pages import HOSTILE, author_page
from support.made_verdicts import case, rubric, verdict, wrong_at

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


def test_everybody_is_in_the_table_with_a_link_and_a_symbol_for_each_part() -> None:
    grades = grades_of(3)
    page = class_page(grades)
    assert page.count("<tr data-name=") == 3
    assert re.findall(r'<th scope="row"><a href="(.*?)"', page) == [
        f"feedback/{stem}.html" for stem in file_names([item.name for item in grades])
    ]
    assert page.partition('class="heat')[2].count('class="cell ') == 3 * len(grades[0].parts)
    assert "3 submissions" in page
    assert "<b>" not in page.partition("<main")[2].replace("</b>", "")


def test_each_cell_leads_to_its_row_in_the_submission_s_page() -> None:
    grades = grades_of(2)
    page = class_page(grades)
    links = re.findall(r'<td class="cell [^>]*><a href="(.*?)\.html#(.*?)">', page)
    assert len(links) == 2 * len(grades[0].parts)
    own = author_page(wrong_at("blocks.0.norm", "RMSNorm"))
    for _, place in links:
        assert f'<tr id="{place}">' in own


def test_everybody_who_shares_a_mistake_is_named_with_a_link() -> None:
    page = class_page(grades_of(40))
    rows = page.partition("Mistakes, and who shares them")[2].partition("</table>")[0].split("<tr>")[2:]
    assert ">26</td>" in rows[0]
    assert rows[0].count('<a href="feedback/') == 26
    assert "RMSNorm goes wrong first" in rows[0]


def test_the_page_of_five_hundred_stays_small() -> None:
    assert len(class_page(grades_of(500)).encode()) < CLASS_LIMIT_BYTES


def test_the_next_step_has_code_where_markdown_has_it_and_no_marks() -> None:
    page = author_page(wrong_at("blocks_0.norm", "RMSNorm <i>"))
    step = page.partition('<p class="next">')[2].partition("</p>")[0]
    assert "Look at <code>blocks_0.norm</code> (<code>RMSNorm &lt;i&gt;</code>) first: " in step
    assert "`" not in step
    assert "\\" not in step


@pytest.mark.parametrize("count", [0, 1])
def test_classes_of_nobody_and_of_one_have_a_page(count: int) -> None:
    assert f"{count} submissions" in class_page(grades_of(count))
