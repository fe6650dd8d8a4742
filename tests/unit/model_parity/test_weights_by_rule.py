"""Rules of an adapter for the forms in which the same weights are stored, and a function that converts them."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import goldsmith
from goldsmith.weights.rule_lines import line_of
from goldsmith.weights.rules import read_adapter
from goldsmith.weights.transplant import plan
from support import port_styles as styles

pytestmark = pytest.mark.torch

GPT = """
    rename("transformer.wte.weight", "tok_emb.weight")
    rename("transformer.wpe.weight", "pos_emb.weight")
    rename("transformer.h.*.ln_1.*", "trf_blocks.*.norm1.*")
    rename("transformer.h.*.ln_2.*", "trf_blocks.*.norm2.*")
    rows("transformer.h.*.attn.c_attn.*",
         ["trf_blocks.*.att.W_query.*", "trf_blocks.*.att.W_key.*", "trf_blocks.*.att.W_value.*"], transpose=True)
    rename("transformer.h.*.attn.c_proj.*", "trf_blocks.*.att.out_proj.*", transpose=True)
    rename("transformer.h.*.mlp.c_fc.*", "trf_blocks.*.ff.0.*", transpose=True)
    rename("transformer.h.*.mlp.c_proj.*", "trf_blocks.*.ff.2.*", transpose=True)
    rename("transformer.ln_f.*", "final_norm.*")
    rename("lm_head.weight", "out_head.weight")
"""
MOE = """
    rename("norm.*", "pre_norm.*")
    rename("gate.weight", "router.weight")
    rows("experts.gate_up_proj", ["experts.#.w1.weight", "experts.#.w3.weight"])
    rename("experts.down_proj", "experts.#.w2.weight")
"""
LAYERS = """
    rename("scale", "layers.#.norm.weight")
    rename("up", "layers.#.up.weight", transpose=True)
    rename("down", "layers.#.down.weight", transpose=True)
"""
X = torch.randn(2, 5, styles.DIM, generator=torch.Generator().manual_seed(3))


def rules(folder: Path, text: str) -> Path:
    file = folder / "adapter.py"
    file.write_text("from goldsmith.adapter import *\n" + textwrap.dedent(text))
    return file


def swapped(text: str) -> str:
    """Return the same rules for the other direction."""
    source = ("from goldsmith.adapter import *\n" + textwrap.dedent(text)).encode()
    lines = []
    for rule in read_adapter(source, "adapter.py").rules:
        kind = line_of(rule).partition("(")[0]
        gold, theirs = (
            f"[{', '.join(repr(item.name) for item in side)}]" if len(side) > 1 else repr(side[0].name)
            for side in (rule.gold, rule.theirs)
        )
        lines.append(f"{kind}({theirs}, {gold}{', transpose=True' if rule.transpose else ''})")
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("reference", "candidate", "text", "inputs"),
    [
        (styles.FusedGpt, styles.SplitGpt, GPT, styles.IDS),
        (styles.MoeTogether, styles.MoeApart, MOE, X),
        (styles.LayersTogether, styles.LayersApart, LAYERS, X),
    ],
    ids=["fused and turned", "experts", "layers"],
)
def test_the_common_forms_can_be_said_in_both_directions(
    reference: Any, candidate: Any, text: str, inputs: Any, tmp_path: Path
) -> None:
    found = goldsmith.parity(reference(), candidate(), inputs, adapter=rules(tmp_path, text))
    assert found, str(found)
    assert {case.outcome for case in found.report.cases} == {"agrees"}
    assert len(found.report.cases) == 2, "gradients come back under the reference's names"
    back = goldsmith.parity(candidate(), reference(), inputs, adapter=rules(tmp_path, swapped(text)))
    if reference is styles.FusedGpt:  # its head is tied, and that of the other is not
        assert back.first_divergence == "out_head"
        assert "lm_head.weight is tied to transformer.wte.weight, and out_head.weight is not tok_emb.weight" in str(
            back
        )
        tied = goldsmith.parity(candidate(tied=True), reference(), inputs, adapter=rules(tmp_path, swapped(text)))
        assert tied, str(tied)
    else:
        assert back, str(back)


@pytest.mark.parametrize(("mistake", "first"), [("scale", "transformer.h.1.attn"), ("eps", "transformer.h.1.ln_1")])
def test_a_wrong_port_whose_weights_are_placed_by_rules_is_named(mistake: str, first: str, tmp_path: Path) -> None:
    found = goldsmith.parity(styles.FusedGpt(), styles.SplitGpt(mistake), styles.IDS, adapter=rules(tmp_path, GPT))
    assert found.outcome == "differs", str(found)
    assert found.first_divergence == first, str(found)


def test_an_untied_head_gets_the_numbers_of_the_tied_one_without_a_rule_and_its_gradient_is_its_own(
    tmp_path: Path,
) -> None:
    text = GPT.replace('rename("lm_head.weight", "out_head.weight")', "")
    found = goldsmith.parity(styles.FusedGpt(), styles.SplitGpt(), styles.IDS, adapter=rules(tmp_path, text))
    assert [case.outcome for case in found.report.cases] == ["agrees", "differs"], str(found)
    assert any("tied, and the model apart: out_head.weight for lm_head.weight" in note for note in found.report.notes)


def test_norms_of_q_and_k_do_not_keep_q_k_and_v_from_being_fused() -> None:
    one, two = styles.NamedLlama(normed=True), styles.NumberedLlama(normed=True, fused=True)
    shapes = [{name: tuple(item.shape) for name, item in model.named_parameters()} for model in (one, two)]
    names = [{name: shape for name, shape in side.items() if "attn" in name or "attention" in name} for side in shapes]
    kept = {name: shape for name, shape in names[0].items() if "proj" in name or "_norm." in name}
    there = {name: shape for name, shape in names[1].items() if "norm" not in name}
    placed = plan(kept, there, read_adapter(b"", ""), "", {}).placed
    assert any(item.theirs == ("layers.0.attention.wqkv.weight",) and len(item.gold) == 3 for item in placed)


# --- rules that place nothing -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('rename("decoder.*.weight", "router.*")', "the reference has no weight decoder.*.weight"),
        ('rename("gate.weight", "gating.weight")', "the candidate has no weight gating.weight"),
        ('rename("gate.weight", "pre_norm.weight")', "by their sizes gate.weight (3×8) cannot be pre_norm.weight (8)"),
        ('rename("experts.gate_up_proj", "experts.#.w9.weight")', "the candidate has no weight experts.0.w9.weight"),
        ('no_counterpart(gold="bias", reason="none")', "the reference has no weight bias"),
        ('no_counterpart(theirs="bias", reason="none")', "the candidate has no weight bias"),
    ],
)
def test_a_rule_that_places_nothing_is_an_error_that_names_it(line: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(goldsmith.GoldsmithError) as caught:
        goldsmith.parity(
            styles.MoeTogether(), styles.MoeApart(), X, adapter=rules(tmp_path, f"{line}\n{textwrap.dedent(MOE)}")
        )
    assert caught.value.exit_code == 2
    assert f"{line} in the adapter places nothing: {why}" in str(caught.value)


def test_a_rule_for_modules_without_weights_is_used(tmp_path: Path) -> None:
    class Net(nn.Module):
        def __init__(self, name: str) -> None:
            super().__init__()
            self.line = nn.Linear(4, 4)
            self.add_module(name, nn.Tanh())
            self.name = name

        def forward(self, x: Any) -> Any:
            return getattr(self, self.name)(self.line(x))

    adapter = rules(tmp_path, 'rename("act", "squash")')
    assert goldsmith.parity(Net("act"), Net("squash"), torch.randn(2, 4), adapter=adapter)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('rename("a.#", "b.#")', "# stands once"),
        ('rows(["a.#", "b"], "c")', "# stands"),
        ('rename("#.#", "b")', "once"),
    ],
)
def test_an_index_stands_on_one_side(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(goldsmith.GoldsmithError, match=said):
        goldsmith.parity(styles.MoeTogether(), styles.MoeApart(), X, adapter=rules(tmp_path, text))


@given(
    count=st.integers(1, 3),
    sizes=st.lists(st.integers(1, 3), min_size=1, max_size=3),
    width=st.integers(1, 3),
    transpose=st.booleans(),
    stacked=st.sampled_from(["gold", "theirs"]),
    fused=st.sampled_from(["gold", "theirs"]),
)
@settings(max_examples=60)
def test_stacked_weights_come_back_as_they_went(
    count: int, sizes: list[int], width: int, transpose: bool, stacked: str, fused: str
) -> None:
    def side(one: bool, name: str) -> tuple[Any, dict[str, tuple[int, ...]]]:
        """Return the names in a rule, and the shapes of the weights that they stand for."""
        rows = [sum(sizes)] if fused == name else sizes
        index = "" if stacked == name else "#."
        names = [f"{name}.{index}p{number}" for number in range(len(rows))]
        shapes = {}
        for number in range(count if index else 1):
            for pattern, size in zip(names, rows, strict=True):
                shape = (width, size) if transpose and name == "theirs" else (size, width)
                shapes[pattern.replace("#", str(number))] = shape if index else (count, *shape)
        return names if len(names) > 1 else names[0], shapes

    mine, gold = side(True, "gold")
    other, theirs = side(False, "theirs")
    options = f", parts={len(sizes)}" if len(sizes) > 1 else ""
    kind = "rows" if len(sizes) > 1 else "rename"
    if len({*sizes}) > 1 and len(sizes) > 1:
        options = f", parts={len(sizes)}"
    text = f"from goldsmith.adapter import *\n{kind}({mine!r}, {other!r}{options}, transpose={transpose})"
    (placed,) = plan(gold, theirs, read_adapter(text.encode(), "adapter.py"), "", {}).placed
    tensors = [torch.randn(gold[name]) for name in placed.gold]
    carried = placed.carry(tensors)
    assert {name: tuple(item.shape) for name, item in zip(placed.theirs, carried, strict=True)} == theirs
    for before, after in zip(tensors, placed.bring_back(carried), strict=True):
        assert torch.equal(before, after)


# --- convert ----------------------------------------------------------------------------------------------------------


def to_split(state: Mapping[str, Any]) -> dict[str, Any]:
    """What every project has: a function that makes its own state dict of the other's."""
    names = {"ln_1": "norm1", "ln_2": "norm2", "attn.c_proj": "att.out_proj", "mlp.c_fc": "ff.0", "mlp.c_proj": "ff.2"}
    found = {
        "tok_emb.weight": state["transformer.wte.weight"],
        "pos_emb.weight": state["transformer.wpe.weight"],
        "out_head.weight": state["lm_head.weight"],
        "final_norm.weight": state["transformer.ln_f.weight"],
        "final_norm.bias": state["transformer.ln_f.bias"],
    }
    for number in range(styles.LAYERS):
        old, new = f"transformer.h.{number}", f"trf_blocks.{number}"
        for leaf in ("weight", "bias"):
            for mine, theirs in names.items():
                value = state[f"{old}.{mine}.{leaf}"]
                found[f"{new}.{theirs}.{leaf}"] = value.T if "." in mine and leaf == "weight" else value
            parts = state[f"{old}.attn.c_attn.{leaf}"].chunk(3, -1)
            for name, part in zip(("query", "key", "value"), parts, strict=True):
                found[f"{new}.att.W_{name}.{leaf}"] = part.T if leaf == "weight" else part
    return found


def test_a_function_converts_the_weights_and_gradients_come_back_through_it() -> None:
    reference, candidate = styles.FusedGpt(), styles.SplitGpt()
    before = [{name: item.clone() for name, item in model.state_dict().items()} for model in (reference, candidate)]
    found = goldsmith.parity(reference, candidate, styles.IDS, convert=to_split, steps=1)
    outcomes = {case.name: case.outcome for case in found.report.cases}
    assert outcomes == {"forward": "agrees", "gradients": "agrees", "1 step": "differs"}, "the head is no longer tied"
    tied = goldsmith.parity(reference, styles.SplitGpt(tied=True), styles.IDS, convert=to_split, steps=1)
    assert tied, str(tied)
    for model, state in zip((reference, candidate), before, strict=True):
        assert all(torch.equal(item, state[name]) for name, item in model.state_dict().items())


@pytest.mark.parametrize(("mistake", "first"), [("scale", "transformer.h.1.attn"), ("gelu", "transformer.h.1.mlp.act")])
def test_a_wrong_port_whose_weights_were_converted_is_named(mistake: str, first: str) -> None:
    found = goldsmith.parity(styles.FusedGpt(), styles.SplitGpt(mistake), styles.IDS, convert=to_split)
    assert found.outcome == "differs"
    assert found.first_divergence == first, str(found)


def test_a_wrong_conversion_differs() -> None:
    def careless(state: Mapping[str, Any]) -> dict[str, Any]:
        found = to_split(state)
        found["trf_blocks.1.att.out_proj.weight"] = found["trf_blocks.1.att.out_proj.weight"].T
        return found

    found = goldsmith.parity(styles.FusedGpt(), styles.SplitGpt(), styles.IDS, convert=careless)
    assert found.outcome == "differs"


def test_a_conversion_that_computes_is_used_and_its_gradients_are_not_compared() -> None:
    class Shifted(nn.Module):
        def __init__(self, offset: float) -> None:
            super().__init__()
            self.gain, self.offset = nn.Parameter(torch.randn(4)), offset

        def forward(self, x: Any) -> Any:
            return x * (self.gain + self.offset)

    found = goldsmith.parity(
        Shifted(1.0), Shifted(0.0), torch.randn(3, 4), convert=lambda state: {"gain": state["gain"] + 1}
    )
    assert [(case.name, case.outcome) for case in found.report.cases] == [("forward", "agrees")], str(found)
    assert "gradients are not compared: convert does more than move numbers" in found.report.notes


@pytest.mark.parametrize(
    ("convert", "said"),
    [
        (lambda state: {}, "it has no values for the candidate's weight, bias"),
        (lambda state: [1], "it returns list, not a dict of tensors by name"),
        (lambda state: {"weight": 3}, "its weight is int, not a tensor"),
        (lambda state: {**state, "bias": state["weight"]}, "its bias has another size than the candidate's: 4×4 and 4"),
        (lambda state: state["nothing"], "convert fails: KeyError"),
    ],
)
def test_a_conversion_that_cannot_be_used_says_why(convert: Any, said: str) -> None:
    found = goldsmith.parity(nn.Linear(4, 4), nn.Linear(4, 4), torch.randn(2, 4), convert=convert)
    assert found.report.kind == "weights"
    assert said in str(found)


def test_what_it_returns_besides_is_told_and_weights_false_is_refused() -> None:
    one, two = nn.Linear(4, 4), nn.Linear(4, 4)
    found = goldsmith.parity(one, two, torch.randn(2, 4), convert=lambda state: {**state, "mask": torch.ones(2)})
    assert found, str(found)
    assert "convert also returns mask, which the candidate does not have" in found.report.notes
    with pytest.raises(goldsmith.GoldsmithError, match="cannot be used together with weights=False"):
        goldsmith.parity(one, two, torch.randn(2, 4), convert=dict, weights=False)
