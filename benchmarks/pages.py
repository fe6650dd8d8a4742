"""What pages cost a class: their share of the grading, how large the class's page is, how soon a browser shows it.

python benchmarks/pages.py [COUNT] [SAMPLE]      500 submissions, of which 40 are judged, unless told; `make pages`

A sample of the corpus is judged, and what that takes counts for each submission of the class. The class is made of
copies of the sample, whose verdicts are cached by then: graded without pages and with them, the difference is what
pages take. All of it is processor time, of this process and its children, since machines are shared. Exit code 1 if a
limit is exceeded.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

from grading import ASSIGNMENT, ENDLESS, JOBS, grader_of, submit

from goldsmith.courses.grade.grade_class import GradingOptions, grade_all
from goldsmith.courses.grade.result_files import CLASS_PAGE, Pages
from goldsmith.courses.grade.submissions import SubmissionRef
from goldsmith.courses.layout.example import copy_example
from goldsmith.courses.layout.layout import Course
from goldsmith.engines.engine import Local
from goldsmith.html_report.class_page import ClassPages
from support.browser import CHROMIUM, DRIVER, HOW_TO_GET_ONE, open_browser

MAX_SHARE, MAX_CLASS_BYTES, MAX_OPENING_MS = 0.05, 3_000_000, 1000.0
_REPEATS = 3
_LOADED = "const page = performance.getEntriesByType('navigation')[0]; return page.loadEventEnd - page.startTime"


def processor_s(course: Course, items: list[SubmissionRef], output: Path, pages: Pages | None) -> float:
    """Grade these submissions, and return the processor time of it."""
    grader = grader_of(course)
    before = os.times()
    grade_all(GradingOptions(grader, items, output, Local(JOBS), pages=pages))
    return sum(os.times()[:4]) - sum(before[:4])


def opening_ms(page: Path, folder: Path) -> float:
    """Return how soon a browser has loaded the page, of several times the quickest."""
    with open_browser(folder) as browser:
        found = []
        for _ in range(_REPEATS):
            browser.open(page)
            found.append(float(browser.run(_LOADED)))
            time.sleep(0.2)
    return min(found)


def main(count: int, sample: int) -> int:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        course = copy_example(folder / "course")
        judged, _ = submit(folder / "submitted", sample, ENDLESS)
        print(f"{count} submissions to {ASSIGNMENT}, of which {sample} are judged, {JOBS} at once", flush=True)
        each = processor_s(course, judged, folder / "sample", None) / sample
        print(f"  judging and writing      {each:9.2f} s for each submission", flush=True)
        items = [SubmissionRef(f"{number:03d}", judged[number % sample].what) for number in range(count)]
        plain, pages = (
            min(processor_s(course, items, folder / name, made) for _ in range(_REPEATS))
            for name, made in (("plain", None), ("pages", ClassPages()))
        )
        share = (pages - plain) / (each * count)
        print(f"  pages                    {(pages - plain) / count * 1000:9.2f} ms for each, the class's among them")
        print(f"  share of the grading     {share:9.2%}   at most {MAX_SHARE:.0%}")
        page = folder / "pages" / CLASS_PAGE
        size = page.stat().st_size
        largest = max(path.stat().st_size for path in page.parent.glob("feedback/*.html"))
        print(f"  the class's page         {size / 1e6:9.2f} MB  at most {MAX_CLASS_BYTES / 1e6:.0f} MB")
        print(f"  the largest student's    {largest / 1e6:9.2f} MB")
        opening = 0.0
        if CHROMIUM and DRIVER:
            opening = opening_ms(page, folder / "browser")
            print(f"  a browser has loaded it  {opening:9.0f} ms  at most {MAX_OPENING_MS:.0f} ms")
        else:
            print(f"  not opened: {HOW_TO_GET_ONE}")
    return int(share > MAX_SHARE or size > MAX_CLASS_BYTES or opening > MAX_OPENING_MS)


if __name__ == "__main__":
    given = [int(text) for text in sys.argv[1:]]
    sys.exit(main(*(given + [500, 40][len(given) :])))
