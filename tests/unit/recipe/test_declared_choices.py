"""What a recipe may say of a choice, and what is refused in a sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from goldsmith.errors.recipe import RecipeMisuse
from goldsmith.recipe.case import Case
from goldsmith.recipe.decorators import CaseDefinition

SCORES = np.random.default_rng(5).normal(size=(40, 17))
BEST = SCORES.argmax(-1)


def a_case() -> Case:
    return Case(CaseDefinition("gold_output", "output", lambda case: None), 42, "cpu")


@pytest.mark.parametrize(
    ("say", "sentence"),
    [
        (
            lambda it: it.choice("t", BEST, scores=SCORES[:-1]),
            r"a choice of shape \[40\] cannot have been made along axis",
        ),
        (lambda it: it.choice("t", BEST, scores=SCORES * 0), "all scores are equal, so nothing is chosen by them"),
        (lambda it: it.choice("t", BEST, scores=SCORES * np.nan), "680 of the scores are NaN"),
        (lambda it: it.choice("t", BEST, scores=SCORES, axis=2), r"axis 2 does not fit scores of shape \[40, 17\]"),
        (lambda it: it.choice("t", BEST + 17, scores=SCORES), "is chosen, and there are 17 to choose from"),
        (
            lambda it: it.choice("t", BEST * 0, scores=SCORES),
            "not what the highest scores choose: 0 is chosen, and the",
        ),
        (lambda it: it.choice("t", BEST, scores="logits"), "record 'logits', its scores, before it"),
        (lambda it: it.choice("t", BEST, scores=SCORES, steps=3), "steps=3 is not an axis of steps"),
        (lambda it: it.choice("t", BEST, scores=SCORES, ties="any"), 'ties="first" or "last"'),
        (lambda it: it.choice("t", BEST, scores=SCORES, uniforms=np.zeros(3)), "uniforms of shape"),
        (lambda it: it.record("t", 3.0, unordered=True), "has no rows that could come in any order"),
        (lambda it: it.continues("t", len), "a case.choice of that name before it"),
        (lambda it: (it.choice("t", BEST, scores=SCORES, steps=0), it.continues("t", len)), "a function for scores="),
    ],
)
def test_scores_that_cannot_be_are_refused_in_a_sentence(say: Callable[[Case], Any], sentence: str) -> None:
    case = a_case()
    with pytest.raises(RecipeMisuse, match=sentence):  # noqa: PT012
        say(case)
        case.declared_choices()


@pytest.mark.parametrize(
    ("value", "options", "best"),
    [
        (BEST, {}, "highest"),
        (SCORES.argmin(-1), {}, "lowest"),
        (SCORES.argmax(0), {"axis": 0}, "highest"),
        (np.argsort(SCORES, axis=-1), {}, "lowest"),
        (np.argsort(-SCORES, axis=-1)[:, :3][:, ::-1], {"unordered": True}, "highest"),
        (BEST.tolist(), {}, "highest"),
        (int(SCORES[0].argmax()), {"scores": SCORES[0]}, "highest"),
        ((SCORES**2).cumsum(-1).__le__(0.4 * (SCORES**2).sum(-1, keepdims=True)).sum(-1),
         {"scores": SCORES**2, "uniforms": np.full(40, 0.4)}, "highest"),
    ],
)  # fmt: skip
def test_what_is_chosen_is_known_from_the_scores(value: Any, options: dict[str, Any], best: str) -> None:
    case = a_case()
    case.choice("t", value, **{"scores": SCORES, **options})
    (choice,) = case.declared_choices()
    assert choice.best == best
    assert case.item_names.outputs == ("t", "t_scores")


def test_hidden_scores_are_not_recorded() -> None:
    case = a_case()
    case.choice("t", BEST, scores=lambda chosen: SCORES)
    assert case.item_names.outputs == ("t",)
    assert case.declared_choices()[0].scores == ""
