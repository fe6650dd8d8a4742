"""Gates."""

import torch


def swiglu(gate, up):
    return gate * torch.tanh(gate) * up
