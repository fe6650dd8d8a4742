"""How fast and in how much memory two arrays are compared, against the usual ways; 1 if a promise is broken."""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

MIB = 2**20
SIDE = 8192
KINDS = ("identical", "passing", "failing")
WAYS = {
    "goldsmith.compare": 9,
    "torch.testing.assert_close": 5,
    "numpy.testing.assert_allclose": 2,
    "numpy.allclose": 3,
    "pytest-regressions": 1,
}
PROMISES = {"times torch": 10.0, "extra MiB": 64.0, "mapped MiB": 512.0, "small leaf us": 20.0, "linear": 2.0}
LADDER = (1, 4, 16, 64, 256, 1024, 4096)


def arrays(kind: str, side: int) -> tuple[Any, Any]:
    """256 MiB each at full size: equal, with float32 noise inside every tolerance, or wrong everywhere by a little."""
    import numpy as np

    draw = np.random.default_rng(0)
    gold = draw.standard_normal((side, side), dtype=np.float32)
    if kind == "identical":
        return gold.copy(), gold
    noise = draw.standard_normal((side, side), dtype=np.float32)
    noise *= np.float32(1e-7 if kind == "passing" else 1e-2)
    noise += gold
    return noise, gold


def way(name: str, actual: Any, gold: Any, folder: Path) -> Callable[[], bool]:
    """One way of comparing, as a function that says whether both agree."""
    if name == "goldsmith.compare":
        from goldsmith.comparison.api import compare

        return lambda: bool(compare(actual, gold))
    if name == "torch.testing.assert_close":
        import torch

        ours, theirs = torch.from_numpy(actual), torch.from_numpy(gold)
        return lambda: _holds(lambda: torch.testing.assert_close(ours, theirs))
    import numpy as np

    if name == "numpy.testing.assert_allclose":
        return lambda: _holds(lambda: np.testing.assert_allclose(actual, gold, rtol=1.3e-6, atol=1e-5))
    if name == "numpy.allclose":
        return lambda: bool(np.allclose(actual, gold, rtol=1.3e-6, atol=1e-5))
    return _regressions(actual, gold, folder)


def _regressions(actual: Any, gold: Any, folder: Path) -> Callable[[], bool]:
    """Its check without pytest around it; what its first run writes is not counted."""
    from types import SimpleNamespace

    import numpy as np
    from pytest_regressions import ndarrays_regression

    np.savez(folder / "gold.npz", x=gold)
    request = SimpleNamespace(
        config=SimpleNamespace(getoption=lambda name, default=None: False, rootpath=folder),
        node=SimpleNamespace(name="gold", cls=None),
        cls=None,
    )
    fixture: Any = getattr(ndarrays_regression, "NDArraysRegressionFixture")(folder, folder, request)  # noqa: B009
    tolerance = dict(rtol=1.3e-6, atol=1e-5)
    check = lambda: fixture.check({"x": actual}, fullpath=folder / "gold.npz", default_tolerance=tolerance)  # noqa: E731
    return lambda: _holds(check)


def _holds(check: Callable[[], object]) -> bool:
    try:
        check()
    except AssertionError:
        return False
    return True


# --- measured in a process of its own


def measure_pair(name: str, kind: str, side: int) -> dict[str, float]:
    """The best time, which other work disturbs least, and how much the process's peak memory grew beyond the arrays."""
    actual, gold = arrays(kind, side)
    with tempfile.TemporaryDirectory() as folder:
        check = way(name, actual, gold, Path(folder))
        if name != "pytest-regressions":
            check_small = way(name, actual[:8, :8].copy(), gold[:8, :8].copy(), Path(folder))
            check_small()  # imports are not the comparison's
        _forget_peak()
        before = _peak()
        times = []
        for _ in range(WAYS[name]):
            started = time.perf_counter()
            if check() != (kind != "failing"):
                raise SystemExit(f"{name} gave the wrong answer for {kind}")
            times.append(time.perf_counter() - started)
        return {"seconds": min(times), "extra": (_peak() - before) / MIB}


def measure_mapped(mebibytes: int, folder: Path, wrong: bool) -> dict[str, float]:
    """Two files of this size, mapped, that differ by rounding everywhere; or, `wrong`, in their last element too."""
    import numpy as np

    from goldsmith.comparison.api import compare

    if wrong:
        np.load(folder / f"{mebibytes}-a.npy", mmap_mode="r+")[-1, -1] = 7.0
    one, two = (np.load(folder / f"{mebibytes}-{name}.npy", mmap_mode="r") for name in "ab")
    times = []
    for _ in range(40 if mebibytes <= 16 else 7 if mebibytes <= 256 else 5):
        started = time.perf_counter()
        agrees = bool(compare(one, two))
        times.append(time.perf_counter() - started)
        if agrees == wrong:
            raise SystemExit("mapped files gave the wrong answer")
    return {"seconds": min(times), "peak": _peak() / MIB}


def measure_leaves(noise: float) -> dict[str, float]:
    import numpy as np

    from goldsmith.comparison.api import compare

    draw = np.random.default_rng(0)
    gold = {f"layers.{n}": draw.standard_normal(1024, dtype=np.float32) for n in range(2000)}
    actual = {name: item + item * np.float32(noise) for name, item in gold.items()}
    times = []
    for _ in range(15):
        started = time.perf_counter()
        found = compare(actual, gold)
        times.append(time.perf_counter() - started)
        if not found or any(leaf.identical == (noise > 0) for leaf in found.leaves):
            raise SystemExit("small leaves came out wrong")
    return {"us": min(times) / len(gold) * 1e6}


def write_files(mebibytes: int, folder: Path) -> None:
    """Written in pieces, so that the writer needs little memory; every number is different from its neighbours."""
    import numpy as np

    rows = mebibytes * MIB // 4096
    draw = np.random.default_rng(0)
    piece = draw.standard_normal((min(rows, 4096), 1024), dtype=np.float32)
    near = piece + piece * np.float32(1e-7)
    for name, data in (("a", near), ("b", piece)):
        path = folder / f"{mebibytes}-{name}.npy"
        array = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(rows, 1024))
        for start in range(0, rows, len(data)):
            array[start : start + len(data)] = data[: rows - start]
        array.flush()


def _forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def _peak() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def apart(*arguments: object) -> dict[str, float]:
    """`measure_…` in a fresh process."""
    command = [sys.executable, __file__, "--one", json.dumps([str(item) for item in arguments])]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode:
        raise SystemExit(f"{arguments}: {run.stderr.strip().splitlines()[-1]}")
    found: dict[str, float] = json.loads(run.stdout)
    return found


def one(arguments: list[str]) -> dict[str, float]:
    name, *rest = arguments
    if name == "pair":
        return measure_pair(rest[0], rest[1], int(rest[2]))
    if name == "mapped":
        return measure_mapped(int(rest[0]), Path(rest[1]), rest[2] == "failing")
    return measure_leaves(float(rest[0]))


# --- the table


def pairs_table(side: int, broken: list[str]) -> None:
    size = side * side * 4 // MIB
    print(f"float32 pairs of {size} MiB         time   of goldsmith's   extra memory")
    for kind in KINDS:
        found: dict[str, dict[str, float]] = {}
        for name in WAYS:
            if (name, kind) == ("pytest-regressions", "failing"):
                continue  # it wants pandas, and hours
            try:
                found[name] = apart("pair", name, kind, side)
            except SystemExit as error:
                print(f"  {name:30} {error}")
        ours, torch = found["goldsmith.compare"], found.get("torch.testing.assert_close")
        print(kind)
        for name, item in found.items():
            ratio = item["seconds"] / ours["seconds"]
            print(f"  {name:30} {item['seconds'] * 1e3:8.1f} ms {ratio:9.1f} x {item['extra']:12.0f} MiB")
        if torch and kind != "identical" and torch["seconds"] < PROMISES["times torch"] * ours["seconds"]:
            broken.append(f"{kind}: {torch['seconds'] / ours['seconds']:.1f} x faster than torch, promised 10 x")
        if ours["extra"] > PROMISES["extra MiB"]:
            broken.append(f"{kind}: {ours['extra']:.0f} MiB extra, promised {PROMISES['extra MiB']:.0f}")


def mapped_table(largest: int, broken: list[str]) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        free = shutil.disk_usage(folder).free // MIB
        print("mapped .npy pairs    passing    GiB/s       failing   peak memory")
        per_mebibyte = {}
        for size in (item for item in LADDER if item <= largest):
            if free < 3 * size:
                print(f"  {size:5} MiB: skipped, {free} MiB are free")
                continue
            write_files(size, folder)
            found = apart("mapped", size, folder, "passing")
            failing = apart("mapped", size, folder, "failing")
            for path in folder.glob(f"{size}-*.npy"):
                path.unlink()
            per_mebibyte[size] = found["seconds"] / size
            speed = 2 * size / 1024 / found["seconds"]
            times = f"{found['seconds'] * 1e3:14.1f} ms {speed:8.1f} {failing['seconds'] * 1e3:12.1f} ms"
            peak = max(found["peak"], failing["peak"])
            print(f"  {size:5} MiB {times} {peak:11.0f} MiB")
            if peak > PROMISES["mapped MiB"]:
                broken.append(f"{size} MiB mapped: peak of {peak:.0f} MiB, promised {PROMISES['mapped MiB']:.0f}")
        spread = max(per_mebibyte.values()) / min(per_mebibyte.values())
        print(f"  slowest over fastest, by the byte: {spread:.2f}")
        if spread > PROMISES["linear"]:
            broken.append(f"time by the byte varies by {spread:.2f} x, promised {PROMISES['linear']:.0f}")


def leaves_table(broken: list[str]) -> None:
    print("leaves of 1,024 float32, 2,000 in a dict")
    for name, noise in (("identical", 0.0), ("within tolerance", 1e-7)):
        found = apart("leaves", noise)["us"]
        print(f"  {name:30} {found:8.1f} us each")
        if found > PROMISES["small leaf us"]:
            broken.append(f"small leaves, {name}: {found:.1f} us, promised {PROMISES['small leaf us']:.0f}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller arrays, and no promise about them")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(one(json.loads(options.one))))
        return 0
    broken: list[str] = []
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}; best of several runs")
    pairs_table(SIDE // 4 if options.quick else SIDE, broken)
    mapped_table(64 if options.quick else LADDER[-1], broken)
    leaves_table(broken)
    for promise in broken:
        print(f"broken: {promise}")
    print("all promises held" if not broken else f"{len(broken)} promises broken")
    return 1 if broken and not options.quick else 0


if __name__ == "__main__":
    sys.exit(main())
