"""Gold that proves itself: traceable, never silently stale, damage found, changes shown before they are made."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from goldsmith.generate.freshness import _version
from goldsmith.gold.inspect_gold import inspect_gold
from goldsmith.gold.manifest import read_manifest
from support.course import RECIPE_FILE, SOLUTION_FILE, CourseOnDisk, numpy_course, recipe

USES_MORE = """
    from pathlib import Path
    from src.shared.tables import OFFSET

    @gs.case
    def gold_output(case):
        table = np.loadtxt(Path(__file__).parents[3] / "data" / "table.csv")
        case.record("y", scale(case.input("x", lambda: table)) + OFFSET)
"""


NEEDS_DECOY = """
    from decoy import LIMIT

    @gs.case
    def gold_output(case):
        case.record("y", scale(case.input("x", lambda: np.random.randn(LIMIT, 5))))
"""


@pytest.fixture
def made(course: CourseOnDisk) -> CourseOnDisk:
    """A course with gold that uses a module and a data file beyond its own folder."""
    course.write({"src/shared/tables.py": "OFFSET = 3.0\n", "data/table.csv": "1\n2\n4\n", "data/unused.csv": "9\n"})
    return course.write({RECIPE_FILE: recipe(USES_MORE)}).with_gold()


def reasons(course: CourseOnDisk) -> list[str]:
    (item,) = course.run("status", "--json").json["assignments"]
    return list(item["reasons"])


# --- provenance and staleness


def test_everything_the_recipe_used_is_in_the_manifest(made: CourseOnDisk) -> None:
    reads = read_manifest(made.gold()).provenance.reads
    assert sorted(reads) == ["data/table.csv", "src/shared/tables.py"]
    assert reasons(made) == []


@pytest.mark.parametrize("name", ["src/shared/tables.py", "data/table.csv", SOLUTION_FILE, RECIPE_FILE])
def test_gold_is_stale_when_anything_it_was_made_from_changed(made: CourseOnDisk, name: str) -> None:
    path = made.root / name
    path.write_text(path.read_text() + "\n")
    assert reasons(made) == [f"{name} changed since the gold was made"]


def test_what_it_did_not_use_makes_nothing_stale(made: CourseOnDisk) -> None:
    (made.root / "data/unused.csv").write_text("changed")
    assert reasons(made) == []
    (made.root / "data/table.csv").unlink()
    assert reasons(made) == ["data/table.csv is gone"]


def test_gold_is_stale_when_the_solution_removes_other_files(course: CourseOnDisk) -> None:
    course.write({"src/assignments/hw1/decoy.py": "LIMIT = 3\n", RECIPE_FILE: recipe(NEEDS_DECOY)})
    assert "No module named 'decoy'" not in course.run("generate", "hw1").out
    course.write({"goldsmith.toml": '[assignment.hw1]\nremoves = ["decoy.py"]\n'})
    assert reasons(course) == ["src/assignments/hw1/decoy.py is gone"]
    run = course.run("generate", "hw1")
    assert run.code == 3
    assert "No module named 'decoy'" in run.out, "it is not there where the solution runs"


def test_other_versions_are_a_note_and_make_no_gold_stale(made: CourseOnDisk, tmp_path: Path) -> None:
    other = tmp_path / "site"
    (other / "numpy-0.9.dist-info").mkdir(parents=True)
    (other / "numpy-0.9.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: numpy\nVersion: 0.9\n")
    (item,) = made.run("status", "--json", PYTHONPATH=str(other)).json["assignments"]
    assert (item["outcome"], item["reasons"]) == ("fresh", [])
    assert item["notes"] == [f"recorded with NumPy {numpy.__version__}, here 0.9"]
    shown = made.run("status", PYTHONPATH=str(other)).out
    assert "here 0.9; `goldsmith verify --reproduce` says whether that matters." in shown


@pytest.mark.parametrize(("recorded", "here"), [("2.11.0+cu130", "2.11.0"), ("2.11.0", "2.11.0+cpu")])
def test_the_local_part_of_a_version_is_never_judged(recorded: str, here: str) -> None:
    assert list(_version("torch", recorded, here)) == []
    assert list(_version("torch", recorded, "2.12.0+cpu")) == [f"recorded with torch {recorded}, here 2.12.0+cpu"]


def test_fresh_gold_is_left_alone_and_damaged_gold_is_not(made: CourseOnDisk) -> None:
    assert made.run("generate", "hw1").last_line == "hw1: fresh, nothing to do."
    assert made.run("generate", "hw1", "--seed", "7").last_line.startswith("hw1: gold published")
    assert made.run("generate", "hw1", "--check", yes=False).code == 0, "checked with the seed it was made with"
    assert made.run("generate", "hw1").last_line.startswith("hw1: gold published")
    path = made.gold() / "gold_output.npz"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    assert made.run("generate", "hw1").last_line.startswith("hw1: gold published")
    assert inspect_gold(made.gold())[1].ok


def test_damaged_gold_can_be_replaced_by_other_gold(made: CourseOnDisk) -> None:
    (made.gold() / "gold_output.npz").write_bytes(b"not an archive")
    made.write({SOLUTION_FILE: "def scale(x):\n    return x * 3.0\n"})
    run = made.run("generate", "hw1", "--json")
    assert run.code == 0, run.out + run.err
    assert run.json["assignments"][0]["changes"][0]["before"] == "unreadable"


# --- --check, diff, and asking


def test_check_writes_nothing_and_says_whether_anything_would_change(made: CourseOnDisk) -> None:
    shutil.rmtree(made.root / ".goldsmith")
    before = made.snapshot(".")
    assert made.run("generate", "all", "--check", yes=False).code == 0
    assert made.snapshot(".") == before
    made.write({SOLUTION_FILE: "def scale(x):\n    return x * 2.0 + 1.5\n"})
    before = made.snapshot(".")
    run = made.run("generate", "hw1", "--check", "--json", yes=False)
    assert run.code == 1
    (item,) = run.json["assignments"]
    assert (item["outcome"], len(item["changes"])) == ("stale", 1)
    assert made.snapshot(".") == before


def test_diff_shows_each_tensor_and_its_size_beside_the_tolerance(made: CourseOnDisk) -> None:
    made.git("init", "--quiet")
    made.git("add", "--all")
    made.git("commit", "--quiet", "-m", "gold")
    assert made.run("diff", "hw1").last_line == "hw1: no tensor changed by regenerating."
    body = USES_MORE.replace("+ OFFSET)", "+ OFFSET + 0.5)\n        case.record('extra', np.arange(4))")
    made.write({RECIPE_FILE: recipe(body)})
    run = made.run("diff", "hw1", "--json")
    assert run.code == 1
    changes = {item["path"]: item for item in run.json["assignments"][0]["changes"]}
    assert {path: item["change"] for path, item in changes.items()} == {
        "output": "removed",
        "output.y": "added",
        "output.extra": "added",
    }
    made.write({RECIPE_FILE: recipe(USES_MORE.replace("+ OFFSET)", "+ OFFSET + 0.5)"))})
    (change,) = made.run("diff", "hw1", "--json").json["assignments"][0]["changes"]
    assert change["change"] == "values"
    assert change["largest"] == pytest.approx(0.5)
    assert change["excess"] > 100
    assert made.run("generate", "hw1").code == 0
    since = made.run("diff", "hw1", "HEAD")
    assert since.code == 1
    assert since.last_line == "hw1: 1 tensor changed since HEAD."
    assert "values" in since.out
    unknown = made.run("diff", "hw1", "nowhere")
    assert unknown.code == 2
    assert "git has no gold at tests/internal/fixtures/hw1 in 'nowhere'" in unknown.err


def test_without_yes_or_a_person_the_old_gold_stays(made: CourseOnDisk) -> None:
    made.write({SOLUTION_FILE: "def scale(x):\n    return x * 3.0\n"})
    before = made.gold_bytes()
    run = made.run("generate", "hw1", yes=False)
    assert run.code == 1
    assert (
        "the old gold was kept: 1 of its tensors would change; replace it with `goldsmith generate hw1 --yes`."
        in run.last_line
    )
    assert made.gold_bytes() == before


# --- verify


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    return numpy_course(tmp_path_factory.mktemp("verify") / "course").with_gold()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=150)
@given(data=st.data())
def test_any_single_byte_that_changed_is_found_in_any_file(sound: CourseOnDisk, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(sound.gold_bytes())))
    path = sound.gold() / name
    content = path.read_bytes()
    place = data.draw(st.integers(0, len(content) - 1))
    damaged = bytearray(content)
    damaged[place] ^= data.draw(st.integers(1, 255))
    try:
        path.write_bytes(damaged)
        checks = inspect_gold(sound.gold())
        assert not all(check.ok for check in checks)
        assert name in " ".join(problem for check in checks for problem in check.problems)
    finally:
        path.write_bytes(content)
    assert all(check.ok for check in inspect_gold(sound.gold()))


def test_verify_names_what_is_damaged_missing_and_sound(made: CourseOnDisk) -> None:
    run = made.run("verify")
    assert run.code == 0
    assert run.last_line == "hw1: sound, all 12 checks passed."
    path = made.gold() / "README.md"
    path.write_text(path.read_text().replace("42", "43"))
    run = made.run("verify", "hw1")
    assert run.code == 1
    assert "README.md has other bytes than were published" in run.out
    shutil.rmtree(made.gold())
    run = made.run("verify", "--json")
    assert run.code == 3
    assert run.json["assignments"][0]["outcome"] == "missing"


def test_reproduce_runs_the_recipe_again(made: CourseOnDisk) -> None:
    before = made.snapshot(".")
    run = made.run("verify", "hw1", "--reproduce")
    assert run.code == 0
    assert "reproduced bit for bit" in run.last_line
    assert made.snapshot(".") == before
    made.write({SOLUTION_FILE: f"def scale(x):\n    return x * 2.0 + 1.0 + {2.0**-40}\n"})
    run = made.run("verify", "hw1", "--reproduce")
    assert run.code == 1
    assert run.last_line == (
        f"hw1: 1 tensor would change; the cause cannot be told: {SOLUTION_FILE} as it was is not in git's history."
    )


TORCH = """
    @gs.case
    def gold_output(case):
        model = case.model(torch.nn.Linear, 6, 4, weights="stress")
        y = model(case.input("x", lambda: torch.randn(3, 6)))
        y.pow(2).sum().backward()
        case.record("y", y)
        case.record_gradients(model)
"""


@pytest.mark.long
def test_bits_do_not_depend_on_where_when_and_under_what_it_runs(course: CourseOnDisk, tmp_path: Path) -> None:
    """Identical bytes under another hash seed, thread variable, folder and time zone."""
    course.write({RECIPE_FILE: recipe(TORCH, "import torch")})
    assert course.run("generate", "hw1", calibrate=True).code == 0
    before = course.gold_bytes()
    (tmp_path / "t").mkdir()
    env = {
        "PYTHONHASHSEED": "77",
        "OMP_NUM_THREADS": "2",
        "TMPDIR": str(tmp_path / "t"),
        "LC_ALL": "C",
        "TZ": "Asia/Tokyo",
    }
    arguments = ("generate", "hw1", "--calibrate", "-C", str(course.root))
    run = course.run(*arguments, cwd=tmp_path, calibrate=True, **env)
    assert run.last_line.startswith("hw1: not a byte changed")
    assert course.gold_bytes() == before

    # With other threads and instructions the recipe draws and rounds otherwise: from the gold's own inputs and weights
    # it still computes the gold, within the measured tolerance.
    course.write({"goldsmith.toml": "threads = 2\n"})
    run = course.run("verify", "hw1", "--reproduce", "--json", ATEN_CPU_CAPABILITY="default")
    (item,) = run.json["assignments"]
    assert (run.code, item["outcome"]) == (0, "unchanged"), run.out
    if not item["reproduced"]:
        assert any("instruction set" in text for text in item["environment"])
        assert item["attribution"]["cause"] == "environment"


# --- doctor


def test_the_doctor_says_what_bears_on_determinism(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    anywhere = CourseOnDisk(tmp_path).write({RECIPE_FILE: "import torch"})  # forked from where it is imported already
    monkeypatch.setenv("ATEN_CPU_CAPABILITY", "avx2")
    run = anywhere.run("doctor", "--json")
    facts = {fact["name"]: fact for fact in run.json["facts"]}
    assert {"python", "numpy", "torch", "cpu-capability", "devices", "cores", "git"} <= facts.keys()
    assert facts["ATEN_CPU_CAPABILITY"]["outcome"] == "note"
    assert all(fact["meaning"] for fact in facts.values())
    assert run.code == 0
    monkeypatch.setenv("NVIDIA_TF32_OVERRIDE", "1")
    run = anywhere.run("doctor")
    assert run.code == 1
    assert run.last_line == "Look at NVIDIA_TF32_OVERRIDE before you trust gold made here."
