"""Starters and their solutions, found by the content of files: one leaves to students what the other has.

That two folders have a file of the same name says nothing: `train.py` and `utils.py` are everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from goldsmith.courses.layout.layout import is_numbered
from goldsmith.courses.notebooks.convert import SUFFIX as NOTEBOOK
from goldsmith.courses.notebooks.convert import convert
from goldsmith.errors.notebooks import BadNotebook
from goldsmith.foundation.todo_marks import is_marked
from goldsmith.source_code.parts import is_students_code, parse_parts, written_by_students
from goldsmith.source_code.unwritten import unwritten_functions
from goldsmith.targets.target import SOLUTION_SUFFIX

Tree = Mapping[str, frozenset[str]]
"""Folders by their path from the root, which is `.`, with the names of their files."""

STARTER_WORDS = (
    "assignment",
    "homework",
    "hw",
    "exercise",
    "lab",
    "starter",
    "practical",
    "problem",
    "pset",
    "project",
    "student",
    "task",
)
SOLUTION_WORDS = ("solution", "answer", "reference", "private", "staff", "instructor", "key", "teacher")
NOT_WRITTEN = ("test", "app", "demo", "doc", "content", "script", "tool", "benchmark", "vendor", "third", "site")
"""Words for folders in which students write nothing, even if code there is unfinished."""
PROJECT_FILES = frozenset(["pyproject.toml", "setup.py", "setup.cfg"])
_NOT_COMPARED = frozenset(["__init__.py", "setup.py", "conftest.py"])
_TODO = re.compile(r"NotImplementedError|TODO|YOUR CODE HERE|FIXME", re.I)
_MAX_SAME_NAMES = 40


@dataclass(frozen=True)
class Pair:
    """Folders of starters and solutions, as some files suggest.

    `names` are assignments; `whole` says that all of the course is one. `evidence` is one such pair of files; `sure`
    says that their content shows it.
    """

    assignments: str
    solutions: str
    names: tuple[str, ...]
    evidence: str
    sure: bool
    whole: bool = False

    @property
    def rank(self) -> tuple[bool, int, int]:
        """Return how much supports this pair."""
        said = 2 * says(self.solutions, SOLUTION_WORDS) - 2 * says(self.solutions, STARTER_WORDS)
        said += 2 * says(self.assignments, STARTER_WORDS) - 2 * says(self.assignments, SOLUTION_WORDS)
        return self.sure, len(self.names), said


def says(name: str, words: Sequence[str]) -> bool:
    """Say whether a part of a path begins with one of the words."""
    return any(re.match(rf"({'|'.join(words)})", part, re.I) for part in re.split(r"[/_.-]", name))


def find_pairs(root: Path, tree: Tree) -> list[Pair]:
    """Return pairs of folders, those with most evidence first."""
    found: dict[tuple[str, str, bool], list[tuple[str, str, bool]]] = {}
    for starter, solution, sure in _alike(root, tree):
        for assignments, solutions, name, whole in _split(tree, starter, solution):
            if _speaks_against(tree, assignments, solutions):
                continue
            rows = found.setdefault((assignments, solutions, whole), [])
            rows.append((name, f"{solution} has what {starter} leaves to write", sure))
    pairs = []
    for (assignments, solutions, whole), rows in found.items():
        shown = [row for row in rows if row[2]]
        names = tuple(sorted({name for name, _, _ in shown or rows}))
        pairs.append(Pair(assignments, solutions, names, (shown or rows)[0][1], bool(shown), whole))
    pairs.sort(key=lambda pair: (pair.assignments, pair.solutions))
    return sorted(pairs, key=lambda pair: pair.rank, reverse=True)


@dataclass(frozen=True)
class Beside:
    """An assignment whose starter and solution are in one folder named after it, with the evidence."""

    name: str
    starter: str
    solution: str
    evidence: str


def find_beside(root: Path, tree: Tree) -> list[Beside]:
    """Return starters with the solution next to them, as in `lab01/student` and `lab01/solution`.

    Return none where two assignments would have the same name.
    """
    found: dict[str, Beside] = {}
    for starter, solution, sure in _alike(root, tree):
        mine, theirs, _ = _apart(starter, solution)
        if not sure or len(mine) < 2 or mine[:-1] != theirs[:-1] or says(mine[-1], SOLUTION_WORDS):
            continue
        if says(theirs[-1], SOLUTION_WORDS):
            evidence = f"{solution} has what {starter} leaves to write"
            item = found.setdefault(mine[-2], Beside(mine[-2], _join(mine), _join(theirs), evidence))
            if (item.starter, item.solution) != (_join(mine), _join(theirs)):
                return []
    return [found[name] for name in sorted(found)]


def _speaks_against(tree: Tree, assignments: str, solutions: str) -> bool:
    """Say whether these cannot be all starters and all solutions, being students' tests or demos, or a package."""
    shown = says(solutions, NOT_WRITTEN) and not says(solutions, SOLUTION_WORDS)
    in_package = assignments != "." and "__init__.py" in tree.get(assignments, ())
    return shown or in_package or says(assignments, NOT_WRITTEN)


def _alike(root: Path, tree: Tree) -> Iterator[tuple[str, str, bool]]:
    """Yield files of the same name as starter and solution, and whether their content shows that they are."""
    by_name: dict[str, list[str]] = {}
    for folder, files in tree.items():
        for file in files:
            if is_students_code(file) or file.endswith(NOTEBOOK):
                path = file if folder == "." else f"{folder}/{file}"
                by_name.setdefault(_plain(file), []).append(path)
    for name, paths in by_name.items():
        if name in _NOT_COMPARED or not 1 < len(paths) <= _MAX_SAME_NAMES:
            continue
        for one in paths:
            for two in paths:
                if one != two and not is_solution(one):
                    answer = _answers(root, one, two)
                    if answer is not None:
                        yield one, two, answer


def _answers(root: Path, starter: str, solution: str) -> bool | None:
    """Return True where one is surely the other's solution, False where only names say so, None where it is not."""
    if is_solution(solution):
        return True
    mine, theirs = _module(root / starter), _module(root / solution)
    left = written_by_students(mine)
    if left:
        unwritten, parts = unwritten_functions(mine, theirs), parse_parts(theirs)
        done = left - {name for name, is_left in unwritten.items() if is_left}
        return True if done and all(name.partition(".")[0] in parts for name in done) else None
    if starter.endswith(NOTEBOOK):
        return True if _marks(root / starter) > _marks(root / solution) else None
    same = PurePosixPath(starter).parent.name == PurePosixPath(solution).parent.name
    unfinished = bool(stubs_in(root / solution))
    return None if unfinished or not (same and is_numbered(PurePosixPath(starter).parent.name)) else False


def stubs_in(path: Path) -> set[str]:
    """Return the functions and methods of a file that students have to write."""
    return written_by_students(_module(path))


def is_solution(name: str) -> bool:
    """Say whether a file is named as the solution of another: `ops_solution.py`, `lab_solution.ipynb`."""
    return name.endswith((SOLUTION_SUFFIX, f"_solution{NOTEBOOK}"))


def _module(path: Path) -> bytes:
    """Return a file's code: of a notebook its definitions, nothing where it has none."""
    content = _bytes(path)
    if path.suffix != NOTEBOOK:
        return content
    try:
        return convert(content, path.name).source
    except BadNotebook:
        return b""


def _marks(path: Path) -> int:
    """Count the lines of a notebook that say that something is left to write."""
    return sum(is_marked(line) or bool(_TODO.search(line)) for line in _text(path).splitlines())


def _split(tree: Tree, starter: str, solution: str) -> Iterator[tuple[str, str, str, bool]]:
    """Yield the folders of all starters and all solutions, and the assignment's name, that a pair of files suggests."""
    mine, theirs, rest = _apart(starter, solution)
    if not theirs or theirs[: len(mine)] == mine != []:
        return  # the solution is at the root, or in the starter's own folder
    level = _level(rest)
    if level is not None:
        yield _join(mine, rest[:level]), _join(theirs, rest[:level]), rest[level], False
    elif mine and rest:
        yield _join(mine), _join(theirs), rest[0], False
    elif mine and is_solution(solution):
        yield _join(mine[:-1]), _join(theirs), mine[-1], False
    elif not mine and (not rest or is_one_project(tree, rest)):
        named = len(theirs) > 1 and says(_join(theirs[:-1]), SOLUTION_WORDS) and not says(theirs[-1], SOLUTION_WORDS)
        yield ".", _join(theirs[:-1] if named else theirs), theirs[-1] if named else "", True
    elif not mine:
        yield ".", _join(theirs), rest[0], False


def _apart(starter: str, solution: str) -> tuple[list[str], list[str], list[str]]:
    """Return the folders only in the starter's path, those only in the solution's, and the last ones they share."""
    one, two = [*PurePosixPath(starter).parts], [*PurePosixPath(_plain(solution)).parts]
    common = 0
    while common < min(len(one), len(two)) and one[-1 - common] == two[-1 - common]:
        common += 1
    return one[: len(one) - common], two[: len(two) - common], one[len(one) - common : -1]


def _level(folders: Sequence[str]) -> int | None:
    """Return which folder is the assignment's: one with a number, or the one below a folder named after assignments."""
    for number, name in enumerate(folders):
        if is_numbered(name):
            return number
        if says(name, STARTER_WORDS) and number + 1 < len(folders):
            return number + 1
    return None


def is_one_project(tree: Tree, folders: Sequence[str]) -> bool:
    """Say whether these folders at the root are a package of one project, not one assignment of several."""
    names = [_join(folders[:length]) for length in range(1, len(folders) + 1)]
    is_project = bool(PROJECT_FILES & tree.get(".", frozenset()))
    return is_project or any("__init__.py" in tree.get(name, ()) for name in names)


def _plain(file: str) -> str:
    path = PurePosixPath(file)
    return path.with_stem(path.stem.removesuffix("_solution")).as_posix() if is_solution(file) else file


def _join(*parts: Sequence[str]) -> str:
    return PurePosixPath(*(part for group in parts for part in group)).as_posix()


def _text(path: Path) -> str:
    return _bytes(path).decode("utf-8", "replace")


def _bytes(path: Path) -> bytes:
    """Read a file; empty where it cannot be read."""
    try:
        return path.read_bytes()
    except OSError:
        return b""
