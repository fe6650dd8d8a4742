"""`inputs_candidate`: the two sides take arguments of other names, in another order or shape."""

from __future__ import annotations

from typing import Any

import pytest

import goldsmith

torch = pytest.importorskip("torch")
nn = torch.nn
WIDTH = 6


class Old(nn.Module):  # type: ignore[misc, name-defined]
    """Two towers: texts, then images with channels first."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.mix = nn.Embedding(11, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.patch, self.act = nn.Conv2d(3, WIDTH, 2), nn.GELU()
        self.query, self.key = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, ids: Any, pixels: Any, scale: Any) -> Any:
        texts = self.query(self.mix(self.words(ids)))
        images = self.key(self.act(self.patch(pixels)).flatten(2).transpose(1, 2))
        return (texts @ images.transpose(1, 2)) * scale


class New(nn.Module):  # type: ignore[misc, name-defined]
    """The same with images first, channels last, and a mistake."""

    def __init__(self, mistake: str = "") -> None:
        super().__init__()
        self.mistake = mistake
        self.tok, self.proj = nn.Embedding(11, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.stem, self.gelu = nn.Conv2d(3, WIDTH, 2), nn.GELU("tanh" if mistake == "gelu" else "none")
        self.q, self.k = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, *, image: Any, text: Any, temperature: Any) -> Any:
        x = image.permute(0, 3, 1, 2)
        if self.mistake == "overwrite":
            x = x.clone()
            image.zero_()
        images = self.k(self.gelu(self.stem(x if self.mistake != "flip" else x.flip(2))).flatten(2).transpose(1, 2))
        texts = self.q(self.proj(self.tok(text)))
        scores = (texts.detach() if self.mistake == "detach" else texts) @ images.transpose(1, 2)
        return scores * (temperature.detach() if self.mistake == "no gradient" else temperature)


def drawn() -> tuple[Any, Any, Any]:
    torch.manual_seed(3)
    return torch.randint(0, 11, (2, 5)), torch.randn(2, 3, 4, 4), torch.tensor([1.5])


def turned(ids: Any, pixels: Any, scale: Any) -> dict[str, Any]:
    return {"image": pixels.permute(0, 2, 3, 1).contiguous(), "text": ids, "temperature": scale}


def adapter() -> None:
    from goldsmith.adapter import rename

    for mine, theirs in {"words": "tok", "mix": "proj", "patch": "stem", "query": "q", "key": "k"}.items():
        rename(f"{mine}.**", f"{theirs}.**")


def compare(mistake: str = "", own: Any = turned, inputs: Any = drawn, **options: Any) -> goldsmith.Parity:
    torch.manual_seed(0)
    reference = Old()
    return goldsmith.parity(reference, New(mistake), inputs, inputs_candidate=own, adapter=adapter, **options)


@pytest.mark.parametrize("own", [turned, lambda: turned(*drawn()), turned(*drawn()), [turned]])
def test_a_right_port_that_takes_other_arguments_agrees_in_any_form_of_inputs(own: Any) -> None:
    found = compare(own=own)
    assert found, found
    assert [case.name for case in found.report.cases] == ["forward", "gradients"]


@pytest.mark.parametrize(("mistake", "first"), [("gelu", "act"), ("flip", "Old"), ("detach", "Old")])
def test_the_guilty_module_is_named_and_the_other_inputs_are_not_blamed(mistake: str, first: str) -> None:
    found = compare(mistake)
    assert found.outcome == "differs"
    assert found.first_divergence == first


def test_gradients_of_inputs_are_compared_where_both_take_the_same_numbers() -> None:
    found = compare("no gradient")
    assert not found
    (gradients,) = [case for case in found.report.cases if case.name == "gradients"]
    assert [leaf.path for leaf in gradients.leaves if not leaf.agrees] == ["input_gradients.2"]
    assert "input_gradients.1" not in {leaf.path for leaf in gradients.leaves}  # it has another shape there


def test_an_input_that_only_the_candidate_overwrites_is_told_by_its_own_name() -> None:
    found = compare("overwrite")
    assert found.report.kind == "overwrites"
    assert "image (its own)" in found.report.reason


def test_the_same_arguments_in_another_order_are_no_difference() -> None:
    class One(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.a = nn.Linear(4, 4)

        def forward(self, x: Any, y: Any) -> Any:
            return self.a(x) - y

    class Two(One):
        def __init__(self, wrong: bool = False) -> None:
            super().__init__()
            self.wrong = wrong

        def forward(self, y: Any, x: Any) -> Any:
            return super().forward(y, x) if self.wrong else super().forward(x, y)

    torch.manual_seed(0)
    reference, x, y = One(), torch.randn(3, 4), torch.randn(3, 4)
    assert goldsmith.parity(reference, Two(), (x, y), inputs_candidate=(y, x))
    wrong = goldsmith.parity(reference, Two(wrong=True), (x, y), inputs_candidate=(y, x))
    assert (wrong.outcome, wrong.first_divergence) == ("differs", "One")
    assert not goldsmith.parity(reference, Two(), (x, y))


def test_functions_take_inputs_of_their_own_too() -> None:
    found = goldsmith.parity(
        lambda x, y: x - y,
        lambda *, a, b: b - a,
        (torch.ones(3), torch.arange(3.0)),
        inputs_candidate=lambda x, y: {"a": y, "b": x},
    )
    assert found, found


def test_each_set_has_its_counterpart() -> None:
    sets = [drawn(), drawn()]
    assert len(compare(inputs=sets).report.cases) == 4
    with pytest.raises(goldsmith.GoldsmithError, match="inputs has 2 sets and inputs_candidate 1 set"):
        compare(inputs=sets, own=turned(*drawn()))
    with pytest.raises(goldsmith.GoldsmithError, match="inputs has 1 set and inputs_candidate 2 sets"):
        compare(own=[turned, turned])


def test_it_is_refused_in_step() -> None:
    with pytest.raises(goldsmith.GoldsmithError, match="inputs_candidate cannot be used together with in_step=True"):
        compare(in_step=True)
