"""Skills for coding agents: the texts that goldsmith ships, and what becomes of them in a course.

`texts/<name>/SKILL.md` are the skills themselves. They call goldsmith's commands and say how to read the answers; they
decide nothing that goldsmith decides. Nothing here runs code of the course or prints.
"""

from goldsmith.skills.bundled import SkillFile, skill_files, skill_names
from goldsmith.skills.installing import Installed, SkillResult, check_skills, install_skills
from goldsmith.skills.standing import (
    CURRENT,
    EDITED,
    EDITED_OUTDATED,
    FOREIGN,
    MISSING,
    OUTDATED,
    Standing,
    standing_of,
)

__all__ = [
    "CURRENT",
    "EDITED",
    "EDITED_OUTDATED",
    "FOREIGN",
    "MISSING",
    "OUTDATED",
    "Installed",
    "SkillFile",
    "SkillResult",
    "Standing",
    "check_skills",
    "install_skills",
    "skill_files",
    "skill_names",
    "standing_of",
]
