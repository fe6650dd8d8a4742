"""Show a plan of `init` or `new`: each change as a difference, then all of them in a list; and make the structs for
JSON."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Literal, cast

import msgspec
from rich.console import Console
from rich.text import Text

from goldsmith.courses.layout.layout import Assignment, Course
from goldsmith.courses.layout.solutions import placements
from goldsmith.courses.scaffold.changes import Change, Plan
from goldsmith.courses.scaffold.init_plan import has_assignments
from goldsmith.courses.scaffold.layout_detection import Doubt, Layout, Note
from goldsmith.courses.scaffold.new_plan import KINDS, Kind
from goldsmith.errors.base import GoldsmithError
from goldsmith.errors.scaffold import OBSTACLES
from goldsmith.foundation.log_injection import say
from goldsmith.foundation.wording import count_of, some_of
from goldsmith.render.console import print_difference, print_line, print_table

FileOutcome = Literal["written", "left", "unchanged", "kept", "skipped", "by-hand"]

_SHOWN, _SHOWN_OF_SKILLS = 40, 6
_PARTS = {
    "settings": "where things are in this course",
    "marker": "pytest knows the marker `rigor`",
    "gitignore": "git ignores what goldsmith keeps on this machine, never the gold",
    "ci": "CI checks the gold, looks for visible solutions, and runs the internal tests",
    "hook": "blocks commits while a solution is in place, or that show one",
    "scripts": "--inject, --reset, --list and --verify-clean, for those who are used to them",
    "skills": "a skill for coding agents",
    "README.md": "what students read",
    "starter.py": "what students get; look for TODO",
    "recipe.py": "what the gold records",
    "solution.py": "the reference solution, for staff",
    "public.py": "tests that students run themselves",
    "internal.py": "tests against the gold, for staff",
}
_MOST_NAMES = 6
_REASONS = {
    "yours": "exists already, and is not as goldsmith would write it: it stays as it is",
    **OBSTACLES,
    "unsafe": "it cannot be added safely here",
    "no-repository": "this is not a git repository; run `git init`, then `goldsmith init` again",
    "not-the-top": "CI files belong in the root of the repository, {detail}",
    "other-ci": "this course has CI of another kind",
    "shared-hooks": "{detail} is outside this repository, and others may use it",
}
_NOTES = {
    "solution-inside": "{places}: starter and solution are in one folder, all of which students get; move each "
    "solution into a folder of its own below `solutions`.",
    "no-address": "{places} does not know where to install goldsmith from; write its git address after `GOLDSMITH:` "
    "there.",
    "gold-ignored": "git ignores all of {places}/, so the gold cannot be committed; remove that line from .gitignore.",
}
_STANDINGS = {
    "create": ("new", "green"),
    "extend": ("more in", "green"),
    "unchanged": ("there", "dim"),
    "kept": ("yours", "yellow"),
    "skipped": ("skipped", "yellow"),
    "by-hand": ("by hand", "yellow"),
}
_QUESTIONS = {
    "pair": "{about}: found in two places. Which one do students get?",
    "assignments": "Which folder holds the assignments?",
    "solutions": "Which folder holds the solutions?",
    "tests": "Do students get the tests in {about}/?",
}


class ExampleAssignment(msgspec.Struct, frozen=True, kw_only=True):
    """An assignment of the bundled course."""

    name: str
    """The assignment."""
    outcome: Literal["copied"] = "copied"
    """Always `copied`."""


class ScaffoldFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that `init` adds to a course, or `new` to an assignment."""

    name: str
    """Its path in the course."""
    outcome: FileOutcome
    """`written` now, `left` where it would be written and was not, `unchanged` where all is there, `kept` where it is
    your own, `skipped` where it makes no sense, `by-hand` where someone who knows the file should add to it."""
    part: str
    """What it belongs to, as `--without` takes it."""
    why: str
    """What it is for."""
    by_hand: str = ""
    """What to add there by hand; empty elsewhere."""
    difference: tuple[str, ...] = ()
    """What is new in it, as a difference."""


class NewAssignment(msgspec.Struct, frozen=True, kw_only=True):
    """An assignment that `new` makes."""

    name: str
    """The assignment."""
    outcome: Literal["made", "planned"]
    """`planned` with `--dry-run`."""
    kind: Kind
    """What it uses."""
    files: tuple[ScaffoldFile, ...]
    """Its files."""


class CourseLayout(msgspec.Struct, frozen=True, kw_only=True):
    """What `init` says about the course as a whole."""

    root: str
    """Its root."""
    found: tuple[str, ...]
    """What lies where, and by what it was found, a line each."""
    notes: tuple[str, ...]
    """What is worth knowing."""


def describe_layout(plan: Plan, course: Course, layout: Layout | None) -> CourseLayout:
    """Describe where things are in a course, and what is worth knowing about it."""
    notes = tuple(note_text(note) for note in plan.notes)
    return CourseLayout(root=str(plan.root), found=tuple(found_lines(course, layout)), notes=notes)


def show_layout(console: Console, layout: CourseLayout) -> None:
    """Show where things are in the course, before what would be added."""
    print_line(console, Text(f"The course in {layout.root}", "bold"), keep=True)
    for line in layout.found:
        print_line(console, f"  {line}")
    print_line(console)


def show_example(course: Course, folder: Path) -> None:
    """Show which assignments the copied example has, and what to run next."""
    say(f"Copied the example course to {folder} (a git repository with one commit):")
    for assignment in course.assignments():
        say(f"  {assignment.label}  {assignment.description}")
    say(f"\nNext: cd {folder} && goldsmith generate all")


def show_init_end(console: Console, plan: Plan, written: Collection[Change], *, dry_run: bool) -> None:
    """Show how much was written, and what to run next."""
    print_line(console)
    if dry_run and plan.pending:
        print_line(console, "Nothing was written: this was --dry-run.")
        return
    left = len(plan.pending) - len(written)
    whole = all(change.standing == "unchanged" for change in plan.changes)
    nothing = "Everything is there already" if whole else "Nothing to write"
    count = f"{count_of(len(written), 'file')} written" if written else nothing
    more = f", {left} left out" if left else ""
    print_line(console, Text(f"{count}{more}.", "bold green"))
    if not dry_run:
        command = "status" if has_assignments(plan.root) else "new NAME"
        print_line(console, Text(f"Next: goldsmith {command}", "bold"))


def show_new_assignment(console: Console, plan: Plan, name: str, options: str, *, dry_run: bool) -> None:
    """Show the files of a new assignment, or what they would be, and what to run next."""
    if dry_run:
        show_plan(console, plan, full=True)
        print_line(console)
        print_line(console, "Nothing was written: this was --dry-run.")
    else:
        print_table(console, (), [(shown_name(plan, change), why(change)) for change in plan.changes])
        print_line(console)
        print_line(console, Text(f"Next: goldsmith generate {name}{options}", "bold"))


def show_plan(console: Console, plan: Plan, *, differences: bool = True, full: bool = False) -> None:
    """Show what would be written, as differences, then all changes and notes in a list; `full` shortens nothing."""
    for change in plan.pending if differences else ():
        _show_difference(console, plan, change, full)
    rows = [(Text(*_STANDINGS[item.standing]), shown_name(plan, item), why(item)) for item in plan.changes]
    print_table(console, (), rows)
    for change in plan.changes:
        if change.standing == "by-hand":
            print_line(console)
            print_line(console, f"Add to {shown_name(plan, change)} by hand:", keep=True)
            for line in change.by_hand.splitlines():
                print_line(console, f"    {line}", keep=True)
    for note in plan.notes:
        print_line(console)
        print_line(console, Text(f"Note: {note_text(note)}", "yellow"))


def why(change: Change) -> str:
    """Say what the file is for, and why it is left alone, if it is."""
    reason = _REASONS[change.reason].format(detail=change.detail) if change.reason and not change.writes else ""
    return f"{_PARTS[change.part]} ({reason})" if reason and change.standing != "unchanged" else _PARTS[change.part]


def note_text(note: Note) -> str:
    return _NOTES[note.kind].format(places=", ".join(note.places))


def shown_name(plan: Plan, change: Change) -> str:
    path = change.path
    return (path.relative_to(plan.root) if path.is_relative_to(plan.root) else path).as_posix()


def scaffold_files(
    plan: Plan, written: Collection[Change] = (), *, differences: bool = True
) -> tuple[ScaffoldFile, ...]:
    """List each file and what became of it; `left` is what would have been written and was not."""
    return tuple(
        ScaffoldFile(
            name=shown_name(plan, change),
            outcome=cast(FileOutcome, "written" if change in written else "left" if change.writes else change.standing),
            part=change.part,
            why=why(change),
            by_hand=change.by_hand if change.standing == "by-hand" else "",
            difference=tuple(_difference(plan, change)) if change.writes and differences else (),
        )
        for change in plan.changes
    )


def doubt_words(doubt: Doubt) -> tuple[str, list[str]]:
    """Return the question, and the words for each answer."""
    question = _QUESTIONS[doubt.kind].format(about=doubt.about)
    if doubt.kind == "tests":
        inner, outer = (option["internal-tests"] for option in doubt.options)
        return question, [
            f"Yes  internal tests will go into {inner}/",
            f"No   those in {outer}/ are the internal tests",
        ]
    if doubt.kind == "pair":
        pairs = [(option["assignments"], option["solutions"]) for option in doubt.options]
        return question, [f"{starters}/, and {solutions}/ holds the solutions" for starters, solutions in pairs]
    return question, [f"{option[doubt.kind]}/" for option in doubt.options]


def doubt_problem(doubt: Doubt) -> tuple[str, list[str]]:
    """Say what is in doubt, and which options of `init` would decide it each way."""
    ways = [" ".join(f"--{key} {shlex.quote(value)}" for key, value in option.items()) for option in doubt.options]
    if doubt.kind == "pair":
        folders = list(dict.fromkeys(option["assignments"] for option in doubt.options))
        if len(folders) > 1:
            return f"{doubt.about} is in several places, and it is unclear which of them students get", ways
        return f"several folders hold what could be the solution of {doubt.about}", ways
    places = ", ".join(f"{option[doubt.kind]}/" for option in doubt.options)
    return f"the {doubt.kind} could be in any of {places}", ways


def found_lines(course: Course, layout: Layout | None) -> list[str]:
    """Say where things are, with the evidence: assignments, solutions, tests, and where gold will go."""
    config = course.config
    names = [item.name for item in course.assignments()]
    listed = some_of(names, _MOST_NAMES)
    answered = [item.name for item in course.assignments() if _has_solution(item)]
    found = layout.found if layout is not None else {}
    if course.whole_assignment:
        first = f"assignments: the whole repository is one, {course.whole_assignment} (1)"
    elif layout is not None and layout.beside:
        first = f"assignments: {_folders(item.starter for item in layout.beside)} ({len(names)}): {listed}"
    elif names:
        first = f"assignments: {_folder(config.assignments)} ({len(names)}): {listed}"
    else:
        first = f"assignments: none found yet; they go into {_folder(config.assignments)}"
    second = f"solutions: {_folder(config.solutions)} ({len(answered)})"
    if layout is not None and layout.beside:
        second = f"solutions: {_folders(item.solution for item in layout.beside)} ({len(answered)})"
    elif not answered:
        second = f"solutions: none found yet; they go into {_folder(config.solutions)}"
    lines = [_with_evidence(first, found.get("assignments", "")), _with_evidence(second, found.get("solutions", ""))]
    if layout is not None and layout.public_tests and layout.public_tests != config.internal_tests:
        lines.append(f"public tests: {_folder(layout.public_tests)}")
    tests = f"internal tests: {_folder(config.internal_tests)}"
    lines.append(_with_evidence(tests, found.get("internal-tests", "")))
    return [*lines, _with_evidence(f"gold will go to {_folder(config.fixtures)}", found.get("fixtures", ""))]


def _has_solution(assignment: Assignment) -> bool:
    try:
        return bool(placements(assignment))
    except GoldsmithError:
        return False


def _with_evidence(line: str, evidence: str) -> str:
    return f"{line}; {evidence}" if evidence else line


def _folder(name: str) -> str:
    return "the root of the course" if name == "." else f"{name}/"


def _folders(names: Iterable[str]) -> str:
    return some_of(map(_folder, names), _MOST_NAMES)


def kind_words() -> dict[str, str]:
    """Return the menu entry of each kind of new assignment."""
    width = max(len(label) for label, _ in KINDS.values())
    return {kind: f"{label.ljust(width)}  {description}" for kind, (label, description) in KINDS.items()}


def _show_difference(console: Console, plan: Plan, change: Change, full: bool) -> None:
    lines = _difference(plan, change)
    short = _SHOWN_OF_SKILLS if change.part == "skills" else _SHOWN
    most = len(lines) if full or change.standing == "extend" else short
    print_difference(console, lines, most)
    print_line(console)


def _difference(plan: Plan, change: Change) -> list[str]:
    name = shown_name(plan, change)
    before = "nothing yet" if change.before is None else name
    one, two = ((text or b"").decode("utf-8", "replace").splitlines() for text in (change.before, change.content))
    return [
        line for line in difflib.unified_diff(one, two, before, name, lineterm="") if change.before or line[:2] != "@@"
    ]
