"""What is no noise when gold is regenerated, and what caused a difference, where that is hard to tell."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy
from test_generate_again import as_schema_3, regenerate, rewrite

from support.course import RECIPE_FILE, SOLUTION_FILE, CourseOnDisk, recipe

SCRIPT = """
    import argparse
    import numpy as np
    from pathlib import Path
    from ops import scale

    parser = argparse.ArgumentParser()
    parser.add_argument("--output", type=Path)
    np.savez(parser.parse_args().output / "gold.npz", x=np.arange(4.0), y=scale(np.arange(4.0)))
"""


def test_a_script_s_own_arrays_are_compared_too(course: CourseOnDisk) -> None:
    course.write({RECIPE_FILE: SCRIPT})
    assert course.run("generate", "hw1").code == 0
    course.write({SOLUTION_FILE: "def scale(x):\n    return x * 3.0\n"})
    assert course.run("generate", "hw1", "--check", yes=False).code == 1
    assert course.run("verify", "hw1", "--reproduce").code == 1
    assert course.run("generate", "hw1").code == 0
    with numpy.load(course.gold() / "gold.npz") as gold:
        assert list(gold["y"]) == [0.0, 3.0, 6.0, 9.0]


def test_whatever_else_a_checkpoint_keeps_is_compared_too(course: CourseOnDisk) -> None:
    body = """
        class Net:
            def __init__(self):
                self.weight = np.arange(3.0)

        @gs.checkpoint(allow={"hollow": "only what else it keeps is of interest"})
        def trained(case):
            net = case.model(Net)
            history = [float(scale(1.0)), 5.0]
            case.checkpoint(net, epoch=1, loss=1.0, training_config={}, history=history)
    """
    course.write({RECIPE_FILE: recipe(body)})
    assert course.run("generate", "hw1").code == 0
    course.write({SOLUTION_FILE: "def scale(x):\n    return x * 2.0005 + 1.0\n"})
    assert course.run("verify", "hw1", "--reproduce").code == 1
    item = regenerate(course, calibrate=False)
    assert {file["path"].rpartition("/")[2]: file["change"] for file in item["files"]}["trained.npz"] == "changed"


STILL = """
    @gs.case
    def gold_output(case):
        case.record("y", scale(case.input("x", np.arange(6.0))))
"""


def test_another_seed_is_recorded_by_cases_that_draw_nothing(course: CourseOnDisk) -> None:
    course.write({RECIPE_FILE: recipe(STILL)})
    course.with_gold()
    assert course.run("generate", "hw1", "--seed", "43").code == 0
    assert course.run("verify", "hw1").code == 0
    course.write({"goldsmith.toml": "seed = 7\n"})
    assert course.run("generate", "hw1").last_line.startswith("hw1: gold published")
    assert course.run("generate", "hw1").last_line == "hw1: fresh, nothing to do."


def test_a_lone_input_or_output_can_be_renamed(course: CourseOnDisk) -> None:
    course.write({RECIPE_FILE: recipe(STILL)})
    course.with_gold()
    course.write({RECIPE_FILE: recipe(STILL.replace('"x"', '"w"').replace('"y"', '"z"'))})
    assert course.run("generate", "hw1").code == 0
    (case,) = json.loads((course.gold() / "manifest.json").read_text())["cases"]
    assert (case["inputs"], case["outputs"]) == (["w"], ["z"])
    solution = course.root.parent / "handed-in"
    solution.mkdir()
    shutil.copy(course.root / SOLUTION_FILE, solution / "ops.py")
    assert course.run("check", "hw1", str(solution)).code == 0


def test_a_readme_that_is_gone_is_written_again_and_the_gold_is_sound(course: CourseOnDisk) -> None:
    course.with_gold()
    rewrite(course, as_schema_3)
    (course.gold() / "README.md").unlink()
    assert course.run("generate", "hw1").code == 0
    assert course.run("verify", "hw1").code == 0


def test_data_that_nobody_saw_being_read_is_not_replaced_by_old_data(course: CourseOnDisk, tmp_path: Path) -> None:
    """It lies outside of the course: the sources are the same, and yet the input is another one."""
    data = tmp_path / "outside.npy"
    numpy.save(data, numpy.arange(5.0))
    body = STILL.replace("np.arange(6.0)", f"np.load({str(data)!r})")
    body = body.replace("@gs.case", '@gs.case(allow={"sandbox": "nobody is graded by it"})')
    course.write({RECIPE_FILE: recipe(body)})
    assert course.run("generate", "hw1").code == 0
    numpy.save(data, numpy.arange(5.0) * 2)
    assert course.run("generate", "hw1", "--check", yes=False).code == 1


# --- the cause, where it is hard to tell


def in_git(course: CourseOnDisk) -> CourseOnDisk:
    for arguments in (("init", "--quiet"), ("add", "--all"), ("commit", "--quiet", "--message", "all")):
        course.git(*arguments)
    return course


def test_sources_behind_links_are_neither_overwritten_nor_deleted(course: CourseOnDisk, tmp_path: Path) -> None:
    private = tmp_path / "elsewhere"
    shutil.move(course.root / "private", private)
    (course.root / "private").symlink_to(private)
    assert course.run("generate", "hw1").code == 0
    in_git(course)
    (private / "solutions/hw1/ops_solution.py").write_text("def scale(x):\n    return x * 3.0\n")
    (private / "solutions/hw1/helper.py").write_text("NEW = 1\n")
    before = {path: path.read_bytes() for path in private.rglob("*") if path.is_file()}
    run = course.run("verify", "hw1", "--reproduce")
    assert run.code == 1, run.out
    assert {path: path.read_bytes() for path in private.rglob("*") if path.is_file()} == before


def test_another_shape_and_a_case_that_is_gone_are_told_without_a_crash(course: CourseOnDisk) -> None:
    two = STILL + STILL.replace("gold_output", "second")
    course.write({RECIPE_FILE: recipe(two)})
    assert course.run("generate", "hw1").code == 0
    in_git(course)
    course.write({SOLUTION_FILE: "def scale(x):\n    return x[:2]\n", RECIPE_FILE: recipe(STILL)})
    run = course.run("verify", "hw1", "--reproduce")
    assert run.code == 1
    assert "goldsmith itself failed" not in run.out + run.err
    assert "would change" in run.last_line
