"""What three tiny cases cost: `goldsmith check`, `goldsmith parity` and `goldsmith.parity` in a process that has torch
already, over a bare script that imports torch, builds both models and compares what they return; 1 if a promise is
broken.

python benchmarks/tiny_cases.py [--device cuda]

With `OUT` in the environment, the table is written there, too.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = 3
MAX_RATIO = 3.0
"""At most this many times what the bare script takes."""
GOLDSMITH = [sys.executable, "-c", "from goldsmith.cli import run; run()"]
MODEL = """
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.linear = nn.Linear(width, 2 * width)

    def forward(self, x):
        return torch.tanh(self.linear(x))
"""
RECIPE = """
import goldsmith as gs
import torch
from model import Model


@gs.case
def first(case):
    \"\"\"A few rows.\"\"\"
    case.record("y", case.model(Model)(case.input("x", lambda: torch.randn(3, 8))))


@gs.case
def second(case):
    \"\"\"More of them.\"\"\"
    case.record("y", case.model(Model)(case.input("x", lambda: torch.randn(5, 8))))


@gs.case
def third(case):
    \"\"\"Gradients.\"\"\"
    model = case.model(Model)
    model(case.input("x", lambda: torch.randn(7, 8))).square().sum().backward()
    case.record_gradients(model)
"""
BARE = """
import torch

import candidate
import model

one, two = model.Model().to("DEVICE"), candidate.Model().to("DEVICE")
two.load_state_dict(one.state_dict())
for rows in (3, 5, 7):
    x = torch.randn(rows, 8, device="DEVICE")
    torch.testing.assert_close(one(x), two(x))
"""
IN_PROCESS = """
import time

import torch

import candidate
import model

one, two = model.Model().to("DEVICE"), candidate.Model().to("DEVICE")
x = torch.randn(3, 8, device="DEVICE")
torch.testing.assert_close(one(x), one(x))
started = time.perf_counter()
import goldsmith
assert goldsmith.parity(one, two, x)
print(time.perf_counter() - started)
started = time.perf_counter()
assert goldsmith.parity(one, two, x)
print(time.perf_counter() - started)
"""


def run(command: list[str], folder: Path) -> tuple[float, str]:
    """Run a command; return how many seconds it took, and what it printed."""
    started = time.perf_counter()
    found = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    seconds = time.perf_counter() - started
    if found.returncode:
        sys.exit(f"{command} ended with {found.returncode}: {(found.stdout + found.stderr)[-2000:]}")
    return seconds, found.stdout


def main(device: str) -> int:
    lines = [f"{device}; {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}; median of {ROUNDS}, alternating"]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        files = {
            "model.py": MODEL,
            "candidate.py": MODEL,
            "recipe.py": RECIPE,
            "bare.py": BARE,
            "inside.py": IN_PROCESS,
        }
        for name, text in files.items():
            (folder / name).write_text(text.replace("DEVICE", device))
        run([*GOLDSMITH, "record", "recipe.py", "--yes"], folder)
        commands = {
            "bare script": [sys.executable, "bare.py"],
            "goldsmith check": [*GOLDSMITH, "check", "recipe.py", "--with", "model=candidate.py", "--device", device],
            "goldsmith parity": [
                *(*GOLDSMITH, "parity", "model.py:Model", "candidate.py:Model"),
                *("--input", "torch.randn(3, 8)", "--device", device),
            ],
        }
        times: dict[str, list[float]] = {name: [] for name in commands}
        inside: list[list[float]] = []
        for _ in range(ROUNDS):
            for name, command in commands.items():
                times[name].append(run(command, folder)[0])
            inside.append([float(line) for line in run([sys.executable, "inside.py"], folder)[1].split()])
    bare = statistics.median(times["bare script"])
    broken = False
    for name, found in times.items():
        seconds = statistics.median(found)
        lines.append(f"  {name:40} {seconds:7.2f} s  {seconds / bare:5.2f} x")
        broken |= seconds > MAX_RATIO * bare
    for name, column in zip(("first", "again"), zip(*inside, strict=True), strict=True):
        lines.append(f"  {f'goldsmith.parity in a process, {name}':40} {statistics.median(column):7.2f} s")
    lines.append(f"at most {MAX_RATIO:g} x: {'NOT KEPT' if broken else 'kept'}")
    print("\n".join(lines))
    if "OUT" in os.environ:
        Path(os.environ["OUT"], f"tiny_cases_{device.replace(':', '_')}.txt").write_text("\n".join(lines) + "\n")
    return int(broken)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    sys.exit(main(parser.parse_args().device))
