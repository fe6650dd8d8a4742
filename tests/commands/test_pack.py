"""Packs: unpacked in a clean place, they give the grades that `goldsmith grade` gives; they hold no solution."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tarfile
import textwrap
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from goldsmith.courses.guard.public_files import public_in
from goldsmith.courses.guard.scan import Sweep, guarded_by, sweep
from goldsmith.courses.layout.layout import find_course
from support.check_course import SOLUTION, checked_course, hand_in
from support.container import IS_ROOT, USER, Container, new_container
from support.course import RECIPE_FILE, CourseOnDisk, copy_of_example

SUBMISSIONS: dict[str, tuple[tuple[str, str], ...]] = {
    "right": (),
    "wrong": (("x - mean_of(x)", "x + mean_of(x)"),),
    "raises": (("return x * factor", "raise ValueError('not today')"),),
    "ends": (("return x * factor", "import os; os._exit(0)"),),
    "endless": (("return x * factor", "\nwhile True: pass"),),
}
QUICK = ("wrong", "ends", "notebook")
TIMEOUT = ("--timeout", "1")
SOLUTION_TEXT = textwrap.dedent(SOLUTION)


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    folder = tmp_path_factory.mktemp("packs")
    folder.chmod(0o755)
    return checked_course(folder / "course")


@pytest.fixture(scope="module")
def handed_in(course: CourseOnDisk) -> dict[str, Path]:
    """The folder of each submission."""
    found = {name: Path(hand_in(course, *changes, name=name)) for name, changes in SUBMISSIONS.items()}
    found["notebook"] = course.root.parent / "handed in/notebook"
    found["notebook"].mkdir(parents=True)
    cells = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": text} for text in ("%pwd", SOLUTION_TEXT)]
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
    (found["notebook"] / "ops.ipynb").write_text(json.dumps(notebook))
    return found


@pytest.fixture(scope="module")
def graded(course: CourseOnDisk, handed_in: dict[str, Path]) -> dict[str, Path]:
    """The folders of some of them, for which `goldsmith grade` has written what it writes."""
    run = course.run("grade", "hw1", *(str(handed_in[name]) for name in QUICK), *TIMEOUT, "--again")
    assert run.code == 1, run.err
    return {name: handed_in[name] for name in QUICK}


@pytest.fixture(scope="module")
def pack(course: CourseOnDisk) -> Path:
    run = course.run("pack", "gradescope", "hw1", *TIMEOUT)
    assert run.code == 0, run.err
    return course.root / "private/packs/hw1-gradescope.zip"


@pytest.fixture
def container(pack: Path) -> Iterator[Container]:
    with new_container() as found:
        yield found.unpacked(pack)


# --- Gradescope -----------------------------------------------------------------------------------------------------


def scores_in(container: Container, submissions: dict[str, Path], grades: Path) -> dict[str, float]:
    """Grade them, and hold the results against what `goldsmith grade` wrote."""
    scores = {}
    for name, folder in submissions.items():
        done, results = container.grade(folder)
        assert done.returncode == 0, done.stderr
        assert results == (grades / f"gradescope/{name}/results.json").read_bytes(), name
        assert (done.stdout, done.stderr) == ("", ""), "nothing but results.json is for students"
        scores[name] = json.loads(results)["score"]
    return scores


def test_grades_are_those_of_goldsmith_grade_byte_for_byte(
    course: CourseOnDisk, graded: dict[str, Path], container: Container
) -> None:
    scores = scores_in(container, graded, course.root / "private/grades/hw1")
    assert scores == {"wrong": 2.0, "ends": 2.0, "notebook": 3.0}


@pytest.mark.long  # test_grades_are_those_of_goldsmith_grade_byte_for_byte has one of each outcome
def test_so_are_those_of_others(
    course: CourseOnDisk, handed_in: dict[str, Path], container: Container, tmp_path: Path
) -> None:
    others = {name: folder for name, folder in handed_in.items() if name not in QUICK}
    assert course.run("grade", "hw1", *map(str, others.values()), *TIMEOUT, "--output", str(tmp_path)).code == 1
    assert scores_in(container, others, tmp_path) == {"right": 3.0, "raises": 2.0, "endless": 2.0}


def test_what_has_none_of_the_files_is_not_judged(container: Container, tmp_path: Path) -> None:
    (tmp_path / "odd/one/two").mkdir(parents=True)
    (tmp_path / "odd/one/notes.txt").write_text("soon")
    results = json.loads(container.grade(tmp_path / "odd")[1])
    assert (results["score"], results["extra_data"]["outcome"]) == (0.0, "could-not-run")
    assert "ops.py" in results["output"]


def test_a_submission_cannot_read_the_gold_that_lies_next_to_it(course: CourseOnDisk, container: Container) -> None:
    gold = container.folder / "source/course/tests/internal/fixtures/hw1"
    assert (gold / "scaled.npz").is_file()
    body = f"return np.load('{gold}/scaled.npz')['output']"
    _, results = container.grade(Path(hand_in(course, ("return x * factor", body), name="thief")))
    (test,) = [item for item in json.loads(results)["tests"] if item["name"].startswith("case scaled")]
    assert (test["score"], test["name"]) == (0.0, "case scaled (not judged)")
    assert "Error" in test["output"]


def test_grading_runs_as_another_user_who_alone_may_read_the_gold(container: Container) -> None:
    if not IS_ROOT:
        pytest.skip("needs root")
    script = (container.folder / "source/run_autograder").read_text()
    assert "setpriv" in script
    tried = container.run(["setpriv", "--reuid=1", "--regid=1", "--clear-groups", "ls", "source/course"])
    assert tried.returncode, "any other user"
    assert container.run(["ls", "source/course"], GOLDSMITH_USER=USER).returncode == 0


def test_without_a_sandbox_nothing_is_graded_and_results_say_so(
    handed_in: dict[str, Path], container: Container
) -> None:
    """As where the probe finds neither Landlock nor seccomp; what it finds is another test's."""
    lacking = """
        import sys
        from goldsmith.sandbox import capabilities
        capabilities.probe = lambda: capabilities.Level(missing=("no Landlock: it is switched off",))
        from goldsmith.courses.packs import run_pack
        sys.exit(run_pack.main())
    """
    (container.folder / "without.py").write_text(textwrap.dedent(lacking))
    arguments = ["--pack", str(container.folder / "source"), "--submission", str(handed_in["right"])]
    arguments += ["--results", str(container.folder / "results")]
    command = [sys.executable, str(container.folder / "without.py"), "gradescope"]
    done = container.run([*command, *arguments])
    assert done.returncode == 3
    assert "no Landlock" in done.stderr
    results = json.loads((container.folder / "results/results.json").read_bytes())
    assert (results["score"], results["extra_data"]) == (0.0, {"outcome": "not-graded"})
    assert results["output"].startswith("This was not graded, because submissions cannot be sandboxed here.")


def test_where_grading_cannot_even_start_there_is_a_results_json(
    handed_in: dict[str, Path], container: Container
) -> None:
    done, results = container.grade(handed_in["right"], GOLDSMITH_PYTHON="/nowhere/python")
    assert done.returncode
    assert json.loads(results)["output"].startswith("This was not graded, because the grading program could not start.")
    (container.folder / "source/course/src/assignments/hw1/ops.py").write_text("changed = True\n")
    done, results = container.grade(handed_in["right"])
    assert done.returncode == 3
    assert "ops.py changed since the gold was made" in done.stderr
    assert "the grading program failed" in json.loads(results)["output"]
    assert "ops.py" not in results.decode()


@pytest.mark.long
@pytest.mark.torch
@pytest.mark.timeout(600)
def test_a_class_in_torch_gets_the_same_grades(tmp_path: Path) -> None:
    """The bundled class: right, wrong, provided code changed, and one that cannot run. A pack has no solution to show
    that parts beside a wrong one are right: it says that these are not judged, and gives the same points."""
    course = copy_of_example(tmp_path / "course")
    class_ = course.root / "private/submissions/scratch-2"
    assert course.run("grade", "scratch-2", str(class_)).code == 1
    assert course.run("pack", "gradescope", "scratch-2").code == 0
    with new_container() as container:
        container.unpacked(course.root / "private/packs/scratch-2-gradescope.zip")
        outcomes, unsure = set(), set()
        for folder in sorted(class_.iterdir()):
            _, results = container.grade(folder)
            written = course.root / f"private/grades/scratch-2/gradescope/{folder.name}/results.json"
            packed, graded = json.loads(results), json.loads(written.read_bytes())
            by_solution = "as in the solution" in graded["output"] or "**Not judged**" in packed["output"]
            if by_solution and results != written.read_bytes():
                unsure.add(folder.name)
                assert packed["score"] == graded["score"]
            else:
                assert results == written.read_bytes(), folder.name
            outcomes.add(packed["extra_data"]["outcome"])
    assert unsure == {"ben", "chi"}
    assert outcomes == {"agrees", "differs", "provided-changed", "could-not-run"}


@pytest.mark.long
def test_set_up_installs_what_is_listed_and_this_goldsmith(
    course: CourseOnDisk, graded: dict[str, Path], container: Container, tmp_path: Path
) -> None:
    """`setup.sh` itself, with the real pip and the real wheel. What cannot run here are stubs: apt-get, and useradd.
    There is no network, so pip finds the listed packages where they are installed already."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("apt-get", "useradd", *(() if IS_ROOT else ("chown",))):
        (programs / name).write_text(f'#!/bin/sh\necho "{name} $*" >> "{tmp_path}/asked"\n')
        (programs / name).chmod(0o755)
    (programs / "python3").symlink_to(sys.executable)
    site = str(Path(pytest.__file__).parents[1])
    venv = container.folder / "venv"
    path = f"{programs}:/usr/sbin:/usr/bin:/sbin:/bin"
    env = {"PATH": path, "PYTHONPATH": site, "PIP_NO_INDEX": "1", "GOLDSMITH_VENV": str(venv)}
    done = container.run(["bash", str(container.folder / "source/setup.sh")], **env)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "bubblewrap" in (tmp_path / "asked").read_text()
    (installed,) = venv.glob("lib/python*/site-packages/goldsmith")
    assert "Landlock" in done.stdout or "landlock" in done.stdout
    (installed.parent / "others.pth").write_text(f"{site}\n")
    done, results = container.grade(graded["wrong"], GOLDSMITH_PYTHON=str(venv / "bin/python"))
    assert done.returncode == 0, done.stderr
    assert results == (course.root / "private/grades/hw1/gradescope/wrong/results.json").read_bytes()


# --- Autolab --------------------------------------------------------------------------------------------------------


def test_autolab_s_last_line_has_the_same_points(course: CourseOnDisk, graded: dict[str, Path], tmp_path: Path) -> None:
    run = course.run("pack", "autolab", "hw1", "--output", str(tmp_path / "lab"))
    assert run.code == 0, run.err
    with new_container() as container:
        shutil.copy(tmp_path / "lab/autograde-Makefile", container.folder / "Makefile")
        shutil.copy(tmp_path / "lab/autograde.tar", container.folder)
        with zipfile.ZipFile(container.folder / "handin.zip", "w") as archive:
            archive.write(graded["wrong"] / "ops.py", "ops.py")
        done = container.run(["make"])
    here = course.run("grade", "hw1", str(graded["wrong"]), "--format", "autolab", "--output", str(tmp_path / "out"))
    assert done.stdout == here.out
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(here.last_line) == {"scores": {"centred": 0.0, "scaled": 1.0, "counted": 1.0}}
    with tarfile.open(tmp_path / "lab/autograde.tar") as tar:
        assert not [name for name in tar.getnames() if "private" in name]


# --- what is in it --------------------------------------------------------------------------------------------------


def test_no_solution_is_in_a_pack(course: CourseOnDisk, pack: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(pack) as archive:
        archive.extractall(tmp_path / "pack")
    (wheel,) = (tmp_path / "pack").glob("goldsmith-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        assert not [name for name in archive.namelist() if "_example" in name or name.endswith(".pyc")]
    found = find_course(course.root)
    shutil.rmtree(tmp_path / "pack/course/tests")  # the gold, which is meant to be there
    assert sweep(found, public_in(tmp_path / "pack"), guarded_by(found, everything_public=True)) == Sweep([], [])
    assert not (tmp_path / "pack/course/private").exists()


def test_the_same_files_give_the_same_bytes(course: CourseOnDisk, pack: Path, tmp_path: Path) -> None:
    other = tmp_path / "again.zip"
    assert course.run("pack", "gradescope", "hw1", *TIMEOUT, "--output", str(other)).code == 0
    assert other.read_bytes() == pack.read_bytes()
    run = course.run("pack", "gradescope", "hw1", "--output", str(other), "--json")
    (item,) = run.json["assignments"]
    assert (item["name"], item["outcome"], item["files"]) == ("hw1", "packed", [str(other)])
    assert item["size"] == other.stat().st_size
    assert any(line.startswith("numpy==") for line in item["requirements"])
    assert not any(line.startswith("torch==") for line in item["requirements"]), "this gold needs none"


def test_a_private_recipe_and_functions_that_stay_as_given_count_as_they_do_here(tmp_path: Path) -> None:
    """The recipe lies next to the solution, and one stub is nobody's to write."""
    base = "\n\nclass Base:\n    def total(self, x):\n        raise NotImplementedError\n"
    course = checked_course(tmp_path / "course")
    starter, solution = (
        course.root / "src/assignments/hw1/ops.py",
        course.root / "private/solutions/hw1/ops_solution.py",
    )
    for path in (starter, solution):
        path.write_text(path.read_text() + base)
    private = course.root / "private/solutions/hw1/generate_fixtures.py"
    recipe = (course.root / RECIPE_FILE).read_text()
    recipe = recipe.replace("import Counter", "import Base, Counter").replace(
        "@gs.case\ndef scaled",
        "@gs.case\ndef based(case):\n    case.record('y', 1.0 * issubclass(Base, object))\n\n\n@gs.case\ndef scaled",
    )
    (course.root / RECIPE_FILE).unlink()
    private.write_text(recipe)
    assert course.run("generate", "hw1").code == 0
    what = tmp_path / "submission"
    what.mkdir()
    (what / "ops.py").write_text(SOLUTION_TEXT + base)
    assert course.run("grade", "hw1", str(what)).code == 0
    run = course.run("pack", "gradescope", "hw1", "--output", str(tmp_path / "pack.zip"))
    assert run.code == 0, run.err
    with new_container() as container:
        results = container.unpacked(tmp_path / "pack.zip").grade(what)[1]
    assert results == (course.root / "private/grades/hw1/gradescope/submission/results.json").read_bytes()
    assert json.loads(results)["extra_data"]["outcome"] == "agrees"
    with zipfile.ZipFile(tmp_path / "pack.zip") as archive:
        assert json.loads(archive.read("course/.goldsmith/left-as-given/hw1.json")) == {"ops.py": ["Base.total"]}
        assert "course/private/solutions/hw1/generate_fixtures.py" in archive.namelist()


# --- what is refused ------------------------------------------------------------------------------------------------


def refused(course: CourseOnDisk, *arguments: str, code: int, place: str = "gradescope") -> str:
    run = course.run("pack", place, *arguments)
    assert run.code == code, run.out + run.err
    return run.err


@pytest.fixture
def copy(course: CourseOnDisk, tmp_path: Path) -> CourseOnDisk:
    shutil.copytree(course.root, tmp_path / "course", ignore=shutil.ignore_patterns("packs", "grades"))
    return CourseOnDisk(tmp_path / "course")


def test_stale_or_missing_gold_is_refused(copy: CourseOnDisk) -> None:
    solution = copy.root / "private/solutions/hw1/ops_solution.py"
    solution.write_text(solution.read_text().replace("x - mean_of(x)", "x - mean_of(x) + 0"))
    assert "ops_solution.py changed since the gold was made" in refused(copy, "hw1", code=3)
    shutil.rmtree(copy.gold())
    assert "there is no gold for hw1" in refused(copy, "hw1", code=3)
    assert not list((copy.root / "private/packs").glob("*.zip"))


def test_gold_that_was_touched_is_refused(copy: CourseOnDisk) -> None:
    file = copy.gold() / "scaled.npz"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    assert "scaled.npz is not what was published" in refused(copy, "hw1", code=3)


def test_a_starter_that_shows_the_solution_is_refused(copy: CourseOnDisk) -> None:
    (copy.root / "src/assignments/hw1/hints.py").write_text(SOLUTION_TEXT)
    assert copy.run("generate", "hw1").code == 0
    assert "a solution would be in the pack: src/assignments/hw1/hints.py" in refused(copy, "hw1", code=3)


def test_nothing_of_anybody_else_s_is_replaced(course: CourseOnDisk, tmp_path: Path) -> None:
    theirs = tmp_path / "autograder.zip"
    with zipfile.ZipFile(theirs, "w") as archive:
        archive.writestr("setup.sh", "echo mine")
    before = theirs.read_bytes()
    assert "something that goldsmith has packed" in refused(course, "hw1", "--output", str(theirs), code=2)
    assert theirs.read_bytes() == before
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab/README.md").write_text("mine")
    assert "README.md" in refused(course, "hw1", "--output", str(tmp_path / "lab"), code=2, place="autolab")
    assert [path.name for path in (tmp_path / "lab").iterdir()] == ["README.md"]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["hw9"], 2, "hw9"),
        ([], 2, "hw1"),
        (["hw1", "--output", "src/assignments/hw1/autograder.zip"], 2, "is a public place of this course"),
        (["hw1", "--output", "../none/autograder.zip"], 2, "a place in a folder that exists"),
        (["hw1", "--memory", "0"], 2, "--memory"),
        (["hw1", "--timeout", "nan"], 2, "--timeout"),
    ],
)
def test_bad_command_lines_say_what_to_give(course: CourseOnDisk, arguments: list[str], code: int, said: str) -> None:
    assert said in refused(course, *arguments, code=code)


def test_a_file_name_for_autolab_is_one_that_make_understands(course: CourseOnDisk) -> None:
    assert "--handin" in refused(course, "hw1", "--handin", "$(shell ls)", code=2, place="autolab")


def test_a_package_from_a_folder_of_one_s_own_cannot_be_packed(copy: CourseOnDisk) -> None:
    (copy.root / "goldsmith.toml").write_text('packages = ["coursetools"]\n')
    assert "coursetools cannot be installed elsewhere" in refused(copy, "hw1", code=3)


def test_a_folder_that_cannot_be_written_is_told(course: CourseOnDisk, tmp_path: Path) -> None:
    (tmp_path / "full").symlink_to("/proc")
    assert "cannot be written" in refused(course, "hw1", "--output", str(tmp_path / "full/x.zip"), code=3)


def test_scripts_are_bash_and_name_no_host(pack: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(pack) as archive:
        for name in ("setup.sh", "run_autograder"):
            subprocess.run(["bash", "-n"], input=archive.read(name), check=True)
            assert b"http" not in archive.read(name)
