"""Find provided parts that a submission changed, and restore the starter's own.

Whether everything a student wrote is right although the whole differs is not guessed: it is run.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from goldsmith.errors.base import GoldsmithError
from goldsmith.foundation.git import git
from goldsmith.foundation.ignored_names import LITTER
from goldsmith.foundation.syntax import syntax_tree
from goldsmith.frameworks.framework import registered
from goldsmith.gold.manifest import Manifest
from goldsmith.judge.bounds import MAX_CODE_BYTES
from goldsmith.source_code.parts import written_by_students
from goldsmith.source_code.provided import added_at_import, changed_provided, missing_values
from goldsmith.source_code.provided_edits import can_be_disabled, is_in, with_provided, without_parts
from goldsmith.source_code.unwritten import left_as_given, unwritten_functions, unwritten_parts
from goldsmith.targets.target import NOTEBOOK_SUFFIX, Placement, Starter, Submission, Target

_MAX_TRUSTED_CODE_BYTES = 4 * MAX_CODE_BYTES
"""For what a recipe by itself runs on, which nobody submitted."""


@dataclass(frozen=True)
class Provided:
    """The starter's files, the submission's versions of them, and what of provided code it changed, or left out or
    added at import where that may not matter; `files` are all of the submission's files."""

    starter: Mapping[str, bytes]
    submitted: Mapping[str, bytes]
    changed: Mapping[str, list[str]]
    files: Mapping[str, bytes]
    left_out: Mapping[str, list[str]] = field(default_factory=dict)
    left: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """By file, functions that the solution leaves as they were given."""
    notes: tuple[str, ...] = ()
    """What could not be looked at."""
    ported: frozenset[str] = frozenset()
    """Files that are written in another library than the starter's: none of its code fits into them."""

    @classmethod
    def of(cls, target: Target, submission: Submission, manifest: Manifest) -> Provided:
        if target.starter is None:
            own = _implementation_files(target, manifest)
            return cls({}, {}, {}, read_code(own, most=_MAX_TRUSTED_CODE_BYTES))
        starter = _starter_files(target, target.starter, submission, manifest)
        files = _submitted_files(target.starter, submission)
        submitted = {name: files[name] for name in starter if name in files}
        modules = ((item.target.as_posix(), item.notebook()) for item in submission.placed)
        importing = {name for name, module in modules if module is not None and module.imports_itself}
        beside = {name: [other for path, other in files.items() if path != name] for name in submitted}
        given = {name: [starter[name]] if name in importing else [] for name in submitted}
        free = changed_by_solution(target, starter)
        ported = {name for name, content in submitted.items() if _is_in_another_library(starter[name], content)}

        def look(find: Callable[[bytes, bytes, Sequence[bytes]], list[str]]) -> dict[str, list[str]]:
            found = {
                name: _found(find, starter[name], content, [*beside[name], *given[name]])
                for name, content in submitted.items()
                if name not in ported
            }
            return {
                name: own
                for name, parts in found.items()
                if (own := [it for it in parts if it not in free.get(name, ())])
            }

        unread = sorted({item.target.as_posix() for item in submission.placed} & starter.keys() - submitted.keys())
        notes = [
            f"{name} was run and not read: there are more than {MAX_CODE_BYTES // 2**10} KiB of code" for name in unread
        ]
        notes += [f"{name} is written in another library: it has none of the provided code" for name in sorted(ported)]
        return cls(
            starter,
            submitted,
            look(changed_provided),
            files,
            look(_may_matter),
            functions_left(target, starter),
            tuple(notes),
            frozenset(ported),
        )

    @functools.cached_property
    def _to_write(self) -> dict[str, dict[str, bool]]:
        """Return, by file, the functions left to students, and whether each is unwritten; none where code is nested too
        deeply to parse: running it will say so."""
        found: dict[str, dict[str, bool]] = {}
        for name, content in self.submitted.items():
            found[name] = {}
            with contextlib.suppress(RecursionError, MemoryError):
                found[name] = unwritten_functions(self.starter[name], content, self.left.get(name, ()))
        return found

    @property
    def is_untouched(self) -> bool:
        """Return whether all that the starter leaves to students is as it was given, or empty."""
        left = {name: written_by_students(self.starter[name]) - set(self.left.get(name, ())) for name in self._to_write}
        is_read = all(self._to_write[name] or not names for name, names in left.items())
        return is_read and any(left.values()) and all(all(found.values()) for found in self._to_write.values())

    @property
    def unwritten_functions(self) -> tuple[str, ...]:
        """List functions and methods left to students that are as they were given, or empty."""
        return tuple(name for found in self._to_write.values() for name, unwritten in found.items() if unwritten)

    @property
    def unwritten(self) -> tuple[str, ...]:
        """List parts left to students of which nothing is written."""
        return tuple(part for found in self._to_write.values() for part in unwritten_parts(found))

    @property
    def parts(self) -> tuple[str, ...]:
        """List provided code that was changed."""
        return tuple(part for parts in self.changed.values() for part in parts)

    @property
    def restorable(self) -> tuple[str, ...]:
        """List everything that can be put back as it was given."""
        return (*self.parts, *(part for parts in self.left_out.values() for part in parts))

    def restored(self, submission: Submission, folder: Path, wanted: Collection[str]) -> list[Placement]:
        """Place the submission's files, with these provided parts as they are in the starter."""
        return self._placed(submission, folder, wanted, ())

    def disabled(
        self, submission: Submission, folder: Path, back: Collection[str], off: Collection[str]
    ) -> list[Placement]:
        """Place the submission's files with some provided parts put back, and others such that using them fails."""
        return self._placed(submission, folder, back, off)

    @property
    def plain(self) -> tuple[str, ...]:
        """List what can be put back without changing what a class or a name is."""
        return tuple(part for part in self.restorable if not part.startswith("class "))

    def is_there(self, part: str) -> bool:
        """Return whether a submission has its own version of a changed part."""
        return any(is_in(content, part) for content in self.files.values())

    def can_be_tried(self, part: str) -> bool:
        """Return whether it can be found out if anything uses a changed part that is there."""
        return any(can_be_disabled(self.submitted[name], part) for name, parts in self.changed.items() if part in parts)

    def _placed(
        self, submission: Submission, folder: Path, back: Collection[str], off: Collection[str]
    ) -> list[Placement]:
        placed = {item.target.as_posix(): item for item in submission.placed}
        for name, content in self.submitted.items():
            parts = [*self.changed.get(name, ()), *self.left_out.get(name, ())]
            made = with_provided(self.starter[name], content, [part for part in parts if part in back])
            made = without_parts(made, [part for part in parts if part in off])
            if made != content:
                file = folder / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(made)
                placed[name] = Placement(file, Path(name))
        return list(placed.values())


def _found(
    find: Callable[[bytes, bytes, Sequence[bytes]], list[str]], starter: bytes, content: bytes, beside: Sequence[bytes]
) -> list[str]:
    """List what is not as the starter provides it; nothing where code is nested too deeply to parse: running it will
    say so."""
    try:
        return find(starter, content, beside)
    except (RecursionError, MemoryError):
        return []


def _is_in_another_library(starter: bytes, content: bytes) -> bool:
    """Say whether a file imports another library of models than the starter's does."""
    libraries = {item.name for item in registered()} - {"numpy"}
    given, theirs = (_imported_packages(file) & libraries for file in (starter, content))
    return bool(given and theirs) and not given & theirs


def _imported_packages(content: bytes) -> set[str]:
    try:
        nodes = list(ast.walk(syntax_tree(content)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    named = {item.name for node in nodes if isinstance(node, ast.Import) for item in node.names}
    named |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module and not node.level}
    return {name.partition(".")[0] for name in named}


def _may_matter(starter: bytes, other: bytes, beside: Sequence[bytes]) -> list[str]:
    return [*missing_values(starter, other, beside), *added_at_import(starter, other, beside)]


def _starter_files(target: Target, starter: Starter, submission: Submission, manifest: Manifest) -> dict[str, bytes]:
    """Read the starter's Python files as gold knows them; leave out those that no longer exist in that version."""
    root, found = target.project.root, {}
    for name, digest in manifest.provenance.starter.items():
        path = root / name
        if path.suffix not in (".py", NOTEBOOK_SUFFIX) or not path.is_relative_to(starter.folder):
            continue
        inside = path.relative_to(starter.folder)
        module, content = starter.as_module(inside, path.read_bytes() if path.is_file() else b"")
        if submission.is_tree and _digest(content) != digest:
            committed = git(root, "show", f"HEAD:./{name}")
            module, content = starter.as_module(inside, (committed or "").encode("utf-8", "surrogateescape"))
        if _digest(content) == digest:
            found[module.as_posix()] = content
    return found


def functions_left(target: Target, starter: Mapping[str, bytes]) -> dict[str, list[str]]:
    """Return, by file, the functions that the solution leaves as they were given. Where there is no solution, as in a
    pack, a record may say which."""
    return _by_solution(
        target,
        left_record(target),
        lambda solved: {name: left_as_given(content, solved.get(name, b"")) for name, content in starter.items()},
    )


def changed_by_solution(target: Target, starter: Mapping[str, bytes]) -> dict[str, list[str]]:
    """Return, by file, what looks as if the starter provided it and is not the same in the solution: students may
    change it, too. Where there is no solution, a record may say which."""

    def find(solved: Mapping[str, bytes]) -> dict[str, list[str]]:
        found = {}
        for name in starter.keys() & solved.keys():
            beside = [content for other, content in solved.items() if other != name]
            changes = (find(starter[name], solved[name], beside) for find in (changed_provided, _may_matter))
            found[name] = [part for parts in changes for part in parts]
        return found

    return _by_solution(target, changed_record(target), find)


def _by_solution(
    target: Target, record: Path, find: Callable[[Mapping[str, bytes]], dict[str, list[str]]]
) -> dict[str, list[str]]:
    with contextlib.suppress(GoldsmithError, OSError):
        if target.solution is None or not target.solution.is_here:
            return msgspec.json.decode(record.read_bytes(), type=dict[str, list[str]]) if record.is_file() else {}
        return find({item.target.as_posix(): item.read() for item in target.placed})
    return {}


def left_record(target: Target) -> Path:
    """Return where the record of `functions_left` is, in a copy of the course without solutions."""
    return target.project.state_folder / "left-as-given" / f"{target.name}.json"


def changed_record(target: Target) -> Path:
    """Return where the record of `changed_by_solution` is, in a copy of the course without solutions."""
    return target.project.state_folder / "changed-by-solution" / f"{target.name}.json"


def _submitted_files(starter: Starter, submission: Submission) -> dict[str, bytes]:
    """Read the submission's Python files by where they go."""
    if submission.is_tree:
        files = list(starter.modules)
    else:
        files = [item for item in submission.placed if item.target.suffix == ".py"]
    return read_code(files, lambda name: starter.module(Path(name)) is not None)


def _implementation_files(subject: Target, manifest: Manifest) -> list[Placement]:
    """Return the Python files of what a recipe by itself runs on: what takes the place of its imports, then what the
    gold was recorded from."""
    places = [Path(where) for _, where in subject.replacements if Path(where).is_absolute()]
    found = [file for place in places for file in (sorted(place.rglob("*.py")) if place.is_dir() else [place])]
    found += [subject.project.root / name for name in manifest.provenance.solution if name.endswith(".py")]
    names = {subject.project.portable(file): file for file in found if LITTER.isdisjoint(file.parts)}
    return [Placement(file, Path(name)) for name, file in names.items()]


def read_code(
    files: Iterable[Placement], is_first: Callable[[str], bool] = lambda name: True, most: int = MAX_CODE_BYTES
) -> dict[str, bytes]:
    """Read Python files, by where they go, those that come first (which the starter has, too) before all others, no
    more than `most` bytes of them all. A notebook counts by its definitions."""
    found: dict[str, bytes] = {}
    left = most
    named = {item.target.as_posix(): item for item in files}
    for name in sorted(named, key=lambda name: not is_first(name)):
        source = named[name].source
        if source.is_file() and (source.suffix == NOTEBOOK_SUFFIX or source.stat().st_size <= left):
            content = named[name].read()
            if len(content) <= left:
                found[name] = content
                left -= len(content)
    return {name: found[name] for name in named if name in found}


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
