"""What of the course a submission's workspace holds: what the assignment needs, and nothing that is private."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldsmith.courses.layout.layout import find_course
from goldsmith.courses.layout.resolve import resolve
from goldsmith.foundation.secret_files import is_secret_name
from goldsmith.process.fork_client import ForkClient
from goldsmith.workspace.copies import make_workspaces
from goldsmith.workspace.selection import without_settings
from support.check_course import checked_course, hand_in, judge, outcomes
from support.course import RECIPE_FILE, CourseOnDisk

PRIVATE = {
    ".env": "A=1",
    ".git/config": "",
    "goldsmith.toml": 'shared = ["src/common", "data/*.npz", ".env", "private/solutions", "keys"]\n'
    '[assignment.hw1]\nshared = ["extra.txt"]\n[guard]\nprivate = ["src/common/hushed"]\n',
    "keys/id_rsa": "key",
    "keys/server.txt": "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n",
    "private/notes.md": "notes",
    "private/solutions/hw1/variants/other/ops_solution.py": "",
    "src/assignments/hw1/.env": "A=1",
    "src/assignments/hw1/ops_solution.py": "",
    "src/assignments/hw1/staff/answers.py": "",
    "src/assignments/hw2/ops.py": "",
    "src/common/hushed/a.py": "",
    "src/common/tls.pem": "",
    "submissions/bob/ops.py": "",
    "tests/internal/test_hw1.py": "",
    "tests/public/test_hw1.py": "",
    "data/raw.csv": "",
}
GIVEN = {
    "data/one.npz": "",
    "extra.txt": "",
    "pyproject.toml": '[project]\nname = "x"\n[tool.goldsmith]\nseed = 3\n[tool.ruff]\nline-length = 3\n',
    "read/by/recipe.json": "{}",
    "src/__init__.py": "",
    "src/assignments/hw1/helper/__init__.py": "",
    "src/common/__init__.py": "",
    "src/common/deep/a.py": "",
}


def test_it_holds_what_is_needed_and_nothing_that_is_private(course: CourseOnDisk) -> None:
    course.write({**PRIVATE, **GIVEN})
    (course.root / "src/assignments/hw1/answers").symlink_to(course.root / "private/solutions/hw1")
    (course.root / "src/assignments/hw1/circle").symlink_to("..")
    (course.root / "src/common/link.py").symlink_to(course.root / "private/solutions/hw1/ops_solution.py")
    (course.root / "disk").symlink_to("/usr")
    assignment = find_course(course.root).assignment("hw1")
    reads = ["read/by/recipe.json", "private/solutions/hw1/ops_solution.py", "tests/internal/test_hw1.py", ".env"]
    with make_workspaces(resolve(assignment), (), 1, reads=reads, hidden_files=[Path("submissions")]) as (one,):
        files = {path.relative_to(one.root).as_posix() for path in one.root.rglob("*") if not path.is_dir()}
        assert files == {*GIVEN, "src/assignments/hw1/ops.py", "src/assignments/hw1/generate_fixtures.py"}
        assert (one.root / "disk").is_symlink()
        project = (one.root / "pyproject.toml").read_text()
    assert project == '[project]\nname = "x"\n[tool.ruff]\nline-length = 3\n'


@pytest.mark.parametrize("name", [".env", ".env.local", "a.pem", "ID_RSA", "id_ed25519.pub", ".netrc", ".ssh", "x.key"])
def test_secrets_are_known_by_their_names(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize("name", ["env.py", "keys.py", ".env.example", "monkey", "environment.yml", "key"])
def test_other_names_are_no_secrets(name: str) -> None:
    assert not is_secret_name(name)


def test_settings_are_left_out_of_a_project_file_however_they_are_written() -> None:
    text = 'tool.goldsmith.seed = 3\n[tool]\ngoldsmith = {seed = 3}\n["tool"."goldsmith".a.b]\nx = 1\n[b]\ny = 2\n'
    assert without_settings(text) == "[tool]\n[b]\ny = 2\n"


@pytest.fixture(scope="module")
def course_that_reads(tmp_path_factory: pytest.TempPathFactory) -> CourseOnDisk:
    """Its recipe reads data beside the assignments and imports shared code; nothing of that is declared."""
    made = checked_course(tmp_path_factory.mktemp("reads") / "course")
    recipe = (made.root / RECIPE_FILE).read_text()
    read = "import json, pathlib\nfrom src.common.tools import double\n"
    read += "FACTOR = json.loads((pathlib.Path(__file__).parents[3] / 'data/table.json').read_text())\n"
    made.write(
        {
            RECIPE_FILE: recipe.replace("import goldsmith as gs\n", f"import goldsmith as gs\n{read}", 1),
            "src/common/tools.py": "def double(x):\n    return 2 * x\n",
            "src/common/unused.py": "WORD = 'never read'\n",
            "data/table.json": "3",
            "data/words.txt": "three words here",
        }
    )
    run = made.run("generate", "hw1")
    assert run.code == 0, run.err
    return made


def test_what_the_recipe_read_is_given_without_being_declared(
    course_that_reads: CourseOnDisk, warm: ForkClient
) -> None:
    found = judge(course_that_reads, hand_in(course_that_reads), warm)
    assert set(outcomes(found).values()) == {"agrees"}
    assert found.not_given == ()


@pytest.mark.parametrize(
    ("code", "file"),
    [
        ("open('../../../data/words.txt').read()", "data/words.txt"),
        ("from src.common.unused import WORD", "src/common/unused.py"),
        ("raise OSError('cannot load data/words.txt: not found')", "data/words.txt"),
    ],
)
def test_staff_are_told_which_file_was_asked_for_and_how_to_give_it(
    course_that_reads: CourseOnDisk, warm: ForkClient, code: str, file: str
) -> None:
    found = judge(
        course_that_reads, hand_in(course_that_reads, ("return x * factor", f"{code}\nreturn x * factor")), warm
    )
    assert [f'shared = ["{file}"]' in sentence for sentence in found.not_given] == [True]


def test_what_is_declared_is_given_and_nobody_is_told_of_private_files(
    course_that_reads: CourseOnDisk, warm: ForkClient
) -> None:
    course_that_reads.write({"goldsmith.toml": 'shared = ["data/*.txt"]\n'})
    try:
        reading = "assert len(open('../../../data/words.txt').read().split()) == 3\nreturn x * factor"
        found = judge(course_that_reads, hand_in(course_that_reads, ("return x * factor", reading)), warm)
        assert set(outcomes(found).values()) == {"agrees"}
        asking = "raise OSError('private/solutions/hw1/ops_solution.py', 'goldsmith.toml', 'tests/internal')"
        found = judge(course_that_reads, hand_in(course_that_reads, ("return x * factor", asking)), warm)
        assert found.not_given == ()
    finally:
        (course_that_reads.root / "goldsmith.toml").unlink()
