"""Four right ports and six wrong ones, each compared with its reference: by goldsmith, and by hooks and assert_close.

    python examples/porting/table.py
"""

import importlib.util
import sys
import time
from pathlib import Path

import torch

import goldsmith

HERE = Path(__file__).parent
DIM, HEADS, INPUT = 48, 4, (2, 11, 48)
PORTS = [
    ("other names", "LlamaBlock", "blocks", "LlamaBlock", None),
    ("fused weights", "LlamaBlock", "blocks", "FusedLlamaBlock", None),
    ("transposed layout", "ViTBlock", "blocks", "TransposedViTBlock", None),
    ("torch's own attention", "ViTBlock", "blocks", "ViTBlock", None),
    ("RoPE pairing", "LlamaBlock", "wrong", "WrongRope", "self_attn"),
    ("epsilon of a norm", "ViTBlock", "wrong", "WrongEps", "layernorm_after"),
    ("attention's scale", "ViTBlock", "wrong", "WrongScale", "attention"),
    ("GELU's approximation", "ViTBlock", "wrong", "WrongGelu", "mlp.act"),
    ("causal mask", "LlamaBlock", "wrong", "WrongMask", "self_attn"),
    ("order of the norms", "LlamaBlock", "wrong", "WrongOrder", "LlamaBlock"),
]
"""What is different, the reference, the candidate's module and class, and where it is wrong by the reference's name."""


def load(name, file):
    """Import a file under a name of its own: both repositories have a module called `blocks`."""
    spec = importlib.util.spec_from_file_location(name, HERE / file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def pair(reference, module, candidate):
    """Build a reference and a candidate."""
    old = load("old_blocks", "old/blocks.py")
    new = load("blocks", "new/blocks.py")
    new = load("wrong", "new/wrong.py") if module == "wrong" else new
    torch.manual_seed(0)
    return getattr(old, reference)(DIM, HEADS), getattr(new, candidate)(DIM, HEADS)


def rows(ports=PORTS):
    """Yield what is different, where it is wrong, what goldsmith and the hooks say, and the seconds goldsmith took."""
    hooks = load("hooks", "hooks.py")
    for what, reference, module, candidate, wrong in ports:
        models = pair(reference, module, candidate)
        started = time.monotonic()
        found = goldsmith.parity(*models, lambda: torch.randn(INPUT))
        seconds = time.monotonic() - started
        said = found.first_divergence if found.outcome == "differs" else found.outcome
        names = hooks.LLAMA if reference == "LlamaBlock" else hooks.VIT
        torch.manual_seed(42)
        yield what, wrong, said, hooks.first_mismatch(*models, torch.randn(INPUT), names), seconds


def table(found):
    """Return the rows as a table in Markdown."""
    lines = ["| port | is wrong at | goldsmith says | hooks say |", "|---|---|---|---|"]
    for what, wrong, said, hooked, _ in found:
        lines.append(f"| {what} | {wrong or 'nothing'} | {said} | {hooked or 'all is close'} |")
    return "\n".join(lines)


def main():
    found = list(rows())
    print(table(found))
    right = sum(said == (wrong or "agrees") for _, wrong, said, _, _ in found)
    print(f"\ngoldsmith is right about {right} of {len(found)}; the longest took {max(row[-1] for row in found):.1f} s")
    return 0 if right == len(found) else 1


if __name__ == "__main__":
    raise SystemExit(main())
