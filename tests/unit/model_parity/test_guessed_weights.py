"""Weights are placed by a guess where nobody says where they go: right ports agree, wrong ones are named, and the guess
is told."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

import goldsmith
from goldsmith.runs.implementation import Described
from goldsmith.runs.live.live_side import LiveSide
from goldsmith.weights.guesses import guess_places
from goldsmith.weights.roles import place_of, roles_of
from support import port_styles as styles

pytestmark = pytest.mark.torch
X = torch.randn(2, 5, styles.DIM, generator=torch.Generator().manual_seed(3))
GPT = (lambda: styles.FusedGpt(tied=False), styles.SplitGpt, styles.IDS)
LLAMA = (styles.NamedLlama, styles.NumberedLlama, styles.IDS)
SQUARE = (lambda: styles.NamedLlama(styles.DIM), lambda mistake: styles.NumberedLlama(mistake, styles.DIM), styles.IDS)
NORMED = (
    lambda: styles.NamedLlama(normed=True),
    lambda mistake: styles.NumberedLlama(mistake, normed=True, fused=True),
    styles.IDS,
)
MOE = (styles.MoeTogether, styles.MoeApart, X)
LAYERS = (styles.LayersTogether, styles.LayersApart, X)
STYLES = {"gpt": GPT, "llama": LLAMA, "square": SQUARE, "normed": NORMED, "moe": MOE, "layers": LAYERS}

WRONG = [
    ("gpt", "scale", "transformer.h.1.attn"),
    ("gpt", "mask", "transformer.h.1.attn"),
    ("gpt", "gelu", "transformer.h.1.mlp.act"),
    ("gpt", "eps", "transformer.h.1.ln_1"),
    ("gpt", "norms after", "transformer.h.1"),
    ("llama", "scale", "model.layers.1.self_attn"),
    ("llama", "gate and up", "model.layers.1.mlp"),
    ("llama", "act", "model.layers.1.mlp"),
    ("llama", "eps", "model.layers.1.input_layernorm"),
    ("llama", "residual", "model.layers.1"),
    ("square", "mask", "model.layers.1.self_attn"),
    ("square", "act", "model.layers.1.mlp"),
    ("square", "eps", "model.layers.1.input_layernorm"),
    ("normed", "k unnormed", "model.layers.1.self_attn"),
    ("normed", "gate and up", "model.layers.1.mlp"),
    ("normed", "residual", "model.layers.1"),
    ("moe", "act", "MoeTogether"),
    ("moe", "eps", "norm"),
    ("moe", "router", "MoeTogether"),
    ("layers", "eps", "LayersTogether"),
]
QUICK = {
    ("gpt", "scale"),
    ("llama", "eps"),
    ("square", "act"),
    ("normed", "residual"),
    ("moe", "eps"),
    ("layers", "eps"),
}
"""One of each style; `make test-long` tries all."""


@pytest.mark.parametrize("style", STYLES)
def test_a_right_port_agrees_by_the_guess_and_that_is_proof(style: str) -> None:
    reference, candidate, inputs = STYLES[style]
    found = goldsmith.parity(reference(), candidate(""), inputs)
    assert found, str(found)
    assert len(found.report.cases) == 2, "gradients are compared as well"
    guess = found.report.weights.guess
    assert guess is not None
    assert guess.sure == "proven"
    assert any(note.startswith("weights were placed by a guess, which") for note in found.report.notes)


@pytest.mark.parametrize(
    ("style", "mistake", "first"),
    [pytest.param(*item, marks=() if item[:2] in QUICK else pytest.mark.long) for item in WRONG],
)
def test_a_wrong_port_is_judged_by_the_guess_and_named(style: str, mistake: str, first: str) -> None:
    reference, candidate, inputs = STYLES[style]
    found = goldsmith.parity(reference(), candidate(mistake), inputs)
    assert found.outcome == "differs", str(found)
    assert found.first_divergence == first, str(found)
    guess = found.report.weights.guess
    assert guess is not None
    assert guess.sure in ("likely", "unsure")
    assert guess.by
    headline, *_ = str(found).splitlines()
    assert headline.endswith("with weights placed by a guess.")
    assert f"It is {guess.sure}, not proven, {guess.right} of {guess.of} modules agree by it" in str(found)


@pytest.mark.long
@pytest.mark.parametrize(("style", "mistake"), [item[:2] for item in WRONG])
@pytest.mark.parametrize("seed", range(3))
def test_no_wrong_port_agrees_by_any_guess(style: str, mistake: str, seed: int) -> None:
    reference, candidate, inputs = STYLES[style]
    models = styles.scramble(reference(), seed), styles.scramble(candidate(mistake), 10 + seed)
    assert goldsmith.parity(*models, inputs, seed=seed).outcome == "differs"


def test_what_names_do_not_settle_is_told_with_what_else_it_could_be() -> None:
    found = goldsmith.parity(styles.NamedLlama(), styles.NumberedLlama("gate and up"), styles.IDS)
    guess = found.report.weights.guess
    assert guess is not None
    assert guess.sure == "unsure"
    assert f"gate_proj as w3, up_proj as w1 ({guess.right} of {guess.of} modules agree)" in guess.others
    assert any(note.startswith("the guess could also be gate_proj as w3") for note in found.report.notes)


class Odd(nn.Module):
    """Names say nothing, and all three matrices have one shape; only the order of calls tells them apart."""

    def __init__(self, names: str, factor: float = 1.0) -> None:
        super().__init__()
        self.names, self.factor = names, factor
        for name in sorted(names):
            self.add_module(name, nn.Linear(4, 4))
        styles.scramble(self, len(names))

    def forward(self, x: Any) -> Any:
        first, second, third = (getattr(self, name) for name in self.names)
        return third(torch.tanh(second(torch.sin(first(x)))) * self.factor)


def test_the_order_of_calls_tells_apart_what_names_do_not() -> None:
    x = torch.randn(3, 4)
    assert goldsmith.parity(Odd("abc"), Odd("zyx"), x)
    found = goldsmith.parity(Odd("abc"), Odd("zyx", factor=1.5), x)
    assert found.outcome == "differs"
    guess = found.report.weights.guess
    assert guess is not None
    assert guess.by == ("order of calls",)
    placed = {mine: theirs for (mine,), (theirs,) in found.report.weights.placed}
    assert placed["a.weight"] == "z.weight"


def test_one_missing_bias_does_not_undo_the_rest() -> None:
    found = goldsmith.parity(styles.NumberedLlama(bias=True), styles.NamedLlama(), styles.IDS)
    assert found.outcome == "differs"
    assert found.first_divergence == "layers.0.feed_forward.w2", str(found)
    assert set(found.report.weights.unplaced) == {f"layers.{number}.feed_forward.w2.bias" for number in (0, 1)}
    told = "the candidate has no place for the reference's layers.0.feed_forward.w2.bias (8), layers.1.feed_forward.w2."
    assert any(note.startswith(told) for note in found.report.notes)


def test_a_head_that_is_tied_in_the_port_only_is_told_as_such() -> None:
    found = goldsmith.parity(styles.FusedGpt(tied=False), styles.SplitGpt(tied=True), styles.IDS)
    assert found.outcome == "differs"
    assert found.first_divergence == "lm_head", str(found)
    assert "out_head.weight is tied to tok_emb.weight, and lm_head.weight is not transformer.wte.weight" in str(found)


def test_parts_of_other_sizes_are_told_on_both_sides() -> None:
    found = goldsmith.parity(styles.NamedLlama(12), styles.NumberedLlama("", 20), styles.IDS)
    assert found.outcome == "differs"
    assert found.first_divergence.startswith("model.layers.0.mlp")
    (note,) = (note for note in found.report.notes if "has no place" in note)
    assert "model.layers.0.mlp.gate_proj.weight (12×8)" in note
    assert "left over in the candidate: layers.0.feed_forward.w1.weight (20×8)" in note


# --- the guesses themselves -----------------------------------------------------------------------------------------


def described(model: nn.Module) -> Described:
    return LiveSide(model, X, seed=0).describe()


def test_a_fit_as_it_is_comes_before_one_that_is_turned() -> None:
    reference, candidate = styles.NamedLlama(styles.DIM), styles.NumberedLlama("", styles.DIM)
    for models in ((reference, candidate), (styles.NamedLlama(), styles.NumberedLlama())):
        guess = guess_places(*map(described, models))[0]
        places = {rule.gold[0]: rule for rule in guess.rules}
        for mine, theirs in (("gate_proj", "w1"), ("up_proj", "w3"), ("down_proj", "w2")):
            rule = places[f"model.layers.*.mlp.{mine}.weight"]
            assert rule.theirs == (f"layers.*.feed_forward.{theirs}.weight",)
            assert not rule.transpose


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("model.layers.*.mlp.gate_proj", "layers.*.feed_forward.w1"),
        ("model.layers.*.mlp.up_proj", "blocks.*.ffn.w3"),
        ("h.*.mlp.c_fc", "blocks.*.mlp.fc1"),
        ("h.*.mlp.c_proj", "blocks.*.mlp.fc2"),
        ("h.*.attn.c_proj", "blocks.*.att.out_proj"),
        ("layers.*.self_attn.o_proj", "layers.*.attention.wo"),
        ("layers.*.self_attn.q_proj", "blocks.*.att.W_query"),
        ("layers.*.self_attn.q_norm", "blocks.*.att.q_scale"),
        ("h.*.ln_1", "layers.*.input_layernorm"),
        ("layers.*.post_attention_layernorm", "layers.*.ffn_norm"),
        ("transformer.wte", "model.embed_tokens"),
        ("transformer.wpe", "pos_emb"),
        ("lm_head", "out_head"),
        ("lm_head", "output"),
        ("transformer.ln_f", "model.norm"),
        ("model.layers.*.block_sparse_moe.gate", "blocks.*.moe.router"),
    ],
)
def test_names_that_people_use_for_the_same_speak_for_each_other(one: str, two: str) -> None:
    assert roles_of(one) & roles_of(two)
    assert {place_of(one), place_of(two)} - {""} in (set(), {place_of(one) or place_of(two)})


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("layers.*.self_attn.q_proj", "blocks.*.att.W_key"),
        ("layers.*.mlp.gate_proj", "layers.*.feed_forward.w2"),
        ("layers.*.mlp.up_proj", "layers.*.feed_forward.w2"),
        ("h.*.ln_1", "layers.*.post_attention_layernorm"),
        ("transformer.wte", "pos_emb"),
    ],
)
def test_names_that_people_use_for_others_speak_against_each_other(one: str, two: str) -> None:
    assert roles_of(one)
    assert roles_of(two)
    assert not roles_of(one) & roles_of(two)
