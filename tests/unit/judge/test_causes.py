"""Every case that is not right is counted, and each error is told once, with the cases that it makes fail."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from goldsmith.courses.grade.verdict_markdown import verdict_markdown
from goldsmith.judge.causes import by_cause, telling_case
from goldsmith.judge.verdicts import CaseVerdict
from goldsmith.judge.words import headline, rows
from goldsmith.render.verdict import verdict_text
from support.made_verdicts import case, failed, source, verdict

_KINDS = ("agrees", "differs", "could-not-run", "provided-changed", "error")


def wrong(name: str, part: str, outcome: str = "differs", **more: Any) -> CaseVerdict:
    found = {"first_divergence": part, "first_part": part, "modules": (source("", part, in_case=name),)}
    return case(name, outcome, **(found | more))


def raising(name: str, line: int = 3, message: str = "ValueError: no", **more: Any) -> CaseVerdict:
    return case(name, "could-not-run", **failed("raised", message, line=line), **more)


@st.composite
def verdicts(draw: st.DrawFn) -> Any:
    cases = []
    for number, outcome in enumerate(draw(st.lists(st.sampled_from(_KINDS), min_size=1, max_size=8))):
        name = f"case{number}"
        part = draw(st.sampled_from(["", "Norm", "Head", "Model"]))
        if outcome == "could-not-run":
            made = raising(name, draw(st.integers(1, 2)), draw(st.sampled_from(["ValueError: 1", "KeyError: 2"])))
        else:
            made = wrong(name, part, outcome) if part and outcome == "differs" else case(name, outcome)
        cases.append(made)
    return verdict(*cases, parts=(), provided=("mean_of",))


@given(verdicts())
def test_every_case_that_is_not_right_has_one_cause(found: Any) -> None:
    causes = by_cause(found)
    named = [item.name for cause in causes for item in (*cause.cases, *cause.others)]
    assert sorted(named) == sorted(item.name for item in found.cases if item.outcome != "agrees")
    telling = telling_case(found)
    assert telling is None or telling in causes[0].cases
    parts = [part for cause in causes for part in cause.parts]
    assert len(parts) == len(set(parts)), "nothing is named twice"


@given(verdicts())
def test_the_headline_counts_every_case_that_is_not_right(found: Any) -> None:
    said = headline(found)
    for outcome in ("differs", "could-not-run", "provided-changed"):
        count = sum(item.outcome == outcome for item in found.cases)
        assert not count or "no case" in said or re.search(rf"\b{count}\b", said), (outcome, said)


def test_what_differs_and_what_could_not_run_are_both_counted() -> None:
    raised = [raising(name) for name in ("b", "c", "d", "e")]
    found = verdict(wrong("a", "Norm"), *raised, case("f"), parts=())
    assert headline(found) == "differs in 1 of 6 cases, 4 could not run; Norm is the first to go wrong"
    found = verdict(*raised, case("f"), case("g", "provided-changed"), parts=(), provided=("mean_of",))
    assert headline(found) == (
        "4 of 6 cases could not run: ValueError: no; 1 would agree with provided code as it was given"
    )
    found = verdict(case("f"), case("g", "provided-changed"), parts=(), provided=("mean_of",))
    assert headline(found).endswith("provided code was changed: mean_of; 1 of 2 cases differs because of it")


def test_a_headline_says_how_many_other_reasons_there_are() -> None:
    stubs = [case(name, "could-not-run", **failed("stub", f"{name} is not written yet")) for name in ("a", "b", "b")]
    assert headline(verdict(*stubs, parts=())) == "no case could run: a is not written yet (and 1 other reason)"


def test_one_error_in_several_cases_is_one_entry_with_their_names() -> None:
    """Wherever the recipe called it, and whatever numbers are in the message."""
    cases = [raising(name, message=f"ValueError: size {name} is 3") for name in ("1", "2")]
    cases += [raising("other", line=9)]
    text = verdict_text(verdict(*cases, case("right"), parts=()))
    assert "\n1, 2\n" in text
    assert text.count("model.py:3 in forward") == text.count("model.py:9 in forward") == 1
    comment = verdict_markdown(verdict(*cases, case("right"), parts=()))
    assert "- the same error in `2`" in comment
    assert "Also:\n\n- `ValueError`: no (in `other`)" in comment


def test_an_error_that_was_told_in_a_table_is_referred_to() -> None:
    found = rows([raising("a"), raising("b"), case("c"), raising("d"), raising("e", message="KeyError: no")])
    assert [why for _, why in found] == ["ValueError: no", "the same", "", "the same as a", "KeyError: no"]


def test_of_two_wrong_parts_each_is_told_before_a_second_case_of_the_first() -> None:
    cases = [wrong("a", "Norm"), wrong("b", "Norm"), wrong("c", "Norm"), wrong("d", "Norm"), wrong("e", "Head")]
    found = verdict(*cases, parts=())
    explained = re.findall(r"^(\w): ", verdict_text(found), re.MULTILINE)
    assert explained == ["a", "e", "b"]
    assert "Also wrong: c, d" in verdict_text(found)
    assert "- Head goes wrong (in `e`)" in verdict_markdown(found)


def test_what_is_not_written_is_told_whoever_else_is_to_blame() -> None:
    stub = failed("stub", "Model.forward is not written yet")
    unwritten = case("whole", "could-not-run", first_part="Norm", modules=(source("", "Norm"),), **stub)
    found = verdict(wrong("a", "Norm"), unwritten, parts=())
    assert "- `Model.forward` is not written yet (in `whole`)" in verdict_markdown(found)
    more = case("steps", "could-not-run", **failed("stub", "loss is not written yet"))
    assert "- `Model.forward` and `loss` are not written yet" in verdict_markdown(
        verdict(wrong("a", "Norm"), unwritten, more, parts=())
    )
