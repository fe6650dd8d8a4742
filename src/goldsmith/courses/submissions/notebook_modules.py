"""Which of the starter's files a submitted notebook stands for."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from goldsmith.courses.layout.layout import Assignment
from goldsmith.courses.layout.solutions import CourseFile, defined_in, module_of, starter_module
from goldsmith.courses.notebooks.convert import SUFFIX, is_notebook_file
from goldsmith.courses.submissions.file_choice import is_as_given, parts_to_write, stands_for
from goldsmith.errors.check import NothingToCheck
from goldsmith.errors.notebooks import BadNotebook
from goldsmith.targets.target import NotebookModule, Placement


def with_modules(
    assignment: Assignment, name: str, placed: Sequence[Placement], wanted: Sequence[str]
) -> tuple[list[Placement], list[str], list[str]]:
    """Put notebooks in the place of the starter's files that they stand for; return notes, and what was left in favour
    of another file, too.

    A notebook called like one of the `wanted` files stands for it. If there is one other, whatever it is called, it
    stands for every wanted file that was not submitted, or not changed, and of which it defines something. A
    notebook next to such files that defines nothing of them is one that a course hands out to run them: it is left.
    A notebook counts only where such a file would lie, or at the top: further down it may be somebody else's.
    """
    notebooks = [item for item in placed if item.target.suffix != ".py" and is_notebook_file(item.source)]
    files = {item.target.as_posix(): item for item in placed if item not in notebooks}
    for file in wanted:
        if file in files and is_notebook_file(files[file].source):  # a script that jupytext wrote
            files[file] = _module(assignment, files[file], file)
    brought = {file for file, item in files.items() if file in wanted and not is_as_given(assignment, item, file)}
    places = {Path(), *(Path(file).parent for file in wanted)}
    others, elsewhere, notes, left_out = list[Placement](), list[Placement](), list[str](), list[str]()
    for item in sorted(notebooks, key=lambda item: _rank(assignment, item, wanted)):
        module = _module_named(item, wanted)
        if not module:
            (others if item.target.parent in places else elsewhere).append(item)
        elif module in brought or (module in files and not _adds_to(assignment, item, module)):
            left_out.append(f"{item.target} was not used: {_name_of(files[module])} was submitted, too")
        else:
            files[module] = _module(assignment, item, module)
            brought.add(module)
    is_alone = not any(file in files for file in wanted)
    left = {file: names for file in wanted if file not in brought and (names := parts_to_write(assignment, file))}
    best = next(iter(left), next(iter(wanted), "solution.py"))
    if len(others) == 1 and left:
        defined = _new_in(assignment, others[0], is_alone=is_alone)
        fitting = [file for file, names in left.items() if names.intersection(defined)]
        for file in fitting or list(left)[: is_alone and len(left) == 1]:
            files[file] = _module(assignment, others[0], file)
            brought.add(file)
    elif others and is_alone:
        problem = f"it has {len(others)} notebooks, and none is called {Path(best).with_suffix(SUFFIX)}"
        raise NothingToCheck(name, problem, wanted)
    elif elsewhere and is_alone:
        raise NothingToCheck(name, f"its notebook {elsewhere[0].target} is not where {best} would be", wanted)
    modules = [item for item in files.values() if item.target.suffix == ".py" and item.target.as_posix() in wanted]
    notes += _notes(modules)
    used = {item.source for item in files.values()}
    unused = [item for item in (*others, *elsewhere) if item.source not in used]
    for item in unused:
        file = next((file for file in wanted if file in files and _adds_to(assignment, item, file)), "")
        left_out += [f"{item.target} was not used: {_name_of(files[file])} was submitted, too"] if file else []
    return [*files.values(), *unused], notes, left_out


def _module_named(item: Placement, wanted: Sequence[str]) -> str:
    """Return the wanted file that a notebook is by its name; "" if it is none."""
    module = module_of(item.target).as_posix()
    return module if module in wanted else stands_for(item.target.with_suffix(".py"), wanted)


def _rank(assignment: Assignment, item: Placement, wanted: Sequence[str]) -> tuple[bool, bool]:
    """Order notebooks for one place: those in which something is written first, then the one with the plain name."""
    module = _module_named(item, wanted)
    is_plain = module_of(item.target).as_posix() == module and not item.target.stem.endswith("_solution")
    return bool(module) and not _adds_to(assignment, item, module), not is_plain


def _name_of(item: Placement) -> str:
    """Return what a file was submitted as."""
    return item.source.name if item.source.suffix == SUFFIX else item.target.as_posix()


def _module(assignment: Assignment, item: Placement, file: str) -> Placement:
    starter = starter_module(assignment, Path(file))
    return CourseFile(item.source, Path(file), defined_in(starter) if starter else ())


def _adds_to(assignment: Assignment, item: Placement, file: str) -> bool:
    """Say whether a notebook defines something that students write in a file."""
    if is_as_given(assignment, CourseFile(item.source, Path(file)), file):
        return False
    return not parts_to_write(assignment, file).isdisjoint(_new_in(assignment, item, is_alone=False))


def _new_in(assignment: Assignment, item: Placement, *, is_alone: bool) -> Collection[str]:
    """Return what a notebook defines; nothing if the starter has it there with the same definitions. One that cannot be
    read is only a mistake if nothing else was submitted."""
    try:
        module = _converted(item.source)
    except BadNotebook:
        if is_alone:
            raise
        return ()
    with contextlib.suppress(BadNotebook):
        given = _converted(assignment.starter / item.target)
        if module and given and module.source == given.source:
            return ()
    return module.defines if module else ()


def _converted(file: Path) -> NotebookModule | None:
    return CourseFile(file, Path("module.py")).notebook() if file.is_file() else None


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
