"""Find where a submission uses what the assignment forbids: in its code, and as it ran."""

from __future__ import annotations

from collections.abc import Iterable

from goldsmith.check.places import shown_place
from goldsmith.check.provided_code import read_code
from goldsmith.judge.verdicts import ForbiddenUse
from goldsmith.source_code.forbidden import MAX_USES, forbidden_uses
from goldsmith.targets.target import Submission, Target

_MAX_PLACE_CHARS = 200


def find_forbidden(
    target: Target, submission: Submission, sightings: Iterable[tuple[str, str]]
) -> tuple[ForbiddenUse, ...]:
    """Find forbidden uses in its own code that the starter does not have. `sightings` are reported by the submission's
    process, which may invent them: only those in its own files count, and only for names that the code does not show
    anyway."""
    names = target.forbidden
    if not names or target.starter is None:
        return ()
    starter = {item.target.as_posix(): item for item in target.starter.modules}
    placed = {item.target.as_posix(): item for item in submission.placed if item.target.suffix == ".py"}
    own = starter if submission.is_tree else placed
    given = {} if submission.is_tree else {file: item for file, item in starter.items() if file in placed}
    excused = {(name, file, text) for name, file, _, text in forbidden_uses(read_code(given.values()), names)}
    code = read_code(own.values(), lambda file: file in starter)  # others cannot use up what may be read
    found = [
        ForbiddenUse(name, shown_place(f"{file}:{line}", [*own.values()]), True)
        for name, file, line, text in forbidden_uses(code, names)
        if (name, file, text) not in excused
    ]
    known = {use.name for use in found}
    for name, place in sightings:
        file, _, line = place.rpartition(":")
        if name in names and name not in known and file in own and line.isdecimal() and len(line) < 9:
            found.append(ForbiddenUse(name, shown_place(place, [*own.values()])[:_MAX_PLACE_CHARS], False))
    return tuple(found[:MAX_USES])
