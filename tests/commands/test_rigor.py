"""Mutants beside the gold: killed, survived with its reason and what to add, not told apart, crashed; the score."""

from __future__ import annotations

import io
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from goldsmith.errors.injection import IsInjected
from goldsmith.errors.mutants import BadOperators, NoSuchMutant
from goldsmith.html_report.rigor_page import rigor_page
from goldsmith.mutants.results import Finding, Rigor
from goldsmith.render.rigor import show_rigor
from support.course import RECIPE_FILE, CourseOnDisk, numpy_course
from support.mutant_course import by_name, mutated_course, rigor_of

OWN = {
    "much-eps": ("eps", "(eps * 10)"),
    "half-shift": ("shift", "(shift / 2)"),
    "never-runs": ("2.0", "3.0"),
    "other-infinity": ("1e9", "1e12"),
    "no-such-thing": ("x.var()", "x.variance()"),
    "tiny": ("x - shift", "x - shift * (1 + 1e-14)"),
}


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    return mutated_course(tmp_path_factory.mktemp("rigor") / "a course", OWN)


@pytest.fixture(scope="module")
def rigor(course: CourseOnDisk) -> Rigor:
    return rigor_of(course, *OWN)


@pytest.fixture(scope="module")
def found(rigor: Rigor) -> dict[str, Finding]:
    return by_name(rigor)


def test_a_killed_mutant_names_the_case_and_tensor_that_saw_it(found: dict[str, Finding]) -> None:
    item = found["centre/half-shift"]
    assert (item.outcome, item.case, item.tensor) == ("killed", "centred", "the output")
    assert (item.file, item.before) == ("ops.py", "return np.where(x > -1e9, x - shift, x)")
    assert item.after == "return np.where(x > -1e9, x - (shift / 2), x)"


def test_a_survivor_comes_with_its_reason_and_what_was_tried_and_shows_it(found: dict[str, Finding]) -> None:
    item = found["standardise/much-eps"]
    assert item.outcome == "survived"
    assert "small-magnitude input" in item.advice
    assert item.deviation is not None


def test_what_was_advised_kills_the_survivor(found: dict[str, Finding], tmp_path: Path) -> None:
    assert found["standardise/much-eps"].outcome == "survived"
    course = mutated_course(tmp_path / "course", {"much-eps": OWN["much-eps"]})
    recipe = course.root / RECIPE_FILE
    recipe.write_text(recipe.read_text().replace(" * 1e6", " * 1e-3"))
    assert course.run("generate", "hw1", calibrate=True).code == 0
    assert [item.outcome for item in rigor_of(course, "much-eps").findings] == ["killed"]


def test_what_no_case_runs_survives_and_is_never_called_equivalent(found: dict[str, Finding]) -> None:
    item = found["unused/never-runs"]
    assert (item.outcome, item.reason) == ("survived", "no case runs it")
    assert item.advice == "a case that reaches ops.py:17, in unused"


def test_what_no_case_runs_is_one_line_for_each_function(found: dict[str, Finding]) -> None:
    one = found["unused/never-runs"]
    many = tuple(msgspec.structs.replace(one, name=f"unused/x-{line}", line=line) for line in range(17, 400))
    others = tuple(msgspec.structs.replace(one, part="other", name=f"other/{line}", line=9) for line in range(3))
    rigor = Rigor(assignment="hw1", made=386, findings=(*many, *others))

    def shown(*, everything: bool) -> list[str]:
        text = io.StringIO()
        show_rigor(Console(file=text, width=120), rigor, everything=everything)
        return text.getvalue().splitlines()

    lines = shown(everything=False)
    assert len(lines) < 20
    assert "  No case runs 386 mutants: add one for each of these (--all lists every mutant)" in lines
    rows = [line.split() for line in lines]
    assert ["unused", "383", "ops.py:17", "to", "399"] in rows
    assert ["other", "3", "ops.py:9"] in rows
    assert len(shown(everything=True)) > 386
    page = rigor_page([rigor])
    assert "What would catch it" not in page
    assert "<td>383</td><td>ops.py:17 to 399</td>" in page


def test_not_told_apart_is_what_stays_below_1e_9_in_float64_under_every_condition(found: dict[str, Finding]) -> None:
    for name in ("centre/other-infinity", "centre/tiny"):
        assert found[name].outcome == "not-told-apart"
        assert "not told apart in " in found[name].reason
        assert (found[name].deviation or 0.0) < 1e-9
    assert found["centre/tiny"].deviation != 0.0


def test_a_mutant_that_raises_is_crashed_with_its_own_words(found: dict[str, Finding]) -> None:
    item = found["standardise/no-such-thing"]
    assert item.outcome == "crashed"
    assert "variance" in item.reason


def test_the_score_is_killed_over_that_and_all_that_may_be_mistakes(rigor: Rigor) -> None:
    assert rigor.counts == {
        "killed": 1,
        "crashed": 1,
        "survived": 2,
        "not-told-apart": 2,
        "equivalent": 0,
        "could-not-run": 0,
    }
    assert rigor.score == 2 / 6, "what no run told apart may be a mistake, until the course explains it"


def test_what_the_starter_provides_is_not_mutated(course: CourseOnDisk) -> None:
    mutants = course.run("rigor", "hw1", "--list", "--json").json["mutants"]
    parts = {item["part"] for item in mutants}
    assert parts == {"standardise", "centre", "unused"}


def test_the_tree_is_byte_for_byte_what_it_was(course: CourseOnDisk) -> None:
    before = course.snapshot("src", "private", "tests")
    rigor_of(course, "half-shift")
    assert course.snapshot("src", "private", "tests") == before


# --- what is kept -----------------------------------------------------------------------------------------------------


def test_a_second_run_tries_only_what_changed(tmp_path: Path) -> None:
    own = {name: OWN[name] for name in ("half-shift", "much-eps")}
    course = mutated_course(tmp_path / "course", own)
    tried: list[str] = []
    first = rigor_of(course, *own, keep=True, told=lambda item: tried.append(item.name))
    assert len(tried) == len(first.findings)
    assert {item.caught for item in first.findings} == {True, False}

    tried.clear()
    again = rigor_of(course, *own, keep=True, told=lambda item: tried.append(item.name))
    assert tried == []
    assert again.findings == first.findings

    recipe = course.root / RECIPE_FILE
    drawn = 'case.input("x", lambda: np.random.randn(4, 7) * 1e-3)'
    more = f'@gs.case\ndef small(case):\n    case.record("y", standardise({drawn}))\n\n\n'
    recipe.write_text(recipe.read_text().replace("if __name__", f"{more}if __name__"))
    assert course.run("generate", "hw1", calibrate=True).code == 0, "the recipe has one case more"
    third = rigor_of(course, *own, keep=True, told=lambda item: tried.append(item.name))
    assert sorted(tried) == sorted(item.name for item in first.findings if not item.caught)
    assert by_name(third)["standardise/much-eps"].outcome == "killed"


def test_another_solution_makes_other_mutants(tmp_path: Path) -> None:
    course = mutated_course(tmp_path / "course", {"half-shift": OWN["half-shift"]})
    tried: list[str] = []
    rigor_of(course, "half-shift", keep=True)
    solution = course.root / "private/solutions/hw1/ops_solution.py"
    solution.write_text(solution.read_text() + "\n# a remark\n")
    assert course.run("generate", "hw1", calibrate=True).code == 0
    rigor_of(course, "half-shift", keep=True, told=lambda item: tried.append(item.name))
    assert tried == ["centre/half-shift"]


def test_findings_that_cannot_be_kept_or_read_cost_time_only(tmp_path: Path) -> None:
    course = mutated_course(tmp_path / "course", {"half-shift": OWN["half-shift"]})
    rigor_of(course, "half-shift", keep=True)
    (kept,) = (course.root / ".goldsmith/rigor/hw1").iterdir()
    kept.write_text('{"finding": {"outcome": "killed"')
    assert [item.outcome for item in rigor_of(course, "half-shift", keep=True).findings] == ["killed"]


# --- the command ------------------------------------------------------------------------------------------------------


def test_the_command_prints_survivors_with_their_diff_and_the_score_last(course: CourseOnDisk) -> None:
    run = course.run("rigor", "hw1", *(item for name in OWN for item in ("--only", name)))
    assert run.code == 0, run.err
    assert "- return (x - x.mean()) / np.sqrt(x.var() + eps)" in run.out
    assert "+ return (x - x.mean()) / np.sqrt(x.var() + (eps * 10))" in run.out
    assert "add: a small-magnitude input would show it" in run.out
    assert " not told apart " in run.out
    assert "not-told-apart" not in run.out + run.err
    assert run.last_line.startswith("hw1: rigor 0.333 (2 of 6 mutants killed, 1 of them crashed, 2 not told apart")


def test_min_decides_the_exit_code(course: CourseOnDisk) -> None:
    names = [item for name in OWN for item in ("--only", name)]
    below = course.run("rigor", "hw1", *names, "--min", "0.95")
    assert (below.code, below.last_line) == (1, "Below --min 0.95: hw1.")
    assert course.run("rigor", "hw1", *names, "--min", "0.33").code == 0
    assert course.run("rigor", "hw1", "--min", "7").code == 2


def test_json_has_a_score_for_each_assignment_and_every_mutant(course: CourseOnDisk) -> None:
    run = course.run("rigor", "hw1", "--only", "half-shift", "--json")
    assert (run.json["schema"], run.json["command"], run.json["ok"]) == (1, "rigor", True)
    (assignment,), (mutant,) = run.json["assignments"], run.json["mutants"]
    assert (assignment["name"], assignment["score"], assignment["killed"]) == ("hw1", 1.0, 1)
    assert (mutant["name"], mutant["outcome"], mutant["case"]) == ("centre/half-shift", "killed", "centred")


def test_right_variants_are_the_second_number_and_those_that_gold_fails_are_listed(tmp_path: Path) -> None:
    course = mutated_course(tmp_path / "course", {"half-shift": OWN["half-shift"]})
    options = ("--max", "6", "--jobs", "2")
    run = course.run("rigor", "hw1", *options, "--json")
    (measured,) = run.json["assignments"]
    assert (measured["variants"], measured["accepted"], measured["refused"]) == (6, 6, [])
    assert "Right variants accepted: 6 of 6." in course.run("rigor", "hw1", *options).last_line
    assert "Right variants" not in course.run("rigor", "hw1", *options, "--variants", "0").last_line
    recipe = course.root / RECIPE_FILE  # one that asks how it is written, not what it computes
    names = "np.array([float(len(centre.__code__.co_code)), 2.0]))"
    nosy = f'@gs.case\ndef nosy(case):\n    case.record("y", {names}\n\n\n'
    recipe.write_text(recipe.read_text().replace("if __name__", f"{nosy}if __name__"))
    made = course.run("generate", "hw1")
    assert made.code == 0, made.err
    run = course.run("rigor", "hw1", *options)
    assert "Right variants of the solution that this gold fails" in run.out
    assert "by:  nosy" in run.out
    assert "Right variants accepted: 6 of 6." not in run.last_line


def test_an_unknown_name_is_bad_usage_with_a_hint(course: CourseOnDisk) -> None:
    with pytest.raises(NoSuchMutant, match="half-shift"):
        rigor_of(course, "half-shfit")


def test_a_solution_that_disagrees_with_its_gold_is_refused(tmp_path: Path) -> None:
    course = mutated_course(tmp_path / "course", {"half-shift": OWN["half-shift"]})
    solution = course.root / "private/solutions/hw1/ops_solution.py"
    solution.write_text(solution.read_text().replace("* 2.0", "* 4.0").replace("x - x.mean()", "x - x.max()"))
    stale = course.run("rigor", "hw1")
    assert stale.code == 3
    assert "stale" in stale.err
    allowed = course.run("rigor", "hw1", "--allow-stale")
    assert allowed.code == 3
    assert "does not agree with its own gold in case standardised" in allowed.err


def test_an_injected_solution_is_refused(tmp_path: Path) -> None:
    course = mutated_course(tmp_path / "course", {"half-shift": OWN["half-shift"]})
    assert course.run("inject", "hw1").code == 0
    with pytest.raises(IsInjected):
        rigor_of(course)


def test_operators_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    course = mutated_course(tmp_path / "course", {"half-shift": OWN["half-shift"]})
    (course.root / "private/operators.py").write_text("import nothing_like_it\n")
    with pytest.raises(BadOperators, match=r"private/operators\.py"):
        rigor_of(course)
    (course.root / "private/operators.py").write_text("\n")
    with pytest.raises(BadOperators, match="registers none"):
        rigor_of(course)


STEP = """
    import numpy as np


    class Net:
        def __init__(self):
            self.grad = np.zeros(4)

        def zero_grad(self):
            self.grad = np.zeros(4)

        def backward(self, x, y):
            gap = x - y
            self.grad = self.grad + gap**2


    def update(net, x, y):
        net.zero_grad()
        net.backward(x, y)
        return net.grad
"""
ONE_STEP = """
    import numpy as np

    import goldsmith as gs
    from ops import Net, update


    @gs.case
    def updated(case):
        x, y = case.input("x", lambda: np.random.randn(4)), case.input("y", lambda: np.random.randn(4))
        case.record("grad", update(Net(), x, y))


    if __name__ == "__main__":
        gs.main()
"""


def test_a_step_that_nobody_looks_at_counts_and_another_formula_for_the_same_does_not(tmp_path: Path) -> None:
    course = numpy_course(tmp_path / "course").write(
        {
            "src/assignments/hw1/ops.py": STEP.replace("net.zero_grad()\n        net.backward(x, y)", "# TODO").replace(
                "gap = x - y\n            self.grad = self.grad + gap**2", "raise NotImplementedError"
            ),
            "private/solutions/hw1/ops_solution.py": STEP,
            RECIPE_FILE: ONE_STEP,
        }
    )
    assert course.run("generate", "hw1").code == 0
    found = by_name(rigor_of(course, "update/zero-grad-missing", "Net.backward/operands-swapped"))
    missing, swapped = found["update/zero-grad-missing"], found["Net.backward/operands-swapped"]
    assert (missing.outcome, missing.counts) == ("not-told-apart", True)
    assert (swapped.outcome, swapped.counts) == ("not-told-apart", False)
