"""Where gold's weights go in a model of another make: names, rules, shapes; and the numbers, both ways."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from goldsmith.frameworks.torch.load import LoadedModule, weight_facts
from goldsmith.gold.facts import WeightFacts
from goldsmith.weights.rules import ORDERS, Adapter, BadRule, fill, match, read_adapter
from goldsmith.weights.transplant import CannotPlace, plan


def adapter(text: str) -> Adapter:
    source = "from goldsmith.adapter import *\n" + textwrap.dedent(text)
    return read_adapter(source.encode(), "adapter.py")


def settled(gold: nn.Module, theirs: nn.Module, rules: str = "", layout: str = "", **settings: Any) -> LoadedModule:
    return LoadedModule(
        theirs,
        {name: value.clone() for name, value in gold.state_dict().items()},
        weight_facts(gold),
        adapter=adapter(rules),
        layout=layout,
        settings=settings,
        rebuild=lambda: type(theirs)(),
    )


# --- patterns ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "name", "stars"),
    [
        ("a.*.w", "a.0.w", ("0",)),
        ("a.*.w", "a.0.1.w", None),
        ("**.w", "a.0.w", ("a.0",)),
        ("**.w", "w", ("",)),
        ("**.q.*", "q.weight", ("", "weight")),
        ("a.b", "axb", None),
    ],
)
def test_stars_stand_for_parts_of_a_name(pattern: str, name: str, stars: tuple[str, ...] | None) -> None:
    assert match(pattern, name) == stars
    if stars is not None:
        assert fill(pattern, stars) == name


@given(st.lists(st.sampled_from(["a", "b", "0", "12", "weight"]), min_size=1, max_size=5), st.data())
def test_what_a_pattern_matched_fills_it_again(parts: list[str], data: st.DataObject) -> None:
    name = ".".join(parts)
    starred = [data.draw(st.sampled_from([part, "*"])) for part in parts]
    pattern = ".".join(starred)
    stars = match(pattern, name)
    assert stars is not None
    assert fill(pattern, stars) == name


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ('rename("a.*", "b")', "same stars"),
        ('rows(["a", "b"], ["c", "d", "e"])', "do not make 3 parts"),
        ('rows("a", ["b", "c"], theirs_order="row head")', "an order of rows is one of"),
        ('no_counterpart(gold="a", reason="")', "a reason"),
        ('part("train")(print)', "must name a module"),
    ],
)
def test_a_rule_that_means_nothing_is_refused(rules: str, said: str) -> None:
    with pytest.raises(BadRule, match=said):
        adapter(rules)


# --- rows -------------------------------------------------------------------------------------------------------------


@given(
    parts=st.integers(2, 4),
    heads=st.integers(1, 4),
    rows=st.integers(1, 3),
    width=st.integers(0, 3),
    gold_order=st.sampled_from(ORDERS),
    theirs_order=st.sampled_from(ORDERS),
    fused=st.sampled_from(["gold", "theirs", "both"]),
    transpose=st.booleans(),
)
def test_rows_come_back_as_they_went(
    parts: int, heads: int, rows: int, width: int, gold_order: str, theirs_order: str, fused: str, transpose: bool
) -> None:
    size = heads * rows
    tail = (width,) if width else ()
    names = [f"p{number}" for number in range(parts)]
    mine = ["whole"] if fused in ("gold", "both") else names
    other = ["all"] if fused in ("theirs", "both") else [f"t{number}" for number in range(parts)]
    shapes = {name: ((size * parts if len(mine) == 1 else size), *tail) for name in mine}
    theirs = {name: ((size * parts if len(other) == 1 else size), *tail) for name in other}
    if transpose and tail:
        theirs = {name: shape[::-1] for name, shape in theirs.items()}
    text = (
        f"rows({mine!r}, {other!r}, gold_order={gold_order!r}, theirs_order={theirs_order!r}, heads={heads}, "
        f"parts={parts}, transpose={transpose})"
    )
    (placed,) = plan(shapes, theirs, adapter(text), "", {}).placed
    gold = [torch.randn(shapes[name]) for name in mine]
    carried = placed.carry(gold)
    assert [tuple(tensor.shape) for tensor in carried] == list(theirs.values())
    for before, after in zip(gold, placed.bring_back(carried), strict=True):
        assert torch.equal(before, after)


def test_rows_of_each_head_lie_together() -> None:
    rules = 'rows("qkv", "qkv_by_head", parts=3, theirs_order="head part row", heads="num_heads")'
    (placed,) = plan({"qkv": (12,)}, {"qkv_by_head": (12,)}, adapter(rules), "", {"num_heads": 2}).placed
    (found,) = placed.carry([torch.arange(12)])
    assert found.tolist() == [0, 1, 4, 5, 8, 9, 2, 3, 6, 7, 10, 11]


def test_parts_of_different_size_can_be_fused() -> None:
    rules = 'rows(["q", "k"], "qk")'
    (placed,) = plan({"q": (4, 3), "k": (2, 3)}, {"qk": (6, 3)}, adapter(rules), "", {}).placed
    gold = [torch.randn(4, 3), torch.randn(2, 3)]
    (found,) = placed.carry(gold)
    assert torch.equal(found, torch.cat(gold))
    assert all(torch.equal(one, two) for one, two in zip(gold, placed.bring_back([found]), strict=True))


# --- where a weight goes ----------------------------------------------------------------------------------------------


def test_names_come_first_then_rules_then_shapes_in_order() -> None:
    gold = {"same": (2,), "old": (3,), "x": (4,), "y": (5,)}
    theirs = {"same": (2,), "new": (3,), "u": (4,), "v": (5,)}
    found = plan(gold, theirs, adapter('rename("old", "new")'), "", {})
    assert {item.gold[0]: (item.theirs[0], item.how) for item in found.placed} == {
        "same": ("same", "name"),
        "old": ("new", "rule"),
        "x": ("u", "shape"),
        "y": ("v", "shape"),
    }
    assert any("matched by shape and order: u for x, v for y" in note.words for note in found.notes())


def test_an_ambiguous_match_is_refused_and_both_sides_are_named() -> None:
    gold = {"first.weight": (4, 4), "second.weight": (4, 4), "third": (2,)}
    theirs = {"one.weight": (4, 4), "third_one": (2,), "two.weight": (4, 4), "more.weight": (4, 4)}
    with pytest.raises(CannotPlace) as problem:
        plan(gold, theirs, Adapter(), "", {})
    assert "more than one layer that could match first.weight (4×4), closest: " in str(problem.value)
    assert "Left over in your model: one.weight (4×4), two.weight (4×4), more.weight (4×4)" in str(problem.value)


def test_what_a_model_lacks_is_told_in_its_author_s_words() -> None:
    with pytest.raises(CannotPlace, match=r"your model has no layer that matches layers\.4\.weight \(3×4\)"):
        plan({"layers.4.weight": (3, 4)}, {"net.4.weight": (5, 5)}, Adapter(), "", {})


def test_what_has_no_counterpart_is_declared_with_a_reason() -> None:
    rules = 'no_counterpart(gold="scale", reason="optional")\nno_counterpart(theirs="extra", reason="unused")'
    found = plan({"w": (2,), "scale": (1,)}, {"w": (2,), "extra": (1,)}, adapter(rules), "", {})
    assert [item.gold for item in found.placed] == [("w",)]
    assert found.extra == ()


def test_a_layout_is_used_only_when_it_is_asked_for() -> None:
    rules = """
    with layout("reversed"):
        rename("a", "b")
        rename("b", "a")
    """
    gold = {"a": (2,), "b": (2,)}
    plain = plan(gold, gold, adapter(rules), "", {})
    other = plan(gold, gold, adapter(rules), "reversed", {})
    assert [item.theirs for item in plain.placed] == [("a",), ("b",)]
    assert [item.theirs for item in other.placed] == [("b",), ("a",)]


# --- real modules -----------------------------------------------------------------------------------------------------


class Fused(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(4, 12)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        return q * k + v


class Split(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.v, self.k, self.q = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.q(x) * self.k(x) + self.v(x)


def test_gradients_and_weights_of_a_split_model_come_back_under_gold_s_names() -> None:
    gold, theirs = Fused(), Split()
    done = settled(gold, theirs, 'rows("qkv.*", ["q.*", "k.*", "v.*"])')
    x = torch.randn(3, 4)
    assert torch.allclose(gold(x), theirs(x), atol=1e-6)
    gold(x).sum().backward()
    theirs(x).sum().backward()
    assert list(done.weights()) == ["qkv.weight", "qkv.bias"]
    assert torch.equal(done.weights()["qkv.weight"], gold.qkv.weight)
    for name, parameter in gold.named_parameters():
        assert torch.allclose(done.gradients()[name], parameter.grad, atol=1e-6)


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(5, 4)
        self.head = nn.Linear(4, 5, bias=False)
        self.head.weight = self.table.weight


class OneTable(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(5, 4)


def test_tied_weights_need_only_one_place() -> None:
    gold = Tied()
    assert weight_facts(gold) == WeightFacts((), (("table.weight", "head.weight"),))
    done = settled(gold, OneTable())
    assert torch.equal(done.weights()["head.weight"], gold.head.weight)
    assert list(done.gradients()) == ["table.weight"]


class Computed(nn.Module):
    """A buffer that follows from nothing but its own code."""

    def __init__(self, factor: float = 1.0) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))
        self.register_buffer("table", torch.arange(3.0) * factor)


class Drawn(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))
        self.register_buffer("table", torch.randn(3))


def test_a_computed_buffer_stays_their_own_so_that_a_bug_in_it_shows() -> None:
    theirs = Computed(2.0)
    done = LoadedModule(
        theirs,
        Computed().state_dict(),
        weight_facts(Computed()),
        adapter=Adapter(),
        layout="",
        settings={},
        rebuild=lambda: Computed(2.0),
    )
    assert theirs.table.tolist() == [0.0, 2.0, 4.0]
    assert [note.words for note in done.notes] == ["its buffer table differs from gold's; its own was kept"]


def test_a_drawn_buffer_is_gold_s() -> None:
    gold, theirs = Drawn(), Drawn()
    settled(gold, theirs)
    assert torch.equal(gold.table, theirs.table)


def test_moving_statistics_are_gold_s() -> None:
    gold, theirs = nn.BatchNorm1d(3), nn.BatchNorm1d(3)
    gold.running_mean.copy_(torch.tensor([1.0, 2.0, 3.0]))
    done = LoadedModule(
        theirs,
        gold.state_dict(),
        weight_facts(gold),
        adapter=Adapter(),
        layout="",
        settings={},
        rebuild=lambda: nn.BatchNorm1d(3),
    )
    assert theirs.running_mean.tolist() == [1.0, 2.0, 3.0]
    assert set(done.weights()) == set(gold.state_dict())


class Lazy(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.LazyLinear(12)


class Late(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer: Any = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.layer is None:
            self.layer = nn.Linear(x.shape[-1], 12)
        return self.layer(x)


class Early(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 12)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x)


def test_weights_that_are_built_later_get_gold_s_then() -> None:
    gold = Early()
    x = torch.randn(2, 4)
    lazy = Lazy()
    settled(gold, lazy)
    assert torch.equal(lazy.layer(x), gold(x))
    late = Late()
    done = settled(gold, late)
    assert torch.equal(late(x), gold(x))
    assert [note.words for note in done.notes] == [
        "it builds some of its weights in its first call; gold's were put in after it"
    ]


def test_extra_weights_are_left_as_they_were_built_and_told() -> None:
    gold, theirs = nn.Linear(4, 3, bias=False), nn.Linear(4, 3)
    before = theirs.bias.clone()
    done = settled(gold, theirs)
    assert torch.equal(theirs.bias, before)
    assert [note.words for note in done.notes] == ["gold has no values for its bias; left as they were built"]
