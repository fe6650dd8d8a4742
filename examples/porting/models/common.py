"""What the ten pairs share: weights that are drawn, so that nothing is downloaded, and the weights moved by hand."""

import math
import os

import torch

os.environ["HF_HUB_OFFLINE"] = "1"  # a configuration is all that is needed


def draw_weights(model):
    """Draw all weights, norms and biases too, large enough that every mistake shows."""
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if name.endswith("A_log") or weight.ndim < 2:
                weight.add_(torch.randn_like(weight) * 0.3)
            else:
                inputs = weight.shape[-1] if "experts" in name else math.prod(weight.shape[1:])
                weight.copy_(torch.randn_like(weight) * inputs**-0.5)
    return model.eval()


def spell_out(names, layers=2):
    """Return names with a number in the place of every star."""
    found = {}
    for mine, theirs in names.items():
        for number in range(layers) if "*" in mine else (0,):
            found[mine.replace("*", str(number))] = theirs.replace("*", str(number))
    return found


def moved(state, names, leaves=("weight", "bias")):
    """Return the weights of modules that correspond under the candidate's names."""
    return {
        f"{theirs}.{leaf}": state[f"{mine}.{leaf}"]
        for mine, theirs in spell_out(names).items()
        for leaf in leaves
        if f"{mine}.{leaf}" in state
    }
