"""Nothing leads nowhere: every next step that goldsmith prints is run, as it stands, where it was printed."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import goldsmith
from corpora.course_shapes import basics
from goldsmith.help_topics import TOPICS, topic_text
from goldsmith.judge import words
from goldsmith.judge.verdicts import CaseVerdict, Verdict
from support.course import RECIPE, RECIPE_FILE, SOLUTION, STARTER, CourseOnDisk, recipe

PLACES = {
    "render/overview.py": 1,
    "render/rulers.py": 1,
    "render/scaffold.py": 3,
    "render/status.py": 1,
    "render/summary.py": 1,
    "render/verdict.py": 1,
}
"""Where next steps are printed, and how often. A new one needs a test that runs it, below or, of a ruler, in
`test_calibrate.py`."""


def test_every_place_that_prints_a_next_step_is_known_here() -> None:
    package = Path(goldsmith.__file__).parent
    found = {
        path.relative_to(package).as_posix(): len(re.findall(r"Next(?: steps)?:", path.read_text()))
        for path in sorted(package.rglob("*.py"))
        if "templates" not in path.parts
    }
    assert {name: count for name, count in found.items() if count} == PLACES


def step_in(output: str) -> str:
    return re.findall(r"^Next: (.+)$", output, re.M)[-1]


def follow(course: CourseOnDisk, step: str, *, codes: tuple[int, ...] = (0,)) -> str:
    """Run a next step as a person would."""
    words_ = shlex.split(step)
    assert words_[0] == "goldsmith", step
    run = course.run(*words_[1:])
    assert run.code in codes, f"{step}\n{run.out}{run.err}"
    return run.out


def test_from_nothing_each_step_leads_to_the_next(tmp_path: Path) -> None:
    course = CourseOnDisk(tmp_path / "course")
    course.root.mkdir()
    first = step_in(course.run("init", "--yes").out)
    assert first == "goldsmith new NAME"
    made = course.run(*shlex.split(first.replace("NAME", "hw1"))[1:], "--kind", "numpy", "--yes")
    assert made.code == 0, made.err
    assert course.run("status").out.rstrip().splitlines()[-1] == step_in(made.out).join(["Next: ", ""])
    summary = follow(course, step_in(made.out))
    steps = re.findall(r"^  \d\. .*?  +(cat .*|goldsmith.*)$", summary, re.M)
    assert len(steps) == 3, summary
    assert subprocess.run(shlex.split(steps[0]), cwd=course.root, capture_output=True).returncode == 0
    code = f"import goldsmith; assert len({steps[1]})"
    assert subprocess.run([sys.executable, "-c", code], cwd=course.root).returncode == 0
    follow(course, steps[2])


def test_without_internal_tests_the_gold_is_measured_instead(course: CourseOnDisk) -> None:
    steps = course.run("generate", "hw1", "--json").json["assignments"][0]["next"]
    assert steps[-1] == "goldsmith rigor hw1"
    follow(course, steps[-1], codes=(0, 1))


def test_after_the_bundled_course_is_copied(tmp_path: Path) -> None:
    course = CourseOnDisk(tmp_path)
    step = step_in(course.run("init", "--example", "mine").out)
    assert step == "cd mine && goldsmith generate all"
    names = [item["name"] for item in course.run("status", "--json", cwd=tmp_path / "mine").json["assignments"]]
    assert names == ["scratch-1", "scratch-2", "scratch-3"]
    assert course.run("generate", "nothing-of-this-name", cwd=tmp_path / "mine").code == 2


def test_init_in_a_course_leads_to_its_status(course: CourseOnDisk) -> None:
    step = step_in(course.run("init", "--yes").out)
    assert step == "goldsmith status"
    then = step_in(follow(course, step))
    assert then == "goldsmith generate hw1"
    follow(course, then)


def test_status_proposes_a_recipe_where_there_is_a_solution_and_asks_for_one_where_there_is_none(
    course: CourseOnDisk,
) -> None:
    course.write({"src/assignments/hw2/more.py": STARTER})
    (course.root / RECIPE_FILE).unlink()
    run = course.run("status")
    assert step_in(run.out) == "goldsmith generate hw1 --kind outputs"
    course.write({RECIPE_FILE: RECIPE})
    course.run("generate", "hw1")
    run = course.run("status")
    assert "Next:" not in run.out
    assert "hw2 has no solution yet" in run.out
    assert "private/solutions/hw2/" in run.out
    course.write({"private/solutions/hw2/more_solution.py": SOLUTION})
    assert step_in(course.run("status").out) == "goldsmith generate hw2 --kind outputs"


def test_without_a_command_each_state_leads_to_commands_that_run(course: CourseOnDisk) -> None:
    def proposed() -> list[str]:
        shown = course.run().out.partition("Next:\n")[2]
        return [line.strip().partition("  ")[0] for line in shown.splitlines()]

    make, help_ = proposed()
    assert (make, help_) == ("goldsmith generate hw1", "goldsmith --help")
    follow(course, make)
    for step in proposed():
        follow(course, step.replace("PATH", "private/solutions/hw1"), codes=(0, 1))
    course.run("inject", "hw1")
    steps = proposed()
    assert steps[0] == "goldsmith reset hw1"
    for step in reversed(steps):
        follow(course, step)
    (course.root / "private/solutions/hw1/ops_solution.py").open("a").write("# more\n")
    assert proposed()[:2] == ["goldsmith generate hw1", "goldsmith diff hw1"]
    for step in reversed(proposed()):
        follow(course, step, codes=(0, 1))


def test_status_leads_out_of_an_injection(course: CourseOnDisk) -> None:
    course.run("inject", "hw1")
    step = step_in(course.run("status").out)
    assert step == "goldsmith reset hw1"
    follow(course, step)


def test_check_proposes_one_case_of_several_and_never_the_only_one(course: CourseOnDisk, tmp_path: Path) -> None:
    wrong = tmp_path / "a student" / "ops.py"
    course.with_gold()
    CourseOnDisk(wrong.parent).write({"ops.py": "def scale(x):\n    return x * 3.0\n"})
    alone = course.run("check", "hw1", str(wrong))
    assert alone.code == 1
    assert "Next:" not in alone.out
    two = """
        @gs.case
        def gold_output(case):
            case.record("y", scale(case.input("x", lambda: np.random.randn(3, 5))))

        @gs.case
        def row(case):
            case.record("y", scale(case.input("x", lambda: np.arange(4.0))))
    """
    course.write({RECIPE_FILE: recipe(two)})
    assert course.run("generate", "hw1").code == 0
    step = step_in(course.run("check", "hw1", str(wrong)).out)
    assert "--case" in step
    assert "Next:" not in follow(course, step, codes=(1,))


@pytest.mark.parametrize("kind", ["weights", "error"])
def test_what_is_said_in_a_sentence_names_what_is_there(kind: str) -> None:
    outcome = "could-not-run" if kind == "weights" else "error"
    case = CaseVerdict(name="one", title="", outcome=outcome, kind=kind)
    step = words.next_step(Verdict(name="ada", assignment="hw1", outcome=outcome, cases=(case,)))
    for topic in re.findall(r"`goldsmith help (\S+)`", step):
        assert topic_text(topic)
    assert ("`goldsmith help adapters`" in step) == (kind == "weights")


def test_every_topic_that_a_message_names_comes_with_goldsmith(tmp_path: Path) -> None:
    package = Path(goldsmith.__file__).parent
    texts = [path.read_text() for path in package.rglob("*.py")]
    named = {topic for text in texts for topic in re.findall(r"`goldsmith help (\w[\w-]*)`", text)}
    assert {"adapters", "recipes", "rigor"} <= named <= set(TOPICS)
    assert not [text for text in texts if re.search(r"docs/\w+\.md (?:shows|tells)|\(docs/\w+\.md\)", text)]
    course = CourseOnDisk(tmp_path)
    for topic in TOPICS:
        run = course.run("help", topic)
        assert (run.code, run.out.rstrip()) == (0, topic_text(topic).rstrip())
    listed = course.run("help").out
    assert all(topic in listed for topic in TOPICS)
    assert max(map(len, listed.splitlines())) <= 80
    assert "did you mean adapters" in course.run("help", "adapter").err


def test_the_wheel_holds_every_topic() -> None:
    settings = (Path(goldsmith.__file__).parents[2] / "pyproject.toml").read_text()
    assert all(f'"docs/{topic}.md" = "goldsmith/_topics/{topic}.md"' in settings for topic in TOPICS)


def test_a_missing_name_is_one_sentence_and_flags_show_no_type(tmp_path: Path) -> None:
    course = CourseOnDisk(tmp_path)
    run = course.run("new")
    assert run.code == 2
    assert run.err == "goldsmith new: A is missing; see `goldsmith new --help`.\n"
    for command in ("check", "new", "skills install"):
        assert "bool" not in course.run(*command.split(), "--help").out.lower()


def test_a_repository_that_is_one_assignment_needs_no_other_words(tmp_path: Path) -> None:
    course = basics.SHAPE.write(tmp_path / "clone")
    step = step_in(course.run("init", "--yes").out)
    then = step_in(follow(course, step))
    assert then == "goldsmith generate cs336_basics --kind outputs"


def test_a_next_step_repeats_the_options_that_it_needs(course: CourseOnDisk, tmp_path: Path) -> None:
    two = """
        @gs.case
        def gold_output(case):
            case.record("y", scale(case.input("x", lambda: np.random.randn(3, 5))))

        @gs.case
        def row(case):
            case.record("y", scale(case.input("x", lambda: np.arange(4.0))))
    """
    course.write({RECIPE_FILE: recipe(two), "my own.py": "accepts = {}\n"})
    elsewhere, here = tmp_path / "elsewhere", f"--course {course.root}"
    elsewhere.mkdir()

    def steps(*words: str) -> list[str]:
        shown = course.run(*words, "--course", str(course.root), cwd=elsewhere).out
        return re.findall(r"^(?:Next: |  \d\. .*?  +)(goldsmith [a-z].*)$", shown, re.M)

    assert steps("status") == [f"goldsmith generate hw1 {here}"]
    assert steps("generate", "hw1") == [f"goldsmith rigor hw1 {here}"]
    assert steps("new", "hw2", "--yes") == [f"goldsmith generate hw2 {here}"]
    wrong = tmp_path / "ops.py"
    wrong.write_text("def scale(x):\n    return x * 3.0\n")
    adapter = shlex.quote(str(course.root / "my own.py"))
    assert steps("calibrate", "hw1", "--compile") == [f"goldsmith check hw1 --compile {here}"]
    (step,) = steps("check", "hw1", str(wrong), "--timeout", "7", "--adapter", str(course.root / "my own.py"))
    assert step == f"goldsmith check hw1 {wrong} --case gold_output --adapter {adapter} --timeout 7.0 {here}"
    again = course.run(*shlex.split(step)[1:], cwd=elsewhere)
    assert again.code == 1
    assert course.run(*shlex.split(step)[1:], "--html", "page.html", cwd=elsewhere).code == 1
