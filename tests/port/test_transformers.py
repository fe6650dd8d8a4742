"""Models of `transformers`, with random weights and nothing downloaded, against our own small re-implementations."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

transformers = pytest.importorskip(
    "transformers", reason="transformers is not installed; `make test-port` installs it and runs these tests"
)
import torch  # noqa: E402

import goldsmith  # noqa: E402
from support import fork_cli  # noqa: E402

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
import small_models as ours  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.long]
IDS = torch.tensor([[5, 61, 7, 0, 33, 2, 9], [1, 1, 40, 63, 8, 8, 21]])


@pytest.fixture(autouse=True)
def _nothing_is_downloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    torch.set_num_threads(1)


def reference(name: str) -> Any:
    """Build a model from a configuration; its weights are random, norms and biases, too."""
    common: dict[str, Any] = {"attn_implementation": "eager"}
    if name == "Llama":
        sizes = {"hidden_size": ours.DIM, "intermediate_size": ours.HIDDEN, "num_hidden_layers": ours.LAYERS}
        heads = {"num_attention_heads": ours.HEADS, "num_key_value_heads": ours.KV_HEADS}
        config = transformers.LlamaConfig(vocab_size=ours.VOCABULARY, use_cache=False, **sizes, **heads, **common)
        model = transformers.LlamaModel(config)
    elif name == "Gpt":
        sizes = {"n_embd": ours.DIM, "n_layer": ours.LAYERS, "n_head": ours.HEADS, "n_positions": 16}
        ends = {"bos_token_id": 0, "eos_token_id": 0, "vocab_size": ours.VOCABULARY, "use_cache": False}
        model = transformers.GPT2Model(transformers.GPT2Config(**sizes, **ends, **common))
    else:
        sizes = {"hidden_size": ours.DIM, "intermediate_size": ours.HIDDEN, "num_hidden_layers": ours.LAYERS}
        image = {"num_attention_heads": ours.HEADS, "image_size": ours.IMAGE, "patch_size": ours.PATCH}
        model = transformers.ViTModel(transformers.ViTConfig(**sizes, **image, **common), add_pooling_layer=False)
    torch.manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.3 + (parameter.ndim == 1) * 0.5)
    return model.eval()


def compare(name: str, mistake: str = "") -> goldsmith.Parity:
    """Compare without a word about where the weights go."""
    inputs = torch.randn(2, 3, ours.IMAGE, ours.IMAGE) if name == "Vit" else IDS
    return goldsmith.parity(reference(name), getattr(ours, name)(mistake), inputs)


@pytest.mark.parametrize("name", ["Llama", "Gpt", "Vit"])
def test_a_right_re_implementation_agrees(name: str) -> None:
    found = compare(name)
    assert found, str(found)
    assert [case.outcome for case in found.report.cases] == ["agrees", "agrees"]


@pytest.mark.parametrize(
    ("name", "mistake", "first"),
    [
        ("Llama", "rope", "layers.1.self_attn"),
        ("Llama", "groups", "layers.1.self_attn"),
        ("Llama", "eps", "layers.1.input_layernorm"),
        ("Gpt", "mask", "h.1.attn"),
        ("Gpt", "gelu", "h.1.mlp.act"),
        ("Vit", "scale", "layers.1.attention"),
        ("Vit", "gelu", "layers.1.mlp.activation_fn"),
    ],
)
def test_a_wrong_one_is_named_where_it_is_wrong(name: str, mistake: str, first: str) -> None:
    found = compare(name, mistake)
    assert found.outcome == "differs", str(found)
    assert found.first_divergence == first, str(found)


def test_the_command_line_compares_a_layer(tmp_path: Path) -> None:
    setup = f"""
        import sys
        import torch

        def reference():
            from transformers import GPT2Config
            from transformers.models.gpt2.modeling_gpt2 import GPT2MLP

            return GPT2MLP({4 * ours.DIM}, GPT2Config(n_embd={ours.DIM}))

        def candidate():
            from torch import nn
            wide = {4 * ours.DIM}
            return nn.Sequential(nn.Linear({ours.DIM}, wide), nn.GELU(), nn.Linear(wide, {ours.DIM}))

        def inputs():
            return torch.randn(2, 5, {ours.DIM})
    """
    (tmp_path / "setup.py").write_text(textwrap.dedent(setup))
    code, out, err = fork_cli.run(["parity", "--with", "setup.py"], tmp_path)
    assert code == 1, out + err
    assert "1 (GELU), act in the reference, is the first to go wrong" in out
