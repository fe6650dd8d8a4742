"""What a child writes down about its runs: whole entries, in their order, whatever lies behind the last one."""

from __future__ import annotations

import tempfile
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldsmith.gold.safetensors_reader import parse_bytes
from goldsmith.process.result_log import RecordedRun, entries_in, runs_in, write_run
from goldsmith.runs.run import Failure, Run, RunFacts

NAMES = st.text(min_size=1, max_size=12)
RUNS = st.lists(st.tuples(NAMES, NAMES, st.integers(0, 40), st.binary(max_size=90)), max_size=6)


def written(runs: list[tuple[str, str, int, bytes]]) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "1")
        file.touch()
        for case, run, size, trace in runs:
            arrays = {"output": np.arange(size, dtype=np.float32)} if size else {}
            write_run(file, case, run, Run(RunFacts(overwrote=(case,)), arrays, trace))
        return file.read_bytes()


@given(RUNS, st.floats(0, 1))
def test_what_is_cut_off_anywhere_holds_the_entries_that_were_finished(
    runs: list[tuple[str, str, int, bytes]], share: float
) -> None:
    whole = written(runs)
    cut = memoryview(whole)[: int(share * len(whole))]
    found = list(entries_in(cut))
    ends = [place for _, _, place in entries_in(memoryview(whole))]
    assert len(found) == sum(end <= len(cut) for end in ends)
    for (entry, (attempt, arrays, its), _), (case, run, size, trace) in zip(found, runs, strict=False):
        assert (entry.case, entry.run) == (case, run)
        assert msgspec.json.decode(attempt, type=RecordedRun).overwrote == (case,)
        assert bytes(its) == trace
        if size:
            assert np.array_equal(parse_bytes(arrays, Path("x"))["output"], np.arange(size, dtype=np.float32))


@given(st.binary(max_size=300))
def test_garbage_is_none_or_is_refused(content: bytes) -> None:
    try:
        found = list(entries_in(memoryview(content)))
    except ValueError:
        return
    assert not found or content.startswith(b"{")


@pytest.mark.parametrize("sizes", ['"attempt":-64', '"attempt":64,"arrays":-64', '"attempt":1e3'])
def test_sizes_that_cannot_be_are_refused(sizes: str) -> None:
    head = f'{{"case":"a","run":"plain",{sizes}}}\n'.encode()
    with pytest.raises(ValueError, match=r"below zero|Expected|size"):
        list(entries_in(memoryview(head + b" " * 256)))


def test_runs_come_back_as_they_were_written(tmp_path: Path) -> None:
    values = {
        "output.b": np.arange(6.0).reshape(2, 3),
        "output.a": np.array([1 + 2j, 3.5]),
        "output.z": -0.1,
        "output.none": float("nan"),
        "output.text": "x",
        "output.bytes": b"\x00\xff",
        "output.count": 3,
        "output.0d": np.array(float("inf")),
    }
    failed = Run(RunFacts(failure=Failure(kind="raised", message="no"), drew="fc (Linear)", skipped={"output.q": "Q"}))
    write_run(tmp_path / "log", "0", "plain", Run(RunFacts(pure=False, created=("output.z",)), values))
    write_run(tmp_path / "log", "0", "alone", failed)
    first, second = runs_in(tmp_path / "log")
    assert list(first.values) == list(values)
    assert first.facts == RunFacts(pure=False, created=("output.z",))
    assert {path: type(item) for path, item in first.values.items() if not hasattr(item, "dtype")} == {
        path: type(item) for path, item in values.items() if not hasattr(item, "dtype")
    }
    for path, item in values.items():
        np.testing.assert_array_equal(first.values[path], item)
    assert second == failed
