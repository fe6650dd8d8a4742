"""What a verdict is worth: points, what they need, what could not be judged, and the class as a whole."""

from __future__ import annotations

import io
import random
import re
import time
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from goldsmith.courses.grade.class_results import Class
from goldsmith.courses.grade.grades import Grade, grade, rejected
from goldsmith.courses.grade.overview import overview_markdown, overview_of, summary_line
from goldsmith.courses.grade.rubric import Rubric, make_rubric, rubric_of
from goldsmith.courses.grade.scoring import score
from goldsmith.courses.layout.config import Config, ItemConfig, RubricConfig, read_config
from goldsmith.courses.layout.layout import find_course
from goldsmith.errors.course import BadConfig
from goldsmith.judge.verdicts import Verdict, gravest
from goldsmith.render.grades import GradingProgress, graded_submissions, show_grades, summarise_class
from goldsmith.render.json_output import encode_report
from goldsmith.render.progress import ShownProgress
from support.course import CourseOnDisk
from support.made_verdicts import CASES, PARTS, SHOWN, case, failed, part, rubric, verdict, wrong_at

OUTCOMES = ("differs", "could-not-run", "provided-changed", "agrees")


# --- rubrics in the configuration -----------------------------------------------------------------------------------


def test_without_a_rubric_every_case_is_worth_a_point() -> None:
    found = grade(verdict(case("whole"), case("norm", "differs"), case("loss"), case("steps")), rubric())
    assert (found.score, found.points) == (3, 4)
    assert [item.name for item in found.items] == list(CASES)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("cases = {whole = -1}", ("line 2", "`assignment.hw1.rubric.cases.whole`", "from 0 to")),
        ("parts = {Norm = inf}", ("line 2", "`assignment.hw1.rubric.parts.Norm`", "not inf")),
        ("provided-changed = 1.5", ("line 2", "`assignment.hw1.rubric.provided-changed`", "share")),
        ("cases.whole = {point = 2}", ("line 2", "no such setting; did you mean `points`?")),
        ("case = {}", ("line 2", "no such setting; did you mean `cases`?")),
        ("parts = {Norm = {points = 1, partial = true}}", ("line 2", "rubric.parts.Norm.partial", "only a case")),
        ('parts = {Norm = "two"}', ("line 2", "got `str`")),
    ],
)
def test_a_malformed_rubric_names_line_and_key(tmp_path: Path, text: str, words: tuple[str, ...]) -> None:
    (tmp_path / "goldsmith.toml").write_text(f"[assignment.hw1.rubric]\n{text}\n")
    with pytest.raises(BadConfig) as error:
        read_config(tmp_path)
    for word in words:
        assert word in str(error.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("cases = {hole = 1}", ("line 3", "rubric.cases.hole", "no such case; did you mean `whole`?")),
        ("parts = {Nrom = 1}", ("rubric.parts.Nrom", "no such part; did you mean `Norm`?")),
        ("cases = {Norm = 1}", ("Norm is a part, and belongs under `parts`",)),
        ('parts = {Norm = {points = 1, needs = ["Haed"]}}', ("`Haed`: there is no such case or part", "`Head`")),
        ('parts = {Norm = {points = 1, needs = ["Norm"]}}', ("cannot need itself",)),
        (
            'parts = {Norm = {points = 1, needs = ["Head"]}, Head = {points = 1, needs = ["Norm"]}}',
            ("in a circle: Norm needs Head needs Norm",),
        ),
    ],
)
def test_names_that_the_assignment_does_not_have_are_refused(
    course: CourseOnDisk, text: str, words: tuple[str, ...]
) -> None:
    (course.root / "goldsmith.toml").write_text(f"seed = 1\n[assignment.hw1.rubric]\n{text}\n")
    with pytest.raises(BadConfig) as error:
        rubric_of(find_course(course.root).assignment("hw1"), CASES, [f"model.{name}.x" for name in PARTS], SHOWN)
    for word in words:
        assert word in str(error.value)


def test_a_rubric_comes_from_the_configuration(course: CourseOnDisk) -> None:
    text = "[assignment.hw1.rubric]\ncases = {whole = {points = 3, partial = true}}\nparts = {Head = 2}\n"
    (course.root / "goldsmith.toml").write_text(text)
    found = rubric_of(find_course(course.root).assignment("hw1"), CASES, ["model.Head.forward"], SHOWN)
    assert [(item.key, item.points, item.partial) for item in found.items] == [
        ("case:whole", 3, True),
        ("part:Head", 2, False),
    ]
    assert set(found.parts) == {"Head", "Norm", "Model"}


def test_the_rubric_that_the_page_shows_can_be_read() -> None:
    page = (Path(__file__).parents[2] / "docs/grading.md").read_text(encoding="utf-8")
    (text,) = (block for block in re.findall(r"^```toml\n(.*?)^```$", page, re.M | re.S) if "rubric" in block)
    shown = msgspec.convert(tomllib.loads(text), Config).assignment["scratch-1"].rubric
    parts = ["RMSNorm", "RotaryEmbedding", "CausalSelfAttention"]
    found = make_rubric(shown, ["gold_output", "gradients"], parts)
    assert sum(item.points for item in found.items) == 15


# --- points ---------------------------------------------------------------------------------------------------------


def test_what_could_not_run_is_not_called_wrong_and_is_marked() -> None:
    broken = verdict(case("whole", "could-not-run"), *(case(item) for item in CASES[1:]))
    item = grade(broken, rubric()).items[0]
    assert (item.earned, item.outcome, item.needs_review) == (0, "could-not-run", True)
    assert item.why == "not judged: could not run: ValueError: no; it is judged once it runs"


def test_what_is_not_written_yet_needs_nobody_to_look() -> None:
    stub = verdict(case("whole", "could-not-run", **failed("stub", "Norm.forward is not written yet")))
    found = grade(stub, rubric(cases={"whole": 2.0}))
    assert (found.score, found.review) == (0, ())
    assert found.items[0].why == "not judged: Norm.forward is not written yet"


def test_an_item_whose_need_is_not_right_is_withheld_all_along_the_line() -> None:
    chain = rubric(
        parts={"Norm": 1.0, "Head": ItemConfig(2.0, ("Norm",)), "Model": ItemConfig(4.0, ("Head",))},
    )
    parts = (part("Norm", "differs"), part("Head"), part("Model"))
    found = {item.name: item for item in score(verdict(case("whole", "differs"), parts=parts), chain)}
    assert [found[name].earned for name in ("Norm", "Head", "Model")] == [0, 0, 0]
    assert found["Model"].withheld
    assert found["Model"].why == "withheld: it needs Head, which is not right yet"
    assert not found["Norm"].withheld, "what is wrong is wrong, not withheld"


def test_a_case_may_need_the_part_of_its_own_name() -> None:
    needing = rubric(cases={"loss": ItemConfig(3.0, ("loss",))})
    right = verdict(*(case(item) for item in CASES), parts=(part("loss"),))
    wrong = msgspec.structs.replace(right, parts=(part("loss", "differs"),))
    assert [score(item, needing)[0].earned for item in (right, wrong)] == [3, 0]


def test_partial_credit_is_the_share_of_values_that_agree_where_values_are_what_is_wrong() -> None:
    some = rubric(cases={"whole": ItemConfig(3.0, partial=True), "norm": 3.0})
    found = score(verdict(case("whole", "differs", right=4), case("norm", "differs", right=4)), some)
    assert [item.earned for item in found] == [2, 0]
    unsteady = case("whole", "differs", right=4, kind="second-run", reason="y came out differently the second time")
    assert score(verdict(unsteady, case("norm")), some)[0].earned == 0


def test_with_provided_code_changed_parts_count_in_full_and_cases_as_the_course_says() -> None:
    half = rubric(cases={"whole": 4.0}, parts={"Head": 2.0, "loss": 1.0}, provided_changed=0.5)
    parts = (part("Head", "provided-changed"), part("loss", "provided-changed"))
    changed = verdict(case("whole", "provided-changed"), parts=parts, provided=("Norm.f",))
    found = grade(changed, half)
    assert [item.earned for item in found.items] == [2, 2, 1]
    assert {item.outcome for item in found.items} == {"provided-changed"}
    assert "(Norm.f was changed)" in found.items[0].why
    assert found.review == ("whole", "Head", "loss")


def test_provided_code_put_back_earns_no_less_than_what_agreed_before() -> None:
    nothing = rubric(cases={"whole": ItemConfig(3.0, partial=True), "norm": 3.0}, provided_changed=0.0)
    changed = verdict(case("whole", "provided-changed", right=4), case("norm", "provided-changed", right=4))
    assert [item.earned for item in score(changed, nothing)] == [2, 0]


def test_a_part_is_right_where_a_case_that_runs_through_it_agrees() -> None:
    """Verdicts speak of modules only where something is wrong."""
    all_right = verdict(*(case(item) for item in CASES))
    found = {item.name: item for item in score(all_right, rubric(parts=dict.fromkeys(PARTS, 1.0)))}
    assert [found[name].outcome for name in ("Norm", "Head", "Model")] == ["agrees"] * 3
    assert (found["loss"].outcome, found["loss"].needs_review) == ("not-judged", True), "no case shows it"


@pytest.mark.parametrize("kind", ["timeout", "killed", "exit"])
def test_a_part_that_does_not_come_back_is_not_right_because_the_whole_is(kind: str) -> None:
    points = rubric(parts={"Norm": 1.0, "Head": 1.0})
    found = {
        item.name: item
        for item in score(verdict(case("whole"), case("norm", "could-not-run", **failed(kind, "it hung"))), points)
    }
    assert (found["Norm"].outcome, found["Norm"].earned, found["Norm"].needs_review) == ("could-not-run", 0.0, True)
    assert (found["Head"].outcome, found["Head"].earned) == ("agrees", 1.0)
    whole = verdict(case("whole", "could-not-run", **failed(kind, "it hung")), case("norm"))
    assert [item.outcome for item in score(whole, points) if item.name == "Norm"] == ["agrees"], "by itself it is right"


@pytest.mark.parametrize("hangs", ["norm", "loss"])
def test_of_two_cases_that_show_a_part_as_well_neither_may_hang(hangs: str) -> None:
    both = {"norm": ("Norm",), "loss": ("Norm",)}
    points = make_rubric(RubricConfig(parts={"Norm": 1.0}), CASES, PARTS, both)
    hung = case(hangs, "could-not-run", **failed("timeout", "it hung"))
    cases = [hung if name == hangs else case(name) for name in both]
    found = score(verdict(*cases, by_case=both), points)
    assert [item.outcome for item in found] == ["could-not-run"]


def test_a_part_that_lies_behind_somebody_elses_mistake_is_not_judged() -> None:
    found = {item.name: item for item in score(wrong_at("norm1", "Norm"), rubric(parts={"Norm": 1.0, "Model": 1.0}))}
    assert (found["Norm"].outcome, found["Model"].outcome) == ("differs", "not-judged")
    why = "in whole Norm goes wrong, and nothing shows this part by itself; correct Norm, and it can be judged"
    assert found["Model"].why == f"not judged: {why}"


def test_a_part_that_no_case_runs_lies_behind_nobody_s_mistake() -> None:
    nowhere = make_rubric(RubricConfig(parts={"Head": 1.0}), CASES, PARTS, {"whole": ("Norm", "Model")})
    stuck = verdict(*(case(name, "could-not-run") for name in CASES), parts=())
    for found in (wrong_at("norm1", "Norm"), stuck):
        (item,) = score(found, nowhere)
        assert (item.outcome, item.why) == (
            "not-judged",
            "not judged: no case shows it by itself; staff will look at it",
        )


def test_what_cannot_be_opened_could_not_run() -> None:
    found = grade(rejected("ada", "hw1", rubric(), "ada holds a link that leads out of it"), rubric())
    assert (found.outcome, found.score, found.cause) == ("could-not-run", 0, "unopened")
    assert len(found.review) == 4


rubrics = st.builds(
    lambda cases, parts, share, needs: rubric(
        cases={name: ItemConfig(points, tuple(needs), partial) for name, (points, partial) in cases.items()},
        parts=parts,
        provided_changed=share,
    ),
    st.dictionaries(st.sampled_from(CASES), st.tuples(st.floats(0, 1e6), st.booleans()), min_size=1),
    st.dictionaries(st.sampled_from(PARTS), st.floats(0, 1e6)),
    st.floats(0, 1),
    st.lists(st.sampled_from(["Norm", "Head"]), max_size=2),
)
verdicts = st.builds(
    lambda outcomes, rights, parts: verdict(
        *(case(name, outcome, right) for name, outcome, right in zip(CASES, outcomes, rights, strict=True)),
        parts=tuple(part(name, outcome) for name, outcome in parts.items()),
    ),
    st.tuples(*[st.sampled_from(OUTCOMES)] * 4),
    st.tuples(*[st.integers(0, 3)] * 4),
    st.dictionaries(st.sampled_from(PARTS), st.sampled_from(OUTCOMES)),
)


@given(verdicts, rubrics)
def test_nobody_earns_more_than_there_is_and_the_order_of_items_does_not_matter(found: Verdict, some: Rubric) -> None:
    graded = grade(found, some)
    assert 0 <= graded.score <= graded.points
    assert all(0 <= item.earned <= item.points for item in graded.items)
    assert all(item.outcome in ("agrees", "provided-changed", "differs") for item in graded.items if item.earned)
    items = list(some.items)
    random.Random(4).shuffle(items)
    other = grade(found, msgspec.structs.replace(some, items=tuple(items)))
    assert (other.score, other.points) == (graded.score, graded.points)


@given(verdicts, rubrics, st.data())
def test_a_verdict_that_gets_better_never_lowers_the_score(found: Verdict, some: Rubric, data: Any) -> None:
    number = data.draw(st.integers(0, 3))
    old = found.cases[number]
    better = {"differs": ("differs", "provided-changed", "agrees"), "provided-changed": ("agrees",)}
    outcome = data.draw(st.sampled_from(better.get(old.outcome, ("agrees",))))
    right = sum(leaf.agrees for leaf in old.leaves)
    cases = list(found.cases)
    cases[number] = case(old.name, outcome, right + 1)
    parts = [item for item in found.parts if data.draw(st.booleans()) or item.outcome == "agrees"]
    mended = [part(item.name) if item not in parts else item for item in found.parts]
    improved = msgspec.structs.replace(
        found, cases=tuple(cases), parts=tuple(mended), outcome=gravest(item.outcome for item in cases)
    )
    assert grade(improved, some).score >= grade(found, some).score


# --- the class ------------------------------------------------------------------------------------------------------


def a_class() -> list[Grade]:
    right = verdict(*(case(item) for item in CASES), name="zoe")
    stuck = case("whole", "could-not-run", **failed("import", "No module named 'einops'"))
    found = [
        wrong_at("norm1", "Norm", 0.25, name="ada"),
        wrong_at("norm2", "Norm", 0.2501, name="ben"),
        wrong_at("norm1", "Norm", 0.9, name="cai"),
        wrong_at("head", "Head", 0.25, name="dee"),
        *(verdict(stuck, *(case(item) for item in CASES[1:]), name=name) for name in ("eve", "fay", "gus")),
        right,
    ]
    return [grade(item, rubric()) for item in found]


def test_submissions_with_the_same_mistake_come_together_the_most_common_first() -> None:
    found = overview_of("hw1", a_class())
    assert [item.names for item in found.clusters] == [("eve", "fay", "gus"), ("ada", "ben"), ("dee",), ("cai",)]
    assert [item.description for item in found.clusters[:2]] == [
        "could not run: could not be imported: No module named 'einops'",
        "Norm goes wrong first, by 25% of its size",
    ]
    assert found.outcomes == {"agrees": 1, "differs": 4, "could-not-run": 3}
    assert (found.mean, found.median) == (3.125, 3)
    whole = next(item for item in found.cases if item.name == "whole")
    assert (whole.failed, whole.outcomes) == (7, {"agrees": 1, "differs": 4, "could-not-run": 3})
    assert found.review == ("eve", "fay", "gus")
    assert overview_of("hw1", a_class()[::-1]).outcomes == found.outcomes


def test_an_item_that_nobody_could_earn_is_noted() -> None:
    grades = [grade(verdict(*(case(item) for item in CASES)), rubric(parts={"loss": 1.0, "Norm": 1.0}))]
    assert overview_of("hw1", grades).notes == ("nobody was judged on the part loss: no case shows it by itself",)


def test_an_empty_class_is_no_error() -> None:
    found = overview_of("hw1", [])
    assert summary_line(found) == "hw1: no submission was graded."
    assert overview_markdown(found).startswith("# hw1\n")


def shown(grades: list[Grade], **options: Any) -> str:
    text = io.StringIO()
    show_grades(Console(file=text, width=100, **options), grades, overview_of("hw1", grades))
    return text.getvalue()


def test_the_table_is_aligned_and_the_line_that_counts_is_last() -> None:
    lines = shown(a_class()).splitlines()
    start = lines[0].index("outcome")
    assert [line[start:].split("  ")[0] for line in lines[1:5]] == ["differs"] * 4
    assert lines[-1] == (
        "hw1: 8 submissions graded (1 agrees, 4 differs, 3 could not run), mean 3.125 of 4, median 3; 3 need review."
    )
    assert "  3  could not run: could not be imported: No module named 'einops'" in "\n".join(lines)


def test_colours_are_off_when_they_are_switched_off() -> None:
    assert "\x1b[31m" in shown(a_class(), force_terminal=True, color_system="standard")
    assert "\x1b[3" not in shown(a_class(), force_terminal=True, no_color=True)


def test_a_log_gets_a_line_for_each_submission_and_a_terminal_no_more_than_fits() -> None:
    text = io.StringIO()
    progress = GradingProgress(ShownProgress(Console(file=text, width=80)), 8)
    for item in a_class():
        progress.finished(item)
    assert text.getvalue().splitlines()[0] == "1/8  ada: differs, 3/4, Norm"
    assert len(progress.progress.above(6)) <= 6


def test_a_terminal_has_the_live_table_while_it_lasts() -> None:
    text = io.StringIO()
    shown = ShownProgress(Console(file=text, width=80, force_terminal=True, no_color=True))
    with shown.of("hw1"):
        GradingProgress(shown, 8).finished(a_class()[0])
    assert "ada          differs" in text.getvalue()
    assert "1 of 8 graded" in text.getvalue()


def test_a_log_that_waits_says_for_how_long_and_no_line_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    text, now = io.StringIO(), [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    shown = ShownProgress(Console(file=text, width=80))
    shown.begin("hw1")
    shown.step("case 1 of 3", stage="5/9 generate")
    for now[0] in (6.0, 12.0):
        shown.tick()
    line = "hw1: 5/9 generate, case 1 of 3"
    assert text.getvalue().splitlines() == [line, f"{line}, 6 s", f"{line}, 12 s"]


def test_the_report_for_machines_has_every_submission() -> None:
    grades = a_class()
    summary = summarise_class(Class(tuple(grades), overview_of("hw1", grades), 0, ()))
    items = graded_submissions(grades)
    found = msgspec.json.decode(encode_report("grade", "submissions", items, ok=False, more=summary))
    assert (found["command"], found["ok"], len(found["submissions"])) == ("grade", False, 8)
    first = found["submissions"][0]
    assert (first["name"], first["outcome"], first["score"], first["points"]) == ("ada", "differs", 3, 4)
    assert found["overview"]["clusters"][0]["names"] == ["eve", "fay", "gus"]
    assert msgspec.convert(first, Grade) == grades[0]


def test_a_point_for_a_case_that_was_not_run_waits_for_somebody() -> None:
    found = grade(verdict(case("whole")), rubric(cases={"whole": 1.0, "norm": 1.0}))
    assert (found.score, found.review) == (1, ("norm",))
    assert found.items[1].why == "not judged: it was not run; staff will look at it"
