"""What was handed in: the submissions that a command line means, each opened as plain files, and its digest."""

from __future__ import annotations

import contextlib
import fnmatch
import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from goldsmith.checking import Submission, open_submission, places_of
from goldsmith.course import GRADES, GRADES_MARK, LITTER, Assignment, git
from goldsmith.errors import GoldsmithError, NoSuchSubmission, NothingHandedIn, Unreadable
from goldsmith.grading.unpacking import is_archive, unpack
from goldsmith.workspace import make_room


@dataclass(frozen=True)
class HandedIn:
    """One submission: `what` is a path or a git revision; `name` is what people call it."""

    name: str
    what: str


def collect(assignment: Assignment, arguments: Sequence[str], refs: Sequence[str]) -> list[HandedIn]:
    """Every submission that is meant, in order: folders, files, archives, revisions, or a folder of such."""
    found: list[HandedIn] = []
    for argument in arguments:
        path = Path(argument)
        if path.is_dir() and not _is_one(assignment, path, alone=len(arguments) == 1):
            inside = _handed_in_at(path)
            if not inside:
                raise NothingHandedIn(argument)
            found += [HandedIn(_stem(item), str(item)) for item in inside]
        elif path.exists():
            found.append(HandedIn(_stem(path.resolve()), str(path)))
        elif _is_revision(assignment, argument):
            found.append(HandedIn(argument, argument))
        else:
            raise NoSuchSubmission(argument)
    for pattern in refs:
        matching = [name for name in _branches(assignment) if fnmatch.fnmatchcase(name, pattern)]
        if not matching:
            raise NothingHandedIn(f"--refs {pattern}")
        found += [HandedIn(name, name) for name in matching]
    if not found:
        raise NothingHandedIn("the command line")
    return _told_apart(list(dict.fromkeys(found)))


def kept_apart(assignment: Assignment, items: Sequence[HandedIn]) -> tuple[Path, ...]:
    """What of the course nobody's work gets to see: everybody's; relative to its root. Grades no workspace has."""
    return places_of(assignment, [Path(item.what) for item in items])


@contextlib.contextmanager
def opened(assignment: Assignment, item: HandedIn) -> Iterator[Submission]:
    """The submission's files, an archive's unpacked."""
    with contextlib.ExitStack() as stack:
        what = item.what
        if is_archive(Path(what)):
            folder = stack.enter_context(make_room()) / "handed-in"
            folder.mkdir()
            unpack(Path(what), folder)
            what = str(folder)
        yield stack.enter_context(open_submission(assignment, what, item.name))


def digest_of(submission: Submission) -> str:
    """The same for the same files under the same names, however they were handed in."""
    total = hashlib.sha256()
    for item in sorted(submission.placed, key=lambda placed: placed.target.as_posix()):
        try:
            with item.source.open("rb") as file:
                content = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise Unreadable(item.target, error.strerror or str(error)) from None
        total.update(f"{item.target.as_posix()!r} {content}\n".encode("utf-8", "surrogateescape"))
    return total.hexdigest()


def _is_one(assignment: Assignment, folder: Path, *, alone: bool) -> bool:
    """Whether a folder is a submission itself. One that stands `alone` and holds a submission, and nothing else, is a
    class of one: its name is the submission's, unless that is only the assignment's."""
    inside = _handed_in_at(folder)
    if alone and len(inside) == 1 and inside[0].is_dir() and inside[0].name != assignment.name:
        return not _can_be_opened(assignment, inside[0]) and _can_be_opened(assignment, folder)
    return _can_be_opened(assignment, folder)


def _can_be_opened(assignment: Assignment, folder: Path) -> bool:
    try:
        with open_submission(assignment, str(folder)):
            return True
    except GoldsmithError:
        return False


def _handed_in_at(folder: Path) -> list[Path]:
    """What may be a submission there, and not what an earlier run has written beside them."""
    ours = GRADES if (folder / GRADES_MARK).exists() else ()
    return [item for item in sorted(folder.iterdir()) if item.name not in ours and _may_be_one(item)]


def _may_be_one(path: Path) -> bool:
    if path.name in LITTER or path.name.startswith("."):
        return False
    return path.is_dir() or is_archive(path) or path.suffix == ".py"


def _stem(path: Path) -> str:
    name = path.name
    for suffix in (".zip", ".gz", ".bz2", ".xz", ".tgz", ".tbz2", ".txz", ".tar", ".py"):
        if path.is_file() and name.lower().endswith(suffix) and len(name) > len(suffix):
            name = name[: -len(suffix)]
    return name


def _told_apart(found: list[HandedIn]) -> list[HandedIn]:
    """Of several with one name, each goes by as much of its path, from its end, as tells it from the others."""
    counts = Counter(item.name for item in found)
    ends_of = {item.what: _ends(Path(item.what)) for item in found if counts[item.name] > 1}
    shared = Counter(end for ends in ends_of.values() for end in ends)

    def name(what: str) -> str:
        ends = ends_of[what]
        return next((end for end in ends if shared[end] == 1), ends[-1])

    return [item if counts[item.name] == 1 else HandedIn(name(item.what), item.what) for item in found]


def _ends(path: Path) -> list[str]:
    """More and more of a path, from its end."""
    parts = [part for part in path.parts if part != path.anchor]
    return ["/".join(parts[begin:]) for begin in reversed(range(len(parts)))] or [str(path)]


def _is_revision(assignment: Assignment, name: str) -> bool:
    command = ("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    return not name.startswith("-") and git(assignment.course, *command) is not None


def _branches(assignment: Assignment) -> list[str]:
    listed = git(
        assignment.course, "for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/remotes", "refs/tags"
    )
    return sorted(line for line in (listed or "").splitlines() if line and not line.endswith("/HEAD"))
