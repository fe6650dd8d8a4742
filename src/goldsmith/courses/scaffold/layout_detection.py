"""Detection of assignments, solutions, tests and gold in a repository that was not arranged for goldsmith.

Files decide; names of folders only where the files say nothing. Doubt is returned as a question.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Literal

from goldsmith.courses.layout.config import ROOT, Config, project_name
from goldsmith.courses.layout.layout import is_numbered
from goldsmith.courses.notebooks.convert import SUFFIX as NOTEBOOK
from goldsmith.courses.scaffold.pairs import (
    NOT_WRITTEN,
    PROJECT_FILES,
    SOLUTION_WORDS,
    STARTER_WORDS,
    Beside,
    Pair,
    Tree,
    find_beside,
    find_pairs,
    is_solution,
    says,
    stubs_in,
)
from goldsmith.courses.scaffold.tests_found import find_tests
from goldsmith.foundation.ignored_names import HANDED_IN, LITTER
from goldsmith.foundation.wording import count_of
from goldsmith.source_code.parts import is_students_code

_DEPTH, _MOST_FOLDERS = 5, 5000
_NOT_MEANT = HANDED_IN | {"handout", "handouts", "release", "build", "dist", "examples", "site-packages"}
_ADAPTERS = "adapters.py"
"""The file among tests that students do write: it connects the tests to their code."""
_FEWEST_STUBS = 2
_RECIPE = re.compile(r"(generate|make|create|build|gen)_(fixtures?|golds?|goldens?|references?)\.py")
_GOLD = (".pt", ".pth", ".npz", ".npy", ".safetensors")


@dataclass(frozen=True)
class Note:
    """Something that the user should know about the layout: its kind in a word, and the places."""

    kind: str
    places: tuple[str, ...] = ()


@dataclass(frozen=True)
class Doubt:
    """A question, with the settings that follow from each answer.

    One that may wait has a default that applies if nobody is asked; any other must be answered before anything is
    written.
    """

    kind: Literal["pair", "assignments", "solutions", "tests"]
    options: tuple[Mapping[str, str], ...]
    about: str = ""
    may_wait: bool = False


@dataclass(frozen=True)
class Layout:
    """The configuration's folders, how each was found (no entry: it is the default), and open questions.

    `whole` is the assignment's name where all of the course is one; `beside` are assignments with the solution next to
    the starter.
    """

    values: Mapping[str, str]
    found: Mapping[str, str] = field(default_factory=dict)
    doubts: Sequence[Doubt] = ()
    notes: Sequence[Note] = ()
    whole: str = ""
    public_tests: str = ""
    beside: Sequence[Beside] = ()

    def settled(self, doubt: Doubt, answer: Mapping[str, str]) -> Layout:
        """Return the layout after the user's answer."""
        found = {**self.found, **dict.fromkeys(answer, "as you said")}
        rest = [item for item in self.doubts if item != doubt]
        return replace(self, values={**self.values, **answer}, found=found, doubts=rest)


def detect(root: Path, said: Mapping[str, str] | None = None, whole: str = "") -> Layout:
    """Detect the layout; `said` are the user's settings, `whole` the name if all of the course is one assignment."""
    tree = dict(_walk(root))
    said = dict(said or {})
    layout = _folders(root, tree, said, whole)
    values, found = dict(layout.values), dict(layout.found)
    starters = [item.starter for item in layout.beside] or _starters(tree, values["assignments"], layout.whole)
    tests = find_tests(root, tree, [*starters, values["solutions"]])
    values["internal-tests"] = said.get("internal-tests") or tests.internal
    if tests.why or "internal-tests" in said:
        found["internal-tests"] = "as you said" if "internal-tests" in said else tests.why
    doubts = [*layout.doubts]
    if tests.unclear and "internal-tests" not in said:
        options = ({"internal-tests": tests.internal}, {"internal-tests": tests.public})
        with_gold = tuple({**option, "fixtures": f"{option['internal-tests']}/fixtures"} for option in options)
        doubts.append(Doubt("tests", with_gold, tests.public, may_wait=True))
    values["fixtures"] = f"{values['internal-tests']}/fixtures"
    code = [*starters, values["solutions"]]
    gold = [folder for folder in _gold_folders(tree, starters) if not _overlaps(folder, code)]
    if len(gold) == 1:
        values["fixtures"], found["fixtures"] = gold[0], "by what lies there"
    values["recipe"] = Config().recipe
    recipes = {file for name in starters or [ROOT] for file in tree.get(name, ()) if _RECIPE.fullmatch(file)}
    if recipes and Config().recipe not in recipes:
        values["recipe"], found["recipe"] = sorted(recipes)[0], "by its name"
    return replace(
        layout,
        values=values,
        found=found,
        doubts=doubts,
        notes=() if layout.beside else tuple(_notes(tree, values)),
        public_tests=tests.public,
    )


def _folders(root: Path, tree: Tree, said: Mapping[str, str], whole: str) -> Layout:
    """Find assignments and solutions: as the user said, by matching files, by what is left to write, by names."""
    plain = {"assignments": Config().assignments, "solutions": Config().solutions}
    pairs = [pair for pair in find_pairs(root, tree) if _fits(pair, said, whole)]
    best = [pair for pair in pairs if pair.rank == pairs[0].rank]
    beside = find_beside(root, tree) if not (said.keys() & plain.keys() or whole) else []
    if len(beside) > max((len(pair.names) for pair in best if pair.sure), default=0):
        return Layout(plain, {"assignments": beside[0].evidence, "solutions": "by their files"}, beside=beside)
    if pairs and pairs[0].sure and len(best) == 1:
        return _from_pair(root, best[0], said, whole)
    if best and "assignments" not in said:
        options = tuple({"assignments": pair.assignments, "solutions": pair.solutions} for pair in best)
        return Layout({**plain, **said}, doubts=[Doubt("pair", options, ", ".join(best[0].names))])
    layout = _without_solutions(root, tree, plain)
    if whole or "assignments" in said:
        values = {**layout.values, "assignments": ROOT if whole else said["assignments"]}
        layout = Layout(values, {**layout.found, "assignments": "as you said"}, whole=whole)
    if "solutions" in said:
        values = {**layout.values, "solutions": said["solutions"]}
        return replace(layout, values=values, found={**layout.found, "solutions": "as you said"})
    named = _called(tree, plain["solutions"])
    if len(named) == 1 and not _overlap(named[0], layout.values["assignments"]):
        values = {**layout.values, "solutions": named[0]}
        return replace(layout, values=values, found={**layout.found, "solutions": "by its name"})
    if len(named) > 1:
        doubt = Doubt("solutions", tuple({"solutions": name} for name in named))
        return replace(layout, doubts=[*layout.doubts, doubt])
    return layout


def _fits(pair: Pair, said: Mapping[str, str], whole: str) -> bool:
    if whole:
        return pair.whole and said.get("solutions", pair.solutions) == pair.solutions
    return all(said.get(key, value) == value for key, value in _values(pair).items())


def _values(pair: Pair) -> dict[str, str]:
    return {"assignments": pair.assignments, "solutions": pair.solutions}


def _from_pair(root: Path, pair: Pair, said: Mapping[str, str], whole: str) -> Layout:
    name = (whole or pair.names[0] or _own_name(root)) if pair.whole else ""
    found = {"assignments": pair.evidence, "solutions": "by its files"}
    return Layout(_values(pair), {**found, **dict.fromkeys(said, "as you said")}, whole=name)


def _own_name(root: Path) -> str:
    """Return the name of a course that is one assignment: its project's, or else its folder's."""
    return project_name(root, default=root.name)


def _without_solutions(root: Path, tree: Tree, plain: Mapping[str, str]) -> Layout:
    """Find assignments alone: in the usual place, in numbered folders, in folders named after assignments that leave
    something to write; else take the whole repository, if anything in it does.
    """
    holders = {_parent(name) for name, files in tree.items() if any(map(_is_code, files))}
    if plain["assignments"] in holders:
        return Layout(plain, {"assignments": "by its name"})
    left = _left_to_write(root, tree)
    for candidates, evidence in (
        (_numbered(tree), "by the names of its folders"),
        (_unfinished(left), "by what its files leave to write"),
    ):
        most = max(candidates.values(), default=0)
        best = sorted(name for name, count in candidates.items() if count == most)
        if len(best) == 1:
            return Layout({**plain, "assignments": best[0]}, {"assignments": evidence})
        if best:
            doubt = Doubt("assignments", tuple({"assignments": name} for name in best))
            return Layout(plain, doubts=[doubt])
    own = {file: names for file, names in left.items() if not _is_no_students(file)}
    if sum(map(len, own.values())) >= _FEWEST_STUBS:
        file, names = max(own.items(), key=lambda item: (len(item[1]), item[0]))
        count = count_of(len(names), "part")
        evidence = f"{file} leaves {count} to write, and no folder holds several assignments"
        return Layout({**plain, "assignments": ROOT}, {"assignments": evidence}, whole=_own_name(root))
    return Layout(plain)


def _left_to_write(root: Path, tree: Tree) -> dict[str, set[str]]:
    """Return the parts that students have to write, by file."""
    paths = [
        file if name == "." else f"{name}/{file}"
        for name, files in tree.items()
        for file in files
        if (is_students_code(file) or file.endswith(NOTEBOOK))
        and not is_solution(file)
        and not says(name, SOLUTION_WORDS)
    ]
    return {path: found for path in paths if (found := stubs_in(root / path))}


def _numbered(tree: Tree) -> dict[str, int]:
    """Return folders with how many numbered folders with code they contain."""
    found: dict[str, set[str]] = {}
    for name, files in tree.items():
        path = PurePosixPath(name)
        for above in (path, *path.parents):
            parent = _parent(above.as_posix())
            if not (above.parts and is_numbered(above.name) and any(map(_is_code, files))):
                continue
            if not says(name, SOLUTION_WORDS) and not _is_no_students(f"{name}/x") and not _in_package(tree, parent):
                found.setdefault(parent, set()).add(above.name)
    outer = {name for name in found if not any(_is_below(name, other) for other in found)}
    return {name: len(found[name]) for name in outer}


def _unfinished(left: Mapping[str, set[str]]) -> dict[str, int]:
    """Return folders named after assignments, with how many folders in them leave something to write."""
    found: dict[str, set[str]] = {}
    for file in left:
        parts = PurePosixPath(file).parts
        for number, part in enumerate(parts[:-2]):
            if says(part, STARTER_WORDS) and not _is_no_students(file):
                found.setdefault("/".join(parts[: number + 1]), set()).add(parts[number + 1])
                break
    return {name: len(names) for name, names in found.items()}


def _is_no_students(file: str) -> bool:
    path = PurePosixPath(file)
    return says(path.parent.as_posix(), NOT_WRITTEN) and path.name != _ADAPTERS


def _in_package(tree: Tree, folder: str) -> bool:
    files = tree.get(folder, frozenset())
    return "__init__.py" in files or (folder == ROOT and bool(PROJECT_FILES & files))


def _called(tree: Tree, usual: str) -> list[str]:
    """Return folders named after solutions that hold code; only the usual one, where it exists."""
    holders = {name for name, files in tree.items() if any(map(_is_code, files))}
    above = {parent.as_posix() for name in holders for parent in (PurePosixPath(name), *PurePosixPath(name).parents)}
    if usual in above:
        return [usual]
    found = [name for name in sorted(above - {ROOT}) if says(PurePosixPath(name).name, SOLUTION_WORDS[:2])]
    found = [name for name in found if not says(name, ("test", "fixture"))]
    return [name for name in found if not any(_is_below(name, other) for other in found)]


def _starters(tree: Tree, assignments: str, whole: str) -> list[str]:
    """Return the assignments' folders; none if the course is one assignment, whose folders may be anything."""
    if whole:
        return []
    inside = [name for name in tree if name != ROOT and _parent(name) == assignments]
    return [name for name in inside if assignments != ROOT or is_numbered(name)]


def _walk(root: Path) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield folders by their path from the root, which is `.`, with the names of their files."""
    for current, folders, files in islice(os.walk(root), _MOST_FOLDERS):
        path = Path(current).relative_to(root)
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".")
            and name not in LITTER | _NOT_MEANT
            and not name.endswith(".egg-info")
            and not Path(current, name, "pyvenv.cfg").is_file()
        )
        if len(path.parts) >= _DEPTH:
            folders.clear()
        yield path.as_posix(), frozenset(files)


def _gold_folders(tree: Tree, starters: Sequence[str]) -> list[str]:
    """Return folders that contain folders named after assignments with arrays in them."""
    names = {PurePosixPath(name).name for name in starters}
    holders = [
        _parent(name)
        for name, files in tree.items()
        if PurePosixPath(name).name in names and any(file.endswith(_GOLD) for file in files)
    ]
    return sorted(set(holders) - {ROOT})


def _notes(tree: Tree, values: Mapping[str, str]) -> Iterator[Note]:
    own = [
        name
        for name, files in tree.items()
        if any(is_solution(file) and file.replace("_solution", "") in files for file in files)
        or any(f"{name}/{word}" in tree and name != ROOT for word in ("solution", "solutions"))
    ]
    mixed = [name for name in own if not _overlap(name, values["solutions"])]
    if mixed:
        yield Note("solution-inside", tuple(mixed))


def _is_code(file: str) -> bool:
    return file.endswith((".py", NOTEBOOK))


def _parent(name: str) -> str:
    return PurePosixPath(name).parent.as_posix() if name != ROOT else ""


def _is_below(name: str, other: str) -> bool:
    return name != other and PurePosixPath(name).is_relative_to(other)


def _overlap(one: str, other: str) -> bool:
    first, second = PurePosixPath(one), PurePosixPath(other)
    return ROOT not in (one, other) and (first.is_relative_to(second) or second.is_relative_to(first))


def _overlaps(name: str, others: Sequence[str]) -> bool:
    return any(_overlap(name, other) for other in others)
