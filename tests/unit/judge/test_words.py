"""How a verdict is told: what follows from a part that was put right, and what kept a case from running."""

from __future__ import annotations

from typing import Any

import pytest

from goldsmith.courses.grade.verdict_markdown import verdict_markdown
from goldsmith.judge.verdicts import CaseVerdict, ModuleVerdict
from goldsmith.judge.words import corrected_line, module_lines, part_sentence
from goldsmith.render.verdict import verdict_text
from support.made_pages import author_page
from support.made_verdicts import case, failed, part, verdict


def module(kind: str, **more: Any) -> ModuleVerdict:
    facts = {"case": "whole", "model": "", "name": "", "kind": kind, "outcome": "differs", "source": True}
    return ModuleVerdict(**(facts | more))


def corrected(*others: str, outcome: str = "differs", inferred: bool = True, **more: Any) -> CaseVerdict:
    """A case that agrees once `Norm` is the solution's."""
    modules = (module("Norm", inferred=inferred, outcome=outcome),)
    modules += tuple(module(name, outcome="agrees", source=False) for name in others)
    return case(
        "whole", outcome, modules=modules, corrected=("Norm",), first_part="Norm", first_divergence="Norm", **more
    )


def test_what_follows_from_a_part_that_was_put_right_is_said_to_everybody() -> None:
    said = "with Norm as in the solution this case agrees, so the rest of it is right"
    found = verdict(corrected("Head"), parts=(part("Norm", "differs"), part("Head", case="whole")))
    assert module_lines(found.cases[0]) == ["Norm is wrong", said]
    assert f"  {said}\n" in verdict_text(found)
    assert f"- {said}" in verdict_markdown(found)
    assert f"W{said[1:]}." in author_page(found)
    assert "Head   agrees    in whole, with Norm as in the solution" in verdict_text(found)


def test_without_a_rest_only_evidence_is_told() -> None:
    assert corrected_line(corrected()) == "with Norm as in the solution this case agrees"
    assert corrected_line(corrected(inferred=False)) == "", "it was seen to be wrong, and nothing else runs"
    assert corrected_line(case("whole", "differs")) == ""


def test_a_part_that_is_right_in_a_wrong_case_says_how_that_is_known() -> None:
    right = part("Head", case="whole")
    assert part_sentence(right, verdict(case("whole"), parts=())) == "in whole"
    assert part_sentence(right, verdict(case("whole", "differs"), parts=())) == "by what it returns in whole"


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (failed("timeout", "took longer than 20 s of processor time"), "Norm takes too long"),
        (failed("memory", "it took too much memory"), "Norm takes too much memory"),
        (failed("killed", "it was killed"), "Norm ends the process"),
        (failed("raised", "ValueError: no", function="Norm.forward"), "Norm raises an error"),
        (failed("raised", "RuntimeError: no grad", function="case"), "Norm is wrong"),
        (failed("weights", "no layer matches"), "Norm is wrong"),
    ],
)
def test_what_kept_a_case_from_running_is_told_as_it_was(failure: dict[str, Any], said: str) -> None:
    """A part that was found by trying did not have to raise: what it returned may have made others do so."""
    assert module_lines(corrected("Head", outcome="could-not-run", **failure))[0] == said
