"""A pytest plugin, loaded with `-p goldsmith.rigor.counting`: what became of every test, in one JSON file.

pytest's exit code says too little (a run in which all tests are skipped is a success to it), and its own report knows
no markers. The file is written at the very end; where there is none, pytest did not come to its end.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

_CATEGORY = "category"
_BUILT_IN = ("parametrize", "skip", "skipif", "xfail", "usefixtures", "filterwarnings", "tryfirst", "trylast")
_PLUGINS = ("timeout", "xdist_group", "flaky", "asyncio", "anyio", "trio", "order", "dependency", "repeat", "forked")
_NO_CATEGORY = {"rigor", "gold", *_BUILT_IN, *_PLUGINS}
_RANKS = ("passed", "xpassed", "xfailed", "skipped", "failed", "error")
_LONGEST = 160


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("goldsmith")
    group.addoption("--gold-counts", metavar="FILE", help="Where to write what became of every test.")
    group.addoption("--gold-started", metavar="FILE", help="Where to write each test's name as it begins.")
    group.addoption("--gold-marked", metavar="A", help="Only tests whose `gold` marker names this assignment.")


def pytest_configure(config: pytest.Config) -> None:
    if config.option.gold_counts and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Counter(config), "goldsmith-counter")
        if os.getpid() == os.getsid(0):
            _end_with_the_parent()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In every process that runs tests: categories travel with each test's properties, and into JUnit's XML."""
    wanted = config.option.gold_marked
    if wanted:
        ours = [item for item in items if any(wanted in mark.args for mark in item.iter_markers("gold"))]
        items[:] = ours
    for item in items:
        names = dict.fromkeys(mark.name for mark in item.iter_markers())
        item.user_properties.extend((_CATEGORY, name) for name in names if name not in _NO_CATEGORY)
    counter = config.pluginmanager.get_plugin("goldsmith-counter")
    if counter is not None:
        counter.unmarked = sum(item.get_closest_marker("rigor") is None for item in items)


class _Counter:
    def __init__(self, config: pytest.Config) -> None:
        self._root = config.rootpath
        self._stops = bool(config.option.maxfail)
        self._file = Path(config.option.gold_counts)
        self._started = config.option.gold_started
        self._tests: dict[str, dict[str, Any]] = {}
        self._finished: set[str] = set()
        self.unmarked = 0

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A file that cannot be imported, or is skipped as a whole, hides all of its tests."""
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
        """The last one is where a crash happened."""
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
            "unmarked": self.unmarked,
            "select": session.config.option.keyword,
            "tests": list(self._tests.values()),
        }
        partial = self._file.with_suffix(".partial")
        partial.write_text(json.dumps(body), encoding="utf-8")
        os.replace(partial, self._file)

    def _told(self, told: Any, place: str) -> dict[str, str]:
        """Why, in one line, and where: in the course's code if it is there, else in the test, its `place`."""
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
        """As people in the course write it; None when it is not theirs."""
        full = Path(self._root, path)
        return f"{full.relative_to(self._root).as_posix()}:{line}" if full.is_relative_to(self._root) else None


def _in_one_line(text: str) -> str:
    """Without what pytest adds on where values come from: it has addresses in it, different ones every time."""
    lines = itertools.takewhile(lambda line: not line.startswith("+ "), map(str.strip, text.strip().splitlines()))
    joined = " ".join(" ".join(lines).split())
    return joined if len(joined) <= _LONGEST else joined[: _LONGEST - 1] + "…"


def _place(report: pytest.TestReport) -> str:
    file, line, _ = report.location
    return file if line is None else f"{file}:{line + 1}"


def _outcome(report: pytest.TestReport) -> str | None:
    """Of one phase of a test; None for what is not its last word, as when it is run again."""
    if report.outcome not in ("passed", "failed", "skipped"):
        return None
    if hasattr(report, "wasxfail") and report.outcome != "failed":
        return "xpassed" if report.passed else "xfailed"
    if report.failed:
        return "failed" if report.when == "call" and not getattr(report, "gold_error", False) else "error"
    return report.outcome


def _end_with_the_parent() -> None:
    """Tests must not run on after `kill -9` of the command that started them."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        with contextlib.suppress(OSError):
            os.killpg(0, signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()
