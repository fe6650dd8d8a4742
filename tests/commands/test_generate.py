"""The main job on the bundled course: copied out, generated, verified, documented, put back, summed up."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import goldsmith
from support.course import CourseOnDisk, Run, copy_of_example

NAMES = ("scratch-1", "scratch-2", "scratch-3")
SOLVED = {"scratch-1": "backbone", "scratch-2": "vision", "scratch-3": "policy"}


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> tuple[CourseOnDisk, Run]:
    """The example with gold of its first assignment made here and committed, and what `generate --json` said."""
    course = copy_of_example(tmp_path_factory.mktemp("nine") / "course")
    shutil.rmtree(course.gold("scratch-1"))
    before = course.snapshot()
    run = course.run("generate", "scratch-1", "--json")
    assert run.code == 0, run.out + run.err
    assert course.snapshot() == before
    course.git("add", "--all")
    course.git("commit", "--quiet", "--allow-empty", "-m", "gold made here")
    return course, run


def test_the_copied_course_is_a_clean_git_repository(example: CourseOnDisk) -> None:
    assert example.git("status", "--porcelain") == ""
    assert example.git("rev-list", "--count", "HEAD").strip() == "1"
    again = example.run("init", "--example", str(example.root))
    assert again.code == 2
    assert "not an empty folder" in again.err


@pytest.mark.long
def test_all_are_made_at_once_and_generating_again_changes_no_byte(example: CourseOnDisk, tmp_path: Path) -> None:
    """One of three is made below; small gold is made all at once below, and again by `test_generate_again.py`."""
    course = example
    for name in NAMES:
        shutil.rmtree(course.gold(name))
    _assert_made(course, course.run("generate", "all", "--json").json["assignments"])
    course.git("add", "--all")
    course.git("commit", "--quiet", "--allow-empty", "-m", "gold made here")
    (tmp_path / "elsewhere").mkdir()
    env = {"TMPDIR": str(tmp_path / "elsewhere"), "TZ": "Asia/Tokyo"}
    run = course.run("generate", "all", "--force", "--json", "-C", str(course.root), cwd=tmp_path, **env)
    assert [item["outcome"] for item in run.json["assignments"]] == ["unchanged"] * 3
    assert course.git("status", "--porcelain") == ""


def test_the_json_has_every_fact_of_the_summary(generated: tuple[CourseOnDisk, Run]) -> None:
    course, run = generated
    report = run.json
    assert (report["schema"], report["command"], report["ok"], report["error"]) == (1, "generate", True, None)
    assert [item["name"] for item in report["assignments"]] == ["scratch-1"]
    _assert_made(course, report["assignments"])


def _assert_made(course: CourseOnDisk, assignments: list[dict[str, Any]]) -> None:
    for item in assignments:
        assert item["outcome"] == "published"
        assert item["reset"] is True
        assert [check["name"] for check in item["checks"]] == [
            "interface", "loads", "keys", "nan", "inf", "declared", "constant", "range", "seed", "reproducible", "size",
            "tolerances",
        ]  # fmt: skip
        assert all(check["outcome"] == "passed" for check in item["checks"][:-1])
        for file in item["files"]:
            assert (course.root / file["path"]).stat().st_size == file["size"]
        assert len(item["next"]) == 3
        assert _size(course, item["name"]) < 10 * 10**6, "small enough for git"


def test_all_assignments_are_made_in_one_run(course: CourseOnDisk) -> None:
    for folder in ("src/assignments", "private/solutions"):
        shutil.copytree(course.root / folder / "hw1", course.root / folder / "hw2")
    found = course.run("generate", "all", "--json").json["assignments"]
    assert [(item["name"], item["outcome"]) for item in found] == [("hw1", "published"), ("hw2", "published")]
    assert course.gold_bytes("hw2").keys() == course.gold_bytes("hw1").keys() > {"gold_output.npz"}


def test_files_have_the_promised_names_and_keys(generated: tuple[CourseOnDisk, Run]) -> None:
    course, _ = generated
    output = torch.load(course.gold("scratch-1") / "gold_output.pt")
    assert {"input", "output", "model_config", "state_dict"} <= output.keys()
    assert output["seed"] == 42
    assert output["output"].shape == (3, 11, 256)
    checkpoint = torch.load(course.gold("scratch-3") / "gold_checkpoint.pt")
    assert {"model_state_dict", "epoch", "loss", "seed", "training_config"} <= checkpoint.keys()
    learned = checkpoint["output"]
    assert learned["losses"][-1] < learned["losses"][0] / 4
    assert learned["unseen_error"] < learned["unseen_error_of_standing_still"] / 5
    image_tokens = torch.load(course.gold("scratch-2") / "gold_output.pt")["output"]["image_tokens"]
    assert image_tokens.shape == (4, 10, 384)


def test_gold_stays_small_enough_for_git(generated: tuple[CourseOnDisk, Run]) -> None:
    course, _ = generated
    assert _size(course, "scratch-1") < 10 * 10**6


def _size(course: CourseOnDisk, name: str) -> int:
    return sum(len(content) for content in course.gold_bytes(name).values())


def test_the_manifest_is_the_truth_about_the_folder(generated: tuple[CourseOnDisk, Run]) -> None:
    course, _ = generated
    manifest = json.loads((course.gold("scratch-1") / "manifest.json").read_text())
    assert manifest["schema"] == 5
    files = {item["name"] for item in manifest["files"]}
    assert files | {"manifest.json"} == set(course.gold_bytes("scratch-1"))
    logits = next(item for item in manifest["cases"][0]["tensors"] if item["path"] == "output")
    tensor = torch.load(course.gold("scratch-1") / "gold_output.pt")["output"]
    assert (logits["dtype"], logits["shape"]) == ("float32", [3, 11, 256])
    assert logits["max"] == pytest.approx(tensor.max().item())
    assert logits["mean"] == pytest.approx(tensor.double().mean().item())
    assert (logits["tolerance"]["rtol"], logits["tolerance"]["atol"]) == (1e-4, 1e-5)
    assert logits["tolerance"]["reason"] == "customary, not measured: that was switched off"
    made = manifest["provenance"]
    assert list(made["solution"]) == ["private/solutions/scratch-1/backbone_solution.py"]
    assert list(made["recipe"]) == ["src/assignments/scratch-1/generate_fixtures.py"]
    assert "src/assignments/scratch-1/backbone.py" in made["starter"]
    assert made["command"] == "goldsmith generate scratch-1 --no-calibrate"
    assert made["environment"]["torch"] == torch.__version__
    assert made["environment"]["cpu_capability"] == torch.backends.cpu.get_cpu_capability()
    assert manifest["stamp"]["commit"] == course.git("rev-parse", "HEAD~1").strip()


@pytest.mark.long
@pytest.mark.parametrize("name", ["scratch-1", "scratch-3"])
def test_internal_tests_pass_on_the_solution_and_fail_on_the_starter(
    generated: tuple[CourseOnDisk, Run], name: str, tmp_path: Path
) -> None:
    course, _ = generated
    code, counts = _internal_tests(course.root, name)
    assert code == 1
    assert "passed" not in counts
    solved = tmp_path / "solved"
    shutil.copytree(course.root, solved)
    module = SOLVED[name]
    shutil.copy(
        solved / f"private/solutions/{name}/{module}_solution.py", solved / f"src/assignments/{name}/{module}.py"
    )
    assert _internal_tests(solved, name) == (0, "passed")


def _internal_tests(root: Path, name: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "rigor", "-k", name.replace("-", "_")],
        cwd=root,
        capture_output=True,
        text=True,
    )
    counts = re.findall(r"\d+ (passed|failed|error|skipped)", done.stdout)
    return done.returncode, " ".join(counts)


def test_the_readme_of_the_gold_tells_the_truth_and_its_snippets_run(generated: tuple[CourseOnDisk, Run]) -> None:
    course, _ = generated
    text = (course.gold("scratch-1") / "README.md").read_text()
    assert "- Seed: 42" in text
    assert "**Input shape** (`tokens`): `[3, 11]` int64" in text
    assert "**Output shape** (`logits`): `[3, 11, 256]` float32" in text
    assert "**Final loss**" in text
    assert "```bash\ngoldsmith generate scratch-1" in text
    assert "`/generate-fixtures`, then choose Scratch-1" in text
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.S)
    assert len(blocks) == 2
    setup = (
        "import sys, torch; sys.path.insert(0, 'private/solutions/scratch-1')\n"
        "from backbone_solution import DecoderOnlyTransformer\n"
        "c = torch.load('tests/internal/fixtures/scratch-1/gold_output.pt')['model_config']\n"
        "model = DecoderOnlyTransformer(**c)\n"
    )
    program = f"for block in {[setup + block for block in blocks]!r}: exec(block, {{}})"
    done = subprocess.run([sys.executable, "-c", program], cwd=course.root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.long
def test_only_what_changed_moves(generated: tuple[CourseOnDisk, Run], tmp_path: Path) -> None:
    original, _ = generated
    shutil.copytree(original.root, tmp_path / "course")
    course = CourseOnDisk(tmp_path / "course")
    before = course.gold_bytes("scratch-3")
    recipe = course.root / "src/assignments/scratch-3/generate_fixtures.py"
    recipe.write_text(recipe.read_text().replace("torch.rand(5)]", "torch.rand(5) * 0.5]"))
    found = course.run("status", "--json").json["assignments"][2]
    assert (found["name"], found["outcome"]) == ("scratch-3", "stale")
    assert found["reasons"] == ["src/assignments/scratch-3/generate_fixtures.py changed since the gold was made"]
    assert course.run("generate", "scratch-3").code == 0
    after = course.gold_bytes("scratch-3")
    changed = {name for name in after if after[name] != before[name]}
    assert changed == {"times.pt", "times.trace.safetensors", "manifest.json", "README.md"}


def test_gold_loads_by_name_from_inside_the_course(
    generated: tuple[CourseOnDisk, Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    course, _ = generated
    monkeypatch.chdir(course.root / "tests")
    gold = goldsmith.load("scratch-2")
    assert "gradients" in gold
    assert gold["gradients"].output["gradients"]["encoder.class_token"] is None
