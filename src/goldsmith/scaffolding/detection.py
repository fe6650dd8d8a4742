"""Where assignments, solutions, tests and gold lie in a repository that nobody arranged for goldsmith.

Found by what is in the folders, by their names only where that says nothing. Doubt is handed on as a question.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Literal

from goldsmith.course import LITTER, SUFFIX, Config

_DEPTH, _MOST_FOLDERS = 5, 5000
_STARTER_WORDS = [
    "assignment",
    "homework",
    "hw",
    "exercise",
    "lab",
    "starter",
    "problem",
    "pset",
    "project",
    "student",
    "task",
]
_SOLUTION_WORDS = ["solution", "answer", "reference", "private", "staff", "instructor", "key", "teacher"]
_INTERNAL_WORDS = ["internal", "hidden", "private", "staff", "grading", "grader", "autograder", "instructor"]
_WORDS: dict[Literal["assignments", "solutions"], list[str]] = {
    "assignments": _STARTER_WORDS,
    "solutions": _SOLUTION_WORDS,
}
_NOT_MEANT = frozenset(
    [
        "submission",
        "submissions",
        "handout",
        "handouts",
        "release",
        "build",
        "dist",
        "grades",
        "examples",
        "site-packages",
    ]
)
_TODO = re.compile(r"NotImplementedError|TODO|YOUR CODE HERE|FIXME", re.I)
_USES_GOLD = re.compile(r"mark\.(rigor|gold|internal|hidden)|\b(torch|np|numpy)\.load\(|goldsmith")
_RECIPE = re.compile(r"(generate|make|create|build|gen)_(fixtures?|golds?|goldens?|references?)\.py")
_GOLD = (".pt", ".pth", ".npz", ".npy", ".safetensors")


@dataclass(frozen=True)
class Note:
    """Something that a person should know about the layout: a word for what it is, and the places."""

    kind: str
    places: tuple[str, ...] = ()


@dataclass(frozen=True)
class Doubt:
    """A question: what it is about, and the settings that follow from each answer. Defaults hold if nobody is asked."""

    kind: Literal["pair", "assignments", "solutions", "tests"]
    options: tuple[Mapping[str, str], ...]
    about: str = ""


@dataclass(frozen=True)
class Layout:
    """Values of the configuration's folders, what each was found by (nothing: it is the default), open questions."""

    values: Mapping[str, str]
    found: Mapping[str, str] = field(default_factory=dict)
    doubts: Sequence[Doubt] = ()
    notes: Sequence[Note] = ()

    def settled(self, doubt: Doubt, answer: Mapping[str, str]) -> Layout:
        """As it is once a person has answered."""
        found = {**self.found, **dict.fromkeys(answer, "as you said")}
        rest = [item for item in self.doubts if item != doubt]
        return replace(self, values={**self.values, **answer}, found=found, doubts=rest)


def detect(root: Path) -> Layout:
    tree = dict(_walk(root))
    plain = Config()
    values = {"assignments": plain.assignments, "solutions": plain.solutions}
    found: dict[str, str] = {}
    doubts: list[Doubt] = []
    pairs = _pairs(root, tree)
    if pairs:
        best = [pair for pair in pairs if pair.rank == pairs[0].rank]
        options = tuple({"assignments": pair.starters, "solutions": pair.solutions} for pair in best)
        if len(options) == 1:
            values = dict(options[0])
            found = {"assignments": ", ".join(best[0].names), "solutions": "by the names of its files"}
        else:
            doubts.append(Doubt("pair", options, ", ".join(best[0].names)))
    else:
        for setting, words in _WORDS.items():
            named = _by_name(tree, words, values[setting], setting == "solutions")
            if len(named) == 1:
                values[setting], found[setting] = named[0], "by its name"
            elif named:
                doubts.append(Doubt(setting, tuple({setting: name} for name in named)))
        if _overlap(values["assignments"], values["solutions"]):
            values["solutions"] = plain.solutions
            found.pop("solutions", None)
    private = [values["assignments"], values["solutions"]]
    tests, why, doubt = _internal_tests(root, tree, private)
    values["internal-tests"] = tests
    if why:
        found["internal-tests"] = why
    doubts += [doubt] if doubt else []
    values["fixtures"] = f"{tests}/fixtures"
    gold = [folder for folder in _gold_folders(tree, values["assignments"]) if not _overlaps(folder, private)]
    if len(gold) == 1:
        values["fixtures"], found["fixtures"] = gold[0], "by what lies there"
    values["recipe"] = plain.recipe
    recipes = {file for name, files in tree.items() if _parent(name) == values["assignments"] for file in files}
    written = sorted(file for file in recipes if _RECIPE.fullmatch(file))
    if written and plain.recipe not in written:
        values["recipe"], found["recipe"] = written[0], "by its name"
    return Layout(values, found, doubts, tuple(_notes(tree, values, "assignments" in found)))


@dataclass(frozen=True)
class _Pair:
    """Two folders with the same assignments in them; `evidence` says how clear it is which of them students get."""

    starters: str
    solutions: str
    names: tuple[str, ...]
    evidence: int

    @property
    def rank(self) -> tuple[int, int]:
        return len(self.names), self.evidence


def _walk(root: Path) -> Iterator[tuple[str, frozenset[str]]]:
    """Folders by their path from the root, `.` for that itself, with the names of their files."""
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


def _pairs(root: Path, tree: Mapping[str, frozenset[str]]) -> list[_Pair]:
    """The best first. Of two directions only the clearer one; both where neither is."""
    above: dict[str, dict[str, frozenset[str]]] = {}
    for name, files in tree.items():
        code = frozenset(file for file in files if file.endswith((".py", ".ipynb")) and not _is_test(file))
        if code and name != "." and _parent(name) != ".":
            above.setdefault(_parent(name), {})[PurePosixPath(name).name] = code
    flat = {name: {file for file in files if file.endswith(SUFFIX)} for name, files in tree.items()}
    found = []
    for starters, assignments in above.items():
        for solutions in {*above, *(name for name, files in flat.items() if files and name != ".")}:
            if not _overlap(starters, solutions):
                answers = above.get(solutions, {})
                names = [
                    name
                    for name, code in assignments.items()
                    if _fits(code, answers.get(name, frozenset()))
                    or _fits(code, flat.get(solutions, frozenset()), flat=True)
                ]
                if names:
                    evidence = _evidence(root, tree, starters, solutions, names)
                    found.append(_Pair(starters, solutions, tuple(sorted(names)), evidence))
    clear = [
        pair
        for pair in found
        if not any(
            (other.starters, other.solutions) == (pair.solutions, pair.starters) and other.evidence > pair.evidence
            for other in found
        )
    ]
    return sorted(clear, key=lambda pair: (-len(pair.names), -pair.evidence, pair.starters, pair.solutions))


def _fits(starter: frozenset[str], solution: frozenset[str] | set[str], *, flat: bool = False) -> bool:
    replaced = {file.removesuffix(SUFFIX) + ".py" for file in solution if file.endswith(SUFFIX)}
    return bool(starter & replaced) or (not flat and bool(starter & solution))


def _evidence(
    root: Path, tree: Mapping[str, frozenset[str]], starters: str, solutions: str, names: Sequence[str]
) -> int:
    """How much says that the one is for students and the other is not."""
    evidence = 2 * _says(starters, _STARTER_WORDS) - 2 * _says(starters, _SOLUTION_WORDS)
    evidence += 2 * _says(solutions, _SOLUTION_WORDS) - 2 * _says(solutions, _STARTER_WORDS)
    for name in names:
        one = {file: _todos(root / starters / name / file) for file in tree[f"{starters}/{name}"]}
        there = tree.get(f"{solutions}/{name}", frozenset()) | tree[solutions]
        evidence += 4 * any(file.endswith(SUFFIX) for file in there)
        other = [_todos(root / folder / file) for folder in (solutions, f"{solutions}/{name}") for file in there]
        evidence += (sum(one.values()) > sum(other)) - (sum(one.values()) < sum(other))
    return evidence


def _todos(path: Path) -> int:
    if path.suffix not in (".py", ".ipynb") or not path.is_file():
        return 0
    return len(_TODO.findall(_text(path)))


def _text(path: Path) -> str:
    """Nothing where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _says(name: str, words: Sequence[str]) -> bool:
    return any(re.match(rf"({'|'.join(words)})", part, re.I) for part in re.split(r"[/_.-]", name))


def _by_name(tree: Mapping[str, frozenset[str]], words: Sequence[str], usual: str, solutions: bool) -> list[str]:
    """Folders called so that hold a folder with code for each assignment; the usual one alone, where it is there."""
    holders = {_parent(name) for name, files in tree.items() if any(file.endswith((".py", ".ipynb")) for file in files)}
    if usual in holders:
        return [usual]
    if solutions:
        holders |= {name for name, files in tree.items() if any(file.endswith(SUFFIX) for file in files)}
    found = [name for name in sorted(holders - {"."}) if _says(PurePosixPath(name).name, words) and not _is_tests(name)]
    return [name for name in found if not any(name.startswith(f"{other}/") for other in found)]


def _internal_tests(
    root: Path, tree: Mapping[str, frozenset[str]], others: Sequence[str]
) -> tuple[str, str, Doubt | None]:
    """The folder, what it was found by, and the question where that is not clear."""
    plain = Config().internal_tests
    tests = {
        name: [root / name / file for file in files if _is_test(file)]
        for name, files in tree.items()
        if name != "." and any(map(_is_test, files)) and not _overlaps(name, others)
    }
    if not tests:
        return plain, "", None
    named = [name for name in tests if _says(name, _INTERNAL_WORDS)]
    telling = [name for name, files in tests.items() if any(_USES_GOLD.search(_text(file)) for file in files)]
    for found, why in ((named, "by its name"), (telling, "by its tests, which read gold")):
        common = _common(found)
        if common and not _overlaps(common, others) and not (set(tests) - set(found)) & _below(tests, common):
            return common, why, None
    common = _common(list(tests))
    if not common or _overlaps(common, others):
        return plain, "", None
    options = tuple({"internal-tests": name, "fixtures": f"{name}/fixtures"} for name in (f"{common}/internal", common))
    return f"{common}/internal", "", Doubt("tests", options, common)


def _common(names: Sequence[str]) -> str:
    """The nearest folder that all of them lie in, nothing where that is the root."""
    if not names:
        return ""
    common = os.path.commonpath(names)
    inner = re.match(rf".*?(?:^|/)(?:{'|'.join(_INTERNAL_WORDS)})[^/]*(?=/)", common)
    return common if not inner or "/" not in inner[0] else inner[0]


def _below(names: Mapping[str, object], folder: str) -> set[str]:
    return {name for name in names if name == folder or name.startswith(f"{folder}/")}


def _gold_folders(tree: Mapping[str, frozenset[str]], assignments: str) -> list[str]:
    """Folders with arrays in folders that are named after assignments."""
    names = {PurePosixPath(name).name for name in tree if _parent(name) == assignments}
    holders = [
        _parent(name)
        for name, files in tree.items()
        if PurePosixPath(name).name in names and any(file.endswith(_GOLD) for file in files)
    ]
    return sorted(set(holders) - {"."})


def _notes(tree: Mapping[str, frozenset[str]], values: Mapping[str, str], known: bool) -> Iterator[Note]:
    own = [
        name
        for name, files in tree.items()
        if any(file.endswith(SUFFIX) and file.removesuffix(SUFFIX) + ".py" in files for file in files)
        or any(f"{name}/{word}" in tree and name != "." for word in ("solution", "solutions"))
    ]
    mixed = [name for name in own if not _overlap(name, values["solutions"])]
    if mixed:
        yield Note("solution-inside", tuple(mixed))
    elif not known:
        loose = [
            name
            for name, files in tree.items()
            if "/" not in name and name != "." and any(file.endswith(".py") for file in files)
            if re.match(r"(hw|homework|assignment|lab|pset|exercise|week|project)[-_ ]?\d", name, re.I)
        ]
        if loose:
            yield Note("at-the-root", tuple(loose))


def _is_test(file: str) -> bool:
    return file.endswith(".py") and (file.startswith("test_") or file.endswith("_test.py"))


def _is_tests(name: str) -> bool:
    return any(part in ("test", "tests", "fixtures") for part in PurePosixPath(name).parts)


def _parent(name: str) -> str:
    return PurePosixPath(name).parent.as_posix() if name != "." else ""


def _overlap(one: str, other: str) -> bool:
    first, second = PurePosixPath(one), PurePosixPath(other)
    return first.is_relative_to(second) or second.is_relative_to(first)


def _overlaps(name: str, others: Sequence[str]) -> bool:
    return any(_overlap(name, other) for other in others)
