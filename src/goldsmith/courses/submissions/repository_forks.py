"""Submissions to a course that is one assignment: a fork of the whole repository, or the package in it that students
write."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from goldsmith.courses.layout.layout import Assignment
from goldsmith.courses.layout.starter_modules import read_starter
from goldsmith.courses.submissions.size_limits import files_below
from goldsmith.source_code.parts import written_by_students


def files_handed_in(assignment: Assignment, folder: Path, name: str) -> list[Path]:
    """List everything below `folder`, of the submission `name`. Of a fork, list only what may belong to a starter:
    neither its history nor its virtual environments."""
    if not assignment.is_whole:
        return files_below(folder, name)

    def is_no_starters(inside: str) -> bool:
        return not assignment.holds(assignment.starter / inside) or (folder / inside / "pyvenv.cfg").is_file()

    return files_below(folder, name, is_no_starters)


def package_of(assignment: Assignment, folder: Path, wanted: Sequence[str]) -> Path:
    """Return where in the starter the files of `folder` belong: at its root, or in the package that was submitted
    alone, which is the folder with the most files of the same names."""
    if not assignment.is_whole or any((folder / name).is_file() for name in wanted):
        return Path()
    paths = [PurePosixPath(name) for name in wanted if PurePosixPath(name).name != "__init__.py"]
    fits = Counter(
        above
        for path in paths
        for above in path.parents
        if (folder / path.relative_to(above)).is_file() and above.parts
    )
    best = fits.most_common(2)
    clear = len(best) == 1 or (len(best) == 2 and best[0][1] > best[1][1])
    return Path(best[0][0]) if best and clear else Path()


def to_write(assignment: Assignment, wanted: Sequence[str]) -> list[str]:
    """List files that a submission is expected to have. Of a whole repository, those that leave something to
    students."""
    if not assignment.is_whole:
        return list(wanted)
    return [name for name in wanted if written_by_students(read_starter(assignment, Path(name)) or b"")]
