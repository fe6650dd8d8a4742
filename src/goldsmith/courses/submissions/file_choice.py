"""Which file of a submission is used for each of the starter's, where several could be: the one that has its name.

A file is also taken for `backbone.py` if it is called `backbone_solution.py`, as solutions are, `Backbone.py`, or what
systems call a copy: `backbone (1).py`, `backbone-1.py`, `backbone copy.py`, `Copy of backbone.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from goldsmith.courses.layout.layout import Assignment
from goldsmith.courses.layout.solutions import CourseFile
from goldsmith.courses.layout.starter_modules import read_starter
from goldsmith.courses.notebooks.convert import SUFFIX as NOTEBOOK
from goldsmith.errors.check import NothingToCheck
from goldsmith.errors.notebooks import BadNotebook
from goldsmith.judge.bounds import MAX_CODE_BYTES
from goldsmith.source_code.parts import parse_parts, same_code, written_by_students
from goldsmith.targets.target import SOLUTION_SUFFIX, Placement

_ADDED = re.compile(r"^copy of |[ _-]*\(\d{1,3}\)$|-\d{1,3}$|[ _-]+copy(?:[ _-]*\d{1,3})?$|_solution$", re.I)
"""What solutions and copies have in their names besides that of the file."""
_MAX_LOOKED_AT = 50
"""Other Python files of a submission that are parsed to see whether they are another version of one that is used."""


def stands_for(inside: Path, wanted: Iterable[str]) -> str:
    """Return the one of the `wanted` files that a file is by its name; "" if it is none, or could be several."""
    name = inside.as_posix()
    by_case: dict[str, list[str]] = {}
    for file in wanted:
        if file == name:
            return file
        by_case.setdefault(file.casefold(), []).append(file)
    if inside.suffix.casefold() != ".py":
        return ""
    stem = inside.stem
    while True:
        found = by_case.get(inside.with_name(f"{stem}.py").as_posix().casefold(), [])
        if found:
            return found[0] if len(found) == 1 else ""
        shorter = _ADDED.sub("", stem)
        if shorter in (stem, ""):
            return ""
        stem = shorter


def is_as_given(assignment: Assignment, item: Placement, file: str) -> bool:
    """Say whether a file has the same code as the starter's."""
    starter = read_starter(assignment, Path(file))
    try:
        return starter is not None and _is_short(item) and same_code(starter, item.read())
    except BadNotebook:
        return False


def _is_short(item: Placement) -> bool:
    """Say whether a file may be parsed; of a notebook, most may be outputs."""
    return item.source.suffix == NOTEBOOK or item.source.stat().st_size <= MAX_CODE_BYTES


def choose_files(
    assignment: Assignment, name: str, placed: Sequence[Placement], wanted: Sequence[str]
) -> tuple[list[Placement], list[str]]:
    """Put the files of the submission `name` in the places of the `wanted` ones that they are by their names; return
    what is to be said about it, too.

    The plain name wins, unless that file is as it was given and one other is not. What is not used stays next to it
    under its own name.
    """
    claims: dict[str, list[Placement]] = {}
    for item in placed:
        file = stands_for(item.target, wanted)
        if file:
            claims.setdefault(file, []).append(item)
    files = {item.target.as_posix(): item for item in placed}
    told: list[str] = []
    for file, items in claims.items():
        chosen = _chosen(assignment, name, file, items, wanted)
        is_plain = chosen.target.as_posix() == file
        if not is_plain and file in files:
            told.append(f"{chosen.target} was used for {file}: the {file} that was submitted is as it was given")
        elif not is_plain and not _is_solution(chosen):
            told.append(f"{chosen.target} was used for {file}")
        told += [
            f"{item.target} was not used: {chosen.target} was submitted, too"
            for item in items
            if item is not chosen and item.target.as_posix() != file and not _is_imported(item.target, placed)
        ]
        if not is_plain and (_is_solution(chosen) or not chosen.target.stem.isidentifier()):
            del files[chosen.target.as_posix()]  # what others may import by its own name stays there, too
        files[file] = CourseFile(chosen.source, Path(file))
    return list(files.values()), told


def _chosen(
    assignment: Assignment, name: str, file: str, items: Sequence[Placement], wanted: Sequence[str]
) -> Placement:
    """Choose the file to use for one of the starter's: by its name, then by whether anything is written in it."""
    ranked = sorted(items, key=lambda item: (item.target.as_posix() != file, not _is_solution(item)))
    if len(ranked) == 1:
        return ranked[0]
    written = [item for item in ranked if not is_as_given(assignment, item, file)]
    first = (written or ranked)[0]
    if first.target.as_posix() == file or _is_solution(first) or all(_are_same(first, item) for item in written):
        return first
    if ranked[0].target.as_posix() == file:
        return ranked[0]
    names = " and ".join(str(item.target) for item in ranked)
    raise NothingToCheck(name, f"it has {names}, and none is called {file}", wanted)


def _are_same(one: Placement, other: Placement) -> bool:
    return _is_short(one) and _is_short(other) and same_code(one.read(), other.read())


def _is_solution(item: Placement) -> bool:
    return item.target.name.endswith(SOLUTION_SUFFIX)


def unused_work(assignment: Assignment, placed: Sequence[Placement], wanted: Sequence[str]) -> Iterator[str]:
    """Yield what is to be said of other Python files that define what students write in one of the `wanted` ones, and
    that nothing imports: such as another version of it, in another folder or under another name."""
    own = [item for item in placed if item.target.suffix == ".py" and _is_short(item)]
    used = {item.source for item in own if item.target.as_posix() in wanted}
    others = [item for item in own if item.source not in used and not (assignment.starter / item.target).exists()]
    to_write = {file: parts_to_write(assignment, file) for file in wanted} if others else {}
    brought = {item.target.as_posix() for item in own}
    for item in others[:_MAX_LOOKED_AT]:
        defined = parse_parts(item.read()).keys()
        file = next((file for file, names in to_write.items() if file in brought and names & defined), "")
        if file and not stands_for(item.target, wanted) and not _is_imported(item.target, own):
            yield f"{item.target} was not used: {file} was submitted, too"


def parts_to_write(assignment: Assignment, file: str) -> set[str]:
    """Return the classes and functions of a file in which students write something."""
    starter = read_starter(assignment, Path(file)) or b""
    return {name.partition(".")[0] for name in written_by_students(starter)}


def _is_imported(target: Path, placed: Iterable[Placement]) -> bool:
    """Say whether another file seems to import a module."""
    name = re.escape(target.parent.name if target.stem == "__init__" else target.stem)
    names_it = re.compile(rf"^[ \t]*(?:from|import)\b[^\n#]*\b{name}\b|import_module|__import__".encode(), re.M)
    others = (item for item in placed if item.target.suffix == ".py" and item.target != target and _is_short(item))
    return any(names_it.search(item.read()) for item in others)
