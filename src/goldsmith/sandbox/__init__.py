"""A process locks itself in before it runs code that nobody trusts: Landlock, seccomp, limits, bubblewrap if it works.

At the bottom of the arrows: what runs inside is not known here, nor what gold is. Imports nothing heavy.
"""

from goldsmith.sandbox.beneath import open_beneath, open_folder
from goldsmith.sandbox.bubblewrap import hides as bubblewrap_hides
from goldsmith.sandbox.bubblewrap import prefix as bubblewrap_prefix
from goldsmith.sandbox.bubblewrap import why_not as why_no_bubblewrap
from goldsmith.sandbox.confinement import Confinement, confine
from goldsmith.sandbox.interpreter import command as interpreter_command
from goldsmith.sandbox.levels import Level, probe, user_namespaces
from goldsmith.sandbox.limits import clean_environment
from goldsmith.sandbox.packages import places_of
from goldsmith.sandbox.promises import SandboxLevel, sandbox_level
from goldsmith.sandbox.reach import Reach, accelerators, reach

__all__ = [
    "Confinement",
    "Level",
    "Reach",
    "SandboxLevel",
    "accelerators",
    "bubblewrap_hides",
    "bubblewrap_prefix",
    "clean_environment",
    "confine",
    "interpreter_command",
    "open_beneath",
    "open_folder",
    "places_of",
    "probe",
    "reach",
    "sandbox_level",
    "user_namespaces",
    "why_no_bubblewrap",
]
