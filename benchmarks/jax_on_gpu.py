"""Ports to JAX on a GPU beside torch on the same one, by precision of their matrix products; 1 if goldsmith is wrong.

PYTHONPATH=scripts python benchmarks/jax_on_gpu.py [FRAMEWORK | VERSION ...]

The blocks of examples/porting/in_jax, by `goldsmith parity … --device cuda`: right ones must agree, wrong ones not.
Where torch or JAX sees no GPU, it says so, runs nothing and exits with 3.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

from jax_table import rows

SETTINGS: dict[str, tuple[dict[str, str], Sequence[str]]] = {
    "float32 in both": ({"JAX_DEFAULT_MATMUL_PRECISION": "highest"}, ("--dtype", "float32")),
    "TF32 in JAX": ({"JAX_DEFAULT_MATMUL_PRECISION": "tensorfloat32"}, ("--dtype", "float32")),
    "TF32 in both": (
        {"JAX_DEFAULT_MATMUL_PRECISION": "tensorfloat32", "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE": "1"},
        ("--dtype", "float32"),
    ),
    "bfloat16": ({}, ("--dtype", "bfloat16")),
}
"""What the environment says to both processes, and how goldsmith is called."""
SHARED_MEMORY = {
    "XLA_PYTHON_CLIENT_PREALLOCATE": "false"
}  # else JAX takes most of it, and torch, next to it, finds none
DEVICES = {
    "torch": "import torch; print(torch.cuda.get_device_name() if torch.cuda.is_available() else '')",
    "JAX": "import jax; print(next((d.device_kind for d in jax.devices() if d.platform == 'gpu'), ''))",
}


def gpu_of(library: str) -> str:
    """Return the name of the GPU that a library sees, asked in a process that ends and so keeps no memory there."""
    done = subprocess.run([sys.executable, "-c", DEVICES[library]], capture_output=True, text=True)
    if done.returncode:
        return ""
    return done.stdout.strip()


def main(only: Sequence[str]) -> int:
    seen = {library: gpu_of(library) for library in DEVICES}
    if not all(seen.values()):
        blind = " and ".join(f"{library} sees none" for library, name in seen.items() if not name)
        print(f"This needs a GPU, and {blind} here. Nothing was run.", file=sys.stderr)
        return 3
    print(", ".join(f"{library}: {name}" for library, name in seen.items()))
    print("matrix products     right: agree   wrong: named   differ   agree    seconds")
    broken = False
    for name, (environment, options) in SETTINGS.items():
        os.environ.update(SHARED_MEMORY | environment)
        found = list(rows(only, ("--device", "cuda", *options)))
        for variable in environment:
            del os.environ[variable]
        right = [row for row in found if not row.version.wrong]
        wrong = [row for row in found if row.version.wrong]
        agree, passed = (sum(row.said == "agrees" for row in group) for group in (right, wrong))
        named = sum(row.said == row.version.wrong for row in wrong)
        unknown = [row for row in found if row.said in ("could-not-run", "inconclusive")]
        broken |= agree < len(right) or passed > 0 or bool(unknown)
        print(
            f"{name:18} {agree:4} of {len(right):3} {named:8} of {len(wrong):3} {len(wrong) - named - passed:8}"
            f" {passed:7} {sum(row.wall_s for row in found):9.0f}",
            flush=True,
        )
        for row in unknown:
            print(f"  {row.framework} {row.version.name}: {row.said}")
    return int(broken)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
