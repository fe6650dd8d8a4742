"""The kernels of tests/corpora/kernels on a GPU, those of Triton too, in float32 and bfloat16; 1 if one is misjudged.

PYTHONPATH=scripts:tests python benchmarks/kernels_on_gpu.py [--device cpu] [--jobs 8]

Takes less than four minutes with eight processes at a time. Where torch sees no GPU, it says so and exits with 3. With
OUT set in the environment, the table goes to $OUT/kernels.md and everything that was said to $OUT/kernels.json, too.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

from kernel_table import rows, summary, table

from corpora.kernels import DTYPES

SEEN = "import torch; print(torch.cuda.get_device_name() if torch.cuda.is_available() else '', torch.__version__)"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("chosen", nargs="*")
    given = parser.parse_args()
    asked = subprocess.run([sys.executable, "-c", SEEN], capture_output=True, text=True).stdout
    name, _, version = asked.strip().rpartition(" ")
    if given.device != "cpu" and not name:
        print("This needs a GPU, and torch sees none here. Nothing was run.", file=sys.stderr)
        return 3
    triton = "with" if importlib.util.find_spec("triton") is not None else "without"
    started = time.monotonic()
    found = list(rows(given.chosen, DTYPES, given.device, given.jobs))
    seconds = time.monotonic() - started
    head = f"{name or 'CPU'}, torch {version}, {triton} Triton: {len(found)} verdicts in {seconds:.0f} s"
    text = "\n\n".join([head, table(found), summary(found)])
    print(text)
    for item in found:
        if not item.is_right:
            said = f"{item.said} {', '.join(item.by)}: {item.reason}"
            print(f"{item.kernel.problem}/{item.kernel.name} {item.dtype}: {said}", flush=True)
    if "OUT" in os.environ:
        Path(os.environ["OUT"], "kernels.md").write_text(text + "\n")
        Path(os.environ["OUT"], "kernels.json").write_text(json.dumps([asdict(item) for item in found], indent=1))
    return int(not all(item.is_right for item in found))


if __name__ == "__main__":
    raise SystemExit(main())
