"""What most projects write instead: forward hooks on both models, and torch.testing.assert_close on what they see.

It needs to be told which weights and modules correspond, for each port. It names the first module whose output
differs, which may be wrong itself or only the first that was given something wrong.
"""

import torch

LLAMA = {
    "input_layernorm": "attention_norm",
    "self_attn": "attention",
    "self_attn.q_proj": "attention.wq",
    "self_attn.k_proj": "attention.wk",
    "self_attn.v_proj": "attention.wv",
    "self_attn.o_proj": "attention.wo",
    "post_attention_layernorm": "ffn_norm",
    "mlp": "feed_forward",
    "mlp.gate_proj": "feed_forward.w1",
    "mlp.up_proj": "feed_forward.w3",
    "mlp.down_proj": "feed_forward.w2",
}
VIT = {
    "layernorm_before": "norm1",
    "attention": "attn",
    "attention.dense": "attn.proj",
    "layernorm_after": "norm2",
    "mlp": "mlp",
    "mlp.fc1": "mlp.lin1",
    "mlp.act": "mlp.act",
    "mlp.fc2": "mlp.lin2",
}
FUSED = {
    "attention.wqkv": ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    "attn.qkv": ("attention.query", "attention.key", "attention.value"),
}


def convert(reference, candidate, names):
    """Put the reference's weights into the candidate."""
    old, new = reference.state_dict(), {}
    for mine, theirs in names.items():
        for leaf in ("weight", "bias"):
            if f"{mine}.{leaf}" in old:
                spelt = f"{theirs}.{leaf}" if f"{theirs}.{leaf}" in candidate.state_dict() else f"{theirs}.scale"
                new[spelt] = old[f"{mine}.{leaf}"]
    for theirs, parts in FUSED.items():
        for leaf in ("weight", "bias"):
            if f"{theirs}.{leaf}" in candidate.state_dict():
                new[f"{theirs}.{leaf}"] = torch.cat([old[f"{part}.{leaf}"] for part in parts])
    for name, module in candidate.named_modules():
        if type(module).__name__ == "Conv1D":  # rows are inputs there
            new[f"{name}.weight"] = new[f"{name}.weight"].T
    kept = {name: value for name, value in new.items() if name in candidate.state_dict()}
    candidate.load_state_dict(kept)


def outputs_of(model, inputs):
    """Run a model and return what each of its modules returned, in the order in which they ended."""
    found, handles = {}, []
    for name, module in model.named_modules():

        def keep(module, args, output, name=name):
            found[name] = first_tensor(output)

        handles.append(module.register_forward_hook(keep))
    try:
        with torch.no_grad():
            model(**inputs) if isinstance(inputs, dict) else model(*inputs)
    finally:
        for handle in handles:
            handle.remove()
    return found


def first_tensor(output):
    """Return a copy of the first tensor in what a module returned."""
    while not isinstance(output, torch.Tensor):
        output = next(iter(output.values() if isinstance(output, dict) else output))
    return output.detach().clone()


def first_mismatch(reference, candidate, inputs, names):
    """Return the first module, by the reference's name, whose output is not close; None if all are."""
    reference.eval()
    candidate.eval()
    convert(reference, candidate, names)
    return next(mismatches(reference, candidate, (inputs,), {"": "", **names}), None)


def mismatches(reference, candidate, inputs, names):
    """Yield the modules whose output is not close; weights are in place. Other shapes cannot be compared."""
    mine, theirs = outputs_of(reference, inputs), outputs_of(candidate, inputs)
    for name, output in mine.items():
        other = names.get(name)
        if other not in theirs or theirs[other].shape != output.shape:
            continue
        try:
            torch.testing.assert_close(theirs[other], output)
        except AssertionError:
            yield name or type(reference).__name__
