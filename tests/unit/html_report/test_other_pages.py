"""Pages of `rigor` and `diff`."""

from __future__ import annotations

from goldsmith.html_report.diff_page import diff_page
from goldsmith.html_report.rigor_page import rigor_page
from support.made_pages import a_difference, a_rigor


def test_survivors_come_with_what_would_catch_them_and_who_sees_what_is_a_table() -> None:
    page = rigor_page([a_rigor()])
    assert "<h1>hw1: rigor 0.50 (1 of 2 mutants killed).</h1>" in page
    assert "What would catch it:</strong> record the gradients" in page
    assert page.count('<td class="cell agrees">1</td>') == 1
    assert "&lt;script&gt;" in page


def test_what_moves_is_a_curve_and_a_table() -> None:
    page = diff_page(a_difference())
    assert "hw1: 2 tensors changed by regenerating" in page
    assert "case: output.y (values): out of tolerance; off by 2.0e-03, 1.0e-03 is tolerated" in page
    assert "float32 (2,) → float32 (3,)" in page


def test_a_diff_of_nothing_says_so() -> None:
    assert "Nothing would be written" in diff_page(a_difference(changes=()))
