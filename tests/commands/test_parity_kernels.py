"""`goldsmith parity` of kernels, in the form of public benchmarks: each kind of wrong kernel is found, by its name."""

from __future__ import annotations

import pytest

from corpora.kernels import DTYPES, Kernel, kernels
from support import fork_cli
from support.course import Run

pytest.importorskip("torch")
pytestmark = pytest.mark.torch
QUICK = (
    "softmax/kept_by_address",
    "rms_norm/from_memory",
    "linear_gelu/one_buffer",
    "linear_gelu/exchanges_gelu",
    "matmul/length_of_the_first_row",
)
"""One for each trial; the others take as long, and show more of the same."""
RUNNABLE = [item for item in kernels() if item.needs == ""]
_LONG = [
    pytest.param(
        item, dtype, marks=[] if name in QUICK and dtype == "float32" else pytest.mark.long, id=f"{name} {dtype}"
    )
    for item in RUNNABLE
    for dtype in DTYPES
    for name in [f"{item.problem}/{item.name}"]
]


def judged(kernel: Kernel, dtype: str, *options: str) -> Run:
    problem, solution = kernel.files
    given = ["parity", problem.name, solution.name, *(("--dtype", dtype) if dtype != "float32" else ()), *options]
    return Run(*fork_cli.run(given, problem.parent))


@pytest.mark.parametrize(("kernel", "dtype"), _LONG)
def test_a_kernel_is_judged_and_what_is_wrong_is_named(kernel: Kernel, dtype: str) -> None:
    found = judged(kernel, dtype, "--json")
    (report,) = found.json["candidates"]
    assert report["outcome"] == kernel.outcome(dtype), found.out
    differing = [case["name"] for case in report["cases"] if case["outcome"] == "differs"]
    assert not kernel.by or kernel.outcome(dtype) == "agrees" or kernel.by in differing


def test_the_form_is_recognised_and_every_trial_has_a_name() -> None:
    (online,) = (item for item in kernels() if (item.problem, item.name) == ("softmax", "online"))
    found = judged(online, "float32")
    assert found.code == 0, found.err
    for name in (
        "scored shape",
        "same buffer, new contents",
        "eleventh call",
        "uninitialised memory",
        "previous output",
    ):
        assert name in found.out
    for name in ("memory of its own", "libraries as they were", "ragged rows", "clustered values", "one huge value"):
        assert name in found.out
    assert "inputs come from its get_inputs(), both are built with its get_init_inputs()" in " ".join(found.out.split())


def test_the_functions_of_a_benchmark_are_named_and_missing_ones_are_refused() -> None:
    (online,) = (item for item in kernels() if (item.problem, item.name) == ("softmax", "online"))
    missing = judged(online, "float32", "--inputs-from", "get_imputs")
    assert missing.code == 2
    assert "there is no get_imputs in it" in " ".join(missing.err.split())
    both = judged(online, "float32", "--inputs-from", "get_inputs", "--input", "torch.randn(2, 3)")
    assert (both.code, "is for REF and TARGET without --input" in " ".join(both.err.split())) == (2, True)
    steps = judged(online, "float32", "--steps", "2")
    assert (steps.code, "leave out --steps" in " ".join(steps.err.split())) == (2, True)
