"""The guard on courses as they are: silent where nothing leaks, and every kind of leak is found in each."""

from __future__ import annotations

import subprocess
import textwrap
from dataclasses import dataclass
from pathlib import Path

import pytest

from corpora.guard_courses import COURSES
from corpora.guard_courses.course import GuardedCourse, notebook
from goldsmith.courses.guard.leaks import Guarded, leaks_in
from goldsmith.courses.guard.scan import guarded_by
from goldsmith.courses.layout.layout import find_course
from support.course import CourseOnDisk


@dataclass(frozen=True)
class Clean:
    """A course in which `init` has run, and what the guard looks for in it."""

    corpus: GuardedCourse
    course: CourseOnDisk
    guarded: Guarded


QUICK = ("notebooks only",)


@pytest.fixture(
    scope="module",
    params=[pytest.param(name, marks=[] if name in QUICK else pytest.mark.long) for name in COURSES],
)
def clean(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Clean:
    corpus = COURSES[request.param]
    course = corpus.write(tmp_path_factory.mktemp("guard") / "course")
    run = course.run("init", "--yes")
    assert run.code == 0, run.err
    return Clean(corpus, course, guarded_by(find_course(course.root), everything_public=False))


def test_nothing_is_found_in_it_even_with_what_students_handed_in(clean: Clean) -> None:
    run = clean.course.run("guard")
    assert run.code == 0, run.out
    assert clean.guarded.secrets
    clean.corpus.hand_in(clean.course)
    run = clean.course.run("guard")
    assert run.code == 0, run.out
    folder = clean.corpus.handed_in.partition("/")[0]
    assert f"{folder}/ is taken for submissions, so nothing in it was looked at" in run.err


def test_a_starter_that_somebody_hands_in_unchanged_is_none_of_the_private_files(clean: Clean) -> None:
    clean.corpus.hand_in(clean.course, "private/grades/handed in")
    clean.course.write({".goldsmith/x": "", "private/grades/ada.txt": clean.corpus.files[clean.corpus.starters[0]]})
    run = clean.course.run("guard")
    assert run.code == 0, run.out


def test_an_undeclared_folder_of_submissions_is_one_finding_with_what_to_do(clean: Clean) -> None:
    clean.corpus.hand_in(clean.course, "fall 24/final")
    run = clean.course.run("guard", "--json")
    assert run.code == 1
    (finding,) = run.json["findings"]
    assert finding["file"] == "fall 24/final"
    assert "2 submissions" in finding["why"]
    toml = clean.course.root / "goldsmith.toml"
    before = toml.read_text()
    try:
        toml.write_text(f'{before}\n[guard]\nprivate = ["fall 24"]\n')
        assert clean.course.run("guard").code == 0
    finally:
        toml.write_text(before)
        subprocess.run(["rm", "-r", clean.course.root / "fall 24"], check=True)


def test_in_a_handout_every_leak_is_told_even_if_there_are_several_versions(clean: Clean, tmp_path: Path) -> None:
    handout = CourseOnDisk(tmp_path / "handout")
    for name in ("v1", "v2"):
        handout.write({f"old/{name}/{clean.corpus.starters[0]}": _solution(clean)})
    run = clean.course.run("guard", str(handout.root))
    assert run.code == 1
    assert f"old/v1/{clean.corpus.starters[0]}" in run.out
    assert f"old/v2/{clean.corpus.starters[0]}" in run.out


def _solution(clean: Clean) -> str:
    return clean.corpus.solution_of(clean.corpus.starters[0]) or ""


def test_its_hook_lets_a_commit_through_and_stops_a_leak(clean: Clean) -> None:
    course = clean.course
    course.write({"notes/next.md": "More next week.\n"})
    course.git("add", "--all")
    course.git("commit", "--quiet", "-m", "all that is there")
    course.write({"notes/hint.py": clean.corpus.answers[0] if "def " in clean.corpus.answers[0] else _whole(clean)})
    course.git("add", "--all")
    with pytest.raises(subprocess.CalledProcessError):
        course.git("commit", "--quiet", "-m", "a leak")
    course.git("reset", "--quiet", "--hard")


def _whole(clean: Clean) -> str:
    """Some solution of the course as it is, which has a part that students write."""
    answered = (clean.corpus.solution_of(name) for name in clean.corpus.starters if name.endswith(".py"))
    return next(text for text in answered if text is not None)


WAYS = {
    "a file of helpers": ("src/helpers.py", "import numpy as np\nimport torch\n\n\n{}\n"),
    "a notebook": ("lectures/week 1.ipynb", ""),
    "Markdown": ("docs/hints.md", "# Hints\n\n```python\n{}\n```\n"),
    "a comment": ("src/extra.py", "x = 1\n{commented}\n"),
    "a string": ("src/extra.py", 'HINT = """\n{}\n"""\n'),
    "HTML": ("docs/hints.html", "<html><pre><code>{html}</code></pre></html>"),
    "a patch": ("fix.patch", "--- a/x.py\n+++ b/x.py\n@@ -1,3 +1,20 @@\n{added}\n"),
}


@pytest.mark.parametrize("way", WAYS)
def test_each_answer_is_found_wherever_it_leaks(clean: Clean, way: str) -> None:
    file, form = WAYS[way]
    for answer in clean.corpus.answers:
        body = textwrap.dedent(answer).strip("\n")
        function = (
            body
            if body.startswith(("def ", "import "))
            else "def given(self, *items):\n" + textwrap.indent(body, "    ")
        )
        text = form.format(
            function,
            commented="\n".join(f"# {line}" for line in function.splitlines()),
            html=function.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"),
            added="\n".join(f"+{line}" for line in function.splitlines()),
        )
        found = list(leaks_in(file, (text or notebook(function)).encode(), clean.guarded))
        assert [item for item in found if item.kind == "solution"], function


def test_a_solution_in_the_starter_s_place_is_found_also_once_it_is_committed(clean: Clean) -> None:
    course, files = clean.course, clean.corpus.files
    answered = [name for name in clean.corpus.starters if clean.corpus.solution_of(name)]
    assert answered
    for name in answered:
        try:
            course.write({name: clean.corpus.solution_of(name) or ""})
            course.git("add", name)
            assert name in course.run("guard").out, name
            course.git("commit", "--quiet", "--no-verify", "-m", "oops")
            assert name in course.run("guard").out, name
        finally:
            course.write({name: files[name]})
            course.git("commit", "--quiet", "--no-verify", "--all", "-m", "back")
    assert course.run("guard").code == 0
