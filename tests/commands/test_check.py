"""`goldsmith check`: other implementations replayed against the gold, and what people read about them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from goldsmith.gold.manifest import read_manifest
from goldsmith.judge.verdicts import CaseVerdict
from goldsmith.process.fork_client import ForkClient
from support.check_course import RECIPE, SOLUTION, STARTER, check, checked_course, hand_in, judge, outcomes
from support.course import RECIPE_FILE, CourseOnDisk, numpy_course

# --- verdicts -------------------------------------------------------------------------------------------------------


def test_right_work_agrees_and_nothing_in_the_course_changes(checked: CourseOnDisk) -> None:
    before = checked.snapshot("src", "private", "tests")
    run = check(checked, hand_in(checked))
    assert run.code == 0
    assert run.out.splitlines()[0].endswith("agrees with the gold of hw1 in all 3 cases.")
    assert checked.snapshot("src", "private", "tests") == before


def test_the_first_line_is_the_answer_and_the_last_the_next_command(checked: CourseOnDisk) -> None:
    run = check(checked, hand_in(checked, ("return x * factor", "return x * factor * 2")))
    assert run.code == 1
    lines = run.out.splitlines()
    assert lines[0].endswith("differs in 1 of 3 cases; scale is the first to go wrong.")
    assert "Next: goldsmith check hw1" in lines[-1]
    assert lines[-1].endswith("--case scaled")
    assert "constant factor" in run.out or "times 2" in run.out


def test_json_has_every_field(checked: CourseOnDisk) -> None:
    report = check(checked, hand_in(checked, ("return x * factor", "return -x * factor")), "--json").json
    assert (report["schema"], report["command"], report["ok"]) == (1, "check", False)
    (found,) = report["submissions"]
    assert (found["outcome"], found["first_divergence"], found["first_case"]) == ("differs", "scale", "scaled")
    assert [case["outcome"] for case in found["cases"]] == ["agrees", "differs", "agrees"]
    (leaf,) = found["cases"][1]["leaves"]
    assert leaf["problem"] == "values"
    assert leaf["mismatched"] == leaf["elements"] == 15
    assert "sign" in leaf["guess"]
    assert {part["name"]: part["outcome"] for part in found["parts"]} == {
        "centre": "agrees",
        "scale": "differs",
        "Counter": "agrees",
    }


def test_only_the_cases_asked_for_are_run(checked: CourseOnDisk, warm: ForkClient) -> None:
    found = judge(checked, hand_in(checked, ("return x * factor", "return x")), warm, cases=["centred"])
    assert found.exit_code == 0
    assert outcomes(found) == {"centred": "agrees"}


def test_markdown_for_a_student_holds_no_gold_value_unless_asked(checked: CourseOnDisk) -> None:
    folder = hand_in(checked, ("return x * factor", "return x * factor + 1"))
    (found,) = check(checked, folder, "--json").json["submissions"]
    value = f"{found['cases'][1]['leaves'][0]['gold']:.6g}"
    hidden = check(checked, folder, "--markdown").out
    assert hidden.startswith("### hw1: differs")
    assert "- shown by `scaled`" in hidden
    assert "| scaled | differs |" in check(checked, folder, "--markdown", "--verbose").out
    assert value not in hidden
    assert value in check(checked, folder, "--markdown", "--reveal").out


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("return (x * factor).astype(np.float32)", "dtype"),
        ("return (x * factor).T", "shape"),
        ("return np.where(x > 1, np.nan, x * factor)", "nan"),
    ],
)
def test_a_wrong_dtype_shape_or_a_new_nan_is_never_a_pass(
    checked: CourseOnDisk, warm: ForkClient, change: str, problem: str
) -> None:
    found = judge(checked, hand_in(checked, ("return x * factor", change)), warm)
    assert found.exit_code == 1
    assert found.case("scaled").leaves[0].problem == problem


# --- what could not run is never a pass, and told apart --------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "kind", "said"),
    [
        ("raise NotImplementedError", "stub", "scale is not written yet"),
        ("raise ValueError('no such axis')", "raised", "no such axis"),
        ("return None", "stub", "scale is not written yet"),
        ("x = x * factor", "none", "is None; is a `return` missing?"),
        ("import sys; sys.exit(0)", "exit", "sys.exit(0)"),
        ("import os; os._exit(0)", "exit", "exit code 0"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "killed", "SIGKILL"),
        ("return x.to('cuda') if False else (_ for _ in ()).throw(RuntimeError('no CUDA GPUs'))", "device", "CUDA"),
    ],
)
def test_one_case_that_cannot_run_costs_no_other(
    checked: CourseOnDisk, warm: ForkClient, change: str, kind: str, said: str
) -> None:
    found = judge(checked, hand_in(checked, ("return x * factor", change)), warm)
    assert found.exit_code == 3
    assert outcomes(found) == {"centred": "agrees", "scaled": "could-not-run", "counted": "agrees"}
    assert found.case("scaled").kind == kind
    assert said in found.case("scaled").reason


def test_a_timeout_ends_an_endless_loop_and_costs_no_other(checked: CourseOnDisk, warm: ForkClient) -> None:
    """The timeout of a submission's case; by which clock is in `tests/unit/process/test_clocks.py`."""
    endless = hand_in(checked, ("return x * factor", "while True: pass"))
    found = judge(checked, endless, warm, case_timeout=0.4)
    assert found.exit_code == 3
    assert outcomes(found) == {"centred": "agrees", "scaled": "could-not-run", "counted": "agrees"}
    assert found.case("scaled").kind == "timeout"


def test_a_missing_function_costs_only_the_cases_that_use_it(checked: CourseOnDisk, warm: ForkClient) -> None:
    found = judge(checked, hand_in(checked, ("def scale(", "def scaled_differently(")), warm)
    assert outcomes(found) == {"centred": "agrees", "scaled": "could-not-run", "counted": "agrees"}
    assert found.case("scaled").reason == "ops.scale is not in the submission"


@pytest.mark.parametrize(
    ("line", "kind", "said"),
    [
        ("import wandb_that_is_not_here", "package", "wandb_that_is_not_here"),
        ("def broken(:", "import", "SyntaxError"),
        ("raise SystemExit(0)", "exit", "sys.exit(0)"),
        ("import os; os._exit(0)", "exit", "exit code 0"),
    ],
)
def test_a_file_that_cannot_be_imported_is_not_wrong(
    checked: CourseOnDisk, warm: ForkClient, line: str, kind: str, said: str
) -> None:
    found = judge(checked, hand_in(checked, ("import numpy as np\n", f"import numpy as np\n{line}\n")), warm)
    assert found.exit_code == 3
    assert set(outcomes(found).values()) == {"could-not-run"}
    assert {case.kind for case in found.cases} == {kind}
    assert said in found.case("centred").reason


def test_the_trace_of_an_error_names_the_submission_s_own_lines(checked: CourseOnDisk) -> None:
    run = check(checked, hand_in(checked, ("return x * factor", "return x * undefined_name")))
    assert "ops.py:17 in scale: return x * undefined_name" in run.out
    assert "/tmp/" not in run.out.replace(str(checked.root.parent), "")


# --- conduct --------------------------------------------------------------------------------------------------------


def test_another_answer_the_second_time_is_a_finding(checked: CourseOnDisk, warm: ForkClient) -> None:
    remembers = """
        calls = []


        def scale(x, factor=3.0):
            calls.append(1)
            return x * (factor if len(calls) == 1 else 1)"""
    found = judge(checked, hand_in(checked, ("def scale(x, factor=3.0):\n    return x * factor", remembers)), warm)
    assert outcomes(found)["scaled"] == "differs"
    assert "the second time" in found.case("scaled").reason


def test_overwriting_an_input_is_a_note_unless_the_course_says_otherwise(tmp_path: Path) -> None:
    course = checked_course(tmp_path / "course")
    folder = hand_in(course, ("return x * factor", "x *= factor\nreturn x"))
    run = check(course, folder)
    assert run.code == 0
    assert "Note: overwrites its input x (scaled)." in run.out
    assert "shares memory with its input x" in run.out
    course.write({"goldsmith.toml": '[assignment.hw1]\noverwriting = "differs"\n'})
    assert check(course, folder).code == 1


IN_PLACE = ("return x * factor", "x[0] *= factor\n        return x[0] + x[1]")


def test_only_inputs_that_the_solution_leaves_alone_must_be_left_alone(tmp_path: Path, warm: ForkClient) -> None:
    """The solution scales the first of two arrays in place: so may everybody, and nobody has to."""
    course = numpy_course(tmp_path / "course")
    course.write(
        {
            "src/assignments/hw1/ops.py": STARTER,
            "private/solutions/hw1/ops_solution.py": SOLUTION.replace(*IN_PLACE),
            RECIPE_FILE: RECIPE.replace("np.random.randn(3, 5)", "[*np.random.randn(2, 3, 5)]"),
            "goldsmith.toml": '[assignment.hw1]\noverwriting = "differs"\n',
        }
    )
    course.with_gold()
    cases = read_manifest(course.gold()).cases
    assert [case.overwrites for case in cases] == [(), ("x.0",), ()]

    def found(code: str) -> CaseVerdict:
        return judge(course, hand_in(course, ("return x * factor", code)), warm).case("scaled")

    as_the_solution = found("x[0] *= factor\nreturn x[0] + x[1]")
    assert (as_the_solution.outcome, as_the_solution.notes) == ("agrees", ())
    assert found("return x[0] * factor + x[1]").outcome == "agrees"
    other = found("x[1] += x[0] * factor\nreturn x[1]")
    assert (other.outcome, other.reason) == ("differs", "overwrites its input x.1")
    assert found("x[0] *= factor\nx[0] += x[1]\nx.pop()\nreturn x[0]").reason == "overwrites its input x.1"


def test_memory_that_nothing_was_written_to_is_a_finding(checked: CourseOnDisk, warm: ForkClient) -> None:
    lucky = "answer = x * factor\ndel answer\nreturn np.empty_like(x)"
    found = judge(checked, hand_in(checked, ("return x * factor", lucky)), warm)
    assert found.case("scaled").outcome == "differs"


def test_a_nan_that_is_a_plain_number_is_told_from_none(checked: CourseOnDisk, warm: ForkClient) -> None:
    found = judge(checked, hand_in(checked, ("return x * factor", "return float('nan')")), warm)
    assert found.case("scaled").outcome == "differs"


def test_extra_return_values_are_a_note(checked: CourseOnDisk) -> None:
    run = check(checked, hand_in(checked, ("return x * factor", "return x * factor, factor")))
    assert run.code == 0
    assert "came as 2 items; the first was judged" in run.out


# --- what can be submitted ------------------------------------------------------------------------------------------


def test_a_file_a_folder_a_course_and_a_revision_can_be_handed_in(tmp_path: Path) -> None:
    course = checked_course(tmp_path / "course")
    folder = Path(hand_in(course))
    assert check(course, str(folder / "ops.py")).code == 0
    assert check(course, "private/solutions/hw1").code == 0
    assert check(course, "private/solutions/hw1/ops_solution.py").code == 0
    whole = tmp_path / "whole repository"
    shutil.copytree(folder, whole / "ada-main" / "src/assignments/hw1")
    assert check(course, str(whole)).code == 0
    course.git("init", "-q", "-b", "main")
    course.git("add", "-A")
    course.git("commit", "-qm", "the course")
    course.git("switch", "-qc", "ada")
    shutil.copy(folder / "ops.py", course.root / "src/assignments/hw1/ops.py")
    course.git("commit", "-qam", "done")
    course.git("switch", "-q", "main")
    assert check(course, "ada").code == 0
    assert check(course).code == 3, "the tree as it stands is the starter"
    shutil.copy(folder / "ops.py", course.root / "src/assignments/hw1/ops.py")
    run = check(course)
    assert run.code == 0, run.out
    assert run.out.startswith("the tree as it stands: agrees")


def test_what_cannot_be_checked_is_said_in_one_sentence(checked: CourseOnDisk, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    linked = tmp_path / "linked"
    linked.mkdir()
    (linked / "ops.py").symlink_to(checked.root / "private/solutions/hw1/ops_solution.py")
    (tmp_path / "other name").mkdir()
    (tmp_path / "other name" / "model.py").write_text("x = 1")
    for arguments, said in [
        (["nowhere"], "nowhere is neither a file, nor a folder, nor a git revision of this course; give the path"),
        ([str(empty)], "it holds no Python file; submit ops.py."),
        (["tests/internal/fixtures/hw1/README.md"], "it is not a Python file, a notebook or a folder"),
        (
            ["src/assignments/hw1/generate_fixtures.py"],
            "generate_fixtures.py is not a file that students write;",
        ),
        ([str(linked)], "contains a link, ops.py, that points outside it;"),
        ([str(tmp_path / "other name")], "none of the starter's files is in it;"),
        ([hand_in(checked), "--device", "cuda:7"], "cuda:7"),
        ([hand_in(checked), "--case", "other"], "there is no case other; there are centred, scaled, counted."),
    ]:
        run = check(checked, *arguments)
        assert run.code == (3 if "--device" in arguments else 2)
        assert said in run.err
        assert len(run.err.strip().splitlines()) == 1


@pytest.mark.parametrize("line", ["import sys; sys.exit(0)", "rename(", "raise ValueError", "rename('a.*', 'b')"])
def test_an_adapter_that_cannot_be_read_is_bad_usage(checked: CourseOnDisk, tmp_path: Path, line: str) -> None:
    adapter = tmp_path / "adapter.py"
    adapter.write_text(f"from goldsmith.adapter import rename\n{line}\n")
    run = check(checked, hand_in(checked), "--adapter", str(adapter))
    assert run.code == 2
    assert "cannot be used" in run.err


def test_missing_and_stale_gold_are_errors(tmp_path: Path) -> None:
    course = checked_course(tmp_path / "course")
    folder = hand_in(course)
    course.write({"private/solutions/hw1/ops_solution.py": SOLUTION.replace("x * factor", "factor * x")})
    run = check(course, folder)
    assert run.code == 3
    assert "is stale: private/solutions/hw1/ops_solution.py changed since the gold was made" in run.err
    assert check(course, folder, "--allow-stale").code == 0
    shutil.rmtree(course.gold())
    run = check(course, folder)
    assert run.code == 3
    assert "there is no gold for hw1; make it with `goldsmith generate hw1`." in run.err


# --- provided code --------------------------------------------------------------------------------------------------


def test_changed_provided_code_is_a_verdict_of_its_own(checked: CourseOnDisk, warm: ForkClient) -> None:
    changed = ("return x.mean(axis=-1, keepdims=True)", "return x.mean(axis=0, keepdims=True)")
    found = judge(checked, hand_in(checked, changed), warm)
    assert found.exit_code == 1
    assert (found.outcome, found.provided) == ("provided-changed", ("mean_of",))
    assert outcomes(found) == {"centred": "provided-changed", "scaled": "agrees", "counted": "agrees"}


@pytest.mark.parametrize("begin", [b"\xef\xbb\xbf", b"# coding: latin-1\n# caf\xe9\n", b"# \x0c a form feed\n"])
def test_changed_provided_code_is_seen_however_the_file_is_encoded(
    checked: CourseOnDisk, warm: ForkClient, begin: bytes
) -> None:
    changed = ("return x.mean(axis=-1, keepdims=True)", "return x.mean(axis=0, keepdims=True)")
    folder = hand_in(checked, changed)
    file = Path(folder, "ops.py")
    file.write_bytes(begin + file.read_bytes())
    found = judge(checked, folder, warm)
    assert (found.outcome, found.provided) == ("provided-changed", ("mean_of",))


def test_a_wrong_part_stays_wrong_when_provided_code_is_changed_too(checked: CourseOnDisk, warm: ForkClient) -> None:
    changed = ("return x.mean(axis=-1, keepdims=True)", "return np.mean(x, axis=-1, keepdims=True)")
    found = judge(checked, hand_in(checked, changed, ("return x - mean_of(x)", "return x + mean_of(x)")), warm)
    assert (found.outcome, found.provided) == ("differs", ("mean_of",))


def test_harmless_changes_to_provided_code_agree_with_a_note(checked: CourseOnDisk) -> None:
    changed = ("return x.mean(axis=-1, keepdims=True)", "return np.mean(x, axis=-1, keepdims=True)")
    run = check(checked, hand_in(checked, changed))
    assert run.code == 0
    assert "Note: provided code is not as it was given: mean_of." in run.out


def test_provided_code_may_move_to_another_file(checked: CourseOnDisk, warm: ForkClient) -> None:
    mean = 'def mean_of(x):\n    """Provided."""\n    return x.mean(axis=-1, keepdims=True)\n'
    for helper, changed in ((mean, ()), (mean.replace("-1", "0"), ("mean_of",))):
        moved = hand_in(checked, (mean, "from helper import mean_of\n"), helper=helper)
        assert judge(checked, moved, warm).provided == changed
    Path(moved, "helper.py").unlink()


def test_weights_of_plain_objects_are_placed_by_shape_and_by_an_adapter(tmp_path: Path, warm: ForkClient) -> None:
    course = checked_course(tmp_path / "course")
    renamed = ("self.start = np", "self.beginning = np"), ("self.start + x", "self.beginning + x")
    assert judge(course, hand_in(course, *renamed), warm).outcome == "agrees"
    two = (renamed[0][0], "self.other = np.zeros(size)\nself.beginning = np"), renamed[1]
    found = judge(course, hand_in(course, *two), warm)
    assert found.case("counted").outcome == "could-not-run"
    said = "your model has more than one layer that could match start (5), closest: "
    assert found.case("counted").reason.startswith(said)
    rule = 'from goldsmith.adapter import rename\nrename("start", "beginning")\n'
    course.write({"src/assignments/hw1/adapt_submission.py": rule})
    assert judge(course, hand_in(course, *two), warm).outcome == "agrees"


def test_the_starter_itself_could_not_run(checked: CourseOnDisk, warm: ForkClient, tmp_path: Path) -> None:
    folder = tmp_path / "untouched"
    folder.mkdir()
    (folder / "ops.py").write_text(STARTER.replace("\n    ", "\n"))
    found = judge(checked, str(folder), warm)
    assert found.exit_code == 3
    assert {case.kind for case in found.cases} == {"stub"}
