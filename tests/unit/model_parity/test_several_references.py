"""`goldsmith.parity([a, b], c, x)`: references are compared with each other first, and none of them comes first."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch
from torch import nn

import goldsmith
from goldsmith.errors.parity import BadReferences, CannotCombine
from goldsmith.model_parity.brief import in_brief

pytestmark = pytest.mark.torch
X = torch.randn(2, 5, 16, generator=torch.Generator().manual_seed(0))


class Attention(nn.Module):
    def __init__(self, fused: bool = False, scale: float = 1.0) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(16, 48), nn.Linear(16, 16)
        self.fused, self.scale = fused, scale

    def forward(self, x: Any) -> Any:
        q, k, v = (part.unflatten(-1, (2, 8)).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        if self.fused:
            found = nn.functional.scaled_dot_product_attention(q, k, v)
        else:
            found = torch.softmax(self.scale * q @ k.mT / 8**0.5, -1) @ v
        return self.out(found.transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self, **how: Any) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.norm, self.attention = nn.LayerNorm(16), Attention(**how)

    def forward(self, x: Any) -> Any:
        return x + self.attention(self.norm(x))


RIGHT = {"eager": Block(), "fused": Block(fused=True), "double": Block().double()}
WRONG = Block(scale=1.1)


def several(*names: str) -> dict[str, Any]:
    return {name: (RIGHT | {"wrong": WRONG})[name] for name in names}


def told(found: Any) -> dict[str, Any]:
    """Return what does not depend on the order in which references are given, or else something is wrong."""
    report = msgspec.structs.replace(found.report, seconds=0.0)
    plain = report.plain()
    several = plain["references"]
    plain["references"] = {
        "references": sorted(map(json.dumps, several["references"])),
        "spread": several["spread"],
        "pairs": sorted(json.dumps({**pair, "one": "", "other": ""}) for pair in several["pairs"]),
    }
    plain["reference"] = sorted(plain["reference"].replace(" and ", ", ").split(", "))
    return plain


@pytest.mark.parametrize(
    ("candidate", "outcome"),
    [({"fused": True}, "agrees"), ({"scale": 1.05}, "differs"), ({"scale": 1.1}, "differs")],
    ids=["right", "wrong", "wrong as the reference that is singled out"],
)
def test_one_wrong_reference_of_four_is_singled_out_whichever_comes_first(
    candidate: dict[str, Any], outcome: str
) -> None:
    orders = [("eager", "fused", "double", "wrong"), ("wrong", "double", "fused", "eager")]
    found = [goldsmith.parity(several(*order), Block(**candidate), X, gradients=False) for order in orders]
    assert {item.outcome for item in found} == {outcome}
    assert all(told(item) == told(found[0]) for item in found)
    report = found[0].report
    assert report.references is not None
    assert report.references.singled_out == ["wrong"]
    assert "wrong is singled out, far from all other references" in str(found[0])
    assert report.first_divergence == ("attention" if outcome == "differs" else "")
    if candidate == {"scale": 1.1}:
        assert "it agrees with wrong, which is far from all other references" in report.notes


def test_of_two_references_that_differ_nobody_can_say_which_is_right(tmp_path: Path) -> None:
    found = goldsmith.parity(several("eager", "wrong"), Block(fused=True), X)
    assert (found.outcome, bool(found), found.report.exit_code) == ("references-differ", False, 3)
    report = found.report
    assert report.reason == "it agrees with eager and not with wrong, and these differ from each other"
    assert report.first is None
    assert not report.references.singled_out
    text = str(found)
    assert text.index("references apart") < text.index("judged in"), "the spread is shown before the candidate"
    assert text.endswith("Next, decide which reference is right: they first differ in attention (Attention)")
    brief = in_brief(report)
    assert brief.references.outcomes == {"eager": "agrees", "wrong": "differs"}
    assert "first in attention (Attention)" in brief.references.differ[0]
    page = tmp_path / "page.html"
    found.html(page)
    assert "references differ" in page.read_text()
    assert "references apart" in found._repr_html_()
    assert json.loads(json.dumps(found.to_dict()))["references"]["spread"][0]["name"] == "norm"


def test_a_candidate_nearer_than_references_that_differ_is_neither_right_nor_wrong() -> None:
    found = goldsmith.parity(several("eager", "wrong"), Block(scale=1.02), X)
    assert found.outcome == "references-differ"
    assert found.report.reason == "the references differ more from each other than it does from the nearest, eager"
    rows = {row.name: row for row in found.report.references.spread}
    assert rows["norm"].relative == rows["norm"].candidate == 0
    assert 0 < rows["attention"].candidate < rows["attention"].relative


def test_what_is_farther_off_than_references_are_from_each_other_is_wrong() -> None:
    found = goldsmith.parity([Block(), Block(scale=1.01)], Block(scale=1.5), X)
    assert found.outcome == "differs"
    assert found.report.reference == "Block (1) and Block (2)"
    assert "what differs is shown as it differs from Block (2), the nearest of them" in found.report.notes


def test_functions_and_references_without_names() -> None:
    def sine(x: Any) -> Any:
        return x.sin()

    def by_cosine(x: Any) -> Any:
        return (torch.pi / 2 - x).cos()

    def scaled(x: Any) -> Any:
        return 1.1 * x.sin()

    names = ["sine", "by_cosine", "scaled"]
    found = goldsmith.parity([sine, by_cosine, scaled], sine, X)
    assert found.outcome == "agrees"
    assert [item.name.rpartition(".")[2] for item in found.report.references.references] == names
    assert [name.rpartition(".")[2] for name in found.report.references.singled_out] == ["scaled"]
    assert [row.kind for row in found.report.references.spread] == ["forward", "gradients"]


def test_references_that_cannot_be_paired_are_told_in_one_sentence() -> None:
    found = goldsmith.parity({"block": Block(), "linear": nn.Linear(4, 4)}, Block(), X)
    assert (found.outcome, found.report.kind) == ("could-not-run", "references")
    assert found.report.reason.startswith(
        "block and linear cannot be compared with each other, the second taken for the candidate: "
    )


def test_one_reference_in_a_list_is_one_and_none_or_too_many_are_refused() -> None:
    assert goldsmith.parity([RIGHT["eager"]], Block(), X).report.references is None
    for given in ([], [Block()] * 9):
        with pytest.raises(BadReferences, match="give one model, or up to 8"):
            goldsmith.parity(given, Block(), X)
    with pytest.raises(CannotCombine, match="several references"):
        goldsmith.parity([Block(), Block()], Block(), X, in_step=True)
