"""Five clean courses with the folders, names and habits of public ones, and code of our own, for the guard.

What they have in common with a leak and is none: a starter that somebody hands in as it is, stubs that no solution
fills, provided code in both places, the boilerplate of command lines and configurations, a later assignment that gives
away what an earlier one asked for.
"""

from __future__ import annotations

from corpora.guard_courses.layers import NUMPY
from corpora.guard_courses.minbert import MINBERT
from corpora.guard_courses.practicals import PRACTICALS
from corpora.guard_courses.reinforcement import REINFORCEMENT
from corpora.guard_courses.systems import SYSTEMS

COURSES = {
    "reinforcement learning": REINFORCEMENT,
    "NumPy and notebooks": NUMPY,
    "notebooks only": PRACTICALS,
    "adapters": SYSTEMS,
    "flat": MINBERT,
}
