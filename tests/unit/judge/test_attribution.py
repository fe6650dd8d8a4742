"""Who is to blame for a case: what was given right and answered wrong, never a victim, never by inference against what
its own case shows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from goldsmith.judge.blame import Blame
from goldsmith.judge.coverage import PartCoverage
from goldsmith.judge.localisation import IsolatedRuns, chosen_by_gold, judge_calls
from goldsmith.judge.policy import CLOSE
from goldsmith.judge.trace_pairs import TracePair, output_error
from goldsmith.judge.traces import Call, input_error, same_plain
from goldsmith.judge.verdicts import CaseVerdict, ModuleVerdict
from support.made_verdicts import case, failed, leaf

RIGHT, WRONG = np.arange(1.0, 7.0), np.arange(1.0, 7.0) * 1.5


def call(position: int, end: int, module: str, kind: str, given: Any = RIGHT, answer: Any = RIGHT, **more: Any) -> Call:
    form = more.pop("form", [[{"@tensor": 0}], {}])
    fields = {"inputs": (given,), "outputs": (answer,), "form": form, "own": True, "state": {}}
    return Call(position=position, end=end, model="model", module=module, kind=kind, **(fields | more))


GOLD = [call(0, 3, "", "Model"), call(1, 2, "norm", "Norm"), call(2, 3, "head", "Head")]
NAMES = {"model": {"": "", "norm": "norm", "head": "head"}}


def judged(*theirs: Call, gold: list[Call] = GOLD) -> dict[str, ModuleVerdict]:
    pair = TracePair("whole", gold, list(theirs), NAMES)
    pair.pair()
    return {item.label: item for item in judge_calls(pair, IsolatedRuns())}


def sources(found: dict[str, ModuleVerdict]) -> list[str]:
    return [name for name, item in found.items() if item.source]


def test_right_input_and_wrong_answer_is_the_source_and_what_holds_it_a_victim() -> None:
    found = judged(
        call(0, 3, "", "Model", answer=WRONG),
        call(1, 2, "norm", "Norm", answer=WRONG),
        call(2, 3, "head", "Head", given=WRONG, answer=WRONG),
    )
    assert sources(found) == ["norm"]
    assert "head" not in found, "a victim perhaps, a culprit perhaps"


def test_of_each_function_the_first_call_that_tells_is_made_alone_in_the_order_of_calls() -> None:
    gold = [
        call(0, 5, "", "Model"),
        call(1, 2, "0", "Drop", answer=RIGHT),
        call(2, 3, "1", "Norm", answer=RIGHT),
        call(3, 4, "2", "Norm", answer=WRONG),
        call(4, 5, "3", "Norm", answer=WRONG),
    ]
    assert [item.label for item in chosen_by_gold(gold)] == ["Model", "0", "2"]
    drawn = [replace(item, drew=item.module == "2") for item in gold]
    assert [item.label for item in chosen_by_gold(drawn)] == ["Model", "0", "3"]


def test_whoever_gives_a_right_module_the_wrong_thing_is_the_source() -> None:
    found = judged(
        call(0, 3, "", "Model", answer=WRONG),
        call(1, 2, "norm", "Norm"),
        call(2, 3, "head", "Head", given=WRONG, answer=WRONG),
    )
    assert sources(found) == ["Model"]


def test_a_library_module_is_never_blamed() -> None:
    gold = [call(0, 2, "", "Model"), call(1, 2, "norm", "Linear", own=False)]
    theirs = [call(0, 2, "", "Model", answer=WRONG), call(1, 2, "norm", "Linear", answer=WRONG, own=False)]
    assert sources(judged(*theirs, gold=gold)) == ["Model"]


def test_a_module_that_is_never_called_speaks_against_its_caller() -> None:
    found = judged(call(0, 2, "", "Model", answer=WRONG), call(1, 2, "norm", "Norm"))
    assert sources(found) == ["Model"]
    assert found["Model"].why == "head is never called"


def test_a_layer_whose_weights_are_used_by_other_means_is_not_said_to_be_never_called() -> None:
    theirs = [call(0, 1, "", "Model", answer=WRONG)]
    pair = TracePair("whole", GOLD, theirs, NAMES, {"model": ("head.weight",)})
    pair.weights = lambda: {"model": ("head.weight", "norm.scale")}
    assert [item.module for item in pair.never_called(GOLD[0])] == ["norm"]


@pytest.mark.parametrize("other", [{"training": True}, {"state": {"w": RIGHT}}, {"no_grad": True}, {"inference": True}])
def test_another_mode_or_state_is_another_input(other: dict[str, Any]) -> None:
    """Whoever set it is to blame."""
    gold = [GOLD[0], call(1, 2, "norm", "Norm", state={"w": WRONG} if "state" in other else {}), GOLD[2]]
    theirs = [call(0, 3, "", "Model", answer=WRONG), call(1, 2, "norm", "Norm", answer=WRONG, **other), GOLD[2]]
    assert sources(judged(*theirs, gold=gold)) == ["Model"]


def test_what_was_drawn_is_no_evidence() -> None:
    gold = [GOLD[0], call(1, 2, "norm", "Norm", drew=True), GOLD[2]]
    theirs = [call(0, 3, "", "Model", answer=WRONG), call(1, 2, "norm", "Norm", answer=WRONG), GOLD[2]]
    assert sources(judged(*theirs, gold=gold)) == ["Model"]


def test_an_output_cut_off_from_its_gradients_is_wrong() -> None:
    gold = [call(0, 1, "", "Model", learns=(True,))]
    found = judged(call(0, 1, "", "Model", learns=(False,)), gold=gold)
    assert found["Model"].why == "its output is cut off from its gradients"
    assert found["Model"].source


def test_who_overwrites_its_input_is_to_blame_for_who_used_it_next() -> None:
    theirs = [call(0, 3, "", "Model", answer=WRONG), call(1, 2, "norm", "Norm", overwrote=True), GOLD[2]]
    found = judged(*theirs)
    assert (sources(found), found["norm"].why) == (["norm"], "it overwrites its input")


def test_other_arguments_than_golds_are_blame_that_is_shared() -> None:
    more = [[{"@tensor": 0}, {"@tensor": 1}], {}]
    theirs = [
        call(0, 3, "", "Model", answer=WRONG),
        call(1, 2, "norm", "Norm", answer=WRONG, inputs=(RIGHT, RIGHT[:2]), form=more),
        GOLD[2],
    ]
    found = judged(*theirs)
    assert (found["norm"].source, found["norm"].shared, found["norm"].inferred) == (True, True, True)


def test_noise_that_grows_is_no_source() -> None:
    off = RIGHT * (1 + CLOSE / 2)
    far = RIGHT * (1 + CLOSE * 5)
    theirs = [call(0, 3, "", "Model", answer=WRONG), call(1, 2, "norm", "Norm", given=off, answer=far), GOLD[2]]
    assert sources(judged(*theirs)) == ["Model"]


def test_inputs_are_compared_in_order_where_that_can_be() -> None:
    one, two, other = RIGHT, WRONG, RIGHT[:2]
    assert input_error([two, one], [one, two], in_order=False) > CLOSE
    assert input_error([other, one], [one, other], in_order=False) == 0, "another signature"
    assert input_error([other, one], [one, other], in_order=True) == np.inf, "the assignment says which comes first"
    assert input_error([one, other], [one], in_order=False) == 0, "more than gold's is no other input"


def test_what_a_function_returns_has_an_order_and_what_a_module_of_a_port_returns_has_none() -> None:
    gold = call(0, 1, "", "tables", outputs=(RIGHT, WRONG), function="tables")
    assert output_error(call(0, 1, "", "tables", outputs=(RIGHT, WRONG)), gold) == 0
    assert output_error(call(0, 1, "", "tables", outputs=(WRONG, RIGHT)), gold) > 0.1
    assert output_error(call(0, 1, "", "tables", outputs=(WRONG, RIGHT)), replace(gold, function="")) == 0


def test_plain_values_count() -> None:
    assert same_plain([{"a": 1.0, "b": "x"}], [{"a": 1.0 + 1e-9, "b": "x"}])
    assert not same_plain([[1, "x"]], [[2, "x"]])
    assert same_plain([{"@tensor": 0}], [{"@tensor": 1}]), "tensors are compared by themselves"


# --- who it is, of all that a submission's cases show ----------------------------------------------------------------

SHOWN = PartCoverage(
    {
        "norm": ("Norm.forward",),
        "model": ("Model.forward", "Norm.forward"),
        "train": ("train", "Model.forward", "loss"),
    },
    {"model": {"y": ("Model.forward",)}, "train": {"loss": ("loss",), "weights": ("train",)}},
)


def seen(name: str, in_case: str, **more: Any) -> ModuleVerdict:
    kind, _, function = name.partition(".")
    function = "" if function == "forward" else kind
    fields = {"outcome": "differs", "source": True}
    return ModuleVerdict(case=in_case, model="", name="", kind=kind, function=function, **(fields | more))


def blamed(*cases: CaseVerdict) -> dict[str, str]:
    named = {item.name: item for item in (*(case(name) for name in SHOWN.runs), *cases)}
    blame = Blame(named, SHOWN, {}, {})
    return {name: blame.attributed(item).first_part for name, item in named.items() if item.outcome != "agrees"}


def test_what_is_seen_counts_before_what_is_inferred() -> None:
    modules = (seen("Norm.forward", "model", inferred=True), seen("Model.forward", "model"))
    assert blamed(case("model", "differs", modules=modules)) == {"model": "Model"}


def test_a_part_caught_elsewhere_is_to_blame_for_a_case_that_shows_nothing() -> None:
    norm = case("norm", "differs", modules=(seen("Norm.forward", "norm"),))
    assert blamed(norm, case("model", "differs"))["model"] == "Norm"


def test_nobody_is_blamed_by_inference_whose_own_case_agrees() -> None:
    modules = (seen("Norm.forward", "model", inferred=True),)
    assert blamed(case("model", "differs", modules=modules)) == {"model": "Model"}


@pytest.mark.parametrize(("wrong", "part"), [("loss", "loss"), ("weights", "train")])
def test_the_first_wrong_record_says_whose_call_it_comes_from(wrong: str, part: str) -> None:
    order = ("loss", "weights")
    leaves = tuple(leaf(agrees=order.index(name) < order.index(wrong), path=f"output.{name}") for name in order)
    assert blamed(case("train", "differs", leaves=leaves, natural=leaves)) == {"train": part}


def test_of_what_raises_the_last_of_the_students_functions_is_named() -> None:
    raised = failed("raised", "ValueError: no", function="Norm.forward")
    assert blamed(case("model", "could-not-run", **raised)) == {"model": "Norm"}
    raised = failed("raised", "ValueError: no", function="Model.__init__")
    assert blamed(case("model", "could-not-run", **raised)) == {"model": "Model"}
