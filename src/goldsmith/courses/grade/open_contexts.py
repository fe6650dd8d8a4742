"""What this process has open for graders: contexts to judge in, the solution's parts, and how the solution fails."""

from __future__ import annotations

import atexit
import contextlib
import gc
import threading
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from goldsmith.check.check import check
from goldsmith.check.recipe_failures import failures_of
from goldsmith.courses.grade.judging_context import JudgingContext, limit_malloc_arenas, stopped
from goldsmith.courses.guard.similarity import SolutionPart, parts_to_write
from goldsmith.courses.submissions.solution_copy import submitted_copy
from goldsmith.errors.base import GoldsmithError
from goldsmith.runs.run import Failure

if TYPE_CHECKING:
    from goldsmith.courses.grade.grader import Grader

_GC_THRESHOLD_OBJECTS = 50_000
_IDLE_S = 3600.0
"""Seconds after which an unused context is assumed to belong to a finished run."""
_parts: dict[str, list[SolutionPart]] = {}
_contexts: dict[str, JudgingContext] = {}
_solutions: dict[str, Mapping[str, Failure] | None] = {}
"""All are keyed by `Grader.base`: a worker may outlive many runs, with different gold and sandbox layers."""


def parts_of(grader: Grader) -> list[SolutionPart]:
    """Return the solution's parts that submissions are compared with, read once in each process."""
    if grader.base not in _parts:
        _parts[grader.base] = parts_to_write(grader.assignment)
    return _parts[grader.base]


def solution_failures(grader: Grader) -> Mapping[str, Failure] | None:
    """Return how the solution fails in this sandbox, by case; None if there is no solution here. It is run once in each
    process, when a submission first fails as if by no fault of its own, and apart from all submissions: what it is in
    lies where none of them can look."""
    with _trying:
        if grader.base not in _solutions:
            _solutions[grader.base] = _run_solution(grader)
        return _solutions[grader.base]


def _run_solution(grader: Grader) -> Mapping[str, Failure] | None:
    assignment, target = grader.assignment, grader.target
    if target.solution is None or not target.solution.is_here:
        return None
    try:
        context = JudgingContext.of(grader)
        try:
            with submitted_copy(assignment, target.placed) as submission:
                return failures_of(check(target, submission, grader.request(context, None)))
        finally:
            context.close()
    except GoldsmithError:  # gold was made from another state of the solution: nothing is known of this one
        return None


_trying = threading.Lock()
_opening = threading.Lock()
_is_open = threading.Lock()


def context_of(grader: Grader) -> JudgingContext:
    with _opening:
        if grader.base not in _contexts:
            _close_idle()
            _contexts[grader.base] = JudgingContext.of(grader)
            atexit.register(close_contexts)  # a cluster's worker may end at any time
        _contexts[grader.base].used = time.monotonic()
        return _contexts[grader.base]


def _close_idle() -> None:
    """Close contexts that have been idle for long: workers are not told when a run is over."""
    for base, context in list(_contexts.items()):
        if time.monotonic() - context.used > _IDLE_S:
            context.close()
            del _contexts[base]
            _parts.pop(base, None)
            _solutions.pop(base, None)


def close_context(grader: Grader) -> None:
    """Close what one grader has opened."""
    with _opening:
        context = _contexts.pop(grader.base, None)
        if context is not None:
            context.close()
        _parts.pop(grader.base, None)
        _solutions.pop(grader.base, None)


@contextlib.contextmanager
def judging_contexts() -> Iterator[None]:
    """Let submissions be judged in this process while the context lasts, then close all that was opened. The garbage
    collector runs less often meanwhile: gold is many objects, none of them garbage."""
    stopped.clear()  # by the end of an earlier round, too
    if _is_open.locked():  # by this run: it ends with what is around it
        yield
        return
    before = gc.get_threshold()
    gc.set_threshold(_GC_THRESHOLD_OBJECTS)
    limit_malloc_arenas()
    try:
        with _is_open:
            yield
    finally:
        gc.set_threshold(*before)
        close_contexts()


def stop() -> None:
    """Judge no more in this process: running checks end at their next poll."""
    stopped.set()


def close_contexts() -> None:
    with _opening:
        for context in _contexts.values():
            context.close()
        _contexts.clear()
        _parts.clear()
        _solutions.clear()
