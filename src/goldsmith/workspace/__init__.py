"""Private copies of a course, snapshots that prove a tree unchanged, and the course's lock.

What runs in a workspace is not known here, nor what gold is.
"""

from goldsmith.workspace.copies import Workspace, make_workspaces, sweep_abandoned
from goldsmith.workspace.lock import course_lock
from goldsmith.workspace.snapshot import Snapshot, changed_paths, file_hash, take_snapshot

__all__ = [
    "Snapshot",
    "Workspace",
    "changed_paths",
    "course_lock",
    "file_hash",
    "make_workspaces",
    "sweep_abandoned",
    "take_snapshot",
]
