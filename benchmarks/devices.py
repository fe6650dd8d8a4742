"""How long it takes to compare two tensors of 1 GiB on a GPU, beside torch's own ways; 1 if a promise is broken.

python benchmarks/devices.py [--mebibytes 1024]
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

REPEATS = 15
SHARE_OF_TORCH = 0.5
"""The most that a comparison may take of what torch.testing.assert_close takes."""


def tensors(kind: str, dtype: Any, mebibytes: int) -> tuple[Any, Any]:
    """Two tensors of this size: equal, with noise inside every tolerance, wrong in one element, or wrong everywhere."""
    import torch

    size = mebibytes * 2**20 // dtype.itemsize
    gold = torch.randn(size // 16384, 16384, device="cuda").to(dtype)
    actual = gold.clone()
    if kind == "passing":
        actual += torch.randn_like(gold) * (1e-7 if dtype == torch.float32 else 1e-3)
    elif kind == "one wrong":
        actual[-3, 5] += 1
    elif kind == "all wrong":
        actual += torch.randn_like(gold)
    elif kind == "twice":
        actual *= 2
    return actual, gold


def milliseconds(check: Callable[..., object], *arguments: Any) -> float:
    """Return the median time of a check, with the device idle before and after it."""
    import torch

    times = []
    for _ in range(REPEATS + 2):
        torch.cuda.synchronize()
        started = time.perf_counter()
        check(*arguments)
        torch.cuda.synchronize()
        times.append(1e3 * (time.perf_counter() - started))
    return statistics.median(times[2:])


def close(actual: Any, gold: Any) -> bool:
    import torch

    try:
        torch.testing.assert_close(actual, gold)
    except AssertionError:
        return False
    return True


def main(mebibytes: int) -> int:
    import torch

    from goldsmith import compare

    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, pairs of {mebibytes} MiB, median of {REPEATS}")
    print("dtype     kind        compare   assert_close   ratio   same verdict   of the host   torch.equal   copy")
    broken = False
    for dtype in (torch.float32, torch.bfloat16):
        for kind in ("identical", "passing", "one wrong", "all wrong", "twice"):
            actual, gold = tensors(kind, dtype, mebibytes)
            found, agrees = compare(actual, gold), close(actual, gold)
            host = compare(actual.cpu(), gold.cpu())
            mine, theirs = milliseconds(compare, actual, gold), milliseconds(close, actual, gold)
            equal, copy = milliseconds(torch.equal, actual, gold), milliseconds(actual.copy_, gold)
            same = found.agrees == agrees, found.agrees == host.agrees and str(found) == str(host)
            name = str(dtype).removeprefix("torch.")
            said = ["yes" if item else "NO" for item in same]
            print(
                f"{name:9} {kind:10} {mine:6.2f} ms {theirs:11.2f} ms {mine / theirs:7.2f}   {said[0]:12}"
                f"   {said[1]:11} {equal:9.2f} ms {copy:6.2f} ms",
                flush=True,
            )
            if not same[1]:
                print(found, host, sep="\n---\n")
            broken |= mine > SHARE_OF_TORCH * theirs or not same[0] or found.agrees != host.agrees
    return int(broken)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mebibytes", type=int, default=1024)
    sys.exit(main(parser.parse_args().mebibytes))
