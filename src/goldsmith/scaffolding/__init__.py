"""What `init` adds to a course and what `new` makes: planned as changes, shown, then written whole or not at all.

Nothing here asks or prints, and nothing that is somebody's own is overwritten. Texts to start from lie in `templates/`.
"""

from goldsmith.scaffolding.assignment import KINDS, Kind, check_name, new_assignment, usual_kind
from goldsmith.scaffolding.changes import Change, Plan, apply
from goldsmith.scaffolding.course import PARTS, course_at, course_of, detected, has_assignments, plan_course
from goldsmith.scaffolding.detection import Doubt, Layout, Note

__all__ = [
    "KINDS",
    "PARTS",
    "Change",
    "Doubt",
    "Kind",
    "Layout",
    "Note",
    "Plan",
    "apply",
    "check_name",
    "course_at",
    "course_of",
    "detected",
    "has_assignments",
    "new_assignment",
    "plan_course",
    "usual_kind",
]
