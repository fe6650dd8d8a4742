"""Which of the starter's files a submitted notebook stands for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from goldsmith.course.layout import Assignment
from goldsmith.course.solutions import Placement, defined_in, module_of, starter_module
from goldsmith.course.starter_diff import written_by_students
from goldsmith.course.starter_modules import read_starter
from goldsmith.errors.check import NothingToCheck
from goldsmith.notebooks.convert import SUFFIX, is_notebook_file


def with_modules(
    assignment: Assignment, name: str, placed: Sequence[Placement], wanted: Sequence[str]
) -> tuple[list[Placement], list[str]]:
    """Put notebooks in the place of the starter's files that they stand for; return notes, too.

    A notebook called like one of the `wanted` files stands for it. A notebook that is alone, whatever it is called,
    stands for every wanted file that was not submitted, or not changed, and of which it defines something.
    """
    notebooks = [item for item in placed if item.target.suffix != ".py" and is_notebook_file(item.source)]
    files = {item.target.as_posix(): item for item in placed if item not in notebooks}
    for file in wanted:
        if file in files and is_notebook_file(files[file].source):  # a script that jupytext wrote
            files[file] = _module(assignment, files[file], file)
    brought = {file for file, item in files.items() if file in wanted and not _is_untouched(assignment, item)}
    others, notes = [], list[str]()
    for item in notebooks:
        module = module_of(item.target).as_posix()
        if module not in wanted:
            others.append(item)
        elif module in brought:
            notes.append(f"{item.target} was not used: {module} was submitted, too")
        else:
            files[module] = _module(assignment, item, module)
            brought.add(module)
    left = {file: names for file in wanted if file not in brought and (names := _to_write(assignment, file))}
    if len(others) == 1 and left:
        defined = Placement(others[0].source, Path("module.py")).notebook()
        fitting = [file for file, names in left.items() if defined and names & defined.defines]
        for file in fitting or list(left)[: len(left) == 1]:
            files[file] = _module(assignment, others[0], file)
            brought.add(file)
    elif others and not brought:
        best = next(iter(left), next(iter(wanted), "solution.py"))
        problem = f"it has {len(others)} notebooks, and none is called {Path(best).with_suffix(SUFFIX)}"
        raise NothingToCheck(name, problem, wanted)
    modules = [item for item in files.values() if item.target.suffix == ".py" and item.target.as_posix() in wanted]
    notes += _notes(modules)
    used = {item.source for item in files.values()}
    return [*files.values(), *(item for item in others if item.source not in used)], notes


def _module(assignment: Assignment, item: Placement, file: str) -> Placement:
    starter = starter_module(assignment, Path(file))
    return Placement(item.source, Path(file), defined_in(starter) if starter else ())


def _to_write(assignment: Assignment, file: str) -> set[str]:
    """Return the classes and functions of a file in which students write something."""
    starter = read_starter(assignment, Path(file)) or b""
    return {name.partition(".")[0] for name in written_by_students(starter)}


def _is_untouched(assignment: Assignment, item: Placement) -> bool:
    starter = assignment.starter / item.target
    if not starter.is_file() or starter.stat().st_size != item.source.stat().st_size:
        return False
    return starter.read_bytes() == item.source.read_bytes()


def _notes(modules: Iterable[Placement]) -> list[str]:
    """Say what each notebook was taken for, and what is to be known about it, once."""
    found: dict[str, list[str]] = {}
    told: dict[str, None] = {}
    for item in modules:
        module = item.notebook()
        if module is not None:
            found.setdefault(item.source.name, []).append(item.target.as_posix())
            told |= dict.fromkeys(f"{item.source.name}: {note}" for note in module.notes)
    taken = [
        f"{source} was taken for {' and '.join(files)}: its definitions count, and its other cells were not run"
        for source, files in found.items()
    ]
    return [*taken, *told]
