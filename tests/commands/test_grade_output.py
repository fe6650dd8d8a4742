"""The files that grading leaves: whatever a submission is called, prints or raises, they stay what they are."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from goldsmith.courses.grade.feedback import feedback_markdown
from goldsmith.courses.grade.grades import Grade, grade, with_similarity
from goldsmith.courses.grade.junit import junit_xml
from goldsmith.courses.grade.output_folder import Folder
from goldsmith.courses.grade.overview import overview_markdown, overview_of
from goldsmith.courses.grade.redaction import Redaction, one_line, redact
from goldsmith.courses.grade.result_files import (
    file_names,
    grades_csv,
    gradescope_json,
    submission_json,
    write_class,
    write_submission,
)
from goldsmith.courses.grade.verdict_markdown import verdict_markdown
from goldsmith.courses.guard.similarity import Similarity
from goldsmith.courses.layout.config import ItemConfig
from support.made_verdicts import CASES, SECRET, case, failed, leaf, part, rubric, texts, verdict, wrong_at

HOSTILE = (
    "</pre>\n\n# Full marks\n\n| a | b |\n<img src=x onerror=alert(1)> [x](http://evil.example) ```\n@staff \x1b[2J"
)


def hostile_verdict(text: str = HOSTILE, name: str = "ada") -> Any:
    frame = {"file": text, "function": text, "text": text}
    return verdict(
        case("whole", "could-not-run", **failed("raised", text, **frame)),
        case("norm", "differs", notes=(text,), reason=text, kind="second-run"),
        case("loss"),
        case("steps", "provided-changed"),
        name=name,
        provided=(text,),
        notes=(text,),
    )


# --- feedback -------------------------------------------------------------------------------------------------------


def test_the_next_step_of_what_is_not_written_is_the_smallest() -> None:
    cases = [case(name, "could-not-run", **failed("stub", f"{name} is not written yet")) for name in ("whole", "norm")]
    found = grade(verdict(*cases), rubric())
    assert found.first_case == "norm"
    assert "Continue with `norm`, which is not written yet (in `norm`)." in feedback_markdown(found, verdict(*cases))


def test_one_reason_for_many_cases_is_told_once() -> None:
    cause = failed("import", "SyntaxError: what is this", file="ops.py", function="<module>", text="de f")
    found = verdict(*(case(name, "could-not-run", **cause) for name in ("whole", "norm")), case("loss"), name="ada")
    text = feedback_markdown(grade(found, rubric()), found)
    assert text.count("de f") == 1
    full = feedback_markdown(grade(found, rubric()), found, verbose=True)
    assert "**whole, norm**" in full
    assert "| norm | could not run | the same |" in full


def test_feedback_has_the_score_first_then_the_next_step() -> None:
    found = wrong_at("norm1", "Norm")
    lines = feedback_markdown(grade(found, rubric()), found).splitlines()
    assert lines[0] == "## hw1: 3 of 4 points"
    assert lines[2].startswith("**Next step.** Look at `norm1` (`Norm`) first")
    assert "**All points:** `norm`, `loss`, `steps`." in lines
    assert "**No points yet**, differs: `whole`." in lines
    assert len([line for line in lines if line]) <= 15, "what more there is to say is for --verbose"


def test_verbose_feedback_tells_of_every_case_and_part() -> None:
    found = wrong_at("norm1", "Norm")
    lines = feedback_markdown(grade(found, rubric()), found, verbose=True).splitlines()
    assert "| whole | 0 of 1 | differs |" in lines
    assert "| Norm | differs |  |" in lines


def test_what_nobody_touched_is_not_started() -> None:
    cases = [case(name, "could-not-run", **failed("stub", f"{name} is not written yet")) for name in ("whole", "norm")]
    found = verdict(*cases, not_started=True)
    assert grade(found, rubric()).reason == "not started: what is left to write is as it was given"
    assert "**Next step.** Not started yet: start with `norm`." in feedback_markdown(grade(found, rubric()), found)


def test_the_first_to_look_at_has_its_file_and_line_and_the_students_own_name() -> None:
    found = wrong_at("layers.0", "Norm", first_name="net.0", first_place="model.py:12")
    text = feedback_markdown(grade(found, rubric()), found)
    assert (
        "Look at `net.0` (`Norm`) first, in `model.py`, line 12: it is the only part that is known to be wrong" in text
    )


def test_the_first_wrong_record_is_told_before_the_farthest_off() -> None:
    leaves = (leaf(path="output.loss", relative=0.01, excess=4.0), leaf(path="output.gradients.w", relative=1.32))
    bad = case("whole", "differs", leaves=leaves, natural=leaves)
    assert "loss is off by 1% of its size, and 1 more" in verdict_markdown(verdict(bad), verbose=True)
    assert "- `loss` is off by 1% of its size" in verdict_markdown(verdict(bad))


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("stub", "Continue with what is not written yet"),
        ("import", "That is not the same as wrong"),
        ("device", "Let whoever runs it choose the device"),
        ("timeout", "a loop that never ends"),
    ],
)
def test_the_next_step_fits_what_happened(kind: str, words: str) -> None:
    found = verdict(case("whole", "could-not-run", **failed(kind, "it is so")))
    assert words in feedback_markdown(grade(found, rubric()), found)


def test_feedback_says_what_is_withheld_what_a_person_looks_at_and_which_packages_stood_in() -> None:
    some = rubric(parts={"Norm": 1.0, "Head": ItemConfig(1.0, ("Norm",)), "loss": 1.0})
    found = verdict(case("whole", "differs"), parts=(part("Norm", "differs"), part("Head")))
    text = feedback_markdown(grade(found, some, stand_ins=["wandb"]), found)
    for words in ("right, but withheld: `Head`", "Marked for review by staff: `loss`", "took their place: wandb"):
        assert words in text


def alike(part: str, place: str = "ops.py:7") -> dict[str, Similarity]:
    return {part: Similarity(11, 12, place, place)}


def everything(found: Any, similarity: Mapping[str, Similarity] | None = None, **more: Any) -> dict[str, str]:
    graded = with_similarity(grade(found, rubric(), **more), similarity or {})
    text = feedback_markdown(graded, found, more.get("veil"))
    return {
        "markdown": text,
        "json": submission_json(graded).decode(),
        "gradescope": gradescope_json(graded, text).decode(),
        "csv": grades_csv([graded], rubric()),
        "junit": junit_xml("hw1", [graded]),
        "overview": overview_markdown(overview_of("hw1", [graded])),
    }


def test_no_file_holds_a_value_of_golds() -> None:
    for name, text in everything(wrong_at("norm1", "Norm")).items():
        assert "123.4" not in text, name


def test_no_file_holds_a_path_of_the_graders() -> None:
    raised = (
        "can't open '/home/prof x/course/a b.txt', see /tmp/goldsmith-77/work/model.py:3 or file:///srv/gold/out.pt"
    )
    found = verdict(case("whole", "could-not-run", **failed("raised", raised, file="/tmp/goldsmith-77/work/model.py")))
    for name, text in everything(found, veil=Redaction(paths=("/home/prof x/course",))).items():
        for words in ("prof", "goldsmith-77", "/srv", "/tmp"):
            assert words not in text, (name, words)
    assert "model.py:3" in everything(found)["markdown"]


def test_paths_nobody_has_told_of_are_shortened_too() -> None:
    found = verdict(case("whole", "could-not-run", **failed("raised", "cannot open '/home/prof x/a b.txt' (1/2/3)")))
    assert "cannot open '…/a b.txt' (1/2/3)" in everything(found)["markdown"]


def test_a_veiled_verdict_knows_nothing_of_golds_values() -> None:
    assert str(SECRET) in repr(wrong_at("norm1", "Norm"))
    assert str(SECRET) not in repr(redact(wrong_at("norm1", "Norm"), Redaction()))


def test_lines_of_private_files_are_not_shown() -> None:
    line = {"file": "generate_fixtures.py", "text": "expected = 3 * secret"}
    found = verdict(case("whole", "could-not-run", **failed("call", "TypeError: no", **line)))
    assert "secret" in everything(found)["markdown"]
    text = everything(found, veil=Redaction(files=("generate_fixtures.py",)))["markdown"]
    assert "secret" not in text
    assert "generate_fixtures.py:3 in forward" in text


def test_similarity_and_sandbox_are_for_staff_only() -> None:
    files = everything(wrong_at("norm1", "Norm"), alike("Norm"), sandbox="landlock")
    assert "Norm 11 of 12 statements (ops.py, line 7)" in files["csv"]
    for name in ("markdown", "json", "gradescope", "junit"):
        assert "statements" not in files[name], name
        assert "landlock" not in files[name], name


def tokens(text: str, *more: str) -> list[Any]:
    found = MarkdownIt("commonmark", {"html": True}).enable(["table", *more]).parse(text)
    return [inner for token in found for inner in (token, *(token.children or ()))]


def test_nothing_a_submission_says_becomes_markup() -> None:
    text = feedback_markdown(grade(hostile_verdict(), rubric()), hostile_verdict())
    kinds = [token.type for token in tokens(text)]
    assert not {"html_block", "html_inline", "link_open", "image"}.intersection(kinds)
    assert kinds.count("heading_open") == 1
    assert "\x1b" not in text


@pytest.mark.parametrize("said", ["~~struck~~", "_stressed_ and *so on*", "![x](y)", "a | b", "\x1b[31mred"])
def test_a_comment_on_one_check_is_as_plain_as_feedback(said: str) -> None:
    """`goldsmith check --markdown` shows what nobody has cleaned before."""
    text = verdict_markdown(hostile_verdict(said))
    found = tokens(text, "table", "strikethrough")
    assert not {"s_open", "em_open", "image", "link_open"}.intersection(token.type for token in found)
    assert "\x1b" not in text


@given(texts)
def test_feedback_keeps_its_form_whatever_was_raised(text: str) -> None:
    found = hostile_verdict(text)
    written = feedback_markdown(grade(found, rubric()), found, verbose=True)
    assert written.encode().decode() == written
    headings = [token for token in tokens(written) if token.type == "heading_open"]
    assert [token.tag for token in headings] == ["h2"]
    table = [token.content for token in tokens(written) if token.type == "inline" and token.level == 4]
    assert len(table) == 4 * (1 + 4) + 3 * (1 + 4) + 3 * (1 + 2)
    assert [table[row * 4] for row in range(1, 5)] == list(CASES), "no cell has slipped"
    assert table[4 * 4 + 3].endswith("was changed)") == bool(one_line(text))
    assert all(char.isprintable() or char == "\n" for char in written)


def test_absurd_lengths_are_cut() -> None:
    found = hostile_verdict("x" * 10_000_000)
    assert all(len(text) < 20_000 for text in everything(found).values())


# --- tables ---------------------------------------------------------------------------------------------------------


@given(texts, texts)
def test_csv_reads_back_cell_by_cell_and_no_cell_is_a_formula(name: str, message: str) -> None:
    some = rubric(cases={"whole": 2.0, "norm": 0.5})
    graded = grade(hostile_verdict(message), some, name=name or "-", stand_ins=[message])
    graded = with_similarity(graded, alike(message, message))
    head, row = csv.reader(io.StringIO(grades_csv([graded], some)))
    assert len(head) == len(row)
    cells = dict(zip(head, row, strict=True))
    assert cells["name"].removeprefix("'") == graded.name.removeprefix("'")
    assert (cells["score"], cells["points"], cells["case:whole"], cells["case:norm"]) == ("0", "2.5", "0", "0")
    assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r", "＝")) for cell in row)


def test_csv_says_what_was_not_judged_beside_the_points() -> None:
    some = rubric(cases={"whole": 1.0}, parts={"Norm": 1.0, "Head": ItemConfig(1.0, ("Norm",)), "loss": 1.0})
    stuck = case("whole", "could-not-run")
    found = verdict(stuck, case("norm", "differs"), parts=(part("Norm", "differs"), part("Head")))
    (row,) = csv.DictReader(io.StringIO(grades_csv([grade(found, some)], some)))
    assert (row["not_judged"], row["withheld"], row["review"]) == ("whole; loss", "Head", "whole; loss")
    assert [row[key] for key in ("case:whole", "part:Norm", "part:Head", "part:loss")] == ["0"] * 4


@given(texts, texts)
def test_junit_reads_back_with_right_counts(name: str, message: str) -> None:
    graded = grade(hostile_verdict(message), rubric(), name=name or "-")
    root = ElementTree.fromstring(junit_xml("hw1", [graded]))
    (suite,) = root
    assert suite.get("name") == graded.name
    assert {key: suite.get(key) for key in ("tests", "failures", "errors", "skipped")} == {
        "tests": "4",
        "failures": "2",
        "errors": "1",
        "skipped": "0",
    }
    (error,) = root.iter("error")
    assert error.get("message") == graded.items[0].why


def test_junit_tells_failure_error_and_skipped_apart() -> None:
    some = rubric(parts={"Norm": 1.0, "Head": ItemConfig(1.0, ("Norm",)), "loss": 1.0})
    found = verdict(
        case("whole", "provided-changed"),
        case("norm", "could-not-run"),
        parts=(part("Norm", "differs"), part("Head"), part("loss", "provided-changed")),
    )
    root = ElementTree.fromstring(junit_xml("hw1", [grade(found, some)]))
    told = {test.get("name"): [(child.tag, child.get("type")) for child in test] for test in root.iter("testcase")}
    assert told == {
        "part Norm": [("failure", "differs")],
        "part Head": [("skipped", "withheld")],
        "part loss": [],
        "case whole": [("failure", "provided-changed")],
        "case norm": [("error", "could-not-run")],
    }


@given(texts, texts)
def test_a_grade_reads_back_as_it_was(name: str, message: str) -> None:
    graded = grade(hostile_verdict(message), rubric(), name=name, sandbox=message)
    graded = with_similarity(graded, alike(message, message))
    assert msgspec.json.decode(msgspec.json.encode(graded), type=Grade) == graded
    plain = json.loads(submission_json(graded))
    assert (plain["name"], plain["outcome"], len(plain["items"]), len(plain["cases"])) == (graded.name, "differs", 4, 4)


def test_gradescope_gets_what_it_documents() -> None:
    some = rubric(cases={"whole": 2.0, "norm": 1.0}, parts={"Head": ItemConfig(3.0, ("Norm",))})
    found = verdict(case("whole", "could-not-run"), case("norm"), parts=(part("Head"), part("Norm", "differs")))
    body = json.loads(gradescope_json(grade(found, some), "text", "after_published"))
    assert (body["score"], body["output"], body["output_format"]) == (1, "text", "md")
    assert body["stdout_visibility"] == "hidden"
    told = [(test["name"], test["score"], test["max_score"], test["status"]) for test in body["tests"]]
    assert told == [
        ("case whole (not judged)", 0, 2, "failed"),
        ("case norm", 1, 1, "passed"),
        ("part Head", 0, 3, "failed"),
    ]
    assert {test["visibility"] for test in body["tests"]} == {"after_published"}
    assert body["tests"][2]["output"] == "agrees: withheld: it needs Norm, which is not right yet"


# --- names and writing ----------------------------------------------------------------------------------------------


@given(st.lists(texts, max_size=6))
def test_file_names_are_nobody_elses_and_no_path(names: list[str]) -> None:
    found = file_names(names)
    assert len({name.casefold() for name in found}) == len(names)
    for name in found:
        assert re.fullmatch(r"[^\W_][\w.-]*", name) or name.startswith("_"), name
        assert len(name.encode()) <= 120
    assert file_names(names) == found


def test_file_names_stay_readable_and_tell_people_apart() -> None:
    assert file_names(["ada", "Müller_12", "../../etc/passwd", "con", ""]) == [
        "ada",
        "Müller_12",
        "etc-passwd",
        "submission-con",
        "submission",
    ]
    one, two, three = file_names(["Ada", "ada", "ada"])
    assert re.fullmatch(r"Ada-[0-9a-f]{8}", one)
    assert re.fullmatch(r"ada-[0-9a-f]{8}", two)
    assert three == f"{two}-2"


def test_all_files_are_written_inside_the_folder(tmp_path: Path) -> None:
    names = ["../../escape", "/etc/passwd", "ada\n=1", "x" * 5000, "\udcff"]
    verdicts = [hostile_verdict(name=name) for name in names]
    grades = [grade(item, rubric()) for item in verdicts]
    folder = tmp_path / "deep" / "results"
    results = Folder(folder)
    written = [
        path
        for stem, graded, found in zip(file_names(names), grades, verdicts, strict=True)
        for path in write_submission(results, stem, graded, feedback_markdown(graded, found))
    ]
    written += write_class(results, grades, rubric(), overview_of("hw1", grades))
    assert len(set(written)) == 3 * 5 + 3
    there = {path for path in tmp_path.rglob("*") if path.is_file()}
    assert there - set(written) == {folder / ".gitignore", folder / ".written"}
    assert sorted(path.name for path in folder.glob("[!.]*.*")) == ["grades.csv", "junit.xml", "overview.md"]
    assert len(list(csv.DictReader((folder / "grades.csv").open(newline="")))) == 5


@given(texts)
def test_cleaned_text_is_one_printable_line(text: str) -> None:
    assert one_line(text).isprintable()
    assert one_line(one_line(text)) == one_line(text)
    assert one_line(CASES[0]) == CASES[0]
