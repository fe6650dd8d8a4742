"""The doors that people come in by: hooks for pre-commit, the action, containers, skills, what an index gets."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import release
import yaml

from goldsmith.courses.skills.bundled import ANYWHERE, skill_names
from support.course import SOLUTION_FILE, CourseOnDisk, numpy_course
from support.doc_pages import ROOT

BIN = Path(sys.executable).parent
SEARCHED = f"{BIN}{os.pathsep}{os.environ['PATH']}"
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))


def program(name: str) -> str:
    """Return the path of a tool that this repository's own work needs, or skip."""
    found = shutil.which(name, path=SEARCHED)
    if not found:
        pytest.skip(f"{name} is not installed")
    return found


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@uni.example", *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


def copy_of_this_repository(folder: Path) -> str:
    """Copy what git would have, as it is now, into a repository of its own; return its commit."""
    listed = subprocess.run(["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True)
    if listed.returncode:
        pytest.skip("this is not a clone")
    for name in listed.stdout.decode().split("\0"):
        if name and not name.startswith("tests/") and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "as it is")
    return git(folder, "rev-parse", "HEAD").strip()


@pytest.mark.parametrize(
    ("schema", "file"),
    [
        ("github-workflows", ".github/workflows/test.yml"),
        ("github-workflows", ".github/workflows/release.yml"),
        ("github-actions", "action.yml"),
        ("citation-file-format", "CITATION.cff"),
    ],
)
def test_a_file_that_others_read_has_its_form(schema: str, file: str) -> None:
    command = [program("check-jsonschema"), "--builtin-schema", f"vendor.{schema}", file]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_only_the_job_that_publishes_may_prove_who_it_is() -> None:
    jobs = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8"))["jobs"]
    allowed = {name: job.get("permissions", {}) for name, job in jobs.items()}
    assert allowed == {"build": {}, "publish": {"id-token": "write"}}
    assert jobs["publish"]["needs"] == "build"


def test_the_version_is_the_same_everywhere() -> None:
    recipe = yaml.safe_load((ROOT / "packaging/recipe.yaml").read_text(encoding="utf-8"))
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert recipe["context"]["version"] == citation["version"] == release.VERSION
    release.require_tag(f"v{release.VERSION}")
    with pytest.raises(release.NotFit, match=r"the tag v0\.0\.1 is not"):
        release.require_tag("v0.0.1")


def test_the_conda_recipe_asks_for_what_the_project_asks_for() -> None:
    recipe = yaml.safe_load((ROOT / "packaging/recipe.yaml").read_text(encoding="utf-8"))
    asked = [item.replace(" ", "") for item in recipe["requirements"]["run"][1:]]
    assert asked == PYPROJECT["project"]["dependencies"]
    (script,) = recipe["build"]["python"]["entry_points"]
    assert script.replace(" ", "") == "goldsmith=" + PYPROJECT["project"]["scripts"]["goldsmith"]


def test_both_containers_are_made_in_the_same_steps() -> None:
    docker = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    apptainer = (ROOT / "packaging/goldsmith.def").read_text(encoding="utf-8")
    steps = re.split(r" *\\\n *&& ", "\n".join(re.findall(r"^RUN ((?:.*\\\n)*.*)", docker, re.M)))
    steps = [step for line in steps for step in line.splitlines()]
    (post,) = re.findall(r"^%post\n((?:    .*\n)+)", apptainer, re.M)
    assert [line.strip() for line in post.splitlines()] == steps
    copied = {name for line in re.findall(r"^COPY (.*) /src", docker, re.M) for name in line.split()}
    (files,) = re.findall(r"^%files\n((?:    .*\n)+)", apptainer, re.M)
    assert {line.split()[0] for line in files.splitlines()} == copied
    kept = re.findall(r"^!(.+)$", (ROOT / ".dockerignore").read_text(encoding="utf-8"), re.M)
    assert set(kept) == copied
    assert all((ROOT / name).exists() for name in copied)
    assert re.findall(r"^FROM (\S+)$", docker, re.M) == re.findall(r"^From: (\S+)$", apptainer, re.M)


def test_the_dockerfile_is_linted() -> None:
    done = subprocess.run([program("hadolint"), "Dockerfile"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


# --- skills


def test_the_marketplace_lists_every_skill() -> None:
    listed = json.loads((ROOT / ".claude-plugin/marketplace.json").read_text(encoding="utf-8"))
    (plugin,) = listed["plugins"]
    folders = [ROOT / plugin["source"] / name for name in plugin["skills"]]
    assert all((folder / "SKILL.md").is_file() for folder in folders)
    assert [folder.name for folder in folders] == [*skill_names(), *ANYWHERE]


@pytest.mark.long
def test_npx_skills_finds_and_installs_them(tmp_path: Path) -> None:
    copy_of_this_repository(tmp_path / "goldsmith")
    (tmp_path / "mine").mkdir()
    command = [program("npx"), "--yes", "skills", "add", "../goldsmith", "-a", "claude-code", "--copy", "--yes"]
    environment = os.environ | {"DISABLE_TELEMETRY": "1", "DO_NOT_TRACK": "1"}
    done = subprocess.run(
        [*command, "--skill", "port", "--skill", "grade"],
        cwd=tmp_path / "mine",
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    if "npm error" in done.stderr:
        pytest.skip("npx cannot be given the program here")
    assert done.returncode == 0, done.stdout
    for name in ("port", "grade"):
        theirs = tmp_path / "mine/.claude/skills" / name / "SKILL.md"
        assert theirs.read_text() == (ROOT / f"src/goldsmith/courses/skills/texts/{name}/SKILL.md").read_text()


# --- pre-commit


def test_the_hooks_have_their_form() -> None:
    command = [program("pre-commit"), "validate-manifest", ".pre-commit-hooks.yaml"]
    assert subprocess.run(command, cwd=ROOT, capture_output=True).returncode == 0


@pytest.mark.long
def test_pre_commit_installs_the_hooks_and_runs_them(tmp_path: Path) -> None:
    revision = copy_of_this_repository(tmp_path / "goldsmith")
    course = numpy_course(tmp_path / "course")
    hooks = [{"id": "goldsmith-guard"}, {"id": "goldsmith-status"}]
    listed = {"repos": [{"repo": str(tmp_path / "goldsmith"), "rev": revision, "hooks": hooks}]}
    course.write({".pre-commit-config.yaml": yaml.safe_dump(listed)})
    git(course.root, "init", "--quiet")
    git(course.root, "add", "--all")

    def hook(name: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [program("pre-commit"), "run", name],
            cwd=course.root,
            env=os.environ | {"PRE_COMMIT_HOME": str(tmp_path / "kept")},
            capture_output=True,
            text=True,
        )

    first = hook("goldsmith-guard")
    if "CalledProcessError" in first.stdout and "pip" in first.stdout:
        pytest.skip("pip cannot be given the dependencies here")
    assert first.returncode == 0, first.stdout
    assert "missing" in hook("goldsmith-status").stdout
    assert course.run("generate", "hw1").code == 0
    assert hook("goldsmith-status").returncode == 0
    shutil.copy(course.root / SOLUTION_FILE, course.root / "tests/public_helper.py")
    git(course.root, "add", "tests/public_helper.py")
    leak = hook("goldsmith-guard")
    assert leak.returncode == 1
    assert "public_helper.py" in leak.stdout


# --- the action


def step(name: str, **env: str) -> tuple[str, dict[str, str]]:
    """Return what a step of the action runs, and its environment as the runner would make it of these inputs."""
    (found,) = (item for item in ACTION["runs"]["steps"] if item["name"] == name)
    assert set(env) == set(found["env"]), "the step is given what it declares"
    return found["run"], env


def act(run: str, env: dict[str, str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a step as the runner does."""
    files = {name: str(folder / name) for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    given = {"RUNNER_TEMP": str(folder), "GITHUB_ACTION_PATH": str(ROOT), "GITHUB_REPOSITORY": "us/course", **files}
    environment = os.environ | {"PATH": f"{folder / 'bin'}{os.pathsep}{SEARCHED}"} | given | env
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", run]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


INTERNAL = """
    import pytest

    pytestmark = pytest.mark.rigor


    @pytest.mark.gold("hw1")
    def test_case(gold_case):
        gold_case.assert_agrees()
"""


@pytest.fixture
def checked(tmp_path: Path) -> CourseOnDisk:
    course = numpy_course(tmp_path / "course")
    course.write(
        {
            "tests/internal/test_hw1.py": INTERNAL,
            "pytest.ini": "[pytest]\nmarkers = rigor: internal\npythonpath = src/assignments/hw1\n",
        }
    )
    assert course.run("generate", "hw1").code == 0
    return course


@pytest.mark.long
def test_the_action_checks_a_course(checked: CourseOnDisk, tmp_path: Path) -> None:
    done = act(*step("Check", COURSE="course"), tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "fails on the starter" in done.stdout
    shutil.copy(checked.root / SOLUTION_FILE, checked.root / "src/assignments/hw1/answers.py")
    assert act(*step("Check", COURSE="course"), tmp_path).returncode == 1


@pytest.mark.long
def test_the_action_grades_and_comments(checked: CourseOnDisk, tmp_path: Path) -> None:
    shutil.copytree(checked.root / "src/assignments/hw1", tmp_path / "ada")
    shutil.copy(checked.root / SOLUTION_FILE, tmp_path / "ada/ops.py")
    graded = act(*step("Grade", COURSE="course", ASSIGNMENT="hw1", SUBMISSION=str(tmp_path / "ada")), tmp_path)
    assert graded.returncode == 0, graded.stdout + graded.stderr
    outputs = dict(line.split("=", 1) for line in (tmp_path / "GITHUB_OUTPUT").read_text().splitlines())
    report, page = Path(outputs["report"]), Path(outputs["page"])
    assert report.read_text() == (tmp_path / "GITHUB_STEP_SUMMARY").read_text()
    assert page.read_text().startswith("<!doctype html>")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/gh").write_text('#!/bin/sh\necho "$@"\n')
    (tmp_path / "bin/gh").chmod(0o755)
    said = act(*step("Comment", GH_TOKEN="t", NUMBER="7", REPORT=str(report)), tmp_path)
    assert said.stdout.startswith(f"pr comment 7 --repo us/course --body-file {report}")


# --- what an index gets


@pytest.mark.long
@pytest.mark.timeout(900)
def test_what_an_index_gets_is_built_twice_alike_and_holds_no_tests(tmp_path: Path) -> None:
    """`make release` also installs the wheel where the repository is not, and uses it."""
    first, again = release.build(tmp_path / "first"), release.build(tmp_path / "again")
    for kind in first:
        assert first[kind].read_bytes() == again[kind].read_bytes(), kind
    release.require_contents(first)
    done = subprocess.run([program("twine"), "check", "--strict", *first.values()], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
