"""`goldsmith handout`: the kit checks work, tells no answer, replaces only itself, and is made of fresh gold alone."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corpora.known_submissions import known
from goldsmith.courses.handout.judge_kit import judge_by_kit
from goldsmith.gold.arrays import array_hash, as_numpy, judged_part
from goldsmith.gold.kit_files import DATA, LIST, NAMES, KitData, encode_data, read_data
from goldsmith.gold.load import load_gold
from goldsmith.gold.safetensors_reader import open_mapped
from goldsmith.process.fork_client import ForkClient
from support.course import CourseOnDisk, Run, copy_of_example

pytestmark = pytest.mark.torch
SOLUTIONS = "private/solutions"


@pytest.fixture(scope="module")
def handed(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    """The bundled course with the kit of scratch-1 in `kit`; tests that change something copy it."""
    course = copy_of_example(tmp_path_factory.mktemp("handout") / "course")
    run = course.run("handout", "scratch-1", "--output", "kit", "--json")
    assert run.code == 0, run.err
    (course.root / "said.json").write_text(run.out)
    return course


@pytest.fixture
def copied(handed: CourseOnDisk, tmp_path: Path) -> CourseOnDisk:
    others = shutil.ignore_patterns("scratch-2", "scratch-3", ".git", "submissions")
    shutil.copytree(handed.root, tmp_path / "copied", symlinks=True, ignore=others)
    return CourseOnDisk(tmp_path / "copied")


def written(course: CourseOnDisk, name: str, folder: Path) -> Path:
    (item,) = [item for item in known("scratch-1") if item.name == name]
    return item.written(folder, course.root / SOLUTIONS)


def solution(course: CourseOnDisk, folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    shutil.copy(course.root / SOLUTIONS / "scratch-1/backbone_solution.py", folder / "backbone.py")
    return folder


def run_check(kit: Path, folder: Path, *arguments: str, **env: str) -> Run:
    command = [sys.executable, str(kit / "check.py"), *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=os.environ | env, timeout=200)
    return Run(done.returncode, done.stdout, done.stderr)


# --- what is in it ----------------------------------------------------------------------------------------------------


def test_a_kit_is_small_and_says_what_it_has_and_leaves_out(handed: CourseOnDisk) -> None:
    (kit,) = json.loads((handed.root / "said.json").read_text())["assignments"]
    assert (kit["name"], kit["outcome"]) == ("scratch-1", "written")
    assert sorted(path.name for path in (handed.root / "kit").iterdir()) == sorted(NAMES)
    size = sum(path.stat().st_size for path in (handed.root / "kit").iterdir())
    assert size < 200_000
    assert kit["size"] == size
    assert {"rmsnorm", "attention", "block", "gradients", "three_steps"} <= set(kit["cases"])
    assert "exactly" in kit["left_out"]["generation"]
    assert kit["not_sketched"]["loss_alone: output.loss"] == "it has only 1 number"
    text = (handed.root / "kit" / "README.md").read_text()
    assert "not your grade" in text
    assert "| loss_alone |" in text


def test_a_kit_has_inputs_and_weights_of_gold_and_no_answer(handed: CourseOnDisk) -> None:
    kit, gold = read_data(handed.root / "kit"), load_gold(handed.gold("scratch-1"))
    given = {
        item.sha256
        for case in gold.manifest.cases
        for item in case.tensors
        if item.path.startswith(("input", "state_"))
    }
    assert kit.arrays
    assert {array_hash(array) for array in kit.arrays} <= given
    text = json.dumps(kit.index)
    for entry in gold.manifest.cases:
        for item in entry.tensors:
            if item.sha256 not in given:
                assert item.sha256 not in text
                for value in (item.min, item.max, item.mean):
                    assert value is None or value == round(value, 2) or f"{value!r}"[:9] not in text


def test_every_sketch_is_of_a_tensor_that_may_have_one(handed: CourseOnDisk) -> None:
    """Each of them fits a record or a traced tensor of gold, and is shorter than that allows."""
    kit = read_data(handed.root / "kit")
    assert len(kit.sketches) > 100
    assert all(4 <= sketch.count <= 32 and sketch.count * 15 < sketch.size for sketch in kit.sketches)
    gold = load_gold(handed.gold("scratch-1"))
    case = gold["block"]
    (record,) = kit.index["cases"]["block"]["records"].values()
    assert kit.sketches[record].error_of(as_numpy(next(iter(judged_part(case.data).values())))) < 1e-6
    traced = list(open_mapped(gold.folder / "block.trace.safetensors").values())
    for call in kit.index["cases"]["block"]["calls"]:
        for number in (*call["inputs"], *call["outputs"]):
            if isinstance(number, int):
                assert min(kit.sketches[number].error_of(tensor) for tensor in traced) < 1e-4


def test_what_calls_return_and_are_given_inside_is_not_told(handed: CourseOnDisk) -> None:
    cases = read_data(handed.root / "kit").index["cases"]
    (epoch, *_) = [call for call in cases["three_steps"]["calls"] if call["function"] == "train_epoch"]
    assert epoch["returned"] == [{"left out": None}]
    assert all("gradients" not in call for case in cases.values() for call in case["calls"])


# --- what it says of work ---------------------------------------------------------------------------------------------


ONE_CASE = ["--case", "block"]


@pytest.mark.parametrize(
    "arguments",
    [
        [*ONE_CASE, "--plain"],
        pytest.param(["--plain"], marks=pytest.mark.long),
        pytest.param([], marks=pytest.mark.long),
    ],
)  # with goldsmith, quickly: test_functions_are_checked_with_and_without_goldsmith, of NumPy
def test_right_work_passes_with_and_without_goldsmith(
    handed: CourseOnDisk, tmp_path: Path, arguments: list[str]
) -> None:
    broken = tmp_path / "broken" / "goldsmith"
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text("raise ImportError('this must not be imported')\n")
    env = {"PYTHONPATH": str(broken.parent)} if "--plain" in arguments else {}
    run = run_check(handed.root / "kit", solution(handed, tmp_path / "work"), *arguments, **env)
    assert run.code == 0, run.out + run.err
    assert "Nothing that was looked at is wrong. It is not your grade.\n" in run.out
    assert run.last_line.startswith("Not looked at, ")
    assert "\x1b" not in run.out


@pytest.mark.parametrize(
    ("name", "part", "cases"),
    [
        ("norm-unscaled", "RMSNorm", ONE_CASE),
        pytest.param("norm-unscaled", "RMSNorm", [], marks=pytest.mark.long),
        pytest.param("final-norm-dropped", "DecoderOnlyTransformer", [], marks=pytest.mark.long),
    ],
)
def test_without_goldsmith_the_first_wrong_module_is_named(
    handed: CourseOnDisk, tmp_path: Path, name: str, part: str, cases: list[str]
) -> None:
    run = run_check(handed.root / "kit", written(handed, name, tmp_path), *cases, "--plain")
    assert run.code == 1, run.out + run.err
    assert part in next(line for line in run.out.splitlines() if line.startswith("First wrong"))


CHOSEN = {
    "qkv-interleaved": "",
    "renamed-and-reordered": "",
    "norm-overwrites-input": "RMSNorm",
    "norm-unscaled": "RMSNorm",
    "rope-interleaved": "RotaryEmbedding",
    "residual-detached": "",
    "clipping-missing": "train_epoch",
}
QUICK = ("residual-detached", "clipping-missing")
"""Gradients alone, training. Right work is in `test_right_work_passes_with_and_without_goldsmith`, a wrong module in
`test_without_goldsmith_the_first_wrong_module_is_named`."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.long) for name in CHOSEN]
)
def test_it_judges_as_gold_does(handed: CourseOnDisk, tmp_path: Path, warm: ForkClient, name: str) -> None:
    (item,) = [item for item in known("scratch-1") if item.name == name]
    found = judge_by_kit(handed.root / "kit", written(handed, name, tmp_path), fork_server=warm)
    assert (found.outcome, found.first_part) == (item.outcome, CHOSEN[name])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--case", "nothing"], "There is no case nothing"),
        (["nowhere"], "nowhere is not a folder"),
        ([], "none of the modules that the kit imports (backbone)"),
    ],
)
def test_a_wrong_call_is_said_in_one_sentence(
    handed: CourseOnDisk, tmp_path: Path, arguments: list[str], said: str
) -> None:
    run = run_check(handed.root / "kit", tmp_path, *arguments)
    assert run.code == 2
    assert said in run.err
    assert len(run.err.splitlines()) == 1


# --- making it again, and elsewhere -----------------------------------------------------------------------------------


@pytest.mark.long  # in small: test_handout_numpy.py
def test_the_same_gold_makes_the_same_kit_and_others_files_stay(copied: CourseOnDisk) -> None:
    before = {path.name: path.read_bytes() for path in (copied.root / "kit").iterdir()}
    copied.write({"kit/my notes.txt": "mine"})
    run = copied.run("handout", "scratch-1", "--output", "kit")
    assert run.code == 0, run.err
    assert "Already there, byte for byte" in run.out
    copied.write({"goldsmith.toml": (copied.root / "goldsmith.toml").read_text() + SMALLER})
    assert copied.run("handout", "scratch-1", "--output", "kit").code == 0
    after = {path.name: path.read_bytes() for path in (copied.root / "kit").iterdir()}
    assert after.pop("my notes.txt") == b"mine"
    assert after.keys() == before.keys()
    assert after[DATA] != before[DATA]
    assert sum(map(len, after.values())) < 120_000
    assert "two_epochs" not in read_data(copied.root / "kit").index["cases"]


SMALLER = '\n[assignment.scratch-1.handout]\nmax-bytes = 120_000\nleave-out = ["two_epochs"]\n'


def test_only_a_kit_is_replaced_and_only_an_unchanged_one(copied: CourseOnDisk) -> None:
    run = copied.run("handout", "scratch-1", "--output", "src")
    assert run.code == 2
    assert "not a kit of goldsmith's" in run.err
    with (copied.root / "kit" / "check.py").open("a") as file:
        file.write("# mine\n")
    run = copied.run("handout", "scratch-1", "--output", "kit")
    assert run.code == 2
    assert "check.py was changed since goldsmith wrote it" in run.err
    assert (copied.root / "kit" / "check.py").read_text().endswith("# mine\n")


def test_stale_gold_is_refused(copied: CourseOnDisk) -> None:
    with (copied.root / SOLUTIONS / "scratch-1/backbone_solution.py").open("a") as file:
        file.write("\nLATER = 1\n")
    run = copied.run("handout", "scratch-1", "--output", "later", "--json")
    assert run.code == 3
    assert "is stale" in run.err
    assert run.json["ok"] is False
    assert not (copied.root / "later").exists()


def test_a_damaged_kit_is_refused_by_its_check(copied: CourseOnDisk, tmp_path: Path) -> None:
    data = copied.root / "kit" / DATA
    kit = read_data(data.parent)
    data.write_bytes(encode_data({**kit.index, "seed": 7}, kit.arrays, kit.sketches))
    run = run_check(copied.root / "kit", solution(copied, tmp_path / "work"))
    assert run.code == 3
    assert "its bytes are not those that kit.json names" in run.err


# --- guard ------------------------------------------------------------------------------------------------------------


def test_guard_lets_a_kit_pass(copied: CourseOnDisk) -> None:
    run = copied.run("guard")
    assert run.code == 0, run.out


def _with_an_answer(kit: KitData, gold: Any) -> bytes:
    return encode_data(kit.index, [*kit.arrays, as_numpy(gold["block"].output)], kit.sketches)


def _with_a_loss(kit: KitData, gold: Any) -> bytes:
    kit.index["cases"]["three_steps"]["calls"][0]["returned"] = [4.0496]
    return encode_data(kit.index, kit.arrays, kit.sketches)


def _with_statistics(kit: KitData, gold: Any) -> bytes:
    kit.index["cases"]["block"]["entry"]["tensors"][0]["mean"] = 0.25
    return encode_data(kit.index, kit.arrays, kit.sketches)


def _with_more(kit: KitData, gold: Any) -> bytes:
    kit.index["cases"]["block"]["solution"] = "the answer"
    return encode_data(kit.index, kit.arrays, kit.sketches)


@pytest.mark.parametrize("tamper", [_with_an_answer, _with_a_loss, _with_statistics, _with_more])
def test_guard_finds_what_no_kit_may_hold(copied: CourseOnDisk, tamper: Any) -> None:
    data = copied.root / "kit" / DATA
    data.write_bytes(tamper(read_data(data.parent), load_gold(copied.gold("scratch-1"))))
    run = copied.run("guard", "--json")
    assert run.code == 1
    (finding,) = run.json["findings"]
    assert (finding["kind"], finding["file"]) == ("gold", f"kit/{DATA}")


def test_a_sketch_with_too_many_sums_is_found(copied: CourseOnDisk) -> None:
    from goldsmith.gold.sketches.sketch import Sketch

    data = copied.root / "kit" / DATA
    kit = read_data(data.parent)
    long = Sketch.of(np.random.default_rng(0).standard_normal(40)).rounded(1e-6)
    data.write_bytes(encode_data(kit.index, kit.arrays, [*kit.sketches, long]))
    run = copied.run("guard", "kit")
    assert run.code == 1
    assert "32 sums of 40 numbers" in run.out
    assert LIST not in run.out
