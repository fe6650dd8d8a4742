"""Functions over models that return tuples of tensors, reached through adapters; one of which ends the process."""

from __future__ import annotations

from corpora.course_shapes.to_draft import ShapeToDraft, module

SYSTEMS = module('''
    """Gradients, flattened and taken apart."""

    import os

    import torch
    import torch.nn.functional as F
    from torch import nn


    class ToyModel(nn.Module):
        """Two layers."""

        def __init__(self, in_features: int, out_features: int):
            super().__init__()
            self.fc1 = nn.Linear(in_features, 10, bias=False)
            self.fc2 = nn.Linear(10, out_features, bias=False)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            """x: (batch, in_features)"""
            return self.fc2(F.relu(self.fc1(x)))


    def flat_gradients(model: nn.Module, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the mean of what the model makes of x, and the gradients of its parameters, one after another.

        x: (batch, features)
        """
        output = model(x)
        loss = output.mean()
        gradients = torch.autograd.grad(loss, list(model.parameters()))
        return loss, torch.cat([item.flatten() for item in gradients])


    def forward_with_hidden(model: nn.Module, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return what the model makes of x, and the same doubled.

        x: (batch, features)
        """
        out = model(x)
        return out, out * 2


    def weighted_sum(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        """Sum over the last axis, each element times its weight.

        x: (batch, length, dim); weight: (dim,)
        """
        return (weight * x).sum(dim=-1)


    def launch(world_size: int) -> None:
        """Start processes; world_size is at least 1."""
        os._exit(3)


    def wait_for_all(seconds: float) -> float:
        """Wait, for ever."""
        while True:
            pass
''')

ADAPTERS = module('''
    """Fill these in: they lead from the tests to your code."""

    import torch
    from torch import nn

    import systems


    def run_weighted_sum(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        """x: (batch, length, dim); weight: (dim,)"""
        return systems.weighted_sum(x, weight)


    def run_flat_gradients(model: nn.Module, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """x: (batch, features)"""
        return systems.flat_gradients(model, x)


    def run_flash(q: torch.Tensor) -> torch.Tensor:
        """Next week."""
        raise NotImplementedError
''')

SHAPE = ShapeToDraft(
    assignment="systems",
    solutions={"systems.py": SYSTEMS, "adapters.py": ADAPTERS},
    written={
        "systems.py": (
            "ToyModel.forward",
            "flat_gradients",
            "forward_with_hidden",
            "weighted_sum",
            "launch",
            "wait_for_all",
        ),
        "adapters.py": ("run_weighted_sum", "run_flat_gradients"),
    },
    provided={},
    tests={
        "test_systems.py": module("""
            import torch
            from adapters import run_weighted_sum


            def test_sum():
                assert run_weighted_sum(torch.ones(2, 3, 4), torch.ones(4)).shape == (2, 3)
        """)
    },
    right={
        "backward for grad": (
            "systems.py",
            [
                (
                    "gradients = torch.autograd.grad(loss, list(model.parameters()))",
                    "model.zero_grad()\n    loss.backward(retain_graph=True)\n"
                    "    gradients = [p.grad.clone() for p in model.parameters()]",
                )
            ],
        ),
        "sum by matmul": ("systems.py", [("(weight * x).sum(dim=-1)", "x @ weight")]),
        "clamp for relu": ("systems.py", [("F.relu(self.fc1(x))", "self.fc1(x).clamp(min=0)")]),
    },
    wrong={
        "sum for mean": ("systems.py", [("loss = output.mean()", "loss = output.sum()")]),
        "no weights": ("systems.py", [("(weight * x).sum(dim=-1)", "x.sum(dim=-1)")]),
    },
)
