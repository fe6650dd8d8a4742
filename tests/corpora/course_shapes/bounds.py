"""Functions with bounds: probabilities, variances, schedules, square tables, batches that must have several rows."""

from __future__ import annotations

from corpora.course_shapes.to_draft import ShapeToDraft, module

LOSSES = module('''
    """Losses and schedules."""

    import math

    import torch
    import torch.nn.functional as F


    def smoothed_cross_entropy(logits: torch.Tensor, labels: torch.Tensor, smoothing: float = 0.1) -> torch.Tensor:
        """Compute cross-entropy with smoothed labels.

        logits: (batch, classes)
        labels: (batch,), integers below classes
        smoothing: at least 0 and less than 1
        """
        logs = logits.log_softmax(dim=-1)
        right = -logs.gather(1, labels[:, None]).squeeze(1)
        return ((1 - smoothing) * right - smoothing * logs.mean(dim=-1)).mean()


    def warmup_cosine(step: int, warmup_steps: int, total_steps: int, peak: float, floor: float = 0.0) -> float:
        """Return the learning rate at a step.

        step: at least 0
        warmup_steps: at least 1, and less than total_steps
        peak: greater than floor, which is at least 0
        """
        if step < 0:
            raise ValueError("step must not be negative")
        if not 1 <= warmup_steps < total_steps:
            raise ValueError("warmup_steps must be at least 1 and less than total_steps")
        if step < warmup_steps:
            return peak * step / warmup_steps
        if step > total_steps:
            return floor
        share = (step - warmup_steps) / (total_steps - warmup_steps)
        return floor + 0.5 * (1 + math.cos(math.pi * share)) * (peak - floor)


    def gaussian_kl(mean: torch.Tensor, variance: torch.Tensor) -> torch.Tensor:
        """Return the divergence from a standard normal distribution, summed over dimensions.

        mean: (batch, dim)
        variance: (batch, dim), positive
        """
        return 0.5 * (variance + mean**2 - 1 - variance.log()).sum(dim=-1)


    def entropy(probs: torch.Tensor) -> torch.Tensor:
        """Return the entropy of each row.

        probs: (batch, classes), probabilities that sum to one in each row
        """
        return -(probs * probs.log()).sum(dim=-1)


    def value_iteration_step(
        values: torch.Tensor, transitions: torch.Tensor, rewards: torch.Tensor, gamma: float
    ) -> torch.Tensor:
        """Take one step of value iteration.

        values: (states,)
        transitions: (states, states), each row the probabilities of the next state
        rewards: (states,)
        gamma: the discount, in [0, 1)
        """
        assert transitions.shape[0] == transitions.shape[1], "one row for each state"
        assert 0 <= gamma < 1
        return rewards + gamma * transitions @ values


    def contrastive_loss(first: torch.Tensor, second: torch.Tensor, temperature: float = 0.5) -> torch.Tensor:
        """Tell each row's partner from the others.

        first, second: (batch, dim), with a batch of at least 2
        temperature: greater than 0
        """
        if first.shape[0] < 2:
            raise ValueError("a batch of one has no others")
        scores = F.normalize(first, dim=-1) @ F.normalize(second, dim=-1).T / temperature
        return F.cross_entropy(scores, torch.arange(len(first)))


    def standardise(x: torch.Tensor, eps: float = 1e-5) -> torch.Tensor:
        """Standardise each feature over the batch, which must have at least two rows.

        x: (batch, features)
        """
        return (x - x.mean(dim=0)) / torch.sqrt(x.var(dim=0) + eps)


    def drop_connect(weight: torch.Tensor, keep: torch.Tensor, p: float) -> torch.Tensor:
        """Zero the weights that are not kept, and scale the others.

        weight: (out, inn)
        keep: (out, inn), ones and zeros
        p: the probability of being dropped, 0 <= p < 1
        """
        if p < 0 or p >= 1:
            raise ValueError("p must be a probability below 1")
        return weight * keep / (1 - p)
''')

SHAPE = ShapeToDraft(
    assignment="bounds",
    solutions={"losses.py": LOSSES},
    written={
        "losses.py": (
            "smoothed_cross_entropy",
            "warmup_cosine",
            "gaussian_kl",
            "entropy",
            "value_iteration_step",
            "contrastive_loss",
            "standardise",
            "drop_connect",
        )
    },
    provided={},
    tests={
        "test_losses.py": module("""
            import torch
            from losses import smoothed_cross_entropy, value_iteration_step, warmup_cosine


            def test_smoothing():
                assert smoothed_cross_entropy(torch.randn(4, 3), torch.tensor([0, 2, 1, 1]), smoothing=0.2) > 0


            def test_schedule():
                assert warmup_cosine(5, 10, 100, 1.0) == 0.5


            def test_values():
                table = torch.tensor([[0.5, 0.5], [0.1, 0.9]])
                value_iteration_step(torch.zeros(2), table, torch.ones(2), 0.9)
        """)
    },
    right={
        "by kl_div": (
            "losses.py",
            [
                (
                    "logs = logits.log_softmax(dim=-1)\n",
                    "if 0 <= smoothing < 1:\n"
                    "        return F.cross_entropy(logits, labels, label_smoothing=smoothing)\n"
                    "    logs = logits.log_softmax(dim=-1)\n",
                )
            ],
        ),
        "clamped schedule": (
            "losses.py",
            [("share = (step - warmup_steps)", "share = max(0, step - warmup_steps)")],
        ),
        "strict variance": (
            "losses.py",
            [
                (
                    "return 0.5 * (variance + mean**2",
                    "assert (variance > 0).all()\n    return 0.5 * (variance + mean**2",
                )
            ],
        ),
        "strict probabilities": (
            "losses.py",
            [
                (
                    "return -(probs * probs.log()).sum(dim=-1)",
                    "return torch.distributions.Categorical(probs=probs).entropy()",
                )
            ],
        ),
        "rows of probabilities only": (
            "losses.py",
            [
                (
                    "assert 0 <= gamma < 1\n",
                    "assert 0 <= gamma < 1\n    rows = transitions.sum(1)\n"
                    "    assert torch.allclose(rows, torch.ones(len(values)), atol=1e-4)\n",
                )
            ],
        ),
        "positive temperature only": (
            "losses.py",
            [("if first.shape[0] < 2:", "assert temperature > 0\n    if first.shape[0] < 2:")],
        ),
        "variance by hand": (
            "losses.py",
            [
                (
                    "torch.sqrt(x.var(dim=0) + eps)",
                    "torch.sqrt(((x - x.mean(0)) ** 2).sum(0) / (len(x) - 1) + eps)",
                )
            ],
        ),
        "kept as booleans": (
            "losses.py",
            [("weight * keep / (1 - p)", "torch.where(keep != 0, weight / (1 - p), 0.0)")],
        ),
    },
    wrong={
        "no smoothing": ("losses.py", [("- smoothing * logs.mean(dim=-1)", "")]),
        "no discount": ("losses.py", [("rewards + gamma * transitions", "rewards + transitions")]),
    },
)
