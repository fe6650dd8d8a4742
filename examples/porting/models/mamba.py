"""Mamba in the style of mamba-minimal: one block of everything, a loop over time, a tied head."""

import torch
import torch.nn.functional as F
from common import draw_weights, moved
from torch import nn

DIM, STATE, LAYERS, WORDS, WIDTH = 24, 4, 2, 53, 4
INNER, RANK = 2 * DIM, 2


def reference():
    from transformers import MambaConfig, MambaForCausalLM

    sizes = {"vocab_size": WORDS, "hidden_size": DIM, "state_size": STATE, "num_hidden_layers": LAYERS}
    rest = {"expand": 2, "time_step_rank": RANK, "conv_kernel": WIDTH, "use_cache": False}
    return draw_weights(MambaForCausalLM(MambaConfig(**sizes, **rest)))


def inputs():
    return torch.randint(0, WORDS, (2, 8))


class RMSNorm(nn.Module):
    def __init__(self, eps):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(DIM))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


class MambaBlock(nn.Module):
    def __init__(self, bug):
        super().__init__()
        self.bug = bug
        self.in_proj = nn.Linear(DIM, 2 * INNER, bias=False)
        self.conv1d = nn.Conv1d(INNER, INNER, WIDTH, groups=INNER, padding=WIDTH - 1)
        self.x_proj = nn.Linear(INNER, RANK + 2 * STATE, bias=False)
        self.dt_proj = nn.Linear(RANK, INNER)
        self.A_log = nn.Parameter(torch.log(torch.arange(1, STATE + 1).repeat(INNER, 1)))
        self.D = nn.Parameter(torch.ones(INNER))
        self.out_proj = nn.Linear(INNER, DIM, bias=False)

    def forward(self, x):
        length = x.shape[1]
        x, res = self.in_proj(x).split([INNER, INNER], dim=-1)
        first = 1 if self.bug == "convolution sees one ahead" else 0
        x = self.conv1d(x.transpose(1, 2))[:, :, first : first + length].transpose(1, 2)
        y = self.ssm(F.silu(x))
        y = y * (torch.sigmoid(res) if self.bug == "sigmoid for the gate" else F.silu(res))
        return self.out_proj(y)

    def ssm(self, x):
        A = -self.A_log.float() if self.bug == "A not exponentiated" else -torch.exp(self.A_log.float())
        delta, B, C = self.x_proj(x).split([RANK, STATE, STATE], dim=-1)
        if self.bug == "B and C swapped":
            B, C = C, B
        delta = self.dt_proj(delta)
        delta = delta if self.bug == "no softplus" else F.softplus(delta)
        return self.selective_scan(x, delta, A, B, C, self.D.float())

    def selective_scan(self, u, delta, A, B, C, D):
        deltaA = torch.exp(torch.einsum("bld,dn->bldn", delta, A.to(u.dtype)))
        deltaB_u = torch.einsum("bld,bln,bld->bldn", delta, B, u)
        x, ys = torch.zeros(u.shape[0], INNER, STATE, dtype=u.dtype), []
        for i in range(u.shape[1]):
            x = deltaA[:, i] * x + deltaB_u[:, i]
            ys.append(torch.einsum("bdn,bn->bd", x, C[:, i]))
        y = torch.stack(ys, dim=1)
        return y if self.bug == "no skip over the scan" else y + u * D.to(u.dtype)


class ResidualBlock(nn.Module):
    def __init__(self, bug):
        super().__init__()
        self.bug = bug
        self.mixer = MambaBlock(bug)
        self.norm = RMSNorm(1e-6 if bug == "epsilon" else 1e-5)

    def forward(self, x):
        normed = self.norm(x)
        return self.mixer(normed) + (normed if self.bug == "residual of the normed" else x)


class Mamba(nn.Module):
    def __init__(self, bug=""):
        super().__init__()
        self.embedding = nn.Embedding(WORDS, DIM)
        self.layers = nn.ModuleList([ResidualBlock(bug) for _ in range(LAYERS)])
        self.norm_f = RMSNorm(1e-5)
        self.lm_head = nn.Linear(DIM, WORDS, bias=False)
        self.lm_head.weight = self.embedding.weight

    def forward(self, input_ids):
        x = self.embedding(input_ids)
        for layer in self.layers:
            x = layer(x)
        return self.lm_head(self.norm_f(x))


candidate = Mamba

LAYER = "backbone.layers.*"
BUGS = {
    "convolution sees one ahead": ("backbone.layers.0.mixer",),
    "no softplus": ("backbone.layers.0.mixer",),
    "no skip over the scan": ("backbone.layers.0.mixer",),
    "A not exponentiated": ("backbone.layers.0.mixer",),
    "B and C swapped": ("backbone.layers.0.mixer",),
    "sigmoid for the gate": ("backbone.layers.0.mixer", "backbone.layers.0.mixer.act"),
    "epsilon": ("backbone.layers.0.norm",),
    "residual of the normed": ("backbone.layers.0",),
}

NAMES = {
    "backbone.embeddings": "embedding",
    LAYER: "layers.*",
    f"{LAYER}.norm": "layers.*.norm",
    f"{LAYER}.mixer": "layers.*.mixer",
    **{
        f"{LAYER}.mixer.{part}": f"layers.*.mixer.{part}"
        for part in ("in_proj", "conv1d", "x_proj", "dt_proj", "out_proj")
    },
    "backbone.norm_f": "norm_f",
    "lm_head": "lm_head",
}


def weights_by_hand(state):
    return moved(state, NAMES, ("weight", "bias", "A_log", "D"))
