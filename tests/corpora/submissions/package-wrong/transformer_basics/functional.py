"""Functions without weights."""

import math

import torch


def silu(x):
    return x * torch.sigmoid(x)


def softmax(x, dim):
    shifted = x - x.amax(dim=dim, keepdim=True)
    exponentials = shifted.exp()
    return exponentials / exponentials.sum(dim=dim, keepdim=True)


def scaled_dot_product_attention(q, k, v, mask=None):
    """q: (..., queries, d_k), k: (..., keys, d_k), v: (..., keys, d_v); mask True where a query may look."""
    scores = torch.einsum("...qd,...kd->...qk", q, k) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return softmax(scores, dim=-1) @ v


def cross_entropy(logits, targets):
    """Mean over all leading dimensions."""
    chosen = logits.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    return (torch.logsumexp(logits, dim=-1) - chosen).mean()


def clip_gradients(parameters, max_norm, eps=1e-6):
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = torch.sqrt(sum(g.pow(2).sum() for g in gradients))
    if norm > max_norm:
        for g in gradients:
            g.mul_(max_norm / (norm + eps))
