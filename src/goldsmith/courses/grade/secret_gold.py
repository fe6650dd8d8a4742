"""Secret gold: a copy of the course whose gold is regenerated from a secret seed, for one run."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Iterator

from goldsmith.courses.layout.layout import Assignment, Course
from goldsmith.courses.layout.resolve import resolve
from goldsmith.errors.grade import NoFreshGold
from goldsmith.generate.options import options_of
from goldsmith.generate.pipeline import generate
from goldsmith.generate.state import CheckSolution
from goldsmith.process.progress import Progress
from goldsmith.workspace.copies import make_workspaces


@contextlib.contextmanager
def fresh_assignment(
    assignment: Assignment, tell: Callable[[str], None], check_solution: Callable[[Assignment], CheckSolution]
) -> Iterator[Assignment]:
    """Yield the assignment in a private copy of its course, with gold from newly drawn inputs and weights.

    The seed is known to this process alone and is deleted with the copy.
    """
    tell(f"{assignment.name}: gold from a secret seed is made for this run.")
    with make_workspaces(resolve(assignment), (), 1, whole=True) as (workspace,):
        copy = Course(workspace.root, assignment.course.config).assignment(assignment.name)
        target = resolve(copy)
        options = options_of(target, seed=secrets.randbelow(2**32), force=True, redraw=True)
        outcome = generate(target, options, Progress(), check_solution(copy))
        if outcome.error is not None:
            raise NoFreshGold(assignment.name, outcome.error.message)
        yield copy
