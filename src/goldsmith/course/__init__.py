"""Where things are: the course's layout, its configuration, its assignments and their solutions.

Nothing here runs code of the course, writes files or knows what gold is.
"""

from goldsmith.course.case_code import CaseCode, case_code
from goldsmith.course.config import CONFIG_FILE, PROJECT_FILE, Config, read_config
from goldsmith.course.drift import Drift, find_drift, is_provided, parse_parts, written_by_students
from goldsmith.course.example import copy_example, example_folder
from goldsmith.course.forbidden import MOST_USES, forbidden_uses
from goldsmith.course.history import git, git_bytes
from goldsmith.course.layout import Assignment, Course, find_course, is_numbered, is_students_code
from goldsmith.course.litter import GRADES, GRADES_MARK, HANDED_IN, LITTER
from goldsmith.course.points import MOST_POINTS, are_points, recipe_points, registrations, without_points
from goldsmith.course.provided import changed_provided, with_provided
from goldsmith.course.secret_files import is_secret_content, is_secret_name
from goldsmith.course.solutions import SUFFIX, Placement, placements, variants_of
from goldsmith.course.unwritten import unwritten_parts

__all__ = [
    "CONFIG_FILE",
    "GRADES",
    "GRADES_MARK",
    "HANDED_IN",
    "LITTER",
    "MOST_POINTS",
    "MOST_USES",
    "PROJECT_FILE",
    "SUFFIX",
    "Assignment",
    "CaseCode",
    "Config",
    "Course",
    "Drift",
    "Placement",
    "are_points",
    "case_code",
    "changed_provided",
    "copy_example",
    "example_folder",
    "find_course",
    "find_drift",
    "forbidden_uses",
    "git",
    "git_bytes",
    "is_numbered",
    "is_provided",
    "is_secret_content",
    "is_secret_name",
    "is_students_code",
    "parse_parts",
    "placements",
    "read_config",
    "recipe_points",
    "registrations",
    "unwritten_parts",
    "variants_of",
    "with_provided",
    "without_points",
    "written_by_students",
]
