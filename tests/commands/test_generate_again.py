"""Regenerating where gold stands already: recorded draws, cases that stand, what caused a difference."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

from goldsmith.generate.verify import Proof
from goldsmith.render.gold_diff import verify_line
from support.course import RECIPE_FILE, SOLUTION_FILE, CourseOnDisk, numpy_course, recipe

TORCH = """
    import torch

    @gs.case
    def gold_output(case):
        model = case.model(torch.nn.Linear, 40, 30)
        case.record("y", model(case.input("x", lambda: torch.randn(8, 40))))

    @gs.case
    def other(case):
        case.record("y", scale(case.input("x", lambda: torch.randn(64))))
"""


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    """A course in git whose gold has measured tolerances; not to be changed."""
    course = numpy_course(tmp_path_factory.mktemp("measured") / "course").write({RECIPE_FILE: recipe(TORCH)})
    made = course.run("generate", "hw1", calibrate=True, **FIRST)
    assert made.code == 0, made.out + made.err
    for arguments in (("init", "--quiet"), ("add", "--all"), ("commit", "--quiet", "--message", "all")):
        course.git(*arguments)
    return course


@pytest.fixture
def small(measured: CourseOnDisk, tmp_path: Path) -> CourseOnDisk:
    shutil.copytree(measured.root, tmp_path / "course", symlinks=True)
    return CourseOnDisk(tmp_path / "course")


FIRST, PLAIN = {"ATEN_CPU_CAPABILITY": "avx2"}, {"ATEN_CPU_CAPABILITY": "default"}
"""Makes two machines out of this one, where it has these instructions: torch then uses those."""


def regenerate(course: CourseOnDisk, *options: str, calibrate: bool = True, **env: str) -> dict[str, Any]:
    run = course.run("generate", "hw1", *options, "--json", calibrate=calibrate, **env)
    assert run.out, run.err
    return run.json["assignments"][0]


def payload(course: CourseOnDisk, case: str) -> Any:
    import torch

    return torch.load(course.gold() / f"{case}.pt")


@pytest.mark.long
@pytest.mark.torch
def test_draws_are_used_again_until_new_ones_are_asked_for(small: CourseOnDisk) -> None:
    before = small.gold_bytes()
    kept = regenerate(small, "--force", **PLAIN)
    assert (kept["outcome"], kept["redrawn"]) == ("unchanged", {})
    assert any("instruction set" in fact for fact in kept["environment"]) or kept["noise"] is None
    assert small.gold_bytes() == before
    redrawn = regenerate(small, "--redraw", "--check", **PLAIN)
    assert redrawn["redrawn"] == {"gold_output": "--redraw was given", "other": "--redraw was given"}
    assert redrawn["outcome"] == "stale" or not kept["environment"], "randn comes out differently there"


@pytest.mark.long
@pytest.mark.torch
def test_exact_asks_for_bits(small: CourseOnDisk) -> None:
    before = small.gold_bytes()
    run = small.run("generate", "hw1", "--check", "--exact", "--json", yes=False, **PLAIN)
    item = run.json["assignments"][0]
    assert run.code == (1 if item["changes"] else 0)
    assert small.gold_bytes() == before


TWO = """
    @gs.case
    def gold_output(case):
        case.record("y", np.sin(case.input("x", lambda: np.random.randn(8, 3))))

    @gs.case
    def other(case):
        case.record("y", scale(case.input("x", lambda: np.random.randn(7).astype(np.float32))))
"""


def test_a_change_to_one_function_rewrites_only_its_cases(course: CourseOnDisk) -> None:
    course.write({RECIPE_FILE: recipe(TWO)}).with_gold(calibrate=True)
    before = course.gold_bytes()
    course.write({SOLUTION_FILE: "def scale(x):\n    return x * 2.5 + 1.0\n"})
    shown = course.run("generate", "hw1", "--check", yes=False).out
    assert "FAILED" not in shown
    assert "removed, since no case makes them any more" not in shown
    assert "1 tensor would be measured, others as before" in shown
    assert "  would change other.npz" in shown
    assert "  same         gold_output.npz" in shown
    assert course.gold_bytes() == before
    item = regenerate(course)
    assert item["outcome"] == "published"
    assert {change["case"] for change in item["changes"]} == {"other"}
    after = course.gold_bytes()
    traced = {"other.npz", "other.trace.safetensors", "other.reference.safetensors"}
    assert {name for name in after if after[name] != before.get(name)} == {*traced, "manifest.json", "README.md"}
    assert regenerate(course, "--force")["outcome"] == "unchanged"


@pytest.mark.long
@pytest.mark.torch
def test_a_change_to_one_function_rewrites_only_its_cases_on_another_machine_too(small: CourseOnDisk) -> None:
    before = small.gold_bytes()
    small.write({SOLUTION_FILE: "def scale(x):\n    return x * 2.5 + 1.0\n"})
    item = regenerate(small, **PLAIN)
    assert item["outcome"] == "published"
    assert {change["case"] for change in item["changes"]} == {"other"}
    after = small.gold_bytes()
    changed = {name for name in after if after[name] != before.get(name)}
    traced = {"other.pt", "other.trace.safetensors", "other.reference.safetensors"}
    assert changed == {*traced, "manifest.json", "README.md"}
    entry = {case["name"]: case for case in json.loads(after["manifest.json"])["cases"]}
    assert entry["gold_output"]["environment"] is None
    assert (entry["other"]["environment"] is None) == (not item["environment"])
    assert small.run("verify", "hw1").code == 0
    assert regenerate(small, "--force", **FIRST)["outcome"] == "unchanged", "back on the first machine, too"


@pytest.mark.long
@pytest.mark.torch
def test_a_case_whose_own_code_changed_draws_again(small: CourseOnDisk) -> None:
    small.write({RECIPE_FILE: recipe(TORCH.replace("torch.randn(64)", "torch.randn(65)"))})
    run = small.run("diff", "hw1", "--json", **PLAIN)
    (item,) = run.json["assignments"]
    assert run.code == 1
    assert item["redrawn"] == {"other": "its own code in the recipe changed"}
    assert "case other drew inputs and weights again: its own code in the recipe changed" in item["notes"]
    assert {change["case"] for change in item["changes"]} == {"other"}


@pytest.mark.long
@pytest.mark.torch
def test_recorded_draws_that_no_longer_fit_are_drawn_again(course: CourseOnDisk) -> None:
    """The recipe is the same; what the solution builds has another shape."""
    body = """
        import torch
        from ops import scale, build

        @gs.case
        def gold_output(case):
            model = case.model(build)
            case.record("y", model(case.input("x", lambda: torch.randn(3, 8))))
    """
    starter = "def scale(x):\n    raise NotImplementedError\n\ndef build():\n    raise NotImplementedError\n"
    solution = "import torch\n\ndef scale(x):\n    return x\n\ndef build():\n    return torch.nn.Linear(8, {})\n"
    course.write({RECIPE_FILE: recipe(body), "src/assignments/hw1/ops.py": starter})
    course.write({SOLUTION_FILE: solution.format(4)})
    assert regenerate(course, calibrate=False)["outcome"] == "published"
    course.write({SOLUTION_FILE: solution.format(5)})
    item = regenerate(course, calibrate=False, **PLAIN)
    assert item["outcome"] == "published", item
    (why,) = item["redrawn"].values()
    assert why == "weights of model: weight has shape [5, 8] now, [4, 8] in the gold"
    assert payload(course, "gold_output")["output"].shape == (3, 5)


@pytest.mark.torch
@pytest.mark.long
def test_initial_weights_of_another_kind_are_drawn_again(course: CourseOnDisk) -> None:
    body = """
        import torch
        from ops import scale, build

        @gs.case
        def gold_output(case):
            case.record("y", case.model(build)(case.input("x", lambda: torch.randn(3, 40))))
    """
    starter = "def scale(x):\n    raise NotImplementedError\n\ndef build():\n    raise NotImplementedError\n"
    solution = (
        "import torch\n\ndef scale(x):\n    return x\n\ndef build():\n    layer = torch.nn.Linear(40, 30)\n"
        "    torch.nn.init.normal_(layer.weight, std={})\n    return layer\n"
    )
    course.write({RECIPE_FILE: recipe(body), "src/assignments/hw1/ops.py": starter})
    course.write({SOLUTION_FILE: solution.format(0.02)})
    assert regenerate(course, calibrate=False)["outcome"] == "published"
    course.write({SOLUTION_FILE: solution.format("0.02  # as in the paper")})
    assert regenerate(course, calibrate=False, **PLAIN)["redrawn"] == {}, "drawn from the same distribution"
    course.write({SOLUTION_FILE: solution.format(0.05)})
    assert "another distribution" in regenerate(course, calibrate=False, **PLAIN)["redrawn"]["gold_output"]


@pytest.mark.torch
def test_a_changed_data_file_is_read_again(course: CourseOnDisk) -> None:
    """Draws are recorded, but what is read from a file follows the file."""
    body = """
        from pathlib import Path
        import numpy as np

        @gs.case
        def gold_output(case):
            table = np.loadtxt(Path(__file__).parents[3] / "data.csv")
            case.record("y", scale(case.input("x", lambda: table)))
    """
    course.write({RECIPE_FILE: recipe(body), "data.csv": "1\n2\n4\n"})
    assert regenerate(course, calibrate=False)["outcome"] == "published"
    course.write({"data.csv": "1\n2\n5\n"})
    item = regenerate(course, calibrate=False)
    assert "has changed" in item["redrawn"]["gold_output"]
    assert {change["path"] for change in item["changes"]} == {"input", "output"}


def test_inputs_that_are_not_seeded_are_still_refused(course: CourseOnDisk) -> None:
    body = """
        import os

        @gs.case
        def gold_output(case):
            shift = {}
            case.record("y", scale(case.input("x", lambda: np.random.randn(3, 5) + shift)))
    """
    course.write({RECIPE_FILE: recipe(body.replace("{}", "0.0"))})
    assert course.run("generate", "hw1").code == 0
    course.write({RECIPE_FILE: recipe(body.replace("{}", "int.from_bytes(os.urandom(2), 'little')"))})
    run = course.run("generate", "hw1")
    assert run.code == 3
    assert "is a random source unseeded?" in run.out


# --- what caused it


@pytest.mark.long
@pytest.mark.torch
def test_the_environment_is_told_from_the_code(small: CourseOnDisk) -> None:
    small.write({SOLUTION_FILE: "def scale(x):\n    return x * 2.5 + 1.0\n"})
    run = small.run("verify", "hw1", "--reproduce", "--json", **PLAIN)
    (item,) = run.json["assignments"]
    assert (run.code, item["outcome"]) == (1, "stale")
    assert item["sources"] == [f"{SOLUTION_FILE} changed since the gold was made"]
    causes = {tensor["case"]: tensor for tensor in item["attribution"]["tensors"]}
    assert causes["other"]["cause"] == "code"
    assert causes["other"]["code"] > 1
    assert causes.get("gold_output", {"cause": "environment"})["cause"] == "environment"
    said = verify_line(msgspec.convert(item, Proof))
    assert said.startswith("hw1: 1 tensor would change; the code moved 1 tensor, by at most ")


@pytest.mark.torch
@pytest.mark.long
def test_with_the_same_sources_it_is_the_environment(small: CourseOnDisk) -> None:
    run = small.run("verify", "hw1", "--reproduce", "--json", **PLAIN)
    (item,) = run.json["assignments"]
    assert (run.code, item["outcome"]) == (0, "unchanged"), run.out
    if not item["reproduced"]:
        assert (item["attribution"]["cause"], item["attribution"]["float64_moved"]) == ("environment", False)
        assert "the same sources, float64 has not moved: the environment" in verify_line(msgspec.convert(item, Proof))


def test_old_sources_that_git_does_not_have_are_named(course: CourseOnDisk) -> None:
    course.with_gold()
    course.write({SOLUTION_FILE: "def scale(x):\n    return x * 7\n"})
    run = course.run("verify", "hw1", "--reproduce", "--json")
    (item,) = run.json["assignments"]
    assert item["attribution"]["cause"] == "unknown"
    assert item["attribution"]["unknown"] == f"{SOLUTION_FILE} as it was is not in git's history"


# --- manifests of other versions


def rewrite(course: CourseOnDisk, change: Any) -> None:
    """A manifest changed as another version would have written it, its digest included."""
    path = course.gold() / "manifest.json"
    manifest = json.loads(path.read_text())
    change(manifest)
    manifest["digest"] = ""
    digest = hashlib.sha256((json.dumps(manifest, indent=2) + "\n").encode()).hexdigest()
    path.write_text(json.dumps(manifest | {"digest": digest}, indent=2) + "\n")


def as_schema_3(manifest: dict[str, Any]) -> None:
    manifest["schema"] = 3
    manifest["provenance"]["environment"].pop("processor")
    for case in manifest["cases"]:
        del case["code"], case["environment"]
    if manifest["calibration"]:
        del manifest["calibration"]["method"]
        manifest["calibration"]["key"] = "0" * 64


def test_a_manifest_of_an_older_version_is_still_judged(course: CourseOnDisk) -> None:
    assert course.run("generate", "hw1", calibrate=True).code == 0
    rewrite(course, as_schema_3)
    before = course.gold_bytes()
    assert course.run("status").out.splitlines()[-1] == "All gold is fresh."
    assert course.run("verify", "hw1", "--reproduce").last_line.endswith("reproduced bit for bit.")
    assert course.run("generate", "hw1", "--force", calibrate=True).last_line.startswith("hw1: not a byte changed")
    assert course.gold_bytes() == before
    course.write(
        {
            RECIPE_FILE: recipe(
                (course.root / RECIPE_FILE).read_text().partition("\n\n\n")[2].replace("(3, 5)", "(3, 6)")
            )
        }
    )
    redrawn = regenerate(course)["redrawn"]
    assert redrawn == {"gold_output": "the recipe changed, and the gold is too old to say which code drew what"}


def test_gold_of_a_newer_version_is_left_alone(course: CourseOnDisk) -> None:
    course.with_gold()
    rewrite(course, lambda manifest: manifest.update(schema=99))
    before = course.gold_bytes()
    for command in (("generate", "hw1", "--force"), ("verify", "hw1"), ("check", "hw1", "private/solutions/hw1")):
        run = course.run(*command)
        assert run.code in (1, 3), run.out
        assert "a newer goldsmith wrote it (schema 99, this one reads up to 5)" in run.out + run.err
    assert "a newer goldsmith wrote it" in course.run("status").out
    assert course.gold_bytes() == before


@pytest.mark.long
@pytest.mark.torch
def test_gold_that_was_recorded_on_a_gpu_is_checked_on_the_cpu(small: CourseOnDisk) -> None:
    def on_a_gpu(manifest: dict[str, Any]) -> None:
        manifest["provenance"]["environment"]["device"] = "cuda (NVIDIA H200)"
        manifest["provenance"]["command"] += " --device cuda"

    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    rewrite(small, on_a_gpu)
    before = small.gold_bytes()
    run = small.run("generate", "hw1", "--check", yes=False)
    assert run.code == 0, run.out + run.err
    assert "the gold was recorded on cuda, which is not here, so the recipe ran on the CPU" in run.out
    assert small.gold_bytes() == before


@pytest.mark.long
@pytest.mark.torch
def test_a_dry_run_says_what_would_become_of_each_file(small: CourseOnDisk) -> None:
    small.write({SOLUTION_FILE: "def scale(x):\n    return x * 2.5 + 1.0\n"})
    shown = small.run("generate", "hw1", "--check", yes=False).out
    assert "FAILED" not in shown
    assert "removed, since no case makes them any more" not in shown
    assert "1 tensor would be measured, others as before" in shown
    assert "  would change other.pt" in shown
    assert "  same         gold_output.pt" in shown
