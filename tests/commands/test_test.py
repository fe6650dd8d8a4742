"""`goldsmith test`: the internal tests pass on the solution and fail on the starter, or it is said why not."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

from goldsmith.courses.internal_tests import suite_result as suite
from goldsmith.courses.internal_tests import verdict as internal
from goldsmith.courses.layout.layout import Assignment, find_course
from goldsmith.courses.layout.resolve import resolve
from goldsmith.errors.internal_tests import NoInternalTests
from goldsmith.generate.freshness import Freshness
from goldsmith.process.process_exit import ProcessExit
from goldsmith.process.untrusted_files import UntrustedFolder
from goldsmith.workspace.copies import make_workspaces
from support.course import (
    COMMAND,
    SOLUTION,
    STARTER,
    CourseOnDisk,
    copy_of_example,
    has_ended,
    numpy_course,
    wait_until,
)

TEST_FILE = "tests/internal/test_hw1.py"
CONFTEST = """
    import sys
    from pathlib import Path

    for folder in (Path(__file__).parent.parent / "src" / "assignments").iterdir():
        sys.path.insert(0, str(folder))
"""
SETTINGS = """
    [pytest]
    addopts = -x -m "not rigor" --strict-markers -p no:hypothesispytest -p no:regressions -p no:datadir -p no:timeout
    markers =
        rigor: internal
        fidelity: outputs
        gradient: gradients
"""
GOOD = """
    @pytest.mark.fidelity
    def test_values():
        assert ops.scale(1.0) == 3.0
"""


def file_with(body: str) -> str:
    head = "import os, time, pytest, ops\n\npytestmark = pytest.mark.rigor\n"
    return head + textwrap.dedent(body)


@pytest.fixture
def tested(tmp_path: Path) -> CourseOnDisk:
    """A course in a folder with a space in its name, whose own settings stop at a failure and leave rigor out."""
    course = numpy_course(tmp_path / "a course")
    return course.write({"pytest.ini": SETTINGS, "tests/conftest.py": CONFTEST, TEST_FILE: file_with(GOOD)})


def everything(course: CourseOnDisk) -> dict[str, bytes]:
    """All files but the reports."""
    files = [path for path in course.root.rglob("*") if path.is_file() and "reports" not in path.parts]
    return {str(path.relative_to(course.root)): path.read_bytes() for path in files}


def assignment_of(course: CourseOnDisk, name: str = "hw1") -> Assignment:
    return find_course(course.root).assignment(name)


def test_gold_and_categories_are_there_and_the_tree_is_not_touched(tested: CourseOnDisk) -> None:
    body = """
        @pytest.mark.gradient
        @pytest.mark.parametrize("by", [1, 2])
        def test_slope(by):
            open("left-behind.txt", "w").write("x")
            assert ops.scale(1.0 + by) - ops.scale(1.0) == 2.0 * by

        @pytest.mark.fidelity
        @pytest.mark.gold("hw1")
        def test_gold(gold):
            gold().assert_close("y", ops.scale(gold().input))
    """
    tested.write({TEST_FILE: file_with(body)})
    assert tested.run("generate", "hw1").code == 0
    before = everything(tested)
    run = tested.run("test", "hw1", "--json")
    assert run.code == 0, run.out + run.err
    assert everything(tested) == before
    assert (run.json["schema"], run.json["command"], run.json["ok"]) == (1, "test", True)
    (item,) = run.json["assignments"]
    assert (item["name"], item["outcome"], item["error"], item["gold"]) == ("hw1", "passed", None, "")
    solution, starter = item["solution"], item["starter"]
    assert [solution[key] for key in ("total", "passed", "failed", "skipped")] == [3, 3, 0, 0]
    assert [starter[key] for key in ("total", "passed", "failed", "skipped")] == [3, 0, 3, 0]
    assert {name: counts["failed"] for name, counts in starter["categories"].items()} == {"fidelity": 1, "gradient": 2}
    assert [item[key] for key in ("failures", "skipped", "blind", "advice")] == [[], [], [], []]
    reports = tested.root / "tests/internal/reports"
    assert (item["report"], item["junit"]) == ("tests/internal/reports/hw1.txt", "tests/internal/reports/hw1.xml")
    assert sorted(path.name for path in reports.iterdir()) == [".gitignore", "hw1.txt", "hw1.xml"]
    cases = ElementTree.parse(reports / "hw1.xml").getroot().findall(".//testcase")
    found = {case.get("name"): [item.get("value") for item in case.iter("property")] for case in cases}
    assert found == {"test_slope[1]": ["gradient"], "test_slope[2]": ["gradient"], "test_gold": ["fidelity"]}
    text = (reports / "hw1.txt").read_text()
    assert text.index("pytest on the solution") < text.index("3 passed") < text.index("3 failed")
    assert "/goldsmith-" not in text
    selection = tested.run("test", "hw1", "-k", "gold")
    assert selection.code == 0
    assert "only those that fit -k 'gold'" in selection.out
    assert selection.last_line.startswith("hw1: passed: the only internal test passes on the solution and fails on")
    assert (reports / "hw1.txt").read_text() == text, "a selection must not stand for all the tests"


def test_failing_skipped_and_blind_tests_are_named_with_their_reasons(tested: CourseOnDisk) -> None:
    body = """
        @pytest.mark.gradient
        def test_wrong():
            assert ops.scale(1.0) == 4.0, "the slope is off"

        @pytest.mark.fidelity
        def test_on_a_gpu():
            pytest.skip("no GPU here")

        @pytest.mark.xfail(reason="some day")
        def test_some_day():
            assert ops.scale(1.0) == 5.0

        def test_blind():
            assert callable(ops.scale)

        def test_lenient():
            try:
                ops.scale(1.0)
            except NotImplementedError:
                pytest.skip("not written yet")
    """
    (tested.root / "tests/internal/reports").write_text("a file in the folder's place")
    run = tested.write({TEST_FILE: file_with(body)}).run("test", "hw1", new_workers=True)
    assert run.code == 1
    out = run.out
    assert "The gold is missing: no gold yet." in out.splitlines()[1]
    rows = {line.split("  ")[0]: line.split()[-6:] for line in out.splitlines() if line.endswith(tuple("0123456789"))}
    assert rows["gradient"] == ["0", "1", "0", "1", "0", "0"]
    assert rows["fidelity"] == ["0", "0", "1", "0", "0", "1"]
    assert rows["total"] == ["2", "1", "2", "1", "1", "3"]
    after = out.partition("Failed on the solution:")[2]
    failed, _, after = after.partition("Skipped on the solution; a skip is not a pass:")
    skipped, _, after = after.partition("Skipped on the starter; a skip is not a failure:")
    lenient, _, blind = after.partition("Passes on the starter too; it says nothing about what students write:")
    why = f"{TEST_FILE}:7: AssertionError: the slope is off assert 3.0 == 4.0\n"
    assert f"{TEST_FILE}::test_wrong\n    [gradient] {why}" in failed
    assert f"{TEST_FILE}::test_on_a_gpu\n    [fidelity] {TEST_FILE}:11: no GPU here\n" in skipped
    assert "::test_some_day\n" in skipped
    assert "expected to fail (xfail): some day\n" in skipped
    assert f"{TEST_FILE}::test_lenient" in lenient
    assert "not written yet" in lenient
    assert f"{TEST_FILE}::test_blind" in blind
    assert "`goldsmith generate hw1`; a failing test is most likely about that" in out
    assert "Note: no report was kept: tests/internal/reports (" in out
    assert run.last_line.startswith("hw1: failed: 1 of 5 internal tests fails on the solution (")


def test_a_suite_that_the_starter_passes_is_worth_nothing(tested: CourseOnDisk) -> None:
    run = tested.write({TEST_FILE: file_with("def test_there():\n    assert ops.scale\n")}).run("test", "hw1")
    assert run.code == 1
    assert "hw1: failed: no internal test fails on the starter: empty work would get full marks" in run.last_line
    assert f"  {TEST_FILE}::test_there\n" in run.out


def test_a_skipped_fidelity_test_is_not_a_pass(tested: CourseOnDisk) -> None:
    skips = GOOD + '\n    @pytest.mark.fidelity\n    def test_skips():\n        pytest.skip("later")\n'
    run = tested.write({TEST_FILE: file_with(skips)}).run("test", "hw1")
    assert run.code == 1
    assert "hw1: failed: 1 fidelity test was skipped on the solution, and a skip is not a pass" in run.last_line


def test_a_starter_that_cannot_be_imported_fails_and_that_is_said(tested: CourseOnDisk) -> None:
    run = tested.write({TEST_FILE: file_with("FIRST = ops.scale(1.0)\n" + textwrap.dedent(GOOD))}).run("test", "hw1")
    assert run.code == 0
    assert f"Note: {TEST_FILE} cannot be imported on the starter (NotImplementedError): that counts as" in run.out
    assert "the only internal test passes on the solution, and the starter cannot even be imported" in run.last_line


LEAVES = "def test_leaves():\n    os._exit(0)\n"
STOPS = "def test_stops():\n    pytest.exit('enough', returncode=0)\n"
BROKEN = {
    LEAVES: "pytest stopped at TEST::test_leaves: its process exited with code 0",
    STOPS: "pytest stopped at TEST::test_stops, when 1 of 2 tests had run",
    "import nonsense": "TEST cannot be imported (ModuleNotFoundError: No module named 'nonsense')",
    "pytestmark = []": "1 test found, none marked rigor; put `pytestmark = pytest.mark.rigor` at the top",
}


@pytest.mark.parametrize("body", BROKEN, ids=["left", "stopped", "import", "unmarked"])
def test_a_pytest_that_does_not_come_to_its_end_is_never_a_pass(tested: CourseOnDisk, body: str) -> None:
    files = {TEST_FILE: file_with(textwrap.dedent(GOOD) + body), "tests/internal/reports/hw1.xml": "all passed"}
    run = tested.write(files).run("test", "hw1")
    assert run.code == 3, run.out
    assert f"hw1: could not run on the solution: {BROKEN[body].replace('TEST', TEST_FILE)}" in run.last_line
    xml = tested.root / "tests/internal/reports/hw1.xml"
    assert not xml.exists() or "all passed" not in xml.read_text(), "an old report must not speak for this run"


HANGS = """
    import subprocess, sys

    def test_hangs():
        stubborn = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
        child = subprocess.Popen([sys.executable, "-c", stubborn])
        with open(os.environ["PIDS"], "a") as file:
            file.write(f"{os.getpid()} {child.pid} ")
        time.sleep(600)
"""


def alive(file: Path) -> list[int]:
    numbers = [int(word) for word in file.read_text().split()] if file.exists() else []
    return [number for number in numbers if not has_ended(number)]


def test_a_timeout_ends_a_test_with_all_it_started(tested: CourseOnDisk, tmp_path: Path) -> None:
    tested.write({TEST_FILE: file_with(HANGS)})
    run = tested.run("test", "hw1", "--timeout", "2.5", PIDS=str(tmp_path / "pids"), PYTEST_ADDOPTS="--collect-only")
    assert run.code == 3
    slept = r"pytest took longer than 2\.5 s( and was idle|, and slept most of it)"  # the latter on a busy machine
    assert re.search(slept, run.last_line)
    assert f" at {TEST_FILE}::test_hangs" in run.last_line
    assert len((tmp_path / "pids").read_text().split()) == 4
    wait_until(lambda: not alive(tmp_path / "pids"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_interruption_leaves_no_process(tested: CourseOnDisk, tmp_path: Path, number: signal.Signals) -> None:
    tested.write({TEST_FILE: file_with(HANGS)})
    before = everything(tested)
    temporary, pids = tmp_path / "tmp", tmp_path / "pids"
    temporary.mkdir()
    process = subprocess.Popen(
        [*COMMAND, "test", "hw1"],
        cwd=tested.root,
        env=os.environ | {"PIDS": str(pids), "TMPDIR": str(temporary)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until(lambda: len(alive(pids)) == 4)
    process.send_signal(number)
    _, errors = process.communicate(timeout=30)
    wait_until(lambda: not alive(pids))
    assert everything(tested) == before
    if number == signal.SIGINT:
        assert process.returncode == 130
        assert "interrupted" in errors
        assert list(temporary.iterdir()) == []


def test_all_goes_on_after_an_assignment_that_cannot_be_tried(tested: CourseOnDisk) -> None:
    tested.write({"src/assignments/hw10/ops10.py": STARTER, "private/solutions/hw10/ops10_solution.py": SOLUTION})
    run = tested.run("test", "all")
    assert run.code == 3
    assert "hw1: passed: " in run.out
    assert "hw10: could not run: hw10 has no internal tests: no test file in tests/internal is named after" in run.out
    assert "write tests/internal/test_hw10.py, or name files in `tests` of [assignment.hw10]." in run.out
    assert run.last_line.startswith("The internal tests of 1 of 2 assignments pass on the solution and fail")
    assert run.last_line.endswith("; not hw10.")


def test_it_is_refused_while_the_solution_is_in_place(tested: CourseOnDisk) -> None:
    assert tested.run("inject", "hw1").code == 0
    run = tested.run("test", "hw1", "--json")
    assert run.code == 3
    (item,) = run.json["assignments"]
    assert (item["outcome"], item["error"]["kind"]) == ("could-not-run", "is-injected")
    assert "take it out with `goldsmith reset hw1` first" in item["headline"]


def test_bad_usage_is_said_before_anything_runs(tested: CourseOnDisk, tmp_path: Path) -> None:
    assert tested.run("test", "hw2").code == 2
    tested.write({"goldsmith.toml": '[assignment.hw1]\ntests = ["../elsewhere"]\n'})
    run = tested.run("test", "hw1")
    assert run.code == 2
    assert "`assignment.hw1.tests`: '../elsewhere' must be a file, folder or pattern inside the course" in run.err
    (tmp_path / "empty/src/assignments").mkdir(parents=True)
    assert tested.run("test", "all", cwd=tmp_path / "empty").code == 2


@pytest.mark.parametrize(("word", "code", "said"), [("--help", 0, "Exit codes: "), ("hw1", 3, "pip install pytest")])
def test_without_pytest_there_is_help_and_one_sentence(tested: CourseOnDisk, word: str, code: int, said: str) -> None:
    program = (
        f"import sys; sys.modules['pytest'] = None; sys.argv = ['goldsmith', 'test', {word!r}]\n"
        "from goldsmith.cli import run\n"
        "try:\n    run()\nfinally:\n    assert not {'torch', 'numpy'}.intersection(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tested.root, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    assert said in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_which_tests_are_an_assignments_own(tested: CourseOnDisk) -> None:
    names = ("hw1", "hw10", "scratch", "scratch-1", "marked", "bare", "set")
    tested.write({f"src/assignments/{name}/ops.py": STARTER for name in names})
    files = ("test_hw10_more.py", "test_scratch_1.py", "hw1/deep/ops_test.py", "hw1/test_scratch.py", "hw1/helper.py")
    unread = ("reports/test_hw1.py", "fixtures/hw1/test_hw1.py", "__pycache__/test_hw1.py")
    tested.write({f"tests/internal/{name}": "" for name in (*files, *unread)})
    gold = '@pytest.mark.gold(\n    "hw1", "{}")\ndef test_it(): pass\n'
    tested.write({"tests/internal/test_all.py": gold.format("marked")})
    tested.write({"tests/internal/test_hw10.py": gold.format("bare")})
    tested.write({"goldsmith.toml": '[assignment.set]\ntests = ["tests/internal/test_a*.py", "tests/internal/hw1"]\n'})

    def found(name: str) -> tuple[list[str], str]:
        chosen = suite.tests_of(assignment_of(tested, name))
        return [file.removeprefix("tests/internal/") for file in chosen.files], chosen.marked

    assert found("hw1") == (["hw1/deep/ops_test.py", "test_hw1.py"], "")
    assert found("hw10") == (["test_hw10.py", "test_hw10_more.py"], "")
    assert found("scratch") == (["hw1/test_scratch.py"], "")
    assert found("scratch-1") == (["test_scratch_1.py"], "")
    assert found("marked") == (["test_all.py"], "marked")
    assert found("set") == (["test_all.py", "hw1"], "")
    with pytest.raises(NoInternalTests, match="bare has no internal tests"):
        found("bare")


def test_tests_that_only_a_marker_names_are_told_from_their_neighbours(tested: CourseOnDisk) -> None:
    ours = '@pytest.mark.gold("hw1")\ndef test_ours():\n    assert ops.scale(1.0) == 3.0\n\n'
    theirs = "def test_theirs():\n    assert False\n"
    (tested.root / TEST_FILE).unlink()
    tested.write({"tests/internal/test_all.py": file_with(ours + theirs)})
    assert tested.run("generate", "hw1").code == 0
    (item,) = tested.run("test", "hw1", "--json").json["assignments"]
    assert (item["outcome"], item["solution"]["total"], item["starter"]["failed"]) == ("passed", 1, 1)


def test_a_whole_workspace_has_gold_and_solutions_but_no_reports(tested: CourseOnDisk) -> None:
    kept = ("tests/internal/fixtures/hw1/gold_output.npz", "private/solutions/hw1/ops_solution.py")
    tested.write({kept[0]: "gold", "tests/internal/reports/hw1.txt": "the solution, as pytest prints it"})
    for whole in (True, False):
        with make_workspaces(resolve(assignment_of(tested)), (), 1, whole=whole) as (workspace,):
            assert [(workspace.root / name).exists() for name in kept] == [whole, whole]
            assert not (workspace.root / "tests/internal/reports").exists()
            assert (workspace.root / TEST_FILE).exists()


def written(**changes: Any) -> bytes:
    test = {"test": "t", "outcome": "passed", "categories": [], "reason": "", "where": "", "file": False}
    body = dict(process=7, status=0, collected=1, finished=1, stops=False, unmarked=0, select="", tests=[test])
    return json.dumps(body | changes).encode()


def test_what_is_not_whole_or_at_odds_with_the_process_is_doubted(tmp_path: Path) -> None:
    def problem(content: bytes, code: int = 0) -> str:
        (tmp_path / "counts.json").write_bytes(content)
        return suite.read_suite(UntrustedFolder(tmp_path), ProcessExit(7, code)).problem

    failed = {"test": "t", "outcome": "failed"}
    assert problem(written()) == ""
    assert problem(written(), code=1) == "pytest said that it ended with 0 and ended with 1"
    assert "exited before the first test" in problem(written(process=8))
    assert "exited before the first test" in problem(written()[:-9])
    assert problem(written(collected=2)) == "pytest stopped, when 1 of 2 tests had run"
    assert problem(written(status=1), code=1) == "pytest ended with exit code 1, and no test failed"
    assert problem(written(tests=[failed])) == "pytest ended with exit code 0, and at least one test failed"
    stopped = dict(status=1, collected=9, tests=[failed])
    assert problem(written(**stopped, stops=True), code=1) == "", "told to stop at the first failure"
    assert problem(written(**stopped), code=1) != ""


def test_stale_gold_is_the_first_thing_to_fix() -> None:
    one = suite.SuiteReport((suite.TestOutcome("t", "failed", ("fidelity",), "differs", "test_hw1.py:3"),))
    stale = internal.judge("hw1", one, one, Freshness("stale", ("ops_solution.py changed since", "and more")))
    assert stale.gold == "The gold is stale: ops_solution.py changed since (and 1 more)."
    assert stale.advice[0].startswith("See what would change, `goldsmith diff hw1`; if you want that, make the gold: ")
    fresh = internal.judge("hw1", one, one, Freshness("fresh"))
    assert fresh.gold == ""
    assert "`goldsmith diff hw1`" in fresh.advice[0]


@pytest.mark.long
@pytest.mark.torch
def test_the_bundled_course_has_tests_that_are_worth_something(tmp_path: Path) -> None:
    run = copy_of_example(tmp_path / "example").run("test", "all", "--json")
    assert run.code == 0, run.out
    for item in run.json["assignments"]:
        assert item["solution"]["passed"] == item["starter"]["failed"] == item["solution"]["total"] > 4
        assert set(item["solution"]["categories"]) == {"fidelity", "gradient", "training"}
        assert (item["blind"], item["skipped"]) == ([], [])
