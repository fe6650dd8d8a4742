"""A pytest plugin that writes every test's outcome into one JSON file; loaded with `-p` and its dotted name.

pytest's exit code says too little (a run in which all tests are skipped is a success), and its own report has no
markers. The file is written last; without it, pytest did not finish.

It also lists tests that the course's settings, a conftest.py or a plugin deselected, of which pytest gives at most the
number.
"""

from __future__ import annotations

import contextlib
import inspect
import itertools
import json
import os
import signal
from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from goldsmith.process.parent_watch import end_with_parent

_CATEGORY = "category"
_BUILT_IN = ("parametrize", "skip", "skipif", "xfail", "usefixtures", "filterwarnings", "tryfirst", "trylast")
_PLUGINS = ("timeout", "xdist_group", "flaky", "asyncio", "anyio", "trio", "order", "dependency", "repeat", "forked")
_NO_CATEGORY = {"rigor", "gold", *_BUILT_IN, *_PLUGINS}
_RANKS = ("passed", "xpassed", "xfailed", "skipped", "failed", "error")
_MAX_REASON_CHARS = 160
_OUTPUT = "goldsmith_collected"
_NARROWING = {"python_functions": ["test"], "python_classes": ["Test"]}
_TEST_FILES = ("test_*.py", "*_test.py")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("goldsmith")
    group.addoption("--gold-counts", metavar="FILE", help="Where to write what became of every test.")
    group.addoption("--gold-started", metavar="FILE", help="Where to write each test's name as it begins.")
    group.addoption("--gold-marked", metavar="A", help="Only tests whose `gold` marker names this assignment.")
    group.addoption("--gold-select", metavar="EXPR", default="", help="The -k that was asked for, whatever -k is now.")


def pytest_configure(config: pytest.Config) -> None:
    if config.option.gold_counts:
        config.pluginmanager.register(_Watch(config), "goldsmith-watch")
    if config.option.gold_counts and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Counter(config), "goldsmith-counter")
        if os.getpid() == os.getsid(0):
            end_with_parent(os.getppid(), _kill_group)  # tests must not run on after `kill -9` of the command


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add each test's categories to its properties, which reach workers and JUnit XML; select by the `gold` marker."""
    wanted = config.option.gold_marked
    if wanted:
        items[:] = [item for item in items if _names_assignment(item.iter_markers(), wanted)]
    for item in items:
        item.user_properties.extend((_CATEGORY, name) for name in _categories(item.iter_markers()))


def _names_assignment(marks: Iterable[pytest.Mark], wanted: str) -> bool:
    return any(mark.name == "gold" and wanted in mark.args for mark in marks)


def _categories(marks: Iterable[pytest.Mark]) -> list[str]:
    return [name for name in dict.fromkeys(mark.name for mark in marks) if name not in _NO_CATEGORY]


class _Watch:
    """Compares, in every process that collects, the tests before anything was deselected with those left at the end.

    `pytest_deselected` is not enough: a plugin that deselects tests need not call it.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._items: dict[str, tuple[pytest.Item, list[pytest.Mark]]] = {}
        self._modules: list[pytest.Module] = []
        self._broken: set[str] = set()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_pycollect_makemodule(self) -> Generator[None, Any, Any]:
        module = yield
        if isinstance(module, pytest.Module):
            self._modules.append(module)
        return module

    @pytest.hookimpl(tryfirst=True)
    def pytest_itemcollected(self, item: pytest.Item) -> None:
        self._items[item.nodeid] = (item, list(item.iter_markers()))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if not report.passed:
            self._broken.add(report.nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._config.pluginmanager.has_plugin("dsession"):
            return  # with xdist, each worker collects all tests and reports them
        found = {
            "deselected": [*self._deselected(session), *self._not_collected()],
            "unread": sorted(self._unread()),
            "unmarked": sum(self._is_unmarked(item) for item, _ in self._items.values()),
        }
        output = getattr(self._config, "workeroutput", None)
        counter = self._config.pluginmanager.get_plugin("goldsmith-counter")
        if output is not None:
            output[_OUTPUT] = json.dumps(found)
        elif counter is not None:
            counter.take(found)

    def _is_unmarked(self, item: pytest.Item) -> bool:
        return self._is_ours(item.iter_markers()) and item.get_closest_marker("rigor") is None

    def _is_ours(self, marks: Iterable[pytest.Mark]) -> bool:
        wanted = self._config.option.gold_marked
        return not wanted or _names_assignment(marks, wanted)

    def _deselected(self, session: pytest.Session) -> Iterator[dict[str, Any]]:
        """Yield tests that were collected, marked rigor then or now, chosen by our own -k, and yet not going to run."""
        left = {name for item in session.items for name in (id(item), item.nodeid)}
        by_option = tuple(self._config.option.deselect or ())
        for name, (item, before) in self._items.items():
            marks = [*before, *item.iter_markers()]
            if id(item) in left or name in left or not self._is_wanted(marks):
                continue
            if not _fits(item, self._config.option.gold_select):
                continue
            by = "--deselect" if by_option and name.startswith(by_option) else "a conftest.py or a plugin"
            file, line, _ = item.location
            yield _left_out(name, marks, f"deselected by {by}", file if line is None else f"{file}:{line + 1}")

    def _is_wanted(self, marks: Iterable[pytest.Mark]) -> bool:
        found = list(marks)
        return any(mark.name == "rigor" for mark in found) and self._is_ours(found)

    def _not_collected(self) -> Iterator[dict[str, Any]]:
        """Yield functions that are named like tests and marked rigor, and that pytest did not collect.

        Skip those of a file or class that is broken or skipped, which is reported already. With -k, yield none: what it
        says about them is not known.
        """
        if self._config.option.gold_select:
            return
        known = {name.partition("[")[0] for name in self._items}
        set_to = [
            f"{key} = {' '.join(self._config.getini(key))}"
            for key, usual in _NARROWING.items()
            if self._config.getini(key) != usual
        ]
        reason = f"not collected: pytest is set to {', '.join(set_to)}" if set_to else "pytest did not collect it"
        for module in self._modules:
            for name, marks, function in _functions(module):
                full = f"{module.nodeid}::{name}"
                if full in known or self._broken & {module.nodeid, full.rpartition("::")[0]}:
                    continue
                if self._is_wanted(marks):
                    code = getattr(inspect.unwrap(function), "__code__", function.__code__)
                    yield _left_out(full, marks, reason, f"{module.nodeid}:{code.co_firstlineno}")

    def _unread(self) -> Iterator[str]:
        """Yield test files in the given folders that pytest did not collect from."""
        read, root = {module.path.resolve() for module in self._modules}, self._config.rootpath
        for folder in (Path(root, name) for name in self._config.args):
            for file in {file for pattern in _TEST_FILES for file in folder.rglob(pattern)}:
                inside = file.relative_to(root) if file.is_relative_to(root) else file
                hidden = any(part[:1] == "." or part == "__pycache__" for part in inside.parts)
                if not hidden and file.resolve() not in read:
                    yield inside.as_posix()


def _left_out(name: str, marks: Iterable[pytest.Mark], reason: str, where: str) -> dict[str, Any]:
    told = {"reason": reason, "where": where}
    return {"test": name, "outcome": "deselected", "categories": _categories(marks), "file": False, **told}


def _fits(item: pytest.Item, select: str) -> bool:
    """Say whether pytest's -k would choose the test, by pytest's private code: there is no public way to ask."""
    if not select:
        return True
    try:
        from _pytest.mark import KeywordMatcher
        from _pytest.mark.expression import Expression

        return bool(Expression.compile(select).evaluate(KeywordMatcher.from_item(item)))
    except (ImportError, AttributeError):
        return False


def _functions(module: pytest.Module) -> Iterator[tuple[str, list[pytest.Mark], Any]]:
    """Yield test functions with name and marks, except under `__test__ = False`; none if the import failed."""
    loaded = getattr(module, "_obj", None)  # `module.obj` is public, but would import it once more
    marks = list(module.iter_markers())
    for name, found in list(vars(loaded).items()) if loaded is not None else ():
        if inspect.isclass(found) and name.startswith("Test") and getattr(found, "__test__", True):
            ours = [*marks, *_marks(found)]
            for inner, function in vars(found).items():
                if _is_test(inner, function):
                    yield f"{name}::{inner}", [*ours, *_marks(function)], function
        elif _is_test(name, found):
            yield name, [*marks, *_marks(found)], found


def _is_test(name: str, found: Any) -> bool:
    """Say whether it is a test function, not a fixture, which before pytest 8.4 is a plain function, too."""
    if not name.startswith("test_") or not inspect.isfunction(found) or hasattr(found, "_pytestfixturefunction"):
        return False
    return bool(getattr(found, "__test__", True))


def _marks(found: Any) -> list[pytest.Mark]:
    marks: Any = getattr(found, "pytestmark", [])
    listed = marks if isinstance(marks, list) else [marks]
    return [mark.mark if isinstance(mark, pytest.MarkDecorator) else mark for mark in listed]


class _Counter:
    def __init__(self, config: pytest.Config) -> None:
        self._root = config.rootpath
        self._stops = bool(config.option.maxfail)
        self._file = Path(config.option.gold_counts)
        self._started = config.option.gold_started
        self._tests: dict[str, dict[str, Any]] = {}
        self._finished: set[str] = set()
        self._unread: list[str] = []
        self._unmarked = 0

    def take(self, found: dict[str, Any]) -> None:
        """Record the tests that were left out, as found here or in each of xdist's workers."""
        for test in found["deselected"]:
            self._tests.setdefault(test["test"], test)
        self._unread, self._unmarked = found["unread"], found["unmarked"]

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        told = getattr(node, "workeroutput", {}).get(_OUTPUT)
        if told:
            self.take(json.loads(told))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Record a file that cannot be imported or is skipped as a whole, because it hides all of its tests."""
        if report.passed:
            return
        self._tests[report.nodeid] = {
            "test": report.nodeid,
            "outcome": "error" if report.failed else "skipped",
            "categories": [],
            "file": True,
            **self._told(report.longrepr, report.nodeid),
        }

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Write the test's name as it begins: after a crash, the last one says where it happened."""
        if self._started:
            with Path(self._started).open("a", encoding="utf-8") as file:
                file.write(nodeid + "\n")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "teardown":
            self._finished.add(report.nodeid)
        outcome = _outcome(report)
        known = self._tests.get(report.nodeid)
        if outcome is None or (known and _RANKS.index(known["outcome"]) >= _RANKS.index(outcome)):
            return
        told = {"reason": "", "where": ""} if outcome == "passed" else self._told(report.longrepr, _place(report))
        if outcome in ("xfailed", "xpassed"):
            told["reason"] = f"expected to fail (xfail): {report.wasxfail}".removesuffix(": ")
        found = [str(value) for name, value in report.user_properties if name == _CATEGORY]
        categories = list(dict.fromkeys(found))
        self._tests[report.nodeid] = {
            "test": report.nodeid,
            "outcome": outcome,
            "categories": categories,
            "file": False,
            **told,
        }

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        body = {
            "process": os.getpid(),
            "status": int(exitstatus),
            "collected": session.testscollected,
            "finished": len(self._finished),
            "stops": self._stops,
            "unmarked": self._unmarked,
            "unread": self._unread,
            "select": session.config.option.gold_select,
            "tests": list(self._tests.values()),
        }
        partial = self._file.with_suffix(".partial")
        partial.write_text(json.dumps(body), encoding="utf-8")
        os.replace(partial, self._file)

    def _told(self, told: Any, place: str) -> dict[str, str]:
        """Return the reason in one line, and where: in the course's code if it is there, else `place`, the test's."""
        crash, where = getattr(told, "reprcrash", None), None
        if crash is not None:
            reason, where = crash.message, self._shown(crash.path, crash.lineno)
        elif isinstance(told, tuple):
            reason, where = str(told[2]).removeprefix("Skipped: "), self._shown(told[0], told[1])
        else:
            lines = str(told or "").splitlines()
            raised = [line[1:].strip() for line in lines if line.startswith("E ")]
            reason = (raised or lines or [""])[-1]
        return {"reason": _in_one_line(reason.replace(f"{self._root}{os.sep}", "")), "where": where or place}

    def _shown(self, path: str, line: int) -> str | None:
        """Return the path relative to the course, with the line; None outside the course."""
        full = Path(self._root, path)
        return f"{full.relative_to(self._root).as_posix()}:{line}" if full.is_relative_to(self._root) else None


def _in_one_line(text: str) -> str:
    """Return the message without pytest's explanation of values, which has addresses that change with every run."""
    lines = itertools.takewhile(lambda line: not line.startswith("+ "), map(str.strip, text.strip().splitlines()))
    joined = " ".join(" ".join(lines).split())
    return joined if len(joined) <= _MAX_REASON_CHARS else joined[: _MAX_REASON_CHARS - 1] + "…"


def _place(report: pytest.TestReport) -> str:
    file, line, _ = report.location
    return file if line is None else f"{file}:{line + 1}"


def _outcome(report: pytest.TestReport) -> str | None:
    """Return the outcome of one phase of a test; None if it is not final, as when the test is rerun."""
    if report.outcome not in ("passed", "failed", "skipped"):
        return None
    if hasattr(report, "wasxfail") and report.outcome != "failed":
        return "xpassed" if report.passed else "xfailed"
    if report.failed:
        return "failed" if report.when == "call" and not getattr(report, "gold_error", False) else "error"
    return report.outcome


def _kill_group() -> None:
    with contextlib.suppress(OSError):
        os.killpg(0, signal.SIGKILL)
