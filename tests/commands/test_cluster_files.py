"""The files to copy in `examples/clusters/`: each has its form, and what it runs grades a class in shares."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from goldsmith.courses.grade.run_record import read_record
from support.check_course import checked_course, hand_in
from support.course import COMMAND, CourseOnDisk

CLUSTERS = Path(__file__).parents[2] / "examples/clusters"
JOBS = list(yaml.safe_load_all((CLUSTERS / "kubernetes.yaml").read_text(encoding="utf-8")))
WORKFLOW = yaml.safe_load((CLUSTERS / "github.yml").read_text(encoding="utf-8"))
SHARES = 2


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    """A course with `submissions/` and an environment, whose verdicts are cached after the first."""
    found = checked_course(tmp_path_factory.mktemp("clusters") / "course")
    hand_in(found, name="ada")
    Path(hand_in(found, ("x - mean_of(x)", "x + mean_of(x)"), name="bob")).parent.rename(found.root / "submissions")
    binaries = found.root / ".venv/bin"
    binaries.mkdir(parents=True)
    (binaries / "activate").write_text(f'PATH="{binaries}:$PATH"\n')
    (binaries / "goldsmith").write_text(f"#!/bin/sh\nexec {COMMAND[0]} -c '{COMMAND[2]}' \"$@\"\n")
    (binaries / "goldsmith").chmod(0o755)
    return found


def run(course: CourseOnDisk, command: Sequence[str], **env: str) -> str:
    path = f"{course.root}/.venv/bin:{os.environ['PATH']}"
    done = subprocess.run(
        command, cwd=course.root, env=os.environ | {"PATH": path, **env}, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def graded(folder: Path) -> list[str]:
    record = read_record(folder)
    return [record.judged(entry).verdict.outcome for entry in record.entries]


@pytest.mark.long
def test_the_job_script_of_slurm_runs_with_what_slurm_sets(course: CourseOnDisk) -> None:
    text = (CLUSTERS / "slurm.sh").read_text(encoding="utf-8")
    script = course.root / "slurm.sh"
    script.write_text(text.replace("\nshares=16 #", f"\nshares={SHARES} #"))
    assert script.read_text() != text
    for number in range(1, SHARES + 1):
        slurm = {"SLURM_ARRAY_TASK_ID": str(number), "SLURM_CPUS_PER_TASK": "1"}
        run(course, ["bash", script.name, "hw1", "submissions/"], **slurm)
    assert "hw1: 2 submissions graded" in run(course, ["bash", script.name, "--merge"])
    assert graded(course.root / "private/grades/hw1") == ["agrees", "differs"]
    header = [line for line in text.splitlines() if line.startswith("#SBATCH ")]
    assert all(line.split()[1].startswith("--") and "=" in line for line in header)


def container(job: dict[str, Any]) -> dict[str, Any]:
    (found,) = job["spec"]["template"]["spec"]["containers"]
    return found


@pytest.mark.long
def test_what_the_pods_of_kubernetes_run_grades_a_class(course: CourseOnDisk) -> None:
    judge, merge = JOBS
    assert container(judge)["env"] == [{"name": "SHARES", "value": str(judge["spec"]["completions"])}]
    for index in range(SHARES):  # which Kubernetes counts from 0
        line = container(judge)["args"][0].replace("scratch-1", "hw1")
        run(course, [*container(judge)["command"], line], JOB_COMPLETION_INDEX=str(index), SHARES=str(SHARES))
    run(course, [*container(merge)["command"], *container(merge)["args"]])
    assert graded(course.root / "grades") == ["agrees", "differs"]


def as_kubernetes_reads(text: str) -> list[Any]:
    """Return the objects after kubectl has read them into its own types, which drops every field that these lack."""
    if not shutil.which("kubectl"):
        pytest.skip("kubectl is not installed")
    command = ["kubectl", "set", "env", "--local", "-f", "-", "-o", "yaml", "READ=yes"]
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return list(yaml.safe_load_all(done.stdout))


def test_kubernetes_knows_every_field_of_the_jobs() -> None:
    text = (CLUSTERS / "kubernetes.yaml").read_text(encoding="utf-8")
    assert [lacking(*pair) for pair in zip(JOBS, as_kubernetes_reads(text), strict=True)] == [[], []]
    misspelt = text.replace("  parallelism:", "  parallel:")
    assert lacking(next(yaml.safe_load_all(misspelt)), as_kubernetes_reads(misspelt)[0]) == [".spec.parallel"]


def lacking(wanted: Any, found: Any, path: str = "") -> list[str]:
    """List what is in one value and not in another, which may have more."""
    if isinstance(wanted, dict):
        known = found if isinstance(found, dict) else {}
        return [item for key in wanted for item in lacking(wanted[key], known.get(key), f"{path}.{key}")]
    if isinstance(wanted, list) and isinstance(found, list) and len(wanted) <= len(found):
        pairs = enumerate(zip(wanted, found, strict=False))
        return [item for place, pair in pairs for item in lacking(*pair, f"{path}.{place}")]
    return [] if wanted == found else [path]


def step(job: str, name: str) -> str:
    (found,) = [item for item in WORKFLOW["jobs"][job]["steps"] if item.get("name") == name]
    return found["run"]


def test_the_workflow_has_the_form_that_github_reads() -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows"]
    done = subprocess.run([*command, str(CLUSTERS / "github.yml")], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    shares = WORKFLOW["jobs"]["judge"]["strategy"]["matrix"]["share"]
    assert shares == list(range(1, WORKFLOW["env"]["SHARES"] + 1))


@pytest.mark.long
def test_the_steps_of_the_workflow_grade_a_class(course: CourseOnDisk) -> None:
    for number in range(1, SHARES + 1):
        own = {"ASSIGNMENT": "hw1", "SHARE": str(number), "SHARES": str(SHARES)}
        run(course, ["bash", "-e", "-c", step("judge", "judge")], **own)
        arrived = course.root / f"parts-of-github/part-{number}"  # as upload-artifact and download-artifact leave it
        arrived.mkdir(parents=True)
        shutil.copy(course.root / f"part-{number}/run.record", arrived)
    merge = step("merge", "merge").replace("parts/", "parts-of-github/").replace("--output grades", "--output merged")
    run(course, ["bash", "-e", "-c", merge])
    assert graded(course.root / "merged") == ["agrees", "differs"]
    assert "bob" in (course.root / "summary.md").read_text()
