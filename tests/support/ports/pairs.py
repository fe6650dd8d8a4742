"""The pairs: who is the reference, who the port, how weights correspond, and which module each mistake is made in, by
its name in the reference. A module that holds it directly is right, too, where only its code is wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

import goldsmith
from goldsmith.adapter import rename, rows
from support.ports import clip, gpt, llama, moe, seq2seq

EXACTLY, NEARBY, KINDS_WITHOUT_CULPRIT = "exactly", "within one level", "elsewhere"


def draw_weights(model: Any) -> None:
    """Draw every weight, larger than usual, so that every mistake shows."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.4 + (parameter.ndim == 1) * 0.6)


@dataclass(frozen=True)
class Pair:
    """A reference and its port. Where more than one module holds a mistake directly, each of them is right."""

    name: str
    reference: Callable[[], Any]
    candidate: Callable[..., Any]
    inputs: Callable[[], Any]
    adapter: Callable[[], None] | None = None
    mistakes: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    draw: Callable[[Any], None] = draw_weights
    outputs: Mapping[str, str] | None = None

    def drawn(self, mistake: str = "", seed: int = 0) -> tuple[Any, Any, Any]:
        """Return both models and inputs, with weights, inputs and buffers that are drawn from a seed."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            reference = self.reference()
            self.draw(reference)
            torch.manual_seed(1000 + seed)
            inputs, candidate = self.inputs(), self.candidate(mistake)
        return reference, candidate, inputs

    def compare(self, mistake: str = "", seed: int = 0, **options: Any) -> goldsmith.Parity:
        options = {"outputs": self.outputs} | options
        return goldsmith.parity(*self.drawn(mistake, seed), adapter=self.adapter, **options)

    def nearness(self, mistake: str, named: str) -> str:
        """Say how near to a mistake the module that is `named` is."""
        right = self.mistakes[mistake]
        places = {_path(name) for name in ((right,) if isinstance(right, str) else right)}
        path = _path(named)
        if path in places:
            return EXACTLY
        near = bool(path and path[:-1] in places) or any(place and place[:-1] == path for place in places)
        return NEARBY if near and named else KINDS_WITHOUT_CULPRIT


def _path(name: str) -> tuple[str, ...]:
    """Return the parts of a module's name; none for a model, which goes by its class."""
    return () if name[:1].isupper() else tuple(name.split("."))


def renames(*names: tuple[str, str]) -> None:
    for mine, theirs in names:
        rename(mine, theirs)


def of_the_book() -> None:
    layer, block = "layers.*", "trf_blocks.*"
    att = {"q_proj": "W_query", "k_proj": "W_key", "v_proj": "W_value", "o_proj": "out_proj"}
    mlp = {"gate_proj": "fc1", "up_proj": "fc2", "down_proj": "fc3"}
    renames(
        *((f"{layer}.self_attn.{one}.weight", f"{block}.att.{two}.weight") for one, two in att.items()),
        *((f"{layer}.self_attn.{one}.weight", f"{block}.att.{one}.scale") for one in ("q_norm", "k_norm")),
        *((f"{layer}.mlp.{one}.weight", f"{block}.ff.{two}.weight") for one, two in mlp.items()),
        (f"{layer}.input_layernorm.weight", f"{block}.norm1.scale"),
        (f"{layer}.post_attention_layernorm.weight", f"{block}.norm2.scale"),
        ("embed_tokens.weight", "tok_emb.weight"),
        ("norm.weight", "final_norm.scale"),
    )


def of_the_first_release() -> None:
    for one, two, heads in (("q_proj", "wq", llama.HEADS), ("k_proj", "wk", llama.GROUPS)):
        rows(
            f"layers.*.self_attn.{one}.weight",
            f"layers.*.attention.{two}.weight",
            parts=2,
            gold_order="head part row",
            theirs_order="head row part",
            heads=heads,
        )
    renames(
        ("layers.*.self_attn.v_proj.weight", "layers.*.attention.wv.weight"),
        ("layers.*.self_attn.o_proj.weight", "layers.*.attention.wo.weight"),
        ("layers.*.mlp.gate_proj.weight", "layers.*.feed_forward.w1.weight"),
        ("layers.*.mlp.up_proj.weight", "layers.*.feed_forward.w3.weight"),
        ("layers.*.mlp.down_proj.weight", "layers.*.feed_forward.w2.weight"),
        ("layers.*.input_layernorm.weight", "layers.*.attention_norm.scale"),
        ("layers.*.post_attention_layernorm.weight", "layers.*.ffn_norm.scale"),
        ("embed_tokens.weight", "tok_embeddings.weight"),
        ("norm.weight", "norm.scale"),
    )


def of_the_gpt() -> None:
    for kind in ("weight", "bias"):
        rows(
            f"layers.*.attention.query_key_value.{kind}",
            f"transformer.h.*.attn.c_attn.{kind}",
            parts=3,
            gold_order="head part row",
            heads=gpt.HEADS,
        )
        renames(
            (f"layers.*.attention.dense.{kind}", f"transformer.h.*.attn.c_proj.{kind}"),
            (f"layers.*.input_layernorm.{kind}", f"transformer.h.*.ln_1.{kind}"),
            (f"layers.*.post_attention_layernorm.{kind}", f"transformer.h.*.ln_2.{kind}"),
            (f"layers.*.mlp.dense_h_to_4h.{kind}", f"transformer.h.*.mlp.c_fc.{kind}"),
            (f"layers.*.mlp.dense_4h_to_h.{kind}", f"transformer.h.*.mlp.c_proj.{kind}"),
            (f"final_layer_norm.{kind}", f"transformer.ln_f.{kind}"),
        )
    renames(
        ("embed_in.weight", "transformer.wte.weight"),
        ("embed_positions.weight", "transformer.wpe.weight"),
        ("embed_out.weight", "lm_head.weight"),
    )


def of_the_towers() -> None:
    for mine, theirs in (("vision_model", "visual.blocks"), ("text_model", "resblocks")):
        for kind in ("weight", "bias"):
            layer = f"{mine}.encoder.layers.*"
            rows([f"{layer}.self_attn.{part}_proj.{kind}" for part in "qkv"], f"{theirs}.*.attn.in_proj_{kind}")
            renames(
                (f"{layer}.self_attn.out_proj.{kind}", f"{theirs}.*.attn.out_proj.{kind}"),
                (f"{layer}.layer_norm1.{kind}", f"{theirs}.*.ln_1.{kind}"),
                (f"{layer}.layer_norm2.{kind}", f"{theirs}.*.ln_2.{kind}"),
                (f"{layer}.mlp.fc1.{kind}", f"{theirs}.*.mlp.c_fc.{kind}"),
                (f"{layer}.mlp.fc2.{kind}", f"{theirs}.*.mlp.c_proj.{kind}"),
            )
    for kind in ("weight", "bias"):
        renames(
            (f"vision_model.pre_layrnorm.{kind}", f"visual.ln_pre.{kind}"),
            (f"vision_model.post_layernorm.{kind}", f"visual.ln_post.{kind}"),
            (f"text_model.final_layer_norm.{kind}", f"ln_final.{kind}"),
        )
    renames(
        ("vision_model.class_embedding", "visual.class_embedding"),
        ("vision_model.patch_embedding.weight", "visual.conv1.weight"),
        ("vision_model.position_embedding.weight", "visual.positional_embedding"),
        ("text_model.token_embedding.weight", "token_embedding.weight"),
        ("text_model.position_embedding.weight", "positional_embedding"),
        ("visual_projection.weight", "visual.proj.weight"),
    )


def of_speech() -> None:
    names = {"q_proj": "query", "k_proj": "key", "v_proj": "value", "out_proj": "out"}
    for side in ("encoder", "decoder"):
        for kind in ("weight", "bias"):
            layer, block = f"{side}.layers.*", f"{side}.blocks.*"
            attentions = (("self_attn", "attn"), ("encoder_attn", "cross_attn"))
            for mine, theirs in attentions[: 1 if side == "encoder" else 2]:
                known = {a: b for a, b in names.items() if (a, kind) != ("k_proj", "bias")}  # keys have no bias
                renames(*((f"{layer}.{mine}.{a}.{kind}", f"{block}.{theirs}.{b}.{kind}") for a, b in known.items()))
                rename(f"{layer}.{mine}_layer_norm.{kind}", f"{block}.{theirs}_ln.{kind}")
            renames(
                (f"{layer}.fc1.{kind}", f"{block}.mlp.0.{kind}"),
                (f"{layer}.fc2.{kind}", f"{block}.mlp.2.{kind}"),
                (f"{layer}.final_layer_norm.{kind}", f"{block}.mlp_ln.{kind}"),
                (f"{side}.layer_norm.{kind}", f"{side}.{'ln_post' if side == 'encoder' else 'ln'}.{kind}"),
            )
        rename(f"{side}.embed_positions.weight", f"{side}.positional_embedding")
    rename("decoder.embed_tokens.weight", "decoder.token_embedding.weight")


def of_experts() -> None:
    renames(
        ("layers.*.block_sparse_moe.**", "layers.*.feed_forward.**"),
        ("layers.*.post_attention_layernorm.*", "layers.*.ffn_norm.*"),
        ("layers.*.mixer.*", "layers.*.mix.*"),
        ("embed_tokens.weight", "tok_embeddings.weight"),
    )


def tokens(words: int, length: int) -> Callable[[], Any]:
    return lambda: torch.randint(0, words, (2, length))


PAIRS = (
    Pair(
        "book",
        llama.LlamaModel,
        llama.Llama3Model,
        tokens(llama.WORDS, 11),
        of_the_book,
        {
            "rope offset": "layers.1.self_attn",
            "rope sign": "layers.1.self_attn",
            "rope base": "LlamaModel",
            "groups": "layers.1.self_attn",
            "scale": "layers.1.self_attn",
            "mask": "LlamaModel",
            "eps": "layers.1.post_attention_layernorm",
            "eps of keys": "layers.1.self_attn.k_norm",
            "gate": "layers.1.mlp",
            "residual": "layers.1",
        },
    ),
    Pair(
        "first release",
        lambda: llama.LlamaModel(qk_norm=False),
        llama.Interleaved,
        tokens(llama.WORDS, 11),
        of_the_first_release,
        {
            "no rope": "layers.1.self_attn",
            "scale": "layers.1.self_attn",
            "mask": "layers.1.self_attn",
            "eps": "layers.1.post_attention_layernorm",
        },
    ),
    Pair(
        "gpt",
        gpt.GPTNeoXModel,
        gpt.GPT,
        tokens(gpt.WORDS, 9),
        of_the_gpt,
        {
            "q and k": "layers.1.attention",
            "scale": "layers.1.attention",
            "softmax axis": "layers.1.attention",
            "dropout": "layers.1.attention",
            "always on": "layers.1.mlp",
            "gelu": "layers.1.mlp.act",
            "eps": "layers.1.post_attention_layernorm",
            "post norm": "layers.1",
            "positions": "GPTNeoXModel",
            "final norm": "GPTNeoXModel",
        },
    ),
    Pair(
        "towers",
        clip.CLIPModel,
        clip.OpenCLIP,
        lambda: (torch.randint(0, clip.WORDS, (3, 8)), torch.randn(3, 3, clip.IMAGE, clip.IMAGE)),
        of_the_towers,
        {
            "gelu of texts": "text_model.encoder.layers.1.mlp.activation_fn",
            "eps of texts": "text_model.encoder.layers.1.layer_norm1",
            "mask": "text_model.encoder.layers.1",
            "gelu of images": "vision_model.encoder.layers.1.mlp.activation_fn",
            "patch order": "vision_model",
            "end of text": "CLIPModel",
            "temperature": "CLIPModel",
        },
    ),
    Pair(
        "speech",
        seq2seq.WhisperModel,
        seq2seq.Whisper,
        lambda: (torch.randn(2, seq2seq.MELS, 14), torch.randint(0, seq2seq.WORDS, (2, 5))),
        of_speech,
        {
            "scale of the encoder": "encoder.layers.1.self_attn",
            "gelu of the encoder": "encoder.layers.1.activation_fn",
            "stem": "encoder",
            "last norm of the encoder": "encoder",
            "scale": "decoder.layers.1.self_attn",
            "mask": "decoder.layers.1.self_attn",
            "cross": "decoder.layers.1.encoder_attn",
            "eps": "decoder.layers.1.encoder_attn_layer_norm",
            "gelu": "decoder.layers.1.activation_fn",
            "norm of mlp": "decoder.layers.1",
        },
    ),
    Pair(
        "experts",
        moe.MixtralModel,
        moe.Transformer,
        tokens(moe.WORDS, 7),
        of_experts,
        {
            "activation": "layers.1.block_sparse_moe.experts.2",
            "one expert": "layers.1.block_sparse_moe",
            "not normalised": "layers.1.block_sparse_moe",
            "eps": "layers.1.post_attention_layernorm",
            "residual": "layers.1",
        },
    ),
)


def port(name: str) -> Pair:
    return next(pair for pair in PAIRS if pair.name == name)
