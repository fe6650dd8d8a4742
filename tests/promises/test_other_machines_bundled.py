"""The bundled gold on other machines; `test_other_machines.py` shows the same in small.

Another machine is made out of this one by the variables that libraries choose their instructions by.
"""

from __future__ import annotations

import shutil
from typing import Any

import pytest

from support.course import CourseOnDisk

pytestmark = [pytest.mark.long, pytest.mark.torch]
NAMES = ("scratch-1", "scratch-2", "scratch-3")
THREADS = "threads"
MACHINES = {
    "plain-torch": {"ATEN_CPU_CAPABILITY": "default"},
    "avx2-torch-and-compatible-mkl": {"ATEN_CPU_CAPABILITY": "avx2", "MKL_CBWR": "COMPATIBLE"},
    "sse-onednn-and-two-threads": {"ONEDNN_MAX_CPU_ISA": "SSE41", THREADS: "2"},
    "avx2-torch": {"ATEN_CPU_CAPABILITY": "avx2"},
    "sse-onednn": {"ONEDNN_MAX_CPU_ISA": "SSE41"},
    "sse-mkl": {"MKL_ENABLE_INSTRUCTIONS": "SSE4_2"},
    "compatible-mkl": {"MKL_CBWR": "COMPATIBLE"},
    "two-threads": {THREADS: "2"},
}


def pairs() -> list[Any]:
    return [pytest.param(machine, name, id=f"{machine}-{name}") for machine in MACHINES for name in NAMES]


def on(machine: str, course: CourseOnDisk) -> dict[str, str]:
    """The environment of a machine; the number of threads is the course's setting."""
    environment = dict(MACHINES[machine])
    threads = environment.pop(THREADS, None)
    if threads:
        settings = course.root / "goldsmith.toml"
        settings.write_text(f"threads = {threads}\n{settings.read_text()}")
        course.git("commit", "--all", "--quiet", "--message", "other threads")
    return environment


def status_of(course: CourseOnDisk) -> str:
    return course.git("status", "--porcelain")


@pytest.mark.parametrize(("machine", "name"), pairs())
def test_the_bundled_gold_stands_on_another_machine(example: CourseOnDisk, machine: str, name: str) -> None:
    machine_env = on(machine, example)
    made = example.run("generate", name, "--force", "--json", calibrate=True, **machine_env)
    assert made.code == 0, made.out + made.err
    assert made.json["assignments"][0]["outcome"] == "unchanged"
    assert status_of(example) == ""
    solution = example.root.parent / "handed-in"
    solution.mkdir()
    for file in (example.root / "private/solutions" / name).glob("*_solution.py"):
        shutil.copy(file, solution / file.name.replace("_solution", ""))
    judged = example.run("check", name, str(solution), **machine_env)
    assert judged.code == 0, judged.out
    (item,) = [it for it in example.run("status", "--json", **machine_env).json["assignments"] if it["name"] == name]
    assert (item["outcome"], item["reasons"]) == ("fresh", [])
    assert status_of(example) == ""


@pytest.mark.parametrize(("machine", "name"), pairs())
def test_a_dry_run_on_another_machine_changes_nothing_either(example: CourseOnDisk, machine: str, name: str) -> None:
    checked = example.run("generate", name, "--check", yes=False, **on(machine, example))
    assert checked.code == 0, checked.out
    assert status_of(example) == ""


EPS = ("mean_square + self.eps", "mean_square + 10 * self.eps")


@pytest.mark.parametrize(
    ("machine", "edit", "moved", "stands"),
    [
        ("plain-torch", EPS, {"rmsnorm", "rmsnorm_small", "block"}, {"rotary", "attention", "feed_forward"}),
        ("avx2-torch", EPS, {"rmsnorm", "rmsnorm_small"}, {"rotary", "attention"}),
        ("sse-mkl", EPS, {"rmsnorm", "rmsnorm_small"}, {"rotary", "attention"}),
    ],
)
def test_a_real_change_is_caught_and_only_its_cases_are_listed(
    example: CourseOnDisk, machine: str, edit: tuple[str, str], moved: set[str], stands: set[str]
) -> None:
    solution = example.root / "private/solutions/scratch-1/backbone_solution.py"
    assert edit[0] in solution.read_text()
    solution.write_text(solution.read_text().replace(*edit))
    run = example.run("generate", "scratch-1", "--check", "--json", yes=False, **MACHINES[machine])
    assert run.code == 1, run.out + run.err
    (item,) = run.json["assignments"]
    listed = {change["case"] for change in item["changes"]}
    assert moved <= listed
    assert not stands & listed
    would = {file["path"].rpartition("/")[2]: file["change"] for file in item["files"]}
    assert {would[f"{name}.pt"] for name in moved} == {"changed"}
    assert {would[f"{name}.pt"] for name in stands} == {"same"}
