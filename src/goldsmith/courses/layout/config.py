"""Read `goldsmith.toml`, or `[tool.goldsmith]` of `pyproject.toml`, into a typed, checked `Config`."""

from __future__ import annotations

import contextlib
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any, Literal

import msgspec

from goldsmith.courses.layout.command_config import GradeConfig, GuardConfig, HandoutConfig, RigorConfig
from goldsmith.errors.course import BadConfig
from goldsmith.source_code.points import MOST_POINTS, are_points
from goldsmith.targets.target import CONFIG_FILE, PROJECT_FILE


class ItemConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """A rubric item with more than points: what must be correct before it counts, and whether a partly correct case
    earns a share."""

    points: float
    """What it is worth."""
    needs: tuple[str, ...] = ()
    """Parts or cases that must be right before it counts, with all that they need in turn."""
    partial: bool = False
    """Whether a case that differs earns the share of its recorded values that agree."""


class RubricConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """The points of cases and parts; one point for each case by default."""

    cases: dict[str, float | ItemConfig] = {}
    """Cases of the recipe, each with its points, or with a table of an item."""
    parts: dict[str, float | ItemConfig] = {}
    """Classes and functions of the assignment, in the same way."""
    provided_changed: float = 1.0
    """The share of a case's points that is earned when all is right but for provided code that was changed."""
    own_dtype: float = 0.0
    """The share of its points that is earned by what agrees in its own dtype and does not run in float64."""
    inconclusive: float = 0.0
    """The share of its points that is earned where rounding decides, so that right and wrong cannot be told apart."""


class AssignmentConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Settings of one assignment; everything has a sensible default."""

    folder: str = ""
    """Where its starter is, if not in `<assignments>/<name>`; `.` where all of the repository is this one
    assignment."""
    solution: str = ""
    """Where its solution is, if not in `<solutions>/<name>`, as when starter and solution are side by side. No
    student gets that folder."""
    title: str | None = None
    """What it is called in menus and summaries; else made from its name."""
    description: str | None = None
    """One line next to the title in menus."""
    allow_drift: dict[str, str] = {}
    """Differences between starter and solution that are meant, each with its reason."""
    silence: dict[str, str] = {}
    """Advice that does not apply, each with its reason."""
    removes: tuple[str, ...] = ()
    """Files of the starter that are not there once the solution is in place."""
    tests: tuple[str, ...] = ()
    """Its internal tests, as files, folders or patterns; else they are found by name."""
    shared: tuple[str, ...] = ()
    """Files, folders or patterns of the course that submissions to it need besides its folder and what its recipe
    reads."""
    forbid: tuple[str, ...] = ()
    """Ready-made parts that submissions to it must not use, such as `torch.nn.MultiheadAttention`: staff are told where
    one is used, and the student is, too."""
    forbid_costs: float = 0.0
    """Points that using one costs, once, where it stands in the code; 0 is only a mark that it needs review."""
    overwriting: Literal["note", "differs"] = "note"
    """What it is when a submission overwrites inputs that the solution leaves alone: a note, or a difference."""
    survivors: dict[str, str] = {}
    """Mutants that the gold may pass, each with its reason."""
    handout: HandoutConfig = HandoutConfig()
    """What the kit has that students get to check themselves."""
    rubric: RubricConfig = RubricConfig()
    """What its cases and parts are worth in `goldsmith grade`; without one, a point for each case."""


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Settings of the course: where things are, and how recipes are run."""

    assignments: str = "src/assignments"
    """The folder of starters, one folder an assignment; `.` where they are at the root of the course."""
    solutions: str = "private/solutions"
    """The folder of solutions, one folder an assignment, or all of it where the course is one assignment."""
    internal_tests: str = "tests/internal"
    """The folder of tests that students do not get."""
    fixtures: str = "tests/internal/fixtures"
    """The folder of the gold."""
    recipe: str = "generate_fixtures.py"
    """The recipe's name, in the assignment's folder; one next to the solution wins and stays private."""
    adapter: str = "adapt_submission.py"
    """The adapter's name, next to the recipe: what may differ between submissions."""
    shared: tuple[str, ...] = ()
    """Files, folders or patterns, such as `src/common` or `data/*.npz`, that submissions need besides the assignment's
    folder and what its recipe reads. Secrets, solutions, gold, internal tests and grades they never get."""
    exclude: tuple[str, ...] = ()
    """Paths or patterns that private copies leave out, such as `data/raw`."""
    seed: int = 42
    """What every random source starts from."""
    threads: int = 1
    """How many threads a recipe's process has."""
    timeout: float = 600.0
    """Seconds of processor time that a recipe, or the internal tests of one assignment, may take."""
    case_timeout: float = 60.0
    """Seconds of processor time that one case of a submission may take in `goldsmith check` and `grade`."""
    sketch_traces_above: int = 0
    """Bytes; of larger traces gold keeps sketches in place of tensors. With 0 it keeps all tensors."""
    calibrate: bool = True
    """Whether tolerances are measured."""
    stand_ins: tuple[str, ...] = ()
    """Packages that submissions import and grading does not need; where one is missing, an inert module takes its
    place. Those of notebooks (`google.colab`, `IPython`, `ipywidgets`, `tqdm`) always are among them."""
    forbid: tuple[str, ...] = ()
    """What no assignment's submissions may use; see `forbid` of an assignment."""
    packages: tuple[str, ...] = ()
    """Installed packages, by the names they are imported by, that submissions may import although they came from a
    folder, such as an editable install; those from a package index they may import anyway."""
    grade: GradeConfig = GradeConfig()
    """What the sandbox of `goldsmith grade` lets in."""
    guard: GuardConfig = GuardConfig()
    """What `goldsmith guard` looks for."""
    rigor: RigorConfig = RigorConfig()
    """What `goldsmith rigor` tries."""
    assignment: dict[str, AssignmentConfig] = {}
    """Settings of one assignment, by its name."""


_FOLDERS = ("assignments", "solutions", "internal_tests", "fixtures")
ROOT = "."
"""The course's own root, as the folder of assignments or of one assignment."""


def read_config(root: Path) -> Config | None:
    """Read the configuration at `root`; return None if the folder has none."""
    own = root / CONFIG_FILE
    if own.is_file():
        return _convert(own, _parse(own), prefix="")
    project = root / PROJECT_FILE
    if project.is_file():
        tools = _parse(project).get("tool")
        if isinstance(tools, dict) and "goldsmith" in tools:
            return _convert(project, tools["goldsmith"], prefix="tool.goldsmith")
    return None


def project_name(root: Path, default: str = "assignment") -> str:
    """Return the project's name in pyproject.toml or setup.cfg at `root`, or `default`."""
    from configparser import ConfigParser, Error

    name, parser = default, ConfigParser(interpolation=None)
    with contextlib.suppress(OSError, ValueError, KeyError, Error):
        parser.read_string((root / "setup.cfg").read_text(encoding="utf-8"))
        name = parser["metadata"]["name"]
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        name = str(tomllib.loads((root / PROJECT_FILE).read_text(encoding="utf-8"))["project"]["name"])
    return re.sub(r"[^\w.-]", "-", name.strip()).lstrip("._-") or "assignment"


def _parse(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
        line = int(found[1]) if found else None
        problem = re.sub(r" \(at .*\)$", "", str(error))
        key = _key_on_line(file, line) if line else None
        raise BadConfig(file, f"not valid TOML: {problem}", key=key, line=line) from None
    except (OSError, UnicodeDecodeError) as error:
        raise BadConfig(file, f"cannot be read: {error}") from None


def _convert(file: Path, table: dict[str, Any], prefix: str) -> Config:
    try:
        config = msgspec.convert(table, Config)
    except msgspec.ValidationError as error:
        message = str(error)
        unknown = re.search(r"unknown field `([^`]+)`", message)
        path = re.search(r" - at `\$\.?([^`]*)`", message)
        keys = re.findall(r"\[\.\.\.\]|[^.\[\]]+", path[1]) if path else []
        if unknown:
            from goldsmith.foundation.wording import nearest

            near = nearest(unknown[1], _table(keys).__struct_encode_fields__)
            problem = "there is no such setting" + (f"; did you mean `{near[0]}`?" if near else "")
            keys.append(unknown[1])
        else:
            problem = re.sub(r" - at .*$", "", message)
            problem = problem[0].lower() + problem[1:]
        line, key = _locate(file, prefix, keys)
        raise BadConfig(file, problem, key=key, line=line) from None
    _check(file, config, prefix)
    return config


def _table(keys: list[str]) -> type[msgspec.Struct]:
    """Return the structure of the table that `keys` lead to."""
    if keys[:1] == ["assignment"] and keys[2:3] == ["rubric"]:
        return RubricConfig if len(keys) == 3 else ItemConfig
    tables: dict[str, type[msgspec.Struct]] = {
        "assignment": AssignmentConfig,
        "grade": GradeConfig,
        "guard": GuardConfig,
        "rigor": RigorConfig,
    }
    return tables.get(keys[0] if keys else "", Config)


def bad_setting(root: Path, keys: list[str], problem: str) -> BadConfig:
    """Make an error about a setting of the course at `root`, for checks that need more than its type."""
    own = (root / CONFIG_FILE).is_file()
    file = root / (CONFIG_FILE if own else PROJECT_FILE)
    line, key = _locate(file, "" if own else "tool.goldsmith", keys) if file.is_file() else (None, ".".join(keys))
    return BadConfig(file, problem, key=key, line=line)


def _check(file: Path, config: Config, prefix: str) -> None:
    def refuse(key: str, problem: str) -> None:
        name = key.replace("_", "-")
        raise BadConfig(file, problem, key=name, line=_locate(file, prefix, [name])[0])

    for key in _FOLDERS:
        path = PurePosixPath(getattr(config, key))
        if path.is_absolute() or ".." in path.parts or not (path.parts or key == "assignments"):
            refuse(key, f"{str(path)!r} must be a folder inside the course, relative to its root")
    if PurePosixPath(config.recipe).name != config.recipe or not config.recipe.endswith(".py"):
        refuse("recipe", f"{config.recipe!r} must be the bare name of a .py file")
    at_the_root = PurePosixPath(config.assignments) == PurePosixPath(ROOT)
    for other in ("solutions",) if at_the_root else ("assignments", "solutions"):
        if _overlap(config.fixtures, getattr(config, other)):
            refuse("fixtures", f"{config.fixtures!r} and {other} ({getattr(config, other)!r}) overlap")
    if not at_the_root and _overlap(config.assignments, config.solutions):
        refuse("solutions", f"{config.solutions!r} and assignments ({config.assignments!r}) overlap")
    for keys, problem in _folder_problems(config):
        line, key = _locate(file, prefix, keys)
        raise BadConfig(file, problem, key=key, line=line)
    for name, assignment in config.assignment.items():
        for key, reasons in (
            ("allow-drift", assignment.allow_drift),
            ("silence", assignment.silence),
            ("survivors", assignment.survivors),
        ):
            for part, reason in reasons.items():
                if not reason.strip():
                    raise BadConfig(file, "needs its reason as text", key=f"assignment.{name}.{key}.{part}")
        for path in map(PurePosixPath, assignment.removes):
            if path.is_absolute() or ".." in path.parts or not path.parts:
                problem = f"{str(path)!r} must be a file of the starter, relative to its folder"
                raise BadConfig(file, problem, key=f"assignment.{name}.removes")
        for setting, paths in (("tests", assignment.tests), ("shared", assignment.shared)):
            for outside in filter(_leads_out, paths):
                raise BadConfig(file, _INSIDE.format(outside), key=f"assignment.{name}.{setting}")
        for forbidden in filter(_is_no_name, assignment.forbid):
            raise BadConfig(file, _NAME.format(forbidden), key=f"assignment.{name}.forbid")
        if not are_points(assignment.forbid_costs):
            problem = f"points are a number from 0 to {MOST_POINTS}, not {assignment.forbid_costs:g}"
            raise BadConfig(file, problem, key=f"assignment.{name}.forbid-costs")
        for keys, problem in _rubric_problems(assignment.rubric):
            line, key = _locate(file, prefix, ["assignment", name, "rubric", *keys])
            raise BadConfig(file, problem, key=key, line=line)
    for outside in filter(_leads_out, config.shared):
        refuse("shared", _INSIDE.format(outside))
    for forbidden in filter(_is_no_name, config.forbid):
        refuse("forbid", _NAME.format(forbidden))
    for package in config.packages:
        if not package.isidentifier():
            refuse("packages", f"{package!r} must be a name that can be imported, such as `coursetools`")
    for pattern, reason in config.guard.allow.items():
        if not reason.strip():
            raise BadConfig(file, "needs its reason as text", key=f"guard.allow.{pattern}")
    if not 0 < config.guard.threshold <= 1:
        raise BadConfig(file, "must be more than 0 and at most 1", key="guard.threshold")
    own = PurePosixPath(config.rigor.operators)
    if own.is_absolute() or ".." in own.parts:
        raise BadConfig(file, f"{str(own)!r} must be a file in the course, relative to its root", key="rigor.operators")
    if config.timeout <= 0:
        refuse("timeout", "must be more than 0 seconds")
    if config.threads < 1:
        refuse("threads", "must be at least 1")
    if not 0 <= config.seed < 2**32:
        refuse("seed", "must be between 0 and 4294967295")


_INSIDE = "{!r} must be a file, folder or pattern inside the course, relative to its root"


_NAME = "{!r} must be a full name that can be imported, such as `torch.nn.MultiheadAttention`"


def _is_no_name(name: str) -> bool:
    return not all(part.isidentifier() for part in name.split("."))


def _leads_out(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return PurePosixPath(path).is_absolute() or ".." in parts or not parts


def _folder_problems(config: Config) -> Iterator[tuple[list[str], str]]:
    """Yield problems with the folders that assignments declare."""
    declared = {name: item.folder for name, item in config.assignment.items() if item.folder}
    yield from _solution_problems(config)
    for name, folder in declared.items():
        keys, path = ["assignment", name, "folder"], PurePosixPath(folder)
        if path.is_absolute() or ".." in path.parts:
            yield keys, f"{folder!r} must be a folder inside the course, relative to its root"
        for private in (config.solutions, config.fixtures, config.internal_tests):
            if path.is_relative_to(private):
                yield keys, f"{folder!r} lies in {private!r}, which students do not get"
        for other, its in declared.items():
            if other != name and path.is_relative_to(its):
                yield keys, f"{folder!r} lies in {its!r}, which is the folder of {other}"


def _solution_problems(config: Config) -> Iterator[tuple[list[str], str]]:
    """Yield problems with the solution folders that assignments declare: none may contain what students get."""
    for name, item in ((name, item) for name, item in config.assignment.items() if item.solution):
        keys, path = ["assignment", name, "solution"], PurePosixPath(item.solution)
        if path.is_absolute() or ".." in path.parts or not path.parts:
            yield keys, f"{item.solution!r} must be a folder inside the course, relative to its root"
        declared = {other.folder for other in config.assignment.values()} - {"", "."}
        starters = declared | {item.folder or f"{config.assignments}/{name}"} - {"."}
        public = {folder: f"{folder!r}, which students get," for folder in sorted(starters)}
        words = public | {config.fixtures: f"fixtures ({config.fixtures!r})"}
        yield from ((keys, f"{item.solution!r} and {words[f]} overlap") for f in words if _overlap(item.solution, f))


def _rubric_problems(rubric: RubricConfig) -> Iterator[tuple[list[str], str]]:
    if not 0 <= rubric.provided_changed <= 1:
        yield ["provided-changed"], "must be a share of a case's points, from 0 to 1"
    if not 0 <= rubric.own_dtype <= 1:
        yield ["own-dtype"], "must be a share of an item's points, from 0 to 1"
    if not 0 <= rubric.inconclusive <= 1:
        yield ["inconclusive"], "must be a share of an item's points, from 0 to 1"
    for table, items in (("cases", rubric.cases), ("parts", rubric.parts)):
        for name, item in items.items():
            points = item.points if isinstance(item, ItemConfig) else item
            if not are_points(points):
                yield [table, name], f"points are a number from 0 to {MOST_POINTS}, not {points:g}"
            if table == "parts" and isinstance(item, ItemConfig) and item.partial:
                yield [table, name, "partial"], "only a case has several recorded values of which some may agree"


def _overlap(one: str, other: str) -> bool:
    first, second = PurePosixPath(one), PurePosixPath(other)
    return first.is_relative_to(second) or second.is_relative_to(first)


def _locate(file: Path, prefix: str, keys: list[str]) -> tuple[int | None, str]:
    """Find the line where the last of `keys` is set, and its full name there; `[...]` in `keys` stands for any.

    TOML's parser does not keep line numbers, so they are searched for.
    """
    above = [part for part in prefix.split(".") if part]
    wanted = above + keys
    table: list[str] = []
    best: tuple[int | None, str] = (None, ".".join(keys))
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        header = re.match(r"\s*\[+\s*([^\]]+?)\s*\]+", line)
        setting = re.match(r"\s*([\w.\-\"']+)\s*=", line)
        if header:
            path = table = _parts(header[1])
        elif setting:
            path = table + _parts(setting[1])
        else:
            continue
        fits = len(path) <= len(wanted) and all(b in (a, "[...]") for a, b in zip(path, wanted, strict=False))
        if fits and len(path) > len(above):
            best = number, ".".join(path[len(above) :] + keys[len(path) - len(above) :])
            if setting:
                break
    return best


def _parts(dotted: str) -> list[str]:
    return [part.strip().strip("\"'") for part in dotted.split(".")]


def _key_on_line(file: Path, line: int) -> str | None:
    lines = file.read_text(encoding="utf-8").splitlines()
    for text in reversed(lines[:line]):
        setting = re.match(r"\s*([\w.\-\"']+)\s*=?", text)
        if setting:
            return setting[1].strip("\"'")
    return None
