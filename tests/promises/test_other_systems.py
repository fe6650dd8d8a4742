"""macOS and Windows, played: every command works or says in one sentence what is missing, never with a traceback."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support import fork_cli as zygote
from support.course import CourseOnDisk, Run, as_from_a_script, numpy_course
from support.doc_pages import ROOT
from support.other_systems import SYSTEMS, play

NEEDS_LINUX = "grading needs Linux: submissions are sandboxed by Landlock and seccomp, which {system} does not have; "
LIGHT = [
    ["--help"],
    ["--version"],
    ["status"],
    ["doctor"],
    ["verify", "hw1"],
    ["guard"],
    ["skills", "install"],
    ["init", "--yes"],
    ["new", "hw2", "--kind", "numpy"],
    ["generate", "--help"],
    ["grade", "--help"],
]
"""What runs nobody's code."""
INTERNAL_TEST = """
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "src/assignments/hw1"))
from ops import scale


@pytest.mark.rigor
def test_scale():
    assert scale(1.0) == 3.0
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    """A course whose gold was made here, on this machine."""
    course = numpy_course(tmp_path_factory.mktemp("systems") / "course")
    course.with_gold()
    ada = course.root / "private/submissions/ada"
    ada.mkdir(parents=True)
    (ada / "ops.py").write_text((course.root / "private/solutions/hw1/ops_solution.py").read_text())
    course.git("init", "--quiet")
    return course


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    """What makes another of this machine, one for all tests: its commands are then forked from one interpreter."""
    return {system: play(system, tmp_path_factory.mktemp("played") / system) for system in SYSTEMS}


def played(made: CourseOnDisk, system: str, folder: Path, machines: dict[str, dict[str, str]]) -> Played:
    """A copy of the course there."""
    shutil.copytree(made.root, folder / "course", symlinks=True)
    return Played(CourseOnDisk(folder / "course"), system, machines[system])


@pytest.fixture(scope="module", params=SYSTEMS)
def system(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def there(made: CourseOnDisk, system: str, tmp_path: Path, machines: dict[str, dict[str, str]]) -> Played:
    return played(made, system, tmp_path, machines)


class Played:
    """A course on another system."""

    def __init__(self, course: CourseOnDisk, system: str, env: dict[str, str]) -> None:
        self.course, self.system, self.env = course, system, env

    def run(self, *arguments: str) -> Run:
        extra = as_from_a_script(arguments)
        env = {name: value for name, value in self.env.items() if name != "PYTHONPATH"}
        run = Run(*zygote.run([*arguments, *extra], self.course.root, self.env["PYTHONPATH"], **env))
        assert "Traceback" not in run.err + run.out, run.err + run.out
        return run

    def refused(self, *arguments: str) -> str:
        """The one sentence with which a command is refused, and it could not run."""
        run = self.run(*arguments)
        assert (run.code, run.out) == (3, ""), run.out + run.err
        (line,) = run.err.splitlines()
        assert run.err.startswith(f"goldsmith {arguments[0]}: ")
        return line


def test_the_system_is_played(system: str, tmp_path: Path) -> None:
    """As on Windows, `import resource` fails; as on macOS, there is no `/proc`."""
    env = play(system, tmp_path)
    code = "import os, sys; print(sys.platform, os.path.exists('/proc'), hasattr(os, 'fork')); import resource"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ | env)
    forks = system == "macOS"
    assert done.stdout == f"{'darwin' if forks else 'win32'} False {forks}\n"
    assert ("No module named 'resource'" in done.stderr) == (not forks), done.stderr


@pytest.mark.parametrize(
    "arguments",
    [pytest.param(item, marks=[pytest.mark.long] if item[1:] == ["--help"] else []) for item in LIGHT],
    ids=" ".join,
)
def test_what_runs_nobodys_code_works(there: Played, arguments: list[str]) -> None:
    run = there.run(*arguments)
    assert run.code == 0, run.out + run.err
    assert run.out


def test_init_makes_a_course_from_nothing(there: Played, tmp_path: Path) -> None:
    empty = Played(CourseOnDisk(tmp_path / "empty"), there.system, there.env)
    empty.course.root.mkdir()
    assert empty.run("init", "--yes").code == 0
    assert empty.run("new", "warm-up", "--kind", "numpy").code == 0
    assert empty.run("init", "--example", str(tmp_path / "example")).code == 0
    assert (tmp_path / "example/private/solutions/scratch-1").is_dir()


def test_damaged_gold_is_found(there: Played) -> None:
    file = there.course.gold() / "gold_output.npz"
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    assert there.run("verify", "hw1").code == 1


def test_doctor_names_the_system(there: Played) -> None:
    facts = {item["name"]: item for item in there.run("doctor", "--json").json["facts"]}
    assert facts["system"]["value"] == there.system
    assert "tested on Linux only" in facts["system"]["meaning"]
    assert facts["landlock"]["value"] == facts["seccomp"]["value"] == "none"


def test_grading_says_that_it_needs_linux(there: Played) -> None:
    said = there.refused("grade", "hw1", "private/submissions/")
    assert NEEDS_LINUX.format(system=there.system) in said
    assert ("--allow-unsandboxed" in said) == (there.system == "macOS")
    told = there.run("grade", "hw1", "private/submissions/", "--json")
    assert told.json["error"]["kind"] == "grading-needs-linux"


def test_gold_is_read_and_compared_from_python(there: Played) -> None:
    code = (
        "import goldsmith; gold = goldsmith.load('hw1')['gold_output']; "
        "print(goldsmith.compare(gold.output, gold.output).agrees)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=os.environ | there.env, cwd=there.course.root
    )
    assert done.stdout == "True\n", done.stderr


# --- what runs code: as on Linux on macOS, not on Windows


@pytest.fixture
def mac(made: CourseOnDisk, tmp_path: Path, machines: dict[str, dict[str, str]]) -> Played:
    return played(made, "macOS", tmp_path, machines)


def test_gold_is_made_on_macos(mac: Played) -> None:
    solution = mac.course.root / "private/solutions/hw1/ops_solution.py"
    solution.write_text(solution.read_text().replace("2.0", "3.0"))
    assert mac.run("status", "--json").json["assignments"][0]["outcome"] == "stale"
    made = mac.run("generate", "hw1", "--json")
    assert made.json["assignments"][0]["outcome"] == "published", made.err
    again = mac.run("generate", "hw1", "--force", "--json")
    assert again.json["assignments"][0]["outcome"] == "unchanged"
    assert mac.run("verify", "hw1", "--reproduce").code == 0


def test_submissions_are_checked_on_macos(mac: Played) -> None:
    assert mac.run("check", "hw1", "private/submissions/ada").code == 0
    wrong = mac.course.root / "private/submissions/bob/ops.py"
    wrong.parent.mkdir()
    wrong.write_text("def scale(x):\n    return x * 2.0\n")
    assert mac.run("check", "hw1", "private/submissions/bob").code == 1
    assert mac.run("grade", "hw1", "private/submissions/", "--allow-unsandboxed").code == 0


@pytest.mark.long
def test_a_solution_is_put_in_place_and_taken_away_on_macos(mac: Played) -> None:
    before = mac.course.snapshot()
    assert mac.run("inject", "hw1").code == 0
    assert mac.run("reset", "hw1").code == 0
    assert mac.course.snapshot() == before


@pytest.mark.long
def test_mutants_and_internal_tests_run_on_macos(mac: Played) -> None:
    assert mac.run("rigor", "hw1", "--json").json["mutants"]
    mac.course.write({"tests/internal/test_hw1.py": INTERNAL_TEST})
    run = mac.run("test", "hw1")
    assert run.code == 0, run.out + run.err


@pytest.mark.parametrize(
    ("arguments", "cannot"),
    [
        (["generate", "hw1"], "recipes cannot be run"),
        (["generate", "hw1", "--check"], "recipes cannot be run"),
        (["diff", "hw1"], "recipes cannot be run"),
        (["verify", "hw1", "--reproduce"], "recipes cannot be run"),
        (["check", "hw1", "private/submissions/ada"], "submissions cannot be run"),
        (["grade", "hw1", "private/submissions/", "--allow-unsandboxed"], "submissions cannot be run"),
        (["test", "hw1"], "internal tests cannot be run"),
        (["rigor", "hw1"], "mutants cannot be run"),
        (["inject", "hw1"], "solutions cannot be put in place safely"),
        (["reset", "hw1"], "solutions cannot be taken out of their place safely"),
    ],
    ids=lambda item: " ".join(item) if isinstance(item, list) else "",
)
def test_what_windows_cannot_do_is_said_in_one_sentence(
    made: CourseOnDisk, machines: dict[str, dict[str, str]], arguments: list[str], cannot: str
) -> None:
    there = Played(made, "Windows", machines["Windows"])
    before = made.snapshot("src", "private", "tests")
    said = there.refused(*arguments)
    assert f": {cannot} on Windows, which has no " in said
    assert said.endswith("run this command on Linux, for instance in a container, a virtual machine or WSL 2.")
    assert made.snapshot("src", "private", "tests") == before


def test_the_docs_say_what_is_tested_and_what_is_not() -> None:
    text = (ROOT / "docs/limits.md").read_text("utf-8")
    table = text[text.index("## Where it runs") : text.index("## What is judged")]
    assert "not tested" in table
    for name in SYSTEMS:
        assert name in table
