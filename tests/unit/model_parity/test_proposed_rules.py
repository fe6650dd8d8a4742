"""The rules that a parity proposes are accepted as they are, and place the same weights in the same places."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

import goldsmith
from goldsmith.model_parity.module_pairs import adapter_lines
from goldsmith.weights.rule_lines import adapter_text, line_of
from goldsmith.weights.rules import ORDERS, read_adapter
from support import port_styles as styles

pytestmark = pytest.mark.torch
X = torch.randn(2, 5, styles.DIM, generator=torch.Generator().manual_seed(3))


class ByHead(styles.FusedAttention):
    """Attention whose fused matrix holds q, k and v of each head together."""

    def __init__(self, *, fused: bool, mistake: str = "") -> None:
        nn.Module.__init__(self)
        self.num_heads, self.mistake = styles.HEADS, mistake
        if fused:
            self.qkv = nn.Linear(styles.DIM, 3 * styles.DIM)
        else:
            self.q, self.k, self.v = (nn.Linear(styles.DIM, styles.DIM) for _ in range(3))
        self.out = nn.Linear(styles.DIM, styles.DIM)
        styles.scramble(self, 1 + fused)

    def forward(self, x: Any) -> Any:
        if hasattr(self, "qkv"):
            heads = self.qkv(x).unflatten(-1, (styles.HEADS, 3, -1))
            parts = [heads[..., number, :].flatten(-2) for number in range(3)]
        else:
            parts = [self.q(x), self.k(x), self.v(x)]
        return self.out(styles.attend(*parts, mistake=self.mistake))


CASES = {
    "rename": (styles.NamedLlama, lambda: styles.NumberedLlama("eps"), styles.IDS),
    "rename, transpose and rows": (lambda: styles.FusedGpt(tied=False), lambda: styles.SplitGpt("scale"), styles.IDS),
    "rows, the other direction": (lambda: styles.SplitGpt("scale"), lambda: styles.FusedGpt(tied=False), styles.IDS),
    "index": (styles.MoeTogether, lambda: styles.MoeApart("act"), X),
    "index, the other direction": (styles.MoeApart, styles.MoeTogether, X),
    "index and transpose": (styles.LayersTogether, lambda: styles.LayersApart("eps"), X),
    "rows": (
        lambda: styles.NamedLlama(normed=True),
        lambda: styles.NumberedLlama("act", normed=True, fused=True),
        styles.IDS,
    ),
    "no_counterpart": (lambda: styles.NumberedLlama(bias=True), styles.NamedLlama, styles.IDS),
    "no_counterpart of a tied head": (
        lambda: styles.FusedGpt(tied=False),
        lambda: styles.SplitGpt(tied=True),
        styles.IDS,
    ),
    "head by head": (lambda: ByHead(fused=False), lambda: ByHead(fused=True, mistake="mask"), X),
}
KINDS = {
    "rename": r'^rename\("[^"#]+", "[^"#]+"\)$',
    "turned": r'^rename\("[^"#]+", "[^"#]+", transpose=True\)$',
    "fused": r'^rows\(\[.+\], "[^"#]+"\)$',
    "split": r'^rows\("[^"#]+", \[[^#]+\], transpose=True\)$',
    "fused and turned": r'^rows\(\[[^#]+\], "[^"#]+", transpose=True\)$',
    "index": r'^rename\("[^"#]+", "[^"]*#[^"]*"\)$',
    "index in the reference": r'^rename\("[^"]*#[^"]*", "[^"#]+"\)$',
    "index and turned": r'^rename\("[^"#]+", "[^"]*#[^"]*", transpose=True\)$',
    "index and split": r'^rows\("[^"#]+", \[.*#.*\]\)$',
    "head by head": r'heads="num_heads"\)$',
    "no_counterpart": r"^no_counterpart\(gold=",
}


QUICK = ("rename, transpose and rows", "index", "no_counterpart of a tied head", "head by head")


@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=() if case in QUICK else pytest.mark.long) for case in CASES]
)
def test_what_is_proposed_is_accepted_and_says_the_same(case: str, tmp_path: Path) -> None:
    reference, candidate, inputs = CASES[case]
    guessed = goldsmith.parity(reference(), candidate(), inputs)
    assert guessed.report.adapter_lines, str(guessed)
    file = tmp_path / "adapter.py"
    assert guessed.write_adapter(file)
    said = goldsmith.parity(reference(), candidate(), inputs, adapter=file)
    assert said.report.weights.guess is None, str(said)
    assert set(said.report.weights.placed) == set(guessed.report.weights.placed)
    assert (said.outcome, said.first_divergence) == (guessed.outcome, guessed.first_divergence)
    with pytest.raises(FileExistsError):
        guessed.write_adapter(file)


@pytest.mark.long
def test_every_kind_of_rule_that_can_be_proposed_is_among_them() -> None:
    lines = [line for case in CASES.values() for line in _proposed(*case)]
    for kind, form in KINDS.items():
        assert any(re.search(form, line) for line in lines), f"{kind} is not among {lines}"


def _proposed(reference: Any, candidate: Any, inputs: Any) -> tuple[str, ...]:
    return goldsmith.parity(reference(), candidate(), inputs, gradients=False).report.adapter_lines


def test_the_report_shows_all_of_them_with_the_import() -> None:
    found = goldsmith.parity(styles.NamedLlama(), styles.NumberedLlama("eps"), styles.IDS)
    shown = [line.strip() for line in str(found).splitlines()]
    assert "from goldsmith.adapter import rename" in shown
    assert set(found.report.adapter_lines) <= set(shown)
    assert len(found.report.adapter_lines) > 8


def test_names_that_are_numbered_otherwise_get_as_many_stars_on_both_sides() -> None:
    kinds = {"net.0.act": "GELU", "top": "Tanh"}
    lines = adapter_lines(["net.0.act", "top"], {"layers.3.inner.1.gelu": "GELU", "blocks.1": "Tanh"}, kinds)
    assert lines == ['rename("net.0.act", "layers.3.inner.1.gelu")', 'rename("top", "blocks.1")']
    read_adapter(adapter_text(lines).encode(), "adapter.py")
    assert adapter_lines(["h.0.act"], {"h.0.gelu": "GELU"}, {"h.0.act": "GELU"}) == ['rename("h.*.act", "h.*.gelu")']


@given(
    gold=st.sampled_from(["a.*.x", "a.*.#.x", "x"]),
    count=st.integers(1, 3),
    order=st.sampled_from(ORDERS),
    heads=st.sampled_from([2, "num_heads"]),
    transpose=st.booleans(),
    split=st.booleans(),
)
def test_a_rule_reads_as_it_was_written(
    gold: str, count: int, order: str, heads: Any, transpose: bool, split: bool
) -> None:
    theirs = [gold.replace("#.", "").replace("a", "b") + f".p{number}" for number in range(count)]
    one, many = gold, theirs if count > 1 else theirs[0]
    options = f"transpose={transpose}"
    kind = "rename"
    if count > 1:
        kind, side = "rows", "gold" if not split else "theirs"
        options += f", {side}_order={order!r}, heads={heads!r}"
    pair = (many, one) if split and count > 1 else (one, many)
    source = f"from goldsmith.adapter import *\n{kind}({pair[0]!r}, {pair[1]!r}, {options})"
    (rule,) = read_adapter(source.encode(), "adapter.py").rules
    (again,) = read_adapter(adapter_text([line_of(rule)]).encode(), "adapter.py").rules
    blocks = order == ORDERS[0]
    assert line_of(again) == line_of(rule)
    if not blocks:
        assert [item.order for item in (*again.gold, *again.theirs)] == [
            item.order for item in (*rule.gold, *rule.theirs)
        ]
    assert (again.transpose, again.indexed) == (rule.transpose, rule.indexed)
