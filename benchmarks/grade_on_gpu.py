"""Grade a small class on an accelerator, with submissions that want to harm it, each followed by honest work; 1 if
something did not hold.

python benchmarks/grade_on_gpu.py [--device cuda] [--only sandbox|class]

Last, in a program of its own (`gpu_sandbox.py`), which files and system calls are needed. With `OUT` in the
environment, the table is written there, too. Elsewhere than on CUDA, what only CUDA has is left out.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path
from typing import Any, NamedTuple

GOLDSMITH = [sys.executable, "-c", "from goldsmith.cli import run; run()"]
SOLUTION = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.first, self.second = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.second(torch.nn.functional.gelu(self.first(x)))
"""
RECIPE = """
import goldsmith as gs
import torch
from ops import Net


@gs.case
def few(case):
    case.record("y", case.model(Net)(case.input("x", lambda: torch.randn(3, 24))))


@gs.case
def many(case):
    case.record("y", case.model(Net)(case.input("x", lambda: torch.randn(500, 24))))


@gs.case
def trained(case):
    model = case.model(Net, train=True)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    loss = model(case.input("x", lambda: torch.randn(7, 24))).square().mean()
    loss.backward()
    case.record_gradients(model)
    optimiser.step()
    case.record("loss", loss)
    case.record_weights(model)


if __name__ == "__main__":
    gs.main()
"""
IN_ONE_CASE = "        if len(x) == 500:\n"
"""A harmful deed is done in the case `many` alone: the other two say what it cost."""
TRIES = '''
import os, socket, subprocess
found = []
def tries(name, act):
    try:
        found.append(f"{name}: {str(act())[:60]!r}")
    except BaseException:
        pass
PATHS = """/etc/passwd /proc/1/environ /dev/nvidia-uvm-tools /dev/mem /dev/kmsg /dev/nvidia-caps/nvidia-cap1 /dev/fuse
    /dev/zero /proc/driver/nvidia/capabilities/mig/config /root /tmp"""
for path in (*PATHS.split(), GOLD, COURSE):
    tries(path, lambda: open(path, "rb").read(20) if not os.path.isdir(path) else os.listdir(path))
tries("socket", lambda: socket.socket())
tries("unix", lambda: socket.socket(socket.AF_UNIX).connect("/var/run/nvidia-persistenced/socket"))
tries("write", lambda: open("/dev/shm/left", "w"))
for words in ("-pm 0", "-c 3", "-pl 300", "-r", "-rgc", "-lgc 300"):
    command = ["nvidia-smi", *words.split()]
    tries(" ".join(command), lambda: subprocess.run(command, check=True, capture_output=True).stdout)
raise ValueError("got: " + "; ".join(found) if found else "got nothing")
'''


class Deed(NamedTuple):
    """What a submission does in one case, what then must come of its cases, and whether only CUDA can do it."""

    code: str
    outcome: str
    others: str
    cuda: bool = True


HARM = {
    "endless_kernel": Deed("torch.cuda._sleep(2**62); return x", "could-not-run", "agrees"),
    "endless_loop": Deed("while True: pass", "could-not-run", "agrees", cuda=False),
    "out_of_memory": Deed("return x + torch.zeros(2**38, device=x.device)[0]", "could-not-run", "agrees"),
    "takes_all_in_steps": Deed(
        "kept = []\nwhile True: kept.append(torch.zeros(2**28, device=x.device))", "could-not-run", "agrees"
    ),
    "lifts_its_limit": Deed(
        "torch.cuda.set_per_process_memory_fraction(1.0)\nkept = []\nimport time\n"
        "for _ in range(400):\n    kept.append(torch.zeros(2**28, device=x.device)); time.sleep(0.01)\ntime.sleep(60)",
        "could-not-run",
        "agrees",
    ),
    "device_assert": Deed(
        "return x + torch.ones(3, device=x.device)[torch.full((500, 1), 77, device=x.device)]",
        "could-not-run",
        "agrees",
    ),
    "illegal_address": Deed(
        'code = "extern \\"C\\" __global__ void wild(float *x) { x[(1ull << 40) + threadIdx.x] = 1; }"\n'
        "wild = torch.cuda._compile_kernel(code, 'wild')\nwild((1, 1, 1), (32, 1, 1), (x.detach(),))",
        "could-not-run",
        "agrees",
    ),
    "segfault": Deed("import ctypes; ctypes.string_at(0); return x", "could-not-run", "agrees", cuda=False),
    "tries_doors": Deed(TRIES, "could-not-run", "agrees", cuda=False),
    "leaves_a_mark": Deed(
        "torch.full((2**31,), 77, dtype=torch.uint8, device=x.device); torch.cuda.synchronize(); import os; os.abort()",
        "could-not-run",
        "agrees",
    ),
    "looks_for_marks": Deed(
        "seen = int((torch.empty(2**33, dtype=torch.uint8, device=x.device) == 77).sum())\n"
        "raise ValueError(f'marks seen: {seen}')",
        "could-not-run",
        "agrees",
    ),
    "forks": Deed(
        "import os\npid = os.fork()\nif not pid:\n    torch.zeros(3, device=x.device)\n    os._exit(0)\n"
        "os.waitpid(pid, 0)\nreturn self.second(torch.nn.functional.gelu(self.first(x))) + x",
        "agrees",
        "agrees",
    ),
    "triton_right": Deed(
        "from kernel import double\none = double(torch.ones_like(x)) / 2\n"
        "return x + self.second(torch.nn.functional.gelu(self.first(x))) * one",
        "agrees",
        "agrees",
    ),
    "triton_wild_address": Deed("from kernel import wild\nwild(x); return x", "could-not-run", "agrees"),
    "triton_endless": Deed("from kernel import endless\nendless(x); return x", "could-not-run", "agrees"),
    "wrong": Deed("return x - self.second(torch.nn.functional.gelu(self.first(x)))", "differs", "agrees", cuda=False),
}
EVERYWHERE = ("segfault", "tries_doors", "wrong")
FOLLOWED = (
    "endless_kernel", "takes_all_in_steps", "lifts_its_limit", "device_assert", "illegal_address", "segfault",
    "triton_wild_address", "triton_endless",
)  # fmt: skip
"""Deeds after which honest work comes at once, which must find the device as it should be."""
KERNEL = """
import torch
import triton
import triton.language as tl


@triton.jit
def _double(source, target, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(target + at, 2 * tl.load(source + at, mask=at < n), mask=at < n)


@triton.jit
def _wild(source, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(source + 1_000_000_000_000 + at, tl.full((BLOCK,), 1.0, tl.float32))


@triton.jit
def _endless(source, n, BLOCK: tl.constexpr):
    seen = tl.load(source)
    while seen != n + 0.123:
        seen = tl.load(source, volatile=True)
    tl.store(source, seen)


def double(x):
    y = torch.empty_like(x)
    _double[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
    return y


def wild(x):
    _wild[(1,)](x, x.numel(), BLOCK=256)
    torch.cuda.synchronize()


def endless(x):
    _endless[(1,)](x.contiguous(), x.numel(), BLOCK=256)
    torch.cuda.synchronize()
"""


def course(root: Path, device: str) -> Path:
    """Write a course with gold and a class; return the folder of the class."""
    starter = SOLUTION.replace(
        "return x + self.second(torch.nn.functional.gelu(self.first(x)))", "raise NotImplementedError"
    )
    files = {
        "src/assignments/hw1/ops.py": starter,
        "src/assignments/hw1/generate_fixtures.py": RECIPE,
        "private/solutions/hw1/ops_solution.py": SOLUTION,
    }
    known = f"GOLD, COURSE = {str(root / 'fixtures')!r}, {str(root)!r}\n"
    number = 0
    for name, deed in HARM.items():
        if deed.cuda is not device.startswith("cuda") and name not in EVERYWHERE:
            continue
        code = textwrap.indent((known if deed.code is TRIES else "") + deed.code, 12 * " ")
        line = "        return x + self.second"
        honest = [("honest", f"{SOLUTION}\n# number {number}: nobody else's verdict is this one's\n")]
        for kind, text in (
            (name, SOLUTION.replace(line, f"{IN_ONE_CASE}{code}\n{line}")),
            *(honest if name in FOLLOWED else []),
        ):
            number += 1
            files[f"class/{number:02}_{kind}/ops.py"] = text
            if "triton" in kind:
                files[f"class/{number:02}_{kind}/kernel.py"] = KERNEL
    for path, content in files.items():
        root.joinpath(path).parent.mkdir(parents=True, exist_ok=True)
        root.joinpath(path).write_text(content)
    return root / "class"


def goldsmith(*arguments: str, root: Path, timeout: float = 150) -> tuple[int, str, float]:
    """Run a command, whose progress is shown as it comes; return its exit code, what it printed, and its seconds."""
    began = time.monotonic()
    with subprocess.Popen([*GOLDSMITH, *arguments], cwd=root, stdout=subprocess.PIPE, text=True) as process:
        try:
            out, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.terminate()
            out, _ = process.communicate()
            print(f"goldsmith {arguments[0]} was stopped after {timeout} s", flush=True)
    return process.returncode, out, time.monotonic() - began


def device_use() -> str:
    try:
        words = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader"]
        return subprocess.run(words, capture_output=True, text=True).stdout.strip()
    except OSError:
        return "none"


def verdict_on(item: dict[str, Any]) -> tuple[bool, str]:
    """Return whether what came of a submission is what had to, and the outcomes of its cases."""
    kind = item["name"].partition("_")[2]
    cases = {case["name"]: case["outcome"] for case in item["cases"]}
    wanted = HARM.get(kind, Deed("", "agrees", "agrees"))
    fine = wanted.outcome in ("", cases.get("many")) and {cases.get("few"), cases.get("trained")} == {wanted.others}
    said = " ".join(case["why"] for case in item["cases"])
    fine = fine and ("got: " not in said) and ("marks seen: 0" in said or kind != "looks_for_marks")
    return fine, "/".join(cases.get(name, "?") for name in ("few", "many", "trained"))


def main(device: str, jobs: str) -> int:
    root = Path(tempfile.mkdtemp(prefix="goldsmith-gpu-"))
    submissions = course(root, device)
    where = subprocess.run(
        [sys.executable, "-c", "import goldsmith.sandbox.accelerator as a; print(a.__file__)"],
        cwd=root,
        capture_output=True,
        text=True,
    )
    print(f"goldsmith is {where.stdout.strip() or where.stderr[-300:]}")
    code, out, took = goldsmith("generate", "hw1", "--yes", "--no-calibrate", "--device", device, root=root)
    if code:
        print(out)
        return code
    print(f"gold made in {took:.1f} s; in use on the device: {device_use()}", flush=True)
    # a card's context is made in the time of the first case; a loop without end on the processor needs no such patience
    options = ["--device", device, "--jobs", jobs, "--timeout", "20" if device.startswith("cuda") else "3"]
    options += ["--device-memory", "24"] if device.startswith("cuda") else []
    code, out, took = goldsmith("grade", "hw1", str(submissions), *options, "--json", root=root)
    try:
        found = json.loads(out)
    except ValueError:
        found = {}
    if not found.get("submissions"):
        print(f"grade ended with {code}: {found.get('error') or out[-3000:]}")
        return 1
    lines, bad = [f"{'submission':28} {'few/many/trained':44} {'s':>5}  what it said"], 0
    for item in sorted(found["submissions"], key=lambda it: it["name"]):
        fine, cases = verdict_on(item)
        bad += not fine
        why = next((case["why"] for case in item["cases"] if case["name"] == "many"), "")
        lines.append(
            f"{item['name']:28} {cases:44} {item['seconds']:5.1f}  {'' if fine else 'DID NOT HOLD: '}{why[:230]}"
        )
    lines += [
        f"{len(found['submissions'])} submissions in {took:.1f} s, exit code {code}, sandbox {found.get('sandbox')}",
        f"in use on the device now: {device_use()}; did not hold: {bad}",
    ]
    honest = [item["seconds"] for item in found["submissions"] if item["name"].endswith("honest")]
    lines.append(f"honest work: {sum(honest) / len(honest):.2f} s each, at most {max(honest):.2f} s")
    print("\n".join(lines), flush=True)
    if "OUT" in os.environ:
        Path(os.environ["OUT"], "grade_on_gpu.txt").write_text("\n".join(lines))
        Path(os.environ["OUT"], "grade_on_gpu.json").write_text(out)
    return int(bad > 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--jobs", default="4", help="how many are graded at once, each with 24 GiB of the device")
    parser.add_argument("--only", choices=("sandbox", "class"))
    given = parser.parse_args()
    failed = 0
    if given.only != "sandbox":
        failed = main(given.device, given.jobs)
    if given.only != "class":
        program = Path(__file__).with_name("gpu_sandbox.py")
        failed = subprocess.run([sys.executable, str(program), "--device", given.device]).returncode or failed
    raise SystemExit(failed)
