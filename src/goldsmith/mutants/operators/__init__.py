"""The mistakes that mutants imitate, one file for each kind of code. Order is precedence: specific ones come first."""

from importlib import import_module

PRECEDENCE = (
    "attention",
    "masks",
    "positions",
    "norms",
    "policies",
    "residuals",
    "activations",
    "losses",
    "training",
    "optimisers",
    "state",
    "vision",
    "stability",
    "choices",
    "calls",
    "arrays",
    "slices",
    "arithmetic",
    "logic",
    "statements",
)

for _name in PRECEDENCE:
    import_module(f"{__name__}.{_name}")
