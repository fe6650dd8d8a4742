"""Gold's weights in models of another make, without a rule for them: siblings, q, k and v, patches; what is said."""

from __future__ import annotations

import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from test_transplant import Fused, adapter, settled
from torch import nn

from goldsmith.weights.axes import can_reshape
from goldsmith.weights.rules import ALTERNATING, BY_PIXEL, Adapter, BadRule, parts_named
from goldsmith.weights.transplant import CannotPlace, Transplant, plan

Shapes = dict[str, tuple[int, ...]]


def places(gold: Shapes, theirs: Shapes, rules: str = "", **settings: int) -> dict[tuple[str, ...], tuple[str, ...]]:
    found = plan(gold, theirs, adapter(rules) if rules else Adapter(), "", settings)
    return {item.gold: item.theirs for item in found.placed}


class Named(nn.Module):
    """q, k and v under any names, registered in any order."""

    def __init__(self, names: tuple[str, str, str], order: tuple[int, ...] = (0, 1, 2), bias: bool = True) -> None:
        super().__init__()
        self.names = names
        for index in order:
            self.add_module(names[index], nn.Linear(4, 4, bias=bias))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (self.get_submodule(name)(x) for name in self.names)
        return q * k + v


# --- three for one ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "names", [("q_proj", "k_proj", "v_proj"), ("query", "key", "value"), ("W_q", "W_k", "W_v"), ("toQ", "toK", "toV")]
)
@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_names_decide_which_of_three_is_q(names: tuple[str, str, str], order: tuple[int, ...]) -> None:
    gold, theirs, x = Fused(), Named(names, order), torch.randn(3, 4)
    done = settled(gold, theirs)
    assert torch.allclose(gold(x), theirs(x), atol=1e-6)
    assert torch.equal(done.weights()["qkv.bias"], gold.qkv.bias)
    assert any(
        f"all rows of one before the next: {names[0]}.weight + {names[1]}.weight" in note.words for note in done.notes
    )
    back = Fused()
    settled(theirs, back)
    assert torch.allclose(back(x), theirs(x), atol=1e-6)


@pytest.mark.parametrize("bias", [True, False])
def test_without_such_names_the_order_of_registration_counts_and_is_told(bias: bool) -> None:
    gold, theirs = Fused(), Named(("one", "two", "three"), bias=bias)
    if not bias:
        gold.qkv = nn.Linear(4, 12, bias=False)
    x = torch.randn(3, 4)
    done = settled(gold, theirs)
    assert torch.allclose(gold(x), theirs(x), atol=1e-6)
    assert "one.weight + two.weight + three.weight for qkv.weight" in done.notes[0].words


def test_every_layer_s_three_go_to_its_own() -> None:
    gold = {f"blocks.{n}.attn.{w}": s for n in range(3) for w, s in (("qkv.weight", (12, 4)), ("out.weight", (4, 4)))}
    theirs = {f"h.{n}.sa.{w}.weight": (4, 4) for n in range(3) for w in ("o", "value", "key", "query")}
    found = places(gold, theirs)
    for n in range(3):
        mine = tuple(f"h.{n}.sa.{w}.weight" for w in ("query", "key", "value"))
        assert found[(f"blocks.{n}.attn.qkv.weight",)] == mine
        assert found[(f"blocks.{n}.attn.out.weight",)] == (f"h.{n}.sa.o.weight",)


def test_q_k_and_v_are_paired_by_name_where_both_have_three() -> None:
    gold = {f"{name}_proj.weight": (4, 4) for name in "qkv"}
    theirs = {f"{name}.weight": (4, 4) for name in ("value", "key", "query")}
    assert places(gold, theirs) == {
        ("q_proj.weight",): ("query.weight",),
        ("k_proj.weight",): ("key.weight",),
        ("v_proj.weight",): ("value.weight",),
    }


def test_fewer_heads_for_k_and_v_are_no_obstacle() -> None:
    gold, theirs = {"qkv.weight": (8, 4)}, {"k.weight": (2, 4), "v.weight": (2, 4), "q.weight": (4, 4)}
    (placed,) = plan(gold, theirs, Adapter(), "", {}).placed
    assert placed.theirs == ("q.weight", "k.weight", "v.weight")
    assert [len(item) for item in placed.carry([torch.randn(8, 4)])] == [4, 2, 2]


def test_three_that_may_belong_to_either_of_two_are_refused() -> None:
    gold = {"a.weight": (12, 4), "b.weight": (12, 4)}
    theirs = {"x.one.weight": (4, 4), "x.two.weight": (4, 4), "x.three.weight": (4, 4), "y": (7,)}
    with pytest.raises(CannotPlace, match=r"no layer that matches a\.weight"):
        places(gold, theirs)


# --- siblings and shapes ----------------------------------------------------------------------------------------------


def test_a_weight_that_is_one_of_a_kind_takes_its_siblings_along() -> None:
    gold = {"fc.weight": (5, 3), "fc.bias": (5,), "norm.scale": (5,), "norm.shift": (5,), "head.weight": (2, 5)}
    theirs = {
        "norm.scale": (5,),
        "norm.shift": (5,),
        "b.weight": (2, 5),
        "extra.bias": (5,),
        "a.bias": (5,),
        "a.weight": (5, 3),
    }
    found = places(gold, theirs)
    assert found["fc.weight",] == ("a.weight",)
    assert found["fc.bias",] == ("a.bias",)


def test_the_last_one_left_in_a_module_goes_with_it_under_any_name() -> None:
    gold = {"fc.weight": (5, 3), "fc.bias": (5,), "other.bias": (5,)}
    theirs = {"x.b": (5,), "other.bias": (5,), "x.w": (5, 3), "more": (5,)}
    assert places(gold, theirs)["fc.bias",] == ("x.b",)


class Patches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.patch = nn.Conv2d(3, 8, 4, stride=4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.patch(x).flatten(2).mT


class Flat(nn.Module):
    """The same as a matrix over patches, pixel by pixel or channel by channel."""

    def __init__(self, name: str = "embed", pixels: bool = False) -> None:
        super().__init__()
        self.name, self.pixels = name, pixels
        self.add_module(name, nn.Linear(48, 8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, channels, height, width = x.shape
        cut = x.reshape(batch, channels, height // 4, 4, width // 4, 4)
        axes = (0, 2, 4, 3, 5, 1) if self.pixels else (0, 2, 4, 1, 3, 5)
        return self.get_submodule(self.name)(cut.permute(*axes).reshape(batch, -1, 48))


@pytest.mark.parametrize("name", ["embed", "patch"])
def test_patches_by_convolution_and_by_matrix_are_the_same_both_ways(name: str) -> None:
    x = torch.randn(2, 3, 8, 12)
    gold, theirs = Patches(), Flat(name)
    done = settled(gold, theirs)
    assert torch.allclose(gold(x), theirs(x), atol=1e-5)
    assert torch.equal(done.weights()["patch.weight"], gold.patch.weight)
    note = f"weights of another shape, numbers in the same order: {name}.weight for patch.weight (8×3×4×4 as 8×48)"
    assert note in [item.words for item in done.notes]
    back = Patches()
    settled(theirs, back)
    assert torch.allclose(back(x), theirs(x), atol=1e-5)


def test_patches_pixel_by_pixel_are_said_by_the_adapter() -> None:
    x = torch.randn(2, 3, 8, 12)
    gold, theirs = Patches(), Flat(pixels=True)
    done = settled(gold, theirs, 'rename("patch.weight", "embed.weight", axes=(0, 2, 3, 1))')
    assert torch.allclose(gold(x), theirs(x), atol=1e-5)
    assert torch.equal(done.weights()["patch.weight"], gold.patch.weight)
    back = Patches()
    settled(theirs, back, 'rename("embed.weight", "patch.weight", axes=(0, 2, 3, 1))')
    assert torch.allclose(back(x), theirs(x), atol=1e-5)


@pytest.mark.parametrize(
    ("one", "two", "same"),
    [
        ((8, 3, 4, 4), (8, 48), True),
        ((8, 48), (8, 3, 4, 4), True),
        ((5, 4, 1, 1), (5, 4), True),
        ((1, 9, 6), (9, 6), True),
        ((2, 3, 8), (6, 8), True),
        ((4, 6), (6, 4), False),
        ((4, 6), (3, 8), False),
        ((4, 6), (4, 7), False),
        ((1,), (), True),
        ((0, 3), (3, 0), False),
    ],
)
def test_only_merged_split_and_single_axes_are_another_shape(
    one: tuple[int, ...], two: tuple[int, ...], same: bool
) -> None:
    assert can_reshape(one, two) is same


# --- q beside kv ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "kv"),
    [
        ('fused("kv", 2)', [4, 5, 6, 7, 8, 9, 10, 11]),
        ('fused("kv", 2, "head part row", heads=2)', [4, 5, 8, 9, 6, 7, 10, 11]),
        ('fused("kv", 2, "head part row")', [4, 5, 8, 9, 6, 7, 10, 11]),
        ('fused("kv", 2, "head row part")', [4, 8, 5, 9, 6, 10, 7, 11]),
    ],
)
def test_kv_beside_q_lies_as_the_adapter_says(said: str, kv: list[int]) -> None:
    rules = f'rows("qkv", ["q", {said}], heads="num_heads")'
    (placed,) = plan({"qkv": (12,)}, {"q": (4,), "kv": (8,)}, adapter(rules), "", {"num_heads": 2}).placed
    whole = torch.arange(12)
    carried = placed.carry([whole])
    assert [item.tolist() for item in carried] == [[0, 1, 2, 3], kv]
    assert torch.equal(placed.bring_back(carried)[0], whole)


def test_a_rule_that_does_not_say_how_kv_lies_is_refused() -> None:
    with pytest.raises(BadRule, match=r"kv.* holds k and v by its name, and nothing says how their rows lie"):
        adapter('rows("**.qkv.*", ["**.q.*", "**.kv.*"])')
    rules = 'rows("all", ["a", "b"])'
    with pytest.raises(CannotPlace, match=r'leaves open how rows lie \(of a 4, b 8\): say fused\("b", 2\)'):
        places({"all": (12,)}, {"a": (4,), "b": (8,)}, rules)
    assert places({"all": (12,)}, {"a": (4,), "b": (8,)}, rules.replace(")", ", parts=2)"))
    assert places({"all": (12,)}, {"a": (6,), "b": (6,)}, rules)


def test_heads_that_the_model_does_not_have_are_no_order() -> None:
    rules = 'rows("all", "qkv", parts=3, theirs_order="head part row", heads="n_heads")'
    with pytest.raises(CannotPlace, match="asks for n_heads, which is not a setting of the model"):
        places({"all": (12,)}, {"qkv": (12,)}, rules)


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("blocks.0.attn.qkv.weight", "qkv"),
        ("attn.to_kv.weight", "kv"),
        ("W_q", "q"),
        ("attn.key_value.bias", "kv"),
        ("query.linear.weight", "q"),
        ("network.0.weight", ""),
        ("conv.weight", ""),
    ],
)
def test_a_name_says_which_of_q_k_and_v_it_holds(name: str, parts: str) -> None:
    assert parts_named(name) == parts


# --- what was taken for granted, the other way round ------------------------------------------------------------------


def test_k_and_v_that_alternate_are_found_by_the_layout_that_needs_no_adapter() -> None:
    gold, theirs = {"attn.qkv.weight": (12,)}, {"attn.q.weight": (4,), "attn.kv.weight": (8,)}
    assert ALTERNATING in Adapter().layouts_of(gold)
    found = plan(gold, theirs, Adapter(), ALTERNATING, {"num_heads": 2})
    (placed,) = found.placed
    whole = torch.arange(12)
    carried = placed.carry([whole])
    assert [item.tolist() for item in carried] == [[0, 1, 2, 3], [4, 5, 8, 9, 6, 7, 10, 11]]
    assert torch.equal(placed.bring_back(carried)[0], whole)
    assert "rows alternating head by head" in found.notes()[0].words


def test_patches_pixel_by_pixel_are_found_by_the_layout_that_needs_no_adapter() -> None:
    x = torch.randn(2, 3, 8, 12)
    gold, theirs = Patches(), Flat(pixels=True)
    assert BY_PIXEL in Adapter().layouts_of(list(gold.state_dict()))
    done = settled(gold, theirs, layout=BY_PIXEL)
    assert torch.allclose(gold(x), theirs(x), atol=1e-5)
    assert torch.equal(done.weights()["patch.weight"], gold.patch.weight)
    back = Patches()
    settled(theirs, back, layout=BY_PIXEL)
    assert torch.allclose(back(x), theirs(x), atol=1e-5)


def test_where_nothing_was_taken_for_granted_those_layouts_are_refused_at_once() -> None:
    same = {"attn.qkv.weight": (12, 4), "patch.weight": (8, 3, 4, 4)}
    for layout in (ALTERNATING, BY_PIXEL):
        with pytest.raises(CannotPlace, match="nothing is taken for granted"):
            plan(same, same, Adapter(), layout, {"num_heads": 2})


# --- always -----------------------------------------------------------------------------------------------------------

SHAPES = st.sampled_from([(4,), (12,), (4, 4), (12, 4), (4, 3), (4, 1, 3), (2, 2, 4), (), (1,)])
NAMES = st.sampled_from(["a.weight", "a.bias", "q.weight", "k.weight", "v.weight", "kv.weight", "qkv.bias", "x", "b.w"])


@given(st.dictionaries(NAMES, SHAPES, max_size=6), st.dictionaries(NAMES, SHAPES, max_size=6))
def test_every_number_of_gold_goes_to_one_place_and_comes_back(gold: Shapes, theirs: Shapes) -> None:
    try:
        found: Transplant = plan(gold, theirs, Adapter(), "", {})
    except CannotPlace:
        return
    assert sorted(name for item in found.placed for name in item.gold) == sorted(gold)
    used = [name for item in found.placed for name in item.theirs]
    assert sorted([*used, *found.extra]) == sorted(theirs)
    for item in found.placed:
        values = [torch.randn(gold[name]) for name in item.gold]
        carried = item.carry(values)
        assert [tuple(value.shape) for value in carried] == [theirs[name] for name in item.theirs]
        for before, after in zip(values, item.bring_back(carried), strict=True):
            assert torch.equal(before, after)
