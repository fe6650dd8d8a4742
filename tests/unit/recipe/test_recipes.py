"""What a recipe can do, on NumPy alone and through real runs."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import goldsmith
from support.course import RECIPE_FILE, SOLUTION_FILE, CourseOnDisk, recipe, record


def test_lone_values_are_stored_bare_and_several_by_name(course: CourseOnDisk) -> None:
    gold = record(
        course,
        """
        @gs.case
        def one(case):
            case.record("y", scale(case.input("x", lambda: np.arange(3.0))))

        @gs.case
        def two(case):
            a = case.input("a", np.arange(4))
            b = case.input("b", lambda: 2.5)
            case.record("sum", a + b)
            case.record("difference", a - b)
        """,
    )
    one = np.load(course.gold() / "one.npz")
    assert one["input"].tolist() == [0, 1, 2]
    assert one["output"].tolist() == [1, 3, 5]
    assert int(one["seed"]) == 42
    assert list(gold["two"].input) == ["a", "b"]
    assert gold["two"].output["difference"].tolist() == [-2.5, -1.5, -0.5, 0.5]
    assert [entry.outputs for entry in gold.manifest.cases] == [("y",), ("sum", "difference")]


def test_nested_outputs_come_back_as_they_were(course: CourseOnDisk) -> None:
    gold = record(
        course,
        """
        import dataclasses
        from typing import NamedTuple

        class Pair(NamedTuple):
            left: object
            right: object

        @dataclasses.dataclass
        class Step:
            loss: float
            grad: object

        class Foreign:
            def __array__(self, dtype=None, copy=None):
                return np.arange(3.0)

        @gs.case
        def nested(case):
            case.record("all", {
                "list": [np.arange(2), (np.arange(3.0), None)],
                "pair": Pair(np.eye(2), "text"),
                "step": Step(0.5, np.arange(2.0)),
                "foreign": Foreign(),
                "flag": True,
            })
        """,
    )
    output = gold["nested"].output
    assert output["list"][1][1] is None
    assert output["pair"]["left"].tolist() == [[1, 0], [0, 1]]
    assert output["pair"]["right"] == "text"
    assert output["step"]["loss"] == 0.5
    assert output["foreign"].tolist() == [0, 1, 2]
    assert output["flag"] is True


def test_plain_functions_in_place_changes_and_classes_driven_step_by_step(course: CourseOnDisk) -> None:
    gold = record(
        course,
        """
        def double_(x):
            x *= 2

        def make_optimizer():
            class Momentum:
                def __init__(self, weights):
                    self.weights, self.speed = weights, np.zeros_like(weights)
                def step(self, gradient):
                    self.speed = 0.9 * self.speed + gradient
                    self.weights = self.weights - 0.1 * self.speed
            return Momentum

        @gs.case
        def in_place(case):
            x = case.input("x", lambda: np.arange(1.0, 4.0))
            double_(x)
            case.record("x", x)
            x[:] = 99

        @gs.case
        def optimizer(case):
            steps = make_optimizer()(case.input("weights", lambda: np.random.randn(3)))
            for gradient in case.input("gradients", lambda: [np.random.randn(3) for _ in range(3)]):
                steps.step(gradient)
            case.record("weights", steps.weights)

        @gs.case
        def object_with_arrays(case):
            model = case.model(make_optimizer(), np.arange(3.0))
            model.step(np.arange(3.0))
            case.record_weights(model)
        """,
    )
    assert gold["in_place"].input.tolist() == [1, 2, 3]
    assert gold["in_place"].output.tolist() == [2, 4, 6]
    assert len(gold["optimizer"].input["gradients"]) == 3
    assert gold["object_with_arrays"].state_dict["weights"].tolist() == [0, 1, 2]
    assert gold["object_with_arrays"].output["speed"].tolist() == [0, 1, 2]


def test_each_case_starts_from_the_same_seed(course: CourseOnDisk) -> None:
    body = """
        @gs.case
        def b(case):
            case.record("y", np.random.randn(4))
        """
    alone = record(course, body)["b"].output
    first = "@gs.case\ndef a(case):\n    case.record('y', np.random.randn(9))\n\n"
    assert np.array_equal(record(course, first + textwrap.dedent(body))["b"].output, alone)


def test_another_seed_gives_other_numbers_and_is_recorded(course: CourseOnDisk) -> None:
    course.with_gold()
    before = goldsmith.load(course.gold())["gold_output"].input
    assert course.run("generate", "hw1", "--seed", "7").code == 0
    gold = goldsmith.load(course.gold())
    assert (gold["gold_output"].seed, gold.manifest.seed) == (7, 7)
    assert gold.manifest.provenance.command == "goldsmith generate hw1 --seed 7 --no-calibrate"
    assert not np.array_equal(gold["gold_output"].input, before)


def test_code_is_imported_by_either_name_and_is_one_module(course: CourseOnDisk) -> None:
    course.write(
        {
            "src/assignments/lab-3/ops.py": "def scale(x):\n    raise NotImplementedError\n",
            "src/assignments/lab-3/parts.py": "import numpy as np\nFACTOR = np.array(3)\n",
            "private/solutions/lab-3/ops_solution.py": "from .parts import FACTOR\nscale = FACTOR.__mul__\n",
            "src/assignments/lab-3/generate_fixtures.py": """
                import numpy as np
                import goldsmith as gs
                from src.assignments.lab_3 import ops as dotted
                import ops
                from parts import FACTOR

                @gs.case
                def same(case):
                    assert ops is dotted
                    case.record("y", ops.scale(np.arange(3.0)))
                    case.record("names", [ops.__name__, ops.__spec__.name])
                """,
        }
    )
    run = course.run("generate", "lab-3")
    assert run.code == 0, run.out + run.err
    output = goldsmith.load(course.gold("lab-3"))["same"].output
    assert output["y"].tolist() == [0, 3, 6]
    assert output["names"] == ["src.assignments.lab_3.ops"] * 2


SHORT_NAMES = ("from ops import scale", "def scale(x):")
BOTH_NAMES = (
    "from src.assignments.hw1 import ops\nfrom ops import scale",
    "from .extra import one\n\n\ndef scale(x):",
)


@pytest.mark.parametrize(
    ("command", "names"),
    [(["generate_fixtures.py"], SHORT_NAMES), (["-m", "goldsmith.run_recipe", "generate_fixtures.py"], BOTH_NAMES)],
)
def test_a_recipe_runs_alone_and_writes_the_same_bytes(
    course: CourseOnDisk, tmp_path: Path, command: list[str], names: tuple[str, str]
) -> None:
    course.with_gold()
    folder = course.root / "src/assignments/hw1"
    (folder / "extra.py").write_text("one = 1\n")
    solution = (course.root / "private/solutions/hw1/ops_solution.py").read_text()
    (folder / "ops.py").write_text(solution.replace("def scale(x):", names[1]))
    script = (folder / "generate_fixtures.py").read_text()
    (folder / "generate_fixtures.py").write_text(script.replace("from ops import scale", names[0]))
    done = subprocess.run(
        [sys.executable, *command, "--output", str(tmp_path / "out")], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out/gold_output.npz").read_bytes() == (course.gold() / "gold_output.npz").read_bytes()
    assert "Not verified" in done.stdout


def test_a_private_recipe_of_any_name_runs_alone_from_anywhere(course: CourseOnDisk, tmp_path: Path) -> None:
    body = "@gs.case\ndef secret(case):\n    case.record('y', ops.scale(VALUES))\n"
    imports = "from helper import VALUES\nfrom src.assignments.hw1 import ops"
    course.write(
        {
            "goldsmith.toml": 'recipe = "make_gold.py"\n',
            "private/solutions/hw1/make_gold.py": recipe(body, imports),
            "private/solutions/hw1/helper.py": "import numpy as np\nVALUES = np.arange(4.0)\n",
            "src/assignments/hw1/ops.py": "def scale(x):\n    return x\n",
        }
    )
    made = course.root / "private/solutions/hw1/make_gold.py"
    command = [sys.executable, "-m", "goldsmith.run_recipe", str(made), "--output", str(tmp_path / "out")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out/secret.npz").is_file()


def test_importing_goldsmith_changes_nothing_in_the_process(course: CourseOnDisk) -> None:
    folder = course.root / "src/assignments/hw1"
    script = folder / "generate_fixtures.py"
    script.write_text(
        "import os, sys\n"
        "def state():\n"
        "    return [list(sys.path), list(sys.meta_path), list(sys.path_hooks), dict(os.environ)]\n"
        "before = state()\nimport goldsmith\nassert state() == before\n"
        "print(sorted(name for name in sys.modules if name.startswith('goldsmith')))\n"
    )
    for environment in ({}, {"GOLDSMITH_RECIPE": f"{course.root}{os.pathsep}{folder}"}):
        done = subprocess.run(
            [sys.executable, script], cwd=folder, env=os.environ | environment, capture_output=True, text=True
        )
        assert done.stdout == "['goldsmith', 'goldsmith._version']\n", done.stderr


def test_every_public_name_can_be_imported() -> None:
    assert {name for name in goldsmith.__all__ if getattr(goldsmith, name) is None} == set()
    assert set(goldsmith.__all__) <= set(dir(goldsmith))


def test_a_recipe_without_main_works(course: CourseOnDisk) -> None:
    text = recipe("@gs.case\ndef a(case):\n    case.record('y', np.arange(3.0))\n").replace("gs.main()", "pass")
    course.write({RECIPE_FILE: text})
    assert course.run("generate", "hw1").code == 0


def test_a_recipe_kept_private_wins_and_its_helpers_are_found(course: CourseOnDisk) -> None:
    course.write(
        {
            "private/solutions/hw1/generate_fixtures.py": recipe(
                "@gs.case\ndef secret(case):\n    case.record('y', scale(VALUES))\n", "from helper import VALUES"
            ),
            "private/solutions/hw1/helper.py": "import numpy as np\nVALUES = np.arange(4.0)\n",
        }
    )
    assert course.run("generate", "hw1").code == 0
    assert list(goldsmith.load(course.gold())) == ["secret"]
    assert not (course.root / "src/assignments/hw1/helper.py").exists()


def test_what_the_recipe_prints_shows_with_v_only(course: CourseOnDisk) -> None:
    body = "print('hello from the recipe')\n@gs.case\ndef a(case):\n    case.record('y', np.arange(3.0))\n"
    course.write({RECIPE_FILE: recipe(body)})
    quiet = course.run("generate", "hw1")
    assert "hello from the recipe" not in quiet.out + quiet.err
    assert "| hello from the recipe" in course.run("generate", "hw1", "-v", "--force").err


def test_the_workspace_takes_the_writes_and_the_course_stays_clean(course: CourseOnDisk) -> None:
    body = """
        from pathlib import Path
        Path("litter.txt").write_text("x")
        Path(__file__).with_name("ops.py").write_text("broken")

        @gs.case
        def a(case):
            case.record("y", np.arange(3.0))
        """
    course.write({RECIPE_FILE: recipe(body)})
    before = course.snapshot()
    assert course.run("generate", "hw1").code == 0
    assert course.snapshot() == before


def test_a_recipe_that_writes_into_the_real_starter_is_refused(course: CourseOnDisk) -> None:
    body = f"""
        from pathlib import Path
        Path({str(course.root / "src/assignments/hw1/ops.py")!r}).write_text("broken")

        @gs.case
        def a(case):
            case.record("y", np.arange(3.0))
        """
    course.write({RECIPE_FILE: recipe(body)})
    run = course.run("generate", "hw1")
    assert run.code == 3
    assert "src/assignments/hw1/ops.py changed while the recipe ran" in run.last_line
    assert "Reset to starter: FAILED" in run.out
    assert not course.gold().exists()


def test_stress_moves_the_arrays_of_a_numpy_model(course: CourseOnDisk) -> None:
    """As advice says: no scale is 1 and no bias 0 then, and the submission gets the same."""
    course.write(
        {
            SOLUTION_FILE: """
                import numpy as np

                class Norm:
                    def __init__(self, size):
                        self.params = {"scale": np.ones(size), "bias": np.zeros(size)}
                        self.mixing, self.size = [np.eye(size)], size

                    def __call__(self, x):
                        return self.params["scale"] * (x @ self.mixing[0]) + self.params["bias"]

                def scale(x):
                    return x * 2.0 + 1.0
            """,
            "src/assignments/hw1/ops.py": """
                class Norm:
                    def __init__(self, size):
                        raise NotImplementedError

                def scale(x):
                    raise NotImplementedError
            """,
        }
    )
    body = """
        @gs.case
        def gold_output(case):
            model = case.model(ops.Norm, 4, weights="stress")
            case.record("y", model(case.input("x", lambda: np.random.randn(3, 4))))

        @gs.case
        def nothing(case):
            case.record("y", scale(case.input("x", lambda: np.random.randn(3, 4))))
    """
    gold = record(course, body, "import ops")
    weights = gold["gold_output"].data["state_dict"]
    assert not np.isclose(weights["params"]["scale"], 1).any()
    assert not np.isclose(weights["params"]["bias"], 0).any()
    assert not np.isclose(weights["mixing"][0], np.eye(4)).any()
    course.write({"handed/ops.py": (course.root / SOLUTION_FILE).read_text()})
    run = course.run("check", "hw1", "handed")
    assert run.code == 0, run.out
    course.write({RECIPE_FILE: recipe(body.replace("ops.Norm, 4", "dict"), "import ops")})
    refused = course.run("generate", "hw1")
    assert "weights='stress' finds nothing to move: dict has no array" in refused.out + refused.err
