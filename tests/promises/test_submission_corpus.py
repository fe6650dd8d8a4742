"""Submissions as people really write them: harmless variety is not punished, each bug is found where it is.

These are some of tests/corpora/submissions, and all of those to the networks course; `make submissions` judges all.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from submission_tables import Judged, Known, judged, known

from corpora import networks
from goldsmith.courses.layout.layout import Course, find_course
from goldsmith.judge.coverage import part_of
from goldsmith.process.fork_client import ForkClient
from support.check_course import judge
from support.course import CourseOnDisk, copy_of_example, numpy_course
from support.points_course import crediting_course, source
from support.points_course import judged as judged_in_small

_NAMES = {
    "scratch-1": """
        attention-sdpa gate-up-fused helper-package lazy-head mask-required norm-in-float32 norm-overwrites-input
        qkv-interleaved qkv-transposed renamed-and-reordered returns-three rope-complex
        cache-never-cleared clipping-missing final-norm-dropped flat-mask-missing generate-uncut mask-off-by-one
        norm-eps-missing residual-detached rope-interleaved norm-unscaled two-gelu-and-zero-grad
        two-rope-and-targets attention-autocast-float16 block-gains
        cuda-mask feed-forward-returns-none only-norm-written provided-feed-forward-no-bias provided-rope-base
    """,
    "scratch-2": "block-causal caption-unshifted fuse-text-first patches-conv-layer projector-relu",
    "scratch-3": """
        act-from-right-end fit-biased fit-reassigned loss-field-detached time-cosines-first train-never-fits
    """,
}
CHOSEN = {assignment: names.split() for assignment, names in _NAMES.items()}
CHOSEN |= {assignment: [item.name for item in known(assignment)] for assignment in networks.ASSIGNMENTS}
QUICK = {
    "qkv-interleaved",
    "final-norm-dropped",
    "fit-reassigned",
    "loss-field-detached",
    "conv-keeps-a-dict",
    "norm-unbiased-running",
    "minimise-same-array",
    "adam-step-size-corrected",
}
"""One of each kind: other layouts, a wrong module, wrong training, wrong gradients alone; another cache, wrong state,
an array under several names, another formula. A model without submodules is below; changed provided code is in
`commands/test_check.py`."""


@pytest.fixture(scope="module")
def warm(warm_with_torch: ForkClient) -> ForkClient:
    return warm_with_torch


@pytest.fixture(scope="module")
def course_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Course]:
    """The course of an assignment, with its gold."""

    @cache
    def bundled() -> Course:
        return find_course(copy_of_example(tmp_path_factory.mktemp("corpus") / "course").root)

    @cache
    def find(assignment: str) -> Course:
        if assignment not in networks.ASSIGNMENTS:
            return bundled()
        return networks.networks_course(tmp_path_factory.mktemp("networks") / "course", [assignment])

    return find


@pytest.mark.parametrize(
    "item",
    [
        pytest.param(item, id=item.name, marks=() if item.name in QUICK else pytest.mark.long)
        for assignment, names in CHOSEN.items()
        for item in known(assignment)
        if item.name in names
    ],
)
def test_it_is_judged_right(item: Known, course_of: Callable[[str], Course], warm: ForkClient) -> None:
    found = judged(course_of(item.assignment), item, warm)
    assert list(found.problems()) == []
    if item.assignment in networks.ASSIGNMENTS:
        assert list(found.points_lost()) == []
    assert sum(found.earned.values()) <= _worth_at_most(found)


def _worth_at_most(found: Judged) -> int:
    """A point for each case that agrees, and for each part that gold's record can call right: one that a case shows
    which agrees, or that was seen to be right, and that hid in none."""
    right = ("agrees", "provided-changed")
    cases = found.verdict.cases
    hidden = {part_of(name) for case in cases for name in case.unseen}
    seen = {module.kind for case in cases for module in case.modules if module.outcome == "agrees" and module.tells}
    for case in cases:
        if case.outcome in right or case.corrected:
            seen |= set(found.shown[case.name]) - set(case.corrected)
    return sum(case.outcome in right for case in cases) + len(seen - hidden)


def test_the_chosen_are_in_the_corpus() -> None:
    for assignment, names in CHOSEN.items():
        assert {item.name for item in known(assignment)} >= set(names)
    assert {name for names in CHOSEN.values() for name in names} >= QUICK


# --- a model without submodules: only values tell where it goes wrong -------------------------------------------------

FLAT = """
class Mix(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(width))
        self.weight = nn.Parameter(torch.randn(width, width))
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, x):
        normed = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.scale
        return normed @ self.weight.T + self.bias + x


def gap("""


@pytest.mark.torch
@pytest.mark.parametrize(("eps", "outcome"), [("1e-5", "agrees"), ("1e-1", "differs")])
def test_a_model_without_submodules_is_judged_by_its_values(
    tmp_path: Path, warm: ForkClient, eps: str, outcome: str
) -> None:
    head, _, tail = source().partition("def gap(")
    text = head.partition("class Mix")[0] + FLAT.replace("1e-5", eps) + tail
    verdict, _ = judged_in_small(crediting_course(tmp_path / "course"), {"net.py": text}, warm)
    assert {case.outcome for case in verdict.cases if case.name in ("mixed", "mixed_long")} == {outcome}
    assert outcome == "agrees" or verdict.first_divergence == "norm"


# --- a whole repository -----------------------------------------------------------------------------------------------

FACE = """
    def run_rmsnorm(d_model, eps, weights, in_features):
        raise NotImplementedError


    def run_softmax(in_features, dim):
        raise NotImplementedError
"""
SOLVED = """
    import torch


    def run_rmsnorm(d_model, eps, weights, in_features):
        return in_features * torch.rsqrt(in_features.pow(2).mean(-1, keepdim=True) + eps) * weights


    def run_softmax(in_features, dim):
        return torch.softmax(in_features, dim)
"""
RECIPE = """
    import torch

    import goldsmith as gs
    from tests.adapters import run_rmsnorm, run_softmax


    @gs.case
    def rmsnorm(case):
        weights = case.input("weights", lambda: torch.randn(8))
        case.record("y", run_rmsnorm(8, 1e-2, weights, case.input("x", lambda: torch.randn(2, 5, 8) * 0.1)))


    @gs.case
    def softmax(case):
        case.record("y", run_softmax(case.input("x", lambda: torch.randn(3, 7)), 1))


    if __name__ == "__main__":
        gs.main()
"""


@pytest.fixture(scope="module")
def basics(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    """A course whose assignment is a repository with its face in tests/adapters.py."""
    course = numpy_course(tmp_path_factory.mktemp("basics") / "course")
    for folder in ("src/assignments/hw1", "private/solutions/hw1"):
        shutil.rmtree(course.root / folder)
    course.write(
        {
            "src/assignments/hw1/tests/adapters.py": FACE,
            "private/solutions/hw1/tests/adapters.py": SOLVED,
            "src/assignments/hw1/generate_fixtures.py": RECIPE,
        }
    )
    made = course.run("generate", "hw1")
    assert made.code == 0, made.err
    return course


@pytest.mark.long
@pytest.mark.parametrize("item", known(""), ids=lambda item: item.name)
def test_a_whole_repository_is_imported_from_its_root(
    basics: CourseOnDisk, warm: ForkClient, item: Known, tmp_path: Path
) -> None:
    found = judge(basics, str(item.written(tmp_path, tmp_path)), warm)
    assert (found.outcome, found.first_divergence) == (item.outcome, item.first), found
