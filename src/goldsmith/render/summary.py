"""Step 9, the summary: a box with colours and marks on a terminal, the same facts as plain text elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from goldsmith.generate.outcome import Outcome
from goldsmith.gold.advice import Advice
from goldsmith.gold.checks import Check
from goldsmith.gold.files import REFERENCE_SUFFIX, TRACE_SUFFIX
from goldsmith.render.console import print_line, print_table

_BOX_CELLS = 62
_EXTRAS = (TRACE_SUFFIX, REFERENCE_SUFFIX)
_TITLES = {
    "published": "Gold published",
    "unchanged": "Gold up to date",
    "refused": "Gold refused",
    "failed": "Gold not made",
    "stale": "Gold stale",
    "injected": "Gold not made",
}
_COLOURS = {
    "published": "green",
    "unchanged": "green",
    "refused": "red",
    "failed": "red",
    "stale": "yellow",
    "injected": "red",
}
_NEXT = {
    "cat ": "Look at the README",
    "goldsmith.load(": "Use the gold in tests",
    "goldsmith test ": "Run the internal tests",
    "goldsmith rigor ": "Measure the gold",
    "goldsmith check ": "Check the code after a change",
}
"""Titles of next steps, by how their commands begin."""
_FILES = {
    "published": "Gold generated in",
    "unchanged": "Gold unchanged in",
    "refused": "Gold refused, nothing written to",
    "failed": "Gold not published, nothing written to",
    "injected": "Gold not made, nothing written to",
    "stale": "Gold that would change, nothing written to",
}


class Summary:
    """Prints outcomes to one console, in a style that it can show."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._rich = console.is_terminal

    def show(self, outcome: Outcome) -> None:
        self._title(outcome)
        if outcome.files:
            self._files(outcome)
        if outcome.checks:
            self.show_checks(outcome.checks)
        self._line()
        untouched = "byte for byte as before (checked)" if outcome.reset else "CHANGED during the run"
        what = "Reset to starter" if outcome.kind == "assignment" else "Recipe"
        self._line(f"{what}: {self._mark(outcome.reset)} {untouched}")
        for note in outcome.notes:
            self._line(f"Note: {note}.", "yellow")
        if outcome.advice:
            self.show_advice(outcome.advice)
        if outcome.next:
            self._next(outcome.next)
        if outcome.error is not None:
            self._error(outcome)
        self._line()
        self._line(_last_line(outcome), f"bold {_COLOURS.get(outcome.outcome, 'red')}")

    def show_table(self, outcomes: Sequence[Outcome]) -> None:
        """Show several assignments in a table, after their summaries."""
        rows = [
            (
                item.name,
                Text(item.outcome, _COLOURS.get(item.outcome, "red")),
                f"{sum(check.ok for check in item.checks)} of {len(item.checks)}" if item.checks else "-",
                str(len(item.files)) if item.files else "-",
                human_size(sum(file.size or 0 for file in item.files)) if item.files else "-",
                f"{item.seconds:.1f} s",
            )
            for item in outcomes
        ]
        self._line()
        headings = ("assignment", "outcome", "checks", "files", "size", "time")
        print_table(self._console, headings, rows, numbers=range(2, 6), texts=0)
        self._line()
        good = sum(item.ok for item in outcomes)
        bad = [item.name for item in outcomes if not item.ok]
        but = f"; not {', '.join(bad)}" if bad else ""
        text = f"{good} of {len(outcomes)} assignments have verified gold{but}."
        self._line(text, "bold green" if good == len(outcomes) else "bold red")

    def _title(self, outcome: Outcome) -> None:
        title = f"{_TITLES[outcome.outcome]}: {outcome.label}"
        if not self._rich:
            self._line(title)
            return
        colour = _COLOURS.get(outcome.outcome, "red")
        width = max(_BOX_CELLS, cell_len(title) + 4)
        gap = width - cell_len(title)
        self._line(f"╔{'═' * width}╗", colour)
        middle = Text(" " * (gap // 2) + title + " " * (gap - gap // 2), "bold")
        print_line(self._console, Text("║", colour), middle, Text("║", colour))
        self._line(f"╚{'═' * width}╝", colour)

    def _files(self, outcome: Outcome) -> None:
        """Show a row for each file; a case's trace and reference are in the row of its own file."""
        self._line()
        self._line(f"{_FILES[outcome.outcome]} {outcome.folder}/", "bold")
        sizes = {file.path.rpartition("/")[2]: file.size or 0 for file in outcome.files}
        width = max(len(name) for name in sizes if not name.endswith(_EXTRAS))
        for file in outcome.files:
            name = file.path.rpartition("/")[2]
            if name.endswith(_EXTRAS):
                continue
            stem = name.rpartition(".")[0]
            extras = [(suffix.split(".")[1], sizes.get(stem + suffix)) for suffix in _EXTRAS]
            extra = "".join(f"  + {what} {human_size(size):>8}" for what, size in extras if size)
            mark = self._file_mark(outcome, name, stem)
            self._line(f"  {mark} {name.ljust(width)}  {human_size(sizes[name]):>8}{extra}")

    def show_checks(self, checks: Sequence[Check], title: str = "Verification") -> None:
        """Show one line for each check, with every problem below it."""
        self._line()
        self._line(f"{title}:", "bold")
        width = max(len(check.title) for check in checks)
        for check in checks:
            mark = self._mark(check.ok, warned=check.outcome == "warned")
            if not check.problems:
                self._line(f"  {mark} {check.title.ljust(width)}  {check.detail}")
                continue
            self._line(f"  {mark} {check.title}", "red")
            for problem in check.problems[:5]:
                self._line(f"  {' ' * len(self._mark(False))} {problem}" if not self._rich else f"     {problem}")
            if len(check.problems) > 5:
                self._line(f"     and {len(check.problems) - 5} more")

    def show_advice(self, advice: Sequence[Advice]) -> None:
        """Show what would make the gold sharper, with the name that silences each."""
        self._line()
        self._line("Advice, to make the gold sharper:", "bold")
        for item in advice:
            self._line(f"  - {item.text} ({item.name})", "cyan")

    def _next(self, commands: Sequence[str]) -> None:
        self._line()
        self._line("Next steps:", "bold")
        titles = [next(title for start, title in _NEXT.items() if command.startswith(start)) for command in commands]
        width = max(len(title) for title in titles)
        for number, (title, command) in enumerate(zip(titles, commands, strict=True), start=1):
            self._line(f"  {number}. {title.ljust(width)}  {command}")

    def _error(self, outcome: Outcome) -> None:
        error = outcome.error
        if error is None:
            return
        if error.trace:
            self._line()
            self._line(
                f"Traceback, trimmed to the {'course' if outcome.kind == 'assignment' else 'project'}'s code:", "bold"
            )
            for line in error.trace:
                self._line(f"  {line}")
        if error.report:
            self._line()
            for line in error.report.splitlines():
                self._line(line)
        if error.prints.strip() and not error.problems:
            self._line()
            self._line("The recipe's last lines:", "bold")
            for line in error.prints.strip().splitlines()[-8:]:
                self._line(f"  | {line}")

    def _file_mark(self, outcome: Outcome, name: str, stem: str) -> str:
        """Return the mark for whether a file is fine, with those that belong to it; where stale gold was kept, for
        whether it would change."""
        if outcome.outcome != "stale":
            own = {name, *(stem + suffix for suffix in _EXTRAS)}
            return self._mark(all(file.ok for file in outcome.files if file.path.rpartition("/")[2] in own))
        if self._rich:
            return "🔄" if _would_change(outcome, stem) else "✅"
        return "would change" if _would_change(outcome, stem) else "same        "

    def _mark(self, ok: bool, *, warned: bool = False) -> str:
        if self._rich:
            return "❌" if not ok else "🟡" if warned else "✅"
        return "FAILED" if not ok else "warn  " if warned else "ok    "

    def _line(self, text: str = "", style: str = "") -> None:
        """Print a line: on a terminal, long lines wrap between words; in a log they stay whole."""
        print_line(self._console, Text(text, style=style), keep=not self._rich)


def _would_change(outcome: Outcome, stem: str) -> bool:
    """Return whether a file, or another of the same case, would change."""
    changes = {file.path.rpartition("/")[2]: file.change for file in outcome.files}
    return any(change != "same" for name, change in changes.items() if name.partition(".")[0] == stem.partition(".")[0])


def human_size(size: int) -> str:
    if size < 1000:
        return f"{size} B"
    return f"{size / 1e3:.1f} kB" if size < 10**6 else f"{size / 1e6:.1f} MB"


def _last_line(outcome: Outcome) -> str:
    if outcome.error is not None:
        message = outcome.error.message
        return message if message.startswith(outcome.name) else f"{outcome.name}: {message}"
    if not outcome.reset:
        what = "the starter or solution" if outcome.kind == "assignment" else "the recipe"
        return f"{outcome.name}: {what} changed during the run; look at it before you go on."
    if not outcome.checks:
        return f"{outcome.name}: fresh, nothing to do."
    what = "gold published" if outcome.outcome == "published" else "not a byte changed"
    warned = sum(check.outcome == "warned" for check in outcome.checks)
    checks = f"all {len(outcome.checks)} checks passed" + (f", {warned} with a warning" if warned else "")
    return f"{outcome.name}: {what}, {checks}, {outcome.seconds:.1f} s."
