"""What may differ between submissions to Scratch-1 without being wrong; read by `goldsmith check`."""

import inspect

import torch

from goldsmith.adapter import call, layout, part, rename, rows

# q, k and v as three layers instead of one; gate and up as one instead of two.
rows("**.qkv_proj.*", ["**.q_proj.*", "**.k_proj.*", "**.v_proj.*"])
rows(["**.gate_proj.*", "**.up_proj.*"], "**.gate_up.*")

# Matrices as plain parameters, applied as x @ W.
rows("**.qkv_proj.weight", ["**.W_q", "**.W_k", "**.W_v"], transpose=True)
rows("**.qkv_proj.bias", ["**.b_q", "**.b_k", "**.b_v"])
rename("**.out_proj.weight", "**.W_o", transpose=True)
rename("**.out_proj.bias", "**.b_o")

# Names that many lectures use, in whatever order they are registered.
rename("token_embedding.weight", "wte.weight")
rename("blocks.*.attention_norm.weight", "layers.*.pre_attn.g")
rename("blocks.*.feed_forward_norm.weight", "layers.*.pre_mlp.g")
rename("blocks.*.attention.qkv_proj.*", "layers.*.attn.c_attn.*")
rename("blocks.*.attention.out_proj.*", "layers.*.attn.c_proj.*")
for ours, theirs in (("gate_proj", "act"), ("up_proj", "linear"), ("down_proj", "out")):
    rename(f"blocks.*.feed_forward.{ours}.*", f"layers.*.mlp.{theirs}.*")
    rename(f"feed_forward.{ours}.*", f"mlp.{theirs}.*")
    rename(f"{ours}.*", f"{theirs}.*")
rename("attention_norm.weight", "pre_attn.g")
rename("feed_forward_norm.weight", "pre_mlp.g")

# The same matrix with each head's q, k and v together. The name does not tell, so it is tried when nothing else agrees.
with layout("q, k, v together for each head"):
    rows("**.qkv_proj.*", "**.qkv_proj.*", parts=3, theirs_order="head part row", heads="num_heads")


@call("CausalSelfAttention")
@call("TransformerBlock")
def with_mask(theirs, x):
    """Some ask for the mask instead of making it."""
    wanted = inspect.signature(theirs).parameters
    if "mask" in wanted and wanted["mask"].default is inspect.Parameter.empty:
        return theirs(x, torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril())
    return theirs(x)


@part("backbone.train_epoch")
def train_epoch(theirs, model, batches, optimizer, max_grad_norm):
    """Some ask for a device, some return more than the loss."""
    extra = {"device": "cpu"} if "device" in inspect.signature(theirs).parameters else {}
    result = theirs(model, batches, optimizer, max_grad_norm=max_grad_norm, **extra)
    return result[0] if isinstance(result, tuple) else result


@part("backbone.DecoderOnlyTransformer")
def model(theirs, **config):
    """Some build their last layer in the first call; an optimiser must not be made before."""
    built = theirs(**config)
    if not any("head" in name for name, _ in built.named_parameters()):
        with torch.no_grad():
            built(torch.zeros(1, 2, dtype=torch.long))
    return built
