"""What tests cost in processor time, by file and by test, with all processes that they start.

python scripts/test_costs.py [--keep FILE] [--missing] [--read] [pytest's arguments]

A clock tells little on a machine that does something else as well. Costs are appended to the file that is kept
(`build/test-costs.jsonl`), so that a suite can be measured in pieces: `--missing` leaves out the tests that are there,
`--read` runs nothing and shows the last measurement of each. A fixture that several tests share is paid by the first.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
_SHOWN = 40


class Costs:
    """A plugin that writes down what each test has cost."""

    def __init__(self, kept: Path, used: Callable[[], float], measured: Collection[str]) -> None:
        self._kept, self._used, self._measured = kept, used, measured
        self._last = used(), time.monotonic()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._last = self._used(), time.monotonic()
        result = yield
        self._write(item.nodeid)
        return result

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if item.nodeid not in self._measured]

    def pytest_collection_finish(self) -> None:
        self._write("collection")

    def _write(self, name: str) -> None:
        seconds, clock = self._used() - self._last[0], time.monotonic() - self._last[1]
        with self._kept.open("a") as file:
            file.write(json.dumps({"test": name, "s": round(seconds, 3), "clock_s": round(clock, 3)}) + "\n")


@contextlib.contextmanager
def _processor_time() -> Iterator[Callable[[], float]]:
    """Say how to ask what this process and all that it starts have used: a control group counts also what nobody has
    waited for. Where none can be made, such processes are missing."""
    group = Path("/sys/fs/cgroup/cpuacct", f"test-costs-{os.getpid()}")
    usage = group / "cpuacct.usage"
    try:
        group.mkdir()
        (group / "cgroup.procs").write_text(str(os.getpid()))
    except OSError:
        print("test_costs: no control group here; servers that outlive a test are not counted")
        yield _waited_for
        return
    yield lambda: int(usage.read_text()) / 1e9
    (group.parent / "cgroup.procs").write_text(str(os.getpid()))
    with contextlib.suppress(OSError):  # a server still ends
        group.rmdir()


def _waited_for() -> float:
    parts = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(part.ru_utime + part.ru_stime for part in parts)


def measured(kept: Path) -> dict[str, dict[str, Any]]:
    lines = kept.read_text().splitlines() if kept.exists() else []
    return {line["test"]: line for line in map(json.loads, lines)}


def show(tests: dict[str, dict[str, Any]]) -> None:
    files: Counter[str] = Counter()
    for name, line in tests.items():
        files[name.partition("::")[0]] += line["s"]
    costly = sorted(tests.values(), key=lambda line: -line["s"])
    for line in costly[:_SHOWN]:
        print(f"{line['s']:8.2f} s  {line['test']}")
    waiting = sorted(tests.values(), key=lambda line: line["s"] - line["clock_s"])
    print("\nBy the clock more than by the processor:")
    for line in waiting[: _SHOWN // 4]:
        print(f"{line['clock_s'] - line['s']:8.2f} s  {line['test']}")
    print()
    for file, seconds in files.most_common():
        print(f"{seconds:8.2f} s  {file}")
    print(f"{files.total():8.2f} s  in {len(tests)} tests of {len(files)} files")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=Path, default=ROOT / "build" / "test-costs.jsonl")
    parser.add_argument("--missing", action="store_true")
    parser.add_argument("--read", action="store_true")
    options, arguments = parser.parse_known_args()
    options.keep.parent.mkdir(parents=True, exist_ok=True)
    code = 0
    if not options.read:
        with _processor_time() as used:
            leave_out = measured(options.keep) if options.missing else {}
            code = pytest.main(arguments, plugins=[Costs(options.keep, used, leave_out)])
    show(measured(options.keep))
    raise SystemExit(code)
