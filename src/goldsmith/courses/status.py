"""The state of all gold of a course."""

from __future__ import annotations

from goldsmith.courses.layout.journal import journals
from goldsmith.courses.layout.layout import Course
from goldsmith.courses.layout.resolve import resolve
from goldsmith.generate.status import AssignmentStatus, target_status


def course_status(course: Course) -> list[AssignmentStatus]:
    """Return the state of every assignment, and of solutions injected for an assignment that no longer exists."""
    found = {assignment.name: target_status(resolve(assignment)) for assignment in course.assignments()}
    for journal in journals(course):
        why = f"no such assignment any more, but its solution is in place since {journal.since}"
        found.setdefault(
            journal.assignment,
            AssignmentStatus(
                name=journal.assignment,
                outcome="injected",
                reasons=(why,),
                notes=(),
                label=journal.assignment,
                description="",
                recipe=None,
                folder=None,
            ),
        )
    return list(found.values())
