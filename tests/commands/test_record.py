"""`goldsmith record`: gold of a recipe that belongs to no course, beside it, from whatever it imports."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

import goldsmith
from goldsmith.gold.manifest import read_manifest
from support.course import CourseOnDisk
from support.project import FILES, GOLD, RECIPE, project

pytestmark = pytest.mark.xdist_group("record")


@pytest.fixture
def lone(tmp_path: Path) -> CourseOnDisk:
    return project(tmp_path / "repo").with_gold(RECIPE)


def tree(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and ".goldsmith" not in path.parts
    }


def reasons(lone: CourseOnDisk, recipe: str = RECIPE) -> list[str]:
    (item,) = lone.run("status", recipe, "--json").json["assignments"]
    return list(item["reasons"])


def test_gold_lies_beside_the_recipe_with_all_that_gold_has(tmp_path: Path) -> None:
    lone = project(tmp_path / "repo")
    before = tree(lone.root)
    run = lone.run("record", RECIPE, "--json", calibrate=True)
    assert run.code == 0, run.err
    (item,) = run.json["assignments"]
    assert (item["outcome"], item["kind"], item["folder"]) == ("published", "recipe", GOLD)
    names = {"halved.npz", "scaled.npz", "manifest.json", "README.md"}
    assert names <= {path.name for path in (lone.root / GOLD).iterdir()}
    after = tree(lone.root)
    assert {name: after[name] for name in before} == before
    assert {name.rpartition("/")[0] for name in after.keys() - before.keys()} == {GOLD}
    manifest = read_manifest(lone.root / GOLD)
    assert manifest.calibration is not None
    assert {check.name for check in manifest.checks} >= {"reproducible", "nan", "tolerances"}
    assert "interface" not in {check.name for check in manifest.checks}
    assert goldsmith.load(lone.root / GOLD)["halved"].seed == 42


def test_the_manifest_names_what_was_imported_and_read(lone: CourseOnDisk) -> None:
    made = read_manifest(lone.root / GOLD).provenance
    assert sorted(made.solution) == [
        "src/oldpkg/__init__.py",
        "src/oldpkg/offsets.py",
        "src/oldpkg/scaling.py",
    ]
    assert (list(made.recipe), list(made.reads)) == ([RECIPE], ["data/table.csv"])
    assert made.written == ("scaling.half", "scaling.scale")
    assert made.command == "goldsmith record 'parity cases.py' --no-calibrate"


def test_nothing_moves_when_nothing_changed(lone: CourseOnDisk) -> None:
    subprocess.run(["git", "init", "-q"], cwd=lone.root, check=True)
    subprocess.run(["git", "add", "-A"], cwd=lone.root, check=True)
    before = tree(lone.root / "tests")
    run = lone.run("record", RECIPE, "--json")
    assert [item["outcome"] for item in run.json["assignments"]] == ["unchanged"]
    assert lone.run("record", RECIPE, "--force").code == 0
    assert tree(lone.root / "tests") == before
    status = ["git", "status", "--porcelain"]
    listed = subprocess.run(status, cwd=lone.root, capture_output=True, text=True, check=True).stdout.splitlines()
    assert [line for line in listed if not line.startswith("A  ")] == []


@pytest.mark.parametrize("name", ["src/oldpkg/offsets.py", "data/table.csv", RECIPE])
def test_gold_is_stale_when_what_it_was_made_from_changed(lone: CourseOnDisk, name: str) -> None:
    assert reasons(lone) == []
    (lone.root / "data/unused.csv").write_text("new")
    assert reasons(lone) == []
    path = lone.root / name
    path.write_text(path.read_text() + "\n")
    assert reasons(lone) == [f"{name} changed since the gold was made"]


def test_a_changed_implementation_is_shown_before_gold_is_replaced(lone: CourseOnDisk) -> None:
    lone.write({"src/oldpkg/offsets.py": "OFFSET = 4.0\n"})
    before = tree(lone.root / GOLD)
    dry = lone.run("record", RECIPE, "--check")
    assert dry.code == 1
    assert "goldsmith record 'tests/parity cases.py'" in dry.out
    assert lone.run("record", RECIPE, yes=False).code == 1
    assert lone.run("diff", RECIPE, "--json").code == 1
    again = lone.run("verify", RECIPE, "--reproduce", "--json")
    assert again.code == 1
    assert again.json["assignments"][0]["sources"] == ["src/oldpkg/offsets.py changed since the gold was made"]
    assert tree(lone.root / GOLD) == before
    assert lone.run("record", RECIPE).code == 0
    assert tree(lone.root / GOLD) != before
    assert reasons(lone) == []


def test_reproducing_says_that_the_code_moved_it(lone: CourseOnDisk) -> None:
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "all"]):
        subprocess.run([*git, *command], cwd=lone.root, check=True)
    lone.write({"src/oldpkg/offsets.py": "OFFSET = 4.0\n"})
    (item,) = lone.run("verify", RECIPE, "--reproduce", "--json").json["assignments"]
    assert item["attribution"]["cause"] == "code"


def test_damaged_gold_is_found(lone: CourseOnDisk) -> None:
    assert lone.run("verify", RECIPE).code == 0
    file = lone.root / GOLD / "halved.npz"
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    assert lone.run("verify", RECIPE).code == 1


def test_two_recipes_in_one_folder_have_their_own_gold(lone: CourseOnDisk) -> None:
    shutil.copy(lone.root / RECIPE, lone.root / "tests/more.py")
    run = lone.run("record", "tests/more.py", RECIPE, "--json")
    assert [item["outcome"] for item in run.json["assignments"]] == ["published", "unchanged"]
    assert reasons(lone, "tests/more.py") == []
    assert lone.run("verify", "tests/more.py", RECIPE).code == 0


def test_any_script_can_be_recorded(tmp_path: Path) -> None:
    script = """
        import sys
        import numpy as np
        np.savez(f"{sys.argv[2]}/table.npz", values=np.arange(3.0))
    """
    lone = CourseOnDisk(tmp_path / "plain").write({"make.py": script})
    assert lone.run("record", "make.py").code == 0
    assert (lone.root / "make.gold/table.npz").is_file()
    assert lone.run("verify", "make.py").code == 0
    told = lone.run("check", "make.py")
    assert told.code == 3
    assert "a script without cases" in told.err


def test_it_records_from_another_implementation(lone: CourseOnDisk, tmp_path: Path) -> None:
    for name in FILES:
        if name.startswith("src/"):
            target = tmp_path / "before" / name.removeprefix("src/")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(lone.root / name, target)
    (tmp_path / "before/oldpkg/offsets.py").write_text("OFFSET = 7.0\n")
    run = lone.run("record", RECIPE, "--with", "../before")
    assert run.code == 0, run.out + run.err
    made = read_manifest(lone.root / GOLD).provenance
    assert "../before/oldpkg/offsets.py" in made.solution
    assert made.command == "goldsmith record 'parity cases.py' --with ../../before --no-calibrate"
    assert goldsmith.load(lone.root / GOLD)["scaled"].data["output"][0] == 7.5
    assert reasons(lone) == []
    assert lone.run("verify", RECIPE, "--reproduce").code == 0
    assert lone.run("check", RECIPE).code == 1
    assert lone.run("check", RECIPE, "--with", "../before").code == 0


def test_an_installed_package_counts_by_its_version(tmp_path: Path) -> None:
    recipe = """
        import numpy as np
        import goldsmith as gs
        import safetensors.numpy

        @gs.case
        def stored(case):
            x = case.input("x", lambda: np.random.randn(3))
            case.record("y", safetensors.numpy.load(safetensors.numpy.save({"x": x}))["x"] + 1)
    """
    lone = CourseOnDisk(tmp_path / "plain").write({"cases.py": recipe})
    assert lone.run("record", "cases.py").code == 0
    made = read_manifest(lone.root / "cases.gold").provenance
    assert (list(made.packages), made.solution) == (["safetensors"], {})
    manifest = lone.root / "cases.gold/manifest.json"
    assert made.packages["safetensors"] in manifest.read_text()


def test_a_module_beside_the_recipe_is_used_as_a_script_would(tmp_path: Path) -> None:
    recipe = "import goldsmith as gs, numpy as np, model\n" + textwrap.dedent("""
        @gs.case
        def one(case):
            case.record("y", model.double(case.input("x", lambda: np.random.randn(3))))
    """)
    model = "def double(x):\n    return 2 * x\n"
    lone = CourseOnDisk(tmp_path / "plain").write({"cases.py": recipe, "model.py": model})
    assert lone.run("record", "cases.py").code == 0
    assert list(read_manifest(lone.root / "cases.gold").provenance.solution) == ["model.py"]
    assert lone.run("record", "cases.py", cwd=tmp_path).code == 2
    assert lone.run("record", "plain/cases.py", "--json", cwd=tmp_path).json["assignments"][0]["outcome"] == "unchanged"


def test_a_module_that_is_nowhere_is_told_with_where_it_was_looked_for(tmp_path: Path) -> None:
    lone = CourseOnDisk(tmp_path / "plain").write({"cases.py": "import nowhere\n"})
    run = lone.run("record", "cases.py")
    assert run.code == 3
    assert f"No module named 'nowhere'; it was looked for in the environment and in {lone.root}" in run.last_line


def test_code_edited_within_the_same_second_is_what_runs(tmp_path: Path) -> None:
    lone = project(tmp_path / "repo").with_gold(RECIPE)
    offsets = lone.root / "src/oldpkg/offsets.py"
    subprocess.run([sys.executable, "-m", "compileall", "-q", "src"], cwd=lone.root, check=True)
    look = offsets.stat()
    offsets.write_text("OFFSET = 4.0\n")
    os.utime(offsets, ns=(look.st_atime_ns, look.st_mtime_ns))
    assert lone.run("check", RECIPE).code == 1


def test_a_recipe_that_changes_its_implementation_is_refused(lone: CourseOnDisk) -> None:
    text = (lone.root / RECIPE).read_text()
    offsets = 'Path(__file__).parents[1] / "src/oldpkg/offsets.py"'
    meddling = f'offsets = {offsets}\noffsets.write_text(offsets.read_text() + " ")\n'
    (lone.root / RECIPE).write_text(text + meddling)
    before = tree(lone.root / GOLD)
    run = lone.run("record", RECIPE)
    assert run.code == 3
    assert "src/oldpkg/offsets.py changed while the recipe ran" in run.out
    assert tree(lone.root / GOLD) == before


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_recording_leaves_the_old_gold(lone: CourseOnDisk, end: signal.Signals) -> None:
    began = lone.root / "began"  # outside of what is looked at: after `kill -9` a child lives on for a moment
    waits = "\nimport time\nPath(__file__).parents[1].joinpath('began').touch()\ntime.sleep(60)\n"
    text = (lone.root / RECIPE).read_text()
    (lone.root / RECIPE).write_text(text + waits)
    before = tree(lone.root / GOLD)
    process = lone.start("record", RECIPE)
    while not began.exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    process.send_signal(end)
    _, told = process.communicate(timeout=60)
    if end == signal.SIGINT:
        assert process.returncode == 130
        assert "gold that was not finished was not published" in told
    assert tree(lone.root / GOLD) == before
    (lone.root / RECIPE).write_text(text)
    assert lone.run("record", RECIPE, "--force").code == 0
    assert sorted(path.name for path in (lone.root / "tests").iterdir()) == ["parity cases.gold", "parity cases.py"]


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    prefix = ["setpriv", "--bounding-set=-dac_override", "--inh-caps=-dac_override"] if os.getuid() == 0 else []
    lone = project(tmp_path / "repo")
    (lone.root / "tests").chmod(0o555)
    run = lone.run("record", RECIPE, prefix=prefix)
    (lone.root / "tests").chmod(0o755)
    assert run.code == 3
    assert "parity cases.gold" in run.last_line
    assert "cannot be written (Permission denied)" in run.last_line


def test_gold_in_the_place_of_a_file_is_refused(tmp_path: Path) -> None:
    lone = project(tmp_path / "repo").write({GOLD: "somebody's file"})
    run = lone.run("record", RECIPE)
    assert run.code == 3
    assert "a file stands in the place of the gold folder" in run.out
    assert (lone.root / GOLD).read_text() == "somebody's file"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["record", "nothing.py"], "there is no recipe nothing.py"),
        (["record", "tests"], "tests is not a recipe file"),
        (["record", RECIPE, "--with", "nowhere"], "--with nowhere: there is no such folder or file"),
        (["record", RECIPE, "--with", "data"], "data has nothing that parity cases.py imports (oldpkg)"),
        (["record", RECIPE, "--with", "data/table.csv"], "--with data/table.csv: there is no such folder or file"),
        (["generate", RECIPE], "goldsmith generate needs an assignment of a course"),
        (["inject", RECIPE], "goldsmith inject needs an assignment of a course"),
        (["reset", RECIPE], "goldsmith reset needs an assignment of a course"),
        (["rigor", RECIPE], "goldsmith rigor needs an assignment of a course"),
        (["test", RECIPE], "goldsmith test needs an assignment of a course"),
        (["grade", RECIPE, "data"], "goldsmith grade needs an assignment of a course"),
    ],
)
def test_what_makes_no_sense_is_said_in_a_sentence(tmp_path: Path, arguments: list[str], sentence: str) -> None:
    lone = project(tmp_path / "repo")
    run = lone.run(*arguments)
    assert (run.code, sentence in run.err) == (2, True), run.err
    assert len(run.err.strip().splitlines()) == 1


def test_the_recipe_of_a_course_is_left_to_the_course(course: CourseOnDisk) -> None:
    recipe = "src/assignments/hw1/generate_fixtures.py"
    for command in ("record", "check", "verify", "inject"):
        run = course.run(command, recipe)
        assert run.code == 2
        assert "is the recipe of the course's assignment hw1; use its name instead" in run.err
