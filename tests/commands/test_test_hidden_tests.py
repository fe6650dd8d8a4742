"""`goldsmith test` where the course's own settings, or a conftest.py, keep tests from running: it says so."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest

from goldsmith.courses.internal_tests import suite_result as suite
from goldsmith.courses.internal_tests import verdict as internal
from goldsmith.generate.freshness import Freshness
from support.course import CourseOnDisk, numpy_course

pytestmark = pytest.mark.long

TEST_FILE = "tests/internal/test_hw1.py"
CONFTEST = """
    import sys
    from pathlib import Path

    sys.path.insert(0, str(Path(__file__).parent.parent / "src" / "assignments" / "hw1"))
"""
SETTINGS = """
    [pytest]
    addopts = -p no:hypothesispytest -p no:regressions -p no:datadir -p no:timeout {}
    markers =
        rigor: internal
        fidelity: outputs
        gradient: gradients
    {}
"""
BODY = """
    import pytest, ops

    pytestmark = pytest.mark.rigor

    @pytest.mark.fidelity
    def test_right():
        assert ops.scale(1.0) == 3.0

    @pytest.mark.{}
    def test_wrong():
        assert ops.scale(1.0) == 4.0
"""
DROPS = "items[:] = [item for item in items if item.name != 'test_wrong']"
TELLS = f"config.hook.pytest_deselected(items=[item for item in items if item.name == 'test_wrong']); {DROPS}"


@pytest.fixture
def tested(tmp_path: Path) -> CourseOnDisk:
    """One test that passes and one that does not, both marked fidelity."""
    course = numpy_course(tmp_path / "course")
    set_to(course)
    return course.write({"tests/conftest.py": CONFTEST, TEST_FILE: BODY.format("fidelity")})


def set_to(course: CourseOnDisk, options: str = "", more: str = "") -> CourseOnDisk:
    return course.write({"pytest.ini": SETTINGS.format(options, more)})


def hooked(course: CourseOnDisk, body: str) -> CourseOnDisk:
    return course.write({"tests/conftest.py": textwrap.dedent(CONFTEST) + textwrap.dedent(body)})


def of(course: CourseOnDisk, *more: str) -> dict[str, Any]:
    item: dict[str, Any]
    (item,) = course.run("test", "hw1", "--json", *more).json["assignments"]
    return item


TAKEN_OUT = {
    "told": f"def pytest_collection_modifyitems(config, items):\n    {TELLS}\n",
    "silent": f"def pytest_collection_modifyitems(items):\n    {DROPS}\n",
    "first": "import pytest\n@pytest.hookimpl(tryfirst=True)\n"
    f"def pytest_collection_modifyitems(items):\n    {DROPS}\n",
    "late": f"def pytest_collection_finish(session):\n    items = session.items\n    {DROPS}\n",
    "expression": "def pytest_configure(config):\n    config.option.keyword = 'not wrong'\n",
    "marker": "def pytest_configure(config):\n    config.option.markexpr = 'rigor and not wrong'\n"
    "def pytest_itemcollected(item):\n    item.name == 'test_wrong' and item.add_marker('wrong')\n",
}


@pytest.mark.parametrize("body", TAKEN_OUT.values(), ids=TAKEN_OUT)
def test_what_a_conftest_takes_out_is_not_a_pass(tested: CourseOnDisk, body: str) -> None:
    run = hooked(tested, body).run("test", "hw1")
    assert run.code == 1, run.out
    assert (
        "hw1: failed: 1 fidelity test was deselected on the solution, and what does not run is not a" in run.last_line
    )
    heading = "Deselected on the solution; what does not run is not a pass:"
    why = f"{TEST_FILE}:10: deselected by a conftest.py or a plugin"
    assert f"{heading}\n  {TEST_FILE}::test_wrong\n    [fidelity" in run.out
    assert f"] {why}\n" in run.out
    assert "Let pytest run what is deselected: see its settings" in run.out


def test_so_is_what_the_settings_take_out_and_it_is_said_which_one(tested: CourseOnDisk) -> None:
    item = of(set_to(tested, f"--deselect {TEST_FILE}::test_wrong"))
    assert (item["outcome"], item["exit_code"]) == ("failed", 1)
    (left,) = item["skipped"]
    assert (left["test"], left["on"], left["deselected"]) == (f"{TEST_FILE}::test_wrong", "solution", True)
    assert left["reason"] == "deselected by --deselect"
    assert item["solution"]["skipped"] == 1
    item = of(set_to(tested, "-o python_functions=test_right"))
    assert (item["outcome"], item["skipped"][0]["where"]) == ("failed", f"{TEST_FILE}:10")
    assert item["skipped"][0]["reason"] == "not collected: pytest is set to python_functions = test_right"


def test_the_same_where_xdist_collects(tested: CourseOnDisk) -> None:
    item = of(set_to(tested, f"-n 1 --deselect {TEST_FILE}::test_wrong"))
    assert (item["outcome"], [left["reason"] for left in item["skipped"]]) == ("failed", ["deselected by --deselect"])
    tested.write({"goldsmith.toml": '[assignment.hw1]\ntests = ["tests/internal"]\n', "tests/internal/test_b.py": ""})
    grouped = BODY.format("xdist_group('one')").replace("4.0", "3.0")
    item = of(set_to(tested.write({TEST_FILE: grouped}), "-n 1 --dist loadgroup", "python_files = *_hw1.py"))
    assert (item["outcome"], item["skipped"], item["solution"]["passed"]) == ("passed", [], 2), item
    assert [note.split(" (")[0] for note in item["notes"]] == ["pytest did not look into tests/internal/test_b.py"]


def test_tests_of_other_kinds_are_called_out(tested: CourseOnDisk) -> None:
    tested.write({TEST_FILE: BODY.format("gradient")})
    run = set_to(tested, f"--deselect {TEST_FILE}::test_wrong").run("test", "hw1")
    assert run.code == 0, run.out
    assert "Deselected on the solution; " in run.out
    assert "[gradient] " in run.out
    assert "hw1: passed: 1 of 2 internal tests passes on the solution (1 deselected), " in run.last_line


def test_the_settings_own_k_has_no_say_and_what_ours_leaves_out_is_not_missing(tested: CourseOnDisk) -> None:
    item = of(set_to(tested, "-k right"))
    assert (item["outcome"], item["solution"]["failed"]) == ("failed", 1)
    item = of(tested, "-k", "right")
    assert (item["outcome"], item["skipped"], item["solution"]["total"]) == ("passed", [], 1)
    item = of(hooked(tested, TAKEN_OUT["silent"]), "-k", "right or wrong")
    assert [left["test"] for left in item["skipped"]] == [f"{TEST_FILE}::test_wrong"]


def test_classes_too_and_what_is_not_meant_as_a_test_is_none(tested: CourseOnDisk) -> None:
    body = """
        import pytest, ops

        class TestIt:
            pytestmark = [pytest.mark.rigor, pytest.mark.fidelity]

            def test_in_a_class(self):
                assert ops.scale(1.0) == 3.0

        @pytest.mark.rigor
        def test_data():
            return 3.0

        test_data.__test__ = False

        def test_not_marked():
            pass

        @pytest.mark.rigor
        def check_it():
            assert ops.scale(1.0) == 3.0
    """
    tested.write({TEST_FILE: body})
    item = of(set_to(tested, more="python_functions = check_*\n    python_classes = Check"))
    assert [left["test"] for left in item["skipped"]] == [f"{TEST_FILE}::TestIt::test_in_a_class"]
    assert item["skipped"][0]["reason"].endswith("set to python_functions = check_*, python_classes = Check")
    assert item["outcome"] == "failed"


def test_a_file_that_cannot_be_collected_is_told_once(tested: CourseOnDisk) -> None:
    broken = BODY.format("parametrize('nonsense', [1])")
    item = of(tested.write({TEST_FILE: broken}))
    assert (item["outcome"], item["skipped"], item["solution"]["total"]) == ("could-not-run", [], 1)


def test_a_file_that_pytest_does_not_look_into_is_noted(tested: CourseOnDisk) -> None:
    tested.write({"goldsmith.toml": '[assignment.hw1]\ntests = ["tests/internal"]\n'})
    tested.write({TEST_FILE: BODY.format("fidelity").replace("4.0", "3.0"), "tests/internal/test_b.py": "1 / 0"})
    item = of(set_to(tested, more="python_files = *_hw1.py"))
    assert item["outcome"] == "passed"
    (note,) = item["notes"]
    assert note.startswith("pytest did not look into tests/internal/test_b.py (python_files, ")
    assert of(set_to(tested, "--ignore=tests/internal/test_b.py"))["notes"] == [note]


@pytest.mark.parametrize("option", ["--last-failed --lfnf=none", "--stepwise", "--failed-first", "--nf --sw-skip"])
def test_options_that_look_back_are_known_and_narrow_nothing(tested: CourseOnDisk, option: str) -> None:
    tested.write({TEST_FILE: BODY.format("fidelity").replace("4.0", "3.0")})
    tested.write({".pytest_cache/v/cache/lastfailed": f'{{"{TEST_FILE}::test_right": true}}'})
    item = of(set_to(tested, option))
    assert (item["outcome"], item["solution"]["passed"], item["starter"]["failed"]) == ("passed", 2, 2), item


def test_a_course_without_a_cache_of_its_own_stays_so(tested: CourseOnDisk) -> None:
    tested.write({TEST_FILE: BODY.format("fidelity").replace("4.0", "3.0")})
    run = set_to(tested, "-p no:cacheprovider --strict-config").run("test", "hw1")
    assert run.code == 0, run.out
    assert "passed: both internal tests pass on the solution, both fail on the starter" in run.last_line
    assert not list(tested.root.rglob(".pytest_cache"))


def test_stale_gold_is_in_the_last_line(tested: CourseOnDisk) -> None:
    tested.write({TEST_FILE: BODY.format("fidelity").replace("4.0", "3.0")})
    assert tested.run("generate", "hw1").code == 0
    solution = tested.root / "private/solutions/hw1/ops_solution.py"
    solution.write_text(solution.read_text() + "\nMORE = 1\n")
    run = tested.run("test", "hw1")
    assert run.code == 0, run.out
    assert run.last_line.startswith("hw1: passed, but the gold is stale: "), run.last_line
    assert "; both internal tests pass on the solution, both fail on the starter (" in run.last_line
    assert of(tested)["headline"].startswith("passed, but the gold is stale: ")
    tested.write({"src/assignments/hw2/ops.py": "", "private/solutions/hw2/ops_solution.py": ""})
    assert tested.run("test", "all").last_line.endswith("; not hw2; but the gold is stale: hw1.")


def test_a_file_that_the_starter_skips_is_named_with_its_reason(tested: CourseOnDisk) -> None:
    skips = """
        import pytest, ops

        try:
            ops.scale(1.0)
        except NotImplementedError:
            pytest.skip("nothing to test yet", allow_module_level=True)

        pytestmark = pytest.mark.rigor

        def test_it():
            assert ops.scale(1.0) == 3.0
    """
    run = tested.write({TEST_FILE: skips}).run("test", "hw1")
    assert run.code == 1
    heading = "Skipped on the starter; a skip is not a failure:"
    assert f"{heading}\n  {TEST_FILE}\n    {TEST_FILE}:7: nothing to test yet\n" in run.out
    assert "Let tests fail, not skip, where work is missing" in run.out
    assert "no internal test fails on the starter (1 skipped)" in run.last_line


def outcomes(*words: str) -> suite.SuiteReport:
    return suite.SuiteReport(tuple(suite.TestOutcome(f"t{number}", word) for number, word in enumerate(words)))


HEADLINES = {
    ("passed",): "the only internal test passes on the solution and fails on the starter",
    ("passed", "passed"): "both internal tests pass on the solution, both fail on the starter",
    ("passed",) * 3: "all 3 internal tests pass on the solution, all 3 fail on the starter",
    ("failed", "failed"): "both internal tests fail on the solution",
    ("skipped",): "no internal test passes on the solution: it was skipped",
    ("skipped", "xfailed"): "no internal test passes on the solution: both were skipped",
    ("skipped", "deselected"): "no internal test passes on the solution: both were skipped or deselected",
    ("passed", "skipped", "deselected"): "1 of 3 internal tests passes on the solution (1 skipped, 1 deselected), "
    "all 3 fail on the starter",
}


@pytest.mark.parametrize("words", HEADLINES)
def test_one_both_and_all(words: tuple[str, ...]) -> None:
    verdict = internal.judge("hw1", outcomes(*words), outcomes(*["failed"] * len(words)), Freshness("fresh"))
    assert verdict.headline == HEADLINES[words]
