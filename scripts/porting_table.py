"""Four right ports and six wrong ones of examples/porting, compared by `goldsmith parity` and by forward hooks.

python scripts/porting_table.py [--write]

Prints a table, in float32 and in bfloat16, and exits with 1 if goldsmith is wrong about one; `--write` puts the table
into measurements/ports.md. Seconds are processor time of the whole command with both of its processes, so that they
depend on nothing else that runs.
"""

from __future__ import annotations

import importlib.util
import json
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "porting"
PAGE = ROOT / "docs/contributing/measurements/ports.md"
BEGIN, END = "<!-- begin: printed by scripts/porting_table.py -->", "<!-- end -->"
INIT, INPUT = (48, 4), (2, 11, 48)
DTYPES = ("float32", "bfloat16")
COMMAND = (sys.executable, "-c", "from goldsmith.cli import run; run()")


@dataclass(frozen=True)
class Port:
    """A port of a block: what is different in it, and which module is wrong, by the reference's name, if one is."""

    what: str
    reference: str
    file: str
    candidate: str
    wrong: str = ""


PORTS = (
    Port("other names", "LlamaBlock", "blocks", "LlamaBlock"),
    Port("fused weights", "LlamaBlock", "blocks", "FusedLlamaBlock"),
    Port("transposed matrices", "ViTBlock", "blocks", "TransposedViTBlock"),
    Port("torch's own attention", "ViTBlock", "blocks", "ViTBlock"),
    Port("RoPE turns other pairs", "LlamaBlock", "wrong", "WrongRope", "self_attn"),
    Port("epsilon of one norm", "ViTBlock", "wrong", "WrongEps", "layernorm_after"),
    Port("scale of attention", "ViTBlock", "wrong", "WrongScale", "attention"),
    Port("GELU's approximation", "ViTBlock", "wrong", "WrongGelu", "mlp.act"),
    Port("causal mask off by one", "LlamaBlock", "wrong", "WrongMask", "self_attn"),
    Port("norms after, not before", "LlamaBlock", "wrong", "WrongOrder", "LlamaBlock"),
)


@dataclass(frozen=True)
class Row:
    """What was found out about a port in each dtype, by goldsmith and by hooks, and in how much time."""

    port: Port
    said: tuple[str, ...]
    hooks: tuple[str, ...]
    processor_s: float
    wall_s: float

    @property
    def is_right(self) -> bool:
        return set(self.said) == {self.port.wrong or "agrees"}


def command_line(port: Port) -> list[str]:
    """Return the arguments of goldsmith that compare a port, in the example's folder."""
    shape = ", ".join(map(str, INPUT))
    return [
        "parity", f"old/blocks.py:{port.reference}", f"new/{port.file}.py:{port.candidate}",
        "--init", ", ".join(map(str, INIT)), "--input", f"torch.randn({shape})",
    ]  # fmt: skip


def ask_goldsmith(port: Port, dtype: str) -> tuple[str, float, float]:
    return run_goldsmith([*command_line(port), "--dtype", dtype])


def run_goldsmith(arguments: Sequence[str]) -> tuple[str, float, float]:
    """Return the first wrong module, or the outcome, and the seconds of processor and wall-clock time."""
    before, started = _processor_seconds(), time.monotonic()
    done = subprocess.run([*COMMAND, *arguments, "--json"], cwd=EXAMPLE, capture_output=True, text=True)
    seconds = _processor_seconds() - before, time.monotonic() - started
    (found,) = json.loads(done.stdout)["candidates"]
    return found["first_divergence"] or found["outcome"], *seconds


def _processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def ask_hooks(port: Port, dtype: str) -> str:
    """Return the first module whose output is not close, or nothing."""
    import torch

    old, hooks = _load("old/blocks.py"), _load("hooks.py")
    sys.modules["blocks"] = _load("new/blocks.py")
    new = _load(f"new/{port.file}.py")
    torch.manual_seed(0)
    kind = getattr(torch, dtype)
    models = getattr(old, port.reference)(*INIT).to(kind), getattr(new, port.candidate)(*INIT).to(kind)
    names = hooks.LLAMA if port.reference == "LlamaBlock" else hooks.VIT
    return hooks.first_mismatch(*models, torch.randn(INPUT).to(kind), names) or ""


def _load(file: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"porting_{file.replace('/', '_')}", EXAMPLE / file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def table(rows: Sequence[Row]) -> str:
    """Return the rows in Markdown."""
    heads = ("the port has", "wrong is", "goldsmith names", "in bfloat16", "s", "hooks name", "in bfloat16")
    lines = [f"| {' | '.join(heads)} |", "|---|---|---|---|---:|---|---|"]
    for row in rows:
        wrong, *said = (cell(name) for name in (row.port.wrong, *row.said))
        cells = (row.port.what, wrong, *said, f"{row.processor_s:.1f}", *map(cell, row.hooks))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def cell(name: str) -> str:
    return f"`{name}`" if name and name != "agrees" else "nothing"


def main(arguments: Sequence[str]) -> int:
    rows = []
    for port in PORTS:
        said, processor_s, wall_s = zip(*(ask_goldsmith(port, dtype) for dtype in DTYPES), strict=True)
        hooks = tuple(ask_hooks(port, dtype) for dtype in DTYPES)
        rows.append(Row(port, said, hooks, max(processor_s), max(wall_s)))
    print(table(rows))
    right = sum(row.is_right for row in rows)
    slowest = max(row.wall_s for row in rows)
    print(f"\n{right} of {len(rows)} are judged right; the slowest took {slowest:.1f} s by the clock", file=sys.stderr)
    if "--write" in arguments:
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(f"{page.partition(BEGIN)[0]}{BEGIN}\n{table(rows)}\n{END}{page.partition(END)[2]}")
    return 0 if right == len(rows) else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
