"""An encoder with padding masks, an optimiser of its own, and a classifier of sequences of several lengths."""

from __future__ import annotations

from corpora.course_shapes.to_draft import ShapeToDraft, module

ENCODER = module('''
    """Attention over padded sequences."""

    import math

    import torch
    import torch.nn.functional as F
    from torch import nn

    from config import EncoderConfig


    class SelfAttention(nn.Module):
        def __init__(self, config: EncoderConfig):
            super().__init__()
            self.heads = config.num_attention_heads
            self.size = config.hidden_size // config.num_attention_heads
            self.query = nn.Linear(config.hidden_size, config.hidden_size)
            self.key = nn.Linear(config.hidden_size, config.hidden_size)
            self.value = nn.Linear(config.hidden_size, config.hidden_size)
            self.dropout = nn.Dropout(config.dropout)

        def split(self, x: torch.Tensor) -> torch.Tensor:
            batch, length, _ = x.shape
            return x.view(batch, length, self.heads, self.size).transpose(1, 2)

        def attention(
            self, key: torch.Tensor, query: torch.Tensor, value: torch.Tensor, attention_mask: torch.Tensor
        ) -> torch.Tensor:
            """Attend.

            key, query, value: (batch, heads, length, size)
            attention_mask: (batch, 1, 1, length), 0 where a token counts and -10000.0 where it is padding
            Returns (batch, length, hidden)
            """
            scores = query @ key.transpose(-1, -2) / math.sqrt(self.size) + attention_mask
            weights = self.dropout(F.softmax(scores, dim=-1))
            mixed = weights @ value
            batch, _, length, _ = mixed.shape
            return mixed.transpose(1, 2).reshape(batch, length, self.heads * self.size)

        def forward(self, hidden_states: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
            """hidden_states: (batch, length, hidden); attention_mask: as in attention"""
            return self.attention(
                self.split(self.key(hidden_states)),
                self.split(self.query(hidden_states)),
                self.split(self.value(hidden_states)),
                attention_mask,
            )


    class Encoder(nn.Module):
        def __init__(self, config: EncoderConfig):
            super().__init__()
            self.embedding = nn.Embedding(config.vocab_size, config.hidden_size, padding_idx=0)
            self.attention = SelfAttention(config)
            self.norm = nn.LayerNorm(config.hidden_size)
            self.pooler = nn.Linear(config.hidden_size, config.hidden_size)

        def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> dict:
            """Encode.

            input_ids: (batch, length)
            attention_mask: (batch, length), 1 for tokens and 0 for padding
            Returns a dict of last_hidden_state and pooler_output
            """
            mask = (1.0 - attention_mask[:, None, None, :].float()) * -10000.0
            x = self.embedding(input_ids)
            x = self.norm(x + self.attention(x, mask))
            return {"last_hidden_state": x, "pooler_output": torch.tanh(self.pooler(x[:, 0]))}
''')

CLASSIFIER = module('''
    """Sentiment of sequences of several lengths."""

    import torch
    import torch.nn.functional as F
    from torch import nn

    from config import EncoderConfig
    from encoder import Encoder


    def lengths_to_mask(lengths: torch.Tensor, max_length: int) -> torch.Tensor:
        """Return 1 where there is a token, 0 in the padding.

        lengths: (batch,), integers, each at least 1 and at most max_length
        Returns (batch, max_length)
        """
        if (lengths < 1).any() or (lengths > max_length).any():
            raise ValueError("lengths must be at least 1 and at most max_length")
        return (torch.arange(max_length)[None] < lengths[:, None]).long()


    def mean_pool(hidden: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Average over tokens, not over padding.

        hidden: (batch, length, dim)
        mask: (batch, length), 1 or 0, with at least one 1 in each row
        """
        weights = mask.unsqueeze(-1).to(hidden.dtype)
        return (hidden * weights).sum(dim=1) / weights.sum(dim=1)


    class SentimentClassifier(nn.Module):
        def __init__(self, config: EncoderConfig, num_labels: int = 5):
            super().__init__()
            self.encoder = Encoder(config)
            self.dropout = nn.Dropout(config.dropout)
            self.out = nn.Linear(config.hidden_size, num_labels)

        def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
            """Return logits, (batch, num_labels)."""
            encoded = self.encoder(input_ids, attention_mask)
            return self.out(self.dropout(encoded["pooler_output"]))


    def model_eval(model: SentimentClassifier, batches: list) -> float:
        """Return the accuracy over batches of (input_ids, attention_mask, labels)."""
        model.eval()
        right = total = 0
        with torch.no_grad():
            for input_ids, attention_mask, labels in batches:
                right += int((model(input_ids, attention_mask).argmax(-1) == labels).sum())
                total += len(labels)
        return right / total
''')

OPTIMIZER = module('''
    """AdamW."""

    import math
    from typing import Iterable

    import torch
    from torch.optim import Optimizer


    class AdamW(Optimizer):
        def __init__(
            self,
            params: Iterable[torch.nn.Parameter],
            lr: float = 1e-3,
            betas: tuple = (0.9, 0.999),
            eps: float = 1e-6,
            weight_decay: float = 0.0,
            correct_bias: bool = True,
        ):
            if lr < 0.0:
                raise ValueError(f"Invalid learning rate: {lr} - should be >= 0.0")
            if not 0.0 <= betas[0] < 1.0 or not 0.0 <= betas[1] < 1.0:
                raise ValueError("Invalid betas: they should be in [0.0, 1.0[")
            if eps < 0.0:
                raise ValueError(f"Invalid epsilon value: {eps} - should be >= 0.0")
            defaults = dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, correct_bias=correct_bias)
            super().__init__(params, defaults)

        def step(self, closure=None):
            loss = closure() if closure is not None else None
            for group in self.param_groups:
                beta1, beta2 = group["betas"]
                for p in group["params"]:
                    if p.grad is None:
                        continue
                    state = self.state[p]
                    if not state:
                        state["t"], state["m"], state["v"] = 0, torch.zeros_like(p.data), torch.zeros_like(p.data)
                    state["t"] += 1
                    state["m"] = beta1 * state["m"] + (1 - beta1) * p.grad
                    state["v"] = beta2 * state["v"] + (1 - beta2) * p.grad**2
                    rate = group["lr"]
                    if group["correct_bias"]:
                        rate = rate * math.sqrt(1 - beta2 ** state["t"]) / (1 - beta1 ** state["t"])
                    p.data.addcdiv_(state["m"], state["v"].sqrt() + group["eps"], value=-rate)
                    p.data.add_(p.data, alpha=-group["lr"] * group["weight_decay"])
            return loss
''')

CONFIG = module('''
    """Provided."""

    from dataclasses import dataclass


    @dataclass
    class EncoderConfig:
        vocab_size: int = 50
        hidden_size: int = 24
        num_attention_heads: int = 3
        dropout: float = 0.1
''')

SHAPE = ShapeToDraft(
    assignment="encoder",
    solutions={"encoder.py": ENCODER, "classifier.py": CLASSIFIER, "optimizer.py": OPTIMIZER},
    written={
        "encoder.py": ("SelfAttention.attention", "Encoder.forward"),
        "classifier.py": (
            "lengths_to_mask",
            "mean_pool",
            "SentimentClassifier.__init__",
            "SentimentClassifier.forward",
            "model_eval",
        ),
        "optimizer.py": ("AdamW.step",),
    },
    provided={"config.py": CONFIG},
    tests={
        "test_encoder.py": module("""
            import torch
            from classifier import SentimentClassifier, lengths_to_mask, mean_pool, model_eval
            from config import EncoderConfig


            def test_shapes():
                model = SentimentClassifier(EncoderConfig())
                mask = lengths_to_mask(torch.tensor([7, 3, 5]), 7)
                ids = torch.randint(1, 50, (3, 7))
                assert model(ids, mask).shape == (3, 5)
                assert mean_pool(torch.randn(3, 7, 4), mask).shape == (3, 4)
                model_eval(model, [(ids, mask, torch.tensor([0, 1, 4]))])
        """)
    },
    right={
        "scores by einsum": (
            "encoder.py",
            [("query @ key.transpose(-1, -2)", "torch.einsum('bhid,bhjd->bhij', query, key)")],
        ),
        "queries scaled first": (
            "encoder.py",
            [
                (
                    "scores = query @ key.transpose(-1, -2) / math.sqrt(self.size)",
                    "scores = (query / math.sqrt(self.size)) @ key.transpose(-1, -2)",
                )
            ],
        ),
        "mask of minus infinity": (
            "encoder.py",
            [
                (
                    "mask = (1.0 - attention_mask[:, None, None, :].float()) * -10000.0",
                    "mask = torch.zeros(attention_mask.shape).masked_fill(attention_mask == 0, float('-inf'))"
                    "[:, None, None, :]",
                )
            ],
        ),
        "mean by bmm": (
            "classifier.py",
            [("(hidden * weights).sum(dim=1)", "torch.bmm(weights.transpose(1, 2), hidden).squeeze(1)")],
        ),
        "boolean mask first": (
            "classifier.py",
            [
                (
                    "(torch.arange(max_length)[None] < lengths[:, None]).long()",
                    "torch.stack([torch.arange(max_length) < n for n in lengths]).long()",
                )
            ],
        ),
        "moments in place": (
            "optimizer.py",
            [
                (
                    'state["m"] = beta1 * state["m"] + (1 - beta1) * p.grad\n',
                    'state["m"].mul_(beta1).add_(p.grad, alpha=1 - beta1)\n',
                )
            ],
        ),
        "corrected moments": (
            "optimizer.py",
            [
                (
                    'p.data.addcdiv_(state["m"], state["v"].sqrt() + group["eps"], value=-rate)',
                    "p.data = p.data - rate * state['m'] / (torch.sqrt(state['v']) + group['eps'])",
                )
            ],
        ),
    },
    wrong={
        "padding averaged": ("classifier.py", [("/ weights.sum(dim=1)", "/ weights.shape[1]")]),
        "not scaled": ("encoder.py", [(" / math.sqrt(self.size) + attention_mask", " + attention_mask")]),
        "no bias correction": ("optimizer.py", [('if group["correct_bias"]:', "if False:")]),
    },
)
