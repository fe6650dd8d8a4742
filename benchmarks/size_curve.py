"""How time, memory and disk grow with a model: `record` and `check` of two cases, one with gradients, over a bare
script that computes the same; 1 if a promise is broken.

python benchmarks/size_curve.py [--millions 1 10 24 100] [--timeline]

Memory is the peak, over all processes at once, of what they have for themselves and share (`Pss`), without pages of
files, which the system takes back when it needs them. The promises are for what is above a bare process that has
imported torch, of what grows with the model: the cost of goldsmith's processes on a model of no size is shown in a line
of its own and taken off. With `OUT` in the environment, the table is written there, too.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

GOLDSMITH = [sys.executable, "-c", "from goldsmith.cli import run; run()"]
MIB = 2**20
POLL_INTERVAL_S = 0.1
MAX_PEAK = {"record": 12.0, "check": 8.0}
"""At most this many times the bytes of the weights."""
MAX_GOLD = 3.0
"""At most this many times the bytes of the weights and gradients together."""
LAYERS = 4
MODEL = f"""
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.blocks = nn.ModuleList(Block(width) for _ in range({LAYERS}))

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x
"""
RECIPE = """
import goldsmith as gs
import torch
from model import Model


@gs.case
def forward(case):
    \"\"\"What the model returns.\"\"\"
    x = case.input("x", lambda: torch.randn(3, WIDTH))
    model = case.model(Model, WIDTH)
    case.record("y", model(x))


@gs.case
def gradients(case):
    \"\"\"What it passes back.\"\"\"
    x = case.input("x", lambda: torch.randn(5, WIDTH))
    model = case.model(Model, WIDTH)
    loss = model(x).square().mean()
    loss.backward()
    case.record("loss", loss)
    case.record_gradients(model)
"""
BARE = """
import torch
from model import Model

torch.manual_seed(42)
torch.set_num_threads(1)
model = Model(WIDTH)
x = torch.randn(3, WIDTH)
torch.save({"input": x, "output": model(x).detach(), "state_dict": model.state_dict()}, "forward.pt")
model(torch.randn(5, WIDTH)).square().mean().backward()
grads = {name: item.grad for name, item in model.named_parameters()}
torch.save({"output": grads, "state_dict": model.state_dict()}, "gradients.pt")
"""


class Cost(NamedTuple):
    seconds: float
    peak: float
    """MiB of memory of all processes together, without pages of files."""


class Sizes(NamedTuple):
    weights: float
    gold: float


class Memory:
    """The memory of a process and its descendants, sampled until it is stopped."""

    def __init__(self, pid: int) -> None:
        self.timeline: list[tuple[float, dict[str, float]]] = []
        self._pid, self._ended = pid, threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    @property
    def peak(self) -> float:
        return max((sum(found.values()) for _, found in self.timeline), default=0.0)

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(POLL_INTERVAL_S):
            self.timeline.append((time.monotonic(), dict(_memory_of(self._pid))))


def _memory_of(pid: int) -> Iterator[tuple[str, float]]:
    """Yield each process of a tree with its MiB."""
    with contextlib.suppress(OSError, ValueError):
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        kibs = {name: int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in lines[1:])}
        yield str(pid), (kibs["Pss_Anon"] + kibs["Pss_Shmem"]) / 1024
    children: list[str] = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            children += Path(f"/proc/{pid}/task/{task}/children").read_text().split()
    for child in children:
        yield from _memory_of(int(child))


def measure(command: list[str], folder: Path, *, timeline: bool = False) -> Cost:
    started = time.monotonic()
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, cwd=folder, stdout=said, stderr=subprocess.STDOUT)
        memory = Memory(process.pid)
        code = process.wait()
        seconds = time.monotonic() - started
        memory.stop()
        if code:
            said.seek(0)
            sys.exit(f"{command} ended with {code}: {said.read().decode()[-2000:]}")
    if timeline:
        show_timeline(memory, started)
    return Cost(seconds, memory.peak)


def show_timeline(memory: Memory, started: float) -> None:
    """Print how much each process had, wherever the total has changed by a tenth of the peak."""
    last = 0.0
    for moment, found in memory.timeline:
        total = sum(found.values())
        if abs(total - last) > memory.peak / 10:
            last = total
            own = "  ".join(f"{pid}: {size:.0f}" for pid, size in found.items() if size > 1)
            print(f"    {moment - started:6.2f} s {total:7.0f} MiB   {own}")


def run(width: int, folder: Path, *, timeline: bool) -> tuple[dict[str, Cost], Sizes]:
    """Measure a bare script, `record` and `check` with a model of this width."""
    folder.mkdir()
    (folder / "model.py").write_text(MODEL)
    for name, text in (("recipe.py", RECIPE), ("bare.py", BARE)):
        (folder / name).write_text(text.replace("WIDTH", str(width)))
    costs = {
        "bare": measure([sys.executable, "bare.py"], folder),
        "record": measure([*GOLDSMITH, "record", "recipe.py", "--yes", "--allow-large"], folder, timeline=timeline),
        "check": measure([*GOLDSMITH, "check", "recipe.py"], folder, timeline=timeline),
    }
    weights = 4 * LAYERS * (8 * width**2 + 7 * width) / MIB
    gold = sum(item.stat().st_size for item in (folder / "recipe.gold").iterdir()) / MIB
    shutil.rmtree(folder)
    return costs, Sizes(weights, gold)


def main(millions: list[float], *, timeline: bool) -> int:
    lines: list[str] = []

    def say(line: str) -> None:
        lines.append(line)
        print(line, flush=True)

    broken = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary, "model")
        wait = [sys.executable, "-c", "import torch, time; time.sleep(1)"]
        torch = measure(wait, Path(temporary)).peak
        nothing, _ = run(4, folder, timeline=False)
        say(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}; a process with torch has {torch:.0f} MiB,")
        say("  on a model of no size " + ", ".join(f"{name} {cost.peak:.0f} MiB" for name, cost in nothing.items()))
        say("weights          seconds              peak in all, MiB       above torch, and that")
        say("                 bare record  check    bare record  check     grows, x the weights   gold, x both")
        for million in millions:
            width = max(8, round((million * 1e6 / (8 * LAYERS)) ** 0.5))
            costs, sizes = run(width, folder, timeline=timeline)
            grown = {name: (costs[name].peak - nothing[name].peak) / sizes.weights for name in MAX_PEAK}
            above = {name: (costs[name].peak - torch) / sizes.weights for name in MAX_PEAK}
            gold = sizes.gold / (2 * sizes.weights)
            say(
                f"{sizes.weights * MIB / 4e6:5.1f} M {sizes.weights:5.0f} MiB"
                + "".join(f" {cost.seconds:6.1f}" for cost in costs.values())
                + "  "
                + "".join(f" {cost.peak:6.0f}" for cost in costs.values())
                + "    "
                + "  ".join(f"{name} {above[name]:6.1f} {grown[name]:5.1f}" for name in MAX_PEAK)
                + f"    {sizes.gold:6.0f} MiB {gold:4.1f}"
            )
            broken += [f"{name} at {million:g} M" for name, most in MAX_PEAK.items() if grown[name] > most]
            broken += [f"gold at {million:g} M"] if gold > MAX_GOLD and million >= 1 else []
    if broken:
        say(f"more than promised: {', '.join(broken)}")
    if "OUT" in os.environ:
        Path(os.environ["OUT"], "size_curve.txt").write_text("\n".join(lines) + "\n")
    return int(bool(broken))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--millions", type=float, nargs="+", default=[1, 3, 10, 24, 100])
    parser.add_argument("--timeline", action="store_true", help="show which process has how much when")
    arguments = parser.parse_args()
    sys.exit(main(arguments.millions, timeline=arguments.timeline))
