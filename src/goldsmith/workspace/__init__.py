"""Private copies of a course, the solution in place and back, proofs that a tree is unchanged, the course's lock.

What runs in a workspace is not known here, nor what gold is.
"""

from goldsmith.workspace.copies import Workspace, make_workspaces
from goldsmith.workspace.edits import Kept, give_up_edits, keep_edits, save_edits
from goldsmith.workspace.injection import (
    Injected,
    before_injection,
    edited_since,
    inject,
    needs_recovery,
    recover,
    reset,
)
from goldsmith.workspace.journal import Change, Journal, journals, read_journal
from goldsmith.workspace.lock import course_lock, make_state_folder
from goldsmith.workspace.selection import is_private, needed_files
from goldsmith.workspace.snapshot import Snapshot, changed_paths, file_hash, take_snapshot
from goldsmith.workspace.temporary import make_room, sweep_abandoned

__all__ = [
    "Change",
    "Injected",
    "Journal",
    "Kept",
    "Snapshot",
    "Workspace",
    "before_injection",
    "changed_paths",
    "course_lock",
    "edited_since",
    "file_hash",
    "give_up_edits",
    "inject",
    "is_private",
    "journals",
    "keep_edits",
    "make_room",
    "make_state_folder",
    "make_workspaces",
    "needed_files",
    "needs_recovery",
    "read_journal",
    "recover",
    "reset",
    "save_edits",
    "sweep_abandoned",
    "take_snapshot",
]
