"""Ports whose authors write otherwise: forward called by its name, experts one by one, masks and tables in other forms,
scales inside a module or around it, positions in a buffer."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import goldsmith
from goldsmith.instruments.module_traces import Tracer
from goldsmith.judge.module_names import module_names

pytestmark = pytest.mark.torch
DIM, WORDS = 8, 13
IDS = torch.tensor([[3, 1, 4, 1, 5], [9, 2, 6, 5, 3]])


def drawn(model: nn.Module, seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    with torch.no_grad():
        for weight in model.parameters():
            weight.copy_(torch.randn_like(weight) * 0.5)
    return model


# --- a model that hands a mask and tables down ------------------------------------------------------------------------


class Attention(nn.Module):
    """Turns channels by tables of cosines and sines, which it is given as its author likes; so is the mask."""

    def __init__(self, ours: bool, bug: str = "") -> None:
        super().__init__()
        self.ours, self.bug = ours, bug
        self.qkv, self.out = nn.Linear(DIM, 3 * DIM), nn.Linear(DIM, DIM)

    def forward(self, x: Any, mask: Any, cos: Any, sin: Any) -> Any:
        q, k, v = self.qkv(x).chunk(3, -1)
        if self.ours:
            length = x.shape[1]
            cos, sin = (torch.cat((table[:length], table[:length]), -1) for table in (cos, sin))
        q, k = (item * cos + torch.cat((-item[..., DIM // 2 :], item[..., : DIM // 2]), -1) * sin for item in (q, k))
        scores = q @ k.mT * (1.0 if self.bug == "scale" else DIM**-0.5)
        scores = scores.masked_fill(mask, -torch.inf) if self.ours else scores + mask[:, 0]
        return self.out(scores.softmax(-1) @ v)


class Block(nn.Module):
    def __init__(self, ours: bool, bug: str) -> None:
        super().__init__()
        self.norm, self.att = nn.LayerNorm(DIM), Attention(ours, bug)
        self.by_name = ours

    def forward(self, x: Any, *given: Any) -> Any:
        return x + (self.att.forward(self.norm(x), *given) if self.by_name else self.att(self.norm(x), *given))


class Decoder(nn.Module):
    def __init__(self, ours: bool = False, bug: str = "") -> None:
        super().__init__()
        self.ours, self.bug = ours, bug
        self.embed = nn.Embedding(WORDS, DIM)
        self.blocks = nn.ModuleList([Block(ours, bug), Block(ours, bug)])

    def forward(self, ids: Any) -> Any:
        x, length = self.embed(ids), ids.shape[1]
        base = 50.0 if self.bug == "base" else 100.0
        angles = torch.outer(torch.arange(2 * length), base ** -torch.linspace(0, 1, DIM // 2))
        future = torch.ones(length, length, dtype=torch.bool).triu(2 if self.bug == "mask" else 1)
        if self.ours:
            size = 2.0 if self.bug == "size" else 1.0
            given = future, size * angles.cos(), size * angles.sin()
        else:
            mask = torch.zeros(length, length, dtype=x.dtype).masked_fill(future, torch.finfo(x.dtype).min)
            angles = torch.cat((angles, angles), -1)[None, :length]
            given = mask.expand(len(ids), 1, -1, -1), angles.cos(), angles.sin()
        for block in self.blocks:
            x = block(x, *given)
        return x


@pytest.mark.parametrize(("bug", "first"), [("mask", "Decoder"), ("base", "Decoder"), ("scale", "blocks.0.att")])
def test_masks_and_tables_in_another_form_are_compared(bug: str, first: str) -> None:
    found = goldsmith.parity(drawn(Decoder()), Decoder(ours=True, bug=bug), IDS)
    assert found.outcome == "differs"
    assert (found.first_divergence, found.report.first_how) == (first, "seen"), str(found)


def test_what_is_given_something_that_the_reference_does_not_have_is_inferred() -> None:
    found = goldsmith.parity(drawn(Decoder()), Decoder(ours=True, bug="size"), IDS)
    assert (found.first_divergence, found.report.first_how) == ("blocks.0.att", "inferred")
    assert "it, or what gives it an input that the reference does not have" in {item.why for item in found.modules}


def test_a_module_whose_forward_is_called_by_its_name_is_judged() -> None:
    found = goldsmith.parity(drawn(Decoder()), Decoder(ours=True), IDS)
    assert found, str(found)
    assert {item.name: item.role for item in found.modules}["blocks.1.att"] == ""


def test_classes_are_as_they_were_after_a_trace_and_copies_of_modules_are_left_alone() -> None:
    before = Block.forward, Attention.forward
    model, copy = Decoder(ours=True), Block(True, "")
    tracer = Tracer(forwards=True)
    tracer.attach("model", model, dict)
    try:
        copy.forward(torch.randn(1, 2, DIM), torch.zeros(2, 2, dtype=torch.bool), *torch.rand(2, 2, DIM // 2))
        assert tracer.index == []
        model.forward(IDS)
        assert [entry["module"] for entry in tracer.index].count("blocks.0.att") == 1
    finally:
        tracer.detach()
    assert (Block.forward, Attention.forward) == before


# --- experts ----------------------------------------------------------------------------------------------------------


class Stacked(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Parameter(torch.zeros(3, 12, DIM)), nn.Parameter(torch.zeros(3, DIM, 12))

    def forward(self, x: Any, weights: Any) -> Any:
        outputs = (F.relu(x @ up.T) @ down.T for up, down in zip(self.up, self.down, strict=True))
        return sum(item * weights[..., number, None] for number, item in enumerate(outputs))


class Mixture(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gate, self.experts = nn.Linear(DIM, 3, bias=False), Stacked()

    def forward(self, x: Any) -> Any:
        return self.experts(x, self.gate(x).softmax(-1))


class Expert(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(DIM, 12, bias=False), nn.Linear(12, DIM, bias=False)

    def forward(self, x: Any) -> Any:
        return self.down(F.relu(self.up(x)))


class OneByOne(nn.Module):
    def __init__(self, bug: str) -> None:
        super().__init__()
        self.gate, self.bug = nn.Linear(DIM, 3, bias=False), bug
        self.experts = nn.ModuleList(Expert() for _ in range(3))

    def forward(self, x: Any) -> Any:
        weights = self.gate(x).sigmoid() if self.bug else self.gate(x).softmax(-1)
        return sum(expert(x) * weights[..., number, None] for number, expert in enumerate(self.experts))


class Layer(nn.Module):
    def __init__(self, moe: nn.Module) -> None:
        super().__init__()
        self.norm, self.moe = nn.LayerNorm(DIM), moe

    def forward(self, x: Any) -> Any:
        return x + self.moe(self.norm(x))


class Layers(nn.Module):
    def __init__(self, *mixtures: nn.Module) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer(moe) for moe in mixtures)

    def forward(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x)
        return x


class Wrapped(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.model = Layers(Mixture(), Mixture())

    def forward(self, x: Any) -> Any:
        return self.model(x)


def test_experts_one_by_one_do_not_pair_a_layer_with_the_model_around_it() -> None:
    x = torch.randn(2, 5, DIM)
    assert goldsmith.parity(drawn(Wrapped()), Layers(OneByOne(""), OneByOne("")), x)
    found = goldsmith.parity(drawn(Wrapped()), Layers(OneByOne("sigmoid"), OneByOne("sigmoid")), x)
    assert found.first_divergence == "model.layers.0.moe", str(found)


def test_a_weight_in_the_place_of_several_pairs_the_module_that_holds_it_with_the_one_around_those() -> None:
    experts = [f"layers.0.ff.experts.{number}.up.weight" for number in range(3)]
    fused = [f"model.layers.0.self_attn.{part}_proj.bias" for part in "qkv"]
    there = {"", "layers", "layers.0", "layers.0.attn", "layers.0.ff", "layers.0.ff.experts"}
    there |= {"layers.0.attn.c_attn", "layers.0.ff.experts.0", "layers.0.ff.experts.0.up"}
    for joined in ("layers.0.attn.in_proj_bias", "layers.0.attn.c_attn.bias"):
        found = module_names([(["model.layers.0.mlp.experts.up"], experts), (fused, [joined])], [], there)
        assert found["model.layers.0.mlp.experts"] == "layers.0.ff.experts"
        assert found["model.layers.0.mlp"] == "layers.0.ff"
        assert found["model.layers.0.self_attn"] == "layers.0.attn"
        assert found["model.layers.0"] == "layers.0"


# --- what one does inside, and the other around it --------------------------------------------------------------------


class ScaledEmbedding(nn.Embedding):
    def forward(self, input: Any) -> Any:
        return super().forward(input) * 3.0


class Scaled(nn.Module):
    def __init__(self, inside: bool, bug: str = "") -> None:
        super().__init__()
        self.embed = (ScaledEmbedding if inside else nn.Embedding)(WORDS, DIM)
        self.inside, self.bug = inside, bug
        self.norm, self.out = nn.LayerNorm(DIM, eps=1e-2 if bug == "eps" else 1e-5), nn.Linear(DIM, DIM)

    def forward(self, ids: Any) -> Any:
        x = self.embed(ids)
        return self.out(self.norm(x if self.inside or self.bug == "scale" else x * 3.0))


def test_what_is_made_up_for_around_a_module_is_no_difference() -> None:
    assert goldsmith.parity(drawn(Scaled(True)), Scaled(False), IDS)
    assert goldsmith.parity(drawn(Scaled(True)), Scaled(False, "eps"), IDS).first_divergence == "norm"
    assert goldsmith.parity(drawn(Scaled(True)), Scaled(False, "scale"), IDS).first_divergence == "embed"


class Cross(nn.Module):
    def __init__(self, looks_at_itself: bool = False) -> None:
        super().__init__()
        self.attention, self.looks_at_itself = Looking(), looks_at_itself
        self.start, self.end = nn.Linear(DIM, DIM), nn.Linear(DIM, DIM)

    def forward(self, x: Any, other: Any) -> Any:
        x = self.start(x)
        return self.end(x + self.attention(x, x if self.looks_at_itself else other))


class Looking(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q, self.kv = nn.Linear(DIM, DIM), nn.Linear(DIM, DIM)

    def forward(self, x: Any, other: Any) -> Any:
        keys = self.kv(other)
        return (self.q(x) @ keys.mT).softmax(-1) @ keys


def test_a_module_that_is_given_another_one_s_input_of_another_length_is_a_victim() -> None:
    inputs = (torch.randn(2, 5, DIM), torch.randn(2, 7, DIM))
    found = goldsmith.parity(drawn(Cross()), Cross(looks_at_itself=True), inputs)
    assert found.first_divergence == "Cross", str(found)


# --- names ------------------------------------------------------------------------------------------------------------


class Gated(nn.Module):
    def __init__(self, embed: str = "embed_tokens", swapped: bool = False) -> None:
        super().__init__()
        self.embed, self.swapped = embed, swapped
        self.add_module(embed, nn.Embedding(WORDS, DIM))
        self.gate_proj, self.up_proj = nn.Linear(DIM, 12, bias=False), nn.Linear(DIM, 12, bias=False)
        self.down_proj = nn.Linear(12, DIM, bias=False)

    def forward(self, ids: Any) -> Any:
        x = getattr(self, self.embed)(ids)
        gate, up = self.gate_proj(x), self.up_proj(x)
        return self.down_proj(F.silu(up) * gate if self.swapped else F.silu(gate) * up)


def test_weights_of_the_same_name_are_not_exchanged_until_two_models_agree() -> None:
    found = goldsmith.parity(drawn(Gated()), Gated("embedder", swapped=True), IDS)
    assert found.outcome == "differs", str(found)
    assert found.first_divergence == "Gated"
    assert any("against their names, gate_proj as up_proj" in note for note in found.report.notes)
    assert goldsmith.parity(drawn(Gated()), Gated("embedder"), IDS)


class Places(nn.Module):
    def __init__(self, buffer: bool) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, DIM)
        self.buffer = buffer
        if buffer:
            self.register_buffer("positional_embedding", torch.zeros(6, DIM))
        else:
            self.embed_positions = nn.Embedding(6, DIM).requires_grad_(False)

    def forward(self, ids: Any) -> Any:
        places = self.positional_embedding if self.buffer else self.embed_positions.weight
        return self.words(ids) + places[: ids.shape[1]]


def test_positions_that_are_a_buffer_get_the_reference_s() -> None:
    assert goldsmith.parity(drawn(Places(False)), Places(True), IDS)


# --- never called, and torch's own attention --------------------------------------------------------------------------


class Tower(nn.Module):
    def __init__(self, skipped: bool, pooled: bool) -> None:
        super().__init__()
        self.proj, self.norm, self.last = nn.Linear(DIM, DIM), nn.LayerNorm(DIM), nn.Linear(DIM, DIM)
        self.skipped, self.pooled = skipped, pooled

    def forward(self, x: Any) -> Any:
        x = self.proj(x)
        x = self.last(x if self.skipped else self.norm(x))
        return x[:, 0] if self.pooled else x


class Towers(nn.Module):
    def __init__(self, skipped: bool = False, pooled: bool = False) -> None:
        super().__init__()
        self.tower, self.pooled = Tower(skipped, pooled), pooled

    def forward(self, x: Any) -> Any:
        return self.tower(x) if self.pooled else self.tower(x)[:, 0]


def test_the_innermost_module_around_what_is_never_called_is_blamed() -> None:
    found = goldsmith.parity(drawn(Towers()), Towers(skipped=True, pooled=True), torch.randn(2, 5, DIM))
    assert found.first_divergence == "tower", str(found)
    assert "tower.norm is never called" in str(found)


class SelfAttention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q_proj, self.k_proj, self.v_proj = (nn.Linear(DIM, DIM) for _ in "qkv")
        self.out_proj = nn.Linear(DIM, DIM)

    def forward(self, x: Any, mask: Any = None) -> Any:
        q, k, v = (proj(x).unflatten(-1, (2, -1)).transpose(1, 2) for proj in (self.q_proj, self.k_proj, self.v_proj))
        return self.out_proj(F.scaled_dot_product_attention(q, k, v, mask).transpose(1, 2).flatten(2))


class Encoder(nn.Module):
    def __init__(self, ours: bool = False, bug: str = "", masked: bool = False) -> None:
        super().__init__()
        self.masked = masked
        self.pre = nn.LayerNorm(DIM, eps=1e-2 if bug else 1e-5)
        self.self_attn = nn.MultiheadAttention(DIM, 2, batch_first=True) if ours else SelfAttention()
        self.ours = ours

    def forward(self, x: Any) -> Any:
        x = self.pre(x)
        if self.ours:
            return x + self.self_attn(x, x, x, need_weights=False)[0]
        future = torch.full((x.shape[1],) * 2, torch.finfo(x.dtype).min, dtype=x.dtype).triu(1)
        return x + (self.self_attn(x, future) if self.masked else self.self_attn(x))


def test_one_tensor_that_is_given_three_times_is_right_three_times_where_a_module_runs_alone() -> None:
    found = goldsmith.parity(drawn(Encoder()), Encoder(ours=True, bug="eps"), torch.randn(2, 5, DIM))
    assert found.first_divergence == "pre", str(found)
    assert {item.name: item.role for item in found.modules}["self_attn"] == "victim"


def test_what_torch_s_own_module_is_not_given_is_its_caller_s_mistake() -> None:
    found = goldsmith.parity(drawn(Encoder(masked=True)), Encoder(ours=True), torch.randn(2, 5, DIM))
    assert found.first_divergence == "Encoder", str(found)
    assert "self_attn is not given all that it is in the reference" in str(found)
