"""Training as a curve: what the model returns and its loss, step by step, and the weights after the last."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from goldsmith.comparison.results import LeafComparison
from goldsmith.html_report.case_view import comparable_error
from goldsmith.html_report.view import Lane, Point, Role
from goldsmith.judge.evidence import CallEvidence, TensorEvidence
from goldsmith.judge.verdicts import CaseVerdict

_LOSS = re.compile(r"(?:^|\.)loss(?:es)?\.(\d+)$")
_WEIGHTS = re.compile(r"(?:^|\.)(?:weights|model_state_dict)\.")
Step = tuple[int, int, Point]
"""The number of a step, the place within it, and the point."""


def training_lane(
    case: CaseVerdict,
    losses: Sequence[TensorEvidence],
    calls: Sequence[tuple[CallEvidence, Role]],
    noise: Mapping[str, float],
) -> Lane | None:
    """Return the steps of a case that trains; None unless there are two. `losses` are recorded as one tensor each,
    `calls` those of the models that are trained, in order."""
    steps = [*_calls(calls), *_tensors(losses, noise), *_leaves(case, noise)]
    if len({number for number, _, _ in steps}) < 2:
        return None
    points = [point for _, _, point in sorted(steps, key=lambda step: step[:2])]
    weights = [leaf for leaf in case.leaves if _WEIGHTS.search(leaf.path)]
    if weights:
        points.append(_of_leaf(max(weights, key=lambda leaf: leaf.excess), "all weights after training", noise))
    return Lane("Steps of training", "step by step", "the noise of right answers", tuple(points), "what is tolerated")


def _calls(calls: Sequence[tuple[CallEvidence, Role]]) -> Iterator[Step]:
    seen: dict[str, int] = {}
    for call, role in calls:
        step = seen[call.model] = seen.get(call.model, 0) + 1
        label = f"step {step}: what the {call.model} returns"
        plain: Role = "right" if role == "hidden" else role  # what it returns is right
        why = call.not_comparable
        yield step, 0, Point(label, call.kind, plain, call.error, call.noise, limit=call.limit, not_comparable=why)


def _tensors(losses: Sequence[TensorEvidence], noise: Mapping[str, float]) -> Iterator[Step]:
    import numpy as np

    for item in losses:
        sizes = np.where(item.gold == 0, 1.0, np.abs(item.gold))
        errors = np.abs(item.theirs - item.gold) / sizes
        limits = np.broadcast_to(0.0 if item.limit is None else item.limit, item.gold.shape) / sizes
        for number, (error, limit) in enumerate(zip(errors.tolist(), limits.tolist(), strict=True), start=1):
            role: Role = "right" if error <= limit else "wrong"
            label = f"step {number}: {item.path.rpartition('.')[2]}"
            yield number, 1, Point(label, "loss", role, error, noise.get(item.path), limit=limit or None)


def _leaves(case: CaseVerdict, noise: Mapping[str, float]) -> Iterator[Step]:
    for leaf in case.leaves:
        found = _LOSS.search(leaf.path)
        if found:
            step = int(found[1]) + 1
            yield step, 1, _of_leaf(leaf, f"step {step}: loss", noise)


def _of_leaf(leaf: LeafComparison, label: str, noise: Mapping[str, float]) -> Point:
    limit = leaf.relative / leaf.excess if leaf.excess and leaf.relative else None
    role: Role = "right" if leaf.agrees else "wrong"
    error, why = comparable_error(leaf)
    return Point(label, leaf.gold_dtype, role, error, noise.get(leaf.path), limit=limit, not_comparable=why)
