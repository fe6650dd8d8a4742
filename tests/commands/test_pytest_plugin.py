"""The pytest plugin, seen from a course's own tests: real pytest runs on real gold."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.course import RECIPE_FILE, CourseOnDisk, recipe
from support.pytest_course import CASES, EACH_CASE, RIGHT, STUB, WRONG_LEFT_OF_ZERO, PluggedCourse, failures


def test_a_test_reads_and_checks_gold(plugged: PluggedCourse) -> None:
    result = plugged.pytest(
        """
        import numpy as np
        import pytest

        def line(x):
            return x * 2.0 + 1.0

        def test_plain_values(gold):
            assert gold("hw1").input.shape == (3, 5)
            assert np.allclose(gold("hw1").output, line(gold("hw1").input))
            assert gold("hw1")["negative"].output.shape == (4,)
            assert gold("hw1").seed == 42 and len(gold("hw1")) == 3

        def test_functions(gold):
            assert gold("hw1").check(line)
            assert gold("hw1")["negative"].check(lambda x: (line(x), "extra"))

        @pytest.mark.gold("hw1")
        def test_names(gold):
            case = gold()["negative"]
            assert case.assert_close("y", line(case.input))
            assert gold().assert_close("y", line(gold().input))
            assert gold().assert_close("negative.y", line(case.input))
            x = gold()["nested"].input
            assert gold().assert_close("nested.parts", {"a.b": line(x), "c": [line(-x)]})
            assert gold().assert_close("nested.parts.a.b", line(x))
            assert gold().assert_close("nested.parts.c.0", line(-x))
            assert gold().assert_close("nested.label", "line")

        def test_what_a_test_does_to_gold_stays_in_the_test(gold):
            shown = gold("hw1").output
            shown += 1
            gold("hw1").check(line)
            with pytest.raises(AssertionError):
                gold("hw1").assert_close("y", shown)
        """
    )
    result.assert_outcomes(passed=4)


def test_a_failure_says_what_where_and_how_far(plugged: PluggedCourse) -> None:
    result = plugged.pytest(
        """
        def test_offset(gold):
            gold("hw1").check(lambda x: x * 2.0)

        def test_dtype(gold):
            gold("hw1").assert_close("y", gold("hw1").output.astype("float32"))

        def test_nothing(gold):
            gold("hw1").assert_close("negative.y", None)

        def test_no_return(gold):
            gold("hw1").check(lambda x: None)

        def test_shape(gold):
            gold("hw1").check(lambda x: x[0])

        def test_odd_things(gold):
            gold("hw1").assert_close("y", object())

        def test_empty(gold):
            gold("hw1").assert_close("nested.parts", {})
        """
    )
    result.assert_outcomes(failed=7)
    text = result.stdout.str()
    assert failures(result)[0] == "goldsmith.GoldMismatch: hw1, gold_output: differs: 1 of 1 leaf"
    assert "actual is gold plus -1" in text
    assert "y: is float32, gold is float64" in text
    assert "hw1, negative: y is None; is a `return` missing?" in text
    assert "hw1, gold_output: y is None; is a `return` missing?" in text
    assert re.search(r"y: has shape \[5\], gold has \[3, 5\]\nE +hint: .*\.replay\(\)", text)
    assert "y is an object, not an array or plain value" in text
    assert re.search(r"^FAILED \S+::test_offset - hw1, gold_output: differs", text, re.M)
    assert "handles.py" not in text  # the traceback ends at the test's own line


def test_asking_for_what_gold_has_not_is_an_error_that_lists_what_it_has(plugged: PluggedCourse) -> None:
    result = plugged.pytest(
        """
        import pytest

        def test_output(gold):
            gold("hw1").assert_close("logits", 1.0)

        def test_case(gold):
            gold("hw1")["positive"]

        def test_assignment(gold):
            gold("hw2")

        @pytest.mark.xfail
        @pytest.mark.gold("hw3")
        def test_marked():
            pass

        def test_form(gold):
            gold("hw1")["nested"].check(lambda x: x)

        def test_no_marker(gold_case):
            gold_case.assert_agrees()

        def test_no_name(gold):
            gold()
        """
    )
    result.assert_outcomes(errors=7)
    text = result.stdout.str()
    assert "gold has no output 'logits'; there are y, gold_output.y, negative.y, nested.parts, nested.label." in text
    assert "there is no case positive; there are gold_output, negative, nested." in text
    assert "no assignment is called 'hw2'" in text
    assert "case nested records parts, label, not one output" in text
    assert text.count("mark the test with @pytest.mark.gold") >= 2


def test_without_a_default_case_the_cases_are_named(plugged: PluggedCourse) -> None:
    plugged.write({RECIPE_FILE: recipe(CASES.replace("gold_output", "positive"))})
    assert plugged.run("generate", "hw1").code == 0
    result = plugged.pytest("def test_it(gold):\n    gold('hw1').output\n")
    result.assert_outcomes(errors=1)
    assert "has no case gold_output; name one of positive, negative, nested" in result.stdout.str()


def test_each_case_is_a_test_and_only_the_wrong_one_fails(plugged: PluggedCourse) -> None:
    plugged.write({STUB: WRONG_LEFT_OF_ZERO})
    result = plugged.pytest(EACH_CASE)
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["PASSED *::test_case?gold_output?", "FAILED *::test_case?negative? - the tree as it*"])
    lines = failures(result)
    assert lines[0].startswith("goldsmith.GoldMismatch: the tree as it stands: differs in 1 of 1 case; scale")
    assert any(re.search(r"^worst at \[\d\]: .*, gold -", line) for line in lines)
    assert lines[-1].startswith("cosine ")


def test_what_is_not_written_yet_fails_with_its_reason_and_is_not_skipped(plugged: PluggedCourse) -> None:
    result = plugged.pytest(EACH_CASE)
    result.assert_outcomes(failed=3)
    assert "not started: what is left to write is as it was given" in result.stdout.str()


def test_under_xdist_the_replay_still_runs_once(plugged: PluggedCourse) -> None:
    count = "import pathlib\npathlib.Path({!r}).open('a').write('x')\n".format(str(plugged.root / "imported"))
    plugged.write({STUB: count + WRONG_LEFT_OF_ZERO})
    result = plugged.pytest(EACH_CASE, "-n", "2")
    result.assert_outcomes(passed=2, failed=1)
    parallel = (plugged.root / "imported").read_text()
    (plugged.root / "imported").unlink()
    assert plugged.run("check", "hw1").code == 1
    assert parallel == (plugged.root / "imported").read_text() != ""


def test_other_submissions_can_be_replayed(plugged: PluggedCourse) -> None:
    plugged.write({"submissions/ada/ops.py": RIGHT, "submissions/bob/ops.py": WRONG_LEFT_OF_ZERO})
    tests = """
        import pytest

        @pytest.mark.rigor
        def test_named_in_the_test(gold):
            assert gold("hw1").replay("submissions/ada").agrees
            assert not gold("hw1").replay("submissions/bob", cases=["negative"]).agrees

        @pytest.mark.rigor
        def test_named_on_the_command_line(gold):
            replay = gold("hw1").replay()
            assert replay.verdict.name == "submissions/bob"
            assert gold("hw1")["gold_output"].replay().agrees
            replay.assert_agrees()

        def test_not_chosen():
            raise AssertionError
    """
    plugged.write({"pytest.ini": "[pytest]\naddopts = --strict-markers\nmarkers = rigor: internal\n"})
    result = plugged.pytest(tests, "-m", "rigor", "--gold-submission", "submissions/bob")
    result.assert_outcomes(passed=1, failed=1, deselected=1)
    assert failures(result)[0].startswith("goldsmith.GoldMismatch: submissions/bob: differs in 1 of 3 cases")


@pytest.fixture
def solved(pytester: pytest.Pytester, example: CourseOnDisk) -> PluggedCourse:
    """The bundled course with the solution of its first assignment in place, and the tests that the page shows."""
    shutil.copytree(example.root, pytester.path, dirs_exist_ok=True)
    shutil.rmtree(pytester.path / "tests/internal", ignore_errors=True)
    shutil.copytree(example.root / "tests/internal/fixtures", pytester.path / "tests/internal/fixtures")
    solution = pytester.path / "private/solutions/scratch-1/backbone_solution.py"
    shutil.copy(solution, pytester.path / "src/assignments/scratch-1/backbone.py")
    page = (Path(__file__).parents[2] / "docs/testing.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n# (\S+)\n(.*?)^```$", page, re.M | re.S)
    course = PluggedCourse(pytester.path, pytester)
    course.write(dict(blocks))
    return course


@pytest.mark.long
@pytest.mark.torch
def test_models_built_as_documented_or_otherwise_or_wrong(solved: PluggedCourse) -> None:
    result = solved.pytest(
        """
        import backbone
        import pytest
        import torch

        pytestmark = pytest.mark.rigor

        def build(case):
            return backbone.DecoderOnlyTransformer(**case.model_config).train()

        def test_after_a_check_the_model_is_as_before_but_for_golds_weights(gold):
            model = build(gold("scratch-1"))
            assert gold("scratch-1").check(model)
            assert model.training
            torch.testing.assert_close(model.lm_head.weight, gold("scratch-1").state_dict["lm_head.weight"])

        def test_fused_weights(gold):
            class FeedForward(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.gate_up = torch.nn.Linear(24, 80)
                    self.out = torch.nn.Linear(40, 24)

                def forward(self, x):
                    gate, up = self.gate_up(x).chunk(2, dim=-1)
                    return self.out(torch.nn.functional.silu(gate) * up), {"extra": 1}

            gold("scratch-1")["feed_forward"].check(FeedForward())

        def test_called_as_the_adapter_says(gold):
            case = gold("scratch-1")["attention"]

            class CausalSelfAttention(backbone.CausalSelfAttention):
                def forward(self, x, mask):
                    assert mask.dtype == torch.bool
                    return super().forward(x)

            model = CausalSelfAttention(**case.model_config)
            case.check(model)
            assert "forward" not in vars(model)

        def test_weights_that_fit_nowhere(gold):
            with pytest.raises(AssertionError, match="do not fit into Linear"):
                gold("scratch-1")["feed_forward"].check(torch.nn.Linear(3, 3))

        def test_not_one_call(gold):
            gold("scratch-1")["generation"].check(build(gold("scratch-1")["generation"]))

        def test_wrong(gold):
            model = build(gold("scratch-1"))
            model.lm_head.register_forward_hook(lambda module, inputs, output: output * 1.01)
            gold("scratch-1").check(model)
    """,
        "-m",
        "rigor",
        "tests/internal",
    )
    result.assert_outcomes(passed=25 + 5 + 4, failed=1, errors=1)
    assert "case generation calls its model 30 times" in result.stdout.str()
    assert "scratch-1, gold_output: differs: 1 of 1 leaf" in result.stdout.str()
    assert "actual is gold times 1.01" in result.stdout.str()


def test_a_pytest_that_has_nothing_to_do_with_gold_pays_nothing(tmp_path: Path) -> None:
    code = (
        "import sys, pytest\n"
        "pytest.main(['--co', '-q', '-p', 'no:cacheprovider', '-p', 'goldsmith.pytest_plugin'])\n"
        "assert 'goldsmith.pytest_plugin' in sys.modules\n"
        "heavy = {'numpy', 'torch', 'msgspec', 'rich', 'goldsmith.courses.layout', 'goldsmith.errors'}\n"
        "heavy &= set(sys.modules)\n"
        "sys.exit(str(sorted(heavy)) if heavy else 0)\n"
    )
    alone = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # other plugins may import NumPy
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, env=alone)
    assert done.returncode == 0, done.stdout + done.stderr
