"""Which part is right and which is not follows from gold's record: what its cases run, and who is to blame."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from goldsmith.courses.grade.rubric import make_rubric
from goldsmith.courses.grade.scoring import score
from goldsmith.courses.layout.config import RubricConfig
from goldsmith.judge.coverage import PartCoverage, part_of
from goldsmith.judge.parts import judge_parts
from goldsmith.judge.verdicts import CaseVerdict, ModuleVerdict
from support.made_verdicts import case, failed, verdict

NAMES = ("Norm.forward", "Scaler.fit", "Scaler.scale", "Model.forward", "loss")
RUNS = {
    "norm": ("Norm.forward",),
    "scaler": ("Scaler.fit", "Scaler.scale"),
    "fitting": ("Scaler.fit",),
    "loss": ("loss",),
    "model": ("Model.forward", "Norm.forward"),
    "whole": ("Model.forward", "Norm.forward", "Scaler.scale", "loss"),
}
SHOWN = PartCoverage(RUNS, {})


def seen(name: str, in_case: str, outcome: str = "differs", **more: Any) -> ModuleVerdict:
    kind, _, function = name.partition(".")
    function = function.replace("forward", "") if function else kind
    return ModuleVerdict(case=in_case, model="", name="", kind=kind, function=function, outcome=outcome, **more)


def outcomes(*cases: CaseVerdict, hollow: tuple[str, ...] = ()) -> dict[str, str]:
    named = {item.name: item for item in (*(case(name) for name in RUNS), *cases)}
    return {part.name: part.outcome for part in judge_parts(list(named.values()), SHOWN, hollow.__contains__)}


def test_everything_that_agrees_is_right() -> None:
    assert outcomes() == dict.fromkeys(("Norm", "Scaler", "Model", "loss"), "agrees")


def test_a_source_is_wrong_and_what_only_shares_its_case_is_not() -> None:
    blamed = case("model", "differs", modules=(seen("Model.forward", "model", source=True),))
    assert outcomes(blamed) == {"Norm": "agrees", "Scaler": "agrees", "Model": "differs", "loss": "agrees"}


def test_every_method_of_a_class_must_be_right() -> None:
    blamed = case("scaler", "differs", modules=(seen("Scaler.scale", "scaler", source=True),))
    assert outcomes(blamed)["Scaler"] == "differs"


def test_no_part_is_right_by_a_case_that_differs_with_nobody_to_blame() -> None:
    assert "Model" not in outcomes(case("model", "differs"))


def test_a_part_that_raises_in_its_narrowest_case_is_not_right_because_a_wider_one_agrees() -> None:
    raised = case("norm", "could-not-run", modules=(seen("Norm.forward", "norm", "could-not-run", source=True),))
    assert outcomes(raised)["Norm"] == "could-not-run"
    assert outcomes(case("norm", "could-not-run", **failed("timeout", "it hung")))["Norm"] == "could-not-run"


def test_a_class_whose_own_case_agrees_is_not_wrong_because_of_another() -> None:
    victim = case("whole", "differs", modules=(seen("Norm.forward", "whole"), seen("loss", "whole", source=True)))
    assert outcomes(victim)["Norm"] == "agrees"


def test_what_was_given_wrong_inputs_and_is_right_on_golds_own_is_right() -> None:
    """Its narrowest case is somebody else's fault."""
    modules = (seen("Norm.forward", "model", source=True), seen("Model.forward", "model", "agrees", alone=True))
    cases = [case(name) if name != "model" else case("model", "differs", modules=modules) for name in RUNS]
    whole = case("whole", "differs", modules=(seen("Norm.forward", "whole", source=True),))
    parts = {part.name: part for part in judge_parts([*cases[:-1], whole], SHOWN)}
    assert (parts["Model"].outcome, parts["Model"].alone) == ("agrees", True)


evidence = st.lists(
    st.builds(
        seen,
        st.sampled_from(NAMES),
        st.sampled_from(list(RUNS)),
        st.sampled_from(["agrees", "differs", "could-not-run"]),
        source=st.booleans(),
        alone=st.booleans(),
        inferred=st.booleans(),
        tells=st.booleans(),
    ).filter(lambda item: not item.source or item.outcome != "agrees"),
    max_size=8,
)
verdicts = st.tuples(
    st.fixed_dictionaries(
        {name: st.sampled_from(["agrees", "differs", "could-not-run", "provided-changed"]) for name in RUNS}
    ),
    evidence,
    st.fixed_dictionaries({name: st.sets(st.sampled_from(NAMES)) for name in RUNS}),
)
Found = tuple[dict[str, str], list[ModuleVerdict], dict[str, set[str]]]


def made(found: Found) -> list[CaseVerdict]:
    by_case, modules, unseen = found
    wrong = {name for name, outcome in by_case.items() if outcome in ("differs", "could-not-run")}
    return [
        case(
            name,
            outcome,
            modules=tuple(item for item in modules if item.case == name and outcome != "agrees"),
            unseen=tuple(sorted(unseen[name] & set(RUNS[name]))) if name in wrong else (),
        )
        for name, outcome in by_case.items()
    ]


@given(verdicts)
def test_a_right_part_has_no_case_that_speaks_against_it(found: Any) -> None:
    cases = {item.name: item for item in made(found)}
    parts = list(judge_parts(list(cases.values()), SHOWN))
    for name in {name for part in parts if part.outcome == "agrees" for name in NAMES if part_of(name) == part.name}:
        showing = SHOWN.showing(name)
        assert not any(item.source for other in cases.values() for item in other.modules if item.callable == name)
        if any(cases[narrow].outcome not in ("agrees", "provided-changed") for narrow in SHOWN.narrowest(name)):
            bad = [cases[other] for other in showing if cases[other].outcome not in ("agrees", "provided-changed")]
            assert all(any(item.source for item in other.modules) for other in bad), "somebody else is to blame"
            own = [item for other in cases.values() for item in other.modules if item.callable == name]
            assert any(item.tells for item in own), "and seen right"
        assert not any(name in cases[other].unseen for other in showing), "it hid there"


@given(verdicts, st.permutations(list(RUNS)))
def test_the_order_of_cases_changes_no_part(found: Any, order: list[str]) -> None:
    cases = made(found)
    shown = PartCoverage({name: RUNS[name][::-1] for name in order}, {})
    turned = sorted(cases, key=lambda item: order.index(item.name))
    assert {part.name: part.outcome for part in judge_parts(cases, SHOWN)} == {
        part.name: part.outcome for part in judge_parts(turned, shown)
    }


@given(verdicts)
def test_points_are_no_more_than_what_agrees_is_worth(found: Any) -> None:
    cases = made(found)
    parts = tuple(judge_parts(cases, SHOWN))
    shown = {name: SHOWN.parts(name) for name in RUNS}
    names = list(dict.fromkeys(part for some in shown.values() for part in some))
    rubric = make_rubric(
        RubricConfig(cases=dict.fromkeys(RUNS, 1.0), parts=dict.fromkeys(names, 1.0)), list(RUNS), names, shown
    )
    right = ("agrees", "provided-changed")
    worth = sum(item.outcome in right for item in (*cases, *parts))
    assert sum(item.earned for item in score(verdict(*cases, parts=parts), rubric)) <= worth


@given(
    verdicts, st.sets(st.sampled_from(sorted({part_of(name) for name in NAMES}))), st.sets(st.sampled_from(list(RUNS)))
)
def test_nothing_is_earned_by_what_is_not_written_or_could_not_be_judged_sharply(
    found: Any, unwritten: set[str], coarse: set[str]
) -> None:
    cases = [msgspec.structs.replace(item, own_dtype_only=item.name in coarse) for item in made(found)]
    parts = tuple(judge_parts(cases, SHOWN))
    shown = {name: SHOWN.parts(name) for name in RUNS}
    names = list(dict.fromkeys(part for some in shown.values() for part in some))
    config = RubricConfig(cases=dict.fromkeys(RUNS, 1.0), parts=dict.fromkeys(names, 1.0))
    results = score(
        verdict(*cases, parts=parts, unwritten=tuple(unwritten)), make_rubric(config, list(RUNS), names, shown)
    )
    for item in results:
        if item.kind == "part" and item.name in unwritten:
            assert item.earned == 0
        if item.kind == "case" and (item.name in coarse or set(shown[item.name]) <= unwritten):
            assert item.earned == 0
            assert item.needs_review or item.outcome in ("differs", "could-not-run")


def test_one_agreeing_case_does_not_outvote_one_in_which_a_part_hides() -> None:
    hidden = case("model", "differs", modules=(seen("Model.forward", "model", source=True),), unseen=("Norm.forward",))
    assert "Norm" not in outcomes(hidden)


def test_a_hollow_case_clears_nobody_of_what_goes_wrong_elsewhere() -> None:
    wrong = case("model", "differs", modules=(seen("Model.forward", "model", source=True),))
    assert outcomes(wrong)["Norm"] == "agrees"
    assert "Norm" not in outcomes(wrong, hollow=("norm",))
    assert outcomes(hollow=("norm",))["Norm"] == "agrees"


def test_a_call_that_differs_and_that_nobody_explains_leaves_its_part_unjudged() -> None:
    wrong = case("model", "differs", modules=(seen("Norm.forward", "model"),))
    assert "Norm" not in outcomes(wrong)
    blamed = seen("Model.forward", "model", source=True)
    assert outcomes(case("model", "differs", modules=(seen("Norm.forward", "model"), blamed)))["Norm"] == "agrees"


def test_a_case_that_agrees_with_other_parts_corrected_counts_as_right_for_the_rest() -> None:
    source = seen("loss", "whole", source=True, inferred=True)
    wrong = case("whole", "differs", modules=(source,), corrected=("loss",))
    assert outcomes(wrong)["Model"] == "agrees"
    assert outcomes(wrong)["loss"] == "differs"


def test_a_part_that_had_to_be_replaced_together_with_a_wrong_one_is_not_judged() -> None:
    source = seen("loss", "whole", source=True)
    wrong = case("whole", "differs", modules=(source,), corrected=("Norm", "loss"))
    assert "Norm" not in outcomes(wrong)


def test_an_answer_that_takes_no_work_shows_nothing() -> None:
    modules = (seen("loss", "whole", source=True), seen("Model.forward", "model", "agrees", tells=False))
    blamed = seen("Norm.forward", "model", source=True)
    wrong = [case("model", "differs", modules=(blamed, modules[1])), case("whole", "differs", modules=modules[:1])]
    assert "Model" not in outcomes(*wrong)
