"""`goldsmith check RECIPE --with …`: another implementation in the place of what a recipe without a course imports."""

from __future__ import annotations

import shutil
import subprocess
import textwrap
from pathlib import Path

import pytest

from support.course import CourseOnDisk, Run
from support.project import FILES, RECIPE, project

pytestmark = pytest.mark.xdist_group("record")

RIGHT = "def half(x):\n    return 0.5 * x\n\n\ndef scale(x):\n    return half(x) + 3.0\n"
WRONG = RIGHT.replace("3.0", "3.5")


@pytest.fixture
def lone(tmp_path: Path) -> CourseOnDisk:
    return project(tmp_path / "repo").with_gold(RECIPE)


def judged(lone: CourseOnDisk, *arguments: str) -> tuple[Run, dict[str, str]]:
    run = lone.run("check", RECIPE, "--json", *arguments)
    submissions = run.json["submissions"]
    return run, {case["name"]: case["outcome"] for item in submissions for case in item["cases"]}


def test_what_the_recipe_imports_is_checked_as_it_stands(lone: CourseOnDisk) -> None:
    run, cases = judged(lone)
    assert (run.code, cases) == (0, {"scaled": "agrees", "halved": "agrees"})
    lone.write({"src/oldpkg/scaling.py": WRONG})
    run, cases = judged(lone)
    assert (run.code, cases) == (1, {"scaled": "differs", "halved": "agrees"})
    (item,) = run.json["submissions"]
    assert item["first_part"] == "scale"
    assert item["first_place"] == "src/oldpkg/scaling.py:5"


@pytest.mark.parametrize(
    ("files", "given"),
    [
        ({"new/oldpkg/scaling.py": RIGHT}, "../new"),
        ({"new/src/oldpkg/__init__.py": "", "new/src/oldpkg/scaling.py": RIGHT}, "../new"),
        ({"new/oldpkg/__init__.py": "", "new/oldpkg/scaling.py": RIGHT}, "../new/oldpkg"),
        ({"new-pkg/scaling.py": RIGHT}, "../new-pkg"),
        (
            {
                "newpkg/__init__.py": "",
                "newpkg/halves.py": "def half(x):\n    return 0.5 * x\n",
                "newpkg/scaling.py": "from newpkg.halves import half\n\ndef scale(x):\n    return half(x) + 3.0\n",
            },
            "../newpkg",
        ),
        ({"new/scaling.py": RIGHT}, "../new/scaling.py"),
        ({"new/anything.py": RIGHT}, "oldpkg.scaling=../new/anything.py"),
        ({"new/anything.py": RIGHT}, "../new/anything.py"),
        ({"repo/new_package/scaling.py": RIGHT}, "oldpkg=new_package"),
        ({"repo/new_package/deep/scaling.py": RIGHT}, "oldpkg=new_package.deep"),
    ],
    ids=["folder", "src", "package", "dashes", "renamed", "file", "named-file", "only-file", "named", "module"],
)
def test_another_implementation_takes_its_place(
    lone: CourseOnDisk, tmp_path: Path, files: dict[str, str], given: str
) -> None:
    CourseOnDisk(tmp_path).write(files)
    run, cases = judged(lone, "--with", given)
    assert (run.code, cases) == (0, {"scaled": "agrees", "halved": "agrees"}), run.out
    CourseOnDisk(tmp_path).write({name: text.replace("3.0", "3.5") for name, text in files.items()})
    run, cases = judged(lone, "--with", given)
    assert (run.code, cases) == (1, {"scaled": "differs", "halved": "agrees"}), run.out
    assert run.json["submissions"][0]["name"] == given


def test_it_is_told_in_the_usual_report(lone: CourseOnDisk, tmp_path: Path) -> None:
    CourseOnDisk(tmp_path).write({"new/scaling.py": WRONG})
    run = lone.run("check", RECIPE, "--with", "../new/scaling.py")
    assert "scale (../new/scaling.py, line 5) is wrong by itself" in run.out
    assert "Note: ../new/scaling.py took the place of oldpkg.scaling." in run.out
    assert run.last_line == "Next: goldsmith check 'tests/parity cases.py' --with ../new/scaling.py --case scaled"


def test_a_recipe_that_puts_its_own_folder_first_is_replaced_all_the_same(lone: CourseOnDisk, tmp_path: Path) -> None:
    stubborn = 'import sys\nsys.path.insert(0, __file__.rpartition("/tests/")[0] + "/src")\n'
    lone.write({"tests/own.py": stubborn + textwrap.dedent(FILES[RECIPE])}).with_gold("tests/own.py")
    CourseOnDisk(tmp_path).write({"new/oldpkg/scaling.py": WRONG})
    assert lone.run("check", "tests/own.py", "--with", "../new").code == 1


def test_a_missing_part_fails_the_cases_that_use_it_alone(lone: CourseOnDisk, tmp_path: Path) -> None:
    CourseOnDisk(tmp_path).write({"new/scaling.py": "def half(x):\n    return 0.5 * x\n"})
    run, cases = judged(lone, "--with", "../new/scaling.py")
    assert (run.code, cases) == (3, {"scaled": "could-not-run", "halved": "agrees"})
    shutil.rmtree(tmp_path / "new")
    CourseOnDisk(tmp_path).write({"newpkg/other.py": RIGHT})
    run, cases = judged(lone, "--with", "oldpkg=../newpkg")
    assert (run.code, set(cases.values())) == (3, {"could-not-run"})


def test_helpers_that_only_the_old_code_has_are_not_asked_for(lone: CourseOnDisk, tmp_path: Path) -> None:
    one_case = FILES[RECIPE].split("        @gs.case\n        def halved")[0]
    lone.write({"tests/one.py": one_case}).with_gold("tests/one.py")
    CourseOnDisk(tmp_path).write({"new/scaling.py": "half = None\n\n\ndef scale(x):\n    return x / 2 + 3.5\n"})
    run = lone.run("check", "tests/one.py", "--with", "../new/scaling.py")
    assert run.code == 1
    assert "could not run alone" not in run.out
    assert "scale (../new/scaling.py, line 4) is wrong" in run.out


def test_an_adapter_beside_the_recipe_is_used(lone: CourseOnDisk, tmp_path: Path) -> None:
    lone.write({"tests/parity cases_adapter.py": "raise RuntimeError('read')\n"})
    assert "RuntimeError: read" in lone.run("check", RECIPE).err


def test_a_revision_is_checked_like_a_folder(lone: CourseOnDisk) -> None:
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org"]
    lone.write({"src/oldpkg/scaling.py": WRONG})
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "wrong"]):
        subprocess.run([*git, *command], cwd=lone.root, check=True)
    lone.write({"src/oldpkg/scaling.py": textwrap.dedent(FILES["src/oldpkg/scaling.py"])})
    assert judged(lone)[0].code == 0
    run, cases = judged(lone, "--with", "HEAD")
    assert (run.code, cases["scaled"]) == (1, "differs")
    told = lone.run("record", RECIPE, "--with", "HEAD")
    assert (told.code, "git worktree add" in told.err) == (2, True)


def test_stale_gold_is_not_checked_against(lone: CourseOnDisk, tmp_path: Path) -> None:
    CourseOnDisk(tmp_path).write({"new/oldpkg/scaling.py": RIGHT})
    lone.write({"src/oldpkg/offsets.py": "OFFSET = 3.0  # the same\n"})
    told = lone.run("check", RECIPE, "--with", "../new")
    assert told.code == 3
    assert "src/oldpkg/offsets.py changed since the gold was made" in told.err
    assert "`goldsmith record 'tests/parity cases.py'`" in told.err
    assert lone.run("check", RECIPE, "--with", "../new", "--allow-stale").code == 0
    assert lone.run("check", RECIPE).code == 0  # what is checked may have changed


def test_gold_outlives_the_implementation_that_made_it(lone: CourseOnDisk, tmp_path: Path) -> None:
    CourseOnDisk(tmp_path).write({"new/oldpkg/scaling.py": RIGHT})
    shutil.rmtree(lone.root / "src")
    run, cases = judged(lone, "--with", "../new")
    assert (run.code, set(cases.values())) == (0, {"agrees"})


def test_without_gold_it_says_how_to_make_it(tmp_path: Path) -> None:
    told = project(tmp_path / "repo").run("check", RECIPE)
    assert told.code == 3
    assert "make it with `goldsmith record 'tests/parity cases.py'`" in told.err


def test_a_wrong_module_is_named(tmp_path: Path) -> None:
    block = """
        import torch
        from torch import nn

        class Norm(nn.Module):
            def __init__(self, dim):
                super().__init__()
                self.weight = nn.Parameter(torch.ones(dim))

            def forward(self, x):
                return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)

        class Block(nn.Module):
            def __init__(self, dim):
                super().__init__()
                self.norm, self.linear = Norm(dim), nn.Linear(dim, dim)

            def forward(self, x):
                return x + torch.tanh(self.linear(self.norm(x)))
    """
    recipe = """
        import torch
        import goldsmith as gs
        from model import Block

        @gs.case
        def block(case):
            model = case.model(Block, 8, weights="stress")
            case.record("y", model(case.input("x", lambda: torch.randn(2, 3, 8) * 1e-2)))
    """
    lone = CourseOnDisk(tmp_path / "repo").write({"model.py": block, "cases.py": recipe}).with_gold("cases.py")
    CourseOnDisk(tmp_path).write({"new/model.py": block.replace("+ 1e-6", "+ 1e-4")})
    run = lone.run("check", "cases.py", "--with", "../new", "--json")
    (item,) = run.json["submissions"]
    assert (run.code, item["first_divergence"], item["first_place"]) == (1, "norm", "../new/model.py:10")
