"""The files that `goldsmith test` keeps: pytest's text and its JUnit XML, under the internal tests.

Their digests are kept in the course's state folder. Any other file in their place belongs to the user, and is renamed
first.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from goldsmith.courses.internal_tests.verdict import Tried
from goldsmith.courses.layout.layout import Assignment
from goldsmith.errors.gold import CannotWrite
from goldsmith.foundation.atomic_files import write_durably
from goldsmith.workspace.lock import make_state_folder

_COPY = ".yours"


def keep_reports(tried: Tried, text: str) -> Tried:
    """Write text and JUnit XML under the internal tests; if that is not possible, only add a note to the verdict.

    With a selection (`-k`), keep nothing: the report is of all the tests.
    """
    verdict, course = tried.verdict, tried.assignment.course
    if verdict.selection or tried.solution is None:
        return tried
    folder, junit = course.reports_folder, tried.solution.junit
    texts, xml = folder / f"{verdict.name}.txt", folder / f"{verdict.name}.xml"
    noted = course.state_folder / "reports" / f"{verdict.name}.txt"
    contents = {texts: text.encode("utf-8", "replace")} | ({} if junit is None else {xml: junit})
    try:
        make_state_folder(course)
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / ".gitignore").exists():
            write_durably(folder / ".gitignore", b"*\n")
        known = noted.read_text(encoding="utf-8").split() if noted.is_file() else []
        moved = [copy for file in (texts, xml) if (copy := _move_what_is_not_ours(file, known)) is not None]
        _note(noted, [*known, *map(_digest, contents.values())])
        for file, content in contents.items():
            write_durably(file, content)
        if junit is None:
            xml.unlink(missing_ok=True)  # one of an earlier run would pass for this one's
        _note(noted, list(map(_digest, contents.values())))
    except (OSError, CannotWrite) as error:
        why = error.strerror if isinstance(error, OSError) else None
        note = f"no report was kept: {course.relative(folder)} ({why or error})"
        changed = msgspec.structs.replace(verdict, notes=(*verdict.notes, note))
    else:
        kept = _shown(tried.assignment, list(contents))
        notes = [f"{name} is a file that was where the report goes" for name in _shown(tried.assignment, moved)]
        changed = msgspec.structs.replace(
            verdict, report=kept[0], junit=kept[1] if len(kept) > 1 else "", notes=(*verdict.notes, *notes)
        )
    return Tried(tried.assignment, changed, tried.solution, tried.starter)


def _move_what_is_not_ours(file: Path, known: Sequence[str]) -> Path | None:
    """Rename a file with an unknown digest to a free name next to it; return that name."""
    if not os.path.lexists(file):
        return None
    if not file.is_symlink() and _digest(file.read_bytes()) in known:
        return None
    number = 1
    while True:
        copy = file.with_name(f"{file.name}{_COPY}{'' if number == 1 else f'-{number}'}")
        if not os.path.lexists(copy):
            os.rename(file, copy)
            return copy
        number += 1


def _note(noted: Path, digests: Sequence[str]) -> None:
    noted.parent.mkdir(parents=True, exist_ok=True)
    write_durably(noted, "".join(f"{digest}\n" for digest in dict.fromkeys(digests)).encode())


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _shown(assignment: Assignment, files: Sequence[Path]) -> list[str]:
    return [assignment.course.relative(file).as_posix() for file in files]
