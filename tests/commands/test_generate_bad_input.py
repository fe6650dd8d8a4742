"""Whatever goes wrong: one clear sentence, the right exit code, old gold and starter untouched."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.course import (
    RECIPE_FILE,
    SOLUTION,
    SOLUTION_FILE,
    STARTER,
    CourseOnDisk,
    Run,
    names_no_process,
    numpy_course,
    recipe,
    wait_until,
)

USAGE, COULD_NOT_RUN = 2, 3


@pytest.fixture
def course(tmp_path: Path) -> CourseOnDisk:
    """A course whose gold exists already, so that a failure could harm it."""
    return numpy_course(tmp_path / "course").with_gold()


@contextlib.contextmanager
def unharmed(course: CourseOnDisk) -> Iterator[None]:
    """Not a byte of starter, solution or gold changes in the block, and nothing is left lying about."""
    people, gold, siblings = course.snapshot(), course.gold_bytes(), _names(course.gold().parent)
    yield
    assert course.snapshot() == people
    assert course.gold_bytes() == gold
    assert _names(course.gold().parent) == siblings


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


def fails(
    course: CourseOnDisk, code: int, *words: str, options: tuple[str, ...] = (), new_workers: bool = False
) -> Run:
    """`generate hw1` fails with this exit code and one line that has all of `words`, in text and in JSON."""
    with unharmed(course):
        run = course.run("generate", "hw1", *options, new_workers=new_workers)
    text = run.last_line if run.out.strip() else run.err.strip().splitlines()[-1]
    assert run.code == code, run.out + run.err
    for word in words:
        assert word in text, text
    assert "Traceback (most recent" not in run.err
    return run


def test_unknown_assignment_offers_the_nearest_names(course: CourseOnDisk) -> None:
    run = course.run("generate", "hw-1")
    assert (run.code, run.out) == (USAGE, "")
    assert "'hw-1'" in run.err
    assert "did you mean hw1?" in run.err
    assert json.loads(course.run("generate", "zzz", "--json").out)["error"]["kind"] == "unknown-assignment"


def test_a_name_that_is_as_near_to_several_is_not_guessed(course: CourseOnDisk) -> None:
    assert course.run("new", "hw-2", "--kind", "numpy").code == 0
    assert course.run("new", "hw-3", "--kind", "numpy").code == 0
    assert course.run("status", "hw-9").err.rstrip().endswith("; there are hw1, hw-2, hw-3.")


def test_no_name_without_a_terminal(course: CourseOnDisk) -> None:
    run = course.run("generate")
    assert run.code == USAGE
    assert "there is hw1." in run.err


def test_no_solution(course: CourseOnDisk) -> None:
    shutil.rmtree(course.root / "private/solutions/hw1")
    fails(course, COULD_NOT_RUN, "hw1 has no solution", "private/solutions/hw1/")


def test_solution_file_that_matches_nothing(course: CourseOnDisk) -> None:
    course.write({"private/solutions/hw1/other_solution.py": "x = 1\n"})
    fails(course, COULD_NOT_RUN, "other_solution.py replaces nothing", "src/assignments/hw1/other.py")


def test_flat_solution_that_fits_no_assignment_is_named(course: CourseOnDisk) -> None:
    shutil.rmtree(course.root / "private/solutions/hw1")
    course.write({"private/solutions/lost_solution.py": "x = 1\n"})
    fails(course, COULD_NOT_RUN, "hw1 has no solution", "lost_solution.py fits no assignment")


def test_flat_solution_that_fits_two_assignments(course: CourseOnDisk) -> None:
    shutil.rmtree(course.root / "private/solutions/hw1")
    course.write({"private/solutions/ops_solution.py": SOLUTION, "src/assignments/hw2/ops.py": STARTER})
    fails(course, COULD_NOT_RUN, "ops_solution.py fits hw1 and hw2", "private/solutions/<assignment>/")


def test_two_solution_files_for_one_place(course: CourseOnDisk) -> None:
    course.write({"private/solutions/hw1/ops.py": SOLUTION})
    fails(course, COULD_NOT_RUN, "both take the place of src/assignments/hw1/ops.py")


def test_recipe_with_a_syntax_error(course: CourseOnDisk) -> None:
    course.write({RECIPE_FILE: "import numpy\n\ndef broken(:\n    pass\n"})
    fails(course, COULD_NOT_RUN, RECIPE_FILE, "line 3", "def broken(:")


def test_recipe_that_raises_shows_its_own_traceback_only(course: CourseOnDisk) -> None:
    course.write({SOLUTION_FILE: "def scale(x):\n    return x.reshape(99)\n"})
    run = fails(course, COULD_NOT_RUN, "case gold_output", "raised ValueError", "cannot reshape")
    assert f"{RECIPE_FILE}:12 in gold_output" in run.out
    assert f"{SOLUTION_FILE}:2 in scale" in run.out
    assert "goldsmith/worker" not in run.out
    assert "/tmp" not in run.out


def test_solution_that_leaves_a_part_of_the_starter_unwritten(course: CourseOnDisk) -> None:
    course.write({SOLUTION_FILE: STARTER})
    fails(course, COULD_NOT_RUN, "raised NotImplementedError")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("@gs.case\ndef a(case):\n    pass\n", ("case a", "records nothing")),
        ("x = 1\n", ("has no case",)),
        ("@gs.case\ndef a(case):\n    case.record('y', 1.0)\n    case.record('y', 2.0)\n", ("two outputs", "'y'")),
        ("@gs.case\ndef a(case):\n    case.input('x', 1.0)\n    case.input('x', 2.0)\n", ("two inputs", "'x'")),
        ("@gs.case\ndef a(case): pass\n\n@gs.case(name='a')\ndef b(case): pass\n", ("two cases are called a",)),
        ("@gs.case\ndef a(case):\n    case.record('y', object())\n", ("output 'y' is an object", "not an array")),
        ("@gs.case\ndef a(case):\n    case.record('y', {'k': [len]})\n", ("output 'y'.k.0 is a builtin",)),
        ("@gs.case\ndef a(case):\n    case.record('y', {})\n", ("output 'y' is empty",)),
        ("@gs.case\ndef a(case):\n    case.record('y', np.zeros(3), shape=(4,))\n", ("has shape (3,)", "(4,)")),
        ("@gs.case\ndef manifest(case): pass\n", ("'manifest' cannot name a case",)),
        ("@gs.checkpoint\ndef a(case):\n    case.record('y', 1.0)\n", ("records no checkpoint",)),
        (
            "@gs.case\ndef a(case):\n    case.record('y', 1.0, allow={'nam': 'x'})\n",
            ("names no check", "nan, inf"),
        ),
        ("@gs.case\ndef a(case):\n    case.record('y', 1.0, allow={'nan': ''})\n", ("needs its reason",)),
    ],
)
def test_recipe_that_asks_for_what_cannot_be_gold(course: CourseOnDisk, body: str, words: tuple[str, ...]) -> None:
    course.write({RECIPE_FILE: recipe(body)})
    fails(course, COULD_NOT_RUN, RECIPE_FILE, *words)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("np.array([[1.0, 2.0], [np.nan, np.nan]])", ("output.y has 2 NaN of 4", "first at index [1, 0]")),
        ("np.array([1.0, -np.inf])", ("output.y has 1 Inf of 2", "first at index [1]")),
        ("{'a': np.arange(2.0), 'b': [1.0, float('nan')]}", ("output.y.b.1 has 1 NaN of 1",)),
        ("np.full((2, 3), 7.0)", ("output.y is constant (7 in all 6 elements)",)),
        ("np.array([1.0, 1e9])", ("output.y reaches 1e+09",)),
        ("np.array([1e-20, 1e-30])", ("output.y is at most 1e-20",)),
    ],
)
def test_values_that_are_not_gold_are_refused_by_name(course: CourseOnDisk, value: str, words: tuple[str, ...]) -> None:
    course.write({RECIPE_FILE: recipe(f"@gs.case\ndef odd(case):\n    case.record('y', {value})\n")})
    run = fails(course, COULD_NOT_RUN, "hw1: gold refused", "case odd", *words)
    with unharmed(course):
        item = course.run("generate", "hw1", "--json").json["assignments"][0]
    assert item["outcome"] == "refused"
    assert [check["outcome"] for check in item["checks"]].count("failed") == 1
    assert "Gold refused: Hw1" in run.out


def test_what_is_allowed_by_name_with_a_reason_is_published(course: CourseOnDisk) -> None:
    body = (
        "@gs.case\ndef odd(case):\n    case.record('mask', np.array([0.0, -np.inf]), allow={'inf': 'it is a mask'})\n"
    )
    course.write({RECIPE_FILE: recipe(body)})
    assert course.run("generate", "hw1").code == 0
    assert "**Allowed**: inf in `output`, because it is a mask" in (course.gold() / "README.md").read_text()


def test_a_random_source_that_is_not_seeded_is_refused(course: CourseOnDisk) -> None:
    body = "@gs.case\ndef odd(case):\n    case.record('y', np.random.default_rng().normal(size=5))\n"
    course.write({RECIPE_FILE: recipe(body)})
    words = ("case odd: odd.npz differs between two runs", "output differs in 5 of 5 elements")
    run = fails(course, COULD_NOT_RUN, *words, new_workers=True)
    assert "is a random source unseeded?" in run.out


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (
            "import sys\n@gs.case\ndef a(case):\n    case.record('y', 1.0)\n    sys.exit(0)\n",
            ("sys.exit(0)", "in case a"),
        ),
        (
            "import sys\n@gs.case\ndef a(case):\n    case.record('y', 1.0)\nsys.exit(0)\n",
            ("sys.exit(0)", "before its cases"),
        ),
        (
            "import os\n@gs.case\ndef a(case):\n    case.record('y', 1.0)\n    os._exit(0)\n",
            ("exit code 0", "in case a"),
        ),
        ("import os\nos._exit(0)\n", ("exit code 0", "before its cases had run")),
    ],
)
def test_recipe_that_leaves_half_way_is_never_a_success(
    course: CourseOnDisk, body: str, words: tuple[str, ...]
) -> None:
    course.write({RECIPE_FILE: recipe(body)})
    fails(course, COULD_NOT_RUN, "exited early", *words, new_workers=True)


def test_recipe_killed_by_a_signal(course: CourseOnDisk) -> None:
    body = "import os, signal\n@gs.case\ndef a(case):\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    course.write({RECIPE_FILE: recipe(body)})
    fails(course, COULD_NOT_RUN, "was killed by SIGKILL in case a", "ran out of memory", new_workers=True)


def test_recipe_that_asks_for_more_memory_than_there_is(course: CourseOnDisk) -> None:
    course.write({RECIPE_FILE: recipe("@gs.case\ndef a(case):\n    np.ones((2**50,))\n")})
    fails(course, COULD_NOT_RUN, "ran out of memory in case a", "smaller sizes", new_workers=True)


def test_a_timeout_stops_a_recipe_with_all_it_started(course: CourseOnDisk) -> None:
    mark = f"goldsmith-test-{os.getpid()}"
    body = (
        "import subprocess, sys\n@gs.case\ndef a(case):\n"
        f"    subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)', '{mark}'])\n"
        "    while True: pass\n"
    )
    course.write({RECIPE_FILE: recipe(body)})
    started = time.monotonic()
    options = ("--timeout", "0.6")
    fails(course, COULD_NOT_RUN, "took longer than 0.6 s", "--timeout", options=options, new_workers=True)
    assert time.monotonic() - started < 60
    wait_until(lambda: names_no_process(mark))


def test_not_a_course(tmp_path: Path) -> None:
    run = CourseOnDisk(tmp_path).run("generate", "hw1")
    assert run.code == USAGE
    assert f"{tmp_path} is not inside a course" in run.err
    assert "`goldsmith init`" in run.err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('assignments = "src/assignments"\nseed = \n', ("line 2", "`seed`", "not valid TOML")),
        ("seed = 1\nsead = 2\n", ("line 2", "`sead`", "no such setting")),
        ('\n\nseed = "x"\n', ("line 3", "`seed`", "expected `int`, got `str`")),
        ('[assignment.hw1]\ntitel = "x"\n', ("line 2", "`assignment.hw1.titel`", "no such setting")),
        ('fixtures = "src/assignments/gold"\n', ("line 1", "`fixtures`", "overlap")),
        ('solutions = "../private"\n', ("line 1", "`solutions`", "inside the course")),
        ("timeout = 0\n", ("line 1", "`timeout`", "more than 0")),
    ],
)
def test_malformed_configuration_names_line_and_key(course: CourseOnDisk, text: str, words: tuple[str, ...]) -> None:
    (course.root / "goldsmith.toml").write_text(text)
    fails(course, USAGE, "goldsmith.toml", *words)


def test_bad_configuration_in_pyproject_is_found_there(course: CourseOnDisk) -> None:
    course.write({"pyproject.toml": '[project]\nname = "x"\n\n[tool.goldsmith]\nseed = -1\n'})
    fails(course, USAGE, "pyproject.toml, line 5", "`seed`")


def test_paths_with_spaces_and_other_letters(tmp_path: Path) -> None:
    course = numpy_course(tmp_path / "mein Kurs für Übungen 学")
    run = course.run("generate", "hw1", TMPDIR=str(_folder(tmp_path / "tmp mit Leerzeichen é")))
    assert run.code == 0, run.out + run.err
    assert course.run("generate", "hw1", "--force").last_line.startswith("hw1: not a byte changed")


def _folder(path: Path) -> Path:
    path.mkdir()
    return path


def test_a_device_that_is_not_there(example: CourseOnDisk) -> None:
    before = example.gold_bytes("scratch-3")
    run = example.run("generate", "scratch-3", "--device", "cuda:7")
    assert run.code == COULD_NOT_RUN
    assert "no device 'cuda:7' here; there is cpu" in run.last_line
    assert example.gold_bytes("scratch-3") == before


# --- the machine says no --------------------------------------------------------------------------------


WITHOUT_PRIVILEGE = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-dac_override"]


@pytest.mark.parametrize("where", ["tests/internal/fixtures", "."])
def test_read_only_folder(course: CourseOnDisk, where: str) -> None:
    prefix = WITHOUT_PRIVILEGE if os.getuid() == 0 else []
    if where == ".":
        shutil.rmtree(course.root / ".goldsmith")
    folder = course.root / where
    folder.chmod(0o555)
    try:
        with unharmed(course):
            run = course.run("generate", "hw1", "--force", prefix=prefix)
    finally:
        folder.chmod(0o755)
    assert run.code == COULD_NOT_RUN
    assert "cannot be written (Permission denied)" in run.out + run.err


def test_full_disk(course: CourseOnDisk) -> None:
    """The gold goes to a file system of 100 kB, which it does not fit into."""
    body = "@gs.case\ndef big(case):\n    case.record('y', np.random.randn(50_000))\n"
    course.write({RECIPE_FILE: recipe(body)})
    script = 'mount -t tmpfs -o size=100k none "$0" && shift 0 && exec "$@"'
    probe = subprocess.run(["unshare", "-rm", "sh", "-c", 'mount -t tmpfs none "$0"', str(course.gold())])
    if probe.returncode:
        pytest.skip("this kernel lends no private mounts to its users")
    run = course.run("generate", "hw1", prefix=["unshare", "-rm", "sh", "-c", script, str(course.gold().parent)])
    assert run.code == COULD_NOT_RUN
    assert "cannot be written (No space left on device)" in run.last_line


def test_two_at_once_are_serialised(course: CourseOnDisk, tmp_path: Path) -> None:
    body = (
        "import time\nfrom pathlib import Path\n@gs.case\ndef a(case):\n"
        f"    while not Path({str(tmp_path / 'go on')!r}).exists(): time.sleep(0.02)\n"
        "    case.record('y', np.arange(3.0))\n"
    )
    course.write({RECIPE_FILE: recipe(body)})
    first = course.start("generate", "hw1")
    wait_until((course.root / ".goldsmith/holder.json").exists)
    refused = course.run("generate", "hw1", "--no-wait")
    assert refused.code == COULD_NOT_RUN
    assert f"in use by `goldsmith generate hw1` (process {first.pid}, since" in refused.err
    second = course.start("generate", "hw1", "--force")
    assert second.stderr is not None
    assert "waiting for `goldsmith generate hw1`" in second.stderr.readline()
    (tmp_path / "go on").touch()
    assert first.wait(60) == 0
    out, _ = second.communicate(timeout=60)
    assert out.rstrip().splitlines()[-1].startswith("hw1: not a byte changed")


def test_a_killed_holder_keeps_no_lock(course: CourseOnDisk) -> None:
    course.write({RECIPE_FILE: recipe("import time\n@gs.case\ndef a(case):\n    time.sleep(60)\n")})
    first = course.start("generate", "hw1")
    wait_until((course.root / ".goldsmith/holder.json").exists)
    first.send_signal(signal.SIGKILL)
    first.wait()
    course.write({RECIPE_FILE: recipe("@gs.case\ndef a(case):\n    case.record('y', np.arange(3.0))\n")})
    assert course.run("generate", "hw1", "--no-wait").code == 0
