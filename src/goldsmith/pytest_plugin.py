"""pytest's hooks and fixtures. Each hands over to `pytest_support`, which imports what it needs when it needs it."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from goldsmith.foundation.log_injection import printable
from goldsmith.pytest_support.session import GoldSession, session_of

if TYPE_CHECKING:
    from goldsmith.pytest_support.call_values import Callee
    from goldsmith.pytest_support.parametrize import GoldOf
    from goldsmith.pytest_support.replay import JudgedCase

MARKER = "gold(*assignments): the test needs the gold of these assignments; `gold_case` gives it a test for each case"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("goldsmith", "gold-standard fixtures")
    group.addoption("--gold-course", metavar="DIR", help="The course; else the one around each test file.")
    group.addoption("--gold-submission", metavar="PATH|REV", help="What is replayed; else the tree as it stands.")
    group.addoption("--gold-allow-stale", action="store_true", help="Accept gold whose sources have changed since.")
    group.addoption(
        "--gold-timeout", type=float, metavar="SECONDS", help="Stop a case of a replay after this much processor time."
    )
    group.addoption(
        "--gold-record",
        action="store_const",
        const="missing",
        help="Make gold that is missing, and regenerate stale gold if no tensor of it changes.",
    )
    # An option of its own, so that `--gold-record tests/` does not take the folder for its value.
    group.addoption(
        "--gold-record=overwrite",
        dest="gold_record",
        action="store_const",
        const="overwrite",
        help="The same; stale gold is regenerated whatever changes.",
    )
    group.addoption(
        "--gold-update",
        action="store_true",
        help="Record what gold.check is given where it is missing or differs, and say what changes.",
    )
    group.addoption(
        "--gold-reason",
        metavar="TEXT",
        help="Why it changes, kept with it; without one, --gold-update neither drops values nor changes most checks.",
    )
    group.addoption(
        "--gold-prune",
        action="store_true",
        help="Delete what gold.check has kept and no test checks any more. All tests must run.",
    )
    group.addoption("--gold-diff", action="store_true", help="Show all differences of all checks, element by element.")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)
    GoldSession.begin(config)


def pytest_unconfigure(config: pytest.Config) -> None:
    session_of(config).end()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Share this session's folder with a worker of xdist."""
    session_of(node.config).adopt(node.workerinput)


def pytest_report_header(config: pytest.Config) -> str | None:
    return session_of(config).header()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "gold_case" in metafunc.fixturenames:
        from goldsmith.pytest_support.parametrize import parametrise

        parametrise(metafunc, session_of(metafunc.config))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    session_of(config).collected(items)


def pytest_deselected(items: list[pytest.Item]) -> None:
    if items:
        session_of(items[0].config).doubt("tests were deselected")


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    if report.outcome != "passed":
        session_of(collector.config).doubt(f"{collector.nodeid or 'a folder'} was not collected: {report.outcome}")
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Before the summary, which says what was done."""
    if not session_of(session.config).finish(session, exitstatus) and not session.exitstatus:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    __tracebackhide__ = True
    with session_of(item.config).failing_at_the_end(item):
        yield


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("gold"):
        session_of(item.config).require_marked(item)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    session_of(item.config).complete(report, item, call)
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, str] | None:
    return ("error", "E", "ERROR") if getattr(report, "gold_error", False) else None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    lines = session_of(config).summary()
    if lines:
        terminalreporter.section("gold recorded")
        terminalreporter.write_line(printable("\n".join(lines)))
    lines = session_of(config).lines
    if lines:
        terminalreporter.section("gold kept by tests")
        terminalreporter.write_line(printable("\n".join(lines)))


@pytest.fixture
def gold(request: pytest.FixtureRequest) -> Iterator[GoldOf]:
    """`gold.check(values)` or `gold.check(function, inputs)`: compare with what the test kept next to its file.

    `gold("scratch-1")`: an assignment's gold, with `.check(model)`, `.assert_close(name, value)`, `.replay()`, and
    plain `.input` and `.output`. Without a name, the one that the test's `gold` marker names.
    """
    from goldsmith.pytest_support.parametrize import GoldOf

    yield GoldOf(request, session_of(request.config), _callee)
    with session_of(request.config).failing_at_the_end(request.node):
        pass  # what was checked after the test's own end: in another fixture's teardown


def _callee(target: Any, inputs: Any, seed: int) -> Callee:
    from goldsmith.runs.live.call_under_test import CallUnderTest

    return CallUnderTest(target, inputs, seed=seed)


@pytest.fixture
def gold_case(request: pytest.FixtureRequest) -> JudgedCase:
    """One case of the assignment that the test's `gold` marker names, replayed: `gold_case.assert_agrees()`."""
    from goldsmith.pytest_support.parametrize import judged_case

    return judged_case(request, session_of(request.config))
